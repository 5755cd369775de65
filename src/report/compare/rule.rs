//! The rule by which a series is judged between two commits; `compare/mod.rs` has it in words.

use std::ops::Range;

use super::data::{Data, PointData, SeriesData};
use super::segments::{Segment, SegmentStep};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outcome<'a> {
    pub(super) verdict: Verdict,
    pub(super) a: Option<&'a PointData>,
    pub(super) b: Option<&'a PointData>,
    pub(super) before: Option<f64>,
    pub(super) after: Option<f64>,
    pub(super) relative: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
    /// The numbers of other commits at which the series was measured in place of A and B.
    pub(super) as_of: [Option<usize>; 2],
}

impl Outcome<'_> {
    pub(super) fn bare(verdict: Verdict) -> Outcome<'static> {
        let as_of = [None; 2];
        Outcome { verdict, a: None, b: None, before: None, after: None, relative: None, interval: None, as_of }
    }
}

/// A commit that was not measured takes values from so many measured commits before it; the script knows it as the length of a chunk.
pub(super) const MOST_BACK: usize = 50;

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

    fn places(self, points: &[PointData]) -> Range<usize> {
        let end = points.partition_point(|point| point.number <= self.measured);
        let is_counted = |last: &&PointData| match self.measured == self.number {
            true => last.number == self.measured,
            false => last.number + MOST_BACK > self.measured,
        };
        let last = points[..end].last().filter(is_counted);
        let count =
            |last: &PointData| points[..end].iter().rev().take_while(|point| point.number == last.number).count();
        end - last.map_or(0, count)..end
    }

    /// The number of the commit of these points, if it is another one.
    fn as_of(self, points: &[PointData]) -> Option<usize> {
        points.first().map(|point| point.number).filter(|number| *number != self.measured)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    Changed(Through),
    /// Both are in one level, or in levels that do not differ clearly.
    Same {
        came_back: bool,
    },
    Short,
    Drift,
    /// A drift between them may have had no effect.
    DriftBetween,
    /// One of them may be on either side of the change at the commit of that number.
    Open(usize),
    NotComparable,
    MissingAtA,
    MissingAtB,
    /// The same measurement counts for both.
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
    // A measurement is not compared with itself.
    if !is_one_commit && a.number == b.number {
        return bare(Verdict::MissingBetween, Some(a), Some(b));
    }
    let [of_a, of_b] = [place_a, place_b].map(|place| Levels::new(series, place + 1));
    let judged = judge_levels(series, &of_a, &of_b, a.number.abs_diff(b.number));
    Some(Outcome { a: Some(a), b: Some(b), as_of, ..judged })
}

/// Judges a series by the possible levels of two points that are so many commits apart.
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

/// The possible levels of a point, by their places.
pub(super) struct Levels {
    least: usize,
    likely: usize,
    most: usize,
    /// The commit of the first change that may be before or after it.
    open: Option<usize>,
}

impl Levels {
    /// Those of the last of the first so many points.
    pub(super) fn new(series: &SeriesData, points: usize) -> Levels {
        let changes = &series.changes;
        let is_open = |step: &&SegmentStep| !step.is_edge && step.first < points && step.last >= points;
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
    relative: Option<f64>,
    interval: Option<(f64, f64)>,
}

/// How two levels differ, at commits so many apart; nothing where one of them drifts, or a drift is between and no clear change.
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
    // With a drift between, no clear change is not the same as none.
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

fn turned([value, lower, upper]: [f64; 3]) -> Option<[f64; 3]> {
    let turn = |one: f64| 1.0 / (1.0 + one) - 1.0;
    (lower > -1.0).then(|| [turn(value), turn(upper), turn(lower)])
}

/// What is between two levels, the earlier one first.
fn through(series: &SeriesData, low: usize, high: usize) -> Through {
    let at = |step: usize| series.points[series.changes[step].at].number;
    let has_drift = series.levels[low + 1..high].iter().any(|segment| segment.level().is_none());
    let has_edges_only = series.changes[low..high].iter().all(|step| step.is_edge);
    match high - low {
        1 => Through::One(at(low)),
        2 if has_drift && has_edges_only => Through::Drift(at(low), at(low + 1)),
        _ if has_drift => Through::Drifts,
        steps => Through::Several(steps),
    }
}

/// Whether the segments move less than counts between commits so many apart.
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
        power: -3,
        step: 1,
        id: "s".to_owned(),
        page: "series/s.html".to_owned(),
        is_scripted: true,
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

    pub(super) fn step(first: usize, at: usize, last: usize, relative: [f64; 3]) -> SegmentStep {
        SegmentStep { at, first, last, relative: Some(relative), is_edge: false }
    }

    fn edge(at: usize) -> SegmentStep {
        SegmentStep { relative: None, is_edge: true, ..step(at, at, at, [0.0; 3]) }
    }

