//! The trend of the sample: levels are medians of the values between two of the changes that `runs.rs` planted.

use std::sync::Arc;

use super::{HOSTILE, runs};
use crate::fit::example;
use sprag_model::trend::Due;
use sprag_model::{
    Analysis, ApartSeries, Better, Budget, ChangePoint, Changes, CommitLine, Coverage, Direction, Drift, Event,
    EventKind, EventState, FactChange, Level, Member, NamedCommit, NamedMachine, NewestApart, NextStep, NotJudged,
    PooledPoint, SelfTest, Series, SeriesAnalysis, SeriesNoise, SeriesTrend, SuiteAnalysis, Suspect, Trend,
};

const SURE: f64 = 0.05;

/// An event of the sample; commits are given by their places on the line.
struct Planted {
    id: &'static str,
    kind: EventKind,
    direction: Direction,
    /// The first commit that certainly has it; of a drift, the first after its ramp.
    at: usize,
    suspects: Vec<(usize, f64)>,
    reverted_by: Option<&'static str>,
    false_discovery: f64,
    signs: Vec<String>,
    facts: Vec<FactChange>,
    /// The runs that decide the side of the likeliest suspect, and the suspects that are left then.
    next: Option<(usize, f64)>,
    moves: fn(&Series) -> bool,
}

impl Planted {
    fn change(id: &'static str, direction: Direction, at: usize, moves: fn(&Series) -> bool) -> Planted {
        Planted {
            id,
            kind: EventKind::Change,
            direction,
            at,
            suspects: vec![(at, 1.0)],
            reverted_by: None,
            false_discovery: 0.0005,
            signs: Vec::new(),
            facts: Vec::new(),
            next: None,
            moves,
        }
    }
}

fn planted_events() -> Vec<Planted> {
    const DRIFTING: &str = "gpu/fusion_gate{n=512} @cuda_graph";
    let is_tile = |one: &Series| one.benchmark == "cpu/tile_pack{n=4096} @fast";
    let is_fusion = |one: &Series| one.suite == "cpu" && one.name == "fusion_gate" && one.variant == "fast";
    let is_large =
        |one: &Series| one.machine_name == runs::FIRST_MACHINE && one.benchmark == "cpu/infer{n=4096} @reference";
    let is_small =
        |one: &Series| one.machine_name == runs::FIRST_MACHINE && one.benchmark == "cpu/infer{n=512} @reference";
    let drifts = |one: &Series| one.benchmark == DRIFTING;
    let is_second = |one: &Series| one.machine_name == runs::SECOND_MACHINE && one.benchmark != DRIFTING;
    vec![
        Planted {
            suspects: vec![(34, 0.05), (35, 0.23), (36, 0.72)],
            next: Some((2, 1.3)),
            ..Planted::change("e-7c1f03", Direction::Worse, 36, is_tile)
        },
        Planted {
            kind: EventKind::Drift,
            suspects: (18..28).map(|place| (place, 0.1)).collect(),
            false_discovery: 0.004,
            ..Planted::change("e-5b20d9", Direction::Worse, 28, drifts)
        },
        Planted {
            suspects: vec![(19, 0.004), (20, 0.996)],
            ..Planted::change("e-2ac860", Direction::Better, 20, is_fusion)
        },
        Planted::change("e-d1470b", Direction::Better, 26, is_large),
        Planted {
            kind: EventKind::Environment,
            signs: vec!["23 of 24 series on the machine moved together.".to_owned()],
            facts: vec![FactChange { fact: "compiler".to_owned(), was: "1.90".to_owned(), is: "1.91".to_owned() }],
            ..Planted::change("e-90e3aa", Direction::Better, 28, is_second)
        },
        Planted {
            reverted_by: Some("e-d1470b"),
            suspects: vec![(14, 0.1), (15, 0.2), (16, 0.4), (17, 0.3)],
            ..Planted::change("e-66b0f2", Direction::Worse, 17, is_large)
        },
        Planted {
            suspects: vec![(29, 0.2), (30, 0.45), (31, 0.35)],
            false_discovery: 0.3,
            next: Some((4, 1.9)),
            ..Planted::change("e-1f9be4", Direction::Worse, 31, is_small)
        },
    ]
}

pub(super) fn trend(analysis: &Analysis, line: &CommitLine) -> Trend {
    let planted = planted_events();
    let judged: Vec<&SeriesAnalysis> = analysis.series.iter().filter(|one| one.judged).collect();
    let series: Vec<SeriesTrend> = judged.iter().map(|one| series(one, &planted, line)).collect();
    let as_of = analysis.as_of.expect("the sample has runs");
    let sure = series.iter().filter(|one| one.not_judged.is_empty()).count();
    Trend {
        project: analysis.project.clone(),
        reference: analysis.history.reference.clone(),
        tip: analysis.history.tip.clone(),
        as_of: analysis.as_of,
        now: as_of,
        runs: analysis.history.runs,
        budget: Budget {
            allowed: 1.0,
            points: 1_260,
            expected: 1.3,
            false_discovery: SURE,
            raised: None,
            self_test: SelfTest { points: 1_260, alarms: 1, rate: Some(0.79), exceeded: false, left_out: None },
        },
        events: planted.iter().map(|one| event(one, &series, &judged, line)).collect(),
        newest: newest(&series, line),
        coverage: Coverage { judged: sure, total: series.len(), reasons: Vec::new() },
        schedule: analysis.suites.iter().map(|suite| due(suite, analysis.every_days)).collect(),
        series,
        ..Trend::default()
    }
}

