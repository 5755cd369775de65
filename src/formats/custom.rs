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

/// The files of a folder of results that are reports.
pub const FILES: &[&str] = &[".json"];

/// The version of the report that this build reads.
pub const SCHEMA_VERSION: u64 = 1;

/// The most metrics of one benchmark; beyond it lies a slip of the pen.
pub(super) const MOST_METRICS: usize = 100;

/// Reads reports, one an output, as the benchmarks of a suite.
///
/// # Errors
/// Names the output that is no report of this version. A benchmark that is at fault alone is part of the result.
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

/// The schema of a report: for programs that write one, so stricter than the reader.
pub fn schema() -> Value {
    frozen(include_str!("../../schemas/metrics-1.json"))
}

/// The whole of a report, of any version.
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

/// The entries of a report, not looked into yet.
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
                "is no report: it has no `schema_version`; begin with `{\"schema_version\": 1, \"benchmarks\": [`";
            return Err(schema(reason.to_owned()));
        }
    }
    let report: Report = serde_json::from_value(value).map_err(|error| schema(format!("is no report: {error}")))?;
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
    let benchmark = match identity(suite, &entry) {
        Ok(benchmark) => benchmark,
        Err(reason) => return failed(reason),
    };
    let result = match &entry.failure {
        Some(reason) => Err(field::reason(Some(reason))),
        None => metrics(&entry.metrics),
    };
    Reported { benchmark, result, work: Vec::new() }
}

