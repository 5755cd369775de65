//! The fields of a record, and what they must satisfy together.
//!
//! Version 2 adds the role of a benchmark and, to a metric, `min` and `detectable`. A record is written in the lowest
//! version that can hold it, so one of version 1 reads back to the same bytes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use chrono::{DateTime, Datelike, Utc};
use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::benchmark::{Attributes, Benchmark, BenchmarkError, MAX_WORD, Parity};
use crate::commit::Commit;
use crate::environment::{Environment, Machine};
use crate::metric::{Better, Metric, RATIO};
use crate::run::{Quality, Run, RunStatus};
use crate::sample::{Estimate, Measurement, Role};
use crate::schema::{self, patterns};
use crate::shard::SHARD;
use crate::unit::Unit;
use sprag_base::digest::is_hex;

/// The version of the record that this build writes, and the newest it reads.
pub const SCHEMA_VERSION: u64 = 2;

/// The largest record that is read, in bytes. A run of a thousand benchmarks takes about one megabyte.
pub const MAX_RECORD_BYTES: usize = 32 << 20;

/// The years in which a run can have been measured.
pub const YEARS: RangeInclusive<i32> = 1970..=9999;

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("holds {0} bytes, more than the {MAX_RECORD_BYTES} that a record may have")]
    Large(usize),
    #[error("is not JSON: {0}")]
    Json(serde_json::Error),
    #[error("is not a run record: it has no `schema_version` from 1 on")]
    Foreign,
    #[error("has schema version {0}, this build reads up to {SCHEMA_VERSION}; a newer sprag can read it")]
    Newer(u64),
    #[error("does not follow the schema of its version: {0}")]
    Schema(serde_json::Error),
    #[error("holds a benchmark `{id}` that cannot be: {reason}", id = .id.escape_debug())]
    Benchmark { id: String, reason: String },
    #[error("lists the benchmark `{0}` twice")]
    Duplicate(String),
    #[error("has `{field}` {reason}")]
    Field { field: &'static str, reason: String },
    #[error("is not in canonical form, so its name cannot vouch for it")]
    NotCanonical,
}

/// A run: one suite on one commit, machine and time.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [reasoned()]))]
pub(super) struct RunRecord<'a> {
    schema_version: u64,
    #[schemars(extend("pattern" = patterns::SUITE))]
    #[serde(borrow)]
    suite: Cow<'a, str>,
    /// When the run began, to the second.
    #[schemars(extend("pattern" = patterns::SECOND))]
    timestamp_utc: DateTime<Utc>,
    commit: Option<Commit>,
    machine: Machine,
    environment: Environment,
    /// The settings of the protocol, by name.
    config: BTreeMap<String, Value>,
    status: RunStatus,
    reason: Option<String>,
    quality: Quality,
    benchmarks: Vec<BenchmarkRecord<'a>>,
    autotune: Vec<Value>,
}

/// A benchmark of the run. The fields stand as they are sorted, which spares the writer to sort them.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BenchmarkRecord<'a> {
    attributes: Attributes,
    failure: Option<String>,
    /// `suite/name{params} @variant`, as the parts below make it.
    #[serde(borrow)]
    id: Cow<'a, str>,
    metrics: Vec<MetricRecord<'a>>,
    #[serde(borrow)]
    #[schemars(extend("minLength" = 1, "maxLength" = MAX_WORD, "pattern" = patterns::WORD))]
    name: Cow<'a, str>,
    /// Sizes and settings that are part of the identity.
    #[schemars(with = "BTreeMap<String, String>", extend(
        "propertyNames" = schema::word(patterns::PARAMETER),
        "additionalProperties" = schema::word(patterns::PARAMETER)
    ))]
    params: BTreeMap<Text<'a>, Text<'a>>,
    parity: Parity,
    /// What it is there for; absent where a gate looks at it.
    #[serde(default, skip_serializing_if = "Role::is_tracked")]
    role: Role,
    /// `reference`, `fast`, `cuda` or a word of the user's.
    #[serde(borrow)]
    #[schemars(extend("minLength" = 1, "maxLength" = MAX_WORD, "pattern" = patterns::VARIANT))]
    variant: Cow<'a, str>,
    /// Counts up when the work behind the name changes.
    version: u32,
}

/// A metric of a benchmark. The fields stand as they are sorted.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [positive()]))]
struct MetricRecord<'a> {
    better: Better,
    /// The smallest relative change that shows in four cases of five.
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
    /// The median of each worker process, in the order in which they ran.
    workers: Vec<f64>,
}

