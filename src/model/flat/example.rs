//! Runs for the tests of tables and of what is written from them.

use std::collections::BTreeMap;

use crate::benchmark::{Benchmark, Parity, ParityStatus};
use crate::commit::Commit;
use crate::environment::{Environment, Machine};
use crate::metric::Metric;
use crate::run::{Quality, RecordedRun, Run, RunStatus};
use crate::sample::{Estimate, Measurement, Role};

/// A run of three benchmarks: one with everything, one of somebody else's program, one that failed.
pub fn recorded() -> RecordedRun {
    let time = "2026-05-04T03:02:01Z".parse().expect("the text is a time");
    let full = Estimate {
        value: 0.25,
        workers: vec![0.2, 0.25, 0.3],
        p50: Some(0.26),
        p95: Some(0.31),
        min: Some(0.19),
        interval: Some((0.2, 0.3)),
        detectable: Some(0.01),
        n: 96,
        ..estimate(Metric::time(), 0.25)
    };
    let estimates = vec![
        full,
        estimate(Metric::ratio(), 1.5),
        estimate(Metric::throughput("tiles_per_s"), 4096.0),
        estimate(Metric::peak_memory(), 8192.0),
    ];
    let params = [("c", "64".to_owned()), ("t", "8".to_owned())];
    let mut pack = measurement("tile_pack", &params, "fast", estimates);
    pack.attributes = ["class", "ratio_to", "preempted_share"]
        .into_iter()
        .zip(["cache", "copy 1 MiB", "0.0125"])
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let sorted = Estimate { workers: vec![2.0], n: 1, ..estimate(Metric::time(), 2.0) };
    let sort = measurement("sort", &[("n", "1000".to_owned())], "default", vec![sorted]);
    let mut merge = measurement("merge", &[], "default", Vec::new());
    merge.failure = Some("needs two cores".to_owned());
    let run = Run {
        suite: "cpu".to_owned(),
        timestamp: time,
        commit: Some(Commit {
            sha: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            parents: vec!["89abcdef0123456789abcdef0123456789abcdef".to_owned()],
            author_time: time,
            commit_time: time - chrono::TimeDelta::hours(1),
            subject: "Pack tiles".to_owned(),
            branch: Some("main".to_owned()),
            dirty: false,
        }),
        machine: Machine::named("bench", "EPYC"),
        environment: Environment::from_facts(BTreeMap::from([("cpu_model".to_owned(), "EPYC 9".to_owned())])),
        config: BTreeMap::new(),
        status: RunStatus::Ok,
        reason: None,
        quality: Quality { clean: false, reasons: vec!["load was high".to_owned(), "few workers".to_owned()] },
        measurements: vec![pack, sort, merge],
        autotune: Vec::new(),
    };
    recorded_as(run)
}

pub fn skipped() -> RecordedRun {
    let run = Run {
        suite: "gpu".to_owned(),
        commit: None,
        status: RunStatus::Skipped,
        reason: Some("no device".to_owned()),
        quality: Quality { clean: true, reasons: Vec::new() },
        measurements: Vec::new(),
        ..recorded().run
    };
    recorded_as(run)
}

pub fn recorded_as(run: Run) -> RecordedRun {
    let (id, path, _) = run.to_record();
    RecordedRun { path, id, run }
}

pub fn measurement(name: &str, params: &[(&str, String)], variant: &str, estimates: Vec<Estimate>) -> Measurement {
    Measurement {
        benchmark: Benchmark::new("cpu", name, params, variant).expect("a plain name").into(),
        role: Role::Tracked,
        attributes: BTreeMap::new(),
        parity: Parity { status: ParityStatus::Exact, max_abs_error: None, tolerance: None },
        estimates,
        failure: None,
    }
}

pub fn estimate(metric: Metric, value: f64) -> Estimate {
    Estimate {
        metric,
        value,
        workers: Vec::new(),
        p50: None,
        p95: None,
        min: None,
        interval: None,
        detectable: None,
        n: 1,
    }
}
