//! Cases of `perf_compare` and `baseline_template`: the seed's gate. The text of every file and line is exact, and so is
//! the exit code; that of the original means that it broke down where it is 1, which here is a refusal.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::case::{Fields, Form, judge, unknown};
use sprag_formats::compat::apex_x::baseline_template::Template;
use sprag_formats::compat::apex_x::compare::{self, CompareError, Comparison};
use sprag_formats::compat::apex_x::compare_text;
use sprag_formats::compat::apex_x::suite::SeedSuite;
use sprag_formats::compat::json::Json;

/// What stands in golden texts for the time they were written.
const TIMESTAMP: &str = "__TIMESTAMP__";

/// The exit code of an original that broke down.
const BROKE_DOWN: i64 = 1;

fn suite(case: &Fields<'_>) -> Result<SeedSuite> {
    match case.text("suite")? {
        "cpu" => Ok(SeedSuite::Cpu),
        "gpu" => Ok(SeedSuite::Gpu),
        "trt" => Ok(SeedSuite::Trt),
        other => bail!("suite `{other}` is unknown to this build"),
    }
}

pub(super) fn run_compare(case: &Value) -> Result<()> {
    let read = |case: &Fields<'_>| {
        let texts = (case.text("current_json_text")?.to_owned(), case.text("baseline_json_text")?.to_owned());
        Ok((suite(case)?, texts))
    };
    let compute = |_, (suite, (current, baseline)): &(SeedSuite, (String, String))| {
        Ok(compare::compare(*suite, current, baseline))
    };
    let fields = ["suite", "current_json_text", "baseline_json_text"];
    judge(case, &fields, Form::ONE, read, compute, compare_field)
}

fn compare_field(name: &str, expected: &Value, got: &Result<Comparison, CompareError>) -> Result<()> {
    let text = |got: String| {
        ensure!(expected.as_str() == Some(&got), "`{name}`: expected {expected}, got {got:?} (exact)");
        Ok(())
    };
    match (name, got) {
        ("exit_code", got) => {
            let code = got.as_ref().map_or(BROKE_DOWN, |comparison| i64::from(comparison.exit_code()));
            ensure!(expected.as_i64() == Some(code), "`exit_code`: expected {expected}, got {code} (exact)");
            Ok(())
        }
        ("summary_json_text", Ok(comparison)) => text(compare_text::summary(comparison)),
        ("trend_json_text", Ok(comparison)) => text(compare_text::trend(comparison, TIMESTAMP)),
        ("stdout_check_lines", Ok(comparison)) => {
            let got = Value::from(compare_text::lines(comparison));
            ensure!(*expected == got, "`{name}`: expected {expected}, got {got} (exact)");
            Ok(())
        }
        ("error_type", Err(_)) => text("ValueError".to_owned()),
        ("error_message", Err(error)) => text(wording(error)),
        ("summary_json_text" | "trend_json_text" | "stdout_check_lines", Err(error)) => {
            bail!("`{name}`: expected a text, got a refusal: {error}")
        }
        ("error_type" | "error_message", Ok(_)) => bail!("`{name}`: expected a refusal, got a comparison"),
        _ => unknown(name),
    }
}

/// How the original words a refusal, where it does: of others only that there is one can be compared.
fn wording(error: &CompareError) -> String {
    match error {
        CompareError::Metrics(_) => "baseline/current metrics must be objects".to_owned(),
        CompareError::NoValue(metric) => format!("baseline metric spec for '{metric}' missing value_ms"),
        other => other.to_string(),
    }
}

pub(super) fn run_template(case: &Value) -> Result<()> {
    let fields = ["name", "suite", "report_json_text", "expected_baseline_json_text"];
    let case = Fields::of(case, "the case", &fields)?;
    let report = Json::parse(case.text("report_json_text")?).context("`report_json_text`")?;
    let template = Template::of(suite(&case)?, &report)?;
    let (expected, got) = (case.text("expected_baseline_json_text")?, template.to_json(None));
    ensure!(expected == got, "expected {expected:?}, got {got:?} (exact)");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_template_is_compared_to_the_last_byte() {
        let text = include_str!("../../../../fixtures/golden/apex-x/baseline_template.json");
        let golden: Value = serde_json::from_str(text).expect("the golden cases are JSON");
        for case in golden["cases"].as_array().expect("there are cases") {
            run_template(case).expect("it passes");
            let mut other = case.clone();
            let expected = case["expected_baseline_json_text"].as_str().expect("a text");
            other["expected_baseline_json_text"] = json!(expected.trim_end());
            assert!(run_template(&other).is_err());
            other = case.clone();
            other["more"] = json!(1);
            assert!(run_template(&other).is_err());
        }
    }

    #[test]
    fn a_refusal_meets_a_refusal_only() {
        let case = |baseline: &str, expected: Value| json!({"suite": "cpu", "current_json_text": "{}", "baseline_json_text": baseline, "expected": expected});
        assert!(run_compare(&case("[]", json!({"exit_code": 1}))).is_ok());
        assert!(run_compare(&case("[]", json!({"exit_code": 0}))).is_err());
        assert!(run_compare(&case("[]", json!({"summary_json_text": ""}))).is_err());
        assert!(run_compare(&case("{}", json!({"error_type": "ValueError"}))).is_err());
        assert!(run_compare(&case("{}", json!({"exit_code": 0, "other": 1}))).is_err());
    }
}
