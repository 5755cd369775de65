//! Apex-X's gate: its comparison of a report with a baseline, what its tool writes of that, and the baseline that it
//! makes of a report.
//!
//! Each metric of the baseline, in the order of names: `allowed = value * (1.0 + ratio) + abs` in double precision and
//! in this order; it passes where `current <= allowed`, so never where either is NaN; what the report lacks is missing.
//! `regression_ratio` is `current / value - 1.0`, absent where `value` is not above zero. Where the suite has a status,
//! that of the report must be the required one. A baseline without metrics lets all pass.
//!
//! Each suite has rules for its figures: the CPU suite lists them under `metrics` and takes text that reads as a number;
//! in a report of the GPU suite a path of names with dots leads to each; a sweep has them in its summary and its cases.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{cpu_report, gpu_report, trt_report};
use crate::compat::{json, python};
use sprag_base::words;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApexSuite {
    Cpu,
    Gpu,
    /// The sweep of a TensorRT engine over shapes.
    Trt,
}

impl ApexSuite {
    pub const ALL: [ApexSuite; 3] = [ApexSuite::Cpu, ApexSuite::Gpu, ApexSuite::Trt];

    /// The name in its reports and baselines.
    pub fn name(self) -> &'static str {
        match self {
            ApexSuite::Cpu => cpu_report::SUITE,
            ApexSuite::Gpu => gpu_report::SUITE,
            ApexSuite::Trt => trt_report::SUITE,
        }
    }

    pub fn from_name(name: &str) -> Option<ApexSuite> {
        ApexSuite::ALL.into_iter().find(|suite| suite.name() == name)
    }

    /// The first word of the lines that Apex-X's tool prints for it.
    pub fn prefix(self) -> &'static str {
        match self {
            ApexSuite::Cpu => "perf",
            ApexSuite::Gpu => "perf_gpu",
            ApexSuite::Trt => "perf_trt",
        }
    }

    /// Whether its reports have a status, which a baseline can require.
    pub fn has_status(self) -> bool {
        self != ApexSuite::Cpu
    }
}

/// Why two files cannot be compared, or no baseline can be made of a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    #[error("`metrics` of the {0} is not an object")]
    Metrics(&'static str),
    #[error("the baseline names no `value_ms` of `{0}`")]
    NoValue(String),
    #[error("{0}")]
    Other(String),
}

/// The figures of the summary of a sweep, and of each of its cases.
const SUMMARY_FIGURES: [&str; 3] = ["p50_ms_min", "p50_ms_median", "p50_ms_max"];
const CASE_FIGURES: [&str; 2] = ["p50_ms", "p95_ms"];

/// The figure of a report under the name that a baseline has for it; `None` where the report lacks it.
fn figure(suite: ApexSuite, report: &Value, name: &str) -> Result<Option<f64>, CompareError> {
    match suite {
        ApexSuite::Cpu => match report.pointer("/metrics").and_then(|metrics| metrics.get(name)) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let fault = || CompareError::Other(format!("the report's `{name}` is not a number"));
                json::as_number(value).map(Some).ok_or_else(fault)
            }
        },
        ApexSuite::Gpu => {
            let result = name.split('.').try_fold(report, |value, key| value.get(key));
            Ok(result.and_then(json::plain_number))
        }
        ApexSuite::Trt => Ok(figure_of_sweep(report, name)),
    }
}

/// Of cases with the same label the last one is used.
fn figure_of_sweep(report: &Value, name: &str) -> Option<f64> {
    let (start, figure) = name.rsplit_once('.')?;
    match start.strip_prefix("case.") {
        None if start == "summary" && SUMMARY_FIGURES.contains(&figure) => {
            report.get("summary")?.get(figure).and_then(json::plain_number)
        }
        Some(label) if CASE_FIGURES.contains(&figure) && !label.is_empty() => {
            let mut cases = report.get("cases")?.as_array()?.iter().rev().filter(|case| case["label"] == label);
            cases.find_map(|case| json::plain_number(case.get("metrics")?.get(figure)?))
        }
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStatus {
    Pass,
    Fail,
    Missing,
}

words!(CheckStatus { Pass: "pass", Fail: "fail", Missing: "missing" });

/// One metric of the baseline against the report, in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct GateCheck {
    pub metric: String,
    pub status: CheckStatus,
    /// What the baseline holds, and the most that passes; always there where [`compare`] made the check.
    pub baseline: Option<f64>,
    pub allowed: Option<f64>,
    pub current: Option<f64>,
    pub regression_ratio: Option<f64>,
}

/// The status of the report and that which the baseline requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses {
    pub required: String,
    pub current: String,
}

