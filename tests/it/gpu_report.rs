//! The measured report of Apex-X's GPU suite, on the emulator.

use serde_json::{Value, json};

use crate::emulator::Machine;
use crate::sandbox::{Ended, Sandbox, assert_contains};

const GPU_SUITE: &str = "[project]\nname = \"sandbox\"\n[suites.gpu]\nkind = \"gpu\"\n";

const SIZES: [&str; 8] = ["--channels", "8", "--height", "32", "--width", "32", "--kmax", "4"];

/// Apex-X's names, and the work of a call at those sizes.
const OPERATIONS: [(&str, &str, f64); 8] = [
    ("tile_ops/tilepack/reference", "tiles_per_s", 4.0),
    ("tile_ops/tilepack/dispatch", "tiles_per_s", 4.0),
    ("tile_ops/tileunpack/dispatch", "tiles_per_s", 4.0),
    ("tile_ops/fusion_gate/dispatch", "elements_per_s", 8192.0),
    ("tilessm/torch_reference", "tokens_per_s", 512.0),
    ("tilessm/triton_dispatch", "tokens_per_s", 512.0),
    ("end_to_end_infer/torch_eager", "frames_per_s", 1.0),
    ("end_to_end_infer/torch_triton_fastpath", "frames_per_s", 1.0),
];

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("sprag.toml", GPU_SUITE);
    sandbox
}

/// Runs one benchmark and writes both reports.
fn run(sandbox: &Sandbox, machine: &Machine, options: &[&str]) -> Ended {
    let suite =
        ["run", "--quick", "--suite", "gpu", "--filter", "fusion_gate{b=1,c=8", "--iters", "3", "--warmup", "1"];
    let outputs = ["--output-json", "gpu.json", "--output-md", "gpu.md"];
    let steps: &[&str] = if options.contains(&"--steps") { &[] } else { &["--steps", "64"] };
    sandbox.sprag_with(&machine.variables(), &[&suite[..], &SIZES, steps, &outputs, options].concat())
}

fn report(sandbox: &Sandbox) -> Value {
    crate::schemas::follows("apex-x-gpu-report-1", &sandbox.read("gpu.json"))
}

fn with_tensorrt(sandbox: &Sandbox, machine: Machine) -> Machine {
    sandbox.program("trtexec", include_str!("../../fixtures/trtexec/trtexec.sh"));
    sandbox.write("m.plan", "fine");
    machine.and("TRTEXEC", &sandbox.project.join("trtexec").to_string_lossy())
}