fn named(place: usize, line: &CommitLine) -> NamedCommit {
    let commit = &line.commits[place];
    NamedCommit { sha: commit.sha.clone(), subject: commit.subject.clone(), tags: commit.tags.clone() }
}

/// A level with an interval of 0.4 % on either side.
fn level(values: impl Iterator<Item = f64>) -> Level {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let value = values[values.len() / 2];
    Level { value, lower: value * 0.996, upper: value * 1.004 }
}

fn relative(before: &Level, after: &Level) -> Level {
    let value = after.value / before.value - 1.0;
    Level { value, lower: value - 0.005, upper: value + 0.005 }
}

fn series(of: &SeriesAnalysis, planted: &[Planted], line: &CommitLine) -> SeriesTrend {
    let series = &of.series;
    let clean = series.points.iter().filter(|point| !point.dirty);
    let pooled: Vec<PooledPoint> = clean
        .map(|point| PooledPoint {
            first: Arc::clone(&point.of),
            place: point.position.expect("every commit of the sample is on its line"),
            value: point.value,
            runs: 1,
            processes: point.workers.len(),
            spread: PooledPoint::spread_of(&*point.workers).filter(|_| point.workers.len() > 1),
            alike: false,
        })
        .collect();
    let changes = changes(series, &pooled, planted);
    SeriesTrend {
        series: series.id.clone(),
        suite: series.suite.clone(),
        benchmark: series.benchmark.clone(),
        metric: series.metric.clone(),
        machine: NamedMachine { id: series.machine.clone(), name: series.machine_name.clone() },
        least: 0.005,
        noise: changes.noise,
        raw_noise: None,
        detectable: Some(0.011),
        points: pooled.len(),
        dirty: series.points.len() - pooled.len(),
        levels: example::segments(&changes, pooled.len(), |index| named(pooled[index].place, line)),
        not_judged: not_judged(of),
        pooled: pooled.into(),
        changes,
        ..example::series(0.0, 0, Vec::new(), Vec::new())
    }
}

fn changes(series: &Series, pooled: &[PooledPoint], planted: &[Planted]) -> Changes {
    let index_of = |place: usize| pooled.partition_point(|point| point.place < place);
    let mut own: Vec<&Planted> = planted.iter().filter(|one| (one.moves)(series)).collect();
    own.sort_by_key(|one| one.at);
    let (drifts, own): (Vec<&Planted>, Vec<&Planted>) = own.iter().partition(|one| one.kind == EventKind::Drift);
    let borders: Vec<usize> =
        [0].into_iter().chain(own.iter().map(|one| index_of(one.at))).chain([pooled.len()]).collect();
    let levels: Vec<Level> =
        borders.windows(2).map(|pair| level(pooled[pair[0]..pair[1]].iter().map(|point| point.value))).collect();
    let point = |(number, one): (usize, &&Planted)| {
        let (index, before, after) = (borders[number + 1], levels[number], levels[number + 1]);
        let (first, relative) = (index_of(one.suspects[0].0), relative(&before, &after));
        let like = example::change(index, before.value, after.value);
        ChangePoint { first, before, after, relative, chance: 1e-9, ..like }
    };
    let drift = |one: &&Planted| {
        let (begin, end) = (index_of(one.suspects[0].0), index_of(one.at));
        let (before, after) = (pooled[begin - 1].value, pooled[end - 1].value);
        Drift { chance: 1e-6, ..example::drift(begin, end, before, after) }
    };
    Changes {
        points: own.iter().enumerate().map(point).collect(),
        drifts: drifts.iter().map(drift).collect(),
        modes: Vec::new(),
        levels,
        noise: Some(SeriesNoise { deviation: 0.004, inflation: 1.1, is_relative: true }),
    }
}

fn not_judged(of: &SeriesAnalysis) -> Vec<NotJudged> {
    let mut reasons = Vec::new();
    if !of.at_tip {
        reasons.push(NotJudged::Failing { why: format!("worker 3 ended by signal 11\n{HOSTILE}") });
    }
    if of.series.machine_name == runs::SECOND_MACHINE {
        reasons.push(NotJudged::EnvironmentChanged { points: 1, needed: 3 });
    }
    reasons
}

