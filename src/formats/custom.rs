//! Sprag's own report of metrics, version 1: what a program prints that measures itself.
//!
//! ```json
//! {"schema_version": 1, "benchmarks": [
//!   {"name": "sort", "params": {"n": 1000}, "variant": "fast", "version": 1, "metrics": [
//!     {"name": "time", "unit": "s", "better": "lower", "samples": [1.25e-5, 1.27e-5]},
//!     {"name": "peak_memory", "unit": "B", "better": "lower", "value": 8192}]},
//!   {"name": "merge", "failure": "needs two cores"}]}
//! ```
//!
//! Numbers are in base units: seconds, bytes, events a second, or plain. A metric gives one `value` or its `samples`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::outputs::{self, unique};
use super::{FormatError, MOST_BENCHMARKS, field, json};
use sprag_model::benchmark::Benchmark;
use sprag_model::foreign::{DEFAULT_VARIANT, Output, Reported, ReportedMetric};
use sprag_model::metric::{Better, Metric};
use sprag_model::schema::frozen;
use sprag_model::unit::Unit;

pub const FILES: &[&str] = &[".json"];

pub const SCHEMA_VERSION: u64 = 1;

pub(super) const MOST_METRICS: usize = 100;

/// Reads reports, one an output, as the benchmarks of a suite.
///
/// # Errors
/// Names the output that is not a report of this version. A single faulty benchmark is part of the result.
pub fn read(suite: &str, outputs: &[Output]) -> Result<Vec<Reported>, FormatError> {
    let mut reported = Vec::new();
    for output in outputs {
        for entry in entries(output)? {
            let place = reported.len() + 1;
            reported.push(benchmark(suite, &entry, place));
        }
        if reported.len() > MOST_BENCHMARKS {
            return Err(FormatError::Many { name: output.name.clone(), count: reported.len() });
        }
    }
    Ok(unique(reported))
}

