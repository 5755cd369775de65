//! CUDA kernels of the user on the emulator: measured, tuned, judged, and each fault named at its benchmark.

use serde_json::{Value, json};

use crate::emulator::Machine;
use crate::sandbox::{Ended, Sandbox, assert_contains, wait_for_end};

const SAXPY_SOURCE: &str = include_str!("../../fixtures/projects/saxpy.cu");

const SOURCE: &str = include_str!("../../fixtures/projects/all.cu");

const SAXPY: &str = include_str!("../../fixtures/projects/saxpy.toml");

/// A reference that has its results ready.
const TRANSPOSED: &str = "#!/bin/sh\ntest -n \"$SCALE\" && cmp in.npy \"$1/in.npy\" && test -s \"$1/rows.npy\" && cp out.npy \"$2/out.npy\"\n";

/// A file as NumPy saves it.
fn npy(kind: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    [b"\x93NUMPY\x01\x00v\x00", format!("{header:<117}\n").as_bytes(), bytes].concat()
}

/// A suite of the hot track with these kernels.
fn project(settings: &str, kernels: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let suite = format!("kind = \"cuda\"\nprocesses = 1\ninclude = [\"track=hot\"]\n{settings}");
    sandbox.write("sprag.toml", &format!("[project]\nname = \"sandbox\"\n[suites.mine]\n{suite}\n{kernels}"));
    sandbox.write("kernels/saxpy.cu", SAXPY_SOURCE);
    sandbox.commit_with("kernels/all.cu", SOURCE, "Add kernels");
    sandbox
}

#[track_caller]
fn run(sandbox: &Sandbox, machine: &Machine, arguments: &[&str], code: i32) -> (Ended, Value) {
    let all = [&["run", "--output-run", "run.json"], arguments].concat();
    let ended = sandbox.sprag_with(&machine.variables(), &all).expect(code);
    (ended, sandbox.json("run.json"))
}

fn benchmark<'a>(record: &'a Value, name: &str) -> &'a Value {
    let all = record["benchmarks"].as_array().expect("there are benchmarks");
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("there is no {name}"))
}

#[test]
fn commits_of_a_kernel_take_turns_and_the_slow_one_is_named() {
    let Some(machine) = Machine::complete() else { return };
    let sandbox = project("", SAXPY);
    let wait = "for (volatile int wait = 0; wait < 300;) wait = wait + 1;\n    for (int k = 0";
    let slow = SAXPY_SOURCE.replace("for (int k = 0", wait);
    sandbox.append("kernels/saxpy.cu", "// Another line.\n");
    sandbox.commit("Comment");
    for subject in ["Wait", "Wait on"] {
        sandbox.commit_with("kernels/saxpy.cu", &format!("{slow}// {subject}\n"), subject);
    }
    let compare = ["compare", "HEAD~3", "HEAD", "--measure", "--suite", "mine", "--quick"];
    sandbox.sprag_with(&machine.variables(), &compare).expect(1).prints(&["mine/saxpy{n=5000,track=hot}", "regressed"]);
    let ended = sandbox.sprag_with(&machine.variables(), &["bisect", "HEAD~3", "HEAD", "--suite", "mine"]).expect(0);
    ended.prints(&["Wait", "kernels/saxpy.cu"]);
    let ended = sandbox.sprag_with(&machine.variables(), &["run", "--commit", "HEAD~3", "--suite", "mine", "--quick"]);
    ended.expect(0).prints(&["mine/saxpy{n=5000,track=hot}"]);
}

