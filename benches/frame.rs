//! How long the frame takes for histories of a hundred series: `cargo bench --bench frame`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use chrono::{DateTime, TimeDelta, Utc};
use divan::Bencher;
use sprag_analysis::frame::Frame;
use sprag_model::benchmark::{Benchmark, Parity, ParityStatus};
use sprag_model::commit::{Commit, CommitLine, CommitOnLine};
use sprag_model::environment::{Environment, Machine};
use sprag_model::metric::{Better, Metric};
use sprag_model::run::{Quality, RecordedRun, Run, RunStatus};
use sprag_model::sample::{Estimate, Measurement};
use sprag_model::unit::Unit;

/// Numbers of runs; the last makes a million values.
const RUNS: [usize; 3] = [100, 1_000, 10_000];

/// Benchmarks a run, with two metrics each.
const BENCHMARKS: usize = 50;

const RUNS_A_COMMIT: usize = 2;

/// Days of a window of movers: the smallest history, of twelve and a half days, begins within the second.
const DAYS: u32 = 7;

fn main() {
    divan::main();
}

#[divan::bench(args = RUNS, max_time = 10)]
fn from_runs(bencher: Bencher<'_, '_>, n_runs: usize) {
    let (runs, line) = history(n_runs);
    bencher.bench(|| Frame::from_runs(runs, line).expect("all numbers are finite"));
}

#[divan::bench(args = RUNS, max_time = 10)]
fn series(bencher: Bencher<'_, '_>, n_runs: usize) {
    let frame = frame(n_runs);
    bencher.bench(|| frame.series().expect("the frame is sound"));
}

#[divan::bench(args = RUNS, max_time = 10)]
fn latest(bencher: Bencher<'_, '_>, n_runs: usize) {
    let frame = frame(n_runs);
    bencher.bench(|| frame.latest(&[]).expect("the frame is sound"));
}

#[divan::bench(args = RUNS, max_time = 10)]
fn weeks(bencher: Bencher<'_, '_>, n_runs: usize) {
    let frame = frame(n_runs);
    bencher.bench(|| frame.weeks().expect("the frame is sound"));
}

#[divan::bench(args = RUNS, max_time = 10)]
fn suites(bencher: Bencher<'_, '_>, n_runs: usize) {
    let frame = frame(n_runs);
    bencher.bench(|| frame.suites(&[]).expect("the frame is sound"));
}

#[divan::bench(args = RUNS, max_time = 10)]
fn movers(bencher: Bencher<'_, '_>, n_runs: usize) {
    let frame = frame(n_runs);
    bencher.bench(|| frame.movers(DAYS).expect("the frame is sound"));
}

#[divan::bench(args = RUNS, max_time = 10)]
fn geomeans(bencher: Bencher<'_, '_>, n_runs: usize) {
    let frame = frame(n_runs);
    bencher.bench(|| frame.geomeans(DAYS).expect("the frame is sound"));
}

#[divan::bench(args = RUNS, max_time = 10)]
fn noise(bencher: Bencher<'_, '_>, n_runs: usize) {
    let frame = frame(n_runs);
    bencher.bench(|| frame.noise().expect("the frame is sound"));
}

#[divan::bench(args = RUNS, max_time = 10)]
fn suite_noise(bencher: Bencher<'_, '_>, n_runs: usize) {
    let frame = frame(n_runs);
    bencher.bench(|| frame.suite_noise().expect("the frame is sound"));
}

fn frame(n_runs: usize) -> Frame {
    let (runs, line) = history(n_runs);
    Frame::from_runs(runs, line).expect("all numbers are finite")
}

/// The newest runs of one history.
fn history(n_runs: usize) -> (&'static [RecordedRun], &'static CommitLine) {
    static HISTORY: OnceLock<(Vec<RecordedRun>, CommitLine)> = OnceLock::new();
    let (runs, line) = HISTORY.get_or_init(|| {
        let mut random = SplitMix64(42);
        let n_runs = RUNS[RUNS.len() - 1];
        let runs: Vec<RecordedRun> = (0..n_runs).map(|number| recorded_run(number, &mut random)).collect();
        let commits = runs.iter().step_by(RUNS_A_COMMIT).filter_map(|run| run.run.commit.as_ref());
        let commits = commits.map(|commit| CommitOnLine {
            sha: commit.sha.clone(),
            commit_time: commit.commit_time,
            subject: commit.subject.clone(),
            tags: Vec::new(),
        });
        let commits = commits.collect();
        (runs, CommitLine { commits, shallow: false, named: false })
    });
    (&runs[runs.len() - n_runs..], line)
}

/// A run every three hours.
fn recorded_run(number: usize, random: &mut SplitMix64) -> RecordedRun {
    let hours = |number: usize| {
        let first = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(365 * 50);
        first + TimeDelta::hours(3 * i64::try_from(number).expect("a small number"))
    };
    let commit = number / RUNS_A_COMMIT;
    let facts = BTreeMap::from([("cpu_model".to_owned(), format!("model {}", number / 3_000))]);
    let run = Run {
        suite: "cpu".to_owned(),
        timestamp: hours(number),
        commit: Some(Commit {
            sha: format!("{commit:040x}"),
            parents: vec![format!("{:040x}", commit.saturating_sub(1))],
            author_time: hours(number),
            commit_time: hours(commit * RUNS_A_COMMIT),
            subject: format!("Change {commit}"),
            branch: Some("main".to_owned()),
            dirty: false,
        }),
        machine: Machine::named("bench", "EPYC"),
        environment: Environment::from_facts(facts),
        config: BTreeMap::new(),
        status: RunStatus::Ok,
        reason: None,
        quality: Quality { clean: true, reasons: Vec::new() },
        measurements: (0..BENCHMARKS).map(|benchmark| measurement(benchmark, random)).collect(),
        autotune: Vec::new(),
    };
    let id = format!("{:016x}", random.next());
    RecordedRun { path: run.path(&id), id, run }
}

fn measurement(number: usize, random: &mut SplitMix64) -> Measurement {
    let params = [("n", (1 << (number % 10)).to_string()), ("dtype", "f32".to_owned())];
    let benchmark = Benchmark::new("cpu", &format!("kernel_{}", number / 10), &params, "fast").expect("plain words");
    let ratio = Metric { name: "ratio".to_owned(), unit: Unit::One, better: Better::Lower };
    Measurement {
        role: Default::default(),
        benchmark: benchmark.into(),
        attributes: BTreeMap::new(),
        parity: Parity { status: ParityStatus::Exact, max_abs_error: None, tolerance: None },
        failure: None,
        estimates: vec![estimate(Metric::time(), 1e-3, random), estimate(ratio, 2.0, random)],
    }
}

/// About `typical`, five per cent up or down.
fn estimate(metric: Metric, typical: f64, random: &mut SplitMix64) -> Estimate {
    let value = typical * (0.95 + 0.1 * random.fraction());
    Estimate {
        metric,
        value,
        workers: vec![value; 5],
        p50: Some(value),
        min: None,
        detectable: None,
        p95: Some(value * 1.1),
        interval: Some((value * 0.99, value * 1.01)),
        n: 150,
    }
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
