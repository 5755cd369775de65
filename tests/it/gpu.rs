//! The GPU suite on the emulator: what a run holds, how it is judged, and which element types run.

use serde_json::{Value, json};

use crate::emulator::{Machine, Part};
use crate::sandbox::{Ended, Sandbox};

const SUITES: &str = "[project]\nname = \"sandbox\"\n[suites.gpu]\nkind = \"gpu\"\nprocesses = 1\n\
    [suites.cpu]\nkind = \"cpu\"\ninclude = [\"tile_ssm_scan\"]\n";

/// Sizes that the emulator computes in moments.
const SMALL: [&str; 13] =
    ["run", "--suite", "gpu", "--channels", "8", "--height", "32", "--width", "32", "--kmax", "4", "--steps", "64"];

pub(crate) struct Measured {
    pub(crate) ended: Ended,
    pub(crate) record: Value,
}

pub(crate) fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit_with("sprag.toml", SUITES, "Measure a device");
    sandbox
}

/// The id of a benchmark at the small sizes with 16-bit elements.
pub(crate) fn one(operation: &str, track: &str) -> String {
    id(operation, "f16", track, "cuda")
}

fn id(operation: &str, dtype: &str, track: &str, variant: &str) -> String {
    let params = match operation {
        "tile_pack" => format!("b=1,c=8,dtype={dtype},h=32,k=4,t=8,track={track},w=32"),
        "fusion_gate" => format!("b=1,c=8,dtype={dtype},h=32,track={track},w=32"),
        other => panic!("`{other}` is not asked for"),
    };
    format!("gpu/{operation}{{{params}}} @{variant}")
}

/// Runs the suite at small sizes.
#[track_caller]
pub(crate) fn measure(sandbox: &Sandbox, machine: &Machine, arguments: &[&str], code: i32) -> Measured {
    let arguments: Vec<&str> = SMALL.iter().chain(&["--output-run", "run.json"]).chain(arguments).copied().collect();
    let ended = sandbox.sprag_with(&machine.variables(), &arguments).expect(code);
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
    Measured { ended, record: sandbox.json("run.json") }
}

impl Measured {
    pub(crate) fn benchmarks(&self) -> impl Iterator<Item = (&str, &Value)> {
        let all = self.record["benchmarks"].as_array().expect("there are benchmarks");
        all.iter().map(|one| (one["id"].as_str().expect("an id is text"), one))
    }

    #[track_caller]
    pub(crate) fn benchmark(&self, wanted: &str) -> &Value {
        self.benchmarks().find(|(id, _)| *id == wanted).unwrap_or_else(|| panic!("there is no {wanted}")).1
    }

    /// The ids of failed benchmarks with their failures.
    pub(crate) fn failures(&self) -> Vec<(&str, &str)> {
        self.benchmarks().filter_map(|(id, one)| Some((id, one["failure"].as_str()?))).collect()
    }

    pub(crate) fn quality(&self) -> String {
        self.record["quality"]["reasons"].to_string()
    }
}

fn metric<'a>(benchmark: &'a Value, name: &str) -> Option<&'a Value> {
    benchmark["metrics"].as_array().expect("there are metrics").iter().find(|metric| metric["name"] == name)
}

#[track_caller]
fn value(benchmark: &Value, name: &str) -> f64 {
    let metric = metric(benchmark, name).unwrap_or_else(|| panic!("no {name} in {benchmark}"));
    metric["value"].as_f64().expect("a value is a number")
}

