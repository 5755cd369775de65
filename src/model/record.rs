//! The record of a run in `history/`.
//!
//! A record is canonical JSON and one line feed. Its name contains the start of the SHA-256 of that JSON, so a name that
//! contradicts its content is damage.
//!
//! Version 2 adds the role of a benchmark and, to a metric, `min` and `detectable`. A record is written in the lowest
//! version that can hold it, so one of version 1 reads back to the same bytes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use chrono::{DateTime, Datelike, Utc};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::benchmark::MAX_WORD;
use crate::metric::RATIO;
use crate::schema::patterns;
use crate::shard::SHARD;
use crate::{
    Attributes, Benchmark, Better, Commit, Environment, Estimate, Machine, Measurement, Metric, Parity, Quality, Role,
    Run, RunStatus, Unit, schema,
};
use sprag_base::digest::{self, is_hex};
use sprag_base::json;

/// The version of the record that this build writes, and the newest it reads.
pub const SCHEMA_VERSION: u64 = 2;

/// The largest record that is read, in bytes. A run of a thousand benchmarks takes about one megabyte.
pub const MAX_RECORD_BYTES: usize = 32 << 20;

/// The years in which a run can have been measured.
pub const YEARS: RangeInclusive<i32> = 1970..=9999;

/// Below a field of a record. The reader of JSON goes 127 deep, two of which are above.
const MOST_NESTED: usize = 125;

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("holds {0} bytes, more than the {MAX_RECORD_BYTES} that a record may have")]
    Large(usize),
    #[error("is not a run record: it has no `schema_version` from 1 on")]
    Foreign,
    #[error("has schema version {0}, this build reads up to {SCHEMA_VERSION}; a newer sprag can read it")]
    Newer(u64),
    #[error("is not in canonical form, so its name cannot vouch for it")]
    NotCanonical,
    #[error("{0}")]
    Content(String),
}

impl Run {
    /// The record of the run: its id, its path, and its bytes.
    pub fn to_record(&self) -> (String, String, Vec<u8>) {
        let mut text = json::to_canonical(&RunRecord::from_run(self));
        let id = id_of(text.as_bytes());
        text.push('\n');
        (id.clone(), self.path(&id), text.into_bytes())
    }

    /// Checks what reading the record of this run would, whose bytes are as they must be.
    pub fn check(&self) -> Result<(), String> {
        self.check_head()?;
        for one in &self.measurements {
            let checked = match one.benchmark.suite == self.suite {
                true => one.benchmark.check().map_err(|error| error.to_string()),
                false => Err("it is of another suite".to_owned()),
            };
            let checked = checked.and_then(|()| check_estimates(&one.estimates));
            checked.map_err(|reason| impossible(&one.benchmark.id(), &reason))?;
        }
        self.check_distinct()
    }

    fn check_head(&self) -> Result<(), String> {
        check_suite(&self.suite)?;
        if self.config.values().chain(&self.autotune).any(|value| !json::is_shallow(value, MOST_NESTED)) {
            return Err(format!("has values that are nested more than {MOST_NESTED} deep"));
        }
        check_hex("machine.id", &self.machine.id, 16)?;
        self.commit.iter().try_for_each(|commit| check_hex("commit.sha", &commit.sha, 40))?;
        if self.environment.key != Environment::key_of(&self.environment.facts) {
            return Err("has `environment.key` that does not follow from its facts".to_owned());
        }
        if self.status != RunStatus::Ok && self.reason.as_ref().is_none_or(|reason| reason.trim().is_empty()) {
            return Err(format!("has `reason` missing, though the run was {}", self.status.word()));
        }
        if self.timestamp.timestamp_subsec_nanos() != 0 {
            return Err("has `timestamp_utc` with fractions of a second".to_owned());
        }
        if !YEARS.contains(&self.timestamp.year()) {
            return Err("has `timestamp_utc` outside the years 1970 to 9999".to_owned());
        }
        Ok(())
    }

    fn check_distinct(&self) -> Result<(), String> {
        let mut seen = HashSet::new();
        match self.measurements.iter().find(|one| !seen.insert(&*one.benchmark)) {
            Some(twice) => Err(format!("lists the benchmark `{}` twice", twice.benchmark)),
            None => Ok(()),
        }
    }