/// The schema requires every key, and no others.
#[test]
fn a_measured_report_has_every_figure() {
    let Some(machine) = Machine::complete() else { return };
    let sandbox = project();
    let machine = with_tensorrt(&sandbox, machine);
    let engine = ["--trt-engine-path", "m.plan", "--trt-input-shape", "image=2x3"];
    let ended = run(&sandbox, &machine, &[&["--dtype", "fp16"][..], &engine].concat()).expect(0);
    ended.prints(&["wrote [project]/gpu.json", "wrote [project]/gpu.md"]);
    let report = report(&sandbox);
    assert_eq!((&report["status"], &report["suite"]), (&json!("ok"), &json!("apex_x_gpu_benchmark")));
    let environment = &report["environment"];
    assert_eq!((&environment["device"], &environment["dtype"]), (&json!("cuda"), &json!("float16")));
    let caps = &environment["runtime_caps"];
    assert_eq!((&caps["any_gpu_runtime"], &caps["cuda"]["device_count"]), (&json!(true), &json!(1)));
    assert_eq!((&caps["cuda"]["compute_capability"], &caps["cuda"]["reason"]), (&json!("9.0"), &json!(null)));
    assert_eq!((&caps["fp8"]["available"], &caps["fp8"]["reason"]), (&json!(true), &json!(null)));
    let config = json!({
        "batch": 1, "channels": 8, "height": 32, "width": 32, "tile_size": 8, "kmax": 4, "steps": 64, "warmup": 1,
        "iters": 3, "seed": 123, "dtype": "fp16", "budget_b1": 16.0, "budget_b2": 8.0, "budget_total": 32.0,
        "trt_engine_path": "m.plan", "trt_plugin_lib": "", "trt_input_shapes": ["image=2x3"],
    });
    assert_eq!(report["config"], config);
    check_benchmarks(&report["benchmarks"]);
    check_registry(&report["triton_autotune"]);

    let path = &report["benchmarks"]["end_to_end_infer"]["tensorrt_engine"];
    assert_eq!((&path["status"], &path["engine_path"]), (&json!("ok"), &json!("m.plan")));
    assert_eq!(path["mode"], "modern_io_tensors");
    // The script takes 2 ms a call and a little more each call; the first call warms up.
    assert_eq!((path["metrics"]["p50_ms"].as_f64(), &path["metrics"]["peak_memory_mb"]), (Some(2.04), &json!(null)));
    let frames = path["metrics"]["frames_per_s"].as_f64().expect("a rate");
    assert!((frames * 2.04e-3 / 2.0 - 1.0).abs() < 1e-9, "{frames}");
    let words = [
        "# Apex-X GPU Benchmark Report\n", "- status: `ok`\n", "| TilePack | cuda |", "| tilessm_scan | scan_columns |",
    ];
    assert_contains(&sandbox.read("gpu.md"), &words);
    // The tools of Apex-X compare these figures.
    let metric = r#"{"benchmarks.tilessm.triton_dispatch.p50_ms": {"value_ms": 1e9}}"#;
    sandbox.write("baseline.json", &format!(r#"{{"metrics": {metric}, "suite": "apex_x_gpu_benchmark"}}"#));
    sandbox.ends(0, &["check", "--run", "gpu.json", "--baseline", "baseline.json"]);
}

fn check_benchmarks(benchmarks: &Value) {
    for name in ["fusion_gate", "tilepack", "tileunpack"] {
        let one = &benchmarks["tile_ops"][name];
        assert_eq!((&one["backend"], &one["fallback_reason"]), (&json!("cuda"), &json!(null)), "{name}");
    }
    let plugin = &benchmarks["tilessm"]["tensorrt_plugin"];
    assert_eq!(plugin, &json!({ "status": "skipped", "reason": "missing_trt_plugin_lib" }));
    for (path, label, work) in OPERATIONS {
        let metrics = benchmarks.pointer(&format!("/{path}")).expect("it is there");
        let number = |name: &str| metrics[name].as_f64().unwrap_or_else(|| panic!("{path} has no `{name}`"));
        assert!(number("p50_ms") > 0.0 && number("p95_ms") > 0.0 && number("peak_memory_mb") > 0.0, "{path}");
        let expected = work / (number("p50_ms") / 1000.0);
        assert!((number(label) / expected - 1.0).abs() < 1e-12, "{path}");
    }
    // A map of 8 channels of 32 by 32 elements of 2 bytes, four tiles of it, and their ids.
    let bytes = (8 * 32 * 32 + 4 * 8 * 8 * 8) * 2 + 4 * 4;
    let peak = benchmarks["tile_ops"]["tilepack"]["dispatch"]["peak_memory_mb"].as_f64();
    assert_eq!(peak, Some(f64::from(bytes) / 1_048_576.0));
    for form in ["torch_eager", "torch_triton_fastpath"] {
        let path = &benchmarks["end_to_end_infer"][form];
        // All four tiles of the first level are chosen, and two are split.
        assert_eq!((&path["selected_l0_per_call"], &path["selected_l1_per_call"]), (&json!(4), &json!(8)));
        assert_eq!((&path["budget_b1_spent"], &path["budget_b2_spent"]), (&json!(3.2), &json!(2.0)));
    }
}

fn check_registry(registry: &Value) {
    let map = "batch=1|channels=8|dtype=float16|height=32";
    let tiles = format!("{map}|kmax=4|tile_size=8|width=32");
    let expected = [
        ("ff_path", format!("{map}|kmax=4|width=32")),
        ("fusiongate_fuse", format!("{map}|n_elements=8192|width=32")),
        ("tilepack", tiles.clone()),
        ("tilessm_scan", "batch=1|channels=8|dtype=float16|steps=64".to_owned()),
        ("tileunpack_priority", tiles),
    ];
    let entries = registry["entries"].as_array().expect("a list");
    assert_eq!(entries.len(), expected.len());
    for (entry, (name, bucket)) in entries.iter().zip(expected) {
        assert_eq!((entry["op_name"].as_str(), entry["shape_bucket"].as_str()), (Some(name), Some(bucket.as_str())));
        // One check, one warm-up, three timed calls.
        let counts = ["launches", "cache_hits", "cache_misses"].map(|count| entry[count].as_u64());
        assert_eq!((counts, &entry["selection_source"]), ([Some(5), Some(4), Some(1)], &json!("heuristic")), "{name}");
        assert!(entry["selected_config"]["BLOCK"].is_u64(), "{entry}");
    }
    let expected = json!({
        "cache_entries": 5, "launches": 25, "cache_hits": 20, "cache_misses": 5, "cache_hit_rate": 0.8,
    });
    assert_eq!(registry["summary"], expected);
}

#[test]
fn a_form_that_cannot_run_is_replaced_and_the_report_says_so() {
    let Some(machine) = Machine::complete() else { return };
    let sandbox = project();
    run(&sandbox, &machine, &["--dtype", "bf16"]).expect(0);
    // The packing and the unpacking of the report, and the control of the run.
    let refusing = machine.and("SPRAG_EMULATOR_PLANT", "refuse tile_pack TILE=4;refuse tile_unpack TILE=4");
    let options = ["--dtype", "bf16", "--tile-size", "4", "--trt-engine-path", "gone/m.plan"];
    let ended = run(&sandbox, &refusing, &options).expect(1);
    let ended =
        ended.says(&["warning: `tile_pack` ran in its plain form in the report: nvrtc_compile_failed: tile_pack.cu"]);
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
    let report = report(&sandbox);
    let one = |path: &str| report.pointer(&format!("/benchmarks/{path}")).expect("it is there").clone();
    for name in ["tilepack", "tileunpack"] {
        assert_eq!(one(&format!("tile_ops/{name}/backend")), "reference");
        let reason = one(&format!("tile_ops/{name}/fallback_reason"));
        assert!(reason.as_str().is_some_and(|reason| reason.starts_with("nvrtc_compile_failed: tile_")), "{reason}");
        assert!(one(&format!("tile_ops/{name}/dispatch/p50_ms")).as_f64().is_some_and(|time| time > 0.0));
    }
    assert_eq!((one("tile_ops/fusion_gate/backend"), one("tilessm/backend")), (json!("cuda"), json!("cuda")));
    assert!(one("end_to_end_infer/torch_triton_fastpath").get("fallback_reason").is_none());
    let engine = json!({ "status": "skipped", "reason": "engine_not_found:gone/m.plan" });
    assert_eq!(one("end_to_end_infer/tensorrt_engine"), engine);
    // What ran in its plain form was not launched with a chosen configuration.
    let entries = report["triton_autotune"]["entries"].as_array().expect("a list").iter();
    let names: Vec<&str> = entries.filter_map(|entry| entry["op_name"].as_str()).collect();
    assert_eq!(names, ["ff_path", "fusiongate_fuse", "tilessm_scan"]);
    assert_contains(&sandbox.read("gpu.md"), &["| TilePack | reference |"]);
}

#[test]
fn without_times_there_is_no_report() {
    let Some(machine) = Machine::complete() else { return };
    let sandbox = project();
    sandbox.write("gpu.json", "an older file");
    // Only the scan of the report is too large.
    let small = machine.and("SPRAG_EMULATOR_MEMORY", "6000000").and("SPRAG_EMULATOR_L2", "65536");
    let ended = run(&sandbox, &small, &["--dtype", "fp16", "--steps", "200000"]).expect(1);
    let ended = ended.says(&["cannot time single calls: `tile_ssm_scan`: insufficient_memory", "is not written"]);
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
    assert_eq!(sandbox.read("gpu.json"), "an older file");
    assert!(!sandbox.project.join("gpu.md").exists());
}

#[test]
fn eight_bits_run_where_the_device_has_them() {
    let Some(machine) = Machine::complete() else { return };
    let check = |capability: &str, effective: &str, reason: Value| {
        let sandbox = project();
        let machine = machine.clone().and("SPRAG_EMULATOR_CAPABILITY", capability);
        run(&sandbox, &machine, &["--dtype", "fp8"]).expect(0);
        let report = report(&sandbox);
        let environment = &report["environment"];
        assert_eq!((&environment["requested_dtype"], &environment["fp8_requested"]), (&json!("fp8"), &json!(true)));
        assert_eq!(
            (&environment["effective_dtype"], &environment["fp8_fallback_reason"]),
            (&json!(effective), &reason)
        );
        assert_eq!(environment["fp8_enabled"], json!(reason.is_null()));
        assert_eq!(environment["runtime_caps"]["fp8"]["reason"], reason);
        assert_eq!(report["config"]["dtype"], "fp8");
        for entry in report["triton_autotune"]["entries"].as_array().expect("a list") {
            let bucket = entry["shape_bucket"].as_str().expect("it is text");
            assert_contains(bucket, &[&format!("|dtype={effective}|")]);
        }
        let fallback = reason.as_str().map(|reason| format!("- fp8: `fallback` reason=`{reason}`\n"));
        assert_contains(&sandbox.read("gpu.md"), &[&fallback.unwrap_or_else(|| "- fp8: `enabled`\n".to_owned())]);
    };
    check("90", "float8_e4m3fn", json!(null));
    check("80", "float16", json!("compute_capability_below_sm90"));
}
