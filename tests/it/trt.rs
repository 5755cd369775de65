//! Sweeps over engines of TensorRT, with a script in place of `trtexec`.

use serde_json::{Value, json};

use crate::sandbox::{Ended, Sandbox, assert_contains, wait_for_end};

/// A recorded file of times and one of layers.
pub(crate) const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/golden/formats/trtexec");

const SUITE: &str = "[suites.trt]\nkind = \"trt\"\nengine = \"m.plan\"\ntrtexec = \"trtexec\"\nprocesses = 3\n\
                     warmup_milliseconds = 2\niterations = 5\nduration_seconds = 0\n";

/// A repository with the script, such an engine, and more settings of the suite.
pub(crate) fn sandbox(engine: &str, settings: &str) -> Sandbox {
    let sandbox = Sandbox::begun();
    sandbox.write("sprag.toml", &format!("[project]\nname = \"sandbox\"\n{SUITE}{settings}\n"));
    sandbox.write(".gitignore", "/_site\n/out\n/trtexec.log\n/pids\n");
    sandbox.write("m.plan", engine);
    sandbox.program("trtexec", include_str!("../../fixtures/trtexec/trtexec.sh"));
    sandbox.commit("Begin");
    sandbox
}

pub(crate) fn ids(run: &Value) -> Vec<&str> {
    let all = run["benchmarks"].as_array().expect("a list").iter();
    all.map(|one| one["id"].as_str().expect("an id")).collect()
}

pub(crate) fn run(sandbox: &Sandbox, options: &[&str], code: i32) -> (Ended, Value) {
    let arguments = [&["run", "--suite", "trt", "--output-run", "out/run.json"][..], options].concat();
    let ended = sandbox.sprag_with(&[("FAKE_GOLDEN", GOLDEN)], &arguments).expect(code);
    let run = sandbox.json("out/run.json");
    (ended, run)
}

#[test]
fn a_sweep_is_measured_recorded_and_reported() {
    let sandbox = sandbox("fine", "shape_cases = [\"image=8x3;centers=4x2\", \"image=9x9\"]");
    let outputs = ["--output-json", "out/sweep.json", "--output-md", "out/sweep.md", "--record"];
    let (ended, run) = run(&sandbox, &outputs, 1);
    assert_contains(&ended.out, &["wrote [project]/out/sweep.json"]);
    assert_eq!((&run["status"], run["benchmarks"].as_array().map(Vec::len)), (&json!("ok"), Some(3)));
    let shapes = "trt/engine{centers=4x2,image=8x3} @tensorrt";
    assert_eq!(ids(&run), ["trt/engine{case=default} @tensorrt", shapes, "trt/engine{image=9x9} @tensorrt"]);
    let case = &run["benchmarks"][1];
    assert_eq!(case["metrics"][0]["name"], "time");
    assert_eq!(case["metrics"][0]["workers"].as_array().map(Vec::len), Some(3));
    let time = case["metrics"][0]["value"].as_f64().expect("a time");
    assert!((time / 0.00204 - 1.0).abs() < 1e-6, "the warm-up takes 99 ms a call, the rest 2 ms: {time}");
    assert_eq!(case["metrics"][1]["name"], "frames_per_s");
    let frames = case["metrics"][1]["value"].as_f64().expect("a rate");
    assert!((frames * time / 8.0 - 1.0).abs() < 1e-6, "{frames}");
    let attributes = &case["attributes"];
    assert_eq!(attributes["case"], "case_001_8_3");
    assert_eq!((&attributes["mode"], &attributes["tensorrt"]), (&json!("modern_io_tensors"), &json!("10.3.0")));
    assert_eq!(attributes["engine"], "m.plan");
    let digest = run["config"]["engine_sha256"].as_str().expect("a digest");
    assert_eq!((digest.len(), attributes["engine_digest"].as_str()), (64, Some(&digest[..16])));
    let failure = run["benchmarks"][2]["failure"].as_str().expect("the shape is not taken");
    assert!(failure.starts_with("tensorrt_shape_outside_profile: Error[3]: Supplied binding"), "{failure}");
    assert_eq!(run["environment"]["facts"]["tensorrt"], "10.3.0");
    let project = sandbox.project.to_string_lossy().into_owned();
    assert!(!run.to_string().contains(&project), "a place of this machine is recorded: {run}");
    assert_eq!(sandbox.records("main").len(), 1);

    let text = sandbox.read("out/sweep.json");
    let report = crate::schemas::follows("apex-x-trt-report-1", &text);
    assert!(
        text.starts_with("{\n  \"schema_version\": 1,\n  \"suite\": \"apex_x_trt_engine_shape_sweep\",")
            && !text.ends_with('\n')
    );
    assert_eq!(report["config"]["trt_engine_path"], "m.plan");
    let labels: Vec<&Value> = report["cases"].as_array().into_iter().flatten().map(|case| &case["label"]).collect();
    assert_eq!(labels, ["default", "case_001_8_3", "case_002_9_9"]);
    let statuses = report["cases"].as_array().into_iter().flatten().map(|case| &case["status"]);
    assert_eq!(statuses.collect::<Vec<_>>(), ["ok", "ok", "skipped"]);
    assert_eq!((&report["status"], &report["summary"]["ok_count"]), (&json!("ok"), &json!(2)));
    let p50 = report["cases"][1]["metrics"]["p50_ms"].as_f64().expect("a time");
    assert!((p50 / 2.04 - 1.0).abs() < 1e-9, "{p50}");
    assert_contains(&sandbox.read("out/sweep.md"), &["| case_001_8_3 | ok | modern_io_tensors | 2.0400 | 2.0800 |"]);
}

