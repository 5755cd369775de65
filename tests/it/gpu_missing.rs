//! Machines on which the GPU cannot be used: each says why, in every command, and nobody sees a panic.

use std::path::Path;

use crate::emulator::{Machine, Part};
use crate::sandbox::Sandbox;
use crate::trt;

/// A project whose only suite needs a device.
const GPU_SUITE: &str = "[project]\nname = \"sandbox\"\n[suites.gpu]\nkind = \"gpu\"\n";

/// What lacks on a machine, and the reason that is reported for it.
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
    for lack in [&LACKS[0], &LACKS[6]] {
        let sandbox = project();
        let Some(machine) = lack.machine() else { continue };
        let ended = sandbox.sprag_with(&machine.variables(), &["weekly"]);
        assert!(!ended.err.contains("panicked"), "{}: {}", lack.reason, ended.err);
        let ended = ended.expect(5);
        assert!(ended.out.contains(lack.reason), "`{}` is not in:\n{}", lack.reason, ended.out);
        assert_eq!(sandbox.records("main").len(), 1, "a skipped run is recorded, too");
    }
}

/// Of both kinds of suites that need a device; and on a detached HEAD nothing can be recorded, which is no error.
#[test]
fn the_doctor_tells_the_reason() {
    let sandbox = trt::sandbox("fine", "[suites.gpu]\nkind = \"gpu\"");
    sandbox.git(&["checkout", "-q", "--detach"]);
    let check = |machine: Option<Machine>, expected: [(&str, bool, &str); 2]| {
        let Some(machine) = machine else { return };
        let ended = sandbox.sprag_with(&machine.variables(), &["doctor", "--quick", "--json"]).expect(0);
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
        let document: serde_json::Value = serde_json::from_str(&ended.out).expect("standard output is JSON");
        let abilities = document["abilities"].as_array().expect("a list");
        for (name, able, detail) in expected.into_iter().chain([("recording", false, "HEAD is detached")]) {
            let one = abilities.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}"));
            let has_detail = one["detail"].as_str().is_some_and(|text| text.starts_with(detail));
            assert!(one["able"] == able && has_detail, "`{detail}`: {one}");
        }
    };
    let absent = "cuda_driver_not_found: ";
    check(Machine::with(&[]), [("suite gpu", false, absent), ("suite trt", false, absent)]);
    let with_trtexec = ("suite trt", true, "with `trtexec` on");
    check(LACKS[6].machine(), [("suite gpu", false, LACKS[6].reason), with_trtexec]);
    check(Machine::complete(), [("suite gpu", true, "on Sprag host emulator, compiled by NVRTC "), with_trtexec]);
}

#[test]
fn retuning_is_for_kernels_of_a_device() {
    let sandbox = Sandbox::new();
    let ended = sandbox.sprag(&["run", "--suite", "cpu", "--retune"]).expect(2);
    ended.says(&["`--retune` chooses the configurations of CUDA kernels", "hint:"]);
}
