//! The seed's comparison of a report with a baseline, as a plain function.
//!
//! Each metric of the baseline, in the order of names: `allowed = value * (1.0 + ratio) + abs` in double precision and
//! in this order; it passes where `current <= allowed`, so never where either is NaN; what the report lacks is missing.
//! `regression_ratio` is `current / value - 1.0`, absent where `value` is not above zero. Where the suite has a status,
//! that of the report must be the required one. Nothing else is looked at: a baseline without metrics lets all pass,
//! and so does the rest of the report. [`crate::compat::apex_x::compare_text`] writes what came of it.

use super::metrics::{Figures, MetricsError};
use super::suite::SeedSuite;
use crate::compat::json::Json;
use crate::compat::json::JsonError;

/// The allowed relative worsening of a metric that says none.
const DEFAULT_RATIO: f64 = 0.5;

/// The allowed absolute worsening of a metric that says none, in milliseconds.
const DEFAULT_ABS: f64 = 0.0;

/// The status that a baseline requires which names none.
const REQUIRED: &str = "ok";

/// The status of a report that names none.
const UNKNOWN: &str = "unknown";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// One of the two texts cannot be read.
    #[error("the {which} {error}")]
    Json { which: &'static str, error: JsonError },
    /// One of the two is a list or a single value.
    #[error("the {0} is no JSON object")]
    NoObject(&'static str),
    /// `metrics` of one of the two is no object.
    #[error("`metrics` of the {0} is no object")]
    Metrics(&'static str),
    /// A figure of the report that cannot be compared.
    #[error("the report's `{0}` is no number")]
    Figure(String),
    /// What the baseline says of a metric is no object.
    #[error("what the baseline says of `{0}` is no object")]
    Spec(String),
    #[error("the baseline names no `value_ms` of `{0}`")]
    NoValue(String),
    /// A field of a metric is no number.
    #[error("the baseline's `{field}` of `{metric}` is no number")]
    NoNumber { metric: String, field: &'static str },
    /// A field that must be text is not.
    #[error("`{field}` of the {which} is no text")]
    NoText { which: &'static str, field: &'static str },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStatus {
    Pass,
    Fail,
    Missing,
}

impl CheckStatus {
    /// The word that the seed's files bear.
    pub fn word(self) -> &'static str {
        match self {
            CheckStatus::Pass => "pass",
            CheckStatus::Fail => "fail",
            CheckStatus::Missing => "missing",
        }
    }
}

/// One metric of the baseline against the report, in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub metric: String,
    pub status: CheckStatus,
    /// What the baseline holds; always there where [`compare`] made the check.
    pub baseline: Option<f64>,
    /// The most that passes; likewise.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuiteField {
    Absent,
    Null,
    Name(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub suite: SeedSuite,
    pub report_suite: SuiteField,
    /// The statuses, where the suite has them.
    pub statuses: Option<Statuses>,
    /// One entry a metric of the baseline, in the order of names.
    pub checks: Vec<Check>,
}

impl Comparison {
    /// Whether the statuses agree and each metric passes.
    pub fn passes(&self) -> bool {
        self.statuses.as_ref().is_none_or(Statuses::agree)
            && self.checks.iter().all(|check| check.status == CheckStatus::Pass)
    }

    /// The code that the seed's tool ends with: 0 where all passes, else 2. Sprag's own commands end with others.
    pub fn exit_code(&self) -> i32 {
        if self.passes() { 0 } else { 2 }
    }
}

/// Holds a report against a baseline, both as text, by the rules of the suite.
///
/// # Errors
/// When one of them cannot be read, or holds what the seed's tool cannot compare.
pub fn compare(suite: SeedSuite, report: &str, baseline: &str) -> Result<Comparison, CompareError> {
    let read = |which, text| match Json::parse(text) {
        Ok(value) if value.fields().is_some() => Ok(value),
        Ok(_) => Err(CompareError::NoObject(which)),
        Err(error) => Err(CompareError::Json { which, error }),
    };
    compare_values(suite, &read("report", report)?, &read("baseline", baseline)?)
}

/// As [`compare`], of values that were read.
pub fn compare_values(suite: SeedSuite, report: &Json, baseline: &Json) -> Result<Comparison, CompareError> {
    let text = |which, value: &Json, field, usual: &str| match value.get(field) {
        None => Ok(usual.to_owned()),
        Some(value) => value.text().map(str::to_owned).ok_or(CompareError::NoText { which, field }),
    };
    let report_suite = match report.get("suite") {
        None => SuiteField::Absent,
        Some(Json::Null) => SuiteField::Null,
        Some(name) => {
            let fault = CompareError::NoText { which: "report", field: "suite" };
            SuiteField::Name(name.text().ok_or(fault)?.to_owned())
        }
    };
    let statuses = if suite.has_status() {
        let required = text("baseline", baseline, "required_status", REQUIRED)?;
        Some(Statuses { required, current: text("report", report, "status", UNKNOWN)? })
    } else {
        None
    };
    let mut specs: Vec<&(String, Json)> = match baseline.get("metrics") {
        None => Vec::new(),
        Some(metrics) => metrics.fields().ok_or(CompareError::Metrics("baseline"))?.iter().collect(),
    };
    specs.sort_by(|a, b| a.0.cmp(&b.0));
    let figures = Figures::from_report(suite, report).map_err(figure_fault)?;
    let check = |(name, spec): &(String, Json)| check(name, spec, figures.get(name).map_err(figure_fault));
    let checks = specs.into_iter().map(check).collect::<Result<Vec<Check>, CompareError>>()?;
    Ok(Comparison { suite, report_suite, statuses, checks })
}

fn figure_fault(error: MetricsError) -> CompareError {
    match error {
        MetricsError::NoObject => CompareError::Metrics("report"),
        MetricsError::NoNumber(name) => CompareError::Figure(name),
    }
}

fn check(name: &str, spec: &Json, current: Result<Option<f64>, CompareError>) -> Result<Check, CompareError> {
    if spec.fields().is_none() {
        return Err(CompareError::Spec(name.to_owned()));
    }
    let number = |field: &'static str| match spec.get(field) {
        None => Ok(None),
        Some(value) => {
            let fault = || CompareError::NoNumber { metric: name.to_owned(), field };
            value.as_number().map(Some).ok_or_else(fault)
        }
    };
    let value = number("value_ms")?.ok_or_else(|| CompareError::NoValue(name.to_owned()))?;
    let ratio = number("max_regression_ratio")?.unwrap_or(DEFAULT_RATIO);
    let abs = number("max_regression_abs_ms")?.unwrap_or(DEFAULT_ABS);
    let current = current?;
    // The order of the operations decides at the border.
    let allowed = value * (1.0 + ratio) + abs;
    Ok(Check {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_pass_passes_and_nothing_else_does() {
        let check = |suite: SeedSuite, report: &str, baseline: &str, passes: bool| {
            let comparison = compare(suite, report, baseline).expect("it can be compared");
            assert_eq!(comparison.passes(), passes, "{report} against {baseline}");
            assert_eq!(comparison.exit_code(), if passes { 0 } else { 2 });
        };
        let cpu = |current: &str, spec: &str, passes: bool| {
            let (report, baseline) =
                (format!(r#"{{"metrics": {{"a": {current}}}}}"#), format!(r#"{{"metrics": {{"a": {spec}}}}}"#));
            check(SeedSuite::Cpu, &report, &baseline, passes);
        };
        cpu("0.81", r#"{"value_ms": 0.35, "max_regression_ratio": 0.6, "max_regression_abs_ms": 0.25}"#, false);
        cpu("1.5", r#"{"value_ms": 1}"#, true);
        cpu("1", r#"{"value_ms": NaN}"#, false);
        cpu("1", r#"{"value_ms": 1, "max_regression_ratio": NaN}"#, false);
        cpu("Infinity", r#"{"value_ms": 1}"#, false);
        cpu("Infinity", r#"{"value_ms": 1, "max_regression_abs_ms": Infinity}"#, true);
        cpu("-1", r#"{"value_ms": 0}"#, true);
        cpu("1", r#"{"value_ms": "1"}"#, true);
        cpu("null", r#"{"value_ms": 1}"#, false);
        check(SeedSuite::Gpu, r#"{"status": "ok"}"#, "{}", true);
        check(SeedSuite::Gpu, "{}", "{}", false);
        check(SeedSuite::Trt, r#"{"status": "skipped"}"#, r#"{"required_status": "skipped"}"#, true);
    }

    #[test]
    fn what_cannot_be_compared_is_named() {
        let check = |report: &str, baseline: &str, words: &str| {
            let error = compare(SeedSuite::Cpu, report, baseline).expect_err("it cannot be compared").to_string();
            assert_eq!(error, words);
        };
        let spec = |spec: &str| format!(r#"{{"metrics": {{"a": {spec}}}}}"#);
        check("[]", "{}", "the report is no JSON object");
        check("{}", "{", "the baseline is not JSON: a string is expected at byte 1");
        check("{}", r#"{"metrics": []}"#, "`metrics` of the baseline is no object");
        check(r#"{"metrics": 1}"#, "{}", "`metrics` of the report is no object");
        check(r#"{"metrics": {"a": "x"}}"#, &spec(r#"{"value_ms": 1}"#), "the report's `a` is no number");
        check("{}", &spec("1"), "what the baseline says of `a` is no object");
        check("{}", &spec("{}"), "the baseline names no `value_ms` of `a`");
        check("{}", &spec(r#"{"value_ms": null}"#), "the baseline's `value_ms` of `a` is no number");
        check(r#"{"suite": 3}"#, "{}", "`suite` of the report is no text");
    }
}
