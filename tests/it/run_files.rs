//! Run files as `run --output-run` writes them, made without measuring.

use chrono::{DateTime, TimeDelta};
use sprag_model::benchmark::{Benchmark, Parity, ParityStatus};
use sprag_model::commit::Commit;
use sprag_model::environment::{Environment, Machine};
use sprag_model::metric::Metric;
use sprag_model::run::{Quality, Run, RunStatus};
use sprag_model::sample::{Estimate, Measurement};

/// A run of the suite `cpu` that differs with `number`, which is not negative.
pub(crate) fn run(number: i64) -> Run {
    let value = 1e-3 + number as f64 * 1e-9;
    let estimate = Estimate {
        metric: Metric::time(),
        value,
        workers: vec![value],
        p50: Some(value),
        p95: None,
        min: None,
        interval: None,
        detectable: None,
        n: 20,
    };
    let measurement = Measurement {
        benchmark: Benchmark::new("cpu", "tile_pack", &[("t", "8".into())], "fast").expect("plain words").into(),
        role: Default::default(),
        attributes: Default::default(),
        parity: Parity { status: ParityStatus::Exact, max_abs_error: None, tolerance: None },
        estimates: vec![estimate],
        failure: None,
    };
    let first = DateTime::from_timestamp(1_767_600_000, 0).expect("a time");
    Run {
        suite: "cpu".to_owned(),
        timestamp: first + TimeDelta::minutes(number),
        commit: None,
        machine: Machine::named("bench-1", "Example CPU"),
        environment: Environment::from_facts([("cpu_model".to_owned(), "Example".to_owned())].into()),
        config: Default::default(),
        status: RunStatus::Ok,
        reason: None,
        quality: Quality { clean: true, reasons: Vec::new() },
        measurements: vec![measurement],
        autotune: Vec::new(),
    }
}

/// As [`run`], of a commit that no repository holds.
pub(crate) fn run_of_an_absent_commit(number: i64) -> Run {
    let run = run(number);
    let commit = Commit {
        sha: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        parents: Vec::new(),
        author_time: run.timestamp,
        commit_time: run.timestamp,
        subject: "Squashed since".to_owned(),
        branch: None,
        dirty: false,
    };
    Run { commit: Some(commit), ..run }
}

/// The text of the record of a run.
pub(crate) fn text(run: &Run) -> String {
    String::from_utf8(run.to_record().2).expect("a record is ASCII")
}

/// The name that a record bears in the history.
pub(crate) fn name(run: &Run) -> String {
    let (_, path, _) = run.to_record();
    path.rsplit('/').next().expect("a path has a last part").to_owned()
}
