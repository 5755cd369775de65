//! `run --output`: the report that the tools of Apex-X read.

use serde_json::json;

use crate::sandbox::{Sandbox, assert_contains};

/// Few calls, since test builds are not optimised.
const FEW_CALLS: [&str; 8] = ["--infer-warmup", "0", "--infer-iters", "3", "--micro-warmup", "1", "--micro-iters", "2"];

#[test]
fn the_report_is_that_of_apex_x() {
    let sandbox = Sandbox::new();
    let outputs = ["--output", "made/here/report.json", "--output-run", "run.json", "--record", "--seed", "7"];
    let arguments = [&["run", "--quick", "--suite", "cpu"][..], &outputs, &FEW_CALLS].concat();
    sandbox.ends(0, &arguments).prints(&["wrote [project]/made/here/report.json"]);
    assert_eq!(sandbox.records("main").len(), 1);
    assert!(sandbox.read("run.json").starts_with('{'));

    let text = sandbox.read("made/here/report.json");
    let report = crate::schemas::follows("apex-x-cpu-report-1", &text);
    assert_eq!((&report["schema_version"], &report["suite"]), (&json!(1), &json!("apex_x_cpu_perf_regression")));
    let expected = json!({
        "infer_warmup": 0, "infer_iters": 3, "micro_warmup": 1, "micro_iters": 2, "seed": 7,
        "tile_size": 16, "input_shape": [1, 3, 128, 128], "tile_shape": [1, 64, 128, 128],
    });
    assert_eq!(report["config"], expected);
    let metrics = ["fusion_gate_p50_ms", "infer_p50_ms", "infer_p95_ms", "tile_pack_p50_ms", "tile_unpack_p50_ms"];
    for name in metrics {
        assert!(report["metrics"][name].as_f64().is_some_and(|value| value > 0.0), "{name}: {text}");
    }
    assert!(text.starts_with("{\n  \"config\": {\n    \"infer_iters\": 3,\n") && text.ends_with("}\n"), "{text}");
}

/// The files are written with or without a device; `gpu_report` checks measured ones.
#[test]
fn a_gpu_suite_has_a_report_as_json_and_as_markdown() {
    let sandbox = Sandbox::new();
    sandbox.append("sprag.toml", "[suites.gpu]\nkind = \"gpu\"\n");
    let outputs = ["--output-json", "made/gpu.json", "--output-md", "made/gpu.md"];
    let options = ["--dtype", "fp8", "--kmax", "16", "--warmup", "0", "--iters", "2", "--budget-b1", "12"];
    let ended = sandbox.sprag(&[&["run", "--quick", "--suite", "gpu"][..], &outputs, &options].concat());
    let report = crate::schemas::follows("apex-x-gpu-report-1", &sandbox.read("made/gpu.json"));
    let is_skipped = report["status"] == "skipped";
    let written = ["wrote [project]/made/gpu.json", "wrote [project]/made/gpu.md"];
    ended.expect(if is_skipped { 5 } else { 0 }).prints(&written);
    let config = &report["config"];
    assert_eq!((&config["dtype"], &config["kmax"], &config["steps"]), (&json!("fp8"), &json!(16), &json!(256)));
    assert_eq!((&config["budget_b1"], &config["budget_b2"], &config["seed"]), (&json!(12.0), &json!(8.0), &json!(123)));
    let stamp = report["timestamp_utc"].as_str().expect("a time");
    assert!(stamp.len() == 32 && stamp.ends_with("+00:00"), "{stamp}");
    let markdown = sandbox.read("made/gpu.md");
    assert_contains(&markdown, &[&format!("- timestamp_utc: `{stamp}`\n")]);
    if is_skipped {
        let reason = report["reason"].as_str().expect("a reason");
        assert!(reason.starts_with("cuda_") || reason.starts_with("gpu_"), "{reason}");
        assert!(markdown.ends_with(&format!("\n- reason: `{reason}`\n\n")), "{markdown}");
    }
    sandbox.sprag(&["run", "--quick", "--suite", "gpu", "--output-md", "alone.md"]);
    assert!(sandbox.read("alone.md").starts_with("# Apex-X GPU Benchmark Report\n"));
    assert!(sandbox.records("HEAD").is_empty());
}
