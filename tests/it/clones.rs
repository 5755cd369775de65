//! One bare remote and several clones of it, in a temporary folder.

use std::path::{Path, PathBuf};

use sprag_history::{self as history, Record};

use crate::crafted::run;
use crate::sandbox::{Ended, Sandbox};

pub(crate) struct Clones {
    /// Commands run from its folder `project`, which holds the clones.
    pub(crate) sandbox: Sandbox,
}

impl Clones {
    pub(crate) fn new() -> Clones {
        let clones = Clones { sandbox: Sandbox::empty() };
        clones.sandbox.git(&["init", "-q", "--bare", "remote.git"]);
        clones.sandbox.git(&["clone", "-q", "remote.git", "a"]);
        clones.write("a", "README", "demo\n");
        // So that records go to `main`.
        clones.write("a", "history/.gitkeep", "");
        clones.commit("a", "Begin");
        clones.git("a", &["push", "-q", "-u", "origin", "main"]);
        clones.add("b", &[]);
        clones
    }

    pub(crate) fn add(&self, name: &str, options: &[&str]) {
        let url = format!("file://{}", self.path("remote.git").display());
        self.sandbox.git(&[&["clone", "-q"], options, &[&url, name]].concat());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.sandbox.project.join(name)
    }

    pub(crate) fn write(&self, clone: &str, path: &str, text: &str) {
        self.sandbox.write(&format!("{clone}/{path}"), text);
    }

    pub(crate) fn commit(&self, clone: &str, subject: &str) {
        self.git(clone, &["add", "-A"]);
        self.git(clone, &["commit", "-q", "--allow-empty", "-m", subject]);
    }

    #[track_caller]
    pub(crate) fn git(&self, clone: &str, arguments: &[&str]) -> String {
        self.sandbox.git(&[&["-C", clone], arguments].concat())
    }

    pub(crate) fn sync(&self, clone: &str, options: &[&str]) -> Ended {
        self.sync_with(clone, &[], options)
    }

    /// Syncs each of these clones in turn.
    #[track_caller]
    pub(crate) fn sync_each(&self, clones: &[&str]) {
        clones.iter().for_each(|clone| drop(self.sync(clone, &[]).expect(0)));
    }

    pub(crate) fn sync_with(&self, clone: &str, variables: &[(&str, &str)], options: &[&str]) -> Ended {
        self.sandbox.sprag_with(variables, &[&["-C", clone, "history", "sync"], options].concat())
    }

    /// Records run `number` on the branch of a clone and gives its path.
    pub(crate) fn record(&self, clone: &str, number: i64) -> String {
        self.record_on(clone, None, number)
    }

    pub(crate) fn record_on(&self, clone: &str, reference: Option<&str>, number: i64) -> String {
        record_in(&self.path(clone), reference, number)
    }

    /// The records on `main` of a clone or of `remote.git`.
    pub(crate) fn records(&self, clone: &str) -> Vec<String> {
        let list = self.git(clone, &["ls-tree", "-r", "--name-only", "main", "--", "history/v1"]);
        list.lines().map(str::to_owned).collect()
    }

    /// Fails unless the clones and the remote hold the same number of records and all are clean.
    #[track_caller]
    pub(crate) fn agree(&self, clones: &[&str], records: usize) {
        let remote = self.records("remote.git");
        assert_eq!(remote.len(), records);
        self.git("remote.git", &["fsck", "--strict", "--no-progress", "--no-dangling"]);
        for clone in clones {
            assert_eq!(self.records(clone), remote, "{clone}");
            assert_eq!(self.git(clone, &["status", "--porcelain"]), "", "{clone}");
            self.git(clone, &["fsck", "--no-progress", "--no-dangling"]);
        }
    }

    #[cfg(unix)]
    pub(crate) fn remote_hook(&self, name: &str, script: &str) {
        self.program(&format!("remote.git/hooks/{name}"), script);
    }

    #[cfg(unix)]
    pub(crate) fn program(&self, path: &str, script: &str) {
        self.sandbox.program(path, &format!("#!/bin/sh\n{script}\n"));
    }
}

pub(crate) fn record_in(folder: &Path, reference: Option<&str>, number: i64) -> String {
    let record = Record::from_run(&run(number));
    let store = history::open(folder).expect("there is a repository");
    let target = history::target(&store, reference).expect("it has a branch");
    let time = run(number).timestamp;
    let appended = history::append(&store, &target, std::slice::from_ref(&record), time).expect("it can be recorded");
    assert_eq!(appended.warnings, [""; 0]);
    record.path
}
