//! Small histories for tests, written down or drawn at random.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;

use super::{DecodedRuns, Frame};
use crate::example;
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::baseline::Baseline;
use sprag_model::benchmark::{Benchmark, ParityStatus};
use sprag_model::commit::{CommitLine, CommitOnLine};
use sprag_model::environment::Machine;
use sprag_model::metric::Metric;
use sprag_model::run::{RecordedRun, Run};
use sprag_model::sample::{Estimate, Measurement, Role};
use sprag_model::series::Series;

pub(crate) const HOURS_A_WEEK: i64 = 7 * 24;

/// So many hours after Monday, 6 January 2025, 00:00 UTC.
pub(crate) fn time(hours: i64) -> DateTime<Utc> {
    let monday = DateTime::from_timestamp(1_736_121_600, 0).expect("a time within range");
    monday + TimeDelta::hours(hours)
}

/// A line of commits, each with its time in hours, oldest first.
pub(crate) fn line(commits: &[(&str, i64)]) -> CommitLine {
    let commits = commits.iter().map(|&(sha, hours)| CommitOnLine {
        sha: sha.to_owned(),
        commit_time: time(hours),
        subject: format!("Change {sha}"),
        tags: Vec::new(),
    });
    CommitLine { commits: commits.collect(), shallow: false, named: false }
}

/// A run of the suite `cpu` on the machine `m` that measured nothing; `-` stands for no commit.
pub(crate) fn run_of(id: &str, commit: &str, commit_hours: i64, run_hours: i64) -> RecordedRun {
    let commit = example::commit(commit.to_owned(), time(commit_hours));
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

#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) line: CommitLine,
    pub(crate) runs: Vec<RecordedRun>,
}

/// Histories of up to forty runs of two suites on two machines, over six weeks, in no order.
///
/// Commits lie on the line, beside it or nowhere; times repeat and clocks go wrong; benchmarks fail and are wrong.
pub(crate) fn histories() -> impl Strategy<Value = History> {
    let value = prop_oneof![8 => 1e-3..1e3_f64, 1 => Just(0.0), 1 => Just(-1.0)];
    let metrics = prop::sample::subsequence(vec!["time", "ratio", "tiles_per_s"], 0..=3);
    let benchmark = (prop::sample::select(vec!["pack", "scan", "sort"]), metrics, 1..3_u32, 0..8_usize);
    let benchmarks = prop::collection::vec(benchmark, 0..4);
    let values = prop::collection::vec(value, 9);
    let run = (0..8_usize, 0..1000_i64, any::<bool>(), any::<bool>(), benchmarks, values);
    let runs = prop::collection::vec(run, 0..40);
    let commits = prop::collection::vec(0..500_i64, 8);
    (commits, runs).prop_map(|(commits, runs)| {
        // Of eight commits five lie on the line, two beside it, and the last stands for none.
        let names = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "-"];
        let on_line: Vec<(&str, i64)> = names.into_iter().zip(commits.iter().copied()).take(5).collect();
        let runs = runs.into_iter().enumerate().map(|(number, (commit, hours, gpu, other, benchmarks, values))| {
            let mut run = run_of(&format!("{number:016x}"), names[commit], commits[commit], hours);
            let suite = if gpu { "gpu" } else { "cpu" };
            run.run.suite = suite.to_owned();
            let (id, class) = if other { ("other", "Xeon") } else { ("m", "EPYC") };
            // The name that people give a machine may change; its id does not.
            let name = if hours % 7 == 0 { "renamed" } else { "plain" };
            run.run.machine = Machine { name: name.to_owned(), ..Machine::named(id, class) };
            let mut values = values.into_iter();
            for (name, metrics, version, luck) in benchmarks {
                let metrics: Vec<(&str, f64)> = metrics.into_iter().zip(&mut values).collect();
                let mut measurement = measurement(name, &metrics);
                let benchmark = Arc::make_mut(&mut measurement.benchmark);
                (benchmark.suite, benchmark.version) = (suite.to_owned(), version);
                for estimate in &mut measurement.estimates {
                    estimate.workers = [1.0, 1.25, 0.5][..luck % 4].to_vec();
                    estimate.interval = (luck > 3).then_some((estimate.value, estimate.value * 1.5));
                }
                match luck {
                    0 => measurement.failure = Some("broke".to_owned()),
                    1 => measurement.parity.status = ParityStatus::Mismatch,
                    2 => measurement.role = Role::Reported,
                    _ => {}
                }
                // A record lists a benchmark once.
                if run.run.measurements.iter().all(|listed| listed.benchmark != measurement.benchmark) {
                    run.run.measurements.push(measurement);
                }
            }
            run
        });
        History { line: line(&on_line), runs: runs.collect() }
    })
}