fn identity(suite: &str, entry: &Entry) -> Result<Benchmark, String> {
    let mut params = BTreeMap::new();
    for (key, value) in &entry.params {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(format!("its parameter `{}` is neither text nor number", key.escape_debug()));
            }
        };
        params.insert(key.clone(), text);
    }
    let variant = entry.variant.clone().unwrap_or_else(|| DEFAULT_VARIANT.to_owned());
    let version = entry.version.unwrap_or(1);
    let benchmark = Benchmark { suite: suite.to_owned(), name: entry.name.clone(), params, variant, version };
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
    if let Some(candidate) =
        Metric::reserved().into_iter().find(|candidate| candidate.name == metric.name && *candidate != metric)
    {
        let better = if candidate.better == Better::Lower { "lower" } else { "higher" };
        return Err(format!(
            "has a name reserved for the unit `{}` and `{better}`; choose another name",
            candidate.unit
        ));
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

/// The number, if the metric can have it.
fn finite(metric: &Metric, value: &Value) -> Result<f64, String> {
    let number = field::number(value).ok_or_else(|| "holds what is no number".to_owned())?;
    match metric.fault(number) {
        Some(fault) => Err(format!("holds {fault}")),
        None => Ok(number),
    }
}

/// Why a unit is refused, with the one that was meant.
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

    fn output(text: &str) -> Output {
        Output { name: "standard output".to_owned(), bytes: text.as_bytes().to_vec() }
    }

    fn report(benchmarks: &str) -> Vec<Reported> {
        let text = format!("{{\"schema_version\": 1, \"benchmarks\": [{benchmarks}]}}");
        read("kernels", &[output(&text)]).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// A benchmark `b` with that metric.
    fn with_metric(metric: &str) -> String {
        format!("{{\"name\": \"b\", \"metrics\": [{metric}]}}")
    }

    #[test]
    fn a_report_is_read_completely() {
        let reported = report(
            r#"{"name": "sort", "params": {"n": 1000, "stable": true, "of": "u64"}, "variant": "fast", "version": 2,
                "metrics": [{"name": "time", "unit": "s", "better": "lower", "samples": [2e-5, 1e-5]},
                            {"name": "swaps", "unit": "1", "better": "lower", "value": 0}]},
               {"name": "merge", "failure": "needs\n two cores"}"#,
        );
        let [sort, merge] = &reported[..] else { panic!("two benchmarks: {reported:?}") };
        assert_eq!(
            (sort.benchmark.id().as_str(), sort.benchmark.version),
            ("kernels/sort{n=1000,of=u64,stable=true} @fast", 2)
        );
        let metrics = sort.result.as_ref().expect("it is fine");
        assert_eq!(metrics[0], ReportedMetric { metric: Metric::time(), samples: vec![2e-5, 1e-5] });
        assert_eq!((metrics[1].metric.name.as_str(), &metrics[1].samples[..]), ("swaps", &[0.0][..]));
        assert_eq!(merge.benchmark.id(), "kernels/merge @default");
        assert_eq!(merge.result, Err("needs two cores".to_owned()));
    }

    #[test]
    fn reports_of_several_files_add_up() {
        let one = |name: &str| {
            output(&format!("{{\"schema_version\":1,\"benchmarks\":[{{\"name\":\"{name}\",\"failure\":\"x\"}}]}}"))
        };
        let reported = read("kernels", &[one("a"), one("b"), one("a")]).expect("three reports");
        assert_eq!(reported.len(), 2);
        assert!(reported[0].result.as_ref().is_err_and(|reason| reason.contains("more than once")));
    }

    #[test]
    fn a_benchmark_at_fault_fails_alone() {
        let check = |bad: &str, words: &str| {
            let good = r#"{"name": "good", "metrics": [{"name": "time", "unit": "s", "better": "lower", "value": 1}]}"#;
            let reported = report(&format!("{bad}, {good}"));
            let reason = reported[0].result.as_ref().expect_err("it is at fault");
            assert!(reason.contains(words), "{reason}");
            assert!(reported[0].benchmark.check().is_ok());
            assert!(reported[1].result.is_ok() && reported.len() == 2, "the other stands");
        };
        let time =
            |value: &str| with_metric(&format!(r#"{{"name": "time", "unit": "s", "better": "lower", {value}}}"#));
        check(&time(r#""value": NaN"#), "`time` holds NaN, which is no number");
        check(&time(r#""samples": [1, Infinity]"#), "holds inf, which is no number");
        check(&time(r#""value": -1"#), "holds -1 s, where more than zero is needed");
        check(&time(r#""value": 1e300"#), "holds 1e300 s, which is beyond 1e30");
        check(&time(r#""value": "fast""#), "holds what is no number");
        check(&time(r#""value": null"#), "has neither `value` nor `samples`");
        check(&time(r#""samples": []"#), "has no samples");
        check(&time(r#""value": 1, "samples": [1]"#), "has both");
        check(&time(r#""vale": 1"#), "unknown field `vale`");
        let unit =
            |unit: &str| with_metric(&format!(r#"{{"name": "m", "unit": "{unit}", "better": "lower", "value": 1}}"#));
        check(&unit("ms"), "has the unit `ms`; records hold base units: give `s`, in seconds");
        check(&unit("MiB"), "give `B`");
        check(&unit("GB/s"), "give `1/s`");
        check(&unit("%"), "give `1`");
        check(&unit("parsec"), "one of `s`, `B`, `1/s`, `1`");
        check(&with_metric(r#"{"name": "m", "unit": "s", "better": "less", "value": 1}"#), "unknown variant `less`");
        check(&with_metric(r#"{"name": "a b", "unit": "s", "better": "lower", "value": 1}"#), "one word");
        check(
            &with_metric(r#"{"name": "time", "unit": "B", "better": "lower", "value": 1}"#),
            "reserved for the unit `s` and `lower`",
        );
        check(r#"{"name": "b", "metrics": []}"#, "no metric and no `failure`");
        check(r#"{"name": "b", "failure": ""}"#, "gives no reason");
        check(r#"{"metrics": []}"#, "missing field `name`");
        check(r#"{"name": 7}"#, "cannot be read");
        check(r#"[]"#, "cannot be read");
        check(r#"{"name": "a{b}", "failure": "x"}"#, "benchmark name `a{b}` holds `{`");
        check(r#"{"name": "b", "params": {"n": [1]}, "failure": "x"}"#, "its parameter `n` is neither");
        check(&format!(r#"{{"name": "{}", "failure": "x"}}"#, "n".repeat(201)), "has 201 characters");
    }

    #[test]
    fn what_is_no_report_is_refused() {
        let check = |text: &str, words: &str| {
            let error = read("kernels", &[output(text)]).expect_err("it is no report").to_string();
            assert!(error.starts_with("standard output ") && error.contains(words), "{error}");
        };
        check("warming up…\n{}", "is not JSON");
        check("{}", "has no `schema_version`");
        check("[1]", "has no `schema_version`");
        check(
            "{\"schema_version\": 1, \"benchmarks\": [],\n\"benchmarks\": []}",
            "occurs twice in one object at line 2",
        );
        check("{\"schema_version\": 2, \"benchmarks\": []}", "has schema version 2, this build reads 1");
        check("{\"schema_version\": 1, \"benchmark\": []}", "unknown field `benchmark`");
        check("{\"schema_version\": 1, \"benchmarks\": []}", "lists no benchmark");
        let many = vec!["{}"; MOST_BENCHMARKS + 1].join(",");
        check(&format!("{{\"schema_version\": 1, \"benchmarks\": [{many}]}}"), "at most 5000 are read");
    }

    #[test]
    fn a_report_that_follows_the_schema_is_read_and_one_that_does_not_fails() {
        let check = |benchmark: &str, expected: bool| {
            let text = format!("{{\"schema_version\": 1, \"benchmarks\": [{benchmark}]}}");
            let value: Value = serde_json::from_str(&text).expect("the case is JSON");
            assert_eq!(jsonschema::is_valid(&schema(), &value), expected, "{text}");
            let read = read("kernels", &[output(&text)]).expect("the report can be read");
            let is_failure = value["benchmarks"][0].get("failure").is_some();
            assert_eq!(read[0].result.is_ok() || is_failure, expected, "{:?}", read[0]);
        };
        let metric = with_metric;
        check(r#"{"name": "merge", "failure": "needs two cores"}"#, true);
        check(
            r#"{"name": "sort", "params": {"n": 1000, "of": "u64", "stable": true}, "variant": "fast", "version": 2,
                "metrics": [{"name": "time", "unit": "s", "better": "lower", "samples": [1.25e-5]},
                            {"name": "swaps", "unit": "1", "better": "lower", "value": 0}]}"#,
            true,
        );
        check(&metric(r#"{"name": "x", "unit": "1", "better": "higher", "value": -1}"#), true);
        check(&metric(r#"{"name": "x", "unit": "ms", "better": "lower", "value": 1}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "less", "value": 1}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "lower", "value": 0}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "lower", "value": "1"}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "lower"}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "lower", "value": 1, "samples": [1]}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "lower", "samples": []}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "lower", "value": 1, "more": 1}"#), false);
        check(&metric(r#"{"name": "a b", "unit": "s", "better": "lower", "value": 1}"#), false);
        check(&metric(r#"{"name": "time", "unit": "1", "better": "lower", "value": 1}"#), false);
        check(&metric(r#"{"name": "ratio", "unit": "1", "better": "lower", "value": 0}"#), false);
        check(&metric(r#"{"name": "x", "unit": "1", "better": "lower", "value": 1e31}"#), false);
        check(r#"{"name": "b"}"#, false);
        check(r#"{"name": "b", "metrics": []}"#, false);
        check(r#"{"name": "b{", "metrics": [{"name": "x", "unit": "1", "better": "lower", "value": 1}]}"#, false);
        check(
            r#"{"name": "b", "params": {"n": null}, "metrics": [{"name": "x", "unit": "1", "better": "lower", "value": 1}]}"#,
            false,
        );
    }
}
