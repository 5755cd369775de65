//! What a series does over time, as the rule looks at it: stretches at a level and stretches that drift, and the steps between.

use serde::Serialize;

use super::columns::PointData;
use super::rounding::rounded;
use crate::fit::{Fit, Piece};
use sprag_model::change_point::{ChangePoint, Drift, Level};
use sprag_model::trend::SeriesTrend;

/// The quantile of the normal distribution for 95 %.
const NORMAL_95: f64 = 1.96;

/// By how much the errors of what a ramp is told by are larger than those of lines with known ends, as the analysis has it: where
/// noise wanders, ramps end elsewhere.
const OF_ENDS: f64 = 2.0;

/// What a series does between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Segment {
    /// It stays at a level: value, lower and upper end.
    Level([f64; 3]),
    /// It drifts: by which share of its level a commit at most; absent where none can be told.
    Drift(Option<f64>),
}

impl Segment {
    /// Value, lower and upper end; nothing where it drifts.
    pub(super) fn level(self) -> Option<[f64; 3]> {
        match self {
            Segment::Level(level) => Some(level),
            Segment::Drift(_) => None,
        }
    }
}

/// A change between two levels, or where a drift begins or ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    /// The most likely first point of the new stretch.
    pub(super) at: Spot,
    /// The first point that may be it.
    pub(super) first: Spot,
    pub(super) last: Spot,
    /// The level after over that before, less 1, with its interval; absent where there was none before, and at an edge.
    pub(super) relative: Option<[f64; 3]>,
    /// Whether it is where a drift begins or ends.
    pub(super) is_edge: bool,
}

/// A point of a series: a commit, and which of its environments come before.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spot {
    pub(super) number: usize,
    pub(super) before: Vec<String>,
}

impl Spot {
    /// Whether a point is this one or comes after it.
    pub(super) fn is_reached(&self, point: &PointData) -> bool {
        point.number > self.number
            || (point.number == self.number && !self.before.iter().any(|key| **key == *point.environment))
    }
}

/// The stretches of a series whose points have these numbers of commits, and the steps between them, which are one fewer; nothing
/// where no level was looked for.
pub(super) fn segments(one: &SeriesTrend, numbers: &[usize]) -> (Vec<Segment>, Vec<Step>) {
    let changes = &one.changes.points;
    let is_listed = one.levels.len() == changes.len() + 1 && one.pooled.len() == numbers.len();
    if one.changes.levels.is_empty() || !is_listed {
        return (Vec::new(), Vec::new());
    }
    let pieces = Fit::new(one, &[]).pieces();
    let doubts: Vec<[usize; 2]> = pieces.windows(2).map(|pair| doubt(one, &pair[0], &pair[1])).collect();
    let segment = |(place, piece): (usize, &Piece)| {
        let before = place.checked_sub(1).map_or(0, |edge| doubts[edge][1]);
        let after = doubts.get(place).map_or(0, |doubt| doubt[0]);
        // Where each of its points may lie in a ramp beside it, it may be a part of that.
        let level = if piece.is_ramp || before + after >= piece.points.len() { None } else { level(one, piece) };
        level.map_or_else(|| Segment::Drift(pace(one, numbers, piece)), Segment::Level)
    };
    let levels = pieces.iter().enumerate().map(segment).collect();
    let mut steps: Vec<([usize; 3], Option<&ChangePoint>)> = Vec::with_capacity(doubts.len());
    for (piece, [before, after]) in pieces.iter().skip(1).zip(&doubts) {
        let begin = piece.points.start;
        let change = changes.iter().find(|change| piece.is_step && change.index == begin);
        let edge = || [begin, begin.saturating_sub(*before), begin + after];
        steps.push((change.map_or_else(edge, |change| [change.index, change.first, change.last]), change));
    }
    within_changes(&mut steps);
    in_order(&mut steps, numbers.len() - 1);
    let spot = |index: usize| {
        let number = numbers[index];
        let same = (0..index).rev().take_while(|earlier| numbers[*earlier] == number);
        let mut before: Vec<String> = same.map(|earlier| one.pooled[earlier].environment_key.to_string()).collect();
        before.reverse();
        Spot { number, before }
    };
    let step = |([at, first, last], change): ([usize; 3], Option<&ChangePoint>)| Step {
        at: spot(at),
        first: spot(first),
        last: spot(last),
        relative: change.and_then(|change| ends(&change.relative)),
        is_edge: change.is_none(),
    };
    (levels, steps.into_iter().map(step).collect())
}

