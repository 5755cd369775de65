//! The members of an event as small pictures: the change against the level before, on one scale.

use askama::Template;

use super::event_list::{figure, in_order, member_tone};
use crate::catalog::Catalog;
use crate::chart::mini::{self, Mini};
use crate::fit::Fit;
use crate::number::counted;
use crate::phrase::Phrase;
use crate::text::short_benchmark;
use crate::trend::words;
use sprag_base::stats::describe;
use sprag_model::event::{Event, EventKind, Member};
use sprag_model::trend::PooledPoint;

const MEMBERS: usize = 12;

/// A picture has about this many dots: of more points several share one.
const DOTS: usize = 50;

/// The part of the range of an event that is shown on each side of it, at least.
const MARGIN: usize = 8;

#[derive(Template)]
#[template(path = "partials/multiples.html")]
struct Multiples {
    multiples: Vec<Multiple>,
}

struct Multiple {
    series: Phrase,
    machine: String,
    chart: String,
}

/// What the pictures of the first members show, and these.
pub(super) fn multiples(catalog: &Catalog<'_>, of: &Event) -> (String, String) {
    let drawn: Vec<(&Member, Fit<'_>)> = in_order(of)
        .into_iter()
        .filter(|member| member.relative.is_some())
        .filter_map(|member| Some((member, catalog.fit(&member.series)?)))
        .filter(|(_, fit)| !fit.series.pooled.is_empty())
        .take(MEMBERS)
        .collect();
    let Some((_, first)) = drawn.first() else { return (String::new(), String::new()) };
    let all: Vec<f64> = first.series.pooled.iter().map(|point| place(catalog, point)).collect();
    let places = window(&all, bounds(catalog, of));
    let mut minis: Vec<Mini> = drawn.iter().map(|(member, fit)| mini(catalog, of, member, fit, places)).collect();
    let several = minis.iter_mut().map(pool).max().unwrap_or(1);
    let scale = mini::scale(&minis, places);
    let multiples = drawn.iter().zip(&minis).map(|((member, _), mini)| Multiple {
        series: Phrase::default()
            .name(catalog.series_page(&member.series), words::name(short_benchmark(&member.benchmark))),
        machine: words::name(&member.machine.name),
        chart: mini::draw(mini, &scale),
    });
    let shown = match of.members.len() {
        all if all == drawn.len() => String::new(),
        all => format!(" The first {} of {} are drawn.", drawn.len(), counted(all, "series", "series")),
    };
    let band = if of.kind == EventKind::Drift { "the ramp" } else { "the commits between good and bad" };
    let dots = if several == 1 { "one commit".to_owned() } else { format!("up to {several} commits") };
    let note = format!(
        "Change against the level before, one scale for all. Each dot is the median of {dots}; lines are levels; the tinted band is \
         {band}.{shown}"
    );
    let pictures = Multiples { multiples: multiples.collect() };
    // Only a formatter that fails could fail.
    (note, pictures.render().unwrap_or_default())
}

/// The place of a point: that of its commit on the line, else on the axis of its machine.
fn place(catalog: &Catalog<'_>, point: &PooledPoint) -> f64 {
    // Most axes are the line.
    let is_there = catalog.line.commits.get(point.place).is_some_and(|commit| *commit.sha == *point.commit);
    let place = if is_there { point.place } else { catalog.position(&point.commit).unwrap_or(point.place) };
    place as f64
}

/// The places of the last commit before the event and of the first that has it.
fn bounds(catalog: &Catalog<'_>, of: &Event) -> (f64, f64) {
    let at = |sha: &str| catalog.position(sha).map(|place| place as f64);
    let bad = at(&of.first_bad.sha).unwrap_or(0.0);
    let before = of.last_good.as_ref().and_then(|good| at(&good.sha));
    let first = of.suspects.first().and_then(|one| at(&one.commit.sha));
    (before.or(first).unwrap_or(bad).min(bad), bad)
}

/// What all pictures show of those places: the whole range of the event with some on both sides, or as many as have a dot each.
fn window(places: &[f64], (good, bad): (f64, f64)) -> (f64, f64) {
    let begin = places.partition_point(|place| *place <= good);
    let end = places.partition_point(|place| *place < bad).max(begin);
    let margin = (DOTS.saturating_sub(end - begin) / 2).max((end - begin) / MARGIN);
    let shown = end - begin + 2 * margin;
    let last = (begin.saturating_sub(margin) + shown).min(places.len());
    let first = last.saturating_sub(shown);
    (places[first], places[last - 1].max(places[first] + 1.0))
}

/// Lets points share a dot where there are many; gives how many do.
fn pool(mini: &mut Mini) -> usize {
    let several = (mini.dots.len() / DOTS).max(1);
    let dot = |points: &[(f64, f64)]| {
        let values: Vec<f64> = points.iter().map(|point| point.1).collect();
        let (first, last) = (points.first()?.0, points.last()?.0);
        Some((f64::midpoint(first, last), describe::median(&values)?))
    };
    if several > 1 {
        mini.dots = mini.dots.chunks(several).filter_map(dot).collect();
    }
    several
}

fn mini(catalog: &Catalog<'_>, of: &Event, member: &Member, fit: &Fit<'_>, places: (f64, f64)) -> Mini {
    let before = member.before.value;
    let points: Vec<(f64, f64)> =
        fit.series.pooled.iter().map(|point| (place(catalog, point), point.value / before)).collect();
    let at = |index: usize| points[index.min(points.len() - 1)].0;
    let levels = fit
        .pieces()
        .into_iter()
        .map(|piece| [(at(piece.points.start), piece.from / before), (at(piece.points.end), piece.to / before)]);
    let name = format!("{} on {}", member.benchmark, member.machine.name);
    let moves = if of.kind == EventKind::Drift { "drifts by" } else { "changes by" };
    Mini {
        levels: levels.collect(),
        suspects: bounds(catalog, of),
        at: catalog.position(&member.at.sha).map_or(-1.0, |place| place as f64),
        tone: member_tone(of, member),
        label: format!("{name} {moves} {} at {}", figure(member.relative.as_ref()), words::name(member.at.short())),
        dots: points.into_iter().filter(|(at, _)| (places.0..=places.1).contains(at)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::Tone;

    #[test]
    fn the_whole_range_of_an_event_is_shown_with_a_bit_on_both_sides() {
        for (points, range, expected) in [
            (30, (9.0, 10.0), (0.0, 29.0)),
            (1000, (499.0, 500.0), (475.0, 524.0)),
            (1000, (989.0, 990.0), (950.0, 999.0)),
            (2000, (499.0, 1500.0), (375.0, 1624.0)),
            (2000, (0.0, 1999.0), (0.0, 1999.0)),
            (1, (5.0, 9.0), (0.0, 1.0)),
        ] {
            let places: Vec<f64> = (0..points).map(f64::from).collect();
            assert_eq!(window(&places, range), expected, "{points} points, {range:?}");
        }
    }

    #[test]
    fn many_points_share_dots() {
        let dots = (0..1250).map(|i| (f64::from(i), 1.0 + f64::from(i) / 1000.0)).collect();
        let mut mini =
            Mini { dots, levels: Vec::new(), suspects: (0.0, 0.0), at: 0.0, tone: Tone::Plain, label: String::new() };
        assert_eq!(pool(&mut mini), 25);
        assert_eq!((mini.dots.len(), mini.dots[0]), (DOTS, (12.0, 1.012)));
        assert_eq!((pool(&mut mini), mini.dots.len()), (1, DOTS), "so few have a dot each");
    }
}
