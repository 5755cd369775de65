//! What can be opened and read, what cannot, and what the errors say.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;

use crate::testing::{Fixture, commit, file, git_in, minute, records, run, try_git_in};
use crate::{
    HistoryError, Store, append, check_writable, commit_line, facts, fsck, list, load, measured_commit, open, source,
    target,
};

fn refused(fixture: &Fixture) -> HistoryError {
    open(&fixture.root).err().expect("it cannot be opened")
}

#[test]
fn repositories_that_cannot_be_opened() {
    let fixture = Fixture::nothing();
    fs::create_dir(&fixture.root).unwrap();
    let error = refused(&fixture);
    assert!(matches!(error, HistoryError::NoRepository(_)), "{error}");
    assert!(error.hint().unwrap().contains("git init"));
    if try_git_in(&fixture.root, &["init", "--quiet", "--ref-format=reftable"]).0 {
        assert!(matches!(refused(&fixture), HistoryError::Reftable(_)));
    } else {
        eprintln!("skipped: this git knows no reftable");
    }
    assert!(matches!(refused(&Fixture::empty(&["--object-format=sha256"])), HistoryError::Sha256(_)));
    let fixture = Fixture::new();
    fixture.write(".git/config", "[core\n");
    assert!(matches!(refused(&fixture), HistoryError::Unreadable { .. }));
}