    /// Reads a record; the file must hold exactly the bytes that [`Run::to_record`] writes.
    pub fn from_record(bytes: &[u8]) -> Result<(String, Run), RecordError> {
        let (id, run) = Reader::default().read(bytes)?;
        // Canonical bytes have no repeated keys, which the typed reader would not detect.
        let text = json::to_canonical(&RunRecord::from_run(&run));
        if bytes.strip_suffix(b"\n").is_none_or(|bytes| bytes != text.as_bytes()) {
            return Err(RecordError::NotCanonical);
        }
        Ok((id, run))
    }

    /// Reads a record in any JSON layout without repeated keys.
    pub fn from_json(bytes: &[u8]) -> Result<(String, Run), RecordError> {
        // Most files are canonical, and read that way in a third of the time.
        if let Ok(read) = Run::from_record(bytes) {
            return Ok(read);
        }
        let run = lenient(bytes)?;
        let (id, _, _) = run.to_record();
        Ok((id, run))
    }
}

// Small files of the history besides runs, such as retractions: canonical JSON and one line feed, too, in folders of year and
// month, named after the start of the digest.

pub(crate) fn to_named<T: Serialize>(root: &str, time: DateTime<Utc>, value: &T) -> (String, Vec<u8>) {
    let mut text = json::to_canonical(value);
    let path = format!("{root}/{}/{}.json", time.format("%Y/%m"), id_of(text.as_bytes()));
    text.push('\n');
    (path, text.into_bytes())
}

/// The fault reads after the path.
pub(crate) fn read_named<T: DeserializeOwned>(bytes: &[u8], newest: u64, what: &str) -> Result<T, String> {
    if bytes.len() > MAX_RECORD_BYTES {
        return Err(format!("holds more than the {MAX_RECORD_BYTES} bytes that a record may have"));
    }
    let value = json::parse(bytes).map_err(|error| format!("is not JSON: {error}"))?;
    let version = value.get("schema_version").and_then(Value::as_u64);
    if let Some(newer) = version.filter(|version| *version > newest) {
        return Err(format!("has schema version {newer}, this build reads up to {newest}"));
    }
    serde_json::from_value(value).map_err(|error| format!("is not {what}: {error}"))
}

/// Compares a file with what [`to_named`] makes of its content.
pub(crate) fn check_named(path: &str, bytes: &[u8], own: &(String, Vec<u8>)) -> Result<(), String> {
    match (own.1 == bytes, own.0 == path) {
        (true, true) => Ok(()),
        (true, false) => Err(format!("should be at `{}` by its content", own.0)),
        (false, _) => Err("is not in canonical form, so its name cannot vouch for it".to_owned()),
    }
}

/// Reads many records, and shares their benchmarks.
#[derive(Default)]
pub struct Reader {
    interner: Interner,
}

impl Reader {
    /// Reads a record, and returns the id that its bytes make.
    ///
    /// This checks all but that the bytes are canonical. Where the name of the file contains the id, that was checked when
    /// the file was recorded; otherwise [`Run::from_record`] checks it.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(String, Run), RecordError> {
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(RecordError::Large(bytes.len()));
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        // Checking the UTF-8 of the whole text at once is faster than of each string.
        let sized = json::check_size(text).ok().and_then(|()| std::str::from_utf8(text).ok());
        let record: Option<RunRecord<'_>> = sized.and_then(|text| serde_json::from_str(text).ok());
        let Some(record) = record.filter(|record| (1..=SCHEMA_VERSION).contains(&record.schema_version)) else {
            return Err(lenient(bytes).err().unwrap_or(RecordError::NotCanonical));
        };
        let version = record.schema_version;
        let run = record.into_run(&mut self.interner)?;
        if text.len() == bytes.len() || version != lowest_version(&run) {
            return Err(RecordError::NotCanonical);
        }
        Ok((id_of(text), run))
    }
}

/// Reads a record in any layout, by way of a JSON value. Its errors are more precise than those of the typed reader.
fn lenient(bytes: &[u8]) -> Result<Run, RecordError> {
    if bytes.len() > MAX_RECORD_BYTES {
        return Err(RecordError::Large(bytes.len()));
    }
    let value = json::parse(bytes).map_err(|error| RecordError::Content(format!("is not JSON: {error}")))?;
    match value.get("schema_version").and_then(Value::as_u64) {
        None | Some(0) => return Err(RecordError::Foreign),
        Some(version) if version > SCHEMA_VERSION => return Err(RecordError::Newer(version)),
        Some(_) => {}
    }
    RunRecord::deserialize(&value)
        .map_err(|error| RecordError::Content(format!("does not follow the schema of its version: {error}")))?
        .into_run(&mut Interner::default())
}