/// How many points before and after the edge between two pieces may lie on its other side; none where it is a change. Of two lines
/// that meet, the place where they do is known as well as they are there: the error of the end of a ramp of so many points is
/// twice that of their mean, that of a level the one of its mean, and over the pace these are points. Within the ramp it is half of
/// that at most.
fn doubt(one: &SeriesTrend, before: &Piece, after: &Piece) -> [usize; 2] {
    let is_edge = before.is_ramp != after.is_ramp && !after.is_step;
    let Some(noise) = one.noise.filter(|_| is_edge) else { return [0; 2] };
    let (ramp, flat) = if before.is_ramp { (before, after) } else { (after, before) };
    let size = if noise.is_relative { noise.deviation * after.from.abs() } else { noise.deviation };
    let [long, short] = [&ramp.points, &flat.points].map(|points| points.len().max(1) as f64);
    let pace = (ramp.to - ramp.from).abs() / long;
    let error = OF_ENDS * NORMAL_95 * size * noise.inflation * (4.0 / long + 1.0 / short).sqrt();
    let most = one.pooled.len() as f64;
    let points = if pace > 0.0 { (error / pace).ceil().min(most) as usize } else { one.pooled.len() };
    let in_ramp = points.min(ramp.points.len() / 2);
    if before.is_ramp { [in_ramp, points] } else { [points, in_ramp] }
}

/// Lets no edge of a drift lie beyond where the change before it or after it may be.
fn within_changes(steps: &mut [([usize; 3], Option<&ChangePoint>)]) {
    let mut least = 0;
    for ([_, first, _], change) in steps.iter_mut() {
        match change {
            Some(change) => least = change.first,
            None => *first = least.max(*first),
        }
    }
    let mut most = usize::MAX;
    for ([.., last], change) in steps.iter_mut().rev() {
        match change {
            Some(change) => most = change.last,
            None => *last = most.min(*last),
        }
    }
}

/// Lets no step be reached surely before one that comes before it, nor possibly after one that comes after: a drift may begin
/// where a change is not sure to have been.
fn in_order(steps: &mut [([usize; 3], Option<&ChangePoint>)], newest: usize) {
    let mut last = 0;
    for (place, _) in steps.iter_mut() {
        last = last.max(place[2]).min(newest);
        place[2] = last;
    }
    let mut first = newest;
    for (place, _) in steps.iter_mut().rev() {
        first = first.min(place[1]);
        place[1] = first;
    }
}

/// The level of a stretch: as the trend tells it, or beside a drift as the fit has it, with the error of a mean of so many points.
fn level(one: &SeriesTrend, piece: &Piece) -> Option<[f64; 3]> {
    let number = one.changes.points.partition_point(|change| change.index <= piece.points.start);
    if let Some(level) = &one.levels[number].level {
        return ends(level);
    }
    let value = f64::midpoint(piece.from, piece.to);
    let Some(noise) = one.noise else { return ends(&Level { value, lower: value, upper: value }) };
    let count = piece.points.len().max(1) as f64;
    let half = OF_ENDS * NORMAL_95 * noise.deviation * noise.inflation / count.sqrt();
    let (lower, upper) =
        if noise.is_relative { (value * (-half).exp(), value * half.exp()) } else { (value - half, value + half) };
    ends(&Level { value, lower: lower.min(upper), upper: upper.max(lower) })
}

/// By which share of its level a series moves a commit at most, in a drift of which that is a part or beside which it lies; its
/// points have these numbers of commits.
fn pace(one: &SeriesTrend, numbers: &[usize], piece: &Piece) -> Option<f64> {
    let is_near = |drift: &&Drift| match piece.is_ramp {
        true => drift.begin < piece.points.end && drift.end > piece.points.start,
        false => drift.begin <= piece.points.end && drift.end >= piece.points.start,
    };
    let pace = |drift: &Drift| {
        let least = drift.before.min(drift.after);
        // A commit may have several points, one an environment, and another none.
        let of_drift = numbers.get(drift.begin..drift.end).unwrap_or_default();
        let commits = of_drift.last().zip(of_drift.first()).map_or(0, |(last, first)| last - first);
        if least > 0.0 { (drift.after - drift.before).abs() / least / commits.max(1) as f64 } else { f64::INFINITY }
    };
    let fastest = one.changes.drifts.iter().filter(is_near).map(pace).reduce(f64::max);
    fastest.map(rounded).filter(|pace| pace.is_finite())
}

