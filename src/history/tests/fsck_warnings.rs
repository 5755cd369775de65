//! Findings that are not damage.

use std::collections::BTreeSet;
use std::fs;

use FindingKind as Kind;
use chrono::TimeDelta;
use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Signature, Time};

use crate::testing::{Fixture, minute, rounds, run, run_of};
use crate::testing::{checked, file, findings, history, record, repaired};
use crate::{Record, commit_at, fsck};
use sprag_base::digest::Digest;
use sprag_model::fsck::{FindingKind, FsckStatus, Severity};
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
    check(&[Run { timestamp: minute(0) + TimeDelta::seconds(30), ..run(0) }], &[Kind::Duplicate]);
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
fn impossible_times_and_absent_commits() {
    check(&[Run { timestamp: minute(3 * 24 * 60), ..run(9) }], &[Kind::Clock]);
    let fixture = history();
    let mut code = commit_at(&fixture.store(), "HEAD").unwrap().unwrap();
    record(&fixture, &[Run { timestamp: code.commit_time - TimeDelta::days(2), ..run_of(8, code.clone()) }]);
    assert_eq!(findings(&checked(&fixture))[0].0, Kind::Clock);
    // A commit that is dated before its parent, and one that the repository lacks.
    let fixture = history();
    code.sha = "ab".repeat(20);
    code.commit_time = minute(0);
    fixture.append(&[Record::from_run(&run_of(8, code))], minute(0));
    let report = checked(&fixture);
    assert_eq!(findings(&report), [Kind::AbsentCommit, Kind::Clock].map(|kind| (kind, String::new())));
    assert!(report.findings[1].what.contains(&fixture.head()), "{report:#?}");
    assert!(report.findings[0].what.contains("abababababab"), "{report:#?}");
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
    let left = || findings(&checked(&fixture)).into_iter().map(|(_, path)| path).collect::<Vec<_>>();
    assert_eq!(left(), ["sprag/staged"]);
    // While a process has the lock, it is at work.
    let lock = fs::File::options().create(true).append(true).open(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(left(), [""; 0]);
    drop(lock);
    assert_eq!(repaired(&fixture).steps.len(), 1);
    assert_eq!(left(), [""; 0]);
}

#[test]
fn shallow_clones_grafts_and_replaced_commits() {
    let fixture = history();
    let report = checked(&fixture.cloned("clone", &["--depth=2"]));
    assert_eq!(findings(&report), [(Kind::Incomplete, String::new())]);
    assert_eq!((report.status, report.runs, report.root), (FsckStatus::Warnings, 3, None));
    fixture.git(&["replace", "HEAD", "HEAD~1"]);
    fs::write(fixture.root.join(".git/info/grafts"), format!("{}\n", fixture.head())).unwrap();
    let report = checked(&fixture);
    assert_eq!(findings(&report), [(Kind::Incomplete, String::new()), (Kind::Incomplete, String::new())]);
    assert_eq!(report.entries, 3, "their own parents count");
}

// One flipped bit anywhere in a record or in an object of git is seen.
//
// `SPRAG_LONG_TESTS=1` tries 10,000 of them.

fn flips() -> u64 {
    rounds(400, 10_000)
}

fn pick(seed: u64, end: usize) -> usize {
    let digest = Digest::from_parts(&[&seed.to_be_bytes()]);
    let bytes: [u8; 8] = digest.0[..8].try_into().unwrap();
    (u64::from_be_bytes(bytes) % end as u64) as usize
}

fn flip(bytes: &mut [u8], seed: u64) {
    let bit = pick(seed, bytes.len() * 8);
    bytes[bit / 8] ^= 1 << (bit % 8);
}

#[test]
fn every_flip_in_a_history_is_named() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let repository = &store.repository;
    let (mut update, mut paths) = (TreeUpdateBuilder::new(), BTreeSet::new());
    for seed in 0..flips() {
        let mut record = Record::from_run(&run(seed as i64));
        flip(&mut record.bytes, seed);
        update.upsert(record.path.as_str(), repository.blob(&record.bytes).unwrap(), FileMode::Blob);
        paths.insert(record.path);
    }
    let parent = repository.head().unwrap().peel_to_commit().unwrap();
    let tree = update.create_updated(repository, &parent.tree().unwrap()).unwrap();
    let tree = repository.find_tree(tree).unwrap();
    let author = Signature::new("Ada", "ada@example.com", &Time::new(1_767_700_000, 0)).unwrap();
    repository.commit(Some("HEAD"), &author, &author, "Flip", &tree, &[&parent]).unwrap();
    let report = fsck(&store, &fixture.target(), minute(60 * 24 * 30), None).unwrap();
    let damage = report.findings.iter().filter(|finding| finding.severity == Severity::Damage);
    let named: BTreeSet<String> = damage.filter_map(|finding| finding.path.clone()).collect();
    assert_eq!(named, paths);
    assert_eq!((report.runs, report.entries), (0, 0));
}

#[test]
fn every_flip_in_an_object_of_git_is_seen() {
    let fixture = history();
    let place = fixture.object(&format!("HEAD:{}", Record::from_run(&run(1)).path));
    let object = fs::read(&place).unwrap();
    let bytes = checked(&fixture).root;
    let mut unharmed = 0;
    let flips = rounds(20, 400);
    for seed in 0..flips {
        let mut broken = object.clone();
        flip(&mut broken, seed);
        fs::remove_file(&place).unwrap();
        fs::write(&place, &broken).unwrap();
        let report = checked(&fixture);
        // Some bits of a compressed stream stand for nothing: the content is then the same.
        if report.status == FsckStatus::Clean {
            assert_eq!((report.runs, report.root), (3, bytes));
            unharmed += 1;
        } else {
            assert_eq!(report.status, FsckStatus::Damaged);
        }
    }
    assert!(unharmed <= flips.div_ceil(20), "{unharmed} flips changed nothing");
}