#[test]
fn processes_alternate_and_receive_their_timing_options() {
    let sandbox = sandbox("fine", "shape_cases = [\"a=3\"]\nplugin_lib = \"p.so\"");
    sandbox.write("p.so", "a library");
    run(&sandbox, &["--warmup", "2", "--iters", "7"], 0);
    let log = sandbox.read("trtexec.log");
    let has_shapes: Vec<bool> = log.lines().map(|line| line.contains("--shapes=a:3 ")).collect();
    assert_eq!(has_shapes, [false, true, true, false, false, true], "{log}");
    let flags = "--warmUp=2 --duration=0 --iterations=9 --infStreams=1 --useCudaGraph --useSpinWait --noDataTransfers \
                 --percentile=50,95,99 --exportTimes=times.json";
    assert!(log.lines().all(|line| line.ends_with(flags) && line.contains("--dynamicPlugins=/")), "{log}");
    let old = [("FAKE_VERSION", "8601"), ("APEXX_TRT_PLUGIN_LIB", "p.so")];
    sandbox.sprag_with(&old, &["run", "--suite", "trt", "--quick"]).expect(0);
    assert!(sandbox.read("trtexec.log").lines().last().is_some_and(|line| line.contains("--plugins=/")));
}

#[test]
fn recorded_times_and_layers_are_read() {
    let sandbox = sandbox("golden", "");
    let config = sandbox.read("sprag.toml").replace("warmup_milliseconds = 2", "warmup_milliseconds = 0");
    sandbox.write("sprag.toml", &config);
    let (_, first) = run(&sandbox, &[], 0);
    assert_eq!(first["benchmarks"][0]["metrics"][0]["value"], json!(0.0002221395));
    sandbox.write("m.plan", "fine");
    let (_, run) = run(&sandbox, &["--trt-profile", "out/layers", "--quick"], 0);
    assert_eq!(run["benchmarks"][0]["attributes"]["slowest_layer"], "TileSSM_0 (40.0 %)");
    let layers = sandbox.json("out/layers/default.layers.json");
    assert_eq!(layers["layers"].as_array().map(Vec::len), Some(4));
    assert_eq!(sandbox.read("out/layers/default.layer-information.json"), "{\"Layers\": []}\n");
    assert!(sandbox.read("trtexec.log").lines().last().is_some_and(|line| line.contains("--separateProfileRun")));
}

