//! The rule by which a series is judged between two commits, as the module above says it in words.

use super::columns::PointData;
use super::data::{Data, SeriesData};
use super::segments::{Segment, Spot, Step};

/// What the rule says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outcome<'a> {
    pub(super) verdict: Verdict,
    /// The value at A.
    pub(super) a: Option<&'a PointData>,
    /// The value at B.
    pub(super) b: Option<&'a PointData>,
    /// The most likely level at A, where there is one.
    pub(super) before: Option<f64>,
    /// That at B.
    pub(super) after: Option<f64>,
    /// The level at B over that at A, less 1.
    pub(super) relative: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
    /// The numbers of the commits at which the series was measured in place of A and B, where these are others.
    pub(super) as_of: [Option<usize>; 2],
}

impl Outcome<'_> {
    /// A verdict without points and levels.
    fn bare(verdict: Verdict) -> Outcome<'static> {
        Outcome {
            verdict,
            a: None,
            b: None,
            before: None,
            after: None,
            relative: None,
            interval: None,
            as_of: [None; 2],
        }
    }
}

/// How far back of a commit that was not measured a series is looked for, in measured commits; the script has it as the length
/// of a chunk.
pub(super) const LOOK_BACK: usize = 50;

/// A commit at which a series is looked up: a measured one by its number, or one that was not, by that of the nearest before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// The number of the measured one.
    number: usize,
    /// The number that was asked for, another one where that was not measured.
    asked: usize,
}

impl From<usize> for Moment {
    fn from(number: usize) -> Moment {
        Moment { number, asked: number }
    }
}

impl Moment {
    pub(super) fn new(data: &Data, number: usize) -> Moment {
        Moment { number: data.measured(number), asked: number }
    }

    /// The points of a series that count.
    fn points(self, series: &SeriesData) -> &[PointData] {
        let mut number = self.number;
        if self.asked != self.number {
            let before = &series.points[..series.points.partition_point(|point| point.number <= number)];
            let Some(last) = before.last().filter(|last| last.number + LOOK_BACK > number) else { return &[] };
            number = last.number;
        }
        let from = &series.points[first_from(&series.points, number)..];
        let count = from.iter().take_while(|point| point.number == number).count();
        &from[..count]
    }

    /// The number of another commit whose points they are.
    fn as_of(self, points: &[PointData]) -> Option<usize> {
        points.first().map(|point| point.number).filter(|number| *number != self.number)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// The level changed, at the commit of that number, or in so many steps.
    Changed(Through),
    /// Both lie in one level, or in levels that differ no longer.
    Same {
        /// Whether it changed between and came back.
        came_back: bool,
    },
    /// There are too few points for levels.
    Short,
    /// One of them lies in a drift.
    Drift,
    /// Between them is a drift that may have come to nothing.
    DriftBetween,
    /// A commit may lie on either side of the change at the commit of that number.
    Open(usize),
    NotComparable,
    /// Not measured at A.
    MissingAtA,
    /// Not measured at B.
    MissingAtB,
    /// What was measured last before B is what was at A.
    MissingBetween,
}

/// Judges a series between two commits; nothing where it was measured at neither.
pub(super) fn judge(series: &SeriesData, a: impl Into<Moment>, b: impl Into<Moment>) -> Option<Outcome<'_>> {
    let (a, b) = (a.into(), b.into());
    let asked = [a.asked, b.asked];
    let (at_a, at_b) = (a.points(series), b.points(series));
    let as_of = [a.as_of(at_a), b.as_of(at_b)];
    let (last_a, last_b) = (at_a.last(), at_b.last());
    let bare = |verdict: Verdict, a: Option<_>, b: Option<_>| Some(Outcome { a, b, as_of, ..Outcome::bare(verdict) });
    let common = at_b.iter().rev().find_map(|b| Some((at_a.iter().find(|a| a.environment == b.environment)?, b)));
    let (a, b) = match (last_a, last_b, common) {
        (None, None, _) => return None,
        (None, ..) => return bare(Verdict::MissingAtA, None, last_b),
        (_, None, _) => return bare(Verdict::MissingAtB, last_a, None),
        (_, _, None) => return bare(Verdict::NotComparable, last_a, last_b),
        (.., Some(pair)) => pair,
    };
    // Held against itself a measurement says nothing of two commits.
    if asked[0] != asked[1] && a.column == b.column {
        return bare(Verdict::MissingBetween, Some(a), Some(b));
    }
    let levels = |point: &PointData| Levels::new(series, |spot| spot.is_reached(point));
    let judged = judge_levels(series, &levels(a), &levels(b), a.number.abs_diff(b.number));
    Some(Outcome { a: Some(a), b: Some(b), as_of, ..judged })
}