/// The start of the digest of canonical JSON.
fn id_of(text: &[u8]) -> String {
    digest::sha256_hex(text)[..16].to_owned()
}

/// A run: one suite on one commit, machine and time.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [reasoned()]))]
struct RunRecord<'a> {
    schema_version: u64,
    #[schemars(extend("pattern" = patterns::SUITE))]
    #[serde(borrow)]
    suite: Cow<'a, str>,
    /// When the run began, to the second.
    #[schemars(extend("pattern" = patterns::SECOND))]
    timestamp_utc: DateTime<Utc>,
    commit: Cow<'a, Option<Commit>>,
    machine: Cow<'a, Machine>,
    environment: Cow<'a, Environment>,
    /// The settings of the protocol, by name.
    config: Cow<'a, BTreeMap<String, Value>>,
    status: RunStatus,
    reason: Cow<'a, Option<String>>,
    quality: Cow<'a, Quality>,
    benchmarks: Vec<BenchmarkRecord<'a>>,
    autotune: Cow<'a, [Value]>,
}

/// A benchmark of the run.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BenchmarkRecord<'a> {
    attributes: Cow<'a, Attributes>,
    failure: Cow<'a, Option<String>>,
    /// `suite/name{params} @variant`, as the parts below make it.
    #[serde(borrow)]
    id: Cow<'a, str>,
    metrics: Vec<MetricRecord<'a>>,
    #[serde(borrow)]
    #[schemars(extend("minLength" = 1, "maxLength" = MAX_WORD, "pattern" = patterns::WORD))]
    name: Cow<'a, str>,
    /// Sizes and settings that are part of the identity.
    #[schemars(extend("propertyNames" = parameter(), "additionalProperties" = parameter()))]
    params: Cow<'a, BTreeMap<String, String>>,
    parity: Cow<'a, Parity>,
    /// Its purpose; absent where a gate judges it.
    #[serde(default, skip_serializing_if = "Role::is_tracked")]
    role: Role,
    /// `reference`, `fast`, `cuda` or a word of the user's.
    #[serde(borrow)]
    #[schemars(extend("minLength" = 1, "maxLength" = MAX_WORD, "pattern" = patterns::VARIANT))]
    variant: Cow<'a, str>,
    /// Increases when the work behind the name changes.
    version: u32,
}

/// A metric of a benchmark.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [positive()]))]
struct MetricRecord<'a> {
    better: Better,
    /// The smallest relative change that is detected in four cases of five.
    #[schemars(with = "f64", extend("minimum" = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detectable: Option<f64>,
    /// The 95 % interval of `value` over worker processes, the lower end first.
    interval: Option<(f64, f64)>,
    #[schemars(with = "f64")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min: Option<f64>,
    n: u64,
    #[serde(borrow)]
    #[schemars(extend("minLength" = 1, "maxLength" = 100, "pattern" = patterns::METRIC))]
    name: Cow<'a, str>,
    /// The median of all samples.
    p50: Option<f64>,
    /// Their 95th percentile.
    p95: Option<f64>,
    unit: Unit,
    /// The median over worker processes of their medians.
    value: f64,
    /// The median of each worker process, in the order of execution.
    workers: Cow<'a, [f64]>,
}

fn lowest_version(run: &Run) -> u64 {
    let newer = |estimate: &Estimate| estimate.min.is_some() || estimate.detectable.is_some();
    let needs_2 = |one: &Measurement| !one.role.is_tracked() || one.estimates.iter().any(newer);
    // An older reader would take a shard for the whole run.
    if run.config.contains_key(SHARD) || run.measurements.iter().any(needs_2) { 2 } else { 1 }
}

