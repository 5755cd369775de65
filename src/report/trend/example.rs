//! Trends for tests: one with every kind of event, an empty one, and names that would harm whoever believed them.

use chrono::{DateTime, TimeDelta, Utc};

use crate::gate::example::HOSTILE;
use sprag_model::change_point::{Changes, Level, SeriesNoise};
use sprag_model::environment::FactChange;
use sprag_model::event::{
    Direction, Event, EventKind, EventState, Member, NamedCommit, NamedMachine, NextStep, Suspect,
};
use sprag_model::metric::{Better, Metric};
use sprag_model::movers::{GeomeanRow, MoverRow, SuiteNoiseRow};
use sprag_model::trend::{
    ApartSeries, Budget, Coverage, Due, NewestApart, NotJudged, ReasonCount, SelfTest, SeriesTrend, Stretch, Tables,
    Trend,
};

/// Midnight of a day, from that of the newest run back.
pub(crate) fn time(days_ago: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_795_233_600, 0).expect("a time within range") - TimeDelta::days(days_ago)
}

pub(crate) fn commit(number: u32, subject: &str) -> NamedCommit {
    NamedCommit {
        sha: format!("{:07x}{number:033x}", 0x1a2_b300 + number),
        subject: subject.to_owned(),
        tags: Vec::new(),
    }
}

pub(crate) fn machine(number: usize) -> NamedMachine {
    NamedMachine { id: format!("{number:016x}"), name: format!("bench-{number}") }
}

/// A level with half the width of its interval.
pub(super) fn around(value: f64, half: f64) -> Level {
    Level { value, lower: value - half, upper: value + half }
}

/// A member whose level changed by that share, on the first machine.
pub(crate) fn member(benchmark: &str, metric: Metric, before: f64, relative: f64) -> Member {
    let worse = if metric.better == Better::Lower { relative } else { 1.0 / (1.0 + relative) - 1.0 };
    Member {
        series: format!("{}-0123abcd", sprag_model::series::slug(benchmark, 40)),
        suite: "cpu".to_owned(),
        benchmark: benchmark.to_owned(),
        metric,
        machine: machine(1),
        before: around(before, before * 0.002),
        after: around(before * (1.0 + relative), before * 0.002),
        relative: Some(around(relative, 0.005)),
        worse: Some(worse),
        at: commit(8, "Unroll the inner loop"),
        points_since: 12,
        chance: 1e-9,
        held: false,
        standing: true,
    }
}

/// An event of those members: a change for the worse by one of two commits.
pub(crate) fn event(id: &str, members: Vec<Member>) -> Event {
    let suspect = |number: u32, subject: &str, probability: f64, measured: bool| Suspect {
        commit: commit(number, subject),
        probability,
        measured,
    };
    Event {
        id: id.to_owned(),
        kind: EventKind::Change,
        direction: Direction::Worse,
        state: EventState::Standing,
        sure: true,
        false_discovery: 0.0005,
        machines: vec![machine(1)],
        last_good: Some(commit(6, "Tidy up")),
        first_bad: commit(8, "Unroll the inner loop"),
        suspects: vec![suspect(7, "Bump a dependency", 0.04, false), suspect(8, "Unroll the inner loop", 0.96, true)],
        measured_series: 41,
        worst: members.first().and_then(|one| one.worse),
        typical: members.first().and_then(|one| one.worse),
        members,
        since: time(5),
        machine_signs: Vec::new(),
        facts: Vec::new(),
        next: None,
        answer: None,
    }
}

fn ratio(benchmark: &str, relative: f64) -> Member {
    member(benchmark, Metric::ratio(), 1.2, relative)
}

