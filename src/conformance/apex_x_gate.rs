//! Cases of `perf_compare` and `baseline_template`: Apex-X's gate. The text of every file and line is exact, and so is
//! the exit code. The original breaks down with the code 1, which here is a refusal.

use serde::Deserialize;
use serde_json::Value;

use crate::case::judge;
use crate::expected::{exact, exactly};
use crate::failure::{Outcome, fails, read};
use sprag_formats::compat::apex_x::gate::{self, ApexSuite, CompareError, Template};
use sprag_formats::compat::json;

/// In golden texts, in place of the time they were written.
const TIMESTAMP: &str = "__TIMESTAMP__";

/// The exit codes of the original.
const PASSED: i32 = 0;
const BROKE_DOWN: i32 = 1;
const FAILED: i32 = 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompareCase {
    suite: ApexSuite,
    current_json_text: String,
    baseline_json_text: String,
}

pub(crate) fn run_compare(case: Value) -> Outcome {
    judge(case, |case: &CompareCase| {
        let read = |text: &str| json::parse(text).map_err(|error| CompareError::Other(error.to_string()));
        let (report, baseline) = (read(&case.current_json_text), read(&case.baseline_json_text));
        let compared = report.and_then(|report| gate::compare(case.suite, &report, &baseline?));
        Ok(match compared {
            Ok(comparison) => vec![
                ("exit_code", exactly(if comparison.passes() { PASSED } else { FAILED })),
                ("summary_json_text", exactly(gate::summary(&comparison))),
                ("trend_json_text", exactly(gate::trend(&comparison, TIMESTAMP))),
                ("stdout_check_lines", exactly(gate::lines(&comparison))),
            ],
            Err(error) => vec![
                ("exit_code", exactly(BROKE_DOWN)),
                ("error_type", exactly("ValueError")),
                ("error_message", exactly(wording(&error))),
            ],
        })
    })
}

/// How the original words a refusal, where it does: of others only that there is one can be compared.
fn wording(error: &CompareError) -> String {
    match error {
        CompareError::Metrics(_) => "baseline/current metrics must be objects".to_owned(),
        CompareError::NoValue(metric) => format!("baseline metric spec for '{metric}' missing value_ms"),
        other => other.to_string(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateCase {
    #[serde(default, rename = "name")]
    _name: String,
    suite: ApexSuite,
    report_json_text: String,
    expected_baseline_json_text: String,
}

pub(crate) fn run_template(case: Value) -> Outcome {
    let case: TemplateCase = read("the case", case)?;
    let report = json::parse(&case.report_json_text).map_err(|error| fails(format!("`report_json_text` {error}")))?;
    let template = Template::from_report(case.suite, &report).map_err(|error| fails(error.to_string()))?;
    exact("expected_baseline_json_text", &case.expected_baseline_json_text, &template.to_json(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_refusal_meets_a_refusal_only() {
        let passes = |baseline: &str, expected: Value| {
            let case = json!({
                "suite": "cpu", "current_json_text": "{}", "baseline_json_text": baseline, "expected": expected,
            });
            run_compare(case).is_ok()
        };
        assert!(passes("[]", json!({"exit_code": 1})));
        assert!(!passes("[]", json!({"exit_code": 0})));
        assert!(!passes("[]", json!({"summary_json_text": ""})));
        assert!(!passes("{}", json!({"error_type": "ValueError"})));
        assert!(!passes("{}", json!({"exit_code": 0, "other": 1})));
    }
}
