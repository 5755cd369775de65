//! The history: run records in git, appended and loaded.
//!
//! A record is a file under `history/v1/` in the tree of a branch. Appending makes a commit out of git objects and
//! moves the branch by compare-and-swap; the moment the ref moves is the moment the records exist. Loading reads
//! the tree of the branch, never the working tree, and checks every file against its name.
//!
//! `layout` says where a record lies and what it must look like there. `state` keeps the lock and the journal
//! of appends under way, in `sprag/` inside the git folder. `git` is the only place that knows git2. Nothing here
//! runs a hook or a filter, reaches the network, or reads the clock: the time of a commit is an argument.

mod git;
mod layout;
mod state;

use std::io;
use std::path::PathBuf;

pub use git::{
    Activity, Appended, Author, Facts, Head, Healed, Loaded, NewCommit, Record, Store, Target, append, check_out,
    check_writable, commit_at, commit_files, commit_line, create, facts, heal, load, measured_commit, open, source,
    tag, target,
};

/// Why the history could not be opened, read or appended to.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// No repository at or above the folder.
    #[error("no git repository at or above `{0}`")]
    NoRepository(PathBuf),
    /// The repository names objects by SHA-256, which libgit2 cannot read.
    #[error("the repository at `{0}` uses the SHA-256 object format, which is not supported")]
    Sha256(PathBuf),
    /// The repository keeps its refs in a reftable, which libgit2 cannot read.
    #[error("the repository at `{0}` stores its refs as a reftable, which is not supported")]
    Reftable(PathBuf),
    /// The repository belongs to another user.
    #[error("the repository at `{0}` is owned by another user")]
    Owner(PathBuf),
    /// There is a repository, but it cannot be opened.
    #[error("cannot open the repository at `{path}`: {reason}")]
    Unreadable {
        /// Where it lies.
        path: PathBuf,
        /// What git says.
        reason: String,
    },
    /// A revision that names no commit here.
    #[error("`{revision}` names no commit of this repository: {reason}")]
    Revision {
        /// As it was given.
        revision: String,
        /// What git says.
        reason: String,
    },
    /// The clone ends before the commit that was measured.
    #[error("this shallow clone ends at a record commit, so the commit that was measured cannot be told")]
    Shallow,
    /// Records have no branch to go to.
    #[error("HEAD is detached, so there is no branch to record on")]
    Detached,
    /// The branch is in the middle of an operation that a new commit would disturb.
    #[error("a {activity} is under way on `{reference}`, so nothing can be recorded there")]
    Busy {
        /// The operation.
        activity: Activity,
        /// The branch it works on.
        reference: String,
    },
    /// A `[history] ref` that cannot hold records.
    #[error("`{name}` cannot be the ref of the history: {reason}")]
    BadRef {
        /// As it was given.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// A file that loading would refuse.
    #[error("`{path}` cannot be recorded: it {reason}")]
    BadRecord {
        /// Where it should go.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The path holds something else already, and the history is append-only.
    #[error("`{path}` is in the history of `{reference}` already, with different content")]
    Different {
        /// The path.
        path: String,
        /// The branch.
        reference: String,
    },
    /// A file lies where a folder of the history should be.
    #[error("`{path}` is not a folder on `{reference}`, so nothing can be recorded below it")]
    NotAFolder {
        /// The path.
        path: String,
        /// The branch.
        reference: String,
    },
    /// The branch kept moving, or stayed locked.
    #[error("cannot move `{reference}` after {attempts} attempts: {reason}")]
    Contended {
        /// The branch.
        reference: String,
        /// How often it was tried.
        attempts: u32,
        /// What git said the last time.
        reason: String,
    },
    /// Another process of ours has been recording for too long.
    #[error("another sprag is recording in this repository: `{0}` stays locked")]
    Locked(PathBuf),
    /// The file system refused.
    #[error("cannot {action} `{path}`: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Git refused.
    #[error("cannot {action}: {reason}")]
    Git {
        /// What was tried.
        action: &'static str,
        /// What git says.
        reason: String,
    },
}

impl HistoryError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let own_ref = "name a branch of its own as `ref` under `[history]` in sprag.toml, such as `ref = \"sprag\"`";
        Some(match self {
            HistoryError::NoRepository(start) => format!("run `git init {}` first", start.display()),
            HistoryError::Sha256(_) => "use a repository made with `git init --object-format=sha1`".to_owned(),
            HistoryError::Reftable(_) => "run `git refs migrate --ref-format=files` in it".to_owned(),
            HistoryError::Owner(path) => {
                format!("if you trust it, run `git config --global --add safe.directory {}`", path.display())
            }
            HistoryError::Shallow => {
                "run `git fetch --unshallow`; in a workflow set `fetch-depth: 0` where it checks out".to_owned()
            }
            HistoryError::Detached => format!("check out a branch, or {own_ref}"),
            HistoryError::Busy { activity, .. } => format!("finish or abort the {activity}, or {own_ref}"),
            HistoryError::BadRef { .. } => "`ref` under `[history]` takes the name of a branch".to_owned(),
            HistoryError::Contended { reference, .. } => format!(
                "if no git process is running, remove the stale `{reference}.lock` from the git folder and try again"
            ),
            HistoryError::Locked(_) => "wait until it is done, and try again".to_owned(),
            HistoryError::Io { action: "write to", path, source }
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                format!("make `{}` writable for this user; git run once as another user may own it", path.display())
            }
            HistoryError::Unreadable { .. }
            | HistoryError::Revision { .. }
            | HistoryError::BadRecord { .. }
            | HistoryError::Different { .. }
            | HistoryError::NotAFolder { .. }
            | HistoryError::Io { .. }
            | HistoryError::Git { .. } => return None,
        })
    }

    /// Wraps what the file system said.
    fn io(action: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> HistoryError {
        let path = path.to_owned();
        move |source| HistoryError::Io { action, path, source }
    }
}