/// Judges a series by the levels in which two points may lie, which are so many commits apart.
pub(super) fn judge_levels<'a>(series: &SeriesData, of_a: &Levels, of_b: &Levels, apart: usize) -> Outcome<'a> {
    if series.levels.is_empty() {
        return Outcome::bare(Verdict::Short);
    }
    let value = |level: usize| series.levels[level].level().map(|[value, ..]| value);
    let undecided = |from: usize, to: usize| {
        let both_are_levels = value(from).is_some() && value(to).is_some();
        Outcome::bare(if both_are_levels { Verdict::DriftBetween } else { Verdict::Drift })
    };
    let Some(likely) = between(series, of_a.likely, of_b.likely, apart) else {
        return undecided(of_a.likely, of_b.likely);
    };
    let mut open = None;
    for from in of_a.least..=of_a.most {
        for to in of_b.least..=of_b.most {
            match between(series, from, to, apart) {
                Some(judged) if judged.sign == likely.sign => (),
                Some(_) => match of_a.open.or(of_b.open) {
                    Some(number) => open = open.or(Some(number)),
                    None => return Outcome::bare(Verdict::Drift),
                },
                None => return undecided(from, to),
            }
        }
    }
    let (low, high) = (of_a.likely.min(of_b.likely), of_a.likely.max(of_b.likely));
    let verdict = match (open, likely.sign) {
        (Some(number), _) => Verdict::Open(number),
        (None, 0) => Verdict::Same { came_back: series.changes[low..high].iter().any(|step| !step.is_edge) },
        (None, _) => Verdict::Changed(through(series, low, high)),
    };
    Outcome {
        before: value(of_a.likely),
        after: value(of_b.likely),
        relative: likely.relative,
        interval: likely.interval,
        ..Outcome::bare(verdict)
    }
}

/// The place of the first point of that commit or a later one. Mostly every commit was measured once, and then it is as far
/// from the first one as the numbers say: to look there first saves a search all over the memory.
fn first_from(points: &[PointData], number: usize) -> usize {
    let guess = points.first().map_or(0, |first| number.saturating_sub(first.number));
    let is_from = |place: usize| points.get(place).is_some_and(|point| point.number >= number);
    if is_from(guess) && (guess == 0 || !is_from(guess - 1)) {
        return guess;
    }
    points.partition_point(|point| point.number < number)
}

/// The levels in which a point may lie, by their places.
pub(super) struct Levels {
    least: usize,
    likely: usize,
    most: usize,
    /// The commit of the first change that may lie before it or not.
    open: Option<usize>,
}

impl Levels {
    /// Those of a point, of which `is_reached` says whether it is that one or comes after it.
    pub(super) fn new(series: &SeriesData, is_reached: impl Fn(&Spot) -> bool) -> Levels {
        let changes = &series.changes;
        let is_open = |step: &&Step| !step.is_edge && is_reached(&step.first) && !is_reached(&step.last);
        let open = changes.iter().find(is_open);
        Levels {
            least: changes.iter().filter(|step| is_reached(&step.last)).count(),
            likely: changes.iter().filter(|step| is_reached(&step.at)).count(),
            most: changes.iter().filter(|step| is_reached(&step.first)).count(),
            open: open.map(|step| step.at.number),
        }
    }
}

/// What lies between two levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Through {
    /// One change, at the commit of that number.
    One(usize),
    /// One drift, from the commit of a number, and over at that of another.
    Drift(usize, usize),
    /// A drift and other changes.
    Drifts,
    Several(usize),
}

/// How two levels stand to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judged {
    /// What is told: -1 and 1 are a change down and up, 0 is none.
    pub(super) sign: i8,
    /// The other level over the one, less 1.
    pub(super) relative: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
}