/// The first benchmark that was measured before, if there is one.
fn twice(measurements: &[Measurement]) -> Option<&Benchmark> {
    let mut seen = BTreeSet::new();
    measurements.iter().map(|measurement| &*measurement.benchmark).find(|benchmark| !seen.insert(*benchmark))
}

pub(super) fn lowest_version(run: &Run) -> u64 {
    let newer = |estimate: &Estimate| estimate.min.is_some() || estimate.detectable.is_some();
    let needs_2 = |one: &Measurement| !one.role.is_tracked() || one.estimates.iter().any(newer);
    // An older reader would take a shard for the whole.
    if run.config.contains_key(SHARD) || run.measurements.iter().any(needs_2) { 2 } else { 1 }
}

impl<'a> RunRecord<'a> {
    pub(super) fn from_run(run: &'a Run) -> RunRecord<'a> {
        RunRecord {
            schema_version: lowest_version(run),
            suite: Cow::Borrowed(&run.suite),
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

    pub(super) fn schema_version(&self) -> u64 {
        self.schema_version
    }

    pub(super) fn into_run(self, interner: &mut Interner) -> Result<Run, RecordError> {
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
        if !YEARS.contains(&self.timestamp_utc.year()) {
            return Err(RecordError::Field {
                field: "timestamp_utc",
                reason: "outside the years 1970 to 9999".to_owned(),
            });
        }
        let mut measurements = Vec::with_capacity(self.benchmarks.len());
        for record in self.benchmarks {
            measurements.push(record.into_measurement(&self.suite, interner)?);
        }
        if let Some(twice) = twice(&measurements) {
            return Err(RecordError::Duplicate(twice.id()));
        }
        Ok(Run {
            suite: self.suite.into_owned(),
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

impl<'a> BenchmarkRecord<'a> {
    fn from_measurement(measurement: &'a Measurement) -> BenchmarkRecord<'a> {
        let benchmark = &*measurement.benchmark;
        BenchmarkRecord {
            id: Cow::Owned(benchmark.id()),
            name: Cow::Borrowed(&benchmark.name),
            version: benchmark.version,
            params: benchmark.params.iter().map(|(key, value)| (Text::borrowed(key), Text::borrowed(value))).collect(),
            variant: Cow::Borrowed(&benchmark.variant),
            role: measurement.role,
            attributes: measurement.attributes.clone(),
            parity: measurement.parity.clone(),
            failure: measurement.failure.clone(),
            metrics: measurement.estimates.iter().map(MetricRecord::from_estimate).collect(),
        }
    }

    fn into_measurement(self, suite: &str, interner: &mut Interner) -> Result<Measurement, RecordError> {
        let fault = |reason: String| RecordError::Benchmark { id: self.id.to_string(), reason };
        let identity =
            Identity { suite, name: &self.name, params: &self.params, variant: &self.variant, version: self.version };
        let benchmark = interner.intern(&self.id, &identity).map_err(fault)?;
        let mut names = BTreeSet::new();
        for metric in &self.metrics {
            let word = &metric.name;
            if !Metric::is_word(word) {
                return Err(fault(format!("the metric name `{}` is not a word", word.escape_debug())));
            }
            if !names.insert(word) {
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

impl<'a> MetricRecord<'a> {
    fn from_estimate(estimate: &'a Estimate) -> MetricRecord<'a> {
        MetricRecord {
            name: Cow::Borrowed(&estimate.metric.name),
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

    fn into_estimate(self) -> Result<Estimate, String> {
        let metric = Metric { name: self.name.into_owned(), unit: self.unit, better: self.better };
        let (low, high) = self.interval.unwrap_or((self.value, self.value));
        let single = [Some(self.value), self.p50, self.p95, self.min, Some(low), Some(high)];
        let numbers = single.into_iter().flatten().chain(self.workers.iter().copied());
        if let Some(fault) = numbers.into_iter().find_map(|number| metric.fault(number)) {
            return Err(format!("its metric `{}` holds {fault}", metric.name));
        }
        if let Some(bad) = self.detectable.filter(|size| !(size.is_finite() && *size >= 0.0)) {
            return Err(format!("its metric `{}` could show a change of {bad}, which cannot be", metric.name));
        }
        if low > high {
            return Err(format!("its metric `{}` has an interval from {low} to {high}", metric.name));
        }
        Ok(Estimate {
            metric,
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

/// Names that Windows keeps for devices, with whatever extension.
const DEVICES: [&str; 4] = ["con", "nul", "aux", "prn"];

const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// A suite names a folder, so it is held to letters, digits, `-`, `_` and `.`, may not start with a dot, a dash or an
/// underscore, and may not be the name of a device.
pub(super) fn check_path_word(field: &'static str, word: &str) -> Result<(), RecordError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if word.is_empty() || word.len() > 100 || word.starts_with(['.', '-', '_']) || !word.chars().all(fine) {
        let reason = format!("`{}`, which cannot name a folder", word.escape_debug());
        return Err(RecordError::Field { field, reason });
    }
    if is_device(word) {
        let reason = format!("`{word}`, which Windows keeps for a device and which cannot name a folder there");
        return Err(RecordError::Field { field, reason });
    }
    Ok(())
}

/// Whether Windows takes a name for a device.
fn is_device(word: &str) -> bool {
    let stem = word.split('.').next().unwrap_or(word).to_ascii_lowercase();
    let is_number = |rest: &str| matches!(rest.as_bytes(), [b'0'..=b'9']);
    DEVICES.contains(&stem.as_str())
        || NUMBERED_DEVICES.iter().any(|device| stem.strip_prefix(device).is_some_and(is_number))
}

fn check_hex(field: &'static str, text: &str, length: usize) -> Result<(), RecordError> {
    if !is_hex(text, length..=length) {
        let reason = format!("`{}`, which is not {length} lower-case hexadecimal digits", text.escape_debug());
        return Err(RecordError::Field { field, reason });
    }
    Ok(())
}

pub fn schema(version: u64) -> Option<Value> {
    match version {
        1 => Some(schema::frozen(include_str!("../../../schemas/run-1.json"))),
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

// Benchmarks that are checked and made once: a history names the same hundred of them ten thousand times.

/// Benchmarks whose parts were found to make their id.
#[derive(Default)]
pub(super) struct Interner {
    /// With their ids, in the order in which they were met.
    all: Vec<(String, Arc<Benchmark>)>,
    places: HashMap<String, usize>,
    /// The place after the last one that was asked for: runs of a suite list their benchmarks in one order.
    next: usize,
}

struct Identity<'r> {
    suite: &'r str,
    name: &'r str,
    params: &'r BTreeMap<Text<'r>, Text<'r>>,
    variant: &'r str,
    version: u32,
}

impl Interner {
    fn get(&mut self, id: &str) -> Option<&Arc<Benchmark>> {
        let is_next = self.all.get(self.next).is_some_and(|(one, _)| one == id);
        let place = if is_next { self.next } else { *self.places.get(id)? };
        self.next = place + 1;
        self.all.get(place).map(|(_, benchmark)| benchmark)
    }

    /// The benchmark of these parts, which must be fit to be one and make that id.
    fn intern(&mut self, id: &str, identity: &Identity<'_>) -> Result<Arc<Benchmark>, String> {
        if let Some(benchmark) = self.get(id).filter(|benchmark| identity.is(benchmark)) {
            return Ok(Arc::clone(benchmark));
        }
        let benchmark = identity.benchmark();
        benchmark.check().map_err(|error: BenchmarkError| error.to_string())?;
        if benchmark.id() != id {
            return Err(format!("its parts make `{}`", benchmark.id()));
        }
        let benchmark = Arc::new(benchmark);
        self.places.insert(id.to_owned(), self.all.len());
        self.all.push((id.to_owned(), Arc::clone(&benchmark)));
        Ok(benchmark)
    }
}

impl Identity<'_> {
    fn is(&self, benchmark: &Benchmark) -> bool {
        let pairs = benchmark.params.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        self.version == benchmark.version
            && self.name == benchmark.name
            && self.variant == benchmark.variant
            && self.suite == benchmark.suite
            && self.params.iter().map(|(key, value)| (key.as_str(), value.as_str())).eq(pairs)
    }

    fn benchmark(&self) -> Benchmark {
        let owned = |text: &Text<'_>| text.as_str().to_owned();
        Benchmark {
            suite: self.suite.to_owned(),
            name: self.name.to_owned(),
            params: self.params.iter().map(|(key, value)| (owned(key), owned(value))).collect(),
            variant: self.variant.to_owned(),
            version: self.version,
        }
    }
}

// A text that is borrowed from the JSON it stands in, where it stands there as it is.

/// Within maps and lists serde copies every text; this one it need not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
struct Text<'a>(Cow<'a, str>);

impl<'a> Text<'a> {
    fn borrowed(text: &'a str) -> Text<'a> {
        Text(Cow::Borrowed(text))
    }

    fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<'a>, D::Error> {
        deserializer.deserialize_str(Seed).map(Text)
    }
}

struct Seed;

impl<'de> Visitor<'de> for Seed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flat::example::{recorded, skipped};

    fn value(run: &Run) -> Value {
        serde_json::from_slice(&run.to_record().2).expect("a record is JSON")
    }

    #[test]
    fn a_schema_takes_what_readers_take_and_refuses_what_they_refuse() {
        let newer = recorded().run;
        let mut older = newer.clone();
        let time = &mut older.measurements[0].estimates[0];
        (time.min, time.detectable) = (None, None);
        let [first, second] = [1, 2].map(|version| schema(version).expect("the version is known"));
        let takes = |schema: &Value, value: &Value| jsonschema::is_valid(schema, value);
        assert!(takes(&first, &value(&older)) && !takes(&second, &value(&older)));
        assert!(takes(&second, &value(&newer)) && !takes(&first, &value(&newer)));
        assert!(takes(&first, &value(&skipped().run)));
        let mut control = newer.clone();
        control.measurements[0].role = Role::Control;
        assert!(takes(&second, &value(&control)));
        assert_eq!((schema(0), schema(3)), (None, None));

        let check = |pointer: &str, wrong: Option<Value>| {
            let mut damaged = value(&newer);
            let (parent, field) = pointer.rsplit_once('/').expect("a pointer has a slash");
            let parent = damaged.pointer_mut(parent).expect("the parent is there");
            match wrong {
                Some(wrong) => parent[field] = wrong,
                None => assert!(parent.as_object_mut().expect("an object").remove(field).is_some(), "{pointer}"),
            }
            assert!(!takes(&second, &damaged), "the schema takes {pointer}: {damaged}");
            let bytes = serde_json::to_vec(&damaged).expect("a value is JSON");
            let read = Run::from_json(&bytes).is_ok_and(|(_, run)| value(&run) == damaged);
            assert!(!read, "the reader takes {pointer}");
        };
        // A field that is missing.
        for field in ["schema_version", "suite", "commit", "machine", "reason", "quality", "autotune"] {
            check(&format!("/{field}"), None);
        }
        for field in
            ["commit/dirty", "machine/class", "environment/key", "benchmarks/0/failure", "benchmarks/0/metrics"]
        {
            check(&format!("/{field}"), None);
        }
        check("/benchmarks/0/metrics/0/n", None);
        // One that nobody knows.
        for parent in ["", "/commit", "/machine", "/environment", "/quality", "/benchmarks/0", "/benchmarks/0/parity"] {
            check(&format!("{parent}/other"), Some(json!(1)));
        }
        check("/benchmarks/0/metrics/0/other", Some(json!(1)));
        // A value of the wrong type, unit, form or size.
        check("/schema_version", Some(json!("2")));
        check("/schema_version", Some(json!(3)));
        check("/suite", Some(json!("../cpu")));
        check("/suite", Some(json!("_cpu")));
        check("/timestamp_utc", Some(json!("2026-05-04 03:02:01")));
        check("/timestamp_utc", Some(json!("2026-05-04T03:02:01.5Z")));
        check("/timestamp_utc", Some(json!("1969-05-04T03:02:01Z")));
        check("/commit/sha", Some(json!("0123")));
        check("/commit/commit_time", Some(json!("yesterday")));
        check("/machine/id", Some(json!("0123456789ABCDEF")));
        check("/status", Some(json!("fine")));
        check("/status", Some(json!("skipped")));
        check("/quality/clean", Some(json!("yes")));
        check("/benchmarks/0/name", Some(json!("a{b")));
        check("/benchmarks/0/name", Some(json!("x".repeat(201))));
        check("/benchmarks/0/variant", Some(json!(" ")));
        check("/benchmarks/0/version", Some(json!(-1)));
        check("/benchmarks/0/version", Some(json!(5_000_000_000_u64)));
        check("/benchmarks/0/params/c", Some(json!(64)));
        check("/benchmarks/0/params/c", Some(json!("a,b")));
        check("/benchmarks/0/role", Some(json!("tracked")));
        check("/benchmarks/0/parity/status", Some(json!("right")));
        check("/benchmarks/0/metrics/0/name", Some(json!("a time")));
        check("/benchmarks/0/metrics/0/unit", Some(json!("ms")));
        check("/benchmarks/0/metrics/0/better", Some(json!("smaller")));
        check("/benchmarks/0/metrics/0/value", Some(json!("0.25")));
        check("/benchmarks/0/metrics/0/value", Some(json!(0.0)));
        check("/benchmarks/0/metrics/0/workers", Some(json!([0.25, -1.0])));
        check("/benchmarks/0/metrics/0/interval", Some(json!([0.25])));
        check("/benchmarks/0/metrics/0/min", Some(json!(null)));
        check("/benchmarks/0/metrics/0/detectable", Some(json!(-0.5)));
        check("/benchmarks/0/metrics/0/n", Some(json!(1.5)));
        check("/benchmarks/0/metrics/1/value", Some(json!(-1.5)));
    }
}