#[cfg(unix)]
#[test]
fn the_repository_of_another_user() {
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
fn trying_to_write_leaves_nothing_behind() {
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
    let hint = |kind: ErrorKind| HistoryError::io("write to", &objects)(kind.into()).hint();
    assert!(hint(ErrorKind::PermissionDenied).unwrap().contains(&objects.display().to_string()));
    assert_eq!(hint(ErrorKind::StorageFull), None);
}

#[test]
fn a_repository_opens_from_a_folder_inside() {
    let fixture = Fixture::new();
    let facts = facts(&open(&fixture.root.join("src")).unwrap()).unwrap();
    assert_eq!(facts.workdir, Some(fixture.root.clone()));
    assert_eq!((facts.branch.as_deref(), facts.commit, facts.shallow), (Some("main"), Some(fixture.head()), false));
}

#[test]
fn an_unborn_branch_takes_a_first_record() {
    let fixture = Fixture::empty(&[]);
    fixture.write("README", "staged\n");
    fixture.git(&["add", "README"]);
    let facts = facts(&fixture.store()).unwrap();
    assert_eq!((facts.branch.as_deref(), facts.commit), (Some("main"), None));
    assert_eq!(fixture.load().tip, None);
    fixture.record(1);
    assert_eq!(fixture.load().runs[0].run, run(1));
    assert_eq!(fixture.status(), "A  README");
    fixture.fsck();
}

#[test]
fn a_bare_repository_takes_records() {
    let bare = Fixture::new().cloned("bare.git", &["--bare"]);
    assert_eq!(facts(&bare.store()).unwrap().workdir, None);
    bare.record(1);
    assert_eq!(bare.load().runs.len(), 1);
    assert!(!bare.root.join("sprag/journal.json").exists());
    bare.fsck();
}

/// Records on the configured branch `records`, which leaves the working tree as it is.
fn check_configured(fixture: &Fixture) {
    let (store, before) = (fixture.store(), fixture.status());
    let target = target(&store, Some("records")).unwrap();
    assert_eq!(target.reference, "refs/heads/records");
    append(&store, &target, &records(1..2), minute(1)).unwrap();
    assert_eq!(load(&store, &target).unwrap().runs.len(), 1);
    assert_eq!(fixture.status(), before);
    assert_eq!(fixture.git(&["ls-tree", "--name-only", "records"]), "history");
}

#[test]
fn a_detached_head_needs_a_configured_branch() {
    let fixture = Fixture::new();
    fixture.git(&["checkout", "--quiet", "--detach"]);
    let store = fixture.store();
    let facts = facts(&store).unwrap();
    assert_eq!((facts.branch, facts.commit), (None, Some(fixture.head())));
    let error = target(&store, None).unwrap_err();
    assert!(matches!(error, HistoryError::Detached), "{error}");
    assert!(error.hint().unwrap().contains("[history]"));
    assert_eq!(source(&store, None).unwrap().reference, "HEAD");
    assert_eq!(load(&store, &source(&store, None).unwrap()).unwrap().runs, []);
    check_configured(&fixture);
}

#[test]
fn a_merge_or_rebase_under_way_needs_another_branch() {
    for (operation, branch) in [("merge", "main"), ("rebase", "side")] {
        let fixture = Fixture::new();
        fixture.git(&["checkout", "--quiet", "-b", "side", "HEAD~1"]);
        fixture.commit("src/lib.rs", "fn side() {}\n", "Side");
        let other = if branch == "main" { "side" } else { "main" };
        fixture.git(&["checkout", "--quiet", branch]);
        assert!(!try_git_in(&fixture.root, &[operation, other]).0);
        for configured in [None, Some(branch)] {
            let error = target(&fixture.store(), configured).unwrap_err();
            assert!(matches!(error, HistoryError::Busy { activity, .. } if activity == operation), "{error}");
        }
        check_configured(&fixture);
    }
    // A bisection moves no branch.
    let fixture = Fixture::new();
    fixture.git(&["bisect", "start"]);
    assert!(target(&fixture.store(), None).is_ok());
}

#[test]
fn only_branches_can_be_the_ref_of_the_history() {
    let fixture = Fixture::new();
    fixture.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    let store = fixture.store();
    for (name, expected) in [
        ("records", "refs/heads/records"),
        ("refs/heads/bench/records", "refs/heads/bench/records"),
        ("alias", "refs/heads/main"),
    ] {
        assert_eq!(target(&store, Some(name)).unwrap().reference, expected);
    }
    for bad in ["", "HEAD", "@", "-f", "a..b", "a b", "a.lock", "/a", "a/", "refs/tags/v1", "refs/remotes/origin/main"]
    {
        let error = target(&store, Some(bad)).unwrap_err();
        assert!(matches!(error, HistoryError::BadRef { .. }), "{error}");
    }
}

#[test]
fn a_fresh_clone_builds_upon_the_branch_of_its_remote() {
    let origin = Fixture::new();
    check_configured(&origin);
    let clone = origin.cloned("clone", &[]);
    let store = clone.store();
    let branch = target(&store, Some("records")).unwrap();
    assert_eq!(branch.remote.as_deref(), Some("refs/remotes/origin/records"));
    let loaded = load(&store, &branch).unwrap();
    assert_eq!((loaded.runs.len(), loaded.reference.as_str()), (1, "refs/remotes/origin/records"));
    append(&store, &branch, &records(2..3), minute(2)).unwrap();
    let loaded = load(&store, &target(&store, Some("records")).unwrap()).unwrap();
    assert_eq!((loaded.runs.len(), loaded.reference.as_str()), (2, "refs/heads/records"));
    assert_eq!(clone.git(&["rev-list", "--count", "origin/records..records"]), "1");
}

const BEGINS: &str = "there is no branch `records` yet: it will begin with the records of `main`, which are used";

#[test]
fn what_was_lost_with_the_code_is_listed_on_the_branch_that_begins() {
    let fixture = Fixture::new();
    fixture.append(&records(1..3), minute(1));
    fixture.remove(&file(1).0);
    let branch = target(&fixture.store(), Some("records")).unwrap();
    crate::repair(&fixture.store(), &branch, minute(2)).unwrap();
    assert_eq!(load(&fixture.store(), &branch).unwrap().runs.len(), 2);
    assert_eq!(fixture.git(&["ls-tree", "--name-only", "records"]), "history");
}

#[test]
fn records_of_the_code_are_no_beginning_where_the_branch_may_be_elsewhere() {
    let origin = Fixture::new();
    origin.append(&records(1..3), minute(1));
    for (name, options, expected) in [("all", &[][..], true), ("one", &["--single-branch"], false)] {
        let clone = origin.cloned(name, options);
        assert_eq!(target(&clone.store(), Some("records")).unwrap().inherited.is_some(), expected, "{name}");
    }
}

#[test]
fn a_branch_of_its_own_begins_with_the_records_of_the_code() {
    let fixture = Fixture::new();
    fixture.append(&records(2..3), minute(1));
    fixture.append(&records(1..2), minute(1));
    let store = fixture.store();
    let branch = target(&store, Some("records")).unwrap();
    let loaded = load(&store, &branch).unwrap();
    assert_eq!((loaded.runs.len(), loaded.reference.as_str()), (2, "refs/heads/main"));
    assert_eq!(loaded.warnings, [BEGINS]);
    append(&store, &branch, &records(3..4), minute(2)).unwrap();
    let loaded = load(&store, &branch).unwrap();
    assert_eq!((loaded.runs.len(), loaded.reference.as_str()), (3, "refs/heads/records"));
    assert_eq!(fixture.git(&["ls-tree", "--name-only", "records"]), "history");
    append(&store, &branch, &records(4..5), minute(3)).unwrap();
    assert_eq!(load(&store, &branch).unwrap().runs.len(), 4);
    // One commit each, as they were recorded: the later one first.
    let subjects = |name: &str| fixture.git(&["log", "--format=%s %at", name, "--", "history"]);
    assert!(subjects("records").ends_with(&subjects("main")), "{}", subjects("records"));
    assert_eq!(fixture.git(&["rev-list", "--count", "records"]), "4");
}

#[test]
fn files_that_are_no_runs_are_quarantined_with_the_reason() {
    let fixture = Fixture::new();
    fixture.append(&records(90..92), minute(5));
    fixture.record(0);
    let mut expected = BTreeMap::new();
    let mut number = 0;
    let mut add = |change: &dyn Fn(&str, &str) -> (String, String), reason: &'static str| {
        number += 1;
        let (path, text) = file(number);
        let (path, text) = change(&path, &text);
        fixture.write(&path, &text);
        expected.insert(path, reason);
    };
    let machine = run(1).machine.short_id().to_owned();
    for (text, reason) in [
        ("", "is not JSON"),
        ("{\"tool\":\"other\"}\n", "it has no `schema_version`"),
        ("{\"schema_version\":7}\n", "schema version 7"),
        ("{\"schema_version\":1}\n", "does not follow the schema of its version"),
    ] {
        add(&|path, _| (path.to_owned(), text.to_owned()), reason);
    }
    add(&|path, text| (path.to_owned(), text[..200].to_owned()), "is not JSON");
    add(&|path, text| (path.to_owned(), text.trim_end().to_owned()), "canonical");
    for (from, to) in [("\":", "\": "), ("tile_pack", "tile_hack")] {
        add(&|path, text| (path.to_owned(), text.replace(from, to)), "has the id");
    }
    for (from, to, reason) in [
        ("/cpu/", "/gpu/", "has the suite `gpu`"),
        ("/2026/", "/2025/", "has the year"),
        ("/01/", "/02/", "has the month"),
        ("000000000000-", "abcdefabcdef-", "has the commit"),
        (&machine, "01234567", "has the machine"),
        (".json", ".txt", "is not named"),
    ] {
        add(&|path, text| (path.replace(from, to), text.to_owned()), reason);
    }
    for path in ["cpu/2026/01/notes.json", "notes.md", "cpu/2026/notes.md"] {
        add(&|_, text| (format!("history/v1/{path}"), text.to_owned()), "is not named");
    }
    fixture.write("history/v1/a/b/c/d/e/f", "x\n");
    expected.insert("history/v1/a/b/c/d".to_owned(), "is a folder");
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (link, program) = (file(70).0, file(71));
        symlink("../../../../../README", fixture.root.join(&link)).unwrap();
        expected.insert(link, "is a symbolic link");
        fixture.write(&program.0, &program.1);
        fs::set_permissions(fixture.root.join(&program.0), fs::Permissions::from_mode(0o755)).unwrap();
        expected.insert(program.0, "is an executable file");
    }
    // Folders next to the runs, which are passed over or warned about.
    for path in ["README.md", "v1/.gitattributes", "v1/_events/2026/x.json", "v2/cpu/x.json", "old/x.json"] {
        fixture.write(&format!("history/{path}"), "* -diff\n");
    }
    commit(&fixture);
    let loaded = fixture.load();
    // The others load, by time.
    assert_eq!(loaded.runs.iter().map(|run| run.run.clone()).collect::<Vec<_>>(), [0, 90, 91].map(run));
    assert_eq!(loaded.quarantined.len(), expected.len(), "{:?}", loaded.quarantined);
    for (quarantined, (path, reason)) in loaded.quarantined.iter().zip(expected) {
        assert_eq!(quarantined.path, path);
        assert!(quarantined.reason.to_string().contains(reason), "`{}` should say `{reason}`", quarantined.reason);
    }
    let [old, newer] = &loaded.warnings[..] else { panic!("{:?}", loaded.warnings) };
    assert_eq!(old, "`history/old/` is not part of the layout and was not read");
    assert_eq!(newer, "`history/v2/` is of a newer layout and was not read; a newer sprag can read it");
    let fixture = Fixture::new();
    fixture.commit("history", "a file\n", "Add a file");
    assert_eq!(fixture.load().quarantined[0].path, "history");
}