fn due(suite: &SuiteAnalysis, every_days: u32) -> Due {
    let machine = NamedMachine { id: suite.machine.clone(), name: suite.machine_name.clone() };
    let (newest, allowed) = (suite.last, i64::from(every_days));
    Due { suite: suite.suite.clone(), machine, newest, days: 0, allowed, stale: false }
}

fn member(of: &SeriesTrend, series: &Series, planted: &Planted, line: &CommitLine) -> Member {
    let change = of.changes.points.iter().find(|change| of.pooled[change.index].place >= planted.at);
    let (before, after) = match (planted.kind, of.changes.drifts.first()) {
        (EventKind::Drift, Some(drift)) => (level([drift.before].into_iter()), level([drift.after].into_iter())),
        _ => change.map(|change| (change.before, change.after)).expect("the change was planted"),
    };
    let relative = relative(&before, &after);
    let worse = if series.metric.better == Better::Lower { relative.value } else { 1.0 / (1.0 + relative.value) - 1.0 };
    Member {
        series: of.series.clone(),
        suite: of.suite.clone(),
        benchmark: of.benchmark.clone(),
        metric: of.metric.clone(),
        machine: of.machine.clone(),
        before,
        after,
        relative: Some(relative),
        worse: Some(worse),
        at: named(planted.at, line),
        points_since: of.pooled.iter().filter(|point| point.place >= planted.at).count(),
        chance: 1e-9,
        is_present: planted.reverted_by.is_none(),
        ..example::member(0)
    }
}

fn event(planted: &Planted, all: &[SeriesTrend], judged: &[&SeriesAnalysis], line: &CommitLine) -> Event {
    let moved = all.iter().zip(judged).filter(|(_, one)| (planted.moves)(&one.series));
    let mut members: Vec<Member> = moved.map(|(of, one)| member(of, &one.series, planted, line)).collect();
    let size = |member: &Member| member.worse.unwrap_or_default();
    members.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let mut machines: Vec<NamedMachine> = members.iter().map(|one| one.machine.clone()).collect();
    machines.sort();
    machines.dedup();
    let is_measured = |place: usize| all.iter().any(|one| one.pooled.iter().any(|point| point.place == place));
    let suspect = |(place, probability): &(usize, f64)| Suspect {
        commit: named(*place, line),
        probability: *probability,
        measured: is_measured(*place),
    };
    let suspects: Vec<Suspect> = planted.suspects.iter().map(suspect).collect();
    let likely = suspects.iter().reduce(|a, b| if b.probability > a.probability { b } else { a });
    let commit = likely.expect("every event has suspects").commit.clone();
    let next = planted.next.map(|(runs, left)| NextStep {
        machine: machines[0].clone(),
        runs,
        left,
        command: command(&commit.sha, &members[0].suite),
        checkout: false,
        commit,
    });
    let since = if planted.kind == EventKind::Drift { planted.suspects[0].0 } else { planted.at };
    let first_run = all.iter().flat_map(|one| one.pooled.iter()).filter(|point| point.place >= since);
    Event {
        id: planted.id.to_owned(),
        direction: planted.direction,
        state: planted.reverted_by.map_or(EventState::Present, |by| EventState::Reverted { by: by.to_owned() }),
        sure: planted.false_discovery <= SURE,
        false_discovery: planted.false_discovery,
        measured_series: all.iter().filter(|one| machines.contains(&one.machine)).count(),
        machines,
        last_good: (0..planted.suspects[0].0).rev().find(|place| is_measured(*place)).map(|place| named(place, line)),
        first_bad: named(planted.at, line),
        suspects,
        worst: members.first().map(size),
        typical: members.get(members.len() / 2).map(size),
        members,
        since: first_run.map(|point| point.time).min().expect("the commits after it were measured"),
        machine_signs: planted.signs.clone(),
        facts: planted.facts.clone(),
        next,
        ..example::event(planted.kind, 0)
    }
}

fn command(sha: &str, suite: &str) -> Vec<String> {
    ["sprag", "run", "--record", "--commit", &sha[..12], "--suite", suite].map(str::to_owned).to_vec()
}

/// The unconfirmed newest value: the one of `gpu/tile_pack{n=4096} @cuda`.
fn newest(all: &[SeriesTrend], line: &CommitLine) -> Vec<NewestApart> {
    let apart = all.iter().find(|one| one.benchmark == "gpu/tile_pack{n=4096} @cuda").expect("it is in the sample");
    let (level, point) = (apart.changes.levels.last(), apart.pooled.last());
    let (level, point) = level.zip(point).expect("it has points");
    vec![NewestApart {
        machine: apart.machine.clone(),
        commit: named(point.place, line),
        runs: 2,
        series: vec![ApartSeries {
            series: apart.series.clone(),
            suite: apart.suite.clone(),
            benchmark: apart.benchmark.clone(),
            metric: apart.metric.clone(),
            level: *level,
            value: point.value,
            worse: Some(point.value / level.value - 1.0),
            runs: 2,
        }],
        command: command(&point.commit, "gpu"),
        checkout: false,
    }]
}
