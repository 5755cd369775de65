//! Small histories for tests, written down or drawn at random.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;

use super::Frame;
use sprag_model::baseline::{self, Baseline, BaselineMetric};
use sprag_model::benchmark::{Benchmark, ParityStatus};
use sprag_model::commit::{Commit, CommitLine, CommitOnLine};
use sprag_model::environment::{Environment, Machine};
use sprag_model::metric::Metric;
use sprag_model::rule::Rule;
use sprag_model::run::{RecordedRun, Run, RunStatus};
use sprag_model::sample::{Estimate, Measurement, Role};

/// So many hours after Monday, 6 January 2025, 00:00 UTC.
pub(super) fn time(hours: i64) -> DateTime<Utc> {
    let monday = DateTime::from_timestamp(1_736_121_600, 0).expect("a time within range");
    monday + TimeDelta::hours(hours)
}

/// A line of commits, each with its time in hours, oldest first.
pub(super) fn line(commits: &[(&str, i64)]) -> CommitLine {
    let commits = commits.iter().map(|&(sha, hours)| CommitOnLine {
        sha: sha.to_owned(),
        commit_time: time(hours),
        subject: format!("Change {sha}"),
        tags: Vec::new(),
    });
    CommitLine { commits: commits.collect(), shallow: false, named: false }
}

/// A run of the suite `cpu` on the machine `m` that measured nothing; `-` stands for no commit.
pub(super) fn run_of(id: &str, commit: &str, commit_hours: i64, run_hours: i64) -> RecordedRun {
    let commit = Commit {
        sha: commit.to_owned(),
        parents: Vec::new(),
        author_time: time(commit_hours),
        commit_time: time(commit_hours),
        subject: format!("Change {commit}"),
        branch: None,
        dirty: false,
    };
    let mut run = Run::new("cpu", time(run_hours), Machine::named("m", "EPYC"));
    run.commit = (commit.sha != "-").then_some(commit);
    RecordedRun { path: run.path(id), id: id.to_owned(), run }
}

/// A run at so many hours, of a commit made in the same hour, with measurements.
pub(super) fn run(id: &str, hours: i64, measurements: &[Measurement]) -> RecordedRun {
    let mut run = run_of(id, &format!("c{hours}"), hours, hours);
    run.run.measurements = measurements.to_vec();
    run
}

/// The benchmark `cpu/<name> @fast` with a value of each metric named.
pub(super) fn measurement(name: &str, metrics: &[(&str, f64)]) -> Measurement {
    let benchmark = Benchmark::new("cpu", name, &[], "fast").expect("a plain name");
    Measurement::new(benchmark, metrics.iter().map(|&(metric, value)| estimate(metric, value)).collect())
}

/// One run a benchmark and value: benchmark, metric, hours, value.
pub(super) fn frame_of(values: &[(&str, &str, i64, f64)]) -> Frame {
    let runs = values.iter().enumerate().map(|(number, &(name, metric, hours, value))| {
        run(&format!("r{number}"), hours, &[measurement(name, &[(metric, value)])])
    });
    Frame::from_runs(&runs.collect::<Vec<RecordedRun>>(), &CommitLine::default()).expect("all numbers are finite")
}

/// Whether two changes are the same but for rounding.
pub(super) fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * (1.0 + a.abs()),
        (a, b) => a == b,
    }
}

/// An estimate of `time`, `ratio`, or else of a throughput.
fn estimate(metric: &str, value: f64) -> Estimate {
    let metric = match metric {
        "time" => Metric::time(),
        "ratio" => Metric::ratio(),
        throughput => Metric::throughput(throughput),
    };
    Estimate::new(metric, value, 30)
}

/// A baseline of the suite `cpu` for the class `EPYC`: benchmark name, metric, value.
pub(super) fn baseline(values: &[(&str, &str, f64)]) -> Baseline {
    let metrics = values.iter().map(|&(name, metric, value)| {
        let Metric { unit, better, .. } = estimate(metric, value).metric;
        let entry = BaselineMetric {
            value,
            unit,
            better,
            interval: None,
            version: None,
            sessions: 1,
            restlessness: None,
            rule: Rule::Tolerance { ratio: 0.02, abs: 0.0 },
        };
        (Baseline::key(&format!("cpu/{name} @fast"), metric), entry)
    });
    Baseline {
        schema_version: baseline::SCHEMA_VERSION,
        suite: "cpu".to_owned(),
        machine_class: "EPYC".to_owned(),
        environment: Environment::from_facts(BTreeMap::new()),
        commit: None,
        dirty: false,
        partial: false,
        branch: None,
        machine: None,
        run: "b".to_owned(),
        timestamp_utc: time(0),
        required_status: RunStatus::Ok,
        notes: String::new(),
        accepted: None,
        metrics: metrics.collect(),
    }
}

/// A history drawn at random: its line, its runs, and baselines.
#[derive(Clone, Debug)]
pub(super) struct History {
    pub(super) line: CommitLine,
    pub(super) runs: Vec<RecordedRun>,
    pub(super) baselines: Vec<Baseline>,
}

