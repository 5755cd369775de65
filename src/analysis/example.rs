//! Small runs and baselines for the tests of this room.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeZone as _, Utc};

use crate::{rollup, trend};
use sprag_model::baseline::SCHEMA_VERSION;
use sprag_model::{
    Baseline, BaselineMetric, Benchmark, Counts, Environment, Estimate, Machine, Measurement, Metric, NoBaseline,
    Quality, Rule, Run, RunStatus, Series, SeriesAnalysis, SuiteAnalysis,
};

/// A run with one `time` in seconds a benchmark.
pub(super) fn run(suite: &str, machine: &str, day: u32, times: &[(&str, f64)]) -> Run {
    let time = Utc.with_ymd_and_hms(2026, 11, day, 4, 0, 0).single().expect("a day of November");
    Run {
        environment: Environment::from_facts(BTreeMap::from([("compiler".to_owned(), "rustc 1.95".to_owned())])),
        measurements: times.iter().map(|(name, seconds)| measurement(suite, name, *seconds)).collect(),
        ..Run::new(suite, time, Machine::named(machine, "CPU"))
    }
}

/// A benchmark that took `seconds`.
pub(super) fn measurement(suite: &str, name: &str, seconds: f64) -> Measurement {
    let benchmark = Benchmark::new(suite, name, &[], "fast").expect("the name is a word");
    let estimate = Estimate {
        workers: vec![seconds],
        interval: Some((seconds * 0.99, seconds * 1.01)),
        ..Estimate::new(Metric::time(), seconds, 100)
    };
    Measurement::new(benchmark, vec![estimate])
}

/// A baseline of all that a run measured.
pub(super) fn baseline(run: &Run, ratio: f64) -> Baseline {
    let estimates = run.measurements.iter().flat_map(|one| one.estimates.iter().map(move |estimate| (one, estimate)));
    let metrics = estimates.map(|(one, estimate)| {
        let metric = BaselineMetric {
            value: estimate.value,
            unit: estimate.metric.unit,
            better: estimate.metric.better,
            interval: None,
            version: None,
            sessions: 1,
            session_noise: None,
            rule: Rule::Tolerance { ratio, abs: 0.0 },
        };
        (Baseline::key(&one.benchmark.id(), &estimate.metric.name), metric)
    });
    Baseline {
        schema_version: SCHEMA_VERSION,
        suite: run.suite.clone(),
        machine_class: run.machine.class.clone(),
        environment: run.environment.clone(),
        commit: None,
        dirty: true,
        partial: false,
        branch: None,
        machine: None,
        run: "0".repeat(16),
        timestamp_utc: run.timestamp,
        required_status: RunStatus::Ok,
        notes: String::new(),
        accepted: None,
        metrics: metrics.collect(),
    }
}

/// A suite on a machine whose newest run took place long ago and found nothing.
pub(super) fn suite(name: &str, machine: &str) -> SuiteAnalysis {
    SuiteAnalysis {
        suite: name.to_owned(),
        machine: machine.to_owned(),
        machine_name: machine.to_owned(),
        machine_class: "CPU".to_owned(),
        run: String::new(),
        time: DateTime::<Utc>::default(),
        narrowed: false,
        last: DateTime::<Utc>::default(),
        commit: None,
        status: RunStatus::Ok,
        reason: None,
        quality: Quality::default(),
        failures: Vec::new(),
        imported: false,
        environment_changes: None,
        baseline: Err(NoBaseline::Absent(String::new())),
        comparisons: Vec::new(),
        counts: Counts::default(),
        mean_baseline: None,
    }
}

/// A series of one session a day, each of a commit with that number and of that level.
pub(crate) fn daily(name: &str, sessions: &[(u32, f64)]) -> Series {
    let of_session = |(day, (commit, value)): (usize, &(u32, f64))| {
        trend::example::point(day, *value).of_run(|run| run.commit = format!("{commit:040x}").into())
    };
    Series {
        id: name.to_owned(),
        metric: Metric::time(),
        machine: "m".to_owned(),
        machine_name: "m".to_owned(),
        points: sessions.iter().enumerate().map(of_session).collect(),
        ..trend::example::series(name, &[])
    }
}

/// A series of a history without baselines, whose newest run has a value of it.
pub(crate) fn analysed(series: Series, judged: bool) -> SeriesAnalysis {
    let latest = rollup::latest(&series, []).unwrap_or_default();
    let last = series.points.iter().map(|point| point.time).max().unwrap_or_default();
    SeriesAnalysis { series, judged, at_tip: true, last, latest, comparison: None, sentence: String::new() }
}
