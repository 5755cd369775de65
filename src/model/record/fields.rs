//! The fields of a record, and what they must satisfy together.
//!
//! Version 2 adds the role of a benchmark and, to a metric, `min` and `detectable`. A record is written in the lowest
//! version that can hold it, so one of version 1 reads back to the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Datelike, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RecordError;
use crate::model::benchmark::{Attributes, Benchmark, BenchmarkError, Parity};
use crate::model::commit::Commit;
use crate::model::environment::{Environment, Machine};
use crate::model::metric::{Better, Metric, RATIO};
use crate::model::run::{Quality, Run, RunStatus};
use crate::model::sample::{Estimate, Measurement, Role};
use crate::model::shard::SHARD;
use crate::model::unit::Unit;

/// The fields of a record.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunRecord {
    schema_version: u64,
    suite: String,
    timestamp_utc: DateTime<Utc>,
    commit: Option<Commit>,
    machine: Machine,
    environment: Environment,
    config: BTreeMap<String, Value>,
    status: RunStatus,
    reason: Option<String>,
    quality: Quality,
    benchmarks: Vec<BenchmarkRecord>,
    autotune: Vec<Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BenchmarkRecord {
    id: String,
    name: String,
    version: u32,
    params: BTreeMap<String, String>,
    variant: String,
    #[serde(default, skip_serializing_if = "Role::is_tracked")]
    role: Role,
    attributes: Attributes,
    parity: Parity,
    failure: Option<String>,
    metrics: Vec<MetricRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricRecord {
    name: String,
    unit: Unit,
    better: Better,
    value: f64,
    workers: Vec<f64>,
    p50: Option<f64>,
    p95: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min: Option<f64>,
    interval: Option<(f64, f64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detectable: Option<f64>,
    n: u64,
}

/// The lowest version that can hold a run.
fn lowest_version(run: &Run) -> u64 {
    let newer = |estimate: &Estimate| estimate.min.is_some() || estimate.detectable.is_some();
    let needs_2 = |one: &Measurement| !one.role.is_tracked() || one.estimates.iter().any(newer);
    // An older reader would take a shard for the whole.
    if run.config.contains_key(SHARD) || run.measurements.iter().any(needs_2) { 2 } else { 1 }
}

impl RunRecord {
    pub(super) fn from_run(run: &Run) -> RunRecord {
        RunRecord {
            schema_version: lowest_version(run),
            suite: run.suite.clone(),
            timestamp_utc: run.timestamp,
            commit: run.commit.clone(),
            machine: run.machine.clone(),
            environment: run.environment.clone(),
            config: run.config.clone(),
            status: run.status,
            reason: run.reason.clone(),
            quality: run.quality.clone(),
            benchmarks: run.measurements.iter().map(BenchmarkRecord::from_measurement).collect(),
            autotune: run.autotune.clone(),
        }
    }

    pub(super) fn into_run(self) -> Result<Run, RecordError> {
        check_path_word("suite", &self.suite)?;
        check_hex("machine.id", &self.machine.id, 16)?;
        if let Some(commit) = &self.commit {
            check_hex("commit.sha", &commit.sha, 40)?;
        }
        if self.environment.key != Environment::key_of(&self.environment.facts) {
            let reason = "that does not follow from its facts".to_owned();
            return Err(RecordError::Field { field: "environment.key", reason });
        }
        if self.status != RunStatus::Ok && self.reason.as_ref().is_none_or(|reason| reason.trim().is_empty()) {
            let reason = format!("missing, though the run was {}", self.status.word());
            return Err(RecordError::Field { field: "reason", reason });
        }
        if self.timestamp_utc.timestamp_subsec_nanos() != 0 {
            return Err(RecordError::Field { field: "timestamp_utc", reason: "with fractions of a second".to_owned() });
        }
        if !(1970..=9999).contains(&self.timestamp_utc.year()) {
            return Err(RecordError::Field {
                field: "timestamp_utc",
                reason: "outside the years 1970 to 9999".to_owned(),
            });
        }
        let mut measurements = Vec::with_capacity(self.benchmarks.len());
        let mut seen = BTreeSet::new();
        for record in self.benchmarks {
            let measurement = record.into_measurement(&self.suite)?;
            if !seen.insert(measurement.benchmark.clone()) {
                return Err(RecordError::Duplicate(measurement.benchmark.id()));
            }
            measurements.push(measurement);
        }
        Ok(Run {
            suite: self.suite,
            timestamp: self.timestamp_utc,
            commit: self.commit,
            machine: self.machine,
            environment: self.environment,
            config: self.config,
            status: self.status,
            reason: self.reason,
            quality: self.quality,
            measurements,
            autotune: self.autotune,
        })
    }
}

impl BenchmarkRecord {
    fn from_measurement(measurement: &Measurement) -> BenchmarkRecord {
        let benchmark = &measurement.benchmark;
        BenchmarkRecord {
            id: benchmark.id(),
            name: benchmark.name.clone(),
            version: benchmark.version,
            params: benchmark.params.clone(),
            variant: benchmark.variant.clone(),
            role: measurement.role,
            attributes: measurement.attributes.clone(),
            parity: measurement.parity.clone(),
            failure: measurement.failure.clone(),
            metrics: measurement.estimates.iter().map(MetricRecord::from_estimate).collect(),
        }
    }

    fn into_measurement(self, suite: &str) -> Result<Measurement, RecordError> {
        let benchmark = Benchmark {
            suite: suite.to_owned(),
            name: self.name,
            params: self.params,
            variant: self.variant,
            version: self.version,
        };
        let fault = |reason: String| RecordError::Benchmark { id: self.id.clone(), reason };
        benchmark.check().map_err(|error: BenchmarkError| fault(error.to_string()))?;
        if benchmark.id() != self.id {
            return Err(fault(format!("its parts make `{}`", benchmark.id())));
        }
        let mut names = BTreeSet::new();
        for metric in &self.metrics {
            let word = &metric.name;
            if !Metric::is_word(word) {
                return Err(fault(format!("the metric name `{}` is not a word", word.escape_debug())));
            }
            if !names.insert(word.clone()) {
                return Err(fault(format!("it has the metric `{word}` twice")));
            }
        }
        Ok(Measurement {
            benchmark,
            role: self.role,
            attributes: self.attributes,
            parity: self.parity,
            failure: self.failure,
            estimates: self
                .metrics
                .into_iter()
                .map(|metric| metric.into_estimate().map_err(fault))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl MetricRecord {
    fn from_estimate(estimate: &Estimate) -> MetricRecord {
        MetricRecord {
            name: estimate.metric.name.clone(),
            unit: estimate.metric.unit,
            better: estimate.metric.better,
            value: estimate.value,
            workers: estimate.workers.clone(),
            p50: estimate.p50,
            p95: estimate.p95,
            min: estimate.min,
            interval: estimate.interval,
            detectable: estimate.detectable,
            n: estimate.n,
        }
    }

    /// The estimate, if its numbers can be those of a measurement.
    fn into_estimate(self) -> Result<Estimate, String> {
        let positive = matches!(self.unit, Unit::Second | Unit::PerSecond) || self.name == RATIO;
        let (low, high) = self.interval.unwrap_or((self.value, self.value));
        let single = [Some(self.value), self.p50, self.p95, self.min, Some(low), Some(high)];
        let numbers = single.into_iter().flatten().chain(self.workers.iter().copied());
        if let Some(bad) = numbers.into_iter().find(|number| !number.is_finite() || (positive && *number <= 0.0)) {
            return Err(format!("its metric `{}` holds {bad}, which cannot be", self.name));
        }
        if let Some(bad) = self.detectable.filter(|size| !(size.is_finite() && *size >= 0.0)) {
            return Err(format!("its metric `{}` could show a change of {bad}, which cannot be", self.name));
        }
        if low > high {
            return Err(format!("its metric `{}` has an interval from {low} to {high}", self.name));
        }
        Ok(Estimate {
            metric: Metric { name: self.name, unit: self.unit, better: self.better },
            value: self.value,
            workers: self.workers,
            p50: self.p50,
            p95: self.p95,
            min: self.min,
            interval: self.interval,
            detectable: self.detectable,
            n: self.n,
        })
    }
}

/// A suite names a folder, so it is held to letters, digits, `-`, `_` and `.`, and may not start with a dot.
fn check_path_word(field: &'static str, word: &str) -> Result<(), RecordError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if word.is_empty() || word.len() > 100 || word.starts_with(['.', '-', '_']) || !word.chars().all(fine) {
        let reason = format!("`{}`, which cannot name a folder", word.escape_debug());
        return Err(RecordError::Field { field, reason });
    }
    Ok(())
}

fn check_hex(field: &'static str, text: &str, length: usize) -> Result<(), RecordError> {
    let fine = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    if text.len() != length || !text.chars().all(fine) {
        let reason = format!("`{}`, which is not {length} lower-case hexadecimal digits", text.escape_debug());
        return Err(RecordError::Field { field, reason });
    }
    Ok(())
}
