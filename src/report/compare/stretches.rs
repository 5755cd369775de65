//! What a series does over time, as the rule looks at it: stretches at a level and stretches that drift, and the steps between.

use std::ops::Range;

use super::data::{Spot, Step, Stretch};
use super::rounding::rounded;
use crate::model::change_point::{Drift, Level};
use crate::model::trend::SeriesTrend;
use crate::report::fit::{Fit, Piece};

/// The quantile of the normal distribution for 95 %.
const NORMAL_95: f64 = 1.96;

/// The stretches of a series whose points have these numbers of commits, and the steps between them, which are one fewer; nothing
/// where no level was looked for.
pub(super) fn stretches(one: &SeriesTrend, numbers: &[usize]) -> (Vec<Stretch>, Vec<Step>) {
    let found = &one.changes.points;
    let is_told = one.levels.len() == found.len() + 1 && one.pooled.len() == numbers.len();
    if one.changes.levels.is_empty() || !is_told {
        return (Vec::new(), Vec::new());
    }
    let pieces = Fit::of(one, &[]).pieces();
    let levels = pieces.iter().map(|piece| stretch(one, numbers, piece)).collect();
    let mut places: Vec<[usize; 3]> = Vec::with_capacity(pieces.len());
    let mut relatives = Vec::with_capacity(pieces.len());
    for piece in pieces.iter().skip(1) {
        let begin = piece.points.start;
        let change = found.iter().find(|change| piece.is_step && change.index == begin);
        places.push(change.map_or([begin; 3], |change| [change.index, change.first, change.last]));
        relatives.push(change.and_then(|change| ends(&change.relative)));
    }
    in_order(&mut places, numbers.len() - 1);
    let spot = |index: usize| {
        let number = numbers[index];
        let same = (0..index).rev().take_while(|earlier| numbers[*earlier] == number);
        let mut before: Vec<String> = same.map(|earlier| one.pooled[earlier].environment_key.to_string()).collect();
        before.reverse();
        Spot { number, before }
    };
    let step = |([at, first, last], relative): ([usize; 3], _)| Step {
        at: spot(at),
        first: spot(first),
        last: spot(last),
        relative,
    };
    (levels, places.into_iter().zip(relatives).map(step).collect())
}

/// Lets no step be reached surely before one that comes before it, nor possibly after one that comes after: a drift may begin
/// where a change is not sure to have been.
fn in_order(places: &mut [[usize; 3]], newest: usize) {
    let mut last = 0;
    for place in places.iter_mut() {
        last = last.max(place[2]).min(newest);
        place[2] = last;
    }
    let mut first = newest;
    for place in places.iter_mut().rev() {
        first = first.min(place[1]);
        place[1] = first;
    }
}

fn stretch(one: &SeriesTrend, numbers: &[usize], piece: &Piece) -> Stretch {
    let level = if piece.is_ramp { None } else { level(one, piece) };
    level.map_or_else(|| Stretch::Drift(pace(one, numbers, piece.points.clone())), Stretch::Level)
}

/// The level of a stretch: as the trend tells it, or beside a drift as the fit has it, with the error of a mean of so many points.
fn level(one: &SeriesTrend, piece: &Piece) -> Option<[f64; 3]> {
    let number = one.changes.points.partition_point(|change| change.index <= piece.points.start);
    if let Some(level) = &one.levels[number].level {
        return ends(level);
    }
    let value = piece.from;
    let Some(noise) = one.noise else { return ends(&Level { value, lower: value, upper: value }) };
    let half = NORMAL_95 * noise.deviation * noise.inflation / (piece.points.len().max(1) as f64).sqrt();
    let (lower, upper) =
        if noise.is_relative { (value * (-half).exp(), value * half.exp()) } else { (value - half, value + half) };
    ends(&Level { value, lower: lower.min(upper), upper: upper.max(lower) })
}