/// How two levels stand to each other, at commits so many apart; nothing where one of them drifts, or a drift lies between and comes
/// to nothing that is clear. Where a drift is all that there is, what it moves between them may be less than counts.
pub(super) fn between(series: &SeriesData, from: usize, to: usize, apart: usize) -> Option<Judged> {
    let (low, high) = (from.min(to), from.max(to));
    let segments = &series.levels[low..=high];
    if series.changes[low..high].iter().all(|step| step.is_edge) && is_slow(segments, apart, series.least) {
        return Some(Judged { sign: 0, relative: None, interval: None });
    }
    let (a, b) = (series.levels[from].level()?, series.levels[to].level()?);
    let sign = if b[0] > a[0] { 1 } else { -1 };
    if from.abs_diff(to) == 1 {
        let result = series.changes[from.min(to)].relative;
        let result = if from < to { result } else { result.and_then(turned) };
        return Some(match result {
            Some([value, lower, upper]) => Judged { sign, relative: Some(value), interval: Some((lower, upper)) },
            None => Judged { sign, relative: None, interval: None },
        });
    }
    let relative = (a[0] > 0.0).then(|| b[0] / a[0] - 1.0);
    let counts = relative.is_none_or(|size| size.abs() >= series.least);
    let clear = if b[0] > a[0] {
        b[0] - a[0] > (a[2] - a[0]).hypot(b[0] - b[1])
    } else {
        a[0] - b[0] > (a[0] - a[1]).hypot(b[2] - b[0])
    };
    // What drifts and comes to nothing that is clear, nobody can call unchanged.
    if !(clear && counts) && series.changes[low..high].iter().any(|step| step.is_edge) {
        return None;
    }
    let interval = (a[1] > 0.0 && b[1] > 0.0).then(|| {
        let ratio = (b[0] / a[0]).ln();
        let down = (b[0] / b[1]).ln().hypot((a[2] / a[0]).ln());
        let up = (b[2] / b[0]).ln().hypot((a[0] / a[1]).ln());
        ((ratio - down).exp_m1(), (ratio + up).exp_m1())
    });
    Some(Judged { sign: if clear && counts { sign } else { 0 }, relative, interval })
}

/// A relative change seen from the other side.
fn turned([value, lower, upper]: [f64; 3]) -> Option<[f64; 3]> {
    let turn = |one: f64| 1.0 / (1.0 + one) - 1.0;
    (lower > -1.0).then(|| [turn(value), turn(upper), turn(lower)])
}

/// What lies between two levels, the earlier one first.
pub(super) fn through(series: &SeriesData, low: usize, high: usize) -> Through {
    let at = |step: usize| series.changes[step].at.number;
    match high - low {
        1 => Through::One(at(low)),
        _ if is_one_drift(series, low, high) => Through::Drift(at(low), at(low + 1)),
        _ if series.levels[low + 1..high].iter().any(|segment| segment.level().is_none()) => Through::Drifts,
        steps => Through::Several(steps),
    }
}

/// Whether what lies between two levels, the earlier one first, is a drift and nothing else: no change leads into it or out of it.
fn is_one_drift(series: &SeriesData, low: usize, high: usize) -> bool {
    high == low + 2
        && series.levels[low + 1].level().is_none()
        && series.changes[low..high].iter().all(|step| step.is_edge)
}

/// Whether nothing that lies in those stretches moves as much as counts between commits so many apart: one level, or drifts by their
/// pace.
fn is_slow(segments: &[Segment], apart: usize, least: f64) -> bool {
    segments.iter().all(|segment| match segment {
        Segment::Level(_) => true,
        Segment::Drift(pace) => pace.is_some_and(|pace| pace * (apart as f64) < least),
    })
}

#[cfg(test)]
mod tests {
    use super::super::segments::{Segment, Spot};
    use super::*;
    use crate::compare::columns::Column;
    use sprag_model::metric::Metric;
    use std::sync::Arc;

    #[test]
    fn the_first_point_from_a_commit_on_is_found_however_many_it_has() {
        for numbers in [&[][..], &[3, 4, 5, 6], &[3, 3, 4, 6, 6, 6, 9], &[0, 5, 5, 7], &[8]] {
            let points: Vec<PointData> = numbers.iter().map(|&number| point(number, "a")).collect();
            for number in 0..12 {
                let expected = numbers.iter().filter(|one| **one < number).count();
                assert_eq!(first_from(&points, number), expected, "{number} among {numbers:?}");
            }
        }
    }

    fn point(number: usize, environment: &str) -> PointData {
        let of = Column { column: number, number, environment: environment.into() };
        PointData { of: of.into(), value: 1.0, spread: None }
    }

