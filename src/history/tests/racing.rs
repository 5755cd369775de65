//! Appends that meet other writers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::append::append_watched;
use crate::state::Step;
use crate::testing::{Fixture, isolated, minute, rounds, run, try_git_in};
use crate::{HistoryError, Record, append, target};

#[test]
fn racing_appends_all_arrive() {
    let fixture = Fixture::new();
    thread::scope(|scope| {
        for writer in 0..8 {
            let root = &fixture.root;
            scope.spawn(move || {
                let store = isolated(root);
                let target = target(&store, None).unwrap();
                for number in 0..5 {
                    let record = Record::from_run(&run(writer * 100 + number));
                    let appended = append(&store, &target, &[record], minute(number)).unwrap();
                    assert_eq!(appended.warnings, [""; 0]);
                }
            });
        }
    });
    let loaded = fixture.load();
    assert_eq!((loaded.runs.len(), loaded.quarantined.len()), (40, 0));
    assert_eq!(fixture.git(&["rev-list", "--count", "HEAD"]), "42");
    assert_eq!(fixture.status(), "");
    fixture.fsck();
}

#[test]
fn a_lost_race_reads_the_tip_again() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let mut losses = 0;
    let mut watch = |step| {
        if step == Step::CommitWritten && losses < 3 {
            losses += 1;
            fixture.commit("src/lib.rs", &format!("fn lost_{losses}() {{}}\n"), "Faster");
        }
    };
    append_watched(&store, &target, &[Record::from_run(&run(1))], minute(1), &mut watch).unwrap();
    assert_eq!(losses, 3);
    assert_eq!(fixture.git(&["rev-list", "--count", "HEAD"]), "6");
    assert_eq!(fixture.git(&["log", "-1", "--format=%s"]), run(1).subject());
    assert_eq!((fixture.load().runs.len(), fixture.status()), (1, String::new()));
}

#[test]
fn a_branch_that_another_writer_makes_first_is_built_upon() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let records = target(&store, Some("records")).unwrap();
    let mut lost = false;
    let mut watch = |step| {
        if step == Step::CommitWritten && !lost {
            lost = true;
            fixture.git(&["branch", "records", "main"]);
        }
    };
    append_watched(&store, &records, &[Record::from_run(&run(1))], minute(1), &mut watch).unwrap();
    assert_eq!(fixture.git(&["rev-list", "--count", "records"]), "3");
}

#[test]
fn who_is_always_faster_has_to_wait_in_the_end() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let mut commits = 0;
    let mut watch = |step| {
        if step == Step::CommitWritten {
            let commit = ["commit", "--quiet", "--allow-empty", "-m", "Faster"];
            commits += usize::from(try_git_in(&fixture.root, &commit).0);
        }
    };
    let target = target(&store, None).unwrap();
    let appended = append_watched(&store, &target, &[Record::from_run(&run(1))], minute(1), &mut watch).unwrap();
    assert!(commits > 1, "{commits}");
    assert_eq!((appended.added.len(), appended.warnings), (1, Vec::new()));
    assert_eq!((fixture.load().runs.len(), fixture.status()), (1, String::new()));
}

#[test]
fn the_same_record_from_two_writers_is_there_once() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let record = Record::from_run(&run(1));
    let mut lost = false;
    let mut watch = |step| {
        if step == Step::CommitWritten && !lost {
            lost = true;
            fixture.commit(&record.path, std::str::from_utf8(&record.bytes).unwrap(), "By hand");
        }
    };
    let appended = append_watched(&store, &target, std::slice::from_ref(&record), minute(1), &mut watch).unwrap();
    assert_eq!((appended.commit, appended.present.len()), (None, 1));
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
}

