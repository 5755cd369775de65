//! What can be opened, what cannot, and what is said then.

use std::fs::{self, File};
use std::path::Path;

use crate::testing::{Fixture, git_in, isolated, minute, run, try_git_in};
use crate::{
    Activity, Head, HistoryError, Loaded, Record, append, check_writable, commit_line, facts, fsck, list, load,
    measured_commit, open, source, target,
};
use sprag_model::run::Run;

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
    let target = fixture.target();
    assert_eq!(load(&store, &target).unwrap().tip, None);
    let run = run(1);
    fixture.append(&[Record::from_run(&run)], minute(1));
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

// Files that are no runs are named with the reason, and the others load.

/// A history with one good run and what `change` adds, committed by git.
fn with(change: impl Fn(&Fixture, &Record)) -> Loaded {
    let fixture = Fixture::new();
    fixture.record(0);
    change(&fixture, &Record::from_run(&run(1)));
    fixture.git(&["add", "--all"]);
    fixture.git(&["commit", "--quiet", "-m", "Change the history"]);
    fixture.load()
}

/// Writes a file of the history; it alone is quarantined, with that reason.
fn check(path: impl Fn(&Record) -> String, bytes: impl Fn(&Record) -> Vec<u8>, reason: &str) {
    let loaded = with(|fixture, record| {
        let text = String::from_utf8(bytes(record)).unwrap();
        fixture.write(&path(record), &text);
    });
    assert_eq!(loaded.runs.len(), 1, "{reason}");
    assert_eq!(loaded.runs[0].run, run(0));
    let [quarantined] = &loaded.quarantined[..] else { panic!("{reason}: {:?}", loaded.quarantined) };
    assert_eq!(quarantined.path, path(&Record::from_run(&run(1))));
    assert!(quarantined.reason.contains(reason), "`{}` should say `{reason}`", quarantined.reason);
}

fn own_path(record: &Record) -> String {
    record.path.clone()
}

fn spaced(record: &Record) -> Vec<u8> {
    String::from_utf8_lossy(&record.bytes).replace("\":", "\": ").into_bytes()
}

fn own_bytes(record: &Record) -> Vec<u8> {
    record.bytes.clone()
}

#[test]
fn content_that_is_no_record() {
    check(own_path, |record| record.bytes[..200].to_vec(), "is not JSON");
    check(own_path, |_| Vec::new(), "is not JSON");
    check(own_path, |_| b"{\"tool\":\"other\"}\n".to_vec(), "it has no `schema_version`");
    check(own_path, |_| b"{\"schema_version\":7}\n".to_vec(), "schema version 7");
    check(own_path, |_| b"{\"schema_version\":1}\n".to_vec(), "does not follow the schema of its version");
    check(own_path, spaced, "bears the id");
    check(own_path, |record| record.bytes[..record.bytes.len() - 1].to_vec(), "canonical");
}

#[test]
fn a_name_that_the_content_contradicts() {
    let edited =
        |record: &Record| String::from_utf8_lossy(&record.bytes).replace("tile_pack", "tile_hack").into_bytes();
    check(own_path, edited, "bears the id");
    check(|record| record.path.replace("/cpu/", "/gpu/"), own_bytes, "bears the suite `gpu`");
    check(|record| record.path.replace("/2026/", "/2025/"), own_bytes, "bears the year");
    check(|record| record.path.replace("/01/", "/02/"), own_bytes, "bears the month");
    check(|record| record.path.replace("000000000000-", "abcdefabcdef-"), own_bytes, "bears the commit");
    let machine = run(1).machine.short_id().to_owned();
    check(|record| record.path.replace(&machine, "01234567"), own_bytes, "bears the machine");
}

#[test]
fn a_name_that_says_nothing() {
    check(|_| "history/v1/cpu/2026/01/notes.json".to_owned(), own_bytes, "is not named");
    check(|_| "history/v1/notes.md".to_owned(), own_bytes, "is not named");
    check(|_| "history/v1/cpu/2026/notes.md".to_owned(), own_bytes, "is not named");
    check(|record| record.path.replace(".json", ".txt"), own_bytes, "is not named");
}

#[test]
fn folders_that_lie_too_deep_are_not_entered() {
    let loaded = with(|fixture, record| fixture.write("history/v1/a/b/c/d/e/f", &record.subject));
    assert_eq!(loaded.quarantined[0].path, "history/v1/a/b/c/d");
    assert!(loaded.quarantined[0].reason.contains("is a folder"));
}

