//! Each writing system call fails in turn, by the library that `tests/faults/shim.c` makes.
//!
//! The command then either fails, names the step and leaves the history as before, or succeeds and the history has the
//! record. The next command succeeds, and `git fsck` finds nothing.

use std::path::PathBuf;
use std::process::Command;

use crate::clones::Clones;
use crate::crafted::{BASELINE, Crafted, rounds, run, text};
use crate::sandbox::{Ended, Sandbox};

/// More calls than any command here makes.
const MANY: usize = 1_000;

/// How an error names the step that failed.
const STEPS: [&str; 3] = ["cannot ", "was not reached", "refused"];

/// The compiled library in its folder, or why there is none.
fn shim() -> Result<(tempfile::TempDir, PathBuf), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = folder.path().join("shim.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/faults/shim.c");
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

/// A repository with a commit and, if `recorded`, a record; run files to add are in `in`.
fn template(recorded: bool) -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q", "--template="]);
    sandbox.write("history/.gitkeep", "");
    sandbox.write(".gitignore", "/in\n");
    sandbox.write("in/0.json", &text(&run(0)));
    sandbox.commit_with("in/1.json", &text(&run(1)), "Begin");
    if recorded {
        sandbox.ends(0, &["history", "add", "in/0.json"]);
    }
    sandbox
}

/// What one failing call did to a command.
struct Faulty<'f> {
    /// The repository, a copy of the template.
    sandbox: &'f Sandbox,
    ended: Ended,
    /// The call, for messages.
    call: String,
}

