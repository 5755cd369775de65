//! Kernels, compilers and devices that fail: each fault is named at its benchmark, and the others go on.

use crate::emulator::Machine;
use crate::gpu::{Measured, measure, one, project};
use crate::sandbox::assert_contains;

/// Runs two benchmarks and the control with one more variable.
#[track_caller]
fn measure_two(variable: (&str, &str), tracks: [&str; 2], code: i32) -> Option<Measured> {
    let machine = Machine::complete()?.and(variable.0, variable.1);
    let wanted = [one("tile_pack", tracks[0]), one("fusion_gate", tracks[1])];
    let arguments = ["--quick", "--dtype", "fp16", "--filter", &wanted[0], "--filter", &wanted[1]];
    Some(measure(&project(), &machine, &arguments, code))
}

/// Fails unless the gate alone failed, with these words.
#[track_caller]
fn check_gate_alone(variable: (&str, &str), track: &str, words: &[&str]) {
    let Some(measured) = measure_two(variable, ["hot", track], 1) else { return };
    let wanted = one("fusion_gate", track);
    let [(id, failure)] = measured.failures()[..] else { panic!("{:?}", measured.failures()) };
    assert_eq!(id, wanted);
    assert_contains(failure, words);
    assert!(!failure.contains("panicked"), "{failure}");
    assert_contains(&measured.ended.out, &["ok, 1 of 3 benchmarks failed"]);
}

#[test]
fn a_kernel_that_is_wrong_or_does_not_compile_fails_alone() {
    let wrong = ["parity: the result at b=", " h=", "parts of it are not written"];
    check_gate_alone(("SPRAG_EMULATOR_PLANT", "short fusion_gate"), "hot", &wrong);
    let uncompiled = ["nvrtc_compile_failed: fusion_gate.cu: planted.cu(7): error: identifier"];
    check_gate_alone(("SPRAG_EMULATOR_PLANT", "refuse fusion_gate"), "hot", &uncompiled);
}

#[test]
fn a_device_that_breaks_at_a_benchmark_is_reopened_for_the_others() {
    let words = ["crashed in it", "cuda_call_failed: ", "CUDA_ERROR_ILLEGAL_ADDRESS"];
    check_gate_alone(("SPRAG_EMULATOR_PLANT", "700 fusion_gate"), "hot", &words);
    // Its checks have passed, and it is being timed.
    let words = ["crashed in it", "cuda_call_failed: ", "CUDA_ERROR_LAUNCH_FAILED"];
    check_gate_alone(("SPRAG_EMULATOR_PLANT", "719@60 fusion_gate"), "host", &words);
}

#[test]
fn what_does_not_fit_the_memory_fails_alone() {
    // The rotating track of the gate takes three megabytes more than the others.
    let words = ["insufficient_memory: ", " bytes are needed at once, "];
    check_gate_alone(("SPRAG_EMULATOR_MEMORY", "6000000"), "rotating", &words);
}

#[test]
fn a_device_that_cannot_run_the_least_kernel_is_none() {
    let check = |variable: (&str, &str), words: &str| {
        let Some(measured) = measure_two(variable, ["hot", "hot"], 5) else { return };
        assert_contains(&measured.ended.out, &[words]);
        assert_eq!((&measured.record["status"], measured.benchmarks().count()), (&"skipped".into(), 0));
        // The machine class stays the same.
        assert_eq!(measured.record["machine"]["class"], "Sprag host emulator");
    };
    check(("SPRAG_EMULATOR_FAULT", "nvrtcCompileProgram=6"), "nvrtc_compile_failed: empty.cu: ");
    check(("SPRAG_EMULATOR_PLANT", "719 empty"), "cuda_call_failed: ");
    let words = "cuda_driver_too_old: it supports CUDA 12.8 and cannot load what NVRTC 13.0 compiles";
    check(("SPRAG_EMULATOR_DRIVER", "12080"), words);
}

#[test]
fn a_throttled_device_is_retried_and_then_flagged() {
    let Some(machine) = Machine::complete() else { return };
    let sandbox = project();
    // Only the first query is answered so.
    let count = sandbox.project.join("throttled");
    sandbox.write("throttled", "1");
    let wanted = one("tile_pack", "hot");
    let arguments = ["--quick", "--dtype", "fp16", "--filter", &wanted];
    let once = machine.clone().and("SPRAG_EMULATOR_THROTTLE", &format!("4@{}", count.display()));
    let measured = measure(&sandbox, &once, &arguments, 0);
    let retries: Vec<&str> = measured
        .benchmarks()
        .filter_map(|(_, one)| one["attributes"].get("throttle_retries").and_then(serde_json::Value::as_str))
        .collect();
    assert_eq!((retries, measured.quality().contains("throttled")), (vec!["1"], false));

    let always = machine.and("SPRAG_EMULATOR_THROTTLE", "0x24");
    let measured = measure(&sandbox, &always, &arguments, 0);
    let attributes = &measured.benchmark(&wanted)["attributes"];
    let flagged = attributes["throttled_blocks"].as_str().expect("it was held back");
    let (throttled, all) = flagged.split_once(" of ").expect("two numbers");
    assert_eq!(throttled, all);
    assert_contains(&measured.quality(), &["throttled: the device slowed itself down in "]);
    assert_contains(&measured.quality(), &["blocks (power cap, heat)"]);
    let retries: u32 =
        attributes.get("throttle_retries").map_or(0, |text| text.as_str().expect("text").parse().expect("a number"));
    assert!(retries <= 9, "{retries}");
}