impl Statuses {
    pub fn agree(&self) -> bool {
        self.required == self.current
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct GateComparison {
    pub suite: ApexSuite,
    /// Its field `suite`, text or null.
    pub report_suite: Option<Value>,
    pub statuses: Option<Statuses>,
    /// One a metric of the baseline, in the order of names.
    pub checks: Vec<GateCheck>,
}

impl GateComparison {
    pub fn passes(&self) -> bool {
        self.agrees() && self.checks.iter().all(|check| check.status == CheckStatus::Pass)
    }

    fn agrees(&self) -> bool {
        self.statuses.as_ref().is_none_or(Statuses::agree)
    }

    /// The checks, and first of all a failed one of the status where it is another than is required.
    fn all_checks(&self) -> impl Iterator<Item = GateCheck> {
        let status = (!self.agrees()).then(|| GateCheck {
            metric: STATUS.to_owned(),
            status: CheckStatus::Fail,
            baseline: None,
            allowed: None,
            current: None,
            regression_ratio: None,
        });
        status.into_iter().chain(self.checks.iter().cloned())
    }
}

/// Compares a report with a baseline, both objects, by the rules of the suite.
pub fn compare(suite: ApexSuite, report: &Value, baseline: &Value) -> Result<GateComparison, CompareError> {
    let other = CompareError::Other;
    for (which, value) in [("report", report), ("baseline", baseline)] {
        if !value.is_object() {
            return Err(other(format!("the {which} is not a JSON object")));
        }
    }
    let text = |which: &str, value: &Value, field: &str, default: &str| match value.get(field) {
        None => Ok(default.to_owned()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(other(format!("`{field}` of the {which} is not text"))),
    };
    if report.get("suite").is_some_and(|suite| !suite.is_null() && !suite.is_string()) {
        return Err(other("`suite` of the report is not text".to_owned()));
    }
    let statuses = if suite.has_status() {
        let required = text("baseline", baseline, "required_status", "ok")?;
        Some(Statuses { required, current: text("report", report, "status", "unknown")? })
    } else {
        None
    };
    let none = Map::new();
    let metrics = |which: &'static str, value| match Value::get(value, "metrics") {
        None => Ok(&none),
        Some(metrics) => metrics.as_object().ok_or(CompareError::Metrics(which)),
    };
    let specs: BTreeMap<&String, &Value> = metrics("baseline", baseline)?.iter().collect();
    if suite == ApexSuite::Cpu {
        metrics("report", report)?;
    }
    let checks = specs.into_iter().map(|(name, spec)| check(name, spec, figure(suite, report, name)));
    let checks = checks.collect::<Result<Vec<GateCheck>, CompareError>>()?;
    Ok(GateComparison { suite, report_suite: report.get("suite").cloned(), statuses, checks })
}

fn check(name: &str, spec: &Value, current: Result<Option<f64>, CompareError>) -> Result<GateCheck, CompareError> {
    if !spec.is_object() {
        return Err(CompareError::Other(format!("what the baseline says of `{name}` is not an object")));
    }
    let number = |field: &str| match spec.get(field) {
        None => Ok(None),
        Some(value) => {
            let fault = || CompareError::Other(format!("the baseline's `{field}` of `{name}` is not a number"));
            json::as_number(value).map(Some).ok_or_else(fault)
        }
    };
    let value = number("value_ms")?.ok_or_else(|| CompareError::NoValue(name.to_owned()))?;
    let ratio = number("max_regression_ratio")?.unwrap_or(0.5);
    let abs = number("max_regression_abs_ms")?.unwrap_or(0.0);
    let current = current?;
    // The order of the operations decides at the border.
    let allowed = value * (1.0 + ratio) + abs;
    Ok(GateCheck {
        metric: name.to_owned(),
        status: match current {
            None => CheckStatus::Missing,
            Some(current) if current <= allowed => CheckStatus::Pass,
            Some(_) => CheckStatus::Fail,
        },
        baseline: Some(value),
        allowed: Some(allowed),
        current,
        regression_ratio: current.filter(|_| value > 0.0).map(|current| current / value - 1.0),
    })
}

/// The name of the status among the metrics.
const STATUS: &str = "__status__";

/// The summary that Apex-X's tool writes. What is not finite is written as Python does, so a strict reader refuses such
/// a file.
pub fn summary(comparison: &GateComparison) -> String {
    let mut checks = Vec::new();
    if let Some(Statuses { required, current }) = comparison.statuses.as_ref().filter(|statuses| !statuses.agree()) {
        checks.push(json!({"metric": STATUS, "status": "fail", "expected": required, "current": current}));
    }
    for check in &comparison.checks {
        let mut fields = metric(check);
        // Only what is there has changed.
        if check.status == CheckStatus::Missing {
            fields.as_object_mut().map(|fields| fields.shift_remove("regression_ratio"));
        }
        checks.push(fields);
    }
    file(comparison, json!({"checks": checks, "status": overall(comparison), "suite": comparison.report_suite}))
}

/// The trend that Apex-X's tool writes: every metric with the same fields, and how many there are.
pub fn trend(comparison: &GateComparison, timestamp: &str) -> String {
    // A metric without a name has no place in a trend.
    let mut checks: Vec<GateCheck> = comparison.all_checks().filter(|check| !check.metric.is_empty()).collect();
    checks.sort_by(|a, b| a.metric.cmp(&b.metric));
    let metrics: Vec<Value> = checks.iter().map(metric).collect();
    let suite = comparison.report_suite.clone().unwrap_or_else(|| Value::from(comparison.suite.name()));
    let fields = json!({
        "failed_metrics": failed(comparison),
        "overall_status": overall(comparison),
        "schema_version": 1,
        "suite": suite,
        "timestamp_utc": timestamp,
        "total_metrics": metrics.len(),
        "metrics": metrics,
    });
    file(comparison, fields)
}

/// One line a check, with Python's words for what is absent or not finite.
pub fn lines(comparison: &GateComparison) -> Vec<String> {
    let line = |check: GateCheck| {
        let number = |value: Option<f64>| value.map_or("None".to_owned(), python::number);
        format!(
            "{}_check metric={} status={} baseline_ms={} allowed_max_ms={} current_ms={}",
            comparison.suite.prefix(),
            check.metric,
            check.status.word(),
            number(check.baseline),
            number(check.allowed),
            number(check.current)
        )
    };
    comparison.all_checks().map(line).collect()
}

/// The status is treated as a check.
pub fn failed(comparison: &GateComparison) -> usize {
    comparison.all_checks().filter(|check| !check.metric.is_empty() && check.status != CheckStatus::Pass).count()
}

pub fn overall(comparison: &GateComparison) -> &'static str {
    if comparison.passes() { "pass" } else { "fail" }
}

fn metric(check: &GateCheck) -> Value {
    let number = |value: Option<f64>| value.map_or(Value::Null, json::number);
    json!({
        "allowed_max_ms": number(check.allowed),
        "baseline_ms": number(check.baseline),
        "current_ms": number(check.current),
        "metric": check.metric,
        "regression_ratio": number(check.regression_ratio),
        "status": check.status.word(),
    })
}

fn file(comparison: &GateComparison, mut fields: Value) -> String {
    if let Some(Statuses { required, current }) = &comparison.statuses {
        fields["current_status"] = Value::from(current.as_str());
        fields["required_status"] = Value::from(required.as_str());
    }
    json::to_pretty(&fields)
}

/// The figures of a GPU report that a baseline holds: these, each with both percentiles.
const GPU_FIGURES: [&str; 6] = [
    "benchmarks.tile_ops.tilepack.dispatch",
    "benchmarks.tile_ops.tileunpack.dispatch",
    "benchmarks.tile_ops.fusion_gate.dispatch",
    "benchmarks.tilessm.triton_dispatch",
    "benchmarks.end_to_end_infer.torch_eager",
    "benchmarks.end_to_end_infer.torch_triton_fastpath",
];

/// What Apex-X notes in a baseline of each suite.
fn default_notes(suite: ApexSuite) -> &'static str {
    match suite {
        ApexSuite::Cpu => "CPU baseline with tolerant thresholds for CI variance.",
        ApexSuite::Gpu => {
            "GPU baseline template; regenerate on the target self-hosted GPU runner and adjust tolerances for stable CI."
        }
        ApexSuite::Trt => {
            "TensorRT shape-sweep baseline template; regenerate on the target deployment GPU runner with a production \
             engine and shape-case set."
        }
    }
}

