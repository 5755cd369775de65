//! Working trees on the branch of the history.

use std::fs;

use crate::testing::{Fixture, git_in, isolated, minute, run};
use crate::{Record, append, heal, target};

#[test]
fn every_working_tree_on_the_branch_catches_up() {
    let fixture = Fixture::new();
    let linked = fixture.sibling("linked");
    let other = fixture.sibling("other");
    fixture.git(&["worktree", "add", "--quiet", "--force", linked.to_str().unwrap(), "main"]);
    fixture.git(&["worktree", "add", "--quiet", "-b", "other", other.to_str().unwrap()]);
    for (number, root) in [&fixture.root, &linked].into_iter().enumerate() {
        let store = isolated(root);
        let target = target(&store, None).unwrap();
        let appended = append(&store, &target, &[Record::from_run(&run(number as i64))], minute(1)).unwrap();
        assert_eq!(appended.warnings, [""; 0]);
    }
    for root in [&fixture.root, &linked] {
        assert_eq!(git_in(root, &["status", "--porcelain"]), "");
        assert_eq!(git_in(root, &["ls-files", "history"]).lines().count(), 2);
    }
    assert!(!other.join("history").exists());
    assert_eq!(git_in(&other, &["status", "--porcelain"]), "");
    fixture.fsck();
}

#[test]
fn a_git_folder_apart_from_its_working_tree_is_told_from_one_inside() {
    let fixture = Fixture::nothing();
    fs::create_dir(&fixture.root).unwrap();
    let apart = fixture.sibling("apart").join("git");
    fs::create_dir_all(apart.parent().unwrap()).unwrap();
    fixture.git(&["init", "--quiet", "--initial-branch=main", "--separate-git-dir", apart.to_str().unwrap()]);
    fixture.commit("README", "demo\n", "Begin");
    let linked = fixture.sibling("linked");
    fixture.git(&["worktree", "add", "--quiet", "--force", linked.to_str().unwrap(), "main"]);
    for (number, root) in [&fixture.root, &linked].into_iter().enumerate() {
        let store = isolated(root);
        append(&store, &target(&store, None).unwrap(), &[Record::from_run(&run(number as i64))], minute(1)).unwrap();
        assert_eq!(git_in(&linked, &["status", "--porcelain"]), "");
        assert!(!apart.with_file_name("history").exists());
    }
    assert_eq!(git_in(&fixture.root, &["ls-files", "history"]).lines().count(), 1);
}

#[test]
fn a_submodule_has_a_working_tree_of_its_own() {
    let fixture = Fixture::new();
    let outer = Fixture::new();
    let url = format!("file://{}", fixture.root.display());
    outer.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "inner"]);
    outer.git(&["commit", "--quiet", "-m", "Add a submodule"]);
    let inner = outer.root.join("inner");
    let store = isolated(&inner);
    let appended = append(&store, &target(&store, None).unwrap(), &[Record::from_run(&run(1))], minute(1)).unwrap();
    assert_eq!(appended.warnings, [""; 0]);
    assert_eq!(git_in(&inner, &["status", "--porcelain"]), "");
    assert!(inner.join("history").exists() && !outer.root.join("history").exists());
    assert_eq!(outer.status(), " M inner");
}

#[test]
fn a_linked_working_tree_whose_folder_is_gone_is_passed_over() {
    let fixture = Fixture::new();
    let linked = fixture.sibling("linked");
    fixture.git(&["worktree", "add", "--quiet", "--force", linked.to_str().unwrap(), "main"]);
    fs::remove_dir_all(&linked).unwrap();
    let appended = fixture.record(1);
    assert_eq!(appended.warnings, [""; 0]);
}

#[test]
fn a_file_of_the_users_at_the_place_is_left_alone() {
    let fixture = Fixture::new();
    let record = Record::from_run(&run(1));
    fixture.write(&record.path, "mine\n");
    let store = fixture.store();
    let appended = append(&store, &target(&store, None).unwrap(), std::slice::from_ref(&record), minute(1)).unwrap();
    assert_eq!(appended.warnings.len(), 1, "{:?}", appended.warnings);
    assert!(appended.warnings[0].contains("left alone"));
    assert_eq!(fs::read_to_string(fixture.root.join(&record.path)).unwrap(), "mine\n");
    // The index has the record, so that the next commit does not delete it.
    assert_eq!(fixture.status(), format!(" M {}", record.path));
    fixture.git(&["checkout", "--", "history"]);
    assert_eq!(fixture.status(), "");
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    let fixture = Fixture::new();
    let outside = fixture.sibling("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, fixture.root.join("history")).unwrap();
    let appended = fixture.record(1);
    assert_eq!(appended.warnings.len(), 1, "{:?}", appended.warnings);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(fs::symlink_metadata(fixture.root.join("history")).unwrap().is_symlink());
}

#[test]
fn what_is_staged_at_the_place_is_left_alone() {
    let fixture = Fixture::new();
    fixture.write("history", "a file\n");
    fixture.git(&["add", "history"]);
    let store = fixture.store();
    let appended = fixture.record(1);
    assert_eq!(appended.warnings.len(), 2, "{:?}", appended.warnings);
    assert_eq!(fixture.git(&["ls-files", "history"]), "history");
    assert_eq!(heal(&store).unwrap().warnings.len(), 0);
}

#[test]
fn an_index_that_stays_locked_is_a_warning_and_heals_later() {
    let fixture = Fixture::new();
    fixture.write(".git/index.lock", "");
    let appended = fixture.record(1);
    assert!(appended.commit.is_some());
    assert!(appended.warnings[0].contains("locked"), "{:?}", appended.warnings);
    assert!(fixture.root.join(".git/index.lock").exists());
    // It stays in the journal as long as the lock is there, also through another append.
    fixture.append(&[Record::from_run(&run(2))], minute(1));
    fs::remove_file(fixture.root.join(".git/index.lock")).unwrap();
    assert_eq!(fixture.load().warnings, [""; 0]);
    assert_eq!(fixture.status(), "");
    assert_eq!(fixture.git(&["ls-files", "history"]).lines().count(), 2);
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
}

#[test]
fn a_record_that_head_lacks_by_now_is_not_brought_back() {
    let fixture = Fixture::new();
    fixture.write(".git/index.lock", "");
    let store = fixture.store();
    fixture.record(1);
    fs::remove_file(fixture.root.join(".git/index.lock")).unwrap();
    fixture.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(heal(&store).unwrap().records, [""; 0]);
    assert_eq!(fixture.git(&["ls-files", "history"]), "");
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
}
