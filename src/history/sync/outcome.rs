//! Options, outcome and errors of a sync.

use std::path::PathBuf;

use crate::error::{self, HistoryError, UNSHALLOW};
use crate::transport::{CallError, RemoteFault, printable};

const NAMED: usize = 3;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncOptions {
    /// Default: that of the branch's upstream, else `origin`, else the only one.
    pub remote: Option<String>,
    pub after_rewrite: Option<AfterRewrite>,
    pub dry_run: bool,
}

/// What to do where the remote has lost records since the last sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterRewrite {
    /// Put every lost or changed record back as it was after the last sync.
    Restore,
    /// Drop here what the remote lost, and send only records of the time since the last sync.
    Accept,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// Such as `origin/main`.
    pub branch: String,
    /// The paths that the remote lacked. A dry run does not send them.
    pub sent: Vec<String>,
    pub received: usize,
    pub attempts: u32,
    /// Of the branch at the remote; absent where it has none.
    pub tip: Option<String>,
    pub local: LocalBranch,
    /// One sentence each.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalBranch {
    Unchanged,
    Moved,
    Waits {
        /// A clause that reads after the name of the branch.
        reason: &'static str,
        command: String,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("there is no remote to sync with: {0}")]
    NoRemote(String),
    #[error("the remote `{remote}` cannot be used: {reason}")]
    BadRemote { remote: String, reason: String },
    #[error("another sync is under way in this repository: `{0}` stays locked")]
    Running(PathBuf),
    #[error("the remote `{remote}` {}", call_clause(cause))]
    Call { remote: String, cause: CallError },
    #[error("the remote `{remote}` refused them: {words}")]
    Refused { remote: String, words: String },
    #[error("`{branch}` kept moving, given up after {attempts} attempts: {words}")]
    Outrun { branch: String, attempts: u32, words: String },
    #[error("`{local}` has {} that `{branch}` lacks: {}", error::count(*count, "commit of code"), quoted(first))]
    Unpublished { local: String, branch: String, count: usize, first: Vec<String> },
    #[error("{} here and on `{branch}` with different content: {}", are(paths.len()), quoted(paths))]
    Different { branch: String, paths: Vec<String> },
    #[error("{}{}", lost_text(branch, lost, changed, *rewritten, *is_gone), but(notes))]
    Lost {
        branch: String,
        lost: Vec<String>,
        changed: Vec<String>,
        rewritten: bool,
        is_gone: bool,
        /// Notes of archives that do not explain it, each with what is wrong.
        notes: Vec<String>,
    },
    #[error("{} removed or changed on `{local}` by a commit: {}", are(paths.len()), quoted(paths))]
    LostHere { local: String, paths: Vec<String> },
    #[error("what `{branch}` lost cannot be dropped from `{local}`, {reason}")]
    CannotDrop { local: String, branch: String, reason: &'static str },
    #[error("this clone was never synced with `{branch}`, which may lack runs that would leave")]
    NeverSynced { branch: String },
    #[error("`{file}` was archived out of commits that `{branch}` never had")]
    ArchivedApart { file: String, branch: String },
    #[error("this shallow clone ends before `{local}` and `{branch}` meet")]
    Unmet { local: String, branch: String },
}

