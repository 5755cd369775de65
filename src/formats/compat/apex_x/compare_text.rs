//! What the seed's tool writes of a comparison: the summary, the trend, and a line a check.
//!
//! Both files are JSON with sorted keys and two spaces a level. What is not finite stands in them as `NaN`, `Infinity`
//! or `-Infinity`, as the seed writes it, so a strict reader refuses such a file.

use serde_json::Value;

use super::compare::{Check, CheckStatus, Comparison, SuiteField};
use sprag_base::json;

/// The name under which the status stands among the metrics.
const STATUS: &str = "__status__";

const SCHEMA_VERSION: &str = "1";

pub fn summary(comparison: &Comparison) -> String {
    let mut checks = Vec::new();
    if let Some(statuses) = comparison.statuses.as_ref().filter(|statuses| !statuses.agree()) {
        checks.push(vec![
            ("current", text(&statuses.current)),
            ("expected", text(&statuses.required)),
            ("metric", text(STATUS)),
            ("status", text(CheckStatus::Fail.word())),
        ]);
    }
    checks.extend(comparison.checks.iter().map(|check| {
        let mut fields = metric(check);
        // Only what is there has changed.
        if check.status == CheckStatus::Missing {
            fields.retain(|(name, _)| *name != "regression_ratio");
        }
        fields
    }));
    let suite = match &comparison.report_suite {
        SuiteField::Name(name) => text(name),
        SuiteField::Absent | SuiteField::Null => "null".to_owned(),
    };
    let mut fields = vec![("checks", list(&checks)), ("status", text(overall(comparison))), ("suite", suite)];
    fields.extend(statuses(comparison));
    file(fields)
}

/// The trend: every metric with the same fields, and how many there are.
pub fn trend(comparison: &Comparison, timestamp: &str) -> String {
    let none = || "null".to_owned();
    let mut metrics: Vec<(&str, Vec<Field>)> = Vec::new();
    if comparison.statuses.as_ref().is_some_and(|statuses| !statuses.agree()) {
        let fields = vec![
            ("allowed_max_ms", none()),
            ("baseline_ms", none()),
            ("current_ms", none()),
            ("metric", text(STATUS)),
            ("regression_ratio", none()),
            ("status", text(CheckStatus::Fail.word())),
        ];
        metrics.push((STATUS, fields));
    }
    // A metric without a name has no place in a trend.
    let named = comparison.checks.iter().filter(|check| !check.metric.is_empty());
    metrics.extend(named.map(|check| (check.metric.as_str(), metric(check))));
    metrics.sort_by(|a, b| a.0.cmp(b.0));
    let metrics: Vec<Vec<Field>> = metrics.into_iter().map(|(_, fields)| fields).collect();
    let suite = match &comparison.report_suite {
        SuiteField::Name(name) => text(name),
        SuiteField::Null => none(),
        SuiteField::Absent => text(comparison.suite.name()),
    };
    let mut fields = vec![
        ("failed_metrics", failed(comparison).to_string()),
        ("metrics", list(&metrics)),
        ("overall_status", text(overall(comparison))),
        ("schema_version", SCHEMA_VERSION.to_owned()),
        ("suite", suite),
        ("timestamp_utc", text(timestamp)),
        ("total_metrics", metrics.len().to_string()),
    ];
    fields.extend(statuses(comparison));
    file(fields)
}

/// One line a check, with Python's words for what is absent or not finite.
pub fn lines(comparison: &Comparison) -> Vec<String> {
    let prefix = comparison.suite.prefix();
    let status = comparison.statuses.as_ref().filter(|statuses| !statuses.agree()).map(|_| {
        format!("{prefix}_check metric={STATUS} status=fail baseline_ms=None allowed_max_ms=None current_ms=None")
    });
    let line = |check: &Check| {
        let or_none = |value: Option<f64>| value.map_or("None".to_owned(), python_number);
        let (baseline, allowed, current) = (or_none(check.baseline), or_none(check.allowed), or_none(check.current));
        let (metric, status) = (&check.metric, check.status.word());
        format!(
            "{prefix}_check metric={metric} status={status} baseline_ms={baseline} allowed_max_ms={allowed} \
             current_ms={current}"
        )
    };
    status.into_iter().chain(comparison.checks.iter().map(line)).collect()
}