impl<'a> RunRecord<'a> {
    fn from_run(run: &'a Run) -> RunRecord<'a> {
        RunRecord {
            schema_version: lowest_version(run),
            suite: Cow::Borrowed(&run.suite),
            timestamp_utc: run.timestamp,
            commit: Cow::Borrowed(&run.commit),
            machine: Cow::Borrowed(&run.machine),
            environment: Cow::Borrowed(&run.environment),
            config: Cow::Borrowed(&run.config),
            status: run.status,
            reason: Cow::Borrowed(&run.reason),
            quality: Cow::Borrowed(&run.quality),
            benchmarks: run.measurements.iter().map(BenchmarkRecord::from_measurement).collect(),
            autotune: Cow::Borrowed(&run.autotune),
        }
    }

    fn into_run(self, interner: &mut Interner) -> Result<Run, RecordError> {
        let mut run = Run {
            suite: self.suite.into_owned(),
            timestamp: self.timestamp_utc,
            commit: self.commit.into_owned(),
            machine: self.machine.into_owned(),
            environment: self.environment.into_owned(),
            config: self.config.into_owned(),
            status: self.status,
            reason: self.reason.into_owned(),
            quality: self.quality.into_owned(),
            measurements: Vec::with_capacity(self.benchmarks.len()),
            autotune: self.autotune.into_owned(),
        };
        run.check_head().map_err(RecordError::Content)?;
        for record in self.benchmarks {
            let id = record.id.clone();
            let measurement = record.into_measurement(&run.suite, interner);
            run.measurements.push(measurement.map_err(|reason| RecordError::Content(impossible(&id, &reason)))?);
        }
        run.check_distinct().map_err(RecordError::Content)?;
        Ok(run)
    }
}

fn impossible(id: &str, reason: &str) -> String {
    format!("holds a benchmark `{}` that cannot be: {reason}", id.escape_debug())
}

impl<'a> BenchmarkRecord<'a> {
    fn from_measurement(measurement: &'a Measurement) -> BenchmarkRecord<'a> {
        let benchmark = &*measurement.benchmark;
        BenchmarkRecord {
            id: Cow::Owned(benchmark.id()),
            name: Cow::Borrowed(&benchmark.name),
            version: benchmark.version,
            params: Cow::Borrowed(&benchmark.params),
            variant: Cow::Borrowed(&benchmark.variant),
            role: measurement.role,
            attributes: Cow::Borrowed(&measurement.attributes),
            parity: Cow::Borrowed(&measurement.parity),
            failure: Cow::Borrowed(&measurement.failure),
            metrics: measurement.estimates.iter().map(MetricRecord::from_estimate).collect(),
        }
    }

    fn into_measurement(self, suite: &str, interner: &mut Interner) -> Result<Measurement, String> {
        let benchmark = interner.intern(suite, &self)?;
        let estimates: Vec<Estimate> = self.metrics.into_iter().map(MetricRecord::into_estimate).collect();
        check_estimates(&estimates)?;
        Ok(Measurement {
            benchmark,
            role: self.role,
            attributes: self.attributes.into_owned(),
            parity: self.parity.into_owned(),
            failure: self.failure.into_owned(),
            estimates,
        })
    }
}

impl<'a> MetricRecord<'a> {
    fn from_estimate(estimate: &'a Estimate) -> MetricRecord<'a> {
        MetricRecord {
            name: Cow::Borrowed(&estimate.metric.name),
            unit: estimate.metric.unit,
            better: estimate.metric.better,
            value: estimate.value,
            workers: Cow::Borrowed(&estimate.workers),
            p50: estimate.p50,
            p95: estimate.p95,
            min: estimate.min,
            interval: estimate.interval,
            detectable: estimate.detectable,
            n: estimate.n,
        }
    }

    fn into_estimate(self) -> Estimate {
        Estimate {
            metric: Metric { name: self.name.into_owned(), unit: self.unit, better: self.better },
            value: self.value,
            workers: self.workers.into_owned(),
            p50: self.p50,
            p95: self.p95,
            min: self.min,
            interval: self.interval,
            detectable: self.detectable,
            n: self.n,
        }
    }
}

fn check_estimates(estimates: &[Estimate]) -> Result<(), String> {
    let mut names = HashSet::new();
    for Estimate { metric, .. } in estimates {
        if !Metric::is_word(&metric.name) {
            return Err(format!("the metric name `{}` is not a word", metric.name.escape_debug()));
        }
        if !names.insert(&*metric.name) {
            return Err(format!("it has the metric `{}` twice", metric.name));
        }
    }
    for estimate in estimates {
        let metric = &estimate.metric;
        let (low, high) = estimate.interval.unwrap_or((estimate.value, estimate.value));
        let single = [Some(estimate.value), estimate.p50, estimate.p95, estimate.min, Some(low), Some(high)];
        let numbers = single.into_iter().flatten().chain(estimate.workers.iter().copied());
        if let Some(fault) = numbers.into_iter().find_map(|number| metric.fault(number)) {
            return Err(format!("its metric `{}` holds {fault}", metric.name));
        }
        if let Some(bad) = estimate.detectable.filter(|size| !(size.is_finite() && *size >= 0.0)) {
            return Err(format!("its metric `{}` could show a change of {bad}, which cannot be", metric.name));
        }
        if low > high {
            return Err(format!("its metric `{}` has an interval from {low} to {high}", metric.name));
        }
    }
    Ok(())
}

pub(crate) fn check_hex(field: &str, text: &str, length: usize) -> Result<(), String> {
    match is_hex(text, length..=length) {
        true => Ok(()),
        false => {
            Err(format!("has `{field}` `{}`, which is not {length} lower-case hexadecimal digits", text.escape_debug()))
        }
    }
}

/// A suite names a folder: letters, digits, `-`, `_` and `.`, the first a letter or digit, and no device of Windows.
fn check_suite(word: &str) -> Result<(), String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if word.is_empty() || word.len() > 100 || word.starts_with(['.', '-', '_']) || !word.chars().all(is_allowed) {
        return Err(format!("has `suite` `{}`, which cannot name a folder", word.escape_debug()));
    }
    let stem = word.split('.').next().unwrap_or(word).to_ascii_lowercase();
    match stem.as_bytes() {
        b"con" | b"nul" | b"aux" | b"prn" | [b'c', b'o', b'm', b'0'..=b'9'] | [b'l', b'p', b't', b'0'..=b'9'] => {
            Err(format!("has `suite` `{word}`, which Windows keeps for a device and which cannot name a folder there"))
        }
        _ => Ok(()),
    }
}

pub fn is_suite(word: &str) -> bool {
    check_suite(word).is_ok()
}

pub fn schema(version: u64) -> Option<Value> {
    match version {
        1 => Some(schema::frozen(include_str!("../../schemas/run-1.json"))),
        SCHEMA_VERSION => {
            let mut schema = schema::for_type::<RunRecord>();
            schema["properties"]["schema_version"] =
                json!({ "description": "The version of the record.", "const": version });
            // The role of an ordinary benchmark is left out.
            schema["$defs"]["BenchmarkRecord"]["properties"]["role"]["enum"] = json!(["reported", "control"]);
            Some(schema)
        }
        _ => None,
    }
}

fn parameter() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": MAX_WORD, "pattern": patterns::PARAMETER })
}

/// A time, a rate and a ratio are above zero.
fn positive() -> Value {
    let is = json!({ "anyOf": [
        { "properties": { "unit": { "enum": ["s", "1/s"] } } },
        { "properties": { "name": { "const": RATIO } } },
    ] });
    let above = json!({ "exclusiveMinimum": 0 });
    let all = json!({ "items": above });
    json!({ "if": is, "then": { "properties": {
        "value": above, "p50": above, "p95": above, "min": above, "workers": all, "interval": all,
    } } })
}

fn reasoned() -> Value {
    json!({
        "if": { "properties": { "status": { "enum": ["skipped", "failed"] } } },
        "then": { "properties": { "reason": { "type": "string", "pattern": patterns::REASON } } },
    })
}

/// Benchmarks by their ids: a history names the same hundred of them ten thousand times.
#[derive(Default)]
struct Interner(HashMap<String, Arc<Benchmark>>);

impl Interner {
    /// The benchmark of a record, whose parts must be valid and make its id.
    fn intern(&mut self, suite: &str, record: &BenchmarkRecord<'_>) -> Result<Arc<Benchmark>, String> {
        let is_same = |other: &&Arc<Benchmark>| {
            (record.version, &*record.name, &*record.variant) == (other.version, &*other.name, &*other.variant)
                && (suite, &*record.params) == (&*other.suite, &other.params)
        };
        if let Some(benchmark) = self.0.get(&*record.id).filter(is_same) {
            return Ok(Arc::clone(benchmark));
        }
        let benchmark = Benchmark {
            suite: suite.to_owned(),
            name: record.name.to_string(),
            params: record.params.clone().into_owned(),
            variant: record.variant.to_string(),
            version: record.version,
        };
        benchmark.check().map_err(|error| error.to_string())?;
        let id = benchmark.id();
        if id != record.id {
            return Err(format!("its parts make `{id}`"));
        }
        let benchmark = Arc::new(benchmark);
        self.0.insert(id, Arc::clone(&benchmark));
        Ok(benchmark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flat::example::{recorded, skipped};

    /// A run of one benchmark with one metric, which version 1 can hold.
    fn run() -> Run {
        let mut run = recorded().run;
        run.measurements.truncate(1);
        let estimates = &mut run.measurements[0].estimates;
        estimates.truncate(1);
        (estimates[0].min, estimates[0].detectable) = (None, None);
        run.config.insert("rounds".into(), 12.into());
        run
    }

    fn text(run: &Run) -> String {
        String::from_utf8(run.to_record().2).expect("a record is ASCII")
    }

    #[test]
    fn a_record_reads_back_and_is_named_after_its_content() {
        let (id, path, bytes) = run().to_record();
        assert_eq!(Run::from_record(&bytes).expect("our own record can be read"), (id.clone(), run()));
        assert_eq!(id, digest::sha256_hex(&bytes[..bytes.len() - 1])[..16]);
        let machine = &run().machine.id[..8];
        assert_eq!(path, format!("history/v1/cpu/2026/05/0123456789ab-{machine}-{id}.json"));
        let without = Run { commit: None, ..run() };
        assert!(without.path(&id).starts_with("history/v1/cpu/2026/05/000000000000-"));
        assert_eq!(run().subject(), "sprag: cpu ok at 0123456789ab");
    }

    #[test]
    fn a_record_has_the_lowest_version_that_holds_it() {
        let version = |run: &Run| {
            let bytes = run.to_record().2;
            assert_eq!(Run::from_record(&bytes).expect("our own record can be read").1, *run);
            serde_json::from_slice::<Value>(&bytes).expect("a record is JSON")["schema_version"].clone()
        };
        assert_eq!(version(&run()), 1);
        let with = |change: fn(&mut Measurement)| {
            let mut run = run();
            change(&mut run.measurements[0]);
            run
        };
        assert_eq!(version(&with(|one| one.role = Role::Control)), 2);
        assert_eq!(version(&with(|one| one.estimates[0].min = Some(0.1))), 2);
        assert_eq!(version(&with(|one| one.estimates[0].detectable = Some(0.01))), 2);
        let wrong = text(&run()).replace("\"schema_version\":1", "\"schema_version\":2");
        assert!(matches!(Run::from_record(wrong.as_bytes()), Err(RecordError::NotCanonical)));
    }

    #[test]
    fn values_are_nested_as_deep_as_they_can_be_read() {
        for (depth, is_valid) in [(MOST_NESTED, true), (MOST_NESTED + 1, false)] {
            let nested = (0..depth).fold(Value::Null, |inner, _| json!([inner]));
            let (mut one, mut other) = (run(), run());
            one.config.insert("x".to_owned(), nested.clone());
            other.autotune.push(nested);
            for run in [one, other] {
                assert_eq!((run.check().is_ok(), Run::from_record(&run.to_record().2).is_ok()), (is_valid, is_valid));
            }
        }
    }

    #[test]
    fn a_metric_takes_little_room() {
        let one = run().to_record().2.len();
        let mut wide = run();
        let first = wide.measurements[0].estimates[0].clone();
        wide.measurements[0].estimates.push(Estimate { metric: Metric::throughput("tiles_per_s"), ..first });
        assert!(wide.to_record().2.len() - one <= 250);
    }

    #[test]
    fn every_flipped_bit_is_detected() {
        let (id, _, bytes) = run().to_record();
        for position in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[position] ^= 1 << bit;
                let differs = Run::from_record(&damaged).map_or(true, |(other, _)| other != id);
                assert!(differs, "bit {bit} of byte {position}");
            }
        }
    }