#[test]
fn a_kernel_is_checked_tuned_recorded_and_judged() {
    let Some(machine) = Machine::complete() else { return };
    let sandbox = project("", SAXPY);
    let (ended, record) = run(&sandbox, &machine, &["--record"], 0);
    assert_contains(&ended.err, &["choosing configurations"]);
    let saxpy = benchmark(&record, "saxpy");
    assert_eq!(saxpy["id"], "mine/saxpy{n=5000,track=hot} @cuda");
    assert_eq!(saxpy["parity"]["status"], "exact");
    let attributes = &saxpy["attributes"];
    assert_eq!(attributes["ratio_to"], "empty launch (hot)");
    assert_eq!(attributes["limit"], "device copy 30000 B (hot) for 60000 bytes");
    let metrics = saxpy["metrics"].to_string();
    assert_contains(&metrics, &["operations_per_s", "limit_share", "above_floor", "ratio"]);
    let tuned = &record["autotune"][0];
    let candidates: Vec<&String> = tuned["candidates"].as_object().expect("candidates").keys().collect();
    assert_eq!(candidates, ["BLOCK=32 PER=1", "BLOCK=32 PER=4", "BLOCK=64 PER=1"]);
    assert_eq!((&attributes["configuration"], &tuned["failures"]), (&tuned["selected"], &json!({})));
    assert_eq!(benchmark(&record, "aa_control")["attributes"]["configuration"], tuned["selected"]);
    assert_eq!(record["config"]["kernels"]["saxpy"]["reference"], "kernel");
    assert!(
        record["machine"]["class"] == "Sprag host emulator" && benchmark(&record, "aa_control")["failure"].is_null()
    );

    sandbox.sprag_with(&machine.variables(), &["baseline", "emit"]).expect(0);
    sandbox.sprag_with(&machine.variables(), &["check"]).expect(0).prints(&["check: pass"]);

    // The stored choice is for this source.
    let (second, _) = run(&sandbox, &machine, &["--quick"], 0);
    assert!(!second.err.contains("choosing"), "{}", second.err);
    sandbox.edit("kernels/saxpy.cu", "a * x[i + k] + y", "x[i + k] * a + y");
    let (_, changed) = run(&sandbox, &machine, &["--quick"], 0);
    assert_eq!(changed["autotune"][0]["source"], "default");
    let digest = |record: &Value| record["config"]["kernels"]["saxpy"]["source"].clone();
    assert_ne!(digest(&record), digest(&changed));

    let all = sandbox.sprag_with(&machine.variables(), &["kernels", "check", "--suite", "mine"]).expect(0);
    all.prints(&["9 checks on Sprag host emulator: 0 failed"]);
    let compiled = ["kernels", "compile", "--suite", "mine", "--arch", "90", "--json"];
    let compiled = sandbox.sprag_with(&machine.variables(), &compiled).expect(0).json();
    assert_eq!(compiled["kernels"].as_array().map(Vec::len), Some(3));

    // A machine without a device skips it with the reason.
    let Some(gone) = Machine::with(&[]) else { return };
    let (skipped, _) = run(&sandbox, &gone, &[], 5);
    skipped.prints(&["skipped at ", "cuda_driver_not_found"]);
}

#[test]
fn three_commands_lead_from_a_source_to_a_gate() {
    let Some(machine) = Machine::complete() else { return };
    let sandbox = Sandbox::begun();
    sandbox.write(
        "kernels/saxpy.cu",
        &SAXPY_SOURCE[SAXPY_SOURCE.find("extern \"C\" __global__ void plain").expect("it is there")..],
    );
    let sprag = |arguments: &[&str]| sandbox.sprag_with(&machine.variables(), arguments).expect(0);
    sprag(&["init"]).prints(&["found        CUDA: kernels/saxpy.cu", "measured     cuda: 9 benchmarks"]);
    let words = [
        "name = \"plain\"",
        "{ name = \"y\", type = \"f32\", shape = \"n\", role = \"update\" }",
        "reference = \"none\"",
    ];
    assert_contains(&sandbox.read("sprag.toml"), &words);
    sandbox.commit("Add a kernel");
    sprag(&["run", "--record"]);
    sprag(&["baseline", "emit"]);
    sprag(&["check"]).prints(&["cuda/plain{n=1024,track=hot} @cuda", "check: pass"]);
}

/// A kernel with these keys; others have usual values.
fn kernel(name: &str, keys: &str) -> String {
    let has = |key: &str| keys.lines().any(|line| line.starts_with(&format!("{key} =")));
    let usual = [
        ("file", "\"kernels/all.cu\""),
        ("grid", "1"),
        ("block", "\"n\""),
        ("shapes", "[{ n = 32 }]"),
        ("reference", "{ entry = \"right\" }"),
        (
            "arguments",
            "[{ name = \"n\", type = \"i32\", value = \"n\" }, { name = \"y\", type = \"f32\", shape = \"n\", role = \"output\" }]",
        ),
    ];
    let usual: String =
        usual.iter().filter(|(key, _)| !has(key)).map(|(key, value)| format!("{key} = {value}\n")).collect();
    format!("[[suites.mine.kernel]]\nname = \"{name}\"\n{usual}{keys}\n")
}

