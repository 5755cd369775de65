//! A run: one suite on one commit, machine and time; and its record, version 1, as it lies in `history/`.
//!
//! The record is canonical JSON and one line feed. Its name bears the start of the SHA-256 of that JSON, so a
//! name that does not match its content is damage.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::benchmark::{Attributes, Benchmark, BenchmarkError, Parity};
use super::canonical;
use super::commit::{Commit, NO_COMMIT};
use super::digest;
use super::environment::{Environment, Machine};
use super::metric::{Better, Metric};
use super::sample::{Estimate, Measurement};
use super::unit::Unit;

/// The version of the record that this build writes, and the newest it reads.
pub const SCHEMA_VERSION: u64 = 1;

/// Where records of this version lie in the history's tree.
pub const RECORD_ROOT: &str = "history/v1";

/// The largest record that is read, in bytes. A run of a thousand benchmarks takes about one megabyte.
pub const MAX_RECORD_BYTES: usize = 32 << 20;

/// One suite, measured once on one machine, or the reason why it was not.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The suite, such as `cpu`.
    pub suite: String,
    /// When the run began, to the second.
    pub timestamp: DateTime<Utc>,
    /// What was measured; absent outside a repository or before the first commit.
    pub commit: Option<Commit>,
    /// Where.
    pub machine: Machine,
    /// Under which circumstances.
    pub environment: Environment,
    /// The settings of the protocol, by name.
    pub config: BTreeMap<String, Value>,
    /// Whether the suite ran.
    pub status: RunStatus,
    /// Why it was skipped or failed.
    pub reason: Option<String>,
    /// Whether its numbers can be trusted.
    pub quality: Quality,
    /// The benchmarks, in the order in which the suite lists them.
    pub measurements: Vec<Measurement>,
    /// Configurations that a tuner chose, one object each; empty where nothing is tuned.
    pub autotune: Vec<Value>,
}

/// Whether a suite ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It ran; single benchmarks may have failed.
    Ok,
    /// It could not run here, as with a GPU suite on a machine without one.
    Skipped,
    /// It broke.
    Failed,
}

impl RunStatus {
    /// The word that records and commit subjects bear.
    pub fn word(self) -> &'static str {
        match self {
            RunStatus::Ok => "ok",
            RunStatus::Skipped => "skipped",
            RunStatus::Failed => "failed",
        }
    }
}

/// Whether the numbers of a run can be trusted, and what speaks against it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// Nothing speaks against the numbers.
    pub clean: bool,
    /// What does, one sentence each.
    pub reasons: Vec<String>,
}

/// A run of the history with the place where it lies.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRun {
    /// Its path in the history's tree.
    pub path: String,
    /// The sixteen digits of its content that the name bears.
    pub id: String,
    /// What it says.
    pub run: Run,
}

/// A file of the history that cannot be used; the others stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// Its path in the history's tree.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Why a file is not a run record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Larger than [`MAX_RECORD_BYTES`].
    #[error("holds {0} bytes, more than the {MAX_RECORD_BYTES} that a record may have")]
    Large(usize),
    /// Not JSON, or cut short.
    #[error("is not JSON: {0}")]
    Json(serde_json::Error),
    /// An object without `schema_version`, so somebody else's file.
    #[error("is not a run record: it has no `schema_version`")]
    Foreign,
    /// Written by a newer Sprag.
    #[error("has schema version {0}, this build reads up to {SCHEMA_VERSION}; a newer sprag can read it")]
    Newer(u64),
    /// A field is missing, unknown or of the wrong kind.
    #[error("does not follow schema version 1: {0}")]
    Schema(serde_json::Error),
    /// A benchmark whose parts contradict its id, or cannot be written.
    #[error("holds a benchmark `{id}` that cannot be: {reason}", id = .id.escape_debug())]
    Benchmark {
        /// The id as recorded.
        id: String,
        /// What is wrong.
        reason: String,
    },
    /// The same benchmark twice.
    #[error("lists the benchmark `{0}` twice")]
    Duplicate(String),
    /// A field whose value contradicts another.
    #[error("has `{field}` {reason}")]
    Field {
        /// Which field.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Valid, but not written in the canonical form that digests are taken of.
    #[error("is not in canonical form, so its name cannot vouch for it")]
    NotCanonical,
}

impl Run {
    /// The record of the run: its id, the path it belongs at, and its bytes.
    pub fn to_record(&self) -> (String, String, Vec<u8>) {
        let value = serde_json::to_value(RunRecord::from_run(self)).expect("a run holds nothing that JSON cannot");
        let mut text = canonical::to_string(&value);
        let id = digest::sha256_hex(text.as_bytes())[..16].to_owned();
        text.push('\n');
        (id.clone(), self.path(&id), text.into_bytes())
    }

