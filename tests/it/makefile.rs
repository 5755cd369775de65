//! The targets of the Makefile: what they would run, and what comes of it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::sandbox::Sandbox;

/// What `make -n` would run; absent where there is no make.
fn planned(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("make");
    command.arg("-n").args(arguments).current_dir(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
    // Those of a make that runs these tests are not meant for this one.
    let ended = command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("MFLAGS").output().ok()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "make -n {arguments:?}: {said}");
    Some(String::from_utf8_lossy(&ended.stdout).into_owned())
}

#[test]
fn the_targets_measure_save_and_judge_through_sprag() {
    let check = |arguments: &[&str], words: &[&str]| match planned(arguments) {
        None => eprintln!("skipped: there is no make"),
        Some(text) => {
            for word in words {
                assert!(text.contains(word), "`{word}` is not in:\n{text}");
            }
        }
    };
    let sprag = "cargo run --release --quiet -- ";
    check(&[], &["make bench-save-baseline", "make bench-compare"]);
    check(
        &["bench-save-baseline"],
        &[
            &format!("{sprag}run --suite 'cpu'  --output-run 'target/bench-cpu.json'\n"),
            &format!("{sprag}baseline emit --suite 'cpu' --run 'target/bench-cpu.json'\n"),
        ],
    );
    check(
        &["bench-compare", "SUITE=gpu", "REPORT=md=gate.md", "EFFORT=--quick", "SPRAG=sprag"],
        &["--report 'md=gate.md'", "sprag check --suite 'gpu' --measure --quick --against baseline \"$@\"\n"],
    );
}

#[test]
fn a_saved_baseline_is_used_and_archived() {
    let sandbox = Sandbox::new();
    sandbox.write("Makefile", include_str!("../../Makefile"));
    let Some(saved) = sandbox.make(&["bench-save-baseline", "EFFORT=--quick"]) else {
        return eprintln!("skipped: there is no make");
    };
    let saved = saved.expect(0);
    let path =
        saved.out.lines().find_map(|line| line.strip_prefix("wrote ")?.split(':').next()).expect("it says where");
    // A thousand times as fast as this machine: nothing comes near that.
    let mut baseline: Value = serde_json::from_str(&sandbox.read(path)).expect("a baseline is JSON");
    for metric in baseline["metrics"].as_object_mut().expect("it holds metrics").values_mut() {
        metric["value"] = (metric["value"].as_f64().expect("a number") / 1000.0).into();
    }
    sandbox.write(path, &format!("{baseline}\n"));
    let judged = sandbox.make(&["bench-compare", "EFFORT=--quick"]).expect("there is a make").expect(2);
    assert!(judged.out.contains("check: fail; 2 regressed"), "{}", judged.out);
    assert!(judged.err.contains("Error 1"), "{}", judged.err);
    let again = sandbox.make(&["bench-save-baseline", "EFFORT=--quick"]).expect("there is a make").expect(0);
    let archived = again.out.lines().find_map(|line| line.strip_prefix("archived ")).expect("it says so");
    assert!(sandbox.read(archived).contains("metrics"));
}