/// Histories of up to forty runs of two suites on two machines, over six weeks, in no order.
///
/// Commits lie on the line, beside it or nowhere; times repeat and clocks go wrong; values are zero, negative and
/// 600 decades apart. All are sums of few powers of two, so that no figure depends on how it is rounded.
pub(super) fn histories() -> impl Strategy<Value = History> {
    let value = prop_oneof![
        8 => (1..64_i32).prop_map(|value| f64::from(value) / 8.0),
        1 => Just(0.0),
        1 => Just(-1.0),
        1 => Just(2.0_f64.powi(1000)),
        1 => Just(2.0_f64.powi(-1000)),
    ];
    let metric = prop::sample::subsequence(vec!["time", "ratio", "tiles_per_s"], 0..=3);
    let benchmark = (prop::sample::select(vec!["pack", "scan", "sort"]), metric, 1..3_u32, 0..8_u32);
    let values = prop::collection::vec(value, 9);
    let benchmarks = prop::collection::vec(benchmark, 0..4);
    let run = (0..8_usize, 0..1000_i64, any::<bool>(), any::<bool>(), benchmarks, values.clone());
    let runs = prop::collection::vec(run, 0..40);
    let commits = prop::collection::vec(0..500_i64, 8);
    let baselines = prop::collection::vec((any::<bool>(), 0..3_i64, values), 0..4);
    (commits, runs, baselines).prop_map(|(commits, runs, baselines)| {
        // Of eight commits five lie on the line, two beside it, and the last stands for none.
        let names: Vec<String> =
            (0..8).map(|number| if number == 7 { "-".into() } else { format!("c{number}") }).collect();
        let on_line: Vec<(&str, i64)> = (0..5).map(|number| (names[number].as_str(), commits[number])).collect();
        let runs = runs.into_iter().enumerate().map(|(number, (commit, hours, gpu, other, benchmarks, values))| {
            let mut run = run_of(&format!("{number:016x}"), &names[commit], commits[commit], hours);
            run.run.suite = suite(gpu).to_owned();
            // The name that people give a machine may change; its id does not.
            run.run.machine = machine(other, if hours % 7 == 0 { "renamed" } else { "plain" });
            let mut values = values.into_iter();
            for (name, metrics, version, luck) in benchmarks {
                let mut measurement = measurement(name, &[]);
                Arc::make_mut(&mut measurement.benchmark).suite = suite(gpu).to_owned();
                Arc::make_mut(&mut measurement.benchmark).version = version;
                Arc::make_mut(&mut measurement.benchmark).params = params(name);
                measurement.estimates =
                    metrics.into_iter().zip(&mut values).map(|(metric, value)| estimate(metric, value)).collect();
                measurement.role = if luck == 2 { Role::Reported } else { Role::Tracked };
                for (estimate, luck) in measurement.estimates.iter_mut().zip(luck..) {
                    let value = estimate.value;
                    let workers = [1.0, 1.25, 0.5].map(|share| share * value);
                    estimate.workers = workers[..luck as usize % 4].to_vec();
                    estimate.interval = (luck > 3).then_some((value, value * 1.5));
                    estimate.p50 = (luck > 4).then_some(value * 1.25);
                    estimate.p95 = (luck > 5).then_some(value * 1.75);
                    estimate.min = (luck % 3 == 0).then_some(value * 0.5);
                    estimate.detectable = (luck % 5 == 0).then_some(0.125);
                    estimate.n = u64::from(luck);
                }
                match luck {
                    0 => measurement.failure = Some("broke".to_owned()),
                    1 => measurement.parity.status = ParityStatus::Mismatch,
                    _ => {}
                }
                // A record lists a benchmark once.
                if run.run.measurements.iter().all(|listed| listed.benchmark != measurement.benchmark) {
                    run.run.measurements.push(measurement);
                }
            }
            run
        });
        let baselines = baselines.into_iter().enumerate().map(|(number, (gpu, hours, values))| {
            let names = ["pack", "scan", "sort"]
                .into_iter()
                .flat_map(|name| ["time", "ratio", "tiles_per_s"].map(|metric| (name, metric)));
            let entries: Vec<(&str, &str, f64)> =
                names.zip(values).skip(number).map(|((name, metric), value)| (name, metric, value)).collect();
            let mut baseline = baseline(&entries);
            let entries = baseline.metrics.into_iter();
            baseline.metrics = entries.map(|(key, entry)| (written(&key, gpu), entry)).collect();
            baseline.suite = suite(gpu).to_owned();
            baseline.timestamp_utc = time(hours);
            baseline.run = format!("b{number}");
            baseline
        });
        History { line: line(&on_line), runs: runs.collect(), baselines: baselines.collect() }
    })
}

/// The parameters of a benchmark in these histories: one has none, two an element type, and one of these more
/// than that.
fn params(name: &str) -> BTreeMap<String, String> {
    let params: &[(&str, &str)] = match name {
        "scan" => &[("dtype", "f32")],
        "sort" => &[("count", "64"), ("dtype", "f32"), ("n", "8")],
        _ => &[],
    };
    params.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The key of a baseline of the suite `cpu` and no parameters, as it is in these histories.
fn written(key: &str, gpu: bool) -> String {
    let key = key.replace("cpu/", &format!("{}/", suite(gpu)));
    key.replace("scan @", "scan{dtype=f32} @").replace("sort @", "sort{count=64,dtype=f32,n=8} @")
}

fn suite(gpu: bool) -> &'static str {
    if gpu { "gpu" } else { "cpu" }
}

fn machine(other: bool, name: &str) -> Machine {
    let mut machine = Machine::named(if other { "other" } else { "m" }, if other { "Xeon" } else { "EPYC" });
    machine.name = name.to_owned();
    machine
}