/// Fails the n-th call inside `folder` for each of `numbers`, each time in a copy of the template, and checks the outcome.
/// Programs that the command starts have their n-th call fail as well.
fn sweep(
    template: &Sandbox,
    (folder, arguments): (&str, &[&str]),
    (how, numbers): (&str, impl Iterator<Item = usize>),
    mut check: impl FnMut(Faulty<'_>),
) {
    let (_folder, library) = match shim() {
        Ok(shim) => shim,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let mut tried = 0;
    for number in numbers.take_while(|number| *number < MANY) {
        let sandbox = template.copied();
        let log = sandbox.project.with_file_name("log");
        // Rebuilt from its components, it has no slash at the end.
        let root: PathBuf = sandbox.project.join(folder).components().collect();
        let at = number.to_string();
        let variables = [
            ("LD_PRELOAD", library.to_str()),
            ("FAULT_ROOT", root.to_str()),
            ("FAULT_AT", Some(at.as_str())),
            ("FAULT_HOW", Some(how)),
            ("FAULT_LOG", log.to_str()),
        ]
        .map(|(name, value)| (name, value.expect("a temporary path is text")));
        let ended = sandbox.sprag_with(&variables, arguments);
        if ended.code == 99 {
            return eprintln!("skipped: {}", ended.err);
        }
        let fault = std::fs::read_to_string(&log).expect("the log was made");
        if fault.is_empty() {
            assert_eq!(ended.code, 0, "without a fault: {}", ended.err);
            break;
        }
        tried += 1;
        let call = format!("{how} at {number}: {fault}{}", ended.err);
        check(Faulty { sandbox: &sandbox, ended, call });
    }
    assert!(tried > 0, "no call was tried");
}

fn recording(template: &Sandbox, how: &str, numbers: impl Iterator<Item = usize>) {
    adding(template, ("in/1.json", 1), (how, numbers));
}

/// Faults of recording the files at `path`, which hold `new` runs.
fn adding(template: &Sandbox, (path, new): (&str, usize), faults: (&str, impl Iterator<Item = usize>)) {
    let before = template.records("main").len();
    let add = ["history", "add", path];
    sweep(template, ("", &add), faults, |Faulty { sandbox, ended, call }| {
        let now = sandbox.records("main").len();
        match ended.code {
            0 => assert_eq!(now, before + new, "it succeeded, and the record is not there: {call}"),
            2 => {
                assert_eq!(now, before, "it failed, and the history has changed: {call}");
                assert!(ended.err.contains("cannot "), "the step is not named: {call}");
            }
            code => panic!("it ended with {code}: {call}"),
        }
        let next = sandbox.sprag(&add);
        assert_eq!(next.code, 0, "the next command failed: {}\nafter {call}", next.err);
        assert_eq!(sandbox.records("main").len(), before + new, "after {call}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "after {call}");
        sandbox.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]);
        let left = sandbox.project.join(".sprag/pending").read_dir().map_or(0, Iterator::count);
        assert_eq!(left, 0, "a record that was kept was not recorded: {call}");
    });
}

/// Faults of a sync with a run to receive and one to send, in the clone and in the git that it calls.
fn syncing(how: &str, numbers: impl Iterator<Item = usize>) {
    let clones = Clones::new();
    clones.record("b", 0);
    clones.sync("b", &[]).expect(0);
    let own = clones.record("a", 1);
    let sync = ["-C", "a", "history", "sync"];
    // A copy must not reach the remote of the template.
    clones.git("a", &["remote", "set-url", "origin", "../remote.git"]);
    clones.git("b", &["remote", "set-url", "origin", "../remote.git"]);
    sweep(&clones.sandbox, ("a", &sync), (how, numbers), |Faulty { sandbox, ended, call }| {
        let clones = Clones { sandbox: sandbox.copied() };
        let (local, shared) = (clones.records("a"), clones.records("remote.git"));
        assert!(local.contains(&own), "a record is gone: {call}");
        assert!((1..=2).contains(&shared.len()), "the remote has {shared:?}: {call}");
        match ended.code {
            0 => assert_eq!((local.len(), shared.len()), (2, 2), "it succeeded, and not all is shared: {call}"),
            2 => assert!(STEPS.iter().any(|step| ended.err.contains(step)), "the step is not named: {call}"),
            code => panic!("it ended with {code}: {call}"),
        }
        for clone in ["a", "b"] {
            let next = clones.sync(clone, &[]);
            assert_eq!(next.code, 0, "the next sync failed: {}\nafter {call}", next.err);
        }
        clones.agree(&["a", "b"], 2);
    });
}

fn accepting(how: &str, numbers: impl Iterator<Item = usize>) {
    let crafted = Crafted::with_baseline(2);
    crafted.change(8, &[("pack", 2e-3), ("scan", 2e-3)]);
    crafted.ends(0, &["baseline", "emit", "--output", "p.json"]);
    std::fs::remove_dir_all(crafted.project.join(".sprag")).expect("it is there");
    let old = crafted.read(BASELINE);
    let accept = ["baseline", "accept", "p.json", "--why", "It is worth it."];
    sweep(&crafted.sandbox, ("", &accept), (how, numbers), |Faulty { sandbox, ended, call }| {
        let archived = || {
            let entries = sandbox.project.join("baselines/archive").read_dir().into_iter().flatten().flatten();
            let files =
                entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json"));
            files.map(|path| std::fs::read_to_string(path).expect("it is text")).collect::<Vec<String>>()
        };
        let now = sandbox.read(BASELINE);
        match ended.code {
            0 => assert!(now.contains("It is worth it.") && archived() == [old.clone()], "it is not all there: {call}"),
            2 => {
                assert_eq!(now, old, "it failed, and the baseline has changed: {call}");
                assert!(ended.err.contains("cannot "), "the step is not named: {call}");
                assert!(archived().iter().all(|text| *text == old), "the archive holds part of it: {call}");
            }
            code => panic!("it ended with {code}: {call}"),
        }
        assert_eq!(sandbox.sprag(&accept).code, 0, "the next one failed after {call}");
        assert_eq!(archived(), std::slice::from_ref(&old), "after {call}");
    });
}

/// One call in `step`, about ten a test; every one in the long tests.
fn some(step: u64) -> impl Iterator<Item = usize> {
    (1..).step_by(rounds(step, 1) as usize)
}

#[test]
fn a_failing_disk_leaves_before_or_after() {
    recording(&template(false), "EIO", some(9));
    syncing("EIO", some(40));
    accepting("EIO", some(4));
}

#[test]
fn a_full_disk_leaves_before_or_after() {
    recording(&template(true), "ENOSPC", some(9));
    syncing("ENOSPC", some(40));
    accepting("ENOSPC", some(4));
}

#[test]
fn what_may_not_be_written_leaves_before_or_after() {
    recording(&template(true), "EACCES", some(12));
    syncing("EACCES", some(60));
}

/// So many records are written as a pack.
#[test]
fn a_fault_in_a_batch_leaves_before_or_after() {
    let template = template(true);
    for number in 1..80 {
        template.write(&format!("in/{number}.json"), &text(&run(number)));
    }
    // First the pack, then trees, commit, staged files, journal, ref, placed files and the index.
    let step = |few| rounds(few, 4) as usize;
    let early = (2..24).step_by(step(8));
    adding(&template, ("in", 79), ("EIO", early.chain((26..MANY).step_by(step(90)))));
    adding(&template, ("in", 79), ("ENOSPC", (2..MANY).step_by(step(120))));
}

#[test]
fn interruptions_and_short_writes_leave_before_or_after() {
    let template = template(true);
    for how in ["EINTR", "short"] {
        recording(&template, how, some(20));
        syncing(how, some(90));
    }
}
