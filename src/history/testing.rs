//! A temporary repository for tests, driven by git's own command line where git is to be the judge.

use std::fs;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use tempfile::TempDir;

use crate::append::append_watched;
use crate::state::Step;
use crate::{
    Appended, HistoryError, Loaded, PlainFiles, Record, Repaired, Store, Target, append, fsck, load, open, plain_files,
    repair, target,
};
use sprag_base::digest::Digest;
use sprag_model::commit::Commit;
use sprag_model::event_record::EVENT_ROOT;
use sprag_model::fsck::{FindingKind, FsckReport, FsckStatus, Severity};
use sprag_model::run::Run;

pub(crate) use crate::sample_run::{minute, rounds, run};

#[derive(Clone)]
pub(crate) struct Fixture {
    folder: Arc<TempDir>,
    pub(crate) root: PathBuf,
}

impl Fixture {
    /// A folder whose `project` does not exist yet.
    pub(crate) fn nothing() -> Fixture {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        Fixture { folder: Arc::new(folder), root }
    }

    /// `git init` with these arguments, in the folder `project`.
    pub(crate) fn empty(arguments: &[&str]) -> Fixture {
        let fixture = Fixture::nothing();
        fs::create_dir(&fixture.root).unwrap();
        fixture.git(&[&["init", "--quiet", "--initial-branch=main"], arguments].concat());
        fixture
    }

    /// A working tree with two commits of code.
    pub(crate) fn new() -> Fixture {
        let fixture = Fixture::empty(&[]);
        fixture.commit("README", "demo\n", "Begin");
        fixture.commit("src/lib.rs", "fn one() {}\n", "Add one");
        fixture
    }

    pub(crate) fn sibling(&self, name: &str) -> PathBuf {
        self.root.with_file_name(name)
    }

    pub(crate) fn at(&self, name: &str) -> Fixture {
        Fixture { folder: self.folder.clone(), root: self.sibling(name) }
    }

    pub(crate) fn cloned(&self, name: &str, options: &[&str]) -> Fixture {
        self.git(&["config", "uploadpack.allowFilter", "true"]);
        let (url, path) = (format!("file://{}", self.root.display()), format!("../{name}"));
        self.git(&[&["clone", "--quiet"], options, &[&url, &path]].concat());
        self.at(name)
    }

    /// A linked working tree on `main`, which the main one is on, too.
    pub(crate) fn linked(&self) -> Fixture {
        self.git(&["worktree", "add", "--quiet", "--force", "../linked", "main"]);
        self.at("linked")
    }

    pub(crate) fn store(&self) -> Store {
        isolated(&self.root)
    }

    pub(crate) fn append(&self, records: &[Record], time: DateTime<Utc>) -> Appended {
        append(&self.store(), &self.target(), records, time).unwrap()
    }

    pub(crate) fn try_append(&self, records: &[Record]) -> Result<Appended, HistoryError> {
        append(&self.store(), &self.target(), records, minute(1))
    }

    /// Appends run 1, and calls `watch` after each step.
    pub(crate) fn append_watched(&self, watch: &mut dyn FnMut(Step)) -> Appended {
        append_watched(&self.store(), &self.target(), &records(1..2), minute(1), watch).unwrap()
    }

    pub(crate) fn target(&self) -> Target {
        target(&self.store(), None).unwrap()
    }

    pub(crate) fn record(&self, number: i64) -> Appended {
        self.append(&records(number..number + 1), minute(number))
    }

    pub(crate) fn load(&self) -> Loaded {
        load(&self.store(), &self.target()).unwrap()
    }

    pub(crate) fn event_files(&self) -> PlainFiles {
        plain_files(&self.store(), &self.target(), EVENT_ROOT).unwrap()
    }

    /// Where git keeps the object that a revision names.
    pub(crate) fn object(&self, revision: &str) -> PathBuf {
        let id = self.git(&["rev-parse", revision]);
        let folder = self.root.join(self.git(&["rev-parse", "--git-path", "objects"]));
        folder.join(&id[..2]).join(&id[2..])
    }

    /// Runs git in the repository; fails the test where git fails.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git_in(&self.root, arguments)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn commit(&self, path: &str, text: &str, subject: &str) -> String {
        self.write(path, text);
        self.git(&["add", path]);
        self.git(&["commit", "--quiet", "-m", subject]);
        self.head()
    }

    /// Commits that a file is gone.
    pub(crate) fn remove(&self, path: &str) {
        self.git(&["rm", "--quiet", path]);
        self.git(&["commit", "--quiet", "-m", "Remove a file"]);
    }

    pub(crate) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--porcelain"])
    }

    /// Fails the test where git finds the repository damaged.
    pub(crate) fn fsck(&self) {
        self.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]);
    }
}