#[test]
fn a_suite_that_no_file_names_runs_where_it_is_asked_for() {
    let sandbox = sandbox("fine", "");
    sandbox.write("sprag.toml", "[suites.cpu]\nkind = \"cpu\"\ninclude = [\"tile_ssm_scan\"]\n");
    sandbox.write("below/n.plan", "fine");
    let folder = &*sandbox.place("below");
    let options = ["--trt-engine-path", "n.plan", "--trtexec", "../trtexec", "--shape-case", "a=1x2", "--iters", "4"];
    let arguments = [&["-C", folder, "run", "--quick", "--suite", "trt", "--record"][..], &options].concat();
    sandbox.ends(0, &arguments);
    assert!(sandbox.records("main")[0].starts_with("history/v1/trt/"));
    let all = sandbox.ends(0, &["run", "--quick"]);
    assert!(!all.out.contains("trt/"), "{}", all.out);
    sandbox.ends(2, &["run", "--suite", "trt"]).says(&["no engine configured", "hint:", "--trt-engine-path"]);
}

#[test]
fn a_sweep_is_judged_against_its_baseline() {
    let sandbox = sandbox("fine", "");
    run(&sandbox, &["--record"], 0);
    sandbox.ends(0, &["baseline", "emit"]).prints(&["1 metric of trt"]);
    sandbox.ends(0, &["check"]).prints(&["trt/engine{case=default} @tensorrt"]);
    let record = sandbox.read("out/run.json").replace("0.00102", "0.00204");
    sandbox.write("out/slower.json", &record);
    sandbox.ends(1, &["check", "--run", "out/slower.json"]).prints(&["regressed"]);
    sandbox
        .sprag_with(&[("FAKE_VERSION", "101300")], &["run", "--suite", "trt", "--output-run", "out/new.json"])
        .expect(0);
    sandbox.ends(3, &["check", "--run", "out/new.json"]).prints(&["tensorrt 10.3.0"]);
    sandbox.ends(0, &["weekly"]).prints(&["engine{case=default}"]);
}

#[test]
fn what_is_missing_skips_the_suite_with_its_code() {
    let check = |engine: &str, settings: &str, options: &[&str], reason: &str| {
        let sandbox = sandbox(engine, settings);
        let report = [&["--output", "out/sweep.json"], options].concat();
        let (_, run) = run(&sandbox, &report, 5);
        assert_eq!(run["status"], "skipped", "{run}");
        let printed = run["reason"].as_str().expect("it says why");
        assert!(printed.starts_with(reason), "{printed}");
        let report = crate::schemas::follows("apex-x-trt-report-1", &sandbox.read("out/sweep.json"));
        assert_eq!((&report["status"], report["reason"].as_str()), (&json!("skipped"), Some(printed)));
        assert_eq!(report["summary"], json!({"ok_count": 0, "skipped_count": 1, "failed_count": 0}));
    };
    check("fine", "", &["--trtexec", "absent"], "tensorrt_trtexec_not_found: there is no program");
    check("fine", "", &["--trtexec", "m.plan"], "tensorrt_trtexec_not_found: `<path> is not executable");
    check("fine", "", &["--trtexec", "/bin/true"], "tensorrt_trtexec_not_found: the program found is not `trtexec`");
    check("fine", "", &["--trtexec", "/bin/false"], "tensorrt_trtexec_not_found: `trtexec` does not start");
    check("fine", "", &["--trt-engine-path", "n.plan"], "tensorrt_engine_missing: the engine `n.plan` is not there");
    check("", "", &[], "tensorrt_engine_missing: the engine `m.plan` is empty");
    check("fine", "", &["--trt-plugin-lib", "p.so"], "tensorrt_plugin_missing: there is no library `p.so`");
    check("plugin", "", &[], "tensorrt_plugin_missing: IPluginRegistry");
    check("incompatible", "shape_cases = [\"a=3\"]", &[], "tensorrt_engine_incompatible: Error[1]");
    check("buried", "", &[], "tensorrt_engine_incompatible: Error[1]");
    check("no-cuda", "", &[], "cuda_unavailable: Cuda failure");
}

