//! Syncs with a remote next to the repository, where a test has to step in.

use std::ffi::OsString;
use std::fs;

use crate::state::StateFolder;
use crate::sync::rounds::sync_within;
use crate::testing::{Fixture, checked, commit, minute, records, repaired};
use crate::{SyncError, SyncOptions, Synced};
use sprag_model::fsck::FindingKind;

/// A repository with one commit of code, and its remote.
pub(super) fn shared() -> (Fixture, Fixture) {
    let fixture = Fixture::new();
    fixture.git(&["init", "-q", "--bare", "--initial-branch=main", "../remote.git"]);
    fixture.git(&["remote", "add", "origin", "../remote.git"]);
    fixture.git(&["push", "-q", "origin", "main"]);
    let remote = fixture.at("remote.git");
    (fixture, remote)
}

pub(super) fn sync(fixture: &Fixture, attempts: u32) -> Result<Synced, SyncError> {
    sync_with(fixture, attempts, &SyncOptions::default())
}

pub(super) fn sync_with(fixture: &Fixture, attempts: u32, options: &SyncOptions) -> Result<Synced, SyncError> {
    sync_while(fixture, attempts, options, &mut || {})
}

fn sync_while(
    fixture: &Fixture,
    attempts: u32,
    options: &SyncOptions,
    waits: &mut dyn FnMut(),
) -> Result<Synced, SyncError> {
    let isolation = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].map(|name| (OsString::from(name), "/dev/null".into()));
    let variables = std::env::vars_os().filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_"));
    let (store, target, variables) = (fixture.store(), fixture.target(), variables.chain(isolation));
    sync_within(attempts, &store, &target, options, variables, minute(200_002), waits)
}

#[test]
fn a_sync_waits_for_another_one_and_says_so() {
    let (fixture, _) = shared();
    let store = fixture.store();
    let mut other = StateFolder::new(store.repository.commondir()).lock_sync().unwrap();
    assert!(other.is_some());
    let mut said = 0;
    let mut waits = || {
        said += 1;
        other.take();
    };
    sync_while(&fixture, 1, &SyncOptions::default(), &mut waits).unwrap();
    assert_eq!(said, 1);
}

#[test]
fn a_sync_gives_up_a_remote_that_stays_locked() {
    let (fixture, remote) = shared();
    fixture.record(1);
    remote.write("refs/heads/main.lock", "");
    let error = sync(&fixture, 3).unwrap_err();
    assert!(matches!(&error, SyncError::Outrun { attempts: 3, .. }), "{error}");
    assert!(!error.is_integrity() && error.hint().unwrap().starts_with("the records are safe on the local branch"));
    assert_eq!(fixture.load().runs.len(), 1);
    fs::remove_file(remote.root.join("refs/heads/main.lock")).unwrap();
    let synced = sync(&fixture, 1).unwrap();
    assert_eq!((synced.sent.len(), synced.attempts, synced.warnings.len()), (1, 1, 0));
    assert_eq!(remote.git(&["rev-parse", "main"]), fixture.head());
}

#[test]
fn a_sync_clears_the_locks_that_a_killed_one_left() {
    let (fixture, remote) = shared();
    fixture.record(1);
    sync(&fixture, 1).unwrap();
    fixture.record(2);
    for name in ["synced", "fetched"] {
        fixture.write(&format!(".git/refs/sprag/{name}/origin/main.lock"), "half");
    }
    assert_eq!(sync(&fixture, 1).unwrap().sent.len(), 1);
    // The lock of another program stays.
    fixture.write(".git/refs/heads/main.lock", "");
    let other = remote.cloned("other", &[]);
    other.write("history/v1/_notes/2026/x.json", "{}\n");
    commit(&other);
    other.git(&["push", "-q"]);
    assert!(matches!(sync(&fixture, 2), Err(SyncError::Outrun { .. })));
    fs::remove_file(fixture.root.join(".git/refs/heads/main.lock")).unwrap();
    assert_eq!(sync(&fixture, 1).unwrap().received, 1);
    assert_eq!(fixture.status(), "");
}

