//! A series over time: segments at a level, segments that drift, and the steps between.

use super::rounding::rounded;
use crate::fit::{Fit, Piece};
use sprag_model::{Drift, Level, SeriesTrend};

const NORMAL_95: f64 = 1.96;

/// The errors of a ramp are so many times those of a line with certain ends, as in the analysis.
const RAMP_ERROR: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Segment {
    /// Value, lower and upper end.
    Level([f64; 3]),
    /// The most that it moves in a commit, as a share of its level.
    Drift(Option<f64>),
}

impl Segment {
    pub(super) fn level(self) -> Option<[f64; 3]> {
        match self {
            Segment::Level(level) => Some(level),
            Segment::Drift(_) => None,
        }
    }
}

/// A change between two levels, or an end of a drift; points are given by their places in the series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SegmentStep {
    /// The most likely first point of the new segment.
    pub(super) at: usize,
    /// The first and the last point that may be it.
    pub(super) first: usize,
    pub(super) last: usize,
    /// The level after over that before, less 1, with its interval.
    pub(super) relative: Option<[f64; 3]>,
    pub(super) is_edge: bool,
}

/// The segments of a series whose points have these numbers of commits, and the steps between them; nothing without a level.
pub(super) fn segments(one: &SeriesTrend, numbers: &[usize]) -> (Vec<Segment>, Vec<SegmentStep>) {
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
        // A segment whose points may all be part of the next ramp has no level.
        let level = if piece.is_ramp || before + after >= piece.points.len() { None } else { level(one, piece) };
        level.map_or_else(|| Segment::Drift(pace(one, numbers, piece)), Segment::Level)
    };
    let levels = pieces.iter().enumerate().map(segment).collect();
    let mut steps: Vec<SegmentStep> = Vec::with_capacity(doubts.len());
    for (piece, [before, after]) in pieces.iter().skip(1).zip(&doubts) {
        let at = piece.points.start;
        let change = changes.iter().find(|change| piece.is_step && change.index == at);
        let edge = (at.saturating_sub(*before), at + after);
        let (first, last) = change.map_or(edge, |change| (change.first, change.last));
        let relative = change.and_then(|change| ends(&change.relative));
        steps.push(SegmentStep { at, first, last, relative, is_edge: change.is_none() });
    }
    put_in_order(&mut steps, numbers.len() - 1);
    (levels, steps)
}

/// How many points before and after the edge between two pieces may be on its other side; none where it is a change. The error of the
/// end of a ramp is twice that of its mean, that of a level is that of its mean; divided by the pace these are points, of which the
/// ramp has at most half of its own.
fn doubt(one: &SeriesTrend, before: &Piece, after: &Piece) -> [usize; 2] {
    let is_edge = before.is_ramp != after.is_ramp && !after.is_step;
    let Some(noise) = one.noise.filter(|_| is_edge) else { return [0; 2] };
    let (ramp, flat) = if before.is_ramp { (before, after) } else { (after, before) };
    let size = if noise.is_relative { noise.deviation * after.from.abs() } else { noise.deviation };
    let [long, short] = [&ramp.points, &flat.points].map(|points| points.len().max(1) as f64);
    let pace = (ramp.to - ramp.from).abs() / long;
    let error = RAMP_ERROR * NORMAL_95 * size * noise.inflation * (4.0 / long + 1.0 / short).sqrt();
    let most = one.pooled.len() as f64;
    let points = if pace > 0.0 { (error / pace).ceil().min(most) as usize } else { one.pooled.len() };
    let in_ramp = points.min(ramp.points.len() / 2);
    if before.is_ramp { [in_ramp, points] } else { [points, in_ramp] }
}

/// Keeps the range of each edge of a drift between those of the changes around it, and the ranges of all steps in their order.
fn put_in_order(steps: &mut [SegmentStep], newest: usize) {
    let mut first = 0;
    for step in steps.iter_mut() {
        if step.is_edge { step.first = step.first.max(first) } else { first = step.first }
    }
    let mut last = newest;
    for step in steps.iter_mut().rev() {
        if step.is_edge { step.last = step.last.min(last) } else { last = step.last }
    }
    let mut last = 0;
    for step in steps.iter_mut() {
        last = last.max(step.last).min(newest);
        step.last = last;
    }
    let mut first = newest;
    for step in steps.iter_mut().rev() {
        first = first.min(step.first);
        step.first = first;
    }
}