#[test]
fn whatever_a_process_does_fails_its_case_and_no_more() {
    let check = |engine: &str, reason: &str| {
        let sandbox = sandbox(engine, "");
        let (ended, run) = run(&sandbox, &["--quick"], 1);
        assert_eq!(run["status"], "ok", "{run}");
        let failure = run["benchmarks"][0]["failure"].as_str().expect("the case has failed");
        assert!(failure.starts_with(reason), "{engine}: {failure}");
        assert_contains(&ended.out, &["failed: trt/engine{case=default} @tensorrt"]);
    };
    check("crash", "it did not report success; it was ended by signal 11");
    check("no-times", "it passed but wrote no times");
    check("garbage", "its times cannot be read: expected ident");
    check("truncated", "its times cannot be read: EOF");
    check("nan", "its times cannot be read: expected value");
    check("negative", "its times hold a call of -1 ms");
    let secret = "it reported failure; it ended with exit code 0 (Inference failed at <path> with token <redacted>";
    check("failed-well", secret);
    check("no-verdict", "it did not report success; it ended with exit code 0");
    check("talkative", "it wrote more than 16777216 bytes");
    check("binary", "it reported failure; it ended with exit code 1 (out of luck)");
    check("else", "it reported failure; it ended with exit code 1 (an engine of an unknown kind)");
}

#[test]
fn one_case_fails_and_the_others_stay() {
    let sandbox = sandbox("some", "shape_cases = [\"a=3x3\"]");
    let (_, run) = run(&sandbox, &["--output", "out/sweep.json"], 1);
    assert!(run["benchmarks"][0]["failure"].is_null() && run["benchmarks"][1]["failure"].is_string(), "{run}");
    let report = crate::schemas::follows("apex-x-trt-report-1", &sandbox.read("out/sweep.json"));
    assert_eq!((&report["status"], &report["cases"][1]["status"]), (&json!("partial"), &json!("failed")));
    // It is tried again, since it may have failed by chance.
    assert_eq!(sandbox.read("trtexec.log").lines().count(), 6);
}

#[test]
fn a_time_out_ends_all_that_was_started() {
    let sandbox = sandbox("hang", "timeout_seconds = 2");
    let (_, run) = run(&sandbox, &[], 1);
    let failure = run["benchmarks"][0]["failure"].as_str().expect("the case has failed");
    assert_eq!(failure, "tensorrt_timeout: it took longer than 2 s and was killed");
    assert_eq!(sandbox.read("trtexec.log").lines().count(), 1, "what hangs is not tried again");
    wait_for_end(sandbox.read("pids").lines());
}

#[test]
fn impossible_settings_are_refused_before_measuring() {
    let sandbox = sandbox("fine", "[suites.cpu]\nkind = \"cpu\"");
    sandbox.write("sprag.toml", &sandbox.read("sprag.toml").replace("processes = 3", "shape_cases = [\"a\"]"));
    let words = ["`suites.trt.shape_cases` in sprag.toml `a`", "has no `=`"];
    sandbox.ends(2, &["run", "--quick"]).says(&words);
    sandbox.ends(2, &["weekly"]).says(&["shape_cases"]);
    assert!(!sandbox.project.join("trtexec.log").exists(), "it was started all the same");
}

#[test]
fn what_happens_once_is_reported() {
    let (_, flaky) = run(&sandbox("flaky", ""), &[], 0);
    assert_eq!(flaky["benchmarks"][0]["metrics"][0]["workers"].as_array().map(Vec::len), Some(2));
    let reasons = flaky["quality"]["reasons"].to_string();
    assert_contains(&reasons, &["default, process 2: it did not report success; it was ended by signal 11"]);
    let (_, without_graph) = run(&sandbox("no-graph", ""), &[], 0);
    let reasons = without_graph["quality"]["reasons"].to_string();
    assert_eq!(reasons.matches("default: TensorRT cannot capture the engine as a CUDA graph").count(), 1, "{reasons}");
}