/// How much worse a figure may get: a share, and milliseconds on top. Apex-X goes by the suite and the name of the figure.
fn default_tolerance(suite: ApexSuite, name: &str) -> (f64, f64) {
    match suite {
        ApexSuite::Cpu if name.contains("infer_p95") => (1.0, 5.0),
        ApexSuite::Cpu => (0.75, 2.0),
        ApexSuite::Gpu if name.contains("end_to_end_infer") => (0.5, if name.ends_with(".p50_ms") { 1.0 } else { 2.0 }),
        ApexSuite::Trt if name.starts_with("summary.") => (0.5, 1.0),
        ApexSuite::Gpu | ApexSuite::Trt if name.ends_with(".p95_ms") => (0.8, 0.5),
        ApexSuite::Gpu | ApexSuite::Trt => (0.6, 0.25),
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    pub suite: ApexSuite,
    /// The figures, in milliseconds; none of a skipped report, whose baseline would let anything pass.
    pub metrics: BTreeMap<String, f64>,
}

impl Template {
    /// Takes the figures of a report. What the report lacks is left out.
    pub fn from_report(suite: ApexSuite, report: &Value) -> Result<Template, CompareError> {
        if suite == ApexSuite::Cpu && report.get("metrics").is_some_and(|metrics| !metrics.is_object()) {
            return Err(CompareError::Metrics("report"));
        }
        let mut metrics = BTreeMap::new();
        for name in figure_names(suite, report) {
            match figure(suite, report, &name) {
                Ok(Some(value)) if value.is_finite() => drop(metrics.insert(name, value)),
                Ok(None) => {}
                _ => return Err(CompareError::Other(format!("`{name}` is not a finite number"))),
            }
        }
        Ok(Template { suite, metrics })
    }

    /// The file: sorted keys, two spaces a level, a line feed at the end. `notes` take the place of Apex-X's own.
    pub fn to_json(&self, notes: Option<&str>) -> String {
        let metric = |(name, value): (&String, &f64)| {
            let (ratio, abs) = default_tolerance(self.suite, name);
            let spec = json!({"value_ms": value, "max_regression_ratio": ratio, "max_regression_abs_ms": abs});
            (name.clone(), spec)
        };
        let mut file = json!({
            "schema_version": 1,
            "suite": self.suite.name(),
            "baseline_notes": notes.unwrap_or(default_notes(self.suite)),
            "metrics": self.metrics.iter().map(metric).collect::<Map<String, Value>>(),
        });
        if self.suite.has_status() {
            file["required_status"] = Value::from("ok");
        }
        json::to_pretty(&file)
    }
}

/// The names of the figures that a baseline of the report takes: all of the CPU suite and of a sweep.
fn figure_names(suite: ApexSuite, report: &Value) -> BTreeSet<String> {
    let all = |start: &str, figures: &[&str]| figures.iter().map(|one| format!("{start}.{one}")).collect::<Vec<_>>();
    match suite {
        ApexSuite::Cpu => report["metrics"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect(),
        ApexSuite::Gpu => GPU_FIGURES.iter().flat_map(|start| all(start, &CASE_FIGURES)).collect(),
        ApexSuite::Trt => {
            let labels = report["cases"].as_array().into_iter().flatten().filter_map(|case| case["label"].as_str());
            let cases = labels.flat_map(|label| all(&format!("case.{label}"), &CASE_FIGURES));
            all("summary", &SUMMARY_FIGURES).into_iter().chain(cases).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::check_cases;

    /// A case is a report, called by the prefix of its suite, and a baseline; of a report alone a baseline is made.
    #[test]
    fn cases_read_as_they_say() {
        check_cases("apex-x-gate", |outputs| {
            let files: Vec<Value> = outputs
                .iter()
                .map(|output| json::parse(&String::from_utf8_lossy(&output.bytes)).expect("it is JSON"))
                .collect();
            let suite = ApexSuite::ALL.into_iter().find(|suite| suite.prefix() == outputs[0].name).expect("a suite");
            match &files[..] {
                [report] => Template::from_report(suite, report).map(|template| template.to_json(Some("mine"))),
                [report, baseline] => compare(suite, report, baseline).map(|comparison| {
                    let lines = lines(&comparison).join("\n");
                    let (summary, trend) = (summary(&comparison), trend(&comparison, "T"));
                    format!("passes: {}\n{lines}\n{summary}{trend}", comparison.passes())
                }),
                _ => panic!("one file or two"),
            }
            .map_err(|error| error.to_string())
        });
    }
}
