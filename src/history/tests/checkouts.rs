//! Working trees on the branch of the history.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::append::append_watched;
use crate::state::{MANY_FILES, Step};
use crate::testing::{self, Fixture, minute, records, run};
use crate::{Record, Store, Target, append, open};

#[test]
fn every_working_tree_on_the_branch_catches_up() {
    let fixture = Fixture::new();
    let linked = fixture.linked();
    fixture.git(&["worktree", "add", "--quiet", "-b", "other", "../other"]);
    let other = fixture.at("other");
    // One whose folder is gone is passed over.
    fixture.git(&["worktree", "add", "--quiet", "--force", "../gone", "main"]);
    fs::remove_dir_all(fixture.sibling("gone")).unwrap();
    for (number, tree) in [&fixture, &linked].into_iter().enumerate() {
        assert_eq!(tree.record(number as i64).warnings, [""; 0]);
    }
    for tree in [&fixture, &linked] {
        assert_eq!((tree.status().as_str(), tree.git(&["ls-files", "history"]).lines().count()), ("", 2));
    }
    assert!(!other.root.join("history").exists());
    assert_eq!(other.status(), "");
    fixture.fsck();
}

#[test]
fn a_git_folder_outside_the_working_tree_is_not_taken_for_one_inside() {
    let fixture = Fixture::nothing();
    fs::create_dir(&fixture.root).unwrap();
    fs::create_dir(fixture.sibling("apart")).unwrap();
    fixture.git(&["init", "--quiet", "--initial-branch=main", "--separate-git-dir", "../apart/git"]);
    fixture.commit("README", "demo\n", "Begin");
    let linked = fixture.linked();
    for (number, tree) in [&fixture, &linked].into_iter().enumerate() {
        tree.record(number as i64);
        assert_eq!(linked.status(), "");
        assert!(!fixture.sibling("apart").join("history").exists());
    }
    assert_eq!(fixture.git(&["ls-files", "history"]).lines().count(), 1);
}

#[test]
fn a_submodule_has_its_own_working_tree() {
    let fixture = Fixture::new();
    let outer = Fixture::new();
    let url = format!("file://{}", fixture.root.display());
    outer.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "inner"]);
    outer.git(&["commit", "--quiet", "-m", "Add a submodule"]);
    let inner = outer.at("project/inner");
    assert_eq!(inner.record(1).warnings, [""; 0]);
    assert_eq!(inner.status(), "");
    assert!(inner.root.join("history").exists() && !outer.root.join("history").exists());
    assert_eq!(outer.status(), " M inner");
}

#[test]
fn a_file_of_the_user_at_the_path_is_left_alone() {
    let fixture = Fixture::new();
    let record = records(1..2).remove(0);
    fixture.write(&record.path, "mine\n");
    let appended = fixture.record(1);
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
fn a_staged_file_at_the_path_is_left_alone() {
    let fixture = Fixture::new();
    fixture.write("history", "a file\n");
    fixture.git(&["add", "history"]);
    let appended = fixture.record(1);
    assert_eq!(appended.warnings.len(), 2, "{:?}", appended.warnings);
    assert_eq!(fixture.git(&["ls-files", "history"]), "history");
    assert_eq!(fixture.store().warnings.len(), 0);
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
    fixture.record(2);
    fs::remove_file(fixture.root.join(".git/index.lock")).unwrap();
    assert_eq!(fixture.load().warnings, [""; 0]);
    assert_eq!(fixture.status(), "");
    assert_eq!(fixture.git(&["ls-files", "history"]).lines().count(), 2);
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
}

#[test]
fn a_record_that_head_no_longer_has_is_not_brought_back() {
    let fixture = Fixture::new();
    fixture.write(".git/index.lock", "");
    fixture.record(1);
    fs::remove_file(fixture.root.join(".git/index.lock")).unwrap();
    fixture.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(fixture.store().warnings, [""; 0]);
    assert_eq!(fixture.git(&["ls-files", "history"]), "");
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
}

// The configuration of a checkout may name hooks, filters, a signer and a monitor. None of these programs runs.

/// A repository in which every program that git could run leaves a mark, and the path of the mark.
#[cfg(unix)]
fn trapped(attributes: &str) -> (Fixture, PathBuf) {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    fixture.commit(".gitattributes", attributes, "Add attributes");
    let (mark, trap, hooks) = (fixture.sibling("mark"), fixture.sibling("trap"), fixture.sibling("hooks"));
    fs::create_dir_all(&hooks).unwrap();
    let set = |place: &Path| {
        fs::write(place, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\nexit 1\n", mark.display())).unwrap();
        fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
    };
    set(&trap);
    for hook in ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction"] {
        set(&hooks.join(hook));
        set(&fixture.root.join(".git/hooks").join(hook));
    }
    let trap = trap.to_str().unwrap();
    for (name, value) in [
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("core.fsmonitor", trap),
        ("filter.x.clean", trap),
        ("filter.x.smudge", trap),
        ("filter.x.process", trap),
        ("filter.x.required", "true"),
        ("commit.gpgsign", "true"),
        ("gpg.program", trap),
        ("core.autocrlf", "true"),
        ("core.editor", trap),
    ] {
        fixture.git(&["config", name, value]);
    }
    fs::remove_file(&mark).ok();
    (fixture, mark)
}

/// Removes the traps, so that git can judge the working tree.
#[cfg(unix)]
fn disarm(fixture: &Fixture) {
    for name in ["core.hooksPath", "core.fsmonitor", "filter.x.process", "filter.x.required", "filter.x.smudge"] {
        fixture.git(&["config", "--unset", name]);
    }
    fs::remove_dir_all(fixture.root.join(".git/hooks")).unwrap();
}

#[cfg(unix)]
#[test]
fn no_program_runs() {
    let (fixture, mark) = trapped("* text=auto\n");
    let record = records(1..2).remove(0);
    assert_eq!(fixture.record(1).warnings, [""; 0]);
    fixture.load();
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap_or_default());
    assert_eq!(fs::read(fixture.root.join(&record.path)).unwrap(), record.bytes);
    disarm(&fixture);
    assert_eq!(fixture.status(), "");
    assert_eq!(fixture.git(&["log", "-1", "--format=%G?"]), "N");
    assert_eq!(fixture.git(&["show", &format!("HEAD:{}", record.path)]).as_bytes(), record.bytes.trim_ascii_end());
}