#[test]
fn notes_of_contents_that_the_remote_has_stay_here() {
    let (fixture, remote) = shared();
    fixture.record(1);
    sync(&fixture, 1).unwrap();
    let path = records(1..2).remove(0).path;
    let object = fixture.object(&format!("HEAD:{path}"));
    fs::remove_file(object).unwrap();
    fs::remove_file(fixture.root.join(&path)).unwrap();
    let repair = repaired(&fixture);
    assert!(repair.steps[0].contains("could not be read"), "{repair:?}");
    assert_eq!(sync(&fixture, 1).unwrap().sent, [""; 0]);
    assert_eq!(remote.git(&["ls-tree", "-r", "--name-only", "main", "history/"]), path);
    assert_eq!(fixture.load().runs.len(), 1);
}

/// An object of a record, of its folder or of its commit, lost or broken before it was sent.
#[test]
fn a_broken_object_that_was_not_sent_keeps_no_other_record_from_the_remote() {
    let lost = records(2..3).remove(0).path;
    let folder = lost.rsplit_once('/').unwrap().0;
    for revision in [&format!("HEAD~1:{lost}"), &format!("HEAD~1:{folder}"), "HEAD~1^{tree}", "HEAD~1"] {
        for bytes in [&b"garbage"[..], b""] {
            let (fixture, remote) = shared();
            (1..4).for_each(|number| {
                _ = fixture.record(number);
                if number == 1 {
                    sync(&fixture, 1).unwrap();
                }
            });
            let object = fixture.object(revision);
            fs::remove_file(&object).unwrap();
            if !bytes.is_empty() {
                fs::write(&object, bytes).unwrap();
            }
            let is_record = revision.ends_with(".json");
            if is_record {
                fs::remove_file(fixture.root.join(&lost)).unwrap();
            }
            let case = format!("{revision}, {bytes:?}");
            let at_remote = || remote.git(&["ls-tree", "-r", "--name-only", "main", "history/v1/cpu"]);
            let run = |number| records(number..number + 1).remove(0).path;
            if revision == "HEAD~1" && !bytes.is_empty() {
                let error = sync(&fixture, 1).unwrap_err();
                assert!(error.is_integrity() && error.hint().unwrap().contains("history fsck"), "{error}");
                repaired(&fixture);
            }
            for number in 4..6 {
                let synced = sync(&fixture, 1).unwrap_or_else(|error| panic!("{case}: {error}"));
                assert_eq!(synced.warnings.iter().any(|one| one.contains(&lost)), is_record, "{case}: {synced:?}");
                assert!(at_remote().contains(&run(number - 1)), "{case}");
                fixture.record(number);
            }
            repaired(&fixture);
            assert_eq!(sync(&fixture, 1).unwrap().warnings, [""; 0], "{case}");
            let numbers = (1..6).filter(|number| *number != 2 || !is_record);
            let expected: Vec<String> = numbers.map(run).collect();
            let mut sent: Vec<String> = at_remote().lines().map(str::to_owned).collect();
            sent.sort_by_key(|path| expected.iter().position(|other| other == path));
            assert_eq!((sent, fixture.head()), (expected, remote.git(&["rev-parse", "main"])), "{case}");
            assert_eq!(fixture.status(), "", "{case}");
        }
    }
}

#[test]
fn fsck_misses_the_synced_records_that_a_reset_removed() {
    let (fixture, _) = shared();
    (1..4).for_each(|number| _ = fixture.record(number));
    sync(&fixture, 1).unwrap();
    let check = |expected: &str| {
        let findings = checked(&fixture).findings;
        let incomplete = findings.iter().filter(|finding| finding.kind == FindingKind::Incomplete);
        let incomplete: Vec<&str> = incomplete.map(|finding| finding.what.as_str()).collect();
        assert_eq!(incomplete.join("; "), expected);
    };
    check("");
    fixture.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    check("1 record of the last sync with `origin/main` is not on this branch");
    fixture.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    check("2 records of the last sync with `origin/main` are not on this branch");
    assert_eq!(sync(&fixture, 1).unwrap().received, 2);
    check("");
}
