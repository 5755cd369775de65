//! What can be opened, what cannot, and what is said then.

use std::fs;

use crate::testing::{Fixture, git_in, isolated, minute, run, try_git_in};
use crate::{Activity, Head, HistoryError, Record, append, check_writable, facts, load, open, source, target};

#[test]
fn a_folder_without_a_repository_is_told_apart() {
    let fixture = Fixture::nothing();
    fs::create_dir(&fixture.root).unwrap();
    let error = open(&fixture.root).err().unwrap();
    assert!(matches!(error, HistoryError::NoRepository(_)), "{error}");
    assert!(error.hint().unwrap().contains("git init"));
}

#[test]
fn a_sha256_repository_is_told_apart() {
    let error = open(&Fixture::empty(&["--object-format=sha256"]).root).err().unwrap();
    assert!(matches!(error, HistoryError::Sha256(_)), "{error}");
}

#[test]
fn a_reftable_repository_is_told_apart() {
    let fixture = Fixture::nothing();
    fs::create_dir(&fixture.root).unwrap();
    if !try_git_in(&fixture.root, &["init", "--quiet", "--ref-format=reftable"]).0 {
        eprintln!("skipped: this git knows no reftable");
        return;
    }
    let error = open(&fixture.root).err().unwrap();
    assert!(matches!(error, HistoryError::Reftable(_)), "{error}");
}

#[test]
fn trying_to_write_leaves_nothing_behind_and_tells_what_stands_in_the_way() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let objects = fixture.root.join(".git/objects");
    let count = || fs::read_dir(&objects).unwrap().count();
    let before = count();
    check_writable(&store).unwrap();
    assert_eq!(count(), before);
    fs::rename(&objects, fixture.root.join(".git/away")).unwrap();
    fs::write(&objects, "").unwrap();
    let error = check_writable(&store).unwrap_err();
    assert!(error.to_string().starts_with("cannot write to `"), "{error}");
    let refused = |kind: std::io::ErrorKind| HistoryError::io("write to", &objects)(kind.into()).hint();
    assert!(refused(std::io::ErrorKind::PermissionDenied).unwrap().contains(&objects.display().to_string()));
    assert_eq!(refused(std::io::ErrorKind::StorageFull), None);
}

#[cfg(unix)]
#[test]
fn the_repository_of_another_user_is_told_apart() {
    let fixture = Fixture::new();
    let owner = |path| std::os::unix::fs::chown(path, Some(12_345), Some(12_345));
    if owner(fixture.root.clone()).and_then(|()| owner(fixture.root.join(".git"))).is_err() {
        eprintln!("skipped: only root gives files away");
        return;
    }
    match open(&fixture.root) {
        Err(error) => {
            assert!(matches!(error, HistoryError::Owner(_)), "{error}");
            assert!(error.hint().unwrap().contains("safe.directory"));
        }
        Ok(_) => eprintln!("skipped: `safe.directory` of this machine trusts every repository"),
    }
}

#[test]
fn a_broken_repository_is_told_apart() {
    let fixture = Fixture::new();
    fixture.write(".git/config", "[core\n");
    let error = open(&fixture.root).err().unwrap();
    assert!(matches!(error, HistoryError::Unreadable { .. }), "{error}");
}

#[test]
fn it_opens_from_a_folder_inside() {
    let fixture = Fixture::new();
    let facts = facts(&open(&fixture.root.join("src")).unwrap()).unwrap();
    assert_eq!(facts.workdir.as_deref(), Some(fixture.root.as_path()));
    assert_eq!(facts.head, Head::Branch { name: "main".into(), commit: fixture.head() });
    assert_eq!((facts.activity, facts.shallow), (None, false));
}

#[test]
fn an_unborn_branch_takes_a_first_record() {
    let fixture = Fixture::empty(&[]);
    fixture.write("README", "staged\n");
    fixture.git(&["add", "README"]);
    let store = fixture.store();
    assert_eq!(facts(&store).unwrap().head, Head::Unborn { name: "main".into() });
    let target = target(&store, None).unwrap();
    assert_eq!(load(&store, &target).unwrap().tip, None);
    let run = run(1);
    append(&store, &target, &[Record::from_run(&run)], minute(1)).unwrap();
    assert_eq!(load(&store, &target).unwrap().runs[0].run, run);
    assert_eq!(fixture.status(), "A  README");
    fixture.fsck();
}

