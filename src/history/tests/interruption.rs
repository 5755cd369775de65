//! An append that is cut short at any step leaves the state before it or after it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::append::append_watched;
use crate::state::{MANY_FILES, Step};
use crate::testing::{Fixture, minute, run};
use crate::{Record, append, heal, open, target};

const STEPS: [Step; 10] = [
    Step::Locked,
    Step::CommitWritten,
    Step::Staged,
    Step::Journalled,
    Step::IndexLocked,
    Step::RefMoved,
    Step::FilePlaced,
    Step::IndexReady,
    Step::IndexWritten,
    Step::CaughtUp,
];

/// A repository with one record and with staged, unstaged and untracked changes.
fn busy() -> Fixture {
    let fixture = Fixture::new();
    fixture.record(0);
    fixture.write("staged", "staged\n");
    fixture.git(&["add", "staged"]);
    fixture.write("src/lib.rs", "fn unstaged() {}\n");
    fixture.write("untracked", "x\n");
    fixture
}

/// Runs an append that dies right after the step, as far as unwinding resembles dying: nothing cleans up.
fn die_after(fixture: &Fixture, fatal: Step, records: &[Record]) {
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let mut watch = |step| {
        if step == fatal {
            std::panic::resume_unwind(Box::new(step));
        }
    };
    let append = AssertUnwindSafe(|| append_watched(&store, &target, records, minute(1), &mut watch));
    let payload = catch_unwind(append).expect_err("the append should have died");
    assert_eq!(payload.downcast_ref::<Step>(), Some(&fatal));
}

#[test]
fn every_step_leaves_before_or_after() {
    STEPS.into_iter().for_each(|fatal| leaves_before_or_after(fatal, 2));
}

#[test]
fn every_step_of_a_batch_in_a_pack_leaves_before_or_after() {
    let steps = [Step::CommitWritten, Step::Staged, Step::IndexLocked, Step::RefMoved, Step::FilePlaced];
    steps.into_iter().for_each(|fatal| leaves_before_or_after(fatal, MANY_FILES + 6));
}

/// An append of so many records that dies after the step, and what comes after it.
fn leaves_before_or_after(fatal: Step, count: usize) {
    let fixture = busy();
    let (before, status) = (fixture.head(), fixture.status());
    let staged = fixture.git(&["diff", "--cached"]);
    let records: Vec<Record> = (1..=count as i64).map(|number| Record::from_run(&run(number))).collect();
    die_after(&fixture, fatal, &records);
    let store = open(&fixture.root).unwrap();
    let target = target(&store, None).unwrap();
    let loaded = fixture.load();
    assert_eq!(loaded.warnings, [""; 0], "{fatal:?}");
    assert_eq!(loaded.quarantined, [], "{fatal:?}");
    let moved = fixture.head() != before;
    let after =
        matches!(fatal, Step::RefMoved | Step::FilePlaced | Step::IndexReady | Step::IndexWritten | Step::CaughtUp);
    assert_eq!((moved, loaded.runs.len()), (after, if after { 1 + count } else { 1 }), "{fatal:?}");
    assert_eq!((fixture.status(), fixture.git(&["diff", "--cached"])), (status.clone(), staged.clone()), "{fatal:?}");
    for record in &records {
        let file = fs::read(fixture.root.join(&record.path)).ok();
        assert_eq!(file.as_ref(), after.then_some(&record.bytes), "{fatal:?}");
    }
    let left = || fs::read_dir(fixture.root.join(".git/sprag")).unwrap();
    // Without a journal, what lies in the folder waits for the next append.
    let names: Vec<_> = left().map(|entry| entry.unwrap().file_name()).collect();
    assert!(fatal == Step::Staged || names == ["lock"], "{fatal:?}: {names:?}");
    assert!(!fixture.root.join(".git/index.lock").exists());
    fixture.fsck();
    // And the next append works, with what was cut short or without.
    let records = [records.as_slice(), &[Record::from_run(&run(1 + count as i64))]].concat();
    let appended = append(&store, &target, &records, minute(2)).unwrap();
    assert_eq!((appended.added.len(), appended.warnings.len()), (if after { 1 } else { 1 + count }, 0), "{fatal:?}");
    assert_eq!((fixture.load().runs.len(), fixture.status()), (2 + count, status), "{fatal:?}");
    assert_eq!(left().count(), 1, "{fatal:?}");
    fixture.fsck();
}

