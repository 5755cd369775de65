//! One bare remote and several clones of it, in a temporary folder.

use std::path::{Path, PathBuf};

use sprag_history::{self as history, Record};

use crate::run_files::run;
use crate::sandbox::{Ended, Sandbox};

/// A remote with one commit of code on `main`, and the clones `a` and `b`.
pub(crate) struct Clones {
    /// Where everything lies; commands run from its folder `project`.
    pub(crate) sandbox: Sandbox,
}

impl Clones {
    pub(crate) fn new() -> Clones {
        let clones = Clones { sandbox: Sandbox::empty() };
        clones.sandbox.git(&["init", "-q", "--bare", "remote.git"]);
        clones.sandbox.git(&["clone", "-q", "remote.git", "a"]);
        clones.write("a", "README", "demo\n");
        clones.commit("a", "Begin");
        clones.git("a", &["push", "-q", "-u", "origin", "main"]);
        clones.add("b");
        clones
    }

    pub(crate) fn add(&self, name: &str) {
        self.sandbox.git(&["clone", "-q", "remote.git", name]);
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

    /// Runs `sprag history sync` in a clone.
    pub(crate) fn sync(&self, clone: &str, options: &[&str]) -> Ended {
        self.sync_with(clone, &[], options)
    }

    /// The same with more variables.
    pub(crate) fn sync_with(&self, clone: &str, variables: &[(&str, &str)], options: &[&str]) -> Ended {
        self.sandbox.sprag_with(variables, &[&["-C", clone, "history", "sync"], options].concat())
    }

    /// Records run `number` on the branch of a clone, and gives its path.
    pub(crate) fn record(&self, clone: &str, number: i64) -> String {
        self.record_on(clone, None, number)
    }

    /// The same on a branch of its own.
    pub(crate) fn record_on(&self, clone: &str, reference: Option<&str>, number: i64) -> String {
        record_in(&self.path(clone), reference, number)
    }

    /// What a clone, or `remote.git`, has recorded on `main`.
    pub(crate) fn records(&self, clone: &str) -> Vec<String> {
        let list = self.git(clone, &["ls-tree", "-r", "--name-only", "main", "--", "history/v1"]);
        list.lines().map(str::to_owned).collect()
    }

    /// Fails the test unless the clones and the remote hold the same so many records, and all is whole and clean.
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

    /// Lets the remote refuse pushes, or act on them, by a hook.
    pub(crate) fn remote_hook(&self, name: &str, script: &str) {
        self.program(&format!("remote.git/hooks/{name}"), script);
    }

    /// Writes a shell script.
    pub(crate) fn program(&self, path: &str, script: &str) {
        self.sandbox.write(path, &format!("#!/bin/sh\n{script}\n"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(self.path(path), mode).expect("the mode can be set");
        }
    }
}

/// Records run `number` in a repository.
pub(crate) fn record_in(folder: &Path, reference: Option<&str>, number: i64) -> String {
    let record = Record::from_run(&run(number));
    let store = history::open(folder).expect("there is a repository");
    let target = history::target(&store, reference).expect("it has a branch");
    let time = run(number).timestamp;
    let appended = history::append(&store, &target, std::slice::from_ref(&record), time).expect("it can be recorded");
    assert_eq!(appended.warnings, [""; 0]);
    record.path
}
