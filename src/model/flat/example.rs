//! Runs for the tests of tables and of what is written from them.

use std::collections::BTreeMap;

use crate::{
    Benchmark, Commit, Environment, Estimate, Machine, Measurement, Metric, Quality, RecordedRun, Run, RunStatus,
};

/// A run of three benchmarks: one with everything, one of a foreign program, one that failed.
pub fn recorded() -> RecordedRun {
    let timestamp = "2026-05-04T03:02:01Z".parse().expect("the text is a time");
    let full = Estimate {
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
    for (name, value) in [("class", "cache"), ("ratio_to", "copy 1 MiB"), ("preempted_share", "0.0125")] {
        pack.attributes.insert(name.to_owned(), value.to_owned());
    }
    let sorted = Estimate { workers: vec![2.0], ..estimate(Metric::time(), 2.0) };
    let sort = measurement("sort", &[("n", "1000".to_owned())], "default", vec![sorted]);
    let mut merge = measurement("merge", &[], "default", Vec::new());
    merge.failure = Some("needs two cores".to_owned());
    let commit = Commit {
        parents: vec!["89abcdef0123456789abcdef0123456789abcdef".to_owned()],
        commit_time: timestamp - chrono::TimeDelta::hours(1),
        subject: "Pack tiles".to_owned(),
        branch: Some("main".to_owned()),
        ..Commit::new("0123456789abcdef0123456789abcdef01234567".to_owned(), timestamp)
    };
    RecordedRun::from(Run {
        commit: Some(commit),
        environment: Environment::from_facts(BTreeMap::from([("cpu_model".to_owned(), "EPYC 9".to_owned())])),
        quality: Quality { clean: false, reasons: vec!["load was high".to_owned(), "few workers".to_owned()] },
        measurements: vec![pack, sort, merge],
        ..Run::new("cpu", timestamp, Machine::named("bench", "EPYC"))
    })
}

pub fn skipped() -> RecordedRun {
    let run = recorded().run;
    RecordedRun::from(Run {
        environment: run.environment,
        status: RunStatus::Skipped,
        reason: Some("no device".to_owned()),
        ..Run::new("gpu", run.timestamp, run.machine)
    })
}

pub fn measurement(name: &str, params: &[(&str, String)], variant: &str, estimates: Vec<Estimate>) -> Measurement {
    Measurement::new(Benchmark::new("cpu", name, params, variant).expect("a plain name"), estimates)
}

pub fn estimate(metric: Metric, value: f64) -> Estimate {
    Estimate::new(metric, value, 1)
}