#[cfg(unix)]
#[test]
fn a_filter_by_which_git_sees_a_change_is_named() {
    let (fixture, mark) = trapped("* filter=x\n");
    let appended = fixture.record(1);
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap_or_default());
    let [warning] = &appended.warnings[..] else { panic!("{:?}", appended.warnings) };
    assert!(warning.contains("`filter=x`") && warning.contains(".gitattributes"), "{warning}");
    disarm(&fixture);
    fixture.git(&["config", "filter.x.clean", "tr a-z A-Z"]);
    let status = || fixture.git(&["status", "--porcelain", "--", "history"]);
    assert_eq!(status().trim(), format!("M {}", appended.added[0]));
    // The line that the warning names helps.
    let line = warning.split('`').rev().nth(1).unwrap();
    fixture.write(".gitattributes", &format!("* filter=x\n{line}\n"));
    assert_eq!(status(), "");
    assert_eq!(fixture.record(2).warnings, [""; 0]);
    assert_eq!(status(), "");
}

#[test]
fn harmless_attributes_are_not_named() {
    let check = |attributes: &str, named: bool| {
        let fixture = Fixture::new();
        fixture.commit(".gitattributes", attributes, "Add attributes");
        let appended = fixture.record(1);
        assert_eq!(!appended.warnings.is_empty(), named, "{attributes}: {:?}", appended.warnings);
        assert_eq!(fixture.status().is_empty(), !named, "{attributes}: {}", fixture.status());
    };
    for harmless in ["text eol=crlf", "-text", "ident", "filter=unknown", "binary", "working-tree-encoding=UTF-8"] {
        check(&format!("* {harmless}\n"), false);
    }
    check("history/** working-tree-encoding=UTF-16\n", true);
}

#[test]
fn an_included_identity_names_the_author() {
    let fixture = Fixture::new();
    let included = fixture.sibling("included");
    fs::write(&included, "[user]\nname = Grace\nemail = grace@example.com\n").unwrap();
    fixture.git(&["config", &format!("includeIf.gitdir:{}/.path", fixture.root.display()), included.to_str().unwrap()]);
    let store = open(&fixture.root).unwrap();
    let appended = append(&store, &fixture.target(), &records(1..2), minute(1)).unwrap();
    assert_eq!((appended.author.as_str(), appended.stand_in), ("Grace <grace@example.com>", false));
}

