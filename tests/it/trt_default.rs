//! The default case of a sweep: `trtexec` sets dimensions without a shape to 1.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, assert_contains};
use crate::trt::{ids, run, sandbox};

const OUTPUTS: [&str; 3] = ["--quick", "--output", "out/sweep.json"];

fn report(sandbox: &Sandbox) -> Value {
    sandbox.json("out/sweep.json")
}

#[test]
fn an_engine_that_does_not_take_ones_is_measured_in_the_cases_that_are_given() {
    let sandbox = sandbox("dynamic", "shape_cases = [\"image=8x3\"]");
    let (_, run) = run(&sandbox, &OUTPUTS, 0);
    assert_eq!((ids(&run), &run["status"]), (vec!["trt/engine{image=8x3} @tensorrt"], &json!("ok")));
    let reasons = run["quality"]["reasons"].to_string();
    let printed = "default is left out, because dimensions without a shape were set to 1: tensorrt_shape_outside_profile: \
                Error[3]: Supplied binding dimension [1,3]";
    assert_contains(&reasons, &[printed]);
    let report = report(&sandbox);
    let statuses = [&report["cases"][0]["status"], &report["cases"][1]["status"]];
    assert_eq!((statuses, &report["status"]), ([&json!("skipped"), &json!("ok")], &json!("ok")));
    assert_eq!(report["summary"]["skipped_count"], 1);
}

#[test]
fn where_no_case_is_given_nothing_is_measured() {
    let sandbox = sandbox("dynamic", "");
    let (_, run) = run(&sandbox, &OUTPUTS, 5);
    assert_eq!((&run["status"], &run["benchmarks"]), (&json!("skipped"), &json!([])));
    let reason = run["reason"].as_str().expect("it says why");
    assert!(reason.starts_with("tensorrt_shape_outside_profile: ") && reason.contains("`--shape-case`"), "{reason}");
    assert_eq!(report(&sandbox)["cases"][0]["status"], "skipped");
}

#[test]
fn assumed_dimensions_of_one_are_reported() {
    let sandbox = sandbox("dynamic-from-one", "shape_cases = [\"image=8x3\"]");
    let (_, run) = run(&sandbox, &["--quick"], 0);
    let reasons = run["quality"]["reasons"].to_string();
    let printed = "default: `trtexec` set dimensions without a shape to 1";
    assert!(reasons.contains(printed) && !reasons.contains("case_001_8_3: dimensions"), "{reasons}");
    assert_eq!(run["benchmarks"].as_array().map(Vec::len), Some(2));
}

#[test]
fn the_rate_follows_from_the_images_that_a_call_takes_or_is_absent() {
    let fixed = sandbox("static", "");
    let (_, run_of_fixed) = run(&fixed, &OUTPUTS, 0);
    let metrics = &run_of_fixed["benchmarks"][0]["metrics"];
    assert_eq!((&metrics[0]["name"], &metrics[1]["name"]), (&json!("time"), &json!("frames_per_s")));
    let (time, rate) = (metrics[0]["value"].as_f64().expect("a time"), metrics[1]["value"].as_f64().expect("a rate"));
    assert!((rate * time / 8.0 - 1.0).abs() < 1e-6, "{rate} a second at {time} s a call");
    let frames = &report(&fixed)["cases"][0]["metrics"]["frames_per_s"];
    assert!(frames.as_f64().is_some_and(|frames| (frames * time / 8.0 - 1.0).abs() < 1e-6), "{frames}");

    let dynamic = sandbox("fine", "");
    let (_, run_of_dynamic) = run(&dynamic, &OUTPUTS, 0);
    assert_eq!(run_of_dynamic["benchmarks"][0]["metrics"].as_array().map(Vec::len), Some(1));
    assert_eq!(report(&dynamic)["cases"][0]["metrics"].get("frames_per_s"), Some(&Value::Null));
}

#[test]
fn layers_are_reported_for_the_given_cases() {
    let sandbox = sandbox("dynamic", "shape_cases = [\"image=8x3\"]");
    let (_, run) = run(&sandbox, &["--quick", "--trt-profile", "out/layers"], 0);
    assert_eq!(run["benchmarks"][0]["attributes"]["slowest_layer"], "TileSSM_0 (40.0 %)");
    assert!(sandbox.project.join("out/layers/case_001_8_3.layers.json").is_file());
}
