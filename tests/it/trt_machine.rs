//! What a sweep reads from the machine and the environment, and what it writes there.

use serde_json::{Value, json};

use crate::emulator::{Machine, Part};
use crate::gpu::{measure, one};
use crate::trt::{GOLDEN, run, sandbox};

#[test]
fn the_driver_is_reported_as_by_a_gpu_suite() {
    let Some(machine) = Machine::with(&[Part::Driver, Part::Management]) else { return };
    let sandbox = sandbox("fine", "[suites.gpu]\nkind = \"gpu\"");
    sandbox
        .sprag_with(&machine.variables(), &["run", "--quick", "--suite", "trt", "--output-run", "run.json"])
        .expect(0);
    let trt = sandbox.json("run.json");
    let trt = &trt["environment"]["facts"];
    assert!(trt["nvrtc"].is_null() && trt["tensorrt"] == "10.3.0", "{trt}");
    let Some(complete) = Machine::complete() else { return };
    let filter = ["--quick", "--dtype", "fp16", "--filter", &one("fusion_gate", "hot")];
    let gpu = &measure(&sandbox, &complete, &filter, 0).record["environment"]["facts"];
    for name in ["gpu_driver", "nvml", "gpu_uuid_hash", "gpu_compute_capability", "gpu_memory_bytes"] {
        assert!(gpu[name].is_string() && gpu[name] == trt[name], "{name}: {} and {}", gpu[name], trt[name]);
    }
    assert!(!trt["gpu_driver"].as_str().is_some_and(|driver| driver.starts_with("CUDA")), "{trt}");
}

#[test]
fn the_library_of_the_environment_counts_from_where_the_user_is() {
    let sandbox = sandbox("fine", "");
    sandbox.write("below/p.so", "a library");
    let folder = &*sandbox.place("below");
    let plugin = |value: &str| {
        let variables = [("APEXX_TRT_PLUGIN_LIB", value)];
        sandbox.sprag_with(&variables, &["-C", folder, "run", "--quick", "--suite", "trt"]).expect(0);
        let log = sandbox.read("trtexec.log");
        let options = log.lines().last().expect("it has run").split(' ').map(str::to_owned);
        options.filter_map(|option| option.strip_prefix("--dynamicPlugins=").map(str::to_owned)).next()
    };
    assert_eq!(plugin("p.so"), Some(format!("{folder}/p.so")));
    assert_eq!(plugin(&format!("{folder}/p.so")), Some(format!("{folder}/p.so")));
    assert_eq!(plugin("absent.so"), None);
    assert_eq!(plugin("."), None);
    assert_eq!(plugin(""), None);
}

#[test]
fn a_place_for_layers_is_tried_before_and_does_not_spoil_the_times() {
    let sandbox = sandbox("fine", "");
    let place = ["run", "--quick", "--suite", "trt", "--trt-profile", "sprag.toml"];
    sandbox.ends(2, &place).says(&["cannot write", "sprag.toml"]);
    assert!(!sandbox.project.join("trtexec.log").exists(), "it was started all the same");
    // A folder has the name of its file.
    sandbox.write("out/layers/default.layers.json/x", "");
    let (ended, run) = run(&sandbox, &["--quick", "--trt-profile", "out/layers"], 0);
    ended.says(&["cannot write the layers of default"]);
    assert!(run["benchmarks"][0]["metrics"][0]["value"].is_f64(), "{run}");
    assert_eq!(run["benchmarks"][0]["attributes"]["slowest_layer"], "TileSSM_0 (40.0 %)");
}

#[test]
fn the_names_of_layers_are_no_paths() {
    let sandbox = sandbox("fine", "");
    let profile = std::fs::read_to_string(format!("{GOLDEN}/profile.json")).expect("it is there");
    let long = format!("/stem/Conv + /stem/Relu{}", " + /more/Add".repeat(40));
    sandbox.write("golden/profile.json", &profile.replace("TileSSM_0", &long));
    let variables = [("FAKE_GOLDEN", &*sandbox.place("golden"))];
    let arguments = ["run", "--quick", "--suite", "trt", "--trt-profile", "out/layers", "--output-run", "out/run.json"];
    sandbox.sprag_with(&variables, &arguments).expect(0);
    let run = sandbox.json("out/run.json");
    let slowest = run["benchmarks"][0]["attributes"]["slowest_layer"].as_str().expect("it is reported");
    assert!(slowest.starts_with("/stem/Conv + /stem/Relu + /more/Add"), "{slowest}");
    assert!(slowest.ends_with("... (40.0 %)") && slowest.chars().count() <= 200, "{slowest}");
}

#[test]
fn a_sweep_that_breaks_fails_in_every_case() {
    let sandbox = sandbox("fine", "shape_cases = [\"image=8x3\"]");
    let arguments = ["run", "--quick", "--suite", "trt", "--output-run", "out/run.json", "--output", "out/sweep.json"];
    sandbox.sprag_with(&[("TMPDIR", "/nonexistent")], &arguments).expect(1);
    let run = sandbox.json("out/run.json");
    let reason = run["reason"].as_str().expect("it says why");
    assert!(run["status"] == "failed" && reason.starts_with("cannot create a temporary folder"), "{run}");
    let report = sandbox.json("out/sweep.json");
    assert_eq!((&report["status"], &report["reason"]), (&json!("partial"), &Value::Null));
    assert_eq!(report["summary"], json!({"ok_count": 0, "skipped_count": 0, "failed_count": 2}));
    let case = &report["cases"][1];
    assert_eq!(
        (&case["label"], &case["status"], &case["reason"]),
        (&json!("case_001_8_3"), &json!("failed"), &json!(reason))
    );
}