#[test]
fn paths_that_are_alike_are_refused() {
    let fixture = Fixture::new();
    let of_suite = |suite: &str| {
        let mut run = run(1);
        run.suite = suite.to_owned();
        Arc::make_mut(&mut run.measurements[0].benchmark).suite = suite.to_owned();
        Record::from_run(&run)
    };
    let error = fixture.try_append(&[of_suite("cpu"), of_suite("CPU")]).unwrap_err().to_string();
    assert!(error.contains("`history/v1/cpu`") && error.contains("`history/v1/CPU`"), "{error}");
    fixture.append(&[of_suite("cpu")], minute(1));
    let head = fixture.head();
    let error = fixture.try_append(&[of_suite("Cpu")]).unwrap_err();
    assert!(error.to_string().contains("`history/v1/Cpu` cannot be recorded next to `history/v1/cpu`"), "{error}");
    assert!(error.hint().unwrap().contains("macOS"));
    assert_eq!((fixture.head(), fixture.status()), (head, String::new()));
    fixture.append(&[of_suite("cpu2")], minute(1));
    // A folder of the project may be alike, too.
    let fixture = Fixture::new();
    fixture.commit("History/notes", "x\n", "Add notes");
    let error = fixture.try_append(&[of_suite("cpu")]).unwrap_err().to_string();
    assert!(error.contains("`history` cannot be recorded next to `History`"), "{error}");
}

// An append that is cut short at any step leaves the state before it or after it.

const STEPS: [Step; 10] = [
    Step::Locked,
    Step::CommitWritten,
    Step::Staged,
    Step::Journalled,
    Step::IndexLocked,
    Step::RefMoved,
    Step::FilePlaced,
    Step::IndexReady,
    Step::IndexWritten,
    Step::CaughtUp,
];

/// A repository with one record and with staged, unstaged and untracked changes.
fn busy() -> Fixture {
    let fixture = Fixture::new();
    fixture.record(0);
    fixture.write("staged", "staged\n");
    fixture.git(&["add", "staged"]);
    fixture.write("src/lib.rs", "fn unstaged() {}\n");
    fixture.write("untracked", "x\n");
    fixture
}

/// Runs an append that dies right after the step.
fn die_after(fixture: &Fixture, fatal: Step, records: &[Record]) {
    die_in(&fixture.store(), &fixture.target(), fatal, records);
}

fn die_in(store: &Store, target: &Target, fatal: Step, records: &[Record]) {
    testing::die_after(fatal, |watch| append_watched(store, target, records, minute(1), watch));
}

#[test]
fn every_step_leaves_before_or_after() {
    STEPS.into_iter().for_each(|fatal| leaves_before_or_after(fatal, 2));
}

#[test]
fn every_step_of_a_batch_in_a_pack_leaves_before_or_after() {
    let steps = [Step::CommitWritten, Step::Staged, Step::IndexLocked, Step::RefMoved, Step::FilePlaced];
    steps.into_iter().for_each(|fatal| leaves_before_or_after(fatal, MANY_FILES + 6));
}

/// An append of so many records that dies after the step, and what comes after it.
fn leaves_before_or_after(fatal: Step, count: usize) {
    let fixture = busy();
    let (before, status) = (fixture.head(), fixture.status());
    let staged = fixture.git(&["diff", "--cached"]);
    let next = 1 + count as i64;
    let cut = records(1..next);
    die_after(&fixture, fatal, &cut);
    let loaded = fixture.load();
    assert_eq!(loaded.warnings, [""; 0], "{fatal:?}");
    assert_eq!(loaded.quarantined, [], "{fatal:?}");
    let moved = fixture.head() != before;
    let after =
        matches!(fatal, Step::RefMoved | Step::FilePlaced | Step::IndexReady | Step::IndexWritten | Step::CaughtUp);
    assert_eq!((moved, loaded.runs.len()), (after, if after { 1 + count } else { 1 }), "{fatal:?}");
    assert_eq!((fixture.status(), fixture.git(&["diff", "--cached"])), (status.clone(), staged.clone()), "{fatal:?}");
    for record in &cut {
        let file = fs::read(fixture.root.join(&record.path)).ok();
        assert_eq!(file.as_ref(), after.then_some(&record.bytes), "{fatal:?}");
    }
    let left = || fs::read_dir(fixture.root.join(".git/sprag")).unwrap();
    // Without a journal, what lies in the folder waits for the next append.
    let names: Vec<_> = left().map(|entry| entry.unwrap().file_name()).collect();
    assert!(fatal == Step::Staged || names == ["lock"], "{fatal:?}: {names:?}");
    assert!(!fixture.root.join(".git/index.lock").exists());
    fixture.fsck();
    // And the next append works, with what was cut short or without.
    let appended = fixture.append(&records(1..next + 1), minute(2));
    assert_eq!((appended.added.len(), appended.warnings.len()), (if after { 1 } else { 1 + count }, 0), "{fatal:?}");
    assert_eq!((fixture.load().runs.len(), fixture.status()), (2 + count, status), "{fatal:?}");
    assert_eq!(left().count(), 1, "{fatal:?}");
    fixture.fsck();
}