/// How many checks did not pass, the status among them.
pub fn failed(comparison: &Comparison) -> usize {
    let status = comparison.statuses.as_ref().is_some_and(|statuses| !statuses.agree());
    let named = comparison.checks.iter().filter(|check| !check.metric.is_empty());
    usize::from(status) + named.filter(|check| check.status != CheckStatus::Pass).count()
}

/// `pass` or `fail`.
pub fn overall(comparison: &Comparison) -> &'static str {
    if comparison.passes() { "pass" } else { "fail" }
}

/// The name of a field and its value as text.
type Field = (&'static str, String);

fn statuses(comparison: &Comparison) -> Vec<Field> {
    let Some(statuses) = &comparison.statuses else { return Vec::new() };
    vec![("current_status", text(&statuses.current)), ("required_status", text(&statuses.required))]
}

fn metric(check: &Check) -> Vec<Field> {
    let or_null = |value: Option<f64>| value.map_or("null".to_owned(), number);
    vec![
        ("allowed_max_ms", or_null(check.allowed)),
        ("baseline_ms", or_null(check.baseline)),
        ("current_ms", or_null(check.current)),
        ("metric", text(&check.metric)),
        ("regression_ratio", or_null(check.regression_ratio)),
        ("status", text(check.status.word())),
    ]
}

fn file(mut fields: Vec<Field>) -> String {
    fields.sort_by(|a, b| a.0.cmp(b.0));
    format!("{}\n", object(&fields, 0))
}

fn object(fields: &[Field], level: usize) -> String {
    let indent = "  ".repeat(level + 1);
    let lines: Vec<String> = fields.iter().map(|(name, value)| format!("{indent}{}: {value}", text(name))).collect();
    format!("{{\n{}\n{}}}", lines.join(",\n"), "  ".repeat(level))
}

/// The objects of a list that lies in the outermost object.
fn list(objects: &[Vec<Field>]) -> String {
    if objects.is_empty() {
        return "[]".to_owned();
    }
    let items: Vec<String> = objects.iter().map(|fields| format!("    {}", object(fields, 2))).collect();
    format!("[\n{}\n  ]", items.join(",\n"))
}

fn text(text: &str) -> String {
    json::to_canonical(&Value::from(text))
}

fn number(value: f64) -> String {
    match value {
        value if value.is_finite() => json::float_text(value),
        value if value.is_nan() => "NaN".to_owned(),
        value if value > 0.0 => "Infinity".to_owned(),
        _ => "-Infinity".to_owned(),
    }
}

fn python_number(value: f64) -> String {
    match value {
        value if value.is_finite() => json::float_text(value),
        value if value.is_nan() => "nan".to_owned(),
        value if value > 0.0 => "inf".to_owned(),
        _ => "-inf".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::apex_x::compare::compare;
    use crate::compat::apex_x::suite::SeedSuite;

    #[test]
    fn what_is_not_finite_is_written_as_python_writes_it() {
        let baseline = r#"{"metrics": {"": {"value_ms": 1}, "é": {"value_ms": 1, "max_regression_abs_ms": Infinity}}}"#;
        let comparison = compare(SeedSuite::Cpu, r#"{"suite": null, "metrics": {"é": -Infinity}}"#, baseline);
        let comparison = comparison.expect("it can be compared");
        assert_eq!(
            lines(&comparison)[1],
            "perf_check metric=é status=pass baseline_ms=1.0 allowed_max_ms=inf current_ms=-inf"
        );
        let summary = summary(&comparison);
        let expected = "    {\n      \"allowed_max_ms\": Infinity,\n      \"baseline_ms\": 1.0,\n      \
                        \"current_ms\": -Infinity,\n      \"metric\": \"\\u00e9\",\n";
        assert!(summary.contains(expected), "{summary}");
        let trend = trend(&comparison, "T");
        assert!(trend.contains("\"total_metrics\": 1\n") && trend.contains("\"suite\": null"), "{trend}");
        let unnamed = compare(SeedSuite::Trt, "{}", "{}").expect("it can be compared");
        assert!(super::trend(&unnamed, "T").contains("\"suite\": \"apex_x_trt_engine_shape_sweep\""));
        assert!(super::summary(&unnamed).contains("\"suite\": null"));
    }
}
