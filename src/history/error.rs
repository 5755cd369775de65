//! Why something of the history cannot be read or written, and what the user can do about it.

use std::io;
use std::path::PathBuf;

pub const FETCH_ALL: &str = "run `git fetch --refetch --no-filter`, which fetches all of them";

/// A fetch fails where a broken object is in the way.
pub(crate) const REPAIR_AND_FETCH: &str = "run `sprag history fsck --repair`, which moves broken objects away; then `git fetch --refetch` brings what the remote has";

pub(crate) const UNSHALLOW: &str =
    "run `git fetch --unshallow`; in a workflow set `fetch-depth: 0` where it checks out";

pub(crate) const REWRITTEN: &str =
    "nothing is wrong where the history was rewritten on purpose; else fetch them from another clone";

pub(crate) fn failed(action: &'static str) -> impl FnOnce(git2::Error) -> HistoryError {
    move |error| HistoryError::Unusable { action, reason: message(&error).to_owned() }
}

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("no git repository at or above `{0}`")]
    NoRepository(PathBuf),
    #[error("the repository at `{0}` uses the SHA-256 object format, which is not supported")]
    Sha256(PathBuf),
    #[error("the repository at `{0}` stores its refs as a reftable, which is not supported")]
    Reftable(PathBuf),
    #[error("the repository at `{0}` is owned by another user")]
    Owner(PathBuf),
    #[error("cannot open the repository at `{path}`: {reason}")]
    Unreadable { path: PathBuf, reason: String },
    #[error("`{revision}` names no commit of this repository: {reason}")]
    Revision { revision: String, reason: String },
    #[error("this shallow clone ends at a record commit, so the measured commit is unknown")]
    Shallow,
    #[error("the history is incomplete here: {what}")]
    Incomplete { what: String, hint: &'static str },
    #[error("the history is damaged: {0}")]
    Damaged(String),
    #[error("the history is damaged: the tip of `{reference}` cannot be read: {reason}")]
    Tip { reference: String, reason: String },
    #[error("the object {id} is broken in `{}`, from which this repository borrows objects", folder.display())]
    Borrowed { id: git2::Oid, folder: PathBuf },
    #[error("{cause}; before that, the repair {}", steps.join(", "))]
    Unrepaired { steps: Vec<String>, cause: Box<HistoryError> },
    #[error("the files of {commit} are not all in this repository")]
    NotHere {
        commit: String,
        /// Whether they are at a remote, as in a partial clone.
        promised: bool,
    },
    #[error("HEAD is detached, so there is no branch to record on")]
    Detached,
    #[error("a {activity} is under way on `{reference}`, so nothing can be recorded there")]
    Busy { activity: &'static str, reference: String },
    #[error("`{name}` cannot be the ref of the history: {reason}")]
    BadRef { name: String, reason: &'static str },
    #[error("`{path}` cannot be recorded: it {reason}")]
    BadRecord { path: String, reason: String },
    #[error("`{path}` is in the history of `{reference}` already, with different content")]
    Different { path: String, reference: String },
    #[error("`{path}` cannot be recorded next to `{other}`: they differ only by case or Unicode form")]
    Alike { path: String, other: String },
    #[error("`{path}` is not a folder on `{reference}`, so nothing can be recorded below it")]
    NotAFolder { path: String, reference: String },
    #[error("another process took `{path}` off `{reference}` meanwhile")]
    Moved { path: String, reference: String },
    #[error("cannot move `{reference}` after {attempts} attempts: {reason}")]
    Contended { reference: String, attempts: u32, reason: String },
    #[error("another sprag is recording in this repository: `{0}` stays locked")]
    Locked(PathBuf),
    #[error("the snapshot `{path}` {reason}")]
    Snapshot { path: PathBuf, reason: String },
    #[error("cannot {action} `{path}`: {reason}")]
    Io { action: &'static str, path: PathBuf, reason: io::Error },
    #[error("cannot {action}: {reason}")]
    Unusable { action: &'static str, reason: String },
}

impl HistoryError {
    /// Whether the record of `path` alone is refused, so that others can still be recorded.
    pub fn blames(&self, path: &str) -> bool {
        let is_part = |part: &str| path.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        match self {
            HistoryError::BadRecord { path: blamed, .. }
            | HistoryError::Different { path: blamed, .. }
            | HistoryError::NotAFolder { path: blamed, .. }
            | HistoryError::Alike { path: blamed, .. } => is_part(blamed),
            _ => false,
        }
    }

    /// Whether data are damaged.
    pub fn is_damage(&self) -> bool {
        match self {
            HistoryError::Unrepaired { cause, .. } => cause.is_damage(),
            HistoryError::Snapshot { .. }
            | HistoryError::Damaged(_)
            | HistoryError::Tip { .. }
            | HistoryError::Borrowed { .. } => true,
            _ => false,
        }
    }

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
            HistoryError::Revision { .. } => {
                "`git fetch --tags` fetches tags and commits, `git log --oneline` lists the commits here".to_owned()
            }
            HistoryError::Shallow => UNSHALLOW.to_owned(),
            HistoryError::Incomplete { hint, .. } => (*hint).to_owned(),
            HistoryError::Damaged(_) => "run `sprag history fsck`, which lists what is wrong".to_owned(),
            HistoryError::Tip { reference, .. } => format!(
                "{REPAIR_AND_FETCH}; where it never got that commit, `git update-ref {reference} {reference}@{{1}}` goes back to \
                 the one before"
            ),
            HistoryError::Borrowed { folder, .. } => format!(
                "in the repository of `{}` run `sprag history fsck --repair`, and `git fetch --refetch` where it has a remote; then \
                 run the command again",
                folder.display()
            ),
            HistoryError::Unrepaired { cause, .. } => return cause.hint(),
            HistoryError::NotHere { promised: true, .. } => FETCH_ALL.to_owned(),
            HistoryError::NotHere { promised: false, .. } => "run `git fsck` to see what is lost".to_owned(),
            HistoryError::Detached => format!("check out a branch, or {own_ref}"),
            HistoryError::Busy { activity, .. } => format!("finish or abort the {activity}, or {own_ref}"),
            HistoryError::BadRef { .. } => "`ref` under `[history]` takes the name of a branch".to_owned(),
            HistoryError::Contended { reference, .. } => format!(
                "if no git process is running, remove the stale `{reference}.lock` from the git folder and try again"
            ),
            HistoryError::Moved { .. } => "nothing was changed: run the command again".to_owned(),
            HistoryError::Locked(_) => "wait until it is done, and try again".to_owned(),
            HistoryError::Io { action: "write to", path, reason }
                if reason.kind() == io::ErrorKind::PermissionDenied =>
            {
                format!("make `{}` writable for this user; git run once as another user may own it", path.display())
            }
            HistoryError::Alike { other, .. } => {
                format!("spell it as in `{other}`: file systems of macOS and Windows hold only one of the two")
            }
            HistoryError::Snapshot { .. } => {
                "copy it again from where it is intact, or move it away to go on without its runs; then `sprag history archive \
                 --restore` with its name takes them from earlier commits"
                    .to_owned()
            }
            HistoryError::Unreadable { .. }
            | HistoryError::BadRecord { .. }
            | HistoryError::Different { .. }
            | HistoryError::NotAFolder { .. }
            | HistoryError::Io { .. }
            | HistoryError::Unusable { .. } => return None,
        })
    }

    pub(crate) fn io(action: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> HistoryError {
        let path = path.to_owned();
        move |reason| HistoryError::Io { action, path, reason }
    }
}

/// The message of libgit2, which is empty for some failures of the file system.
pub(crate) fn message(error: &git2::Error) -> &str {
    match error.message() {
        "" | "no error" => "the file system refused",
        message => message,
    }
}

/// A number and a noun, in the plural unless it is one.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match noun.split_once(' ') {
        _ if number == 1 => format!("1 {noun}"),
        Some((first, rest)) => format!("{number} {first}s {rest}"),
        None => format!("{number} {noun}s"),
    }
}