/// Value and ends of a level as the scripts hold them; none where one is no number.
fn ends(level: &Level) -> Option<[f64; 3]> {
    let ends = [level.value, level.lower, level.upper];
    ends.iter().all(|end| end.is_finite()).then(|| ends.map(rounded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::example;
    use sprag_model::change_point::SeriesNoise;

    fn result(trend: &SeriesTrend) -> (Vec<Segment>, Vec<[usize; 3]>) {
        let numbers: Vec<usize> = (0..trend.pooled.len()).collect();
        let (levels, steps) = segments(trend, &numbers);
        (levels, steps.iter().map(|step| [step.at.number, step.first.number, step.last.number]).collect())
    }

    #[test]
    fn there_are_levels_before_a_drift_and_after_it() {
        let trend = example::series(1.0, 60, vec![], vec![example::drift(20, 40, 1.0, 1.2)]);
        let (levels, steps) = result(&trend);
        // Where lines with that noise meet is known to two points.
        assert_eq!(steps, [[20, 18, 22], [40, 38, 42]]);
        let [Segment::Level(before), Segment::Drift(Some(pace)), Segment::Level(after)] = levels[..] else {
            panic!("{levels:?}")
        };
        // 0.2 over the nineteen commits from the first of the ramp to its last.
        assert!((pace - 0.2 / 19.0).abs() < 1e-6, "{pace}");
        // Noise of 0.8 % over the root of twenty points, 1.96 times, and twice that.
        for ([value, lower, upper], expected) in [(before, 1.0), (after, 1.2)] {
            assert_eq!(value, expected);
            let half = 2.0 * 1.96 * 0.008 / 20f64.sqrt();
            assert!((lower / value - (-half).exp()).abs() < 1e-4 && (upper / value - half.exp()).abs() < 1e-4);
        }
    }

    #[test]
    fn a_drift_that_goes_on_or_ended_a_moment_ago_has_no_level_after_it() {
        for end in [60, 57] {
            let trend = example::series(1.0, 60, vec![], vec![example::drift(20, end, 1.0, 1.2)]);
            let (levels, _) = result(&trend);
            let drifts = &levels[1..];
            assert!(matches!(levels[0], Segment::Level(_)), "{levels:?}");
            assert!(drifts.iter().all(|segment| matches!(segment, Segment::Drift(Some(_)))), "{levels:?}");
        }
    }

    #[test]
    fn steps_keep_their_order_where_each_may_lie_elsewhere() {
        let change = ChangePoint { first: 18, last: 23, ..example::change(20, 1.0, 1.1) };
        let trend = example::series(1.0, 60, vec![change], vec![example::drift(22, 40, 1.1, 1.3)]);
        let (levels, steps) = result(&trend);
        assert_eq!(steps, [[20, 18, 23], [22, 19, 25], [40, 38, 42]]);
        // Two points right before a ramp may as well be a part of it.
        let drifts: Vec<bool> = levels.iter().map(|segment| segment.level().is_none()).collect();
        assert_eq!(drifts, [false, true, true, false]);
        // A change cuts a ramp in two: it is certain between edges that are not.
        let trend =
            example::series(1.0, 60, vec![example::change(30, 1.0, 1.3)], vec![example::drift(20, 40, 1.0, 1.2)]);
        let (levels, steps) = result(&trend);
        assert_eq!(steps.iter().map(|step| step[0]).collect::<Vec<usize>>(), [20, 30, 40]);
        assert_eq!(steps[1], [30; 3]);
        let drifts: Vec<bool> = levels.iter().map(|segment| segment.level().is_none()).collect();
        assert_eq!(drifts, [false, true, true, false]);
    }

    #[test]
    fn a_drift_leaves_changes_beside_it_as_sure_as_they_are() {
        let is_level = |levels: &[Segment]| levels.iter().map(|one| one.level().is_some()).collect::<Vec<bool>>();
        // A change at the end of a drift, and few points after it.
        let change = example::change(100, 1.05, 1.26);
        let (levels, steps) =
            result(&example::series(1.0, 110, vec![change], vec![example::drift(40, 100, 1.0, 1.05)]));
        assert_eq!((is_level(&levels), steps[1]), (vec![true, false, true], [100; 3]));
        // One right before a drift, and one right after it.
        let change = example::change(60, 1.0, 1.2);
        let (levels, steps) =
            result(&example::series(1.0, 150, vec![change], vec![example::drift(65, 125, 1.2, 1.26)]));
        assert_eq!((levels[0].level().is_some(), steps[0]), (true, [60; 3]));
        assert_eq!(steps[1][1], 60);
        let change = example::change(105, 1.05, 1.26);
        let (levels, steps) =
            result(&example::series(1.0, 150, vec![change], vec![example::drift(40, 100, 1.0, 1.05)]));
        assert_eq!((is_level(&levels), steps[2]), (vec![true, false, false, true], [105; 3]));
        assert_eq!(steps[1][2], 105);
    }

    #[test]
    fn the_noisier_a_series_and_the_slower_its_drift_the_less_its_ends_are_known() {
        let apart = |noise: f64, after: f64| {
            let mut trend = example::series(1.0, 200, vec![], vec![example::drift(80, 120, 1.0, after)]);
            trend.noise = Some(SeriesNoise { deviation: noise, inflation: 1.0, is_relative: true });
            let (_, steps) = result(&trend);
            steps[0][2] - steps[0][1]
        };
        assert_eq!(apart(0.0, 1.2), 0);
        assert!(apart(0.004, 1.2) < apart(0.008, 1.2) && apart(0.008, 1.2) < apart(0.008, 1.1));
    }

    #[test]
    fn where_no_level_was_looked_for_there_is_nothing() {
        assert_eq!(result(&example::series(1.0, 5, vec![], vec![])), (Vec::new(), Vec::new()));
    }
}