    fn level(value: f64) -> Segment {
        Segment::Level([value, value - 0.01, value + 0.01])
    }

    #[track_caller]
    fn check<const N: usize>(series: &SeriesData, verdict: Verdict, pairs: [(usize, usize); N]) {
        for (a, b) in pairs {
            assert_eq!(judge(series, a, b).expect("one of them is measured").verdict, verdict, "{a} {b}");
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
        // Commits 9 and 10 may be on either side of the change; 11 is certainly after it.
        check(&series, Verdict::Open(10), [(8, 9), (8, 10), (9, 10)]);
        check(&series, at(10), [(8, 12), (12, 8), (8, 11)]);
        check(&series, SAME, [(0, 8)]);
        check(&series, CAME_BACK, [(8, 25)]);
        let forth = judge(&series, 8, 12).expect("measured");
        assert_eq!((forth.relative, forth.interval), (Some(0.1), Some((0.08, 0.12))));
        let back = judge(&series, 12, 8).expect("measured").interval.expect("has one");
        assert!((back.0 - (1.0 / 1.12 - 1.0)).abs() < 1e-12 && (back.1 - (1.0 / 1.08 - 1.0)).abs() < 1e-12);
        // The level rose, wherever the first change is: such doubt changes nothing.
        series.levels[2] = Segment::Level([2.0, 1.9, 2.1]);
        check(&series, at(20), [(10, 25)]);
        check(&series, Verdict::Changed(Through::Several(2)), [(8, 25)]);
        series.levels.clear();
        check(&series, Verdict::Short, [(8, 25)]);
    }

    #[test]
    fn nothing_is_judged_across_environments_and_gaps() {
        let mut series = example();
        series.points.retain(|point| point.number != 3);
        series.points[14..].iter_mut().for_each(|point| point.environment = "new".into());
        assert_eq!(judge(&series, 3, 3), None);
        check(&series, Verdict::MissingAtA, [(3, 4)]);
        check(&series, Verdict::MissingAtB, [(4, 3)]);
        check(&series, Verdict::NotComparable, [(4, 29)]);
        // A commit that was measured in both is compared with each in its own.
        series.points.insert(14, point(14, "new"));
        check(&series, at(20), [(14, 29)]);
        check(&series, at(11), [(4, 14)]);
        // A change between two environments of a commit is between them.
        let mut series = example();
        series.points.insert(11, point(10, "new"));
        series.changes = vec![step(11, 11, 11, [0.1, 0.08, 0.12])];
        series.levels.truncate(2);
        check(&series, SAME, [(8, 10)]);
        check(&series, at(10), [(10, 12)]);
    }

    #[test]
    fn levels_before_and_after_a_drift_are_compared() {
        let mut series = example();
        series.levels[1] = Segment::Drift(None);
        check(&series, Verdict::Drift, [(8, 15), (13, 15)]);
        check(&series, CAME_BACK, [(8, 25)]);
        // Between 2 and 4 commits of 0.15 % each it moves less than the 0.4 % that count, or more.
        series.levels[1] = Segment::Drift(Some(0.0015));
        check(&series, SAME, [(13, 15), (15, 13)]);
        check(&series, Verdict::Drift, [(13, 17), (8, 13)]);
        series.levels = vec![level(1.0), Segment::Drift(None), level(1.1)];
        series.changes = vec![edge(10), edge(20)];
        check(&series, Verdict::Changed(Through::Drift(10, 20)), [(3, 25), (25, 3)]);
        check(&series, SAME, [(3, 9), (20, 29)]);
        check(&series, Verdict::Drift, [(3, 15), (15, 25), (12, 15)]);
        let relative = |a: usize, b: usize| judge(&series, a, b).and_then(|one| one.relative).expect("it changed");
        assert!((relative(3, 25) - 0.1).abs() < 1e-9 && (relative(25, 3) + 1.0 / 11.0).abs() < 1e-9);
        series.levels[2] = level(1.01);
        check(&series, Verdict::DriftBetween, [(3, 25)]);
        series.levels = vec![level(1.0), Segment::Drift(None), level(1.1), level(1.2)];
        series.changes.push(step(25, 25, 25, [0.09, 0.08, 0.1]));
        check(&series, Verdict::Changed(Through::Drifts), [(3, 28)]);
        // No clear change over a drift and a change is no more unchanged than over the drift alone.
        (series.levels[2], series.levels[3]) = (Segment::Level([1.02, 1.0, 1.04]), level(1.01));
        check(&series, Verdict::DriftBetween, [(3, 28)]);
        // Next to the edge of a drift as in it: two commits between which it moves less than counts did not change.
        series.levels[1] = Segment::Drift(Some(0.0015));
        check(&series, SAME, [(9, 10), (9, 11), (19, 21)]);
        check(&series, Verdict::Drift, [(9, 12)]);
    }
}
