//! Small histories for tests, written down or drawn at random.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use super::{DecodedRuns, Frame};
use crate::example;
use sprag_base::stats::random::SplitMix64;
use sprag_model::{
    Baseline, Benchmark, Commit, CommitLine, CommitOnLine, Estimate, Machine, Measurement, Metric, ParityStatus,
    RecordedRun, Role, Run, Series, SeriesAnalysis,
};

pub(crate) const HOURS_A_WEEK: i64 = 7 * 24;

/// So many hours after Monday, 6 January 2025, 00:00 UTC.
pub(crate) fn time(hours: i64) -> DateTime<Utc> {
    let monday = DateTime::from_timestamp(1_736_121_600, 0).expect("a time within range");
    monday + TimeDelta::hours(hours)
}

/// A line of commits, each with its time in hours, oldest first.
pub(crate) fn line(commits: &[(&str, i64)]) -> CommitLine {
    let commit = |&(sha, hours): &(&str, i64)| CommitOnLine::new(sha.to_owned(), time(hours), format!("Change {sha}"));
    CommitLine { commits: commits.iter().map(commit).collect(), ..CommitLine::default() }
}

/// A run of the suite `cpu` on the machine `m` that measured nothing; `-` means no commit.
pub(crate) fn run_of(id: &str, commit: &str, commit_hours: i64, run_hours: i64) -> RecordedRun {
    let commit = Commit::new(commit.to_owned(), time(commit_hours));
    let mut run = Run::new("cpu", time(run_hours), Machine::named("m", "EPYC"));
    run.commit = (commit.sha != "-").then_some(commit);
    RecordedRun { path: run.path(id), id: id.to_owned(), run }
}

/// A run at so many hours, of a commit made in the same hour, with measurements.
pub(crate) fn run(id: &str, hours: i64, measurements: &[Measurement]) -> RecordedRun {
    let mut run = run_of(id, &format!("c{hours}"), hours, hours);
    run.run.measurements = measurements.to_vec();
    run
}

/// The benchmark `cpu/<name> @fast` with a value of each metric named.
pub(crate) fn measurement(name: &str, metrics: &[(&str, f64)]) -> Measurement {
    let benchmark = Benchmark::new("cpu", name, &[], "fast").expect("a plain name");
    Measurement::new(benchmark, metrics.iter().map(|&(metric, value)| estimate(metric, value)).collect())
}

/// One run a benchmark and value: benchmark, metric, hours, value.
pub(crate) fn runs_of(values: &[(&str, &str, i64, f64)]) -> Vec<RecordedRun> {
    let runs = values.iter().enumerate().map(|(number, &(name, metric, hours, value))| {
        run(&format!("r{number}"), hours, &[measurement(name, &[(metric, value)])])
    });
    runs.collect()
}

pub(crate) fn decoded(runs: &[RecordedRun]) -> DecodedRuns {
    let mut decoded = DecodedRuns::default();
    runs.iter().for_each(|run| decoded.add(&format!("blob of {}", run.id), run));
    decoded
}

pub(crate) fn frame(runs: &[RecordedRun]) -> Frame {
    Frame::new(&decoded(runs), &CommitLine::default())
}

/// The series of runs along no line.
pub(crate) fn analysed(runs: &[RecordedRun]) -> Vec<SeriesAnalysis> {
    analysed_along(runs, &CommitLine::default())
}

pub(crate) fn analysed_along(runs: &[RecordedRun], line: &CommitLine) -> Vec<SeriesAnalysis> {
    let Frame { series, judged } = Frame::new(&decoded(runs), line);
    let one = |series: Series| {
        let is_judged = judged.contains(&series.id);
        example::analysed(series, is_judged)
    };
    series.into_iter().map(one).collect()
}

/// Whether two changes are the same but for rounding.
pub(crate) fn close(a: Option<f64>, b: Option<f64>) -> bool {
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
pub(crate) fn baseline(values: &[(&str, &str, f64)]) -> Baseline {
    let measurements = values.iter().map(|&(name, metric, value)| measurement(name, &[(metric, value)]));
    example::baseline(&run("b", 0, &measurements.collect::<Vec<_>>()).run, 0.02)
}

/// A line of commits, and forty runs of two suites on two machines along it, drawn at random and in no order.
///
/// Five of eight commits lie on the line, two off it, and the last is not a commit. Benchmarks fail and are wrong.
pub(crate) fn history(seed: u64) -> (CommitLine, Vec<RecordedRun>) {
    let mut random = SplitMix64::new(seed);
    let names = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "-"];
    let hours = names.map(|_| random.below(500) as i64);
    let on_line: Vec<(&str, i64)> = names.into_iter().zip(hours).take(5).collect();
    let runs = (0..40).map(|number| {
        let commit = random.below(names.len());
        let mut run = run_of(&format!("{number:016x}"), names[commit], hours[commit], random.below(1000) as i64);
        let suite = ["cpu", "gpu"][random.below(2)];
        run.run.suite = suite.to_owned();
        // The name that people give a machine may change; its id does not.
        let name = ["plain", "renamed"][random.below(2)].to_owned();
        run.run.machine = Machine { name, ..Machine::named(["m", "other"][random.below(2)], "EPYC") };
        for name in ["pack", "scan", "sort"] {
            let mut metrics = vec![("time", random.normal()), ("ratio", random.normal()), ("tiles_per_s", 0.0)];
            metrics.truncate(random.below(4));
            let mut measurement = measurement(name, &metrics);
            let benchmark = Arc::make_mut(&mut measurement.benchmark);
            (benchmark.suite, benchmark.version) = (suite.to_owned(), 1 + random.below(2) as u32);
            for estimate in &mut measurement.estimates {
                estimate.workers = vec![random.normal(); random.below(4)];
                estimate.interval = (random.below(2) == 0).then_some((estimate.value, estimate.value + 1.0));
            }
            match random.below(8) {
                0 => measurement.failure = Some("broke".to_owned()),
                1 => measurement.parity.status = ParityStatus::Mismatch,
                2 => measurement.role = Role::Reported,
                _ => {}
            }
            run.run.measurements.push(measurement);
        }
        run
    });
    let runs = runs.collect();
    (line(&on_line), runs)
}