#[test]
fn healing_can_be_cut_short_too() {
    let fixture = busy();
    let status = fixture.status();
    let (store, target) = (fixture.store(), fixture.target());
    die_in(&store, &target, Step::RefMoved, &records(1..2));
    for fatal in [Step::FilePlaced, Step::IndexLocked, Step::IndexReady, Step::IndexWritten] {
        die_in(&store, &target, fatal, &records(2..3));
    }
    assert_eq!(fixture.store().warnings, [""; 0]);
    // So can an append that has nothing to add.
    die_after(&fixture, Step::IndexLocked, &records(2..3));
    assert_eq!((fixture.store().warnings.len(), fixture.root.join(".git/index.lock").exists()), (0, false));
    assert_eq!(fixture.status(), status);
    fixture.fsck();
}

#[test]
fn a_lock_of_the_ref_is_removed_if_it_is_ours() {
    let check = |content: &dyn Fn(&Fixture) -> String, ours: bool| {
        let fixture = busy();
        die_after(&fixture, Step::Journalled, &records(1..2));
        fixture.write(".git/refs/heads/main.lock", &content(&fixture));
        drop(fixture.store());
        assert_eq!(fixture.root.join(".git/refs/heads/main.lock").exists(), !ours);
    };
    let commit_of_ours = |fixture: &Fixture| {
        let written = fixture.git(&["fsck", "--no-progress", "--dangling"]);
        written.split(' ').next_back().unwrap().to_owned() + "\n"
    };
    check(&|_| String::new(), true);
    check(&commit_of_ours, true);
    check(&|fixture| fixture.head() + "\n", false);
    check(&|_| "something else\n".to_owned(), false);
    // Where no append of ours was cut short, no lock is.
    let fixture = busy();
    fixture.write(".git/refs/heads/main.lock", "");
    drop(fixture.store());
    assert!(fixture.root.join(".git/refs/heads/main.lock").exists());
}

#[test]
fn healing_never_overwrites_a_file() {
    let fixture = busy();
    let cut = records(1..2);
    die_after(&fixture, Step::RefMoved, &cut);
    fixture.write(&cut[0].path, "mine\n");
    assert_eq!(fixture.store().warnings.len(), 1);
    assert_eq!(fs::read_to_string(fixture.root.join(&cut[0].path)).unwrap(), "mine\n");
    assert_eq!(fixture.store().warnings.len(), 0);
}

#[test]
fn a_journal_that_cannot_be_read_is_passed_over() {
    for text in ["", "{", "{\"version\":0,\"records\":[]}", "[]"] {
        let fixture = busy();
        fixture.write(".git/sprag/journal.json", text);
        assert_eq!(fixture.store().warnings, [""; 0]);
        assert!(!fixture.root.join(".git/sprag/journal.json").exists());
    }
}

#[test]
fn a_journal_of_a_newer_version_is_preserved() {
    for version in [3, 9] {
        let fixture = busy();
        let newer = format!("{{\"version\":{version},\"entries\":[]}}");
        fixture.write(".git/sprag/journal.json", &newer);
        let warnings = fixture.store().warnings;
        let name = format!("journal-{version}.json");
        assert!(warnings.len() == 1 && warnings[0].contains(&name), "{warnings:?}");
        fixture.record(1);
        assert_eq!(fs::read_to_string(fixture.root.join(".git/sprag").join(name)).unwrap(), newer);
        assert_eq!(fixture.store().warnings, [""; 0]);
    }
}

#[test]
fn a_journal_is_left_to_the_process_that_is_alive() {
    let fixture = busy();
    let mut seen = false;
    let mut watch = |step| {
        if step == Step::RefMoved {
            assert_eq!(fixture.store().warnings, [""; 0]);
            assert!(fixture.root.join(".git/sprag/journal.json").exists());
            seen = true;
        }
    };
    fixture.append_watched(&mut watch);
    assert!(seen);
}

#[test]
fn a_full_disk_before_the_ref_moves_changes_nothing() {
    let fixture = busy();
    let (head, status) = (fixture.head(), fixture.status());
    // A file where the staging folder should be refuses every write there, for root too.
    let obstacle = fixture.root.join(".git/sprag/staged");
    let mut watch = |step| {
        if step == Step::CommitWritten {
            fs::write(&obstacle, "").unwrap();
        }
    };
    append_watched(&fixture.store(), &fixture.target(), &records(1..2), minute(1), &mut watch).unwrap_err();
    assert_eq!((fixture.head(), fixture.status()), (head, status));
    assert!(!fixture.root.join(".git/sprag/journal.json").exists());
}