// Objects whose file is cut short, as by a power cut: every call ends, with or without an error.

/// Whether each of the calls that commands make first succeeds.
fn answers(store: &Store) -> [bool; 6] {
    let target = target(store, None);
    [
        facts(store).is_ok(),
        measured_commit(store).is_ok(),
        commit_line(store, None).is_ok(),
        target.as_ref().is_ok_and(|target| list(store, target).is_ok()),
        target.as_ref().is_ok_and(|target| load(store, target).is_ok()),
        target.as_ref().is_ok_and(|target| fsck(store, target, minute(24 * 60), None).is_ok()),
    ]
}

/// A history of one run, of which the object that `name` gives is cut to half its length.
fn cut(name: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.record(0);
    let object = fixture.object(name);
    let mut permissions = fs::metadata(&object).unwrap().permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "it is a file of this test")]
    permissions.set_readonly(false);
    fs::set_permissions(&object, permissions).unwrap();
    let half = fs::metadata(&object).unwrap().len() / 2;
    File::options().write(true).open(&object).unwrap().set_len(half).unwrap();
    fixture
}

#[test]
fn no_call_hangs_on_a_broken_object() {
    let record = format!("HEAD:{}", file(0).0);
    for (name, expected) in [
        ("HEAD", [false; 6]),
        ("HEAD^{tree}", [false; 6]),
        ("HEAD:history", [true, false, true, true, true, true]),
        ("HEAD:history/v1", [true, false, true, true, true, true]),
        (&record, [true; 6]),
        ("HEAD~1", [true, false, false, true, true, true]),
        ("HEAD~1^{tree}", [true, false, false, true, true, true]),
    ] {
        assert_eq!(answers(&cut(name).store()), expected, "{name}");
    }
    // Also one that is borrowed from another repository.
    let lender = cut("HEAD");
    let borrower = lender.at("borrower");
    git_in(lender.root.parent().unwrap(), &["init", "--quiet", "--initial-branch=main", "borrower"]);
    borrower.write(".git/objects/info/alternates", &format!("{}\n", lender.root.join(".git/objects").display()));
    fs::copy(lender.root.join(".git/refs/heads/main"), borrower.root.join(".git/refs/heads/main")).unwrap();
    assert_eq!(answers(&borrower.store()), [false; 6]);
    let error = facts(&borrower.store()).unwrap_err().to_string();
    assert!(error.contains("is broken"), "{error}");
}
