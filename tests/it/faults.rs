//! Every system call that writes failing in turn, by the library that `tests/faults/shim.c` is compiled to.
//!
//! After each: the command has failed, said what it could not do, and the history is as before; or it has succeeded and
//! the history has the record. Then the next command succeeds, and git finds nothing to complain of.

use std::path::PathBuf;
use std::process::Command;

use crate::run_files::{run, text};
use crate::sandbox::Sandbox;

/// More calls than any command here makes.
const MANY: usize = 1_000;

/// The library, in a folder that stays as long as it is used; says why there is none.
fn shim() -> Result<(tempfile::TempDir, PathBuf), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = folder.path().join("shim.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/shim.c");
    let arguments = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", source, "-o"];
    match Command::new("cc").args(arguments).arg(&library).output() {
        Err(error) => Err(format!("no C compiler: {error}")),
        Ok(output) if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Ok((folder, library))
        }
        Ok(_) => Err("the registers of this processor are not known".to_owned()),
    }
}

/// A repository with a commit and, where `recorded`, a record; the run file that is to be added lies in `in`.
fn template(recorded: bool) -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q", "--template="]);
    sandbox.write(".gitignore", "/in\n");
    sandbox.write("in/0.json", &text(&run(0)));
    sandbox.write("in/1.json", &text(&run(1)));
    sandbox.commit("Begin");
    if recorded {
        sandbox.sprag(&["history", "add", "in/0.json"]).expect(0);
    }
    sandbox
}

/// Lets the n-th call fail, for every n of `numbers` that the command makes; gives how many were tried.
fn sweep(template: &Sandbox, how: &str, numbers: impl Iterator<Item = usize>) -> usize {
    let (_folder, library) = match shim() {
        Ok(shim) => shim,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return 0;
        }
    };
    let before = template.records("main").len();
    let mut tried = 0;
    for number in numbers.take_while(|number| *number < MANY) {
        let sandbox = template.copied();
        let log = sandbox.project.with_file_name("log");
        let at = number.to_string();
        let variables = [
            ("LD_PRELOAD", library.to_str()),
            ("FAULT_ROOT", sandbox.project.to_str()),
            ("FAULT_AT", Some(at.as_str())),
            ("FAULT_HOW", Some(how)),
            ("FAULT_LOG", log.to_str()),
        ]
        .map(|(name, value)| (name, value.expect("a temporary path is text")));
        let ended = sandbox.sprag_with(&variables, &["history", "add", "in/1.json"]);
        if ended.code == 99 {
            eprintln!("skipped: {}", ended.err);
            return 0;
        }
        let fault = std::fs::read_to_string(&log).expect("the log was made");
        if fault.is_empty() {
            assert_eq!(ended.code, 0, "without a fault: {}", ended.err);
            break;
        }
        tried += 1;
        let told = format!("{how} at {fault}{}", ended.err);
        let now = sandbox.records("main").len();
        match ended.code {
            0 => assert_eq!(now, before + 1, "it succeeded, and the record is not there: {told}"),
            2 => {
                assert_eq!(now, before, "it failed, and the history has changed: {told}");
                assert!(ended.err.contains("cannot "), "the step is not named: {told}");
            }
            code => panic!("it ended with {code}: {told}"),
        }
        let next = sandbox.sprag(&["history", "add", "in/1.json"]);
        assert_eq!(next.code, 0, "the next command failed: {}\nafter {told}", next.err);
        assert_eq!(sandbox.records("main").len(), before + 1, "after {told}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "after {told}");
        sandbox.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]);
        let left = sandbox.project.join(".sprag/pending").read_dir().map_or(0, Iterator::count);
        assert_eq!(left, 0, "a record that was kept was not recorded: {told}");
    }
    tried
}

/// One call in so many, from another one on in each run; all of them where the variable `SPRAG_ALL_FAULTS` is set.
fn some(step: usize) -> impl Iterator<Item = usize> {
    match std::env::var_os("SPRAG_ALL_FAULTS") {
        Some(_) => (1..).step_by(1),
        None => (1 + std::process::id() as usize % step..).step_by(step),
    }
}

#[test]
fn a_failing_disk_leaves_before_or_after() {
    sweep(&template(false), "EIO", some(3));
}

#[test]
fn a_full_disk_leaves_before_or_after() {
    sweep(&template(true), "ENOSPC", some(3));
}

#[test]
fn what_may_not_be_written_leaves_before_or_after() {
    sweep(&template(true), "EACCES", some(10));
}

#[test]
fn interruptions_and_short_writes_leave_before_or_after() {
    let template = template(true);
    sweep(&template, "EINTR", some(10));
    sweep(&template, "short", some(10));
}
