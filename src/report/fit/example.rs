//! Series, events and members for tests.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};

use super::Fit;
use sprag_model::{
    ChangePoint, Changes, Direction, Drift, Event, EventKind, EventState, Level, Member, Metric, NamedCommit,
    NamedMachine, PointRun, PooledPoint, Segment, SeriesNoise, SeriesTrend,
};

pub(crate) fn level(value: f64) -> Level {
    Level { value, lower: value * 0.999, upper: value * 1.001 }
}

pub(crate) fn commit(place: usize) -> NamedCommit {
    NamedCommit { sha: format!("{place:07x}{}", "0".repeat(33)), subject: String::new(), tags: Vec::new() }
}

pub(crate) fn change(index: usize, before: f64, after: f64) -> ChangePoint {
    let relative = after / before - 1.0;
    ChangePoint {
        index,
        first: index,
        last: index,
        before: level(before),
        after: level(after),
        relative: Level { value: relative, lower: relative - 0.005, upper: relative + 0.005 },
        score: 3.0,
        chance: 1e-6,
        likelihoods: vec![1.0],
    }
}

pub(crate) fn drift(begin: usize, end: usize, before: f64, after: f64) -> Drift {
    Drift { begin, end, before, after, rate: level(0.001), chance: 1e-4, is_carried: false }
}

/// A series of times with those turns that begins at `start`; with fewer than eight points it has no level.
pub(crate) fn series(start: f64, count: usize, points: Vec<ChangePoint>, drifts: Vec<Drift>) -> SeriesTrend {
    let levels = match count {
        0..8 => Vec::new(),
        _ => std::iter::once(start).chain(points.iter().map(|one| one.after.value)).map(level).collect(),
    };
    let Member { series, suite, benchmark, metric, machine, .. } = member(0);
    let mut trend = SeriesTrend {
        series,
        suite,
        benchmark,
        metric,
        machine,
        judged: true,
        is_auxiliary: false,
        exact: false,
        sensitivity: "balanced".to_owned(),
        least: 0.01,
        noise: Some(SeriesNoise { deviation: 0.008, inflation: 1.0, is_relative: true }),
        raw_noise: None,
        detectable: Some(0.023),
        points: count,
        dirty: 0,
        elsewhere: 0,
        levels: Vec::new(),
        not_judged: Vec::new(),
        pooled: [].into(),
        changes: Changes { points, drifts, levels, ..Changes::default() },
    };
    trend.pooled = (0..count).map(pooled).collect();
    let fitted = Fit::new(&trend, &[]).pieces();
    for piece in fitted {
        let steps = (piece.points.len() - 1).max(1) as f64;
        for (step, index) in piece.points.enumerate() {
            Arc::make_mut(&mut trend.pooled)[index].value = piece.from + (piece.to - piece.from) * step as f64 / steps;
        }
    }
    trend.levels = segments(&trend.changes, count, commit);
    trend
}

/// The levels between the changes; one with a drift in it has no value.
pub(crate) fn segments(changes: &Changes, count: usize, commit: impl Fn(usize) -> NamedCommit) -> Vec<Segment> {
    let begins = changes.points.iter().map(|change| change.index);
    let bounds: Vec<usize> = [0].into_iter().chain(begins).chain([count]).collect();
    let segment = |(pair, level): (&[usize], &Level)| {
        let has_ramp = changes.drifts.iter().any(|drift| drift.begin < pair[1] && pair[0] < drift.end);
        Segment {
            first: commit(pair[0]),
            last: commit(pair[1] - 1),
            points: pair[1] - pair[0],
            level: (!has_ramp).then_some(*level),
        }
    };
    bounds.windows(2).zip(&changes.levels).map(segment).collect()
}

fn machine() -> NamedMachine {
    NamedMachine { id: "m".to_owned(), name: "epyc".to_owned() }
}

fn time(day: usize) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + Duration::days(20_514 + day as i64)
}

fn pooled(place: usize) -> PooledPoint {
    let first = PointRun {
        commit: commit(place).sha.into(),
        position: Some(place),
        rank: place,
        time: time(place),
        environment_key: "a".into(),
        run: format!("run{place}").into(),
        dirty: false,
    };
    let value = 1.2e-3 + 1e-6 * (place % 3) as f64;
    PooledPoint { first: first.into(), place, value, runs: 1, processes: 10, spread: None, alike: false }
}

pub(crate) fn member(at: usize) -> Member {
    Member {
        series: "s-01234567".to_owned(),
        suite: "cpu".to_owned(),
        benchmark: "cpu/tile_pack{n=4096} @fast".to_owned(),
        metric: Metric::time(),
        machine: machine(),
        before: level(1.2e-3),
        after: level(1.3e-3),
        relative: None,
        worse: None,
        at: commit(at),
        points_since: 8,
        chance: 1e-6,
        is_carried: false,
        high_share: None,
        is_high: None,
        commits: None,
        is_present: true,
    }
}

/// A regression of the series; a drift ends at that point.
pub(crate) fn event(kind: EventKind, at: usize) -> Event {
    Event {
        id: format!("e-{at:04x}"),
        kind,
        direction: Direction::Worse,
        state: EventState::Present,
        sure: true,
        false_discovery: 0.001,
        machines: vec![machine()],
        last_good: None,
        first_bad: commit(at),
        suspects: Vec::new(),
        measured_series: 1,
        members: vec![member(at)],
        worst: None,
        typical: None,
        since: time(0),
        machine_signs: Vec::new(),
        facts: Vec::new(),
        next: None,
        answer: None,
        bisection: None,
    }
}