#[test]
fn healing_can_be_cut_short_too() {
    let fixture = busy();
    let status = fixture.status();
    die_after(&fixture, Step::RefMoved, &[Record::from_run(&run(1))]);
    for fatal in [Step::FilePlaced, Step::IndexLocked, Step::IndexReady, Step::IndexWritten] {
        die_after(&fixture, fatal, &[Record::from_run(&run(2))]);
        if fatal == Step::IndexWritten {
            break;
        }
    }
    assert_eq!(heal(&fixture.store()).unwrap().warnings, [""; 0]);
    assert_eq!(fixture.status(), status);
    fixture.fsck();
}

#[test]
fn a_lock_of_the_ref_is_removed_if_it_is_ours() {
    let records = [Record::from_run(&run(1))];
    let check = |content: &dyn Fn(&Fixture) -> String, ours: bool| {
        let fixture = busy();
        die_after(&fixture, Step::Journalled, &records);
        fixture.write(".git/refs/heads/main.lock", &content(&fixture));
        heal(&fixture.store()).unwrap();
        assert_eq!(fixture.root.join(".git/refs/heads/main.lock").exists(), !ours);
    };
    let commit_of_ours = |fixture: &Fixture| {
        let written = fixture.git(&["fsck", "--no-progress", "--dangling"]);
        written.split(' ').next_back().unwrap().to_owned() + "\n"
    };
    check(&|_| String::new(), true);
    check(&commit_of_ours, true);
    check(&|fixture| fixture.head() + "\n", false);
    check(&|_| "something else\n".to_owned(), false);
    // Where no append of ours was cut short, no lock is.
    let fixture = busy();
    fixture.write(".git/refs/heads/main.lock", "");
    heal(&fixture.store()).unwrap();
    assert!(fixture.root.join(".git/refs/heads/main.lock").exists());
}

#[test]
fn healing_never_overwrites_a_file() {
    let fixture = busy();
    let record = Record::from_run(&run(1));
    die_after(&fixture, Step::RefMoved, std::slice::from_ref(&record));
    fixture.write(&record.path, "mine\n");
    let healed = heal(&fixture.store()).unwrap();
    assert_eq!((healed.records.len(), healed.warnings.len()), (1, 1), "{healed:?}");
    assert_eq!(fs::read_to_string(fixture.root.join(&record.path)).unwrap(), "mine\n");
    assert_eq!(heal(&fixture.store()).unwrap().warnings.len(), 0);
}

#[test]
fn a_journal_that_cannot_be_read_is_passed_over() {
    for text in ["", "{", "{\"version\":0,\"records\":[]}", "[]"] {
        let fixture = busy();
        fixture.write(".git/sprag/journal.json", text);
        assert_eq!(heal(&fixture.store()).unwrap().warnings, [""; 0]);
        assert!(!fixture.root.join(".git/sprag/journal.json").exists());
    }
}

#[test]
fn a_journal_of_a_newer_version_is_kept() {
    let fixture = busy();
    let newer = "{\"version\":9,\"entries\":[]}";
    fixture.write(".git/sprag/journal.json", newer);
    let warnings = heal(&fixture.store()).unwrap().warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("journal-9.json"), "{warnings:?}");
    let store = fixture.store();
    fixture.record(1);
    assert_eq!(fs::read_to_string(fixture.root.join(".git/sprag/journal-9.json")).unwrap(), newer);
    assert_eq!(heal(&store).unwrap().warnings, [""; 0]);
}

#[test]
fn a_journal_is_left_to_the_process_that_is_alive() {
    let fixture = busy();
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let mut seen = false;
    let mut watch = |step| {
        if step == Step::RefMoved {
            let healed = heal(&fixture.store()).unwrap();
            assert_eq!(healed, Default::default());
            assert!(fixture.root.join(".git/sprag/journal.json").exists());
            seen = true;
        }
    };
    append_watched(&store, &target, &[Record::from_run(&run(1))], minute(1), &mut watch).unwrap();
    assert!(seen);
}

#[test]
fn a_full_disk_before_the_ref_moves_changes_nothing() {
    let fixture = busy();
    let (head, status) = (fixture.head(), fixture.status());
    // A file where the staging folder should be refuses every write there, for root too.
    let obstacle = fixture.root.join(".git/sprag/staged");
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let mut watch = |step| {
        if step == Step::CommitWritten {
            fs::write(&obstacle, "").unwrap();
        }
    };
    append_watched(&store, &target, &[Record::from_run(&run(1))], minute(1), &mut watch).unwrap_err();
    assert_eq!((fixture.head(), fixture.status()), (head, status));
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
}