    /// Reads a record; the file must hold exactly the bytes that [`Run::to_record`] writes.
    ///
    /// # Errors
    /// Says what makes the file no record of a version this build knows.
    pub fn from_record(bytes: &[u8]) -> Result<(String, Run), RecordError> {
        let (id, run) = Run::from_json(bytes)?;
        let (_, _, canonical_bytes) = run.to_record();
        if canonical_bytes == bytes { Ok((id, run)) } else { Err(RecordError::NotCanonical) }
    }

    /// Reads a record in any JSON layout, as a file that came from elsewhere may have.
    ///
    /// # Errors
    /// Says what makes the file no record of a version this build knows.
    pub fn from_json(bytes: &[u8]) -> Result<(String, Run), RecordError> {
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(RecordError::Large(bytes.len()));
        }
        let value: Value = serde_json::from_slice(bytes).map_err(RecordError::Json)?;
        match value.get("schema_version").and_then(Value::as_u64) {
            None => return Err(RecordError::Foreign),
            Some(version) if version > SCHEMA_VERSION => return Err(RecordError::Newer(version)),
            Some(_) => {}
        }
        let record: RunRecord = serde_json::from_value(value).map_err(RecordError::Schema)?;
        let run = record.into_run()?;
        let (id, _, _) = run.to_record();
        Ok((id, run))
    }

    /// Where the record of this run with that id belongs:
    /// `history/v1/<suite>/<yyyy>/<mm>/<commit12>-<machine8>-<run16>.json`.
    pub fn path(&self, id: &str) -> String {
        let commit = self.commit.as_ref().map_or(NO_COMMIT, Commit::short);
        format!(
            "{RECORD_ROOT}/{}/{:04}/{:02}/{commit}-{}-{id}.json",
            self.suite,
            self.timestamp.year(),
            self.timestamp.month(),
            self.machine.short_id(),
        )
    }

    /// The subject of the commit that records this run.
    pub fn subject(&self) -> String {
        let commit = self.commit.as_ref().map_or(NO_COMMIT, Commit::short);
        format!("sprag: {} {} at {commit}", self.suite, self.status.word())
    }
}

/// The fields of a record, in the layout of version 1.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunRecord {
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
    interval: Option<(f64, f64)>,
    n: u64,
}

impl RunRecord {
    fn from_run(run: &Run) -> RunRecord {
        RunRecord {
            schema_version: SCHEMA_VERSION,
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

    fn into_run(self) -> Result<Run, RecordError> {
        check_path_word("suite", &self.suite)?;
        check_hex("machine.id", &self.machine.id, 16)?;
        if let Some(commit) = &self.commit {
            check_hex("commit.sha", &commit.sha, 40)?;
        }
        if self.environment.key != Environment::key_of(&self.environment.facts) {
            let reason = "that does not follow from its facts".to_owned();
            return Err(RecordError::Field { field: "environment.key", reason });
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
        let mut seen = std::collections::BTreeSet::new();
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
        let mut names = std::collections::BTreeSet::new();
        for metric in &self.metrics {
            let word = &metric.name;
            if word.is_empty() || word.len() > 100 || word.chars().any(|c| c.is_whitespace() || c.is_control()) {
                return Err(fault(format!("the metric name `{}` is not a word", word.escape_debug())));
            }
            if !names.insert(word.clone()) {
                return Err(fault(format!("it has the metric `{word}` twice")));
            }
        }
        Ok(Measurement {
            benchmark,
            attributes: self.attributes,
            parity: self.parity,
            failure: self.failure,
            estimates: self.metrics.into_iter().map(MetricRecord::into_estimate).collect(),
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
            interval: estimate.interval,
            n: estimate.n,
        }
    }

    fn into_estimate(self) -> Estimate {
        Estimate {
            metric: Metric { name: self.name, unit: self.unit, better: self.better },
            value: self.value,
            workers: self.workers,
            p50: self.p50,
            p95: self.p95,
            interval: self.interval,
            n: self.n,
        }
    }
}

/// A suite names a folder, so it is held to letters, digits, `-`, `_` and `.`, and may not start with a dot.
fn check_path_word(field: &'static str, word: &str) -> Result<(), RecordError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if word.is_empty() || word.len() > 100 || word.starts_with(['.', '-']) || !word.chars().all(fine) {
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
