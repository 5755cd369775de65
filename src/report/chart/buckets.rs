//! What of the runs a picture shows: a dot a run, or one of several where there are too many to tell apart.

use super::axis;
use super::plot::Plot;
use super::trend::{Dot, Trend};
use crate::number;
use crate::text::short_commit;

/// So many runs have a dot each.
const SINGLE: usize = 200;

/// Of more runs several share a dot, so that there are about so many: enough to see how the values lie at the width of a page,
/// and the script draws any part of the picture with a dot for each run.
const POOLED: usize = 125;

/// For how many runs a dot stands at most, of a series with so many.
pub fn runs_a_dot(runs: usize) -> usize {
    if runs <= SINGLE { 1 } else { runs.div_ceil(POOLED) }
}

/// The dots to draw, and what lies outside the range.
pub(super) struct Shown {
    /// The dots, some of them outside the range where each stands for a run.
    pub(super) dots: Vec<Dot>,
    /// What lies outside the range.
    pub(super) beyond: Vec<Beyond>,
}

/// One or several runs outside the range shown.
pub(super) struct Beyond {
    pub(super) place: f64,
    pub(super) is_above: bool,
    pub(super) words: String,
}

/// The dots of a picture. Several runs share one only where no change, no gap and no edge of the picture is between them.
pub(super) fn shown(plot: &Plot<'_>, trend: &Trend) -> Shown {
    let dots = &trend.dots;
    let groups = groups(trend);
    let beyond = groups.iter().flat_map(|group| [beyond(plot, trend, group, true), beyond(plot, trend, group, false)]);
    let beyond = beyond.flatten().collect();
    let dots = if runs_a_dot(dots.len()) == 1 {
        dots.clone()
    } else {
        groups.iter().filter_map(|group| bucket(plot, group)).collect()
    };
    Shown { dots, beyond }
}

/// The runs that share a dot, in their order.
fn groups(trend: &Trend) -> Vec<&[Dot]> {
    let dots = &trend.dots;
    let most = runs_a_dot(dots.len());
    let turns = || trend.fit.iter().flat_map(|fit| &fit.turns);
    let mut groups = Vec::new();
    let mut begin = 0;
    for at in 1..=dots.len() {
        let is_apart = at < dots.len() && {
            let (before, after) = (dots[at - 1].place, dots[at].place);
            turns().any(|turn| before < turn.places.0 && turn.places.0 <= after)
        };
        if at == dots.len() || at - begin == most || is_apart {
            groups.push(&dots[begin..at]);
            begin = at;
        }
    }
    groups
}

/// The runs of a group that lie within the range as one dot.
fn bucket(plot: &Plot<'_>, group: &[Dot]) -> Option<Dot> {
    let inside: Vec<&Dot> = group.iter().filter(|dot| plot.within(dot.value)).collect();
    let (first, last) = (inside.first()?, inside.last()?);
    let values: Vec<f64> = inside.iter().map(|dot| dot.value).collect();
    Some(Dot {
        place: f64::midpoint(first.place, last.place),
        value: axis::median(&values),
        interval: Some(axis::extent(&values)),
        commit: last.commit.clone(),
    })
}

/// The runs of a group that lie above the range, or below it.
fn beyond(plot: &Plot<'_>, trend: &Trend, group: &[Dot], is_above: bool) -> Option<Beyond> {
    let is_beyond = |dot: &&Dot| if is_above { dot.value > plot.values.1 } else { dot.value < plot.values.0 };
    let all: Vec<&Dot> = group.iter().filter(is_beyond).collect();
    let farthest =
        all.iter().copied().reduce(|one, other| if (other.value > one.value) == is_above { other } else { one })?;
    let value = number::quantity(trend.scale, farthest.value);
    let place = if farthest.commit.is_empty() { "" } else { " at " };
    let way = if is_above { "above" } else { "below" };
    let mut words = format!("{value}{place}{}, {way} the scale", short_commit(&farthest.commit));
    if all.len() > 1 {
        words = format!(
            "{} runs {way} the scale, the farthest {value}{place}{}",
            all.len(),
            short_commit(&farthest.commit)
        );
    }
    Some(Beyond { place: farthest.place, is_above, words })
}
