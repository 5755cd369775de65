//! Machines without a usable GPU: each command says why, and none panics.

use std::path::Path;

use crate::emulator::{Machine, Part};
use crate::sandbox::Sandbox;
use crate::trt;

const GPU_SUITE: &str = "[project]\nname = \"sandbox\"\n[suites.gpu]\nkind = \"gpu\"\n";

/// What a machine lacks, and the reason that is reported for it.
struct Lack {
    parts: &'static [Part],
    variable: Option<(&'static str, &'static str)>,
    reason: &'static str,
}

const fn lack(parts: &'static [Part], variable: Option<(&'static str, &'static str)>, reason: &'static str) -> Lack {
    Lack { parts, variable, reason }
}

const BOTH: &[Part] = &[Part::Driver, Part::Compiler];

const LACKS: [Lack; 9] = [
    lack(&[], None, "cuda_driver_not_found: "),
    lack(&[Part::OldDriver], None, "cuda_driver_too_old: "),
    lack(&[Part::NoDevice], None, "cuda_no_device: "),
    lack(BOTH, Some(("SPRAG_EMULATOR_DEVICES", "0")), "cuda_no_device: "),
    lack(BOTH, Some(("SPRAG_EMULATOR_FAULT", "cuInit=999")), "cuda_init_failed: CUDA_ERROR_UNKNOWN"),
    lack(
        BOTH,
        Some(("SPRAG_EMULATOR_FAULT", "cuDevicePrimaryCtxRetain=2")),
        "cuda_init_failed: CUDA_ERROR_OUT_OF_MEMORY",
    ),
    lack(&[Part::Driver], None, "nvrtc_not_found: "),
    lack(&[Part::Driver, Part::OldCompiler], None, "nvrtc_too_old: "),
    lack(BOTH, Some(("SPRAG_EMULATOR_FAULT", "nvrtcVersion=11")), "nvrtc_too_old: "),
];

impl Lack {
    /// `None` where it cannot be made, or where an installed compiler cannot be hidden.
    fn machine(&self) -> Option<Machine> {
        let hides_compiler = self.reason.starts_with("nvrtc_not_found");
        if hides_compiler && Path::new("/usr/local/cuda").exists() {
            eprintln!("skipped: `{}`, since a CUDA toolkit is installed here", self.reason);
            return None;
        }
        let machine = Machine::with(self.parts)?;
        Some(self.variable.iter().fold(machine, |machine, (name, value)| machine.and(name, value)))
    }
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit_with("sprag.toml", GPU_SUITE, "Measure a device");
    sandbox
}

#[test]
fn a_run_is_skipped_with_its_reason() {
    let sandbox = project();
    for lack in &LACKS {
        let Some(machine) = lack.machine() else { continue };
        let ended = sandbox.sprag_with(&machine.variables(), &["run", "--suite", "gpu"]);
        assert!(!ended.err.contains("panicked"), "{}: {}", lack.reason, ended.err);
        ended.expect(5).prints(&[lack.reason]);
    }
    let Some(machine) = LACKS[0].machine() else { return };
    let program = env!("CARGO_BIN_EXE_sprag");
    let compare = ["compare", program, program, "--measure", "--suite", "gpu"];
    let reason = format!("the suite `gpu` cannot be measured: {}", LACKS[0].reason);
    sandbox.sprag_with(&machine.variables(), &compare).expect(2).says(&[&reason, "sprag doctor"]);
}

#[test]
fn a_weekly_build_records_the_reason() {
    // Each renders a site, so not all of them.
    for lack in [&LACKS[0], &LACKS[6]] {
        let sandbox = project();
        let Some(machine) = lack.machine() else { continue };
        let ended = sandbox.sprag_with(&machine.variables(), &["weekly"]);
        assert!(!ended.err.contains("panicked"), "{}: {}", lack.reason, ended.err);
        ended.expect(5).prints(&[lack.reason]);
        assert_eq!(sandbox.records("main").len(), 1, "a skipped run is recorded, too");
    }
}

/// Both kinds of suites that need a device; a detached HEAD, where nothing can be recorded, is not an error.
#[test]
fn the_doctor_gives_the_reason() {
    let sandbox = trt::sandbox("fine", "[suites.gpu]\nkind = \"gpu\"");
    sandbox.git(&["checkout", "-q", "--detach"]);
    let check = |machine: Option<Machine>, expected: [(&str, bool, &str); 2]| {
        let Some(machine) = machine else { return };
        let ended = sandbox.sprag_with(&machine.variables(), &["doctor", "--quick", "--json"]).expect(0);
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
        let document = ended.json();
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
    let ended = sandbox.ends(2, &["run", "--suite", "cpu", "--retune"]);
    ended.says(&["`--retune` chooses the configurations of CUDA kernels", "hint:"]);
}