#[test]
fn a_bare_repository_takes_records() {
    let origin = Fixture::new();
    let bare = origin.sibling("bare.git");
    git_in(&origin.root, &["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let store = isolated(&bare);
    assert_eq!(facts(&store).unwrap().workdir, None);
    let target = target(&store, None).unwrap();
    append(&store, &target, &[Record::from_run(&run(1))], minute(1)).unwrap();
    assert_eq!(load(&store, &target).unwrap().runs.len(), 1);
    assert!(!bare.join("sprag/journal.json").exists());
    git_in(&bare, &["fsck", "--strict"]);
}

#[test]
fn a_detached_head_needs_a_ref_of_its_own() {
    let fixture = Fixture::new();
    fixture.git(&["checkout", "--quiet", "--detach"]);
    let store = fixture.store();
    assert_eq!(facts(&store).unwrap().head, Head::Detached { commit: fixture.head() });
    let error = target(&store, None).unwrap_err();
    assert!(matches!(error, HistoryError::Detached), "{error}");
    assert!(error.hint().unwrap().contains("[history]"));
    assert_eq!(source(&store, None).unwrap().reference, "HEAD");
    assert_eq!(load(&store, &source(&store, None).unwrap()).unwrap().runs, []);
    let target = target(&store, Some("records")).unwrap();
    assert_eq!(target.reference, "refs/heads/records");
    append(&store, &target, &[Record::from_run(&run(1))], minute(1)).unwrap();
    assert_eq!(load(&store, &target).unwrap().runs.len(), 1);
    assert_eq!(fixture.status(), "");
    assert_eq!(fixture.git(&["ls-tree", "--name-only", "records"]), "history");
}

#[test]
fn a_merge_under_way_needs_a_ref_of_its_own() {
    let fixture = Fixture::new();
    fixture.git(&["checkout", "--quiet", "-b", "side", "HEAD~1"]);
    fixture.commit("src/lib.rs", "fn side() {}\n", "Side");
    fixture.git(&["checkout", "--quiet", "main"]);
    assert!(!try_git_in(&fixture.root, &["merge", "side"]).0);
    let before = fixture.status();
    let store = fixture.store();
    assert_eq!(facts(&store).unwrap().activity, Some(Activity::Merge));
    for configured in [None, Some("main")] {
        let error = target(&store, configured).unwrap_err();
        assert!(matches!(error, HistoryError::Busy { activity: Activity::Merge, .. }), "{error}");
    }
    let target = target(&store, Some("records")).unwrap();
    append(&store, &target, &[Record::from_run(&run(1))], minute(1)).unwrap();
    assert_eq!(fixture.status(), before);
}

#[test]
fn a_rebase_under_way_holds_the_branch_that_it_rebases() {
    let fixture = Fixture::new();
    fixture.git(&["checkout", "--quiet", "-b", "side", "HEAD~1"]);
    fixture.commit("src/lib.rs", "fn side() {}\n", "Side");
    assert!(!try_git_in(&fixture.root, &["rebase", "main"]).0);
    let store = fixture.store();
    for configured in [None, Some("side")] {
        let error = target(&store, configured).unwrap_err();
        assert!(matches!(error, HistoryError::Busy { activity: Activity::Rebase, .. }), "{error}");
    }
    assert!(target(&store, Some("records")).is_ok());
}

#[test]
fn a_bisect_stands_in_nobodys_way() {
    let fixture = Fixture::new();
    fixture.git(&["bisect", "start"]);
    assert_eq!(facts(&fixture.store()).unwrap().activity, Some(Activity::Bisect));
    assert!(target(&fixture.store(), None).is_ok());
}

#[test]
fn only_branches_can_be_the_ref_of_the_history() {
    let fixture = Fixture::new();
    fixture.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    let store = fixture.store();
    let check = |name: &str, expected: Option<&str>| match (target(&store, Some(name)), expected) {
        (Ok(target), Some(expected)) => assert_eq!(target.reference, expected),
        (Err(error), None) => assert!(matches!(error, HistoryError::BadRef { .. }), "{error}"),
        (found, _) => panic!("`{name}`: {found:?}"),
    };
    check("records", Some("refs/heads/records"));
    check("refs/heads/bench/records", Some("refs/heads/bench/records"));
    check("alias", Some("refs/heads/main"));
    for bad in ["", "HEAD", "@", "-f", "a..b", "a b", "a.lock", "/a", "a/", "refs/tags/v1", "refs/notes/x"] {
        check(bad, None);
    }
    check("refs/remotes/origin/main", None);
}

#[test]
fn a_fresh_clone_goes_on_from_the_branch_of_its_remote() {
    let origin = Fixture::new();
    let store = origin.store();
    let records = target(&store, Some("records")).unwrap();
    append(&store, &records, &[Record::from_run(&run(1))], minute(1)).unwrap();
    let clone = origin.sibling("clone");
    git_in(&origin.root, &["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let store = isolated(&clone);
    let records = target(&store, Some("records")).unwrap();
    assert_eq!(records.remote.as_deref(), Some("refs/remotes/origin/records"));
    let loaded = load(&store, &records).unwrap();
    assert_eq!((loaded.runs.len(), loaded.reference.as_str()), (1, "refs/remotes/origin/records"));
    append(&store, &records, &[Record::from_run(&run(2))], minute(2)).unwrap();
    let loaded = load(&store, &target(&store, Some("records")).unwrap()).unwrap();
    assert_eq!((loaded.runs.len(), loaded.reference.as_str()), (2, "refs/heads/records"));
    assert_eq!(git_in(&clone, &["rev-list", "--count", "origin/records..records"]), "1");
}
