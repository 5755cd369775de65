//! What files of the seed must be like to be judged: the seed's own tool lets whatever is below its sum pass, a figure
//! below zero and a tolerance of a million, too.

use super::{File, is_baseline, report_suite};
use crate::cmd::{Advice, text};
use sprag_formats::compat::apex_x::compare::Comparison;
use sprag_formats::compat::apex_x::suite::SeedSuite;
use sprag_formats::compat::json::Json;
use sprag_model::metric::LARGEST;
use sprag_model::rule::{MOST_FACTOR, Rule};

/// The only schema of the seed's files.
const SCHEMA: f64 = 1.0;

/// Fails where the baseline is no baseline for this report.
///
/// # Errors
/// That.
pub(super) fn refuse_baseline(suite: SeedSuite, report: &File, baseline: &File) -> Result<(), Advice> {
    let shown = &baseline.shown;
    if !is_baseline(&baseline.value) {
        let message = format!("`{shown}` is no baseline of Apex-X, and `{}` is a report of it", report.shown);
        let hint = format!("make one: `sprag baseline emit --run {} --output BASELINE.json`", report.shown);
        return Err(Advice { message, hint });
    }
    if let Some(other) = report_suite(&baseline.value).filter(|other| *other != suite) {
        let message = format!("`{shown}` is of `{}`, and `{}` of `{}`", other.name(), report.shown, suite.name());
        return Err(Advice { message, hint: "a report is held against a baseline of its own suite".to_owned() });
    }
    for file in [report, baseline] {
        if let Some(version) = file.value.get("schema_version").filter(|version| version.plain_number() != Some(SCHEMA))
        {
            let message = format!("`{}` has the schema {}, and {SCHEMA} is known", file.shown, words(version));
            return Err(Advice { message, hint: "write it anew with the Apex-X that made the other one".to_owned() });
        }
    }
    let status = baseline.value.get("required_status").and_then(Json::text);
    if let Some(status) = status.filter(|status| suite.has_status() && *status != "ok") {
        let message = format!(
            "`{shown}` has `required_status` = \"{status}\", and only a report that is `ok` has values to judge"
        );
        return Err(Advice { message, hint: "take one from a report that is `ok`".to_owned() });
    }
    let metrics = baseline.value.get("metrics").and_then(Json::fields);
    // What is no object is told by the comparison.
    if metrics.is_some_and(<[_]>::is_empty) || baseline.value.get("metrics").is_none() {
        let message = format!("`{shown}` has no metrics, so it would let anything pass");
        return Err(Advice { message, hint: "take one from a report with `sprag baseline emit`".to_owned() });
    }
    Ok(())
}

/// Fails where a number of either file is none that a verdict can be reached by.
///
/// # Errors
/// Names the file, the metric and what is allowed.
pub(super) fn refuse_numbers(report: &File, baseline: &File, comparison: &Comparison) -> Result<(), Advice> {
    let is_time = |value: f64| value > 0.0 && value <= LARGEST;
    for check in &comparison.checks {
        let fault = |file: &File, words: String, hint: &str| {
            let message = format!("`{}`: {words} of `{}`", file.shown, check.metric);
            Err(Advice { message: text::printable(&message), hint: hint.to_owned() })
        };
        if let Some(current) = check.current.filter(|value| !is_time(*value)) {
            return fault(report, format!("a time of {current}"), "times are above zero: measure again");
        }
        let spec = baseline.value.get("metrics").and_then(|metrics| metrics.get(&check.metric));
        let number = |field: &str| spec.and_then(|spec| spec.get(field));
        for field in ["value_ms", "max_regression_ratio", "max_regression_abs_ms"] {
            if let Some(other) = number(field).filter(|value| value.plain_number().is_none()) {
                return fault(baseline, format!("`{field}` is {}, no number,", words(other)), "write it as a number");
            }
        }
        let Some(value) = check.baseline.filter(|value| is_time(*value)) else {
            let words = format!("a `value_ms` of {}", check.baseline.unwrap_or(f64::NAN));
            return fault(baseline, words, "times are above zero: take a baseline anew with `sprag baseline emit`");
        };
        let plain = |field: &str| number(field).and_then(Json::plain_number).unwrap_or(0.0);
        let (ratio, abs) = (plain("max_regression_ratio"), plain("max_regression_abs_ms"));
        if let Some((name, value, allowed)) = (Rule::Tolerance { ratio, abs }).fault() {
            let field = if name == "abs" { "max_regression_abs_ms" } else { "max_regression_ratio" };
            return fault(baseline, format!("a `{field}` of {value}"), allowed);
        }
        if abs > MOST_FACTOR * value {
            let words = format!("a `max_regression_abs_ms` of {abs}, where the time is {value} ms,");
            return fault(baseline, words, "at most a hundred times the time is allowed");
        }
    }
    Ok(())
}

/// A value as its file has it, as far as it is short.
fn words(value: &Json) -> String {
    match (value.plain_number(), value.text()) {
        (Some(number), _) => number.to_string(),
        (None, Some(text)) => format!("\"{}\"", text.escape_debug()),
        (None, None) => "something else".to_owned(),
    }
}
