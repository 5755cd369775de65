//! The configurations of CUDA kernels: chosen once, stored, chosen again when needed, and never a wrong one.

use serde_json::{Value, json};

use crate::emulator::Machine;
use crate::gpu::{Measured, measure, one, project};
use crate::sandbox::assert_contains;

const CHOICES: &str = ".sprag/autotune.json";

const TRYING: &str = "choosing configurations";

#[track_caller]
fn choice(measured: &Measured) -> &Value {
    let entries = measured.record["autotune"].as_array().expect("there are choices");
    let [entry] = &entries[..] else { panic!("{entries:?}") };
    entry
}

#[test]
fn a_choice_is_made_once_for_what_it_holds_for_and_a_wrong_candidate_is_never_chosen() {
    let Some(machine) = Machine::complete() else { return };
    let sandbox = project();
    let wanted = one("tile_pack", "hot");
    let run = |machine: &Machine, more: &[&str], code| {
        let arguments: Vec<&str> = ["--dtype", "fp16", "--filter", &wanted].iter().chain(more).copied().collect();
        measure(&sandbox, machine, &arguments, code)
    };

    // A candidate that writes only part of the result would win without the check.
    let flawed = machine.clone().and("SPRAG_EMULATOR_PLANT", "short tile_pack GROUP=16");
    let first = run(&flawed, &[], 0);
    let wrong = "block256 vector16 unroll4 chunk16";
    let made = choice(&first);
    assert_contains(
        &first.ended.err,
        &[TRYING, &format!("the configuration {wrong} of {wanted} was not tried: parity")],
    );
    let failure = made["failures"][wrong].as_str().expect("it is named");
    assert_contains(failure, &["the result at b=", "are not written"]);
    assert_eq!(
        (made["failures"].as_object().map(|all| all.len()), &made["candidates"][wrong]),
        (Some(1), &Value::Null)
    );
    let selected = made["selected"].as_str().expect("one is chosen").to_owned();
    assert_ne!(selected, wrong);
    assert!(made["source"] == "tuned" || made["source"] == "default", "{made}");
    assert_eq!(first.benchmark(&wanted)["attributes"]["configuration"], selected);
    let stored = sandbox.json(CHOICES);
    assert_contains(&stored.to_string(), &[&selected]);

    let second = run(&machine, &["--quick"], 0);
    assert!(!second.ended.err.contains(TRYING), "{}", second.ended.err);
    let taken = choice(&second);
    assert_eq!((&taken["source"], &taken["selected"]), (&json!("incumbent"), &json!(selected)));
    assert_eq!(taken["key"], made["key"]);

    // A choice is for one driver; without a version, it is another one.
    let other = machine.clone().and("SPRAG_EMULATOR_NVML", "nvmlSystemGetDriverVersion");
    let elsewhere = run(&other, &["--quick"], 0);
    assert_eq!(choice(&elsewhere)["source"], "default");
    assert_ne!(choice(&elsewhere)["key"], made["key"]);

    // One in use that has become wrong is not used, and no other takes its place unasked.
    let broken = machine.clone().and("SPRAG_EMULATOR_PLANT", "short tile_pack");
    let failed = run(&broken, &["--quick"], 1);
    let (id, failure) = failed.failures()[0];
    assert_eq!((id, choice(&failed)["source"].as_str()), (wanted.as_str(), Some("incumbent")));
    assert!(failure.starts_with("parity: the result at b="), "{failure}");

    // A damaged file is reported and replaced.
    sandbox.write(CHOICES, "{\"schema_version\": 1, \"cho");
    let anew = run(&machine, &["--quick", "--retune"], 0);
    assert_contains(&anew.ended.err, &["warning: ", "autotune.json", "tuning begins afresh", TRYING]);
    let replaced = sandbox.json(CHOICES);
    assert_contains(&replaced.to_string(), &[choice(&anew)["selected"].as_str().expect("one is chosen")]);
    assert_eq!(choice(&anew)["failures"], json!({}));
}
