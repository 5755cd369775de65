//! Syncs with a remote beside the repository, where a test has to step in.

use std::ffi::OsString;
use std::fs;

use crate::sync::rounds::sync_within;
use crate::testing::{Fixture, git_in, minute, run};
use crate::{AfterRewrite, Record, SyncError, SyncOptions, Synced, fsck, repair};
use sprag_model::fsck::FindingKind;

/// A repository with one commit of code, and its remote.
fn shared() -> Fixture {
    let fixture = Fixture::new();
    let remote = fixture.sibling("remote.git");
    fixture.git(&["init", "-q", "--bare", "--initial-branch=main", remote.to_str().unwrap()]);
    fixture.git(&["remote", "add", "origin", "../remote.git"]);
    fixture.git(&["push", "-q", "origin", "main"]);
    fixture
}

fn sync(fixture: &Fixture, attempts: u32) -> Result<Synced, SyncError> {
    sync_with(fixture, attempts, &SyncOptions::default())
}

fn sync_with(fixture: &Fixture, attempts: u32, options: &SyncOptions) -> Result<Synced, SyncError> {
    let store = fixture.store();
    let target = fixture.target();
    let isolation = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].map(|name| (OsString::from(name), "/dev/null".into()));
    let variables = std::env::vars_os().filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_"));
    sync_within(attempts, &store, &target, options, variables.chain(isolation), minute(9))
}

#[test]
fn a_remote_that_stays_locked_is_given_up() {
    let fixture = shared();
    fixture.record(1);
    let lock = fixture.sibling("remote.git").join("refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let error = sync(&fixture, 3).unwrap_err();
    assert!(matches!(&error, SyncError::Outrun { attempts: 3, .. }), "{error}");
    assert!(!error.is_integrity() && error.hint().unwrap().starts_with("the records are safe on the local branch"));
    assert_eq!(fixture.load().runs.len(), 1);
    fs::remove_file(&lock).unwrap();
    let synced = sync(&fixture, 1).unwrap();
    assert_eq!((synced.sent.len(), synced.attempts, synced.warnings.len()), (1, 1, 0));
    assert_eq!(git_in(&fixture.sibling("remote.git"), &["rev-parse", "main"]), fixture.head());
}

#[test]
fn locks_that_a_killed_sync_left_are_cleared() {
    let fixture = shared();
    fixture.record(1);
    sync(&fixture, 1).unwrap();
    fixture.record(2);
    for name in ["synced", "fetched"] {
        fixture.write(&format!(".git/refs/sprag/{name}/origin/main.lock"), "half");
    }
    assert_eq!(sync(&fixture, 1).unwrap().sent.len(), 1);
    // A lock of another program's is its own, and so is one that we hold.
    fixture.write(".git/refs/heads/main.lock", "");
    record_at_remote(&fixture);
    assert!(matches!(sync(&fixture, 2), Err(SyncError::Outrun { .. })));
    fs::remove_file(fixture.root.join(".git/refs/heads/main.lock")).unwrap();
    assert_eq!(sync(&fixture, 1).unwrap().received, 1);
    assert_eq!(fixture.status(), "");
}

fn record_at_remote(fixture: &Fixture) {
    let other = fixture.sibling("other");
    fixture.git(&["clone", "-q", fixture.sibling("remote.git").to_str().unwrap(), other.to_str().unwrap()]);
    fs::create_dir_all(other.join("history/v1/_notes/2026")).unwrap();
    fs::write(other.join("history/v1/_notes/2026/x.json"), "{}\n").unwrap();
    git_in(&other, &["add", "history"]);
    git_in(&other, &["commit", "-q", "-m", "sprag: a note"]);
    git_in(&other, &["push", "-q"]);
}

#[test]
fn notes_of_what_the_remote_has_stay_here() {
    let fixture = shared();
    fixture.record(1);
    sync(&fixture, 1).unwrap();
    let path = Record::from_run(&run(1)).path;
    let object = fixture.object(&format!("HEAD:{path}"));
    fs::rename(&object, fixture.sibling("object")).unwrap();
    fs::remove_file(fixture.root.join(&path)).unwrap();
    let store = fixture.store();
    let repaired = repair(&store, &fixture.target(), minute(5)).unwrap();
    assert!(repaired.steps[0].contains("could not be read"), "{repaired:?}");
    assert!(matches!(sync(&fixture, 1), Err(SyncError::LostHere { .. })));
    fs::rename(fixture.sibling("object"), &object).unwrap();
    let options = SyncOptions { after_rewrite: Some(AfterRewrite::Restore), ..SyncOptions::default() };
    let synced = sync_with(&fixture, 1, &options).unwrap();
    assert_eq!(synced.sent, [""; 0]);
    assert_eq!(git_in(&fixture.sibling("remote.git"), &["ls-tree", "-r", "--name-only", "main", "history/"]), path);
    assert_eq!(fixture.load().runs.len(), 1);
}

#[test]
fn a_record_of_the_last_sync_that_a_reset_took_is_told() {
    let fixture = shared();
    (1..4).for_each(|number| _ = fixture.record(number));
    sync(&fixture, 1).unwrap();
    let check = |expected: &str| {
        let store = fixture.store();
        let report = fsck(&store, &fixture.target(), minute(60), None).unwrap();
        let told = report.findings.iter().filter(|finding| finding.kind == FindingKind::Incomplete);
        let told: Vec<&str> = told.map(|finding| finding.what.as_str()).collect();
        assert_eq!(told.join("; "), expected);
    };
    check("");
    fixture.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    check("1 record of the last sync with `origin/main` is not on this branch");
    fixture.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    check("2 records of the last sync with `origin/main` are not on this branch");
    assert_eq!(sync(&fixture, 1).unwrap().received, 2);
    check("");
}