#[test]
fn a_run_is_recorded_judged_and_missed_when_the_device_is_gone() {
    let Some(machine) = Machine::complete() else { return };
    let sandbox = project();
    // So short a time allows one process with the fewest rounds.
    let measured = measure(&sandbox, &machine, &["--budget", "1s", "--dtype", "fp16", "--record"], 0);
    assert_eq!(measured.failures(), []);
    check_benchmarks(&measured);
    check_facts(&measured.record);

    let emit = |suite: &str| sandbox.sprag_with(&machine.variables(), &["baseline", "emit", "--suite", suite]);
    emit("gpu").expect(0);
    let check = |machine: &Machine| sandbox.sprag_with(&machine.variables(), &["check", "--suite", "gpu"]);
    check(&machine).expect(0).prints(&["check: pass"]);

    // Without its device a machine is of another class, and its baseline counts all the same.
    let Some(gone) = Machine::with(&[]) else { return };
    sandbox.sprag_with(&gone.variables(), &["run", "--suite", "gpu", "--record"]).expect(5);
    check(&gone).expect(5).prints(&["skipped, cuda_driver_not_found", "baselines/gpu.", "check: not measured"]);
    sandbox.sprag_with(&gone.variables(), &["run", "--suite", "cpu", "--quick", "--record"]).expect(0);
    sandbox.sprag_with(&gone.variables(), &["baseline", "emit", "--suite", "cpu"]).expect(0);
    sandbox.sprag_with(&gone.variables(), &["check"]).expect(5);
    sandbox.sprag_with(&gone.variables(), &["check", "--suite", "cpu"]).expect(0);
}

#[track_caller]
fn check_benchmarks(measured: &Measured) {
    let names: std::collections::BTreeSet<&str> =
        measured.benchmarks().map(|(_, one)| one["name"].as_str().expect("a name is text")).collect();
    let expected = "aa_control calibration_device_copy calibration_device_launch ff_path fused_pack_op_unpack \
                    fusion_gate tile_pack tile_ssm_scan tile_unpack";
    assert!(names.iter().copied().eq(expected.split_whitespace()), "{names:?}");
    let plain = measured.benchmark(&id("fusion_gate", "f16", "hot", "reference"));
    assert_eq!((&plain["parity"]["status"], plain.get("role")), (&json!("reference"), None));
    for track in ["hot", "rotating", "cold", "host"] {
        let gate = measured.benchmark(&one("fusion_gate", track));
        let role = if track == "hot" { None } else { Some(&json!("reported")) };
        assert_eq!(gate.get("role"), role, "the hot track is what a gate looks at");
        assert!(["exact", "within"].contains(&gate["parity"]["status"].as_str().expect("text")), "{gate}");
        let attributes = &gate["attributes"];
        assert_eq!(attributes["class"], "device");
        assert_eq!(attributes["ratio_to"], format!("empty launch ({track})"));
        // Three maps of 8 channels and three of one, 32 x 32 pixels of 2 bytes each.
        let bytes = 2 * 32 * 32 * (3 * 8 + 3);
        assert_eq!(attributes["limit"], format!("device copy {} KiB ({track}) for {bytes} bytes", bytes / 2 / 1024));
        assert!(attributes["configuration"].as_str().is_some_and(|name| name.starts_with("block")), "{attributes}");
        // The clocks are measured by a kernel and read from the library.
        assert_eq!(attributes["gpu_memory_clock"], "3201 MHz");
        assert!(attributes["gpu_clock"].as_str().is_some_and(|clock| clock.ends_with(" MHz")), "{attributes}");
        assert!(attributes.get("gpu_temperature").is_some() && attributes.get("gpu_power").is_some());
        assert!(attributes.get("throttled_blocks").is_none(), "{attributes}");
        for name in ["time", "elements_per_s", "ratio", "limit_share", "above_floor"] {
            assert!(value(gate, name) > 0.0, "{name} of {track}");
        }
        // Inputs and outputs of one call, once for each set of a rotation.
        let memory = value(gate, "peak_memory");
        assert!(
            if track == "rotating" { memory > 3.0 * 1024.0 * 1024.0 } else { memory >= f64::from(bytes) },
            "{memory}"
        );
        let floor = measured.benchmark(&format!("gpu/calibration_device_launch{{track={track}}} @calibration"));
        assert!(value(floor, "launches_per_s") > 0.0);
    }
    let control = measured.benchmark("gpu/aa_control{of=tile_pack} @control");
    assert!(value(control, "ratio") > 0.0 && metric(control, "above_floor").is_none(), "{control}");
}

