//! The rule by which a series is judged between two commits; the module above has it in words.

use std::ops::Range;

use super::data::{Data, PointData, SeriesData};
use super::segments::{Segment, Step};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outcome<'a> {
    pub(super) verdict: Verdict,
    pub(super) a: Option<&'a PointData>,
    pub(super) b: Option<&'a PointData>,
    /// The most likely level at A, where there is one.
    pub(super) before: Option<f64>,
    pub(super) after: Option<f64>,
    /// The level at B over that at A, less 1.
    pub(super) relative: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
    /// The numbers of the commits at which the series was measured in place of A and B, where these are others.
    pub(super) as_of: [Option<usize>; 2],
}

impl Outcome<'_> {
    /// A verdict without points and levels.
    pub(super) fn bare(verdict: Verdict) -> Outcome<'static> {
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

/// How far back from a commit that was not measured the values of a series may come from, in measured commits; the script has it as
/// the length of a chunk.
pub(super) const LOOK_BACK: usize = 50;

/// A commit at which a series is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// The number of the measured commit: itself, or the nearest before it.
    measured: usize,
    number: usize,
}

impl From<usize> for Moment {
    fn from(number: usize) -> Moment {
        Moment { measured: number, number }
    }
}

impl Moment {
    pub(super) fn new(data: &Data, number: usize) -> Moment {
        Moment { measured: data.measured(number), number }
    }

    /// The places of the points that count: those of one commit.
    fn places(self, points: &[PointData]) -> Range<usize> {
        let end = points.partition_point(|point| point.number <= self.measured);
        let is_counted = |last: &&PointData| match self.measured == self.number {
            true => last.number == self.measured,
            false => last.number + LOOK_BACK > self.measured,
        };
        let last = points[..end].last().filter(is_counted);
        last.map_or(end, |last| points.partition_point(|point| point.number < last.number))..end
    }

    /// The number of the commit of these points, where it is another one.
    fn as_of(self, points: &[PointData]) -> Option<usize> {
        points.first().map(|point| point.number).filter(|number| *number != self.measured)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    Changed(Through),
    /// Both are in one level, or in levels that differ no longer.
    Same {
        /// Whether it changed between and came back.
        came_back: bool,
    },
    /// There are too few points for levels.
    Short,
    /// One of them is in a drift.
    Drift,
    /// Between them is a drift that may have come to nothing.
    DriftBetween,
    /// A commit may be on either side of the change at the commit of that number.
    Open(usize),
    NotComparable,
    MissingAtA,
    MissingAtB,
    /// What was measured last before B is what was at A.
    MissingBetween,
}

/// Judges a series between two commits; nothing where it was measured at neither.
pub(super) fn judge(series: &SeriesData, a: impl Into<Moment>, b: impl Into<Moment>) -> Option<Outcome<'_>> {
    let (a, b) = (a.into(), b.into());
    let is_one_commit = a.number == b.number;
    let points = &series.points;
    let (at_a, at_b) = (a.places(points), b.places(points));
    let as_of = [a.as_of(&points[at_a.clone()]), b.as_of(&points[at_b.clone()])];
    let (last_a, last_b) = (points[at_a.clone()].last(), points[at_b.clone()].last());
    let bare = |verdict: Verdict, a: Option<_>, b: Option<_>| Some(Outcome { a, b, as_of, ..Outcome::bare(verdict) });
    let is_common = |a: &usize, b: usize| points[*a].environment == points[b].environment;
    let common = at_b.rev().find_map(|b| Some((at_a.clone().find(|a| is_common(a, b))?, b)));
    let (place_a, place_b) = match (last_a, last_b, common) {
        (None, None, _) => return None,
        (None, ..) => return bare(Verdict::MissingAtA, None, last_b),
        (_, None, _) => return bare(Verdict::MissingAtB, last_a, None),
        (_, _, None) => return bare(Verdict::NotComparable, last_a, last_b),
        (.., Some(places)) => places,
    };
    let (a, b) = (&points[place_a], &points[place_b]);
    // A measurement compared with itself says nothing of two commits.
    if !is_one_commit && a.number == b.number {
        return bare(Verdict::MissingBetween, Some(a), Some(b));
    }
    let [of_a, of_b] = [place_a, place_b].map(|place| Levels::new(series, place + 1));
    let judged = judge_levels(series, &of_a, &of_b, a.number.abs_diff(b.number));
    Some(Outcome { a: Some(a), b: Some(b), as_of, ..judged })
}

/// Judges a series by the levels in which two points may be, which are so many commits apart.
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

/// The levels in which a point may be, by their places.
pub(super) struct Levels {
    least: usize,
    likely: usize,
    most: usize,
    /// The commit of the first change that may be before it or not.
    open: Option<usize>,
}

