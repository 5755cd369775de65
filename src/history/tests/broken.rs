//! Objects whose file is cut short, as by a power cut: every question is answered, and none waits for ever.

use std::fs::{self, File};
use std::path::Path;

use crate::testing::{Fixture, git_in, isolated, minute, run};
use crate::{Record, commit_line, facts, fsck, list, load, measured_commit, open, target};

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