/// Does what dies right after the step, as far as unwinding resembles dying: nothing cleans up.
pub(crate) fn die_after<T>(fatal: Step, watched: impl FnOnce(&mut dyn FnMut(Step)) -> T) {
    let mut watch = |step| {
        if step == fatal {
            std::panic::resume_unwind(Box::new(step));
        }
    };
    let died = catch_unwind(AssertUnwindSafe(|| drop(watched(&mut watch))));
    assert_eq!(died.expect_err("it dies").downcast_ref::<Step>(), Some(&fatal));
}

pub(crate) fn records(numbers: Range<i64>) -> Vec<Record> {
    numbers.map(|number| Record::from_run(&run(number))).collect()
}

/// Opens a repository whose configuration is its own file alone, so that the user's does not matter.
pub(crate) fn isolated(path: &Path) -> Store {
    let store = open(path).unwrap();
    let mut config = git2::Config::new().unwrap();
    let file = store.repository.commondir().join("config");
    config.add_file(&file, git2::ConfigLevel::Local, false).unwrap();
    store.repository.set_config(&config).unwrap();
    store
}

/// Runs git in a folder, with an identity and a clock of its own and nobody's configuration.
pub(crate) fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let (success, text) = try_git_in(folder, arguments);
    assert!(success, "git {arguments:?}: {text}");
    text
}

/// As [`git_in`], where git may fail.
pub(crate) fn try_git_in(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", folder);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Ada").env(format!("GIT_{role}_EMAIL"), "ada@example.com");
        command.env(format!("GIT_{role}_DATE"), "2026-01-05T12:00:00Z");
    }
    let output = command.current_dir(folder).args(arguments).output().expect("these tests need git");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).trim_end().to_owned())
}

pub(crate) fn run_of(number: i64, commit: Commit) -> Run {
    Run { commit: Some(commit), ..run(number) }
}

pub(crate) const RUNS: i64 = 3;

pub(crate) fn history() -> Fixture {
    let fixture = Fixture::new();
    (0..RUNS).for_each(|number| record(&fixture, &[run(number)]));
    fixture
}

/// Appends runs in one commit, which has the time that commits of these tests have.
pub(crate) fn record(fixture: &Fixture, runs: &[Run]) {
    fixture.append(&runs.iter().map(Record::from_run).collect::<Vec<_>>(), minute(240));
}

/// The path and the text of the record of that run.
pub(crate) fn file(number: i64) -> (String, String) {
    let record = Record::from_run(&run(number));
    (record.path, String::from_utf8(record.bytes).unwrap())
}

/// Commits whatever lies in the working tree.
pub(crate) fn commit(fixture: &Fixture) {
    fixture.git(&["add", "--all", "--force"]);
    fixture.git(&["commit", "--quiet", "-m", "Change the history"]);
}

/// Checks the history, a day after its runs.
pub(crate) fn checked(fixture: &Fixture) -> FsckReport {
    checked_against(fixture, None)
}

pub(crate) fn checked_against(fixture: &Fixture, root: Option<Digest>) -> FsckReport {
    fsck(&fixture.store(), &fixture.target(), minute(24 * 60), root).unwrap()
}

pub(crate) fn repaired(fixture: &Fixture) -> Repaired {
    repair(&fixture.store(), &fixture.target(), minute(24 * 60)).unwrap()
}

pub(crate) fn findings(report: &FsckReport) -> Vec<(FindingKind, String)> {
    let findings = report.findings.iter();
    findings.map(|finding| (finding.kind, finding.path.clone().unwrap_or_default())).collect()
}

/// Damages the history, fails the test unless that is found, and unless a repair puts it right without losing a byte:
/// every blob that was reachable is so afterwards, and the root stays.
pub(crate) fn check(damage: impl Fn(&Fixture), expected: &[(FindingKind, &str)]) -> Fixture {
    let fixture = history();
    let root = checked(&fixture).root;
    damage(&fixture);
    let before = checked(&fixture);
    let expected: Vec<(FindingKind, String)> =
        expected.iter().map(|(kind, path)| (*kind, (*path).to_owned())).collect();
    let damage = before.findings.iter().filter(|finding| finding.severity == Severity::Damage);
    let damage: Vec<_> = damage.map(|one| (one.kind, one.path.clone().unwrap_or_default())).collect();
    assert_eq!(damage, expected, "{before:#?}");
    assert_eq!(before.status, FsckStatus::Damaged);
    let old = fixture.head();
    let repair = repaired(&fixture);
    assert_eq!(repair.warnings, [""; 0]);
    assert!(!repair.steps.is_empty());
    let after = checked(&fixture);
    assert_ne!(after.status, FsckStatus::Damaged, "{after:#?}");
    assert_eq!(after.runs, RUNS as u64, "{repair:#?}");
    assert_eq!(fixture.git(&["rev-parse", "HEAD~1"]), old);
    assert_eq!(fixture.status(), "");
    if before.root.is_some() {
        assert_eq!(after.root, root);
    }
    fixture
}
