//! `run --output`: the report that the tools of the seed read.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Few calls: the tests run a build without optimisation.
const FEW_CALLS: [&str; 8] = ["--infer-warmup", "0", "--infer-iters", "3", "--micro-warmup", "1", "--micro-iters", "2"];

#[test]
fn the_report_has_the_keys_of_the_seed_and_stands_beside_the_record() {
    let sandbox = Sandbox::new();
    let outputs = ["--output", "made/here/report.json", "--output-run", "run.json", "--record", "--seed", "7"];
    let arguments = [&["run", "--quick", "--suite", "cpu"][..], &outputs, &FEW_CALLS].concat();
    let ended = sandbox.sprag(&arguments).expect(0);
    assert!(ended.out.contains("wrote [project]/made/here/report.json"), "{}", ended.out);
    assert_eq!(sandbox.records("main").len(), 1);
    assert!(sandbox.read("run.json").starts_with('{'));

    let text = sandbox.read("made/here/report.json");
    let report: Value = serde_json::from_str(&text).expect("the report is JSON");
    assert_eq!((&report["schema_version"], &report["suite"]), (&json!(1), &json!("apex_x_cpu_perf_regression")));
    let expected = json!({
        "infer_warmup": 0, "infer_iters": 3, "micro_warmup": 1, "micro_iters": 2, "seed": 7,
        "tile_size": 16, "input_shape": [1, 3, 128, 128], "tile_shape": [1, 64, 128, 128],
    });
    assert_eq!(report["config"], expected);
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&report), ["config", "environment", "metrics", "schema_version", "suite"]);
    assert_eq!(keys(&report["environment"]), ["cuda_available", "device", "platform", "python", "torch"]);
    let metrics = ["fusion_gate_p50_ms", "infer_p50_ms", "infer_p95_ms", "tile_pack_p50_ms", "tile_unpack_p50_ms"];
    assert_eq!(keys(&report["metrics"]), metrics);
    for name in metrics {
        assert!(report["metrics"][name].as_f64().is_some_and(|value| value > 0.0), "{name}: {text}");
    }
    assert!(text.starts_with("{\n  \"config\": {\n    \"infer_iters\": 3,\n") && text.ends_with("}\n"), "{text}");
}

#[test]
fn what_cannot_be_reported_is_told_before_measuring() {
    let sandbox = Sandbox::new();
    let check = |arguments: &[&str], words: &[&str]| {
        let arguments = [&["run", "--quick", "--record"][..], arguments].concat();
        sandbox.sprag(&arguments).expect(2).says(words);
    };
    let config = sandbox.read("sprag.toml");
    sandbox.write("sprag.toml", &format!("{config}[suites.gpu]\nkind = \"gpu\"\n"));
    check(&["--output", "report.json"], &["one suite, and 2 would run", "hint:"]);
    check(&["--output", "report.json", "--suite", "gpu"], &["`gpu` is none", "hint:"]);
    check(&["--output", ".", "--suite", "cpu"], &["it is a folder"]);
    check(&["--output", "sprag.toml/report.json", "--suite", "cpu"], &["cannot write"]);
    check(&["--infer-iters", "3"], &["--output"]);
    let valued = |option: &str, value: &str| {
        check(&["--output", "report.json", "--suite", "cpu", option, value], &[option, value]);
    };
    valued("--infer-warmup", "-1");
    valued("--infer-iters", "0");
    valued("--micro-iters", "0");
    valued("--micro-warmup", "4000000000");
    valued("--seed", "-3");
    assert!(sandbox.records("HEAD").is_empty(), "it measured all the same");
    assert!(!sandbox.project.join("report.json").exists());
}