/// A regression of eight series on two machines, with eight suspects.
fn wide_regression() -> Event {
    let mut members: Vec<Member> = (0..8)
        .map(|number| ratio(&format!("cpu/infer{{n={}}} @fast", 4096 >> number), 0.081 - 0.007 * f64::from(number)))
        .collect();
    members[1].machine = machine(2);
    members[3].held = true;
    members[5].standing = false;
    let subjects =
        ["Tune the tiles", "Bump a dependency", "Rename a field", "Add a benchmark", "Mend a test", "Split a file"];
    let probabilities = [0.03, 0.05, 0.02, 0.2, 0.03, 0.01];
    let mut suspects: Vec<Suspect> = subjects
        .iter()
        .zip(probabilities)
        .zip(10..)
        .map(|((subject, probability), number)| Suspect {
            commit: commit(number, subject),
            probability,
            measured: number % 2 == 0,
        })
        .collect();
    suspects.push(Suspect {
        commit: commit(16, "Keep the state of the scan in registers"),
        probability: 0.62,
        measured: false,
    });
    suspects.push(Suspect { commit: commit(17, "Write down what was tried"), probability: 0.04, measured: true });
    Event {
        machines: vec![machine(1), machine(2)],
        last_good: Some(commit(9, "Tidy up")),
        first_bad: commit(17, "Write down what was tried"),
        suspects,
        typical: Some(0.056),
        machine_signs: vec![
            "8 of 41 series of this machine moved together: a cause that they share, in the code or in the machine."
                .to_owned(),
        ],
        next: Some(NextStep {
            machine: machine(1),
            commit: commit(15, "Split a file"),
            runs: 3,
            left: 2.4,
            command: words(&[
                "sprag",
                "run",
                "--record",
                "--commit",
                "1a2b30f",
                "--suite",
                "cpu",
                "--filter",
                "infer{n=4096} @fast",
            ]),
            checkout: false,
        }),
        ..event("e-7c1f03", members)
    }
}

/// Counted bytes, of which one commit can be the cause, and of which nothing was measured before.
fn exact() -> Event {
    let mut bytes = member("cpu/tile_pack{t=8} @fast", Metric::peak_memory(), 655_360.0, 0.25);
    (bytes.before, bytes.after) = (around(655_360.0, 0.0), around(819_200.0, 0.0));
    bytes.relative = Some(around(0.25, 0.0));
    let tagged = NamedCommit { tags: vec!["v1.4.0".to_owned()], ..commit(30, "Keep a second buffer") };
    Event {
        false_discovery: 0.0,
        last_good: None,
        first_bad: tagged.clone(),
        suspects: vec![Suspect { commit: tagged, probability: 1.0, measured: true }],
        measured_series: 1,
        ..event("e-20b4c1", vec![bytes])
    }
}

fn drift() -> Event {
    let one = |number: u32| Suspect { commit: commit(100 + number, ""), probability: 1.0 / 120.0, measured: true };
    Event {
        kind: EventKind::Drift,
        false_discovery: 0.012,
        last_good: Some(commit(100, "Begin")),
        first_bad: commit(219, "End"),
        suspects: (0..120).map(one).collect(),
        since: time(140),
        ..event("e-5d5d5d", vec![ratio("cpu/ssm_scan{n=512} @fast", 0.031)])
    }
}

fn mixed() -> Event {
    Event {
        direction: Direction::Mixed,
        typical: Some(0.02),
        ..event("e-3388aa", vec![ratio("cpu/sort{n=64} @fast", 0.12), ratio("cpu/sort{n=4096} @fast", -0.08)])
    }
}

fn improvement() -> Event {
    let small = member("cpu/tile_pack{t=4} @fast", Metric::throughput("tiles_per_s"), 812e3, 0.1);
    let large = member("cpu/tile_pack{t=8} @fast", Metric::throughput("tiles_per_s"), 690e3, 0.176);
    Event {
        direction: Direction::Better,
        worst: large.worse,
        typical: Some(-0.12),
        ..event("e-99aa01", vec![small, large])
    }
}

fn environment() -> Event {
    let fact = |fact: &str, was: &str, is: &str| FactChange { fact: fact.into(), was: was.into(), is: is.into() };
    Event {
        kind: EventKind::Environment,
        machine_signs: vec![
            "The environment changed where the levels did.".to_owned(),
            "Control or calibration kernels moved, too: cpu/calibration @calibration.".to_owned(),
        ],
        facts: vec![fact("compiler", "rustc 1.94.0", "rustc 1.95.0"), fact("microcode", "none", "0xa0011d5")],
        machines: vec![machine(2)],
        typical: Some(-0.02),
        direction: Direction::Mixed,
        ..event("e-e0e0e0", vec![ratio("cpu/a @fast", 0.05), ratio("cpu/b @fast", -0.09)])
    }
}

pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A trend in which everything happened.
pub(crate) fn trend() -> Trend {
    let doubtful =
        Event { sure: false, false_discovery: 0.21, ..event("e-d0d0d0", vec![ratio("cpu/noisy @fast", 0.012)]) };
    let taken_back = Event {
        state: EventState::TakenBack { by: "e-99aa01".to_owned() },
        members: vec![Member { standing: false, ..ratio("cpu/tile_pack{t=8} @fast", 0.15) }],
        ..event("e-b1b1b1", Vec::new())
    };
    let reason = |reason: &str, series: usize| ReasonCount { reason: reason.to_owned(), series };
    let due = |suite: &str, number: usize, days: i64| Due {
        suite: suite.to_owned(),
        machine: machine(number),
        newest: time(days),
        days,
        allowed: 9,
        stale: days > 9,
    };
    Trend {
        project: "kernels".to_owned(),
        reference: Some("refs/heads/perf".to_owned()),
        tip: Some("c0ffee".repeat(6) + "0000"),
        as_of: Some(time(0)),
        now: time(-1),
        runs: 1204,
        budget: Budget {
            allowed: 0.05,
            points: 61_200,
            expected: 3.06,
            false_discovery: 0.05,
            self_test: SelfTest { points: 61_200, alarms: 2, rate: Some(0.0327), exceeded: false },
        },
        events: vec![wide_regression(), exact(), mixed(), drift(), improvement(), environment(), doubtful, taken_back],
        newest: vec![newest()],
        coverage: Coverage {
            judged: 42,
            total: 57,
            reasons: vec![
                reason("too_short", 6),
                reason("stale", 5),
                reason("missing_at_tip", 2),
                reason("environment_changed", 4),
                reason("failing", 1),
                reason("no_commit", 1),
            ],
        },
        schedule: vec![due("cpu", 1, 0), due("gpu", 2, 12)],
        series: (0..11).map(series).collect(),
        tables: tables(),
    }
}

/// A trend in which nothing happened.
pub(crate) fn quiet() -> Trend {
    let mut trend = trend();
    trend.coverage = Coverage { judged: 42, total: 42, reasons: Vec::new() };
    trend.schedule.truncate(1);
    trend.series.truncate(1);
    Trend { events: Vec::new(), newest: Vec::new(), tables: Tables::default(), ..trend }
}

/// The trend of a history without a run.
pub(crate) fn empty() -> Trend {
    Trend {
        reference: None,
        tip: None,
        as_of: None,
        runs: 0,
        budget: Budget {
            allowed: 0.05,
            points: 0,
            expected: 0.0,
            false_discovery: 0.05,
            self_test: SelfTest::default(),
        },
        coverage: Coverage::default(),
        schedule: Vec::new(),
        series: Vec::new(),
        ..quiet()
    }
}

/// A trend in which every name is hostile.
pub(crate) fn hostile() -> Trend {
    let mut trend = trend();
    let name = || format!("::error::{HOSTILE}##[error]x");
    trend.project = name();
    trend.reference = Some(name());
    for event in &mut trend.events {
        event.machines.iter_mut().for_each(|one| one.name = name());
        event.suspects.iter_mut().for_each(|one| one.commit.subject = name());
        event.machine_signs.iter_mut().for_each(|sign| *sign = name());
        event.first_bad.tags = vec![name()];
        for member in &mut event.members {
            (member.benchmark, member.machine.name, member.metric.name) = (name(), name(), name());
        }
        for fact in &mut event.facts {
            (fact.fact, fact.was, fact.is) = (name(), name(), name());
        }
        if let Some(next) = &mut event.next {
            next.command.push(name());
        }
    }
    for newest in &mut trend.newest {
        newest.machine.name = name();
        newest.commit.tags = vec![name()];
        newest.series.iter_mut().for_each(|one| one.benchmark = name());
        // Nothing in it acts unseen, so that it is printed, quoted.
        newest.command.push("$(x)`y`\"'|&;<script>::error::".to_owned());
    }
    trend.coverage.reasons[0].reason = name();
    for due in &mut trend.schedule {
        (due.suite, due.machine.name) = (name(), name());
    }
    for series in &mut trend.series {
        (series.benchmark, series.metric.name, series.machine.name) = (name(), name(), name());
    }
    trend.tables.movers[1].series = name();
    for row in &mut trend.tables.geomeans {
        (row.suite, row.machine_name, row.dtype) = (name(), name(), Some(name()));
    }
    for row in &mut trend.tables.noise {
        (row.suite, row.machine_name) = (name(), name());
    }
    trend
}