#[test]
fn a_ref_that_stays_locked_is_an_error_with_a_hint() {
    let fixture = Fixture::new();
    let head = fixture.head();
    fixture.write(".git/refs/heads/main.lock", "");
    let store = fixture.store();
    let error = append(&store, &target(&store, None).unwrap(), &[Record::from_run(&run(1))], minute(1)).unwrap_err();
    assert!(matches!(error, HistoryError::Contended { .. }), "{error}");
    assert!(error.hint().unwrap().contains("refs/heads/main.lock"));
    std::fs::remove_file(fixture.root.join(".git/refs/heads/main.lock")).unwrap();
    assert_eq!((fixture.head(), fixture.status()), (head, String::new()));
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
}

#[test]
fn a_branch_below_another_one_is_an_error() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let below = target(&store, Some("main/records")).unwrap();
    append(&store, &below, &[Record::from_run(&run(1))], minute(1)).unwrap_err();
}

#[test]
fn a_commit_of_gits_between_two_steps_takes_no_record_away() {
    for tried_after in [Step::Journalled, Step::IndexLocked, Step::RefMoved, Step::FilePlaced, Step::IndexReady] {
        let fixture = Fixture::new();
        fixture.write("README", "staged\n");
        fixture.git(&["add", "README"]);
        let store = fixture.store();
        let target = target(&store, None).unwrap();
        let mut committed = false;
        let mut watch = |step| {
            if step == tried_after && !committed {
                committed = try_git_in(&fixture.root, &["commit", "--quiet", "-m", "Between"]).0;
            }
        };
        let appended = append_watched(&store, &target, &[Record::from_run(&run(1))], minute(1), &mut watch).unwrap();
        assert_eq!(committed, tried_after == Step::Journalled, "{tried_after:?}");
        assert_eq!(appended.warnings, [""; 0], "{tried_after:?}");
        try_git_in(&fixture.root, &["commit", "--quiet", "-m", "After"]);
        let loaded = fixture.load();
        assert_eq!((loaded.runs.len(), fixture.status()), (1, String::new()), "{tried_after:?}");
        assert_eq!(fixture.git(&["rev-list", "--count", "HEAD"]), "4", "{tried_after:?}");
    }
}

#[test]
fn a_record_that_a_commit_takes_out_where_the_index_could_not_be_locked_is_named() {
    let fixture = Fixture::new();
    fixture.write(".git/index.lock", "");
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let mut watch = |step| {
        if step == Step::RefMoved {
            std::fs::remove_file(fixture.root.join(".git/index.lock")).unwrap();
            fixture.git(&["commit", "--quiet", "-m", "Between"]);
        }
    };
    let appended = append_watched(&store, &target, &[Record::from_run(&run(1))], minute(1), &mut watch).unwrap();
    assert!(appended.warnings.iter().any(|warning| warning.contains("record it again")), "{:?}", appended.warnings);
    assert_eq!(fixture.load().runs.len(), 0);
    assert_eq!(fixture.record(1).added.len(), 1);
    assert_eq!((fixture.load().runs.len(), fixture.status()), (1, String::new()));
}

#[test]
fn commits_of_gits_in_a_loop_take_no_record_away() {
    let records = rounds(10, 30) as i64;
    let fixture = Fixture::new();
    let (done, commits) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let committed = try_git_in(&fixture.root, &["commit", "--quiet", "--allow-empty", "-m", "Loop"]).0;
                commits.fetch_add(usize::from(committed), Ordering::Relaxed);
            }
        });
        let store = fixture.store();
        let target = target(&store, None).unwrap();
        let appended: Result<Vec<_>, _> = (0..records)
            .map(|number| append(&store, &target, &[Record::from_run(&run(number))], minute(number)))
            .collect();
        done.store(true, Ordering::Relaxed);
        appended.unwrap();
    });
    let loaded = fixture.load();
    assert_eq!((loaded.runs.len(), loaded.quarantined.len()), (records as usize, 0));
    assert!(commits.load(Ordering::Relaxed) > 0);
    assert_eq!(fixture.status(), "");
    fixture.fsck();
}
