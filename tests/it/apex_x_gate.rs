//! Reports and baselines of Apex-X, judged by its rules.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, assert_contains};

fn golden(name: &str, field: &str) -> String {
    let file: Value = serde_json::from_str(include_str!("../../fixtures/golden/apex-x/perf_compare.json"))
        .expect("the golden cases are JSON");
    let cases = file["cases"].as_array().expect("there are cases");
    let case = cases.iter().find(|case| case["name"] == name).expect("the case is there");
    case.pointer(field).and_then(Value::as_str).expect("the text is there").to_owned()
}

fn sandbox(case: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.write("report.json", &golden(case, "/current_json_text"));
    sandbox.write("base.json", &golden(case, "/baseline_json_text"));
    sandbox
}

const CHECK: [&str; 5] = ["check", "--run", "report.json", "--baseline", "base.json"];

/// `sprag conformance` compares all cases.
#[test]
fn the_files_of_the_seed_are_judged_by_its_rules() {
    for (case, code, line) in [
        ("shipped_baseline_vs_recorded_run", 0, "check: pass; 5 passed"),
        ("at_limit_rounding_0.35x1.6+0.25_vs_0.81_fails", 1, "check: fail; 0 passed, 1 failed"),
        ("missing_metric_in_current", 1, "check: fail; 1 passed, 1 missing"),
        ("gpu_pass", 0, "check: pass; 3 passed"),
        ("gpu_skipped_status_and_missing", 5, "check: not measured; 0 passed, 3 missing, the status is skipped"),
        ("trt_partial_status_fails", 1, "check: fail; 2 passed, the status is partial where ok is required"),
    ] {
        let sandbox = sandbox(case);
        let files = ["--summary", "made/here/summary.json", "--trend-output", "trend.json"];
        let ended = sandbox.ends(code, &[&CHECK[..], &files].concat()).prints(&["_check metric="]);
        assert_eq!(sandbox.read("made/here/summary.json"), golden(case, "/expected/summary_json_text"));
        let trend = sandbox.read("trend.json");
        let timestamp = trend.split("\"timestamp_utc\": \"").nth(1).and_then(|rest| rest.split('"').next());
        let timestamp = timestamp.expect("the trend bears a time");
        assert!(timestamp.len() == 27 && timestamp.ends_with('Z'), "{timestamp}");
        assert_eq!(trend.replace(timestamp, "__TIMESTAMP__"), golden(case, "/expected/trend_json_text"));
        assert!(ended.out.lines().last().is_some_and(|last| last.starts_with(line)), "{}", ended.out);
    }
}

#[test]
fn compare_judges_a_report_against_its_baseline() {
    let compared = ["compare", "base.json", "report.json"];
    let skipped = "compare: not measured; 0 passed, 3 missing, the status is skipped where ok is required";
    for (case, code, line, row) in [
        ("shipped_baseline_vs_recorded_run", 0, "compare: pass; 5 passed", "unchanged  fusion_gate_p50_ms"),
        ("fail_simple", 1, "compare: fail; 0 passed, 1 failed", "regressed  a_ms"),
        ("missing_metric_in_current", 1, "compare: fail; 1 passed, 1 missing", "missing "),
        ("gpu_skipped_status_and_missing", 5, skipped, "missing "),
    ] {
        let ended = sandbox(case).ends(code, &compared).prints(&[", by tolerance\n", row]);
        assert_eq!(ended.out.lines().last(), Some(line), "{}", ended.out);
    }
    let sandbox = sandbox("fail_simple");
    let json = sandbox.ends(1, &[&compared[..], &["--json", "--report", "junit=r.xml"]].concat()).out;
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&json["command"], &json["outcome"]), (&json!("compare"), &json!("fail")));
    assert_contains(&sandbox.read("r.xml"), &["<failure"]);
    sandbox.ends(1, &[&compared[..], &["--bisect"]].concat());
}

#[test]
fn a_bisection_over_reports_hears_of_slowness_only() {
    let check = |case: &str, code: i32| {
        let sandbox = sandbox(case);
        sandbox.ends(code, &[&CHECK[..], &["--bisect"]].concat());
        sandbox.ends(code, &["compare", "base.json", "report.json", "--bisect"]);
    };
    check("shipped_baseline_vs_recorded_run", 0);
    check("fail_simple", 1);
    check("missing_metric_in_current", 125);
    check("gpu_skipped_status_and_missing", 125);
    check("trt_partial_status_fails", 125);
    // A status alone fails in every report.
    let sandbox = sandbox("trt_partial_status_fails");
    sandbox.ends(1, &[&CHECK[..], &["--report", "junit=r.xml", "--report", "md=r.md"]].concat());
    assert!(sandbox.read("r.xml").contains("the status is") || sandbox.read("r.xml").contains("its status is"));
    assert_contains(&sandbox.read("r.md"), &["its status is partial where"]);
}

#[test]
fn a_baseline_of_the_seed_is_taken_from_a_report_worth_it() {
    let sandbox = sandbox("trt_pass");
    let emit = ["baseline", "emit", "--run", "report.json", "--output", "made/new.json"];
    sandbox.ends(0, &emit).prints(&["wrote [project]/made/new.json: 7 metrics of apex_x_trt_engine_shape_sweep"]);
    let file: Value = serde_json::from_str(include_str!("../../fixtures/golden/apex-x/baseline_template.json"))
        .expect("the golden cases are JSON");
    assert_eq!(Some(sandbox.read("made/new.json").as_str()), file["cases"][2]["expected_baseline_json_text"].as_str());
    sandbox.ends(0, &["check", "--run", "report.json", "--baseline", "made/new.json"]);

    let other = ["baseline", "emit", "--run", "report.json", "--output", "other.json"];
    sandbox.write("report.json", "{\"suite\": \"apex_x_cpu_perf_regression\", \"metrics\": {\"a_ms\": 2}}");
    sandbox.ends(0, &[&other[..], &["--notes", "mine"]].concat());
    let written = crate::schemas::follows("apex-x-baseline-1", &sandbox.read("other.json"));
    let spec = json!({"value_ms": 2.0, "max_regression_ratio": 0.75, "max_regression_abs_ms": 2.0});
    assert_eq!((&written["metrics"]["a_ms"], &written["baseline_notes"]), (&spec, &json!("mine")));
}