#[cfg(unix)]
#[test]
fn modes_that_a_record_has_not() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let loaded = with(|fixture, record| {
        let place = fixture.root.join(&record.path);
        symlink("../../../../../README", &place).unwrap();
    });
    assert!(loaded.quarantined[0].reason.contains("is a symbolic link"), "{:?}", loaded.quarantined);
    let loaded = with(|fixture, record| {
        fixture.write(&record.path, std::str::from_utf8(&record.bytes).unwrap());
        let place = fixture.root.join(&record.path);
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755)).unwrap();
    });
    assert!(loaded.quarantined[0].reason.contains("is an executable file"), "{:?}", loaded.quarantined);
    assert_eq!(loaded.runs.len(), 1);
}

#[test]
fn other_folders_are_passed_over_or_warned_about() {
    let loaded = with(|fixture, _| {
        fixture.write("history/README.md", "read me\n");
        fixture.write("history/v1/.gitattributes", "* -diff\n");
        fixture.write("history/v1/_events/2026/x.json", "{}\n");
        fixture.write("history/v2/cpu/x.json", "{}\n");
        fixture.write("history/old/x.json", "{}\n");
    });
    assert_eq!((loaded.runs.len(), loaded.quarantined.len()), (1, 0));
    let [old, newer] = &loaded.warnings[..] else { panic!("{:?}", loaded.warnings) };
    assert_eq!(old, "`history/old/` is no part of the layout and was not read");
    assert_eq!(newer, "`history/v2/` is of a newer layout and was not read; a newer sprag can read it");
}

#[test]
fn a_file_where_the_history_should_be() {
    let fixture = Fixture::new();
    fixture.commit("history", "a file\n", "Add a file");
    let loaded = fixture.load();
    assert_eq!(loaded.quarantined[0].path, "history");
}

#[test]
fn the_order_is_by_time() {
    let fixture = Fixture::new();
    let runs: Vec<Run> = [5, 1, 3, 2, 4].map(run).to_vec();
    for run in &runs {
        fixture.append(&[Record::from_run(run)], minute(9));
    }
    let times: Vec<_> = fixture.load().runs.iter().map(|run| run.run.timestamp).collect();
    assert_eq!(times, [1, 2, 3, 4, 5].map(minute));
}

// Objects whose file is cut short, as by a power cut: every question is answered, and none waits for ever.

/// Asks all that commands ask first; whether each question could be answered.
fn asked(folder: &Path) -> [bool; 6] {
    let store = isolated(folder);
    let target = target(&store, None);
    [
        facts(&store).is_ok(),
        measured_commit(&store).is_ok(),
        commit_line(&store, None).is_ok(),
        target.as_ref().is_ok_and(|target| list(&store, target).is_ok()),
        target.as_ref().is_ok_and(|target| load(&store, target).is_ok()),
        target.as_ref().is_ok_and(|target| fsck(&store, target, minute(24 * 60), None).is_ok()),
    ]
}

/// A history of one run, of which the object that `name` gives is cut to half its length.
fn cut(name: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.record(0);
    let file = fixture.object(name);
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "it is a file of this test")]
    permissions.set_readonly(false);
    fs::set_permissions(&file, permissions).unwrap();
    let half = fs::metadata(&file).unwrap().len() / 2;
    File::options().write(true).open(&file).unwrap().set_len(half).unwrap();
    fixture
}

#[test]
fn whatever_object_is_broken() {
    let record = Record::from_run(&run(0)).path;
    let check = |name: &str, expected: [bool; 6]| assert_eq!(asked(&cut(name).root), expected, "{name}");
    check("HEAD", [false; 6]);
    check("HEAD^{tree}", [false; 6]);
    check("HEAD:history", [true, false, true, true, true, true]);
    check("HEAD:history/v1", [true, false, true, true, true, true]);
    check(&format!("HEAD:{record}"), [true; 6]);
    check("HEAD~1", [true, false, false, true, true, true]);
    check("HEAD~1^{tree}", [true, false, false, true, true, true]);
}

#[test]
fn an_object_that_is_borrowed() {
    let lender = cut("HEAD");
    let borrower = lender.sibling("borrower");
    fs::create_dir(&borrower).unwrap();
    git_in(&borrower, &["init", "--quiet", "--initial-branch=main"]);
    let objects = lender.root.join(".git/objects");
    fs::write(borrower.join(".git/objects/info/alternates"), format!("{}\n", objects.display())).unwrap();
    fs::copy(lender.root.join(".git/refs/heads/main"), borrower.join(".git/refs/heads/main")).unwrap();
    assert_eq!(asked(&borrower), [false; 6]);
    let error = facts(&open(&borrower).unwrap()).unwrap_err().to_string();
    assert!(error.contains("is broken"), "{error}");
}
