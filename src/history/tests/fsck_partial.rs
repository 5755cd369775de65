//! Clones that leave out what git fetches when it is asked for.

use std::path::{Path, PathBuf};

use super::fsck_fixture::{checked, file, findings, history};
use crate::testing::{Fixture, git_in, isolated, minute};
use crate::{fsck, repair, target};
use sprag_model::fsck::{FindingKind as Kind, FsckReport, FsckStatus};

/// A clone of the repository with these options.
fn clone(origin: &Fixture, name: &str, options: &[&str]) -> PathBuf {
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    let path = origin.sibling(name);
    let url = format!("file://{}", origin.root.display());
    git_in(&origin.root, &[&["clone", "--quiet"], options, &[&url, path.to_str().unwrap()]].concat());
    path
}

fn report_of(path: &Path) -> FsckReport {
    let store = isolated(path);
    fsck(&store, &target(&store, None).unwrap(), minute(24 * 60), None).unwrap()
}

#[test]
fn what_a_partial_clone_lacks_is_no_damage() {
    let origin = history();
    for (name, options) in [("bare", "--bare"), ("sparse", "--sparse")] {
        let path = clone(&origin, name, &["--filter=blob:none", options]);
        let report = report_of(&path);
        assert_eq!(findings(&report), [(Kind::Incomplete, String::new())], "{report:#?}");
        assert_eq!((report.status, report.runs, report.root), (FsckStatus::Warnings, 0, None));
        assert!(report.findings[0].what.starts_with("3 files of the history are not here"), "{report:#?}");
        assert!(report.findings[0].advice.as_ref().unwrap().contains("--refetch"), "{report:#?}");
        // A repair takes nothing away.
        let head = git_in(&path, &["rev-parse", "HEAD"]);
        let store = isolated(&path);
        let repaired = repair(&store, &target(&store, None).unwrap(), minute(24 * 60)).unwrap();
        assert_eq!((repaired.commit, repaired.steps.len()), (None, 0), "{:?}", repaired.steps);
        assert!(
            matches!(&repaired.warnings[..], [only] if only.starts_with("left 3 files alone")),
            "{:?}",
            repaired.warnings
        );
        assert_eq!(git_in(&path, &["rev-parse", "HEAD"]), head);
        // The advice works.
        git_in(&path, &["fetch", "--quiet", "--refetch", "--no-filter", "origin"]);
        let report = report_of(&path);
        assert_eq!(
            (report.status, report.runs, report.root),
            (FsckStatus::Clean, 3, checked(&origin).root),
            "{report:#?}"
        );
    }
}

#[test]
fn a_clone_without_folders_is_no_damage_either() {
    let origin = history();
    let path = clone(&origin, "treeless", &["--filter=tree:0", "--sparse"]);
    let report = report_of(&path);
    assert_eq!((report.status, report.root), (FsckStatus::Warnings, None), "{report:#?}");
    assert!(report.findings.iter().any(|finding| finding.what.contains("of the commit")), "{report:#?}");
}

#[test]
fn a_record_that_was_removed_is_lost_in_a_partial_clone_too() {
    let origin = history();
    origin.git(&["rm", "--quiet", &file(1).0]);
    origin.git(&["commit", "--quiet", "-m", "Remove"]);
    let path = clone(&origin, "bare", &["--filter=blob:none", "--bare"]);
    let report = report_of(&path);
    assert_eq!(findings(&report)[0], (Kind::Lost, file(1).0), "{report:#?}");
    let store = isolated(&path);
    assert_eq!(repair(&store, &target(&store, None).unwrap(), minute(24 * 60)).unwrap().commit, None);
    git_in(&path, &["fetch", "--quiet", "--refetch", "--no-filter", "origin"]);
    let store = isolated(&path);
    assert!(repair(&store, &target(&store, None).unwrap(), minute(24 * 60)).unwrap().commit.is_some());
    assert_eq!((report_of(&path).status, report_of(&path).runs), (FsckStatus::Clean, 3));
}

#[test]
fn what_a_sparse_checkout_keeps_out_is_not_missing() {
    let origin = history();
    let path = clone(&origin, "sparse", &["--sparse"]);
    let report = report_of(&path);
    assert_eq!((report.status, report.runs), (FsckStatus::Clean, 3), "{report:#?}");
    let store = isolated(&path);
    let repaired = repair(&store, &target(&store, None).unwrap(), minute(24 * 60)).unwrap();
    assert_eq!((repaired.steps, repaired.warnings), (Vec::new(), Vec::new()));
    assert!(!path.join("history").exists());
    assert_eq!(git_in(&path, &["status", "--porcelain"]), "");
}