#[test]
fn each_fault_of_a_kernel_is_named_and_the_others_go_on() {
    let Some(machine) = Machine::complete() else { return };
    let with_input = "arguments = [{ name = \"n\", type = \"i32\", value = \"n\" }, { name = \"x\", type = \"f32\", shape = \"n\" }, \
                      { name = \"y\", type = \"f32\", shape = \"n\", role = \"output\" }]\nreference = \"none\"";
    let transposed = "block = [16, 8]\nshapes = [{ rows = 3, columns = 4 }]\narguments = [\
        { name = \"rows\", type = \"i32\", value = \"rows\" }, { name = \"columns\", type = \"i32\", value = \"columns\" }, \
        { name = \"in\", type = \"i16\", shape = [\"rows\", \"columns\"], fill = \"iota\" }, \
        { name = \"out\", type = \"i16\", shape = [\"columns\", \"rows\"], role = \"output\" }]\n";
    let by = |command: &str| format!("{transposed}reference = {{ command = [{command}] }}\nentry = \"transpose\"");
    let filled = with_input.replace("shape = \"n\" }", "shape = \"n\", fill = \"x_{n}.npy\" }");
    let cases = [
        ("broken", "file = \"kernels/broken.cu\"".to_owned(), &["nvrtc_compile_failed: kernels/broken.cu: ", "kernels/broken.cu:2"][..]),
        ("missing", "file = \"kernels/none.cu\"".to_owned(), &["source_not_read: `kernels/none.cu`"]),
        ("unused", "entry = \"right\"\nreference = \"none\"\nconstants = { BLOK = [1, 2] }".to_owned(), &["source_not_read: the constant `BLOK` of `kernels/all.cu` occurs neither in the source nor"]),
        ("absent", String::new(), &["kernel_not_found: `kernels/all.cu` has no kernel `absent`; there is `also_right`, `before`, `copy`"]),
        ("nothing", String::new(), &["parity: `y` at n=32: element 0 is NaN (not written, or computed so), the reference has 0"]),
        ("wrong", String::new(), &["element 7 is 8, the reference has 7; 1 of 32 elements differ by more than 1e-5"]),
        ("overrun", "block = \"n + 3\"\nreference = \"none\"".to_owned(), &["`y` at n=32: 12 bytes behind its end are overwritten, up to 12 bytes away"]),
        ("before", "reference = \"none\"".to_owned(), &["`y` at n=32: 12 bytes in front of its start are overwritten, up to 12 bytes away"]),
        ("input", with_input.to_owned(), &["parity: `x` at n=32: the kernel writes to it, but its role is not `update`"]),
        ("endless", String::new(), &["crashed in it: it sent nothing for 4 s and was stopped"]),
        ("large", "shared = 200_000".to_owned(), &["launch_refused: `large` takes 280000 bytes of shared memory a block, the device has 232448"]),
        ("threads", "entry = \"right\"\nreference = { entry = \"plain\" }\nblock = [64, 32]".to_owned(), &["launch_refused: `right` has a grid of 1 x 1 x 1 blocks of 64 x 32 x 1 threads"]),
        ("count", "entry = \"plain\"".to_owned(), &["launch_refused: `plain` has 4 parameters, 2 arguments are given"]),
        ("size", "entry = \"input\"\nreference = \"none\"\narguments = [{ name = \"n\", type = \"i64\", value = \"n\" }, { name = \"x\", type = \"f32\", shape = \"n\" }, { name = \"y\", type = \"f32\", shape = \"n\", role = \"output\" }]".to_owned(), &["parameter 1 of `input` has 4 bytes, its argument has 8"]),
        ("overflow", "entry = \"right\"\nreference = \"none\"\nshared = \"n * 9_000_000_000_000_000_000\"".to_owned(), &["`shared`: `n * 9_000_000_000_000_000_000`, character 3: the result exceeds 64 bits"]),
        ("blamed", format!("entry = \"copy\"\n{}", with_input.replace("\"none\"", "{ entry = \"input\" }")), &["reference_failed: in the kernel `input`, `x` at n=32: the kernel writes to it"]),
        ("bounds", format!("entry = \"copy\"\n{}", with_input.replace("shape = \"n\" }", "shape = \"n\", fill = \"uniform\", low = 5, high = 1 }")), &["`x`: `high` is 1, which is not above `low`, 5"]),
        ("file", filled.replace("entry", ""), &["`x_32.npy`, the content of `x`, cannot be read"]),
        ("command", by("\"sh\", \"-c\", \"echo no luck >&2; exit 1\""), &["reference_failed: `sh`: it ended with exit code 1 (no luck)"]),
        ("unset", by("\"sh\", \"-c\", \"echo set $SCALE or SCALE >&2; exit 1\""), &["(set or SCALE); not passed to it: `SCALE`, which `pass_env` allows"]),
        ("unwritten", "reference = { entry = \"idle\" }\nentry = \"lazy\"\narguments = [{ name = \"n\", type = \"i32\", value = \"n\" }, { name = \"y\", type = \"i32\", shape = \"n\", role = \"output\" }]".to_owned(), &["`y` at n=32: element 0 is -1, the reference has 1515870810"]),
        ("hung", by("\"sh\", \"-c\", \"echo $$ > hung; exec sleep 1000\""), &["crashed in it: it sent nothing for 4 s and was stopped"]),
        ("silent", by("\"true\""), &["reference_failed: the reference of `out`, `out.npy`, cannot be read"]),
    ];
    let mut kernels: String = cases.iter().map(|(name, keys, _)| kernel(name, keys)).collect();
    // On the memory behind which `overrun` wrote.
    kernels += &kernel("right_again", "entry = \"also_right\"");
    kernels += &kernel("right", "reference = { entry = \"also_right\", file = \"kernels/also.cu\" }");
    kernels += &kernel(
        "transpose",
        &format!("{transposed}reference = {{ command = [\"sh\", \"./transposed\"], pass_env = [\"SCAL*\"] }}"),
    );
    let sandbox = project("timeout_seconds = 4", &kernels);
    sandbox
        .write("kernels/broken.cu", "extern \"C\" __global__ void broken(int n, float* y) {\n    y[0] = nothing;\n}\n");
    sandbox.write("kernels/also.cu", "#include \"also.cuh\"\nextern \"C\" __global__ void also_right(int n, float* y) { y[threadIdx.x] = THREAD; }\n");
    sandbox.write("kernels/also.cuh", "#define THREAD float(threadIdx.x)\n");
    sandbox.write("transposed", TRANSPOSED);
    let bytes = |values: [i16; 12]| values.map(i16::to_le_bytes).concat();
    let arrays = [
        ("in.npy", "3,4,", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("out.npy", "4,3,", [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]),
    ];
    for (name, shape, values) in arrays {
        std::fs::write(sandbox.project.join(name), npy("<i2", shape, &bytes(values))).expect("a file");
    }
    let (ended, record) = run(&sandbox, &machine.and("SCALE", "1"), &["--quick"], 1);
    for (name, _, words) in &cases {
        let failure = benchmark(&record, name)["failure"].as_str().unwrap_or_else(|| panic!("{name} has no failure"));
        assert_contains(failure, words);
    }
    for name in ["right", "right_again", "transpose"] {
        assert_eq!(benchmark(&record, name)["parity"]["status"], "exact", "{}", benchmark(&record, name));
    }
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
    // The reference does not outlive its worker.
    wait_for_end(std::iter::once(sandbox.read("hung").trim()));
}

#[test]
fn a_kernel_that_overwrites_its_input_fails_alone() {
    let Some(machine) = Machine::complete() else { return };
    let arguments = "arguments = [{ name = \"n\", type = \"i32\", value = \"n\" }, { name = \"x\", type = \"f32\", shape = \"n\", fill = \"x.npy\" }, \
                     { name = \"y\", type = \"f32\", shape = \"n\", role = \"output\" }]";
    let copy = format!("entry = \"copy\"\n{arguments}\nreference = {{ files = {{ y = \"x.npy\" }} }}");
    let input = format!("{arguments}\nreference = \"none\"");
    let sandbox = project(
        "",
        &[("first", &copy), ("input", &input), ("second", &copy)].map(|(name, keys)| kernel(name, keys)).concat(),
    );
    let values: Vec<u8> = (0..32).flat_map(|value| (value as f32).to_le_bytes()).collect();
    std::fs::write(sandbox.project.join("x.npy"), npy("<f4", "32,", &values)).expect("a file");
    let (_, record) = run(&sandbox, &machine, &["--quick"], 1);
    assert!(benchmark(&record, "input")["failure"].is_string());
    for name in ["first", "second"] {
        assert_eq!(benchmark(&record, name)["parity"]["status"], "exact", "{}", benchmark(&record, name));
    }
}

#[test]
fn a_check_that_hangs_or_crashes_is_named_and_the_others_are_made() {
    let Some(machine) = Machine::complete() else { return };
    let serial = "check_shapes = [{ n = 7 }]\nreference = { entry = \"serial\", block = 1 }";
    let nothing = "entry = \"right\"\nreference = \"none\"\nbytes = \"n - 32\"";
    let kernels = [("endless", ""), ("far", ""), ("before", ""), ("zero", nothing), ("right", serial)];
    let sandbox = project("timeout_seconds = 4", &kernels.map(|(name, keys)| kernel(name, keys)).concat());
    let checked = |machine: &Machine, arguments: &[&str], code| {
        let all = [&["kernels", "check", "--suite", "mine"], arguments].concat();
        sandbox.sprag_with(&machine.variables(), &all).expect(code)
    };
    checked(&machine, &[], 1).prints(&[
        "failed: endless n=32 f32 as written: crashed in it: it sent nothing for 4 s and was stopped\n",
        "failed: far n=32 f32 as written: crashed in it: it was ended by signal 11\n",
        "failed: before n=32 f32 as written: parity: `y` at n=32: 12 bytes in front of its start are overwritten",
        "failed: zero n=32 f32 as written: `bytes` is 0; it must be above zero\n",
        "6 checks on Sprag host emulator: 4 failed\n",
    ]);
    let report = checked(&machine, &["--json", "--filter", "far", "--filter", "right"], 1).json();
    let statuses: Vec<&Value> = report["checks"].as_array().expect("checks").iter().map(|one| &one["status"]).collect();
    assert_eq!(statuses, ["failed", "exact", "exact"]);
    let races = machine.and("SPRAG_EMULATOR_SANITIZE", "races");
    checked(&races, &["--filter", "right"], 0).prints(&["2 checks on Sprag host emulator: 0 failed"]);
}

#[test]
fn a_compiled_kernel_and_files_of_results_are_read() {
    let Some(machine) = Machine::complete() else { return };
    let kernels = kernel("right", "reference = { files = { y = \"y_{n}.npy\" } }");
    let sandbox = project("", &kernels);
    let values: Vec<u8> = (0..32_u8).flat_map(|value| f32::from(value).to_le_bytes()).collect();
    std::fs::write(sandbox.project.join("y_32.npy"), npy("<f4", "32,", &values)).expect("a file");
    let (_, record) = run(&sandbox, &machine, &["--quick"], 0);
    assert_eq!(benchmark(&record, "right")["parity"]["status"], "exact");

    let compiled = std::fs::read_dir(sandbox.project.join(".sprag/compiled")).expect("a folder");
    let images = compiled.map(|entry| std::fs::read_to_string(entry.expect("an entry").path()).expect("a text"));
    let own = images.into_iter().find(|text| !text.contains("ELEMENT")).expect("one is of the user");
    sandbox.write("kernels/right.ptx", &own);
    sandbox.edit("sprag.toml", "kernels/all.cu", "kernels/right.ptx");
    let (_, record) = run(&sandbox, &machine, &["--quick"], 0);
    assert_eq!(benchmark(&record, "right")["parity"]["status"], "exact");
    sandbox.write("kernels/right.ptx", "no image\n");
    let (_, record) = run(&sandbox, &machine, &["--quick"], 1);
    let failure = benchmark(&record, "right")["failure"].as_str().expect("it fails");
    assert_contains(
        failure,
        &[
            "kernel_not_loaded: `kernels/right.ptx` for sm_90: CUDA_ERROR_INVALID_IMAGE (the image has no first line; nothing else)",
        ],
    );
}