    fn spot(number: usize) -> Spot {
        Spot { number, before: Vec::new() }
    }

    fn step(first: usize, at: usize, last: usize, relative: [f64; 3]) -> Step {
        Step { at: spot(at), first: spot(first), last: spot(last), relative: Some(relative), is_edge: false }
    }

    /// Thirty commits; the level rises by a tenth at commit 10, which may be 9 to 11, and falls back at 20.
    fn series() -> SeriesData {
        SeriesData {
            id: "s".to_owned(),
            suite: "cpu".to_owned(),
            benchmark: "a".to_owned(),
            dtype: String::new(),
            machine: "m".to_owned(),
            machine_name: "m".to_owned(),
            metric: Metric::time(),
            judged: true,
            auxiliary: false,
            deviation: Some(0.01),
            shows: Some(0.02),
            least: 0.004,
            levels: [[1.0, 0.99, 1.01], [1.1, 1.09, 1.11], [1.001, 0.99, 1.01]].map(Segment::Level).to_vec(),
            changes: vec![step(9, 10, 11, [0.1, 0.08, 0.12]), step(20, 20, 20, [-0.09, -0.1, -0.08])],
            points: (0..30).map(|number| point(number, "old")).collect(),
        }
    }

    #[test]
    fn levels_are_judged_and_not_values() {
        let verdict = |a: usize, b: usize| judge(&series(), a, b).expect("both are measured").verdict;
        assert_eq!(verdict(0, 8), Verdict::Same { came_back: false });
        assert_eq!(verdict(8, 12), Verdict::Changed(Through::One(10)));
        assert_eq!(verdict(12, 8), Verdict::Changed(Through::One(10)));
        assert_eq!(verdict(8, 25), Verdict::Same { came_back: true });
        // Commits 9 and 10 may lie on either side of the change; 11 surely lies after it.
        assert_eq!(verdict(8, 9), Verdict::Open(10));
        assert_eq!(verdict(8, 10), Verdict::Open(10));
        assert_eq!(verdict(8, 11), Verdict::Changed(Through::One(10)));
        assert_eq!(verdict(9, 10), Verdict::Open(10));
        let forth = series();
        let forth = judge(&forth, 8, 12).expect("measured");
        assert_eq!((forth.relative, forth.interval), (Some(0.1), Some((0.08, 0.12))));
        let back = series();
        let back = judge(&back, 12, 8).expect("measured").interval.expect("has one");
        assert!((back.0 - (1.0 / 1.12 - 1.0)).abs() < 1e-12 && (back.1 - (1.0 / 1.08 - 1.0)).abs() < 1e-12);
    }

    #[test]
    fn doubt_that_changes_nothing_is_none() {
        let mut series = series();
        series.levels[2] = Segment::Level([2.0, 1.9, 2.1]);
        let verdict = judge(&series, 10, 25).expect("both are measured").verdict;
        assert_eq!(verdict, Verdict::Changed(Through::One(20)), "the level rose, wherever the first change lies");
        assert_eq!(judge(&series, 8, 25).map(|one| one.verdict), Some(Verdict::Changed(Through::Several(2))));
    }

    #[test]
    fn nothing_is_judged_across_environments_drifts_and_gaps() {
        let mut one = series();
        one.points.retain(|point| point.number != 3);
        for point in &mut one.points[14..] {
            Arc::make_mut(&mut point.of).environment = "new".into();
        }
        let verdict = |series: &SeriesData, a: usize, b: usize| judge(series, a, b).map(|one| one.verdict);
        assert_eq!(verdict(&one, 3, 3), None);
        assert_eq!(verdict(&one, 3, 4), Some(Verdict::MissingAtA));
        assert_eq!(verdict(&one, 4, 3), Some(Verdict::MissingAtB));
        assert_eq!(verdict(&one, 4, 29), Some(Verdict::NotComparable));
        // A commit that was measured in both is held against each in its own.
        one.points.insert(14, point(14, "new"));
        assert_eq!(verdict(&one, 14, 29), Some(Verdict::Changed(Through::One(20))));
        assert_eq!(verdict(&one, 4, 14), Some(Verdict::Changed(Through::One(10))));
        let mut drifts = series();
        drifts.levels[1] = Segment::Drift(None);
        assert_eq!(verdict(&drifts, 8, 15), Some(Verdict::Drift));
        assert_eq!(verdict(&drifts, 8, 25), Some(Verdict::Same { came_back: true }));
        assert_eq!(verdict(&drifts, 13, 15), Some(Verdict::Drift));
        // In one drift what moves less than counts is no change: 2 and 4 commits of 0.15 % each, where 0.4 % counts.
        drifts.levels[1] = Segment::Drift(Some(0.0015));
        assert_eq!(verdict(&drifts, 13, 15), Some(Verdict::Same { came_back: false }));
        assert_eq!(verdict(&drifts, 15, 13), Some(Verdict::Same { came_back: false }));
        assert_eq!(verdict(&drifts, 13, 17), Some(Verdict::Drift));
        assert_eq!(verdict(&drifts, 8, 13), Some(Verdict::Drift));
        drifts.levels.clear();
        assert_eq!(verdict(&drifts, 8, 25), Some(Verdict::Short));
    }

