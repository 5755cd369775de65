//! What is odd and yet no damage.

use std::fs;

use FindingKind as Kind;
use chrono::TimeDelta;

use super::fsck_fixture::{checked, commit, file, findings, history, record, repaired};
use crate::testing::{Fixture, git_in, isolated, minute, run, run_of};
use crate::{Record, commit_at, fsck, source};
use sprag_base::digest::Digest;
use sprag_model::fsck::{FindingKind, FsckStatus};
use sprag_model::run::Run;

/// Records runs; fails the test unless just these kinds are found, as warnings.
fn check(runs: &[Run], expected: &[Kind]) {
    let fixture = history();
    record(&fixture, runs);
    let report = checked(&fixture);
    let kinds: Vec<Kind> = findings(&report).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, expected, "{report:#?}");
    assert_eq!(report.status, if expected.is_empty() { FsckStatus::Clean } else { FsckStatus::Warnings });
}

#[test]
fn the_same_run_twice() {
    let again = Run { timestamp: minute(0) + TimeDelta::seconds(30), ..run(0) };
    check(std::slice::from_ref(&again), &[Kind::Duplicate]);
    // In the same second, with other content.
    check(&[Run { timestamp: minute(0), ..run(7) }], &[Kind::Duplicate]);
    // A suite that could not run is the same every time.
    let skipped = |number| Run {
        status: sprag_model::run::RunStatus::Skipped,
        reason: Some("no device".to_owned()),
        measurements: Vec::new(),
        ..run(number)
    };
    check(&[skipped(8), skipped(9)], &[]);
}

#[test]
fn times_that_cannot_be() {
    check(&[Run { timestamp: minute(3 * 24 * 60), ..run(9) }], &[Kind::Clock]);
    let fixture = history();
    let code = commit_at(&fixture.store(), "HEAD").unwrap().unwrap();
    record(&fixture, &[Run { timestamp: code.commit_time - TimeDelta::days(2), ..run_of(8, code) }]);
    assert_eq!(findings(&checked(&fixture))[0].0, Kind::Clock);
    // Its commit is dated before the commits of the tests.
    let fixture = history();
    fixture.append(&[Record::from_run(&run(9))], minute(0));
    let report = checked(&fixture);
    assert_eq!(findings(&report), [(Kind::Clock, String::new())]);
    assert!(report.findings[0].what.contains(&fixture.head()), "{report:#?}");
}

#[test]
fn commits_that_are_not_here() {
    let fixture = history();
    let mut code = commit_at(&fixture.store(), "HEAD").unwrap().unwrap();
    code.sha = "ab".repeat(20);
    code.commit_time = minute(0);
    record(&fixture, &[run_of(8, code)]);
    let report = checked(&fixture);
    assert_eq!(findings(&report), [(Kind::AbsentCommit, String::new())]);
    assert!(report.findings[0].what.contains("abababababab"), "{report:#?}");
}

#[test]
fn records_of_a_newer_version_are_left_alone() {
    let fixture = history();
    let text = file(9).1.replace("\"schema_version\":1", "\"schema_version\":9");
    let id = Digest::from_parts(&[text.trim_end().as_bytes()]).short();
    let path = file(9).0;
    let path = format!("{}{id}.json", &path[..path.len() - 21]);
    fixture.write(&path, &text);
    commit(&fixture);
    let report = checked(&fixture);
    assert_eq!(findings(&report), [(Kind::Newer, path)]);
    assert_eq!((report.status, report.runs, report.entries), (FsckStatus::Clean, 3, 4));
    assert_eq!(repaired(&fixture).commit, None);
}

#[test]
fn working_trees_that_differ() {
    let fixture = history();
    let (path, text) = file(1);
    fixture.write(&path, "edited\n");
    fs::remove_file(fixture.root.join(file(0).0)).unwrap();
    fixture.git(&["rm", "--quiet", "--cached", &file(2).0]);
    fixture.write("history/v1/cpu/2026/01/new.json", "{}\n");
    let report = checked(&fixture);
    assert_eq!(report.status, FsckStatus::Warnings);
    let paths: Vec<String> = findings(&report).into_iter().map(|(_, path)| path).collect();
    for wanted in [&file(0).0, &path, &file(2).0, "history/v1/cpu/2026/01/new.json"] {
        assert!(paths.iter().any(|path| path == wanted), "{wanted}: {report:#?}");
    }
    // What is missing comes back; what is the user's stays.
    let steps = repaired(&fixture).steps;
    assert!(steps.iter().any(|step| step.ends_with("caught up with 1 file")), "{steps:?}");
    let left: Vec<String> = findings(&checked(&fixture)).into_iter().map(|(_, path)| path).collect();
    assert_eq!(left, [path.as_str(), "history/v1/cpu/2026/01/new.json"]);
    assert_eq!(fs::read_to_string(fixture.root.join(&path)).unwrap(), "edited\n");
    fixture.write(&path, &text);
    fs::remove_file(fixture.root.join("history/v1/cpu/2026/01/new.json")).unwrap();
    assert_eq!((checked(&fixture).status, fixture.status().as_str()), (FsckStatus::Clean, ""));
}

#[test]
fn leftovers_of_a_process_that_died() {
    let fixture = history();
    let folder = fixture.root.join(".git/sprag");
    fs::create_dir_all(folder.join("staged")).unwrap();
    fs::write(folder.join("staged/x"), "x").unwrap();
    fs::write(folder.join("journal.json"), "{\"version\":1,\"records\":[]}").unwrap();
    let left = || findings(&checked(&fixture)).into_iter().map(|(_, path)| path).collect::<Vec<_>>();
    assert_eq!(left(), ["sprag/journal.json", "sprag/staged"]);
    // While somebody holds the lock, they are his.
    let lock = fs::File::options().create(true).append(true).open(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(left(), [""; 0]);
    drop(lock);
    assert_eq!(repaired(&fixture).steps.len(), 2);
    assert_eq!(left(), [""; 0]);
}

#[test]
fn a_repository_that_has_not_everything_or_is_told_of_something_else() {
    let fixture = history();
    let clone = fixture.sibling("clone");
    let url = format!("file://{}", fixture.root.display());
    git_in(&fixture.root, &["clone", "--quiet", "--depth=2", &url, clone.to_str().unwrap()]);
    let store = isolated(&clone);
    let report = fsck(&store, &source(&store, None).unwrap(), minute(60), None).unwrap();
    assert_eq!(findings(&report), [(Kind::Incomplete, String::new())]);
    assert_eq!((report.status, report.runs, report.root), (FsckStatus::Warnings, 3, None));
    fixture.git(&["replace", "HEAD", "HEAD~1"]);
    fs::write(fixture.root.join(".git/info/grafts"), format!("{}\n", fixture.head())).unwrap();
    let report = checked(&fixture);
    assert_eq!(findings(&report), [(Kind::Incomplete, String::new()), (Kind::Incomplete, String::new())]);
    assert_eq!(report.entries, 3, "their own parents count");
}

#[test]
fn no_history_is_no_fault() {
    let report = checked(&Fixture::new());
    assert_eq!((report.status, report.runs), (FsckStatus::Clean, 0));
    assert_eq!(report.root, Some(Digest::from_parts(&[])));
}