/// The level of a segment: that of the trend, or next to a drift that of the fit, with the error of its mean.
fn level(one: &SeriesTrend, piece: &Piece) -> Option<[f64; 3]> {
    let number = one.changes.points.partition_point(|change| change.index <= piece.points.start);
    if let Some(level) = &one.levels[number].level {
        return ends(level);
    }
    let value = f64::midpoint(piece.from, piece.to);
    let Some(noise) = one.noise else { return ends(&Level { value, lower: value, upper: value }) };
    let count = piece.points.len().max(1) as f64;
    let half = RAMP_ERROR * NORMAL_95 * noise.deviation * noise.inflation / count.sqrt();
    let (lower, upper) =
        if noise.is_relative { (value * (-half).exp(), value * half.exp()) } else { (value - half, value + half) };
    ends(&Level { value, lower: lower.min(upper), upper: upper.max(lower) })
}

/// The most that a series moves in a commit, as a share of its level, in a drift that the piece is part of or next to.
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

/// Value and ends of a level, rounded; nothing unless all are finite.
fn ends(level: &Level) -> Option<[f64; 3]> {
    let ends = [level.value, level.lower, level.upper];
    ends.iter().all(|end| end.is_finite()).then(|| ends.map(rounded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::example::{change, drift, series};
    use sprag_model::{ChangePoint, SeriesNoise};

    /// The segments, and the place, the first and the last point of each step.
    fn result(trend: &SeriesTrend) -> (Vec<Segment>, Vec<[usize; 3]>) {
        let numbers: Vec<usize> = (0..trend.pooled.len()).collect();
        let (levels, steps) = segments(trend, &numbers);
        (levels, steps.iter().map(|step| [step.at, step.first, step.last]).collect())
    }

    #[test]
    fn there_are_levels_before_a_drift_and_after_it() {
        let (levels, steps) = result(&series(1.0, 60, vec![], vec![drift(20, 40, 1.0, 1.2)]));
        // Where lines with that noise meet is certain to two points.
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
    fn a_segment_has_a_level_where_its_points_are_in_no_drift() {
        // A level is `l`, a drift `d`.
        let check = |trend: SeriesTrend, expected: &str, expected_steps: &[(usize, [usize; 3])]| {
            let (levels, steps) = result(&trend);
            let kinds: String = levels.iter().map(|one| if one.level().is_some() { 'l' } else { 'd' }).collect();
            let given: Vec<(usize, [usize; 3])> = expected_steps.iter().map(|(at, _)| (*at, steps[*at])).collect();
            assert_eq!((&*kinds, &given[..]), (expected, expected_steps), "{levels:?}");
        };
        // A drift that goes on, or ended a moment ago.
        check(series(1.0, 60, vec![], vec![drift(20, 60, 1.0, 1.2)]), "ld", &[]);
        check(series(1.0, 60, vec![], vec![drift(20, 57, 1.0, 1.2)]), "ldd", &[]);
        // Two points right before a ramp may as well be a part of it; steps keep their order.
        let unsure = ChangePoint { first: 18, last: 23, ..change(20, 1.0, 1.1) };
        let steps = [(0, [20, 18, 23]), (1, [22, 19, 25]), (2, [40, 38, 42])];
        check(series(1.0, 60, vec![unsure], vec![drift(22, 40, 1.1, 1.3)]), "lddl", &steps);
        // A change cuts a ramp in two: it is certain between edges that are not.
        let cut = series(1.0, 60, vec![change(30, 1.0, 1.3)], vec![drift(20, 40, 1.0, 1.2)]);
        check(cut, "lddl", &[(1, [30; 3])]);
        // A change at the end of a drift, and few points after it.
        let at_end = series(1.0, 110, vec![change(100, 1.05, 1.26)], vec![drift(40, 100, 1.0, 1.05)]);
        check(at_end, "ldl", &[(1, [100; 3])]);
        // One right before a drift, and one right after it: they stay as certain as they are.
        let before = series(1.0, 150, vec![change(60, 1.0, 1.2)], vec![drift(65, 125, 1.2, 1.26)]);
        check(before.clone(), "lddl", &[(0, [60; 3])]);
        assert_eq!(result(&before).1[1][1], 60);
        let after = series(1.0, 150, vec![change(105, 1.05, 1.26)], vec![drift(40, 100, 1.0, 1.05)]);
        check(after.clone(), "lddl", &[(2, [105; 3])]);
        assert_eq!(result(&after).1[1][2], 105);
        // Nothing is fitted.
        check(series(1.0, 5, vec![], vec![]), "", &[]);
    }

    #[test]
    fn the_ends_of_a_drift_are_less_certain_the_noisier_and_slower_it_is() {
        let width = |noise: f64, after: f64| {
            let mut trend = series(1.0, 200, vec![], vec![drift(80, 120, 1.0, after)]);
            trend.noise = Some(SeriesNoise { deviation: noise, inflation: 1.0, is_relative: true });
            let (_, steps) = result(&trend);
            steps[0][2] - steps[0][1]
        };
        assert_eq!(width(0.0, 1.2), 0);
        assert!(width(0.004, 1.2) < width(0.008, 1.2) && width(0.008, 1.2) < width(0.008, 1.1));
    }
}