    #[test]
    fn levels_before_and_after_a_drift_are_held_against_each_other() {
        let mut one = series();
        one.levels = vec![Segment::Level([1.0, 0.99, 1.01]), Segment::Drift(None), Segment::Level([1.1, 1.09, 1.11])];
        (one.changes[0], one.changes[1]) = (
            Step { relative: None, is_edge: true, ..step(10, 10, 10, [0.0; 3]) },
            Step { relative: None, is_edge: true, ..step(20, 20, 20, [0.0; 3]) },
        );
        let judged = |one: &SeriesData, a: usize, b: usize| {
            let outcome = judge(one, a, b).expect("both are measured");
            (outcome.verdict, outcome.relative.map(|relative| (relative * 1e3).round()))
        };
        assert_eq!(judged(&one, 3, 25), (Verdict::Changed(Through::Drift(10, 20)), Some(100.0)));
        assert_eq!(judged(&one, 25, 3), (Verdict::Changed(Through::Drift(10, 20)), Some(-91.0)));
        assert_eq!(judged(&one, 3, 9).0, Verdict::Same { came_back: false });
        assert_eq!(judged(&one, 20, 29).0, Verdict::Same { came_back: false });
        for (a, b) in [(3, 15), (15, 25), (12, 15)] {
            assert_eq!(judged(&one, a, b), (Verdict::Drift, None), "{a} {b}");
        }
        one.levels[2] = Segment::Level([1.01, 1.0, 1.02]);
        assert_eq!(judged(&one, 3, 25).0, Verdict::DriftBetween);
        one.levels[2] = Segment::Level([1.1, 1.09, 1.11]);
        one.levels.push(Segment::Level([1.2, 1.19, 1.21]));
        one.changes.push(step(25, 25, 25, [0.09, 0.08, 0.1]));
        assert_eq!(judged(&one, 3, 28), (Verdict::Changed(Through::Drifts), Some(200.0)));
        // What comes to nothing clear over a drift and a change is no more unchanged than over the drift alone.
        (one.levels[2], one.levels[3]) = (Segment::Level([1.02, 1.0, 1.04]), Segment::Level([1.01, 1.0, 1.02]));
        assert_eq!(judged(&one, 3, 28).0, Verdict::DriftBetween);
        // Beside the edge of a drift as in it: two commits between which it moves less than counts did not change.
        one.levels[1] = Segment::Drift(Some(0.0015));
        let verdicts = [(9, 10), (9, 11), (9, 12), (19, 21)].map(|(a, b)| judged(&one, a, b).0);
        let same = Verdict::Same { came_back: false };
        assert_eq!(verdicts, [same.clone(), same.clone(), Verdict::Drift, same]);
    }

    #[test]
    fn a_change_between_two_environments_of_a_commit_lies_between_them() {
        let mut one = series();
        one.points.insert(11, point(10, "new"));
        let between = Spot { number: 10, before: vec!["old".to_owned()] };
        one.changes.truncate(1);
        one.levels.truncate(2);
        (one.changes[0].at, one.changes[0].first, one.changes[0].last) = (between.clone(), between.clone(), between);
        let verdict = |a: usize, b: usize| judge(&one, a, b).map(|one| one.verdict);
        assert_eq!(verdict(8, 10), Some(Verdict::Same { came_back: false }), "in the old environment");
        assert_eq!(verdict(10, 12), Some(Verdict::Changed(Through::One(10))));
    }
}
