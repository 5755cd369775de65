//! Machines on which the GPU cannot be used: each says why, in every command, and nobody sees a panic.

use std::path::Path;

use crate::emulator::{Machine, Part};
use crate::sandbox::Sandbox;

/// A project whose only suite needs a device.
const GPU_SUITE: &str = "[project]\nname = \"sandbox\"\n[suites.gpu]\nkind = \"gpu\"\n";

/// What lacks on a machine, and the reason that is told for it.
struct Lack {
    parts: &'static [Part],
    variables: &'static [(&'static str, &'static str)],
    reason: &'static str,
}

const LACKS: [Lack; 9] = [
    Lack { parts: &[], variables: &[], reason: "cuda_driver_not_found: " },
    Lack { parts: &[Part::OldDriver], variables: &[], reason: "cuda_driver_too_old: " },
    Lack { parts: &[Part::NoDevice], variables: &[], reason: "cuda_no_device: " },
    Lack {
        parts: &[Part::Driver, Part::Compiler],
        variables: &[("SPRAG_EMULATOR_DEVICES", "0")],
        reason: "cuda_no_device: ",
    },
    Lack {
        parts: &[Part::Driver, Part::Compiler],
        variables: &[("SPRAG_EMULATOR_FAULT", "cuInit=999")],
        reason: "cuda_init_failed: CUDA_ERROR_UNKNOWN",
    },
    Lack {
        parts: &[Part::Driver, Part::Compiler],
        variables: &[("SPRAG_EMULATOR_FAULT", "cuDevicePrimaryCtxRetain=2")],
        reason: "cuda_init_failed: CUDA_ERROR_OUT_OF_MEMORY",
    },
    Lack { parts: &[Part::Driver], variables: &[], reason: "nvrtc_not_found: " },
    Lack { parts: &[Part::Driver, Part::OldCompiler], variables: &[], reason: "nvrtc_too_old: " },
    Lack {
        parts: &[Part::Driver, Part::Compiler],
        variables: &[("SPRAG_EMULATOR_FAULT", "nvrtcVersion=11")],
        reason: "nvrtc_too_old: ",
    },
];

impl Lack {
    /// The machine; `None` where it cannot be made, or where a compiler is installed that cannot be hidden.
    fn machine(&self) -> Option<Machine> {
        let compiler_is_away = self.reason.starts_with("nvrtc_not_found");
        if compiler_is_away && Path::new("/usr/local/cuda").exists() {
            eprintln!("skipped: `{}`, since a CUDA toolkit is installed here", self.reason);
            return None;
        }
        let machine = Machine::with(self.parts)?;
        Some(self.variables.iter().fold(machine, |machine, (name, value)| machine.and(name, value)))
    }
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("sprag.toml", GPU_SUITE);
    sandbox.commit("Measure a device");
    sandbox
}

#[test]
fn a_run_is_skipped_with_its_reason() {
    let sandbox = project();
    for lack in &LACKS {
        let Some(machine) = lack.machine() else { continue };
        let ended = sandbox.sprag_with(&machine.variables(), &["run", "--suite", "gpu"]);
        assert!(!ended.err.contains("panicked"), "{}: {}", lack.reason, ended.err);
        let ended = ended.expect(5);
        assert!(ended.out.contains(lack.reason), "`{}` is not in:\n{}", lack.reason, ended.out);
    }
}

#[test]
fn a_weekly_build_records_the_reason() {
    // Each renders a site, so not all of them.
    for lack in [&LACKS[0], &LACKS[3], &LACKS[6]] {
        let sandbox = project();
        let Some(machine) = lack.machine() else { continue };
        let ended = sandbox.sprag_with(&machine.variables(), &["weekly"]);
        assert!(!ended.err.contains("panicked"), "{}: {}", lack.reason, ended.err);
        let ended = ended.expect(5);
        assert!(ended.out.contains(lack.reason), "`{}` is not in:\n{}", lack.reason, ended.out);
        assert_eq!(sandbox.records("main").len(), 1, "a skipped run is recorded, too");
    }
}

#[test]
fn the_doctor_tells_the_reason() {
    let sandbox = project();
    // It takes seconds, so not all of them.
    for lack in [&LACKS[0], &LACKS[1], &LACKS[6]] {
        let Some(machine) = lack.machine() else { continue };
        let ended = sandbox.sprag_with(&machine.variables(), &["doctor", "--quick", "--json"]).expect(0);
        assert!(!ended.err.contains("panicked"), "{}: {}", lack.reason, ended.err);
        let (able, detail) = ability(&ended.out);
        assert!(!able && detail.starts_with(lack.reason), "{detail}");
    }
    let Some(machine) = Machine::whole() else { return };
    let ended = sandbox.sprag_with(&machine.variables(), &["doctor", "--quick", "--json"]).expect(0);
    let (able, detail) = ability(&ended.out);
    assert!(able && detail.starts_with("on Sprag host emulator, compiled by NVRTC "), "{detail}");
}

/// What the doctor says of the GPU suite.
fn ability(document: &str) -> (bool, String) {
    let found: serde_json::Value = serde_json::from_str(document).expect("standard output is JSON");
    let abilities = found["abilities"].as_array().expect("a list");
    let gpu = abilities.iter().find(|one| one["name"] == "suite gpu").expect("the suite is told of");
    (gpu["able"] == true, gpu["detail"].as_str().expect("it is text").to_owned())
}

#[test]
fn retuning_is_for_kernels_of_a_device() {
    let sandbox = Sandbox::new();
    let ended = sandbox.sprag(&["run", "--suite", "cpu", "--retune"]).expect(2);
    ended.says(&["`--retune` chooses the configurations of CUDA kernels", "hint:"]);
}