#[track_caller]
fn check_facts(record: &Value) {
    assert_eq!(record["machine"]["class"], "Sprag host emulator");
    let facts = &record["environment"]["facts"];
    for (name, value) in [
        ("gpu_driver", "580.65.06"),
        ("nvrtc", "13.0"),
        ("nvml", "13.580.65.06"),
        ("gpu_compute_capability", "9.0"),
        ("gpu_multiprocessors", "4"),
        ("gpu_l2_bytes", "1048576"),
        ("gpu_memory_bytes", "8589934592"),
        ("gpu_ecc", "on"),
        ("gpu_mig", "off"),
        ("gpu_compute_mode", "default"),
        ("gpu_power_limit_watts", "700"),
    ] {
        assert_eq!(facts[name], value, "{name}");
    }
    assert!(!record.to_string().contains("53707261"), "the number of the device is nobody's business");
    let config = &record["config"];
    assert_eq!((&config["dtypes"], &config["requested_dtypes"]), (&json!(["f16"]), &json!(["fp16"])));
    assert_eq!((&config["profiles"][0]["channels"], &config["profiles"][0]["scan"]["steps"]), (&json!(8), &json!(64)));
    assert!(record["autotune"].as_array().is_some_and(|entries| entries.iter().all(|entry| entry["key"].is_string())));
}

#[test]
fn the_element_type_that_is_asked_for_runs_where_the_device_has_it() {
    let Some(machine) = Machine::complete() else { return };
    let sandbox = project();
    let check = |asked: &str, capability: &str, runs: &str, reason: Option<&str>| {
        let machine = machine.clone().and("SPRAG_EMULATOR_CAPABILITY", capability);
        let wanted = id("tile_pack", runs, "hot", "cuda");
        let measured = measure(&sandbox, &machine, &["--quick", "--dtype", asked, "--filter", &wanted], 0);
        assert_eq!(measured.benchmark(&wanted)["parity"]["status"], "exact");
        let config = &measured.record["config"];
        assert_eq!((&config["requested_dtypes"], &config["dtypes"]), (&json!([asked]), &json!([runs])));
        assert_eq!(config.get("dtype_fallback_reason").and_then(Value::as_str), reason, "{asked} {capability}");
    };
    check("bf16", "90", "bf16", None);
    check("fp32", "80", "f32", None);
    check("fp8", "90", "e4m3", None);
    check("fp8", "80", "f16", Some("compute_capability_below_sm90"));
}

#[test]
fn without_the_management_library_a_device_is_measured_all_the_same() {
    let Some(machine) = Machine::with(&[Part::Driver, Part::Compiler]) else { return };
    let wanted = one("tile_pack", "hot");
    let sandbox = project();
    let measured = measure(&sandbox, &machine, &["--quick", "--dtype", "fp16", "--filter", &wanted], 0);
    let facts = &measured.record["environment"]["facts"];
    assert!(facts["nvml"].as_str().is_some_and(|fact| fact.starts_with("nvml_unavailable: ")), "{facts}");
    assert_eq!((&facts["gpu_driver"], facts.get("gpu_ecc")), (&json!("CUDA 13.0"), None));
    let attributes = &measured.benchmark(&wanted)["attributes"];
    assert!(attributes.get("gpu_temperature").is_none() && attributes.get("gpu_clock").is_some(), "{attributes}");
    // Boards that answer some questions only.
    let Some(machine) = Machine::complete() else { return };
    let machine = machine.and("SPRAG_EMULATOR_NVML", "nvmlDeviceGetPowerUsage,nvmlDeviceGetEccMode");
    let measured = measure(&sandbox, &machine, &["--quick", "--dtype", "fp16", "--filter", &wanted], 0);
    let attributes = &measured.benchmark(&wanted)["attributes"];
    assert!(attributes.get("gpu_power").is_none() && attributes.get("gpu_temperature").is_some(), "{attributes}");
    assert!(measured.record["environment"]["facts"].get("gpu_ecc").is_none());
}