    #[test]
    fn a_repeated_key_is_refused_in_any_layout() {
        let text = text(&run());
        let spaced = text.replace("\":", "\": ");
        assert_eq!(Run::from_json(spaced.as_bytes()).expect("the layout is free").1, run());
        for (once, twice) in [
            ("\"suite\":\"cpu\"", "\"suite\":\"gpu\",\"suite\":\"cpu\""),
            ("\"rounds\":12", "\"rounds\":11,\"rounds\":12"),
            ("\"t\":\"8\"", "\"t\":\"9\",\"t\":\"8\""),
        ] {
            let error = Run::from_json(text.replace(once, twice).as_bytes()).expect_err("a key occurs twice");
            assert!(error.to_string().contains("occurs twice in one object"), "{error}");
            assert!(Run::from_record(text.replace(once, twice).as_bytes()).is_err());
        }
    }

    #[test]
    fn an_invalid_record_says_why() {
        let record = text(&run());
        let refused = |damaged: &str, words: &str| {
            let error = Run::from_record(damaged.as_bytes()).expect_err("it is no record").to_string();
            assert!(error.contains(words), "{error}");
        };
        refused(&record[..record.len() / 2], "is not JSON");
        refused("{\"metrics\":{}}", "no `schema_version`");
        refused(&format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)), "is not JSON");
        for device in ["con", "NUL", "aux.x", "com1", "Lpt9.json"] {
            refused(&record.replace("\"cpu\"", &format!("\"{device}\"")), "keeps for a device");
        }
        for (from, to, words) in [
            ("\"schema_version\":1", "\"schema_version\":3", "schema version 3, this build reads up to 2"),
            ("\"status\":\"ok\"", "\"status\":\"fine\"", "does not follow the schema"),
            ("\"dirty\":false,", "", "missing field `dirty`"),
            ("\"value\":0.25", "\"value\":NaN", "is not JSON"),
            ("\"value\":0.25", "\"value\":1e999", "is not JSON"),
            ("\"suite\":\"cpu\"", "\"suite\":\"../cpu\"", "cannot name a folder"),
            ("\"name\":\"tile_pack\"", "\"name\":\"tile\"", "its parts make"),
            ("\"cpu_model\":\"EPYC 9\"", "\"cpu_model\":\"GPU\"", "does not follow from its facts"),
            ("\"value\":0.25", "\"value\":-1.0", "holds -1 s, where more than zero is needed"),
            ("\"value\":0.25", "\"value\":0.0", "holds 0 s, where more than zero is needed"),
            ("\"value\":0.25", "\"value\":1e-300", "holds 1e-300 s, which is too little"),
            ("[0.2,0.3]", "[0.3,0.2]", "has an interval from"),
            ("\"status\":\"ok\"", "\"status\":\"skipped\"", "has `reason` missing"),
            ("\"suite\":", " \"suite\":", "not in canonical form"),
        ] {
            refused(&record.replace(from, to), words);
        }
    }

    #[test]
    fn each_version_has_a_schema_that_accepts_its_records_alone() {
        let value = |run: &Run| serde_json::from_str::<Value>(&text(run)).expect("a record is JSON");
        let newer = recorded().run;
        let mut older = newer.clone();
        let time = &mut older.measurements[0].estimates[0];
        (time.min, time.detectable) = (None, None);
        let mut control = newer.clone();
        control.measurements[0].role = Role::Control;
        let [first, second] = [1, 2].map(|version| schema(version).expect("the version exists"));
        let accepts = |schema: &Value, value: &Value| jsonschema::is_valid(schema, value);
        assert!(accepts(&first, &value(&older)) && !accepts(&second, &value(&older)));
        assert!(accepts(&second, &value(&newer)) && !accepts(&first, &value(&newer)));
        assert!(accepts(&first, &value(&skipped().run)) && accepts(&second, &value(&control)));
        assert_eq!((schema(0), schema(3)), (None, None));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(
            at: proptest::sample::Index, end: proptest::sample::Index,
            piece in "NaN|-1|0|1e999|\"|\\]|\\{|\n|null|,|:|\\PC{0,4}"
        ) {
            let mut bytes = run().to_record().2;
            let (at, end) = (at.index(bytes.len()), end.index(bytes.len()));
            bytes.splice(at.min(end)..at.max(end).min(at.min(end) + 8), piece.bytes());
            if let Ok((id, read)) = Run::from_json(&bytes) {
                proptest::prop_assert_eq!(read.to_record().0, id);
            }
            // The interner of a reader makes no difference.
            let mut reader = Reader::default();
            proptest::prop_assert!(reader.read(&run().to_record().2).is_ok());
            let shown = |read: Result<(String, Run), RecordError>| read.map_err(|error| error.to_string());
            proptest::prop_assert_eq!(shown(reader.read(&bytes)), shown(Reader::default().read(&bytes)));
            if let Ok((_, read)) = Run::from_record(&bytes) {
                proptest::prop_assert_eq!(read.to_record().2, bytes);
            }
        }
    }
}