/// By which share of its level a series moves a commit at most, in drifts that lie in a stretch of its points, which have these
/// numbers of commits.
fn pace(one: &SeriesTrend, numbers: &[usize], points: Range<usize>) -> Option<f64> {
    let inside = one.changes.drifts.iter().filter(|drift| drift.begin < points.end && drift.end > points.start);
    let pace = |drift: &Drift| {
        let least = drift.before.min(drift.after);
        // A commit may have several points, one an environment, and another none.
        let of_drift = numbers.get(drift.begin..drift.end).unwrap_or_default();
        let commits = of_drift.last().zip(of_drift.first()).map_or(0, |(last, first)| last - first);
        if least > 0.0 { (drift.after - drift.before).abs() / least / commits.max(1) as f64 } else { f64::INFINITY }
    };
    let fastest = inside.map(pace).reduce(f64::max);
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
    use crate::model::change_point::ChangePoint;
    use crate::report::fit::example;

    fn told(trend: &SeriesTrend) -> (Vec<Stretch>, Vec<[usize; 3]>) {
        let numbers: Vec<usize> = (0..trend.pooled.len()).collect();
        let (levels, steps) = stretches(trend, &numbers);
        (levels, steps.iter().map(|step| [step.at.number, step.first.number, step.last.number]).collect())
    }

    #[test]
    fn there_are_levels_before_a_drift_and_after_it() {
        let trend = example::series(1.0, 60, vec![], vec![example::drift(20, 40, 1.0, 1.2)]);
        let (levels, steps) = told(&trend);
        assert_eq!(steps, [[20; 3], [40; 3]]);
        let [Stretch::Level(before), Stretch::Drift(Some(pace)), Stretch::Level(after)] = levels[..] else {
            panic!("{levels:?}")
        };
        // 0.2 over the nineteen commits from the first of the ramp to its last.
        assert!((pace - 0.2 / 19.0).abs() < 1e-6, "{pace}");
        // Noise of 0.8 % over the root of twenty points, 1.96 times.
        for ([value, lower, upper], expected) in [(before, 1.0), (after, 1.2)] {
            assert_eq!(value, expected);
            let half = 1.96 * 0.008 / 20f64.sqrt();
            assert!((lower / value - (-half).exp()).abs() < 1e-4 && (upper / value - half.exp()).abs() < 1e-4);
        }
    }

    #[test]
    fn a_drift_that_goes_on_has_no_level_after_it() {
        let trend = example::series(1.0, 60, vec![], vec![example::drift(20, 60, 1.0, 1.2)]);
        let (levels, steps) = told(&trend);
        assert!(matches!(levels[..], [Stretch::Level(_), Stretch::Drift(Some(_))]), "{levels:?}");
        assert_eq!(steps, [[20; 3]]);
    }

    #[test]
    fn a_drift_begins_surely_after_a_change_that_may_lie_behind_its_begin() {
        let change = ChangePoint { first: 18, last: 23, ..example::change(20, 1.0, 1.1) };
        let trend = example::series(1.0, 60, vec![change], vec![example::drift(22, 40, 1.1, 1.3)]);
        let (levels, steps) = told(&trend);
        assert_eq!(steps, [[20, 18, 23], [22, 22, 23], [40; 3]]);
        assert!(
            matches!(levels[..], [Stretch::Level(_), Stretch::Level(_), Stretch::Drift(_), Stretch::Level(_)]),
            "{levels:?}"
        );
        // And one that a change cuts in two drifts on both sides of it.
        let trend =
            example::series(1.0, 60, vec![example::change(30, 1.0, 1.3)], vec![example::drift(20, 40, 1.0, 1.2)]);
        let (levels, steps) = told(&trend);
        assert_eq!(steps, [[20; 3], [30; 3], [40; 3]]);
        assert!(levels[1].level().is_none() && levels[2].level().is_none() && levels.len() == 4, "{levels:?}");
    }

    #[test]
    fn where_no_level_was_looked_for_there_is_nothing() {
        assert_eq!(told(&example::series(1.0, 5, vec![], vec![])), (Vec::new(), Vec::new()));
    }
}