impl Levels {
    /// Those of the last of the first so many points; of none, what is before all steps.
    pub(super) fn new(series: &SeriesData, points: usize) -> Levels {
        let changes = &series.changes;
        let is_open = |step: &&Step| !step.is_edge && step.first < points && step.last >= points;
        Levels {
            least: changes.iter().filter(|step| step.last < points).count(),
            likely: changes.iter().filter(|step| step.at < points).count(),
            most: changes.iter().filter(|step| step.first < points).count(),
            open: changes.iter().find(is_open).map(|step| series.points[step.at].number),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Through {
    /// One change, at the commit of that number.
    One(usize),
    /// One drift, from the commit of a number, and over at that of another.
    Drift(usize, usize),
    Drifts,
    Several(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Judged {
    /// -1 and 1 are a change down and up, 0 is none.
    sign: i8,
    /// The other level over the one, less 1.
    relative: Option<f64>,
    interval: Option<(f64, f64)>,
}

/// How two levels differ, at commits so many apart; nothing where one of them drifts, or a drift is between and comes to nothing
/// that is clear. Where a drift is all that there is, what it moves between them may be less than counts.
fn between(series: &SeriesData, from: usize, to: usize, apart: usize) -> Option<Judged> {
    let (low, high) = (from.min(to), from.max(to));
    let segments = &series.levels[low..=high];
    if series.changes[low..high].iter().all(|step| step.is_edge) && is_slow(segments, apart, series.least) {
        return Some(Judged { sign: 0, relative: None, interval: None });
    }
    let (a, b) = (series.levels[from].level()?, series.levels[to].level()?);
    let sign = if b[0] > a[0] { 1 } else { -1 };
    if from.abs_diff(to) == 1 {
        let change = series.changes[low].relative;
        let change = if from < to { change } else { change.and_then(turned) };
        let interval = change.map(|[_, lower, upper]| (lower, upper));
        return Some(Judged { sign, relative: change.map(|[value, ..]| value), interval });
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

/// What is between two levels, the earlier one first.
fn through(series: &SeriesData, low: usize, high: usize) -> Through {
    let at = |step: usize| series.points[series.changes[step].at].number;
    let has_drift = series.levels[low + 1..high].iter().any(|segment| segment.level().is_none());
    // No change leads into it or out of it.
    let has_edges_only = series.changes[low..high].iter().all(|step| step.is_edge);
    match high - low {
        1 => Through::One(at(low)),
        2 if has_drift && has_edges_only => Through::Drift(at(low), at(low + 1)),
        _ if has_drift => Through::Drifts,
        steps => Through::Several(steps),
    }
}

/// Whether nothing in those segments moves as much as counts between commits so many apart: one level, or drifts by their pace.
fn is_slow(segments: &[Segment], apart: usize, least: f64) -> bool {
    segments.iter().all(|segment| match segment {
        Segment::Level(_) => true,
        Segment::Drift(pace) => pace.is_some_and(|pace| pace * (apart as f64) < least),
    })
}

/// Thirty commits; the level rises by a tenth at commit 10, which may be 9 to 11, and falls back at 20.
#[cfg(test)]
pub(super) fn example() -> SeriesData {
    SeriesData {
        id: "s".to_owned(),
        suite: "cpu".to_owned(),
        benchmark: "a".to_owned(),
        dtype: String::new(),
        machine: "m".to_owned(),
        machine_name: "m".to_owned(),
        metric: sprag_model::metric::Metric::time(),
        judged: true,
        auxiliary: false,
        deviation: Some(0.01),
        shows: Some(0.02),
        least: 0.004,
        levels: [[1.0, 0.99, 1.01], [1.1, 1.09, 1.11], [1.001, 0.99, 1.01]].map(Segment::Level).to_vec(),
        changes: vec![tests::step(9, 10, 11, [0.1, 0.08, 0.12]), tests::step(20, 20, 20, [-0.09, -0.1, -0.08])],
        points: (0..30).map(|number| tests::point(number, "old")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    pub(super) fn point(number: usize, environment: &str) -> PointData {
        let time = DateTime::UNIX_EPOCH;
        PointData { number, environment: environment.into(), time, value: 1.0, spread: None }
    }

    pub(super) fn step(first: usize, at: usize, last: usize, relative: [f64; 3]) -> Step {
        Step { at, first, last, relative: Some(relative), is_edge: false }
    }

    fn edge(at: usize) -> Step {
        Step { relative: None, is_edge: true, ..step(at, at, at, [0.0; 3]) }
    }

    fn level(value: f64) -> Segment {
        Segment::Level([value, value - 0.01, value + 0.01])
    }

    #[track_caller]
    fn check(series: &SeriesData, expected: &[(usize, usize, Verdict)]) {
        for (a, b, verdict) in expected {
            let outcome = judge(series, *a, *b).expect("one of them is measured");
            assert_eq!(outcome.verdict, *verdict, "{a} {b}");
        }
    }

    const SAME: Verdict = Verdict::Same { came_back: false };
    const CAME_BACK: Verdict = Verdict::Same { came_back: true };

    fn at(number: usize) -> Verdict {
        Verdict::Changed(Through::One(number))
    }

    #[test]
    fn levels_are_judged_and_not_values() {
        let mut series = example();
        // Commits 9 and 10 may be on either side of the change; 11 is surely after it.
        let open = [(8, 9), (8, 10), (9, 10)].map(|(a, b)| (a, b, Verdict::Open(10)));
        check(&series, &open);
        check(&series, &[(0, 8, SAME), (8, 12, at(10)), (12, 8, at(10)), (8, 11, at(10)), (8, 25, CAME_BACK)]);
        let forth = judge(&series, 8, 12).expect("measured");
        assert_eq!((forth.relative, forth.interval), (Some(0.1), Some((0.08, 0.12))));
        let back = judge(&series, 12, 8).expect("measured").interval.expect("has one");
        assert!((back.0 - (1.0 / 1.12 - 1.0)).abs() < 1e-12 && (back.1 - (1.0 / 1.08 - 1.0)).abs() < 1e-12);
        // The level rose, wherever the first change is: such doubt changes nothing.
        series.levels[2] = Segment::Level([2.0, 1.9, 2.1]);
        check(&series, &[(10, 25, at(20)), (8, 25, Verdict::Changed(Through::Several(2)))]);
        series.levels.clear();
        check(&series, &[(8, 25, Verdict::Short)]);
    }

    #[test]
    fn nothing_is_judged_across_environments_and_gaps() {
        let mut series = example();
        series.points.retain(|point| point.number != 3);
        series.points[14..].iter_mut().for_each(|point| point.environment = "new".into());
        assert_eq!(judge(&series, 3, 3), None);
        check(&series, &[(3, 4, Verdict::MissingAtA), (4, 3, Verdict::MissingAtB), (4, 29, Verdict::NotComparable)]);
        // A commit that was measured in both is compared with each in its own.
        series.points.insert(14, point(14, "new"));
        check(&series, &[(14, 29, at(20)), (4, 14, at(11))]);
    }

    #[test]
    fn a_drift_moves_as_its_pace_says() {
        let mut series = example();
        series.levels[1] = Segment::Drift(None);
        check(&series, &[(8, 15, Verdict::Drift), (8, 25, CAME_BACK), (13, 15, Verdict::Drift)]);
        // Between 2 and 4 commits of 0.15 % each it moves less than the 0.4 % that count, or more.
        series.levels[1] = Segment::Drift(Some(0.0015));
        check(&series, &[(13, 15, SAME), (15, 13, SAME), (13, 17, Verdict::Drift), (8, 13, Verdict::Drift)]);
    }

    #[test]
    fn levels_before_and_after_a_drift_are_compared() {
        let mut series = example();
        let drift = Verdict::Changed(Through::Drift(10, 20));
        series.levels = vec![level(1.0), Segment::Drift(None), level(1.1)];
        series.changes = vec![edge(10), edge(20)];
        check(&series, &[(3, 25, drift.clone()), (25, 3, drift), (3, 9, SAME), (20, 29, SAME)]);
        check(&series, &[(3, 15), (15, 25), (12, 15)].map(|(a, b)| (a, b, Verdict::Drift)));
        let relative = |a: usize, b: usize| judge(&series, a, b).and_then(|one| one.relative).expect("it changed");
        assert!((relative(3, 25) - 0.1).abs() < 1e-9 && (relative(25, 3) + 1.0 / 11.0).abs() < 1e-9);
        series.levels[2] = level(1.01);
        check(&series, &[(3, 25, Verdict::DriftBetween)]);
        series.levels = vec![level(1.0), Segment::Drift(None), level(1.1), level(1.2)];
        series.changes.push(step(25, 25, 25, [0.09, 0.08, 0.1]));
        check(&series, &[(3, 28, Verdict::Changed(Through::Drifts))]);
        // What comes to nothing clear over a drift and a change is no more unchanged than over the drift alone.
        (series.levels[2], series.levels[3]) = (Segment::Level([1.02, 1.0, 1.04]), level(1.01));
        check(&series, &[(3, 28, Verdict::DriftBetween)]);
        // Next to the edge of a drift as in it: two commits between which it moves less than counts did not change.
        series.levels[1] = Segment::Drift(Some(0.0015));
        check(&series, &[(9, 10, SAME), (9, 11, SAME), (9, 12, Verdict::Drift), (19, 21, SAME)]);
    }

    #[test]
    fn a_change_between_two_environments_of_a_commit_is_between_them() {
        let mut series = example();
        series.points.insert(11, point(10, "new"));
        series.changes = vec![step(11, 11, 11, [0.1, 0.08, 0.12])];
        series.levels.truncate(2);
        check(&series, &[(8, 10, SAME), (10, 12, at(10))]);
    }
}