impl SyncError {
    pub fn is_integrity(&self) -> bool {
        match self {
            SyncError::Lost { .. } | SyncError::LostHere { .. } | SyncError::Different { .. } => true,
            SyncError::History(HistoryError::Different { .. } | HistoryError::NotAFolder { .. }) => true,
            SyncError::History(error) => error.is_damage(),
            _ => false,
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let safe = |hint: &str| format!("the records are safe on the local branch; {hint}");
        let hint = match self {
            SyncError::History(error) => return error.hint(),
            SyncError::NoRemote(_) => "add one with `git remote add origin <address>`, or name one by `--remote`",
            SyncError::BadRemote { .. } => "`git remote -v` and `git config --get-regexp remote` show it",
            SyncError::Running(_) => "end it if it hangs, and run `sprag history sync` again",
            SyncError::Call { cause: CallError::NoGit, .. } => "install git, or add the folder that has it to PATH",
            SyncError::Call { cause, .. } => {
                let fault = if let CallError::Remote { fault, .. } = cause { *fault } else { RemoteFault::Other };
                return Some(safe(match fault {
                    RemoteFault::Denied => {
                        "no prompt is shown, so a key has to be in an agent and a password in a credential helper"
                    }
                    RemoteFault::NoRepository => "`git remote -v` shows its address",
                    RemoteFault::Unwritable => {
                        "make room on the disk, or let this user write to the git folder, and try again"
                    }
                    RemoteFault::Unreachable | RemoteFault::Locked | RemoteFault::Other => "try again later",
                }));
            }
            SyncError::Refused { .. } => {
                return Some(safe(
                    "if the branch is protected, let this user push to it, or keep the history on a branch of its own: \
                     `ref` under `[history]` in sprag.toml",
                ));
            }
            SyncError::Outrun { .. } => return Some(safe("run `sprag history sync` again")),
            SyncError::Unpublished { .. } => {
                "push them yourself (`git push`): the records go along; or keep the history on a branch of its own: `ref` \
                 under `[history]` in sprag.toml"
            }
            SyncError::Different { .. } => {
                "a record is never changed: `sprag history fsck` on both sides shows which one is damaged"
            }
            SyncError::Lost { is_gone: true, .. } => {
                "it is still here: `--after-rewrite restore` restores the branch; a missing branch does not show which records were removed, so there is nothing to accept"
            }
            SyncError::Lost { notes, .. } if !notes.is_empty() => {
                "they are still here: fetch absent notes by `git fetch --refetch --no-filter`, and read newer ones with a newer \
                 sprag; `--after-rewrite restore` restores the records, `--after-rewrite accept` deletes them"
            }
            SyncError::Lost { .. } => {
                "they are still here: `--after-rewrite restore` restores them, `--after-rewrite accept` deletes them; where \
                 the local branch has the same change, run `sprag history fsck --repair` first"
            }
            SyncError::LostHere { .. } => {
                "`sprag history fsck --repair` restores them from earlier commits, `--after-rewrite restore` from the remote"
            }
            SyncError::CannotDrop { branch, .. } => {
                let branch = branch.replacen('/', " ", 1);
                return Some(format!("bring the code together first (`git pull --rebase {branch}`), and try again"));
            }
            SyncError::NeverSynced { .. } => "run `sprag history sync` first",
            SyncError::ArchivedApart { .. } => {
                "run `sprag history archive --restore` with it, sync, and archive again: other clones look up in the commits \
                 which runs left"
            }
            SyncError::Unmet { .. } => UNSHALLOW,
        };
        Some(hint.to_owned())
    }
}

fn call_clause(error: &CallError) -> String {
    match error {
        CallError::Remote { fault, words } if words.is_empty() => fault.clause().to_owned(),
        CallError::Remote { fault, words } => format!("{}: {words}", fault.clause()),
        other => format!("was not reached: {other}"),
    }
}

fn are(count: usize) -> String {
    if count == 1 { "1 record is".to_owned() } else { format!("{count} records are") }
}

fn but(notes: &[String]) -> String {
    let Some(first) = notes.first() else { return String::new() };
    let more = if notes.len() > 1 { format!(", and {} more", notes.len() - 1) } else { String::new() };
    format!("; a note that could explain it counts for nothing: {}{more}", printable(first))
}

pub(crate) fn quoted(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{}`", printable(name))).collect();
    let more = names.len().saturating_sub(NAMED);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

fn lost_text(branch: &str, lost: &[String], changed: &[String], rewritten: bool, is_gone: bool) -> String {
    if is_gone {
        return format!(
            "the branch `{branch}` is gone from the remote, and {} with it",
            error::count(lost.len(), "record")
        );
    }
    let how = if rewritten { "the history of" } else { "a commit on" };
    let did = if rewritten { "was rewritten" } else { "took records away" };
    let mut parts = Vec::new();
    if !lost.is_empty() {
        parts.push(format!("{} gone ({})", are(lost.len()), quoted(lost)));
    }
    if !changed.is_empty() {
        parts.push(format!("{} changed ({})", are(changed.len()), quoted(changed)));
    }
    format!("{how} `{branch}` {did}: {}", parts.join(", "))
}