/// One of the series that moved.
pub(super) fn series(number: u32) -> SeriesTrend {
    SeriesTrend {
        series: format!("cpu-infer-{number}-0123abcd"),
        suite: "cpu".to_owned(),
        benchmark: format!("cpu/infer{{n={}}} @fast", 4096 >> number),
        metric: Metric::ratio(),
        machine: machine(1),
        judged: true,
        beside: false,
        exact: false,
        sensitivity: "balanced".to_owned(),
        least: 0.004,
        noise: Some(SeriesNoise { deviation: 0.01, inflation: 1.2, is_relative: true }),
        detectable: Some(0.018),
        points: 120,
        dirty: usize::from(number == 3),
        elsewhere: usize::from(number > 8),
        levels: vec![Stretch {
            first: commit(1, "Begin"),
            last: commit(9, "Tidy up"),
            points: 9,
            level: Some(around(1.2, 0.002)),
        }],
        not_judged: vec![NotJudged::TooShort { points: 3, needed: 8 }],
        pooled: [].into(),
        changes: Changes::default(),
    }
}

/// Movers, geometric means and noise.
pub(super) fn tables() -> Tables {
    let mover = |number: u32| MoverRow {
        series: series(number).series,
        suite: "cpu".to_owned(),
        machine: machine(1).id,
        unit: Metric::ratio().unit,
        before: 1.2,
        now: 1.297 - 0.01 * f64::from(number),
        runs_before: 4,
        runs_now: 5,
        change: Some(0.081 - 0.008 * f64::from(number)),
        worse: Some(0.081 - 0.008 * f64::from(number)),
        difference: 0.097 - 0.01 * f64::from(number),
        rank_in_unit: number as usize + 1,
    };
    let geomean = |dtype: Option<&str>, change: f64, interval: Option<(f64, f64)>| GeomeanRow {
        suite: "cpu".to_owned(),
        machine: machine(1).id,
        machine_name: machine(1).name,
        dtype: dtype.map(str::to_owned),
        series: 20,
        change,
        interval,
        worst: 0.081,
        worst_series: series(0).series,
    };
    Tables {
        days: 28,
        movers: (0..12).map(mover).collect(),
        geomeans: vec![geomean(None, 0.014, Some((-0.002, 0.031))), geomean(Some("fp16"), -0.03, None)],
        noise: vec![SuiteNoiseRow {
            suite: "cpu".to_owned(),
            machine: machine(1).id,
            machine_name: machine(1).name,
            series: 41,
            between_workers_median: Some(0.004),
            between_workers_p90: Some(0.019),
            between_runs_median: Some(0.006),
            between_runs_p90: None,
        }],
        weeks: Vec::new(),
    }
}

/// A newest point that lies apart.
pub(super) fn newest() -> NewestApart {
    NewestApart {
        machine: machine(1),
        commit: commit(40, "Use another allocator"),
        runs: 2,
        series: vec![ApartSeries {
            series: series(0).series,
            suite: "cpu".to_owned(),
            benchmark: "cpu/infer{n=64} @fast".to_owned(),
            metric: Metric::time(),
            level: around(0.0012, 1e-6),
            value: 0.00129,
            worse: Some(0.075),
            runs: 2,
        }],
        command: words(&["sprag", "run", "--record", "--commit", "1a2b328", "--suite", "cpu"]),
        checkout: false,
    }
}