/// The schema of a report, for programs that write one: stricter than the reader.
pub fn schema() -> Value {
    frozen(include_str!("../../schemas/metrics-1.json"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    #[serde(rename = "schema_version")]
    _schema_version: u64,
    benchmarks: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    params: BTreeMap<String, Value>,
    variant: Option<String>,
    version: Option<u32>,
    #[serde(default)]
    metrics: Vec<Value>,
    failure: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricEntry {
    name: String,
    unit: String,
    better: Better,
    value: Option<Value>,
    samples: Option<Vec<Value>>,
}

/// The entries of a report, each as it is.
fn entries(output: &Output) -> Result<Vec<Value>, FormatError> {
    let schema = |reason: String| outputs::schema(output, reason);
    let value = json::parse_with_not_finite(output)?;
    match value.get("schema_version").and_then(Value::as_u64) {
        Some(SCHEMA_VERSION) => {}
        Some(version @ (SCHEMA_VERSION..)) => {
            let reason = format!("has schema version {version}, this build reads {SCHEMA_VERSION}; a newer sprag can");
            return Err(schema(reason));
        }
        Some(0) | None => {
            let reason =
                "is not a report: it has no `schema_version`; begin with `{\"schema_version\": 1, \"benchmarks\": [`";
            return Err(schema(reason.to_owned()));
        }
    }
    let report: Report = serde_json::from_value(value).map_err(|error| schema(format!("is not a report: {error}")))?;
    if report.benchmarks.is_empty() {
        return Err(FormatError::Nothing(output.name.clone()));
    }
    Ok(report.benchmarks)
}

fn benchmark(suite: &str, value: &Value, place: usize) -> Reported {
    let called = value.get("name").and_then(Value::as_str).unwrap_or_default();
    let failed = |reason: String| Reported::failed(suite, called, place, reason);
    let entry = match Entry::deserialize(value) {
        Ok(entry) => entry,
        Err(error) => return failed(format!("its entry cannot be read: {error}")),
    };
    let result = match &entry.failure {
        Some(reason) => Err(field::reason(Some(reason))),
        None => metrics(&entry.metrics),
    };
    match identity(suite, entry) {
        Ok(benchmark) => Reported { benchmark, result, work: Vec::new() },
        Err(reason) => failed(reason),
    }
}

fn identity(suite: &str, entry: Entry) -> Result<Benchmark, String> {
    let param = |(key, value): (String, Value)| match value {
        Value::String(text) => Ok((key, text)),
        Value::Number(_) | Value::Bool(_) => Ok((key, value.to_string())),
        _ => Err(format!("its parameter `{}` is neither text nor number", key.escape_debug())),
    };
    let params = entry.params.into_iter().map(param).collect::<Result<_, _>>()?;
    let variant = entry.variant.unwrap_or_else(|| DEFAULT_VARIANT.to_owned());
    let version = entry.version.unwrap_or(1);
    let benchmark = Benchmark { suite: suite.to_owned(), name: entry.name, params, variant, version };
    benchmark.check().map_err(|error| error.to_string())?;
    Ok(benchmark)
}

fn metrics(values: &[Value]) -> Result<Vec<ReportedMetric>, String> {
    if values.is_empty() {
        return Err("it has no metric and no `failure`".to_owned());
    }
    if values.len() > MOST_METRICS {
        return Err(format!("it has {} metrics, at most {MOST_METRICS} are read", values.len()));
    }
    let mut names = BTreeSet::new();
    let mut metrics = Vec::with_capacity(values.len());
    for value in values {
        let called = value.get("name").and_then(Value::as_str).unwrap_or_default();
        let fault = |reason: String| format!("its metric `{}` {reason}", shortened_name(called));
        let metric = metric(value).map_err(fault)?;
        if !names.insert(metric.metric.name.clone()) {
            return Err(fault("is there twice".to_owned()));
        }
        metrics.push(metric);
    }
    Ok(metrics)
}

fn shortened_name(name: &str) -> String {
    name.chars().take(100).collect::<String>().escape_debug().to_string()
}

fn metric(value: &Value) -> Result<ReportedMetric, String> {
    let entry = MetricEntry::deserialize(value).map_err(|error| format!("cannot be read: {error}"))?;
    if !Metric::is_word(&entry.name) {
        return Err("is not named with one word of at most a hundred bytes".to_owned());
    }
    let unit = Unit::from_symbol(&entry.unit).ok_or_else(|| unit_fault(&entry.unit))?;
    let metric = Metric { name: entry.name, unit, better: entry.better };
    let is_other = |reserved: &Metric| reserved.name == metric.name && *reserved != metric;
    if let Some(Metric { unit, better, .. }) = Metric::reserved().into_iter().find(is_other) {
        let better = better.word();
        return Err(format!("has a name reserved for the unit `{unit}` and `{better}`; choose another name"));
    }
    let values = match (entry.value, entry.samples) {
        (Some(value), None) => vec![value],
        (None, Some(samples)) => samples,
        (Some(_), Some(_)) => return Err("has both `value` and `samples`; give one of them".to_owned()),
        (None, None) => return Err("has neither `value` nor `samples`".to_owned()),
    };
    if values.is_empty() {
        return Err("has no samples".to_owned());
    }
    let samples = values.iter().map(|value| finite(&metric, value)).collect::<Result<_, _>>()?;
    Ok(ReportedMetric { metric, samples })
}

fn finite(metric: &Metric, value: &Value) -> Result<f64, String> {
    let number = field::number(value).ok_or_else(|| "holds what is not a number".to_owned())?;
    match metric.fault(number) {
        Some(fault) => Err(format!("holds {fault}")),
        None => Ok(number),
    }
}

/// Why a unit is refused, with the one that is probably meant.
fn unit_fault(symbol: &str) -> String {
    let meant = match symbol {
        "sec" | "seconds" | "ms" | "us" | "µs" | "μs" | "ns" | "ps" | "min" | "h" => "`s`, in seconds",
        "bytes" | "kB" | "KB" | "KiB" | "MB" | "MiB" | "GB" | "GiB" | "b" | "bit" => "`B`, in bytes",
        "Hz" | "/s" | "ops/s" | "B/s" | "kB/s" | "MB/s" | "MiB/s" | "GB/s" | "GiB/s" | "fps" => {
            "`1/s`, in one a second"
        }
        "" | "%" | "x" | "count" | "ratio" => "`1`, as a plain number (a half for 50 %)",
        _ => "one of `s`, `B`, `1/s`, `1`",
    };
    format!("has the unit `{}`; records hold base units: give {meant}", shortened_name(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    /// What is read of each benchmark, and whether the report follows the schema, which is stricter.
    #[test]
    fn the_cases_read_as_they_say() {
        golden::check_cases("custom", |outputs| {
            let reported = read("kernels", outputs).map_err(|error| error.to_string())?;
            let is_valid = |output: &Output| {
                serde_json::from_slice(&output.bytes).is_ok_and(|report| jsonschema::is_valid(&schema(), &report))
            };
            let schema = if outputs.iter().all(is_valid) { "valid" } else { "against the schema" };
            let lines = reported.iter().map(|one| {
                assert_eq!(one.benchmark.check(), Ok(()));
                let result = match &one.result {
                    Ok(metrics) => metrics.iter().map(|one| format!(" | {:?} {:?}", one.metric, one.samples)).collect(),
                    Err(reason) => format!(" | failed: {reason}"),
                };
                format!("\n  {} version {}{result}", one.benchmark.id(), one.benchmark.version)
            });
            Ok(format!("{schema}{}", lines.collect::<String>()))
        });
        let many = format!(r#"{{"schema_version": 1, "benchmarks": [{}]}}"#, vec!["{}"; MOST_BENCHMARKS + 1].join(","));
        let error = read("kernels", &[golden::output("r.json", many)]).expect_err("there are too many");
        assert!(error.to_string().contains("at most 20000 are read"), "{error}");
        let check = |bytes: &[u8], words: &str| {
            let error = read("kernels", &[golden::output("r.json", bytes)]).expect_err("it is no report").to_string();
            assert!(error.starts_with("r.json ") && error.contains(words), "{error}");
        };
        check(b"", "is empty");
        check(format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)).as_bytes(), "is not JSON");
        check(b"\"\xe9\"", "not UTF-8");
    }
}
