//! The door to git2: a repository, the branch of its history, and what is read from and written to it.

mod append;
mod checkout;
mod commits;
mod reading;
mod sync;
mod fsck;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use git2::{ErrorCode, Repository, RepositoryOpenFlags};

use super::HistoryError;

pub use append::batch::Record;
pub use append::{Appended, append};
pub use checkout::{Healed, heal};
pub use commits::author::author;
pub use commits::create::{Author, NewCommit, check_out, commit_files, create, tag};
pub use commits::facts::{Activity, Facts, Head, facts, has_commit};
pub use commits::line::{commit_graph, commit_line, commit_line_known};
pub use commits::measured::{commit_at, find_commit, measured_commit};
pub use commits::tags::{comes_after, files_of, tagged};
pub use commits::target::{Target, bisects_aside, check_writable, default_branch, source, target};
pub use commits::worktree::{Lacking, check_out_aside};
pub use fsck::{Repaired, fsck, recorded, repair, sound_entries};
pub use reading::entries::{Entered, Entries, entries};
pub use reading::events::{EventFiles, event_files};
pub use reading::known_folders::KnownFolders;
pub use reading::listing::{Entry, Listing, list, list_known};
pub use reading::load::{Loaded, absent_commits, fold, load, read};
pub(super) use reading::partial::FETCH as FETCH_ALL;
pub use sync::sync;

/// An open repository.
///
/// It may be sent to another thread but not shared with one: each thread opens its own.
pub struct Store {
    repository: Repository,
}

/// Opens the repository at or above `start`: with a working tree, bare, or a linked working tree.
///
/// # Errors
/// Tells apart that there is none, that it is of a kind libgit2 cannot read, that it is another user's, and that it
/// is broken.
pub fn open(start: &Path) -> Result<Store, HistoryError> {
    let no_ceiling: [&Path; 0] = [];
    // Not `discover`: it forgets the working tree of a git folder that lies apart from it.
    match Repository::open_ext(start, RepositoryOpenFlags::empty(), no_ceiling) {
        Ok(repository) => Ok(Store { repository }),
        Err(error) if error.code() == ErrorCode::NotFound => Err(HistoryError::NoRepository(start.to_owned())),
        Err(error) => {
            let found = Repository::discover_path(start, no_ceiling);
            Err(not_opened(found.unwrap_or_else(|_| start.to_owned()), &error))
        }
    }
}

fn not_opened(path: PathBuf, error: &git2::Error) -> HistoryError {
    let reason = error.message();
    // libgit2 has no codes for the two formats, so its words decide; a change of them costs the hint alone.
    if error.code() == ErrorCode::Owner {
        HistoryError::Owner(path)
    } else if reason.contains("sha256") || reason.contains("objectformat") {
        HistoryError::Sha256(path)
    } else if reason.contains("refstorage") {
        HistoryError::Reftable(path)
    } else {
        HistoryError::Unreadable { path, reason: reason.to_owned() }
    }
}

/// Wraps what git2 said.
fn failed(action: &'static str) -> impl FnOnce(git2::Error) -> HistoryError {
    move |error| HistoryError::Git { action, reason: reason_of(&error) }
}

/// What git2 said, or that it said nothing: some failures of the file system reach it without a word.
fn reason_of(error: &git2::Error) -> String {
    match error.message() {
        "" | "no error" => "the file system refused".to_owned(),
        message => message.to_owned(),
    }
}

/// A time of git, which may be any number, as one of ours; what no calendar holds becomes 1970.
fn time_of(time: git2::Time) -> DateTime<Utc> {
    DateTime::from_timestamp(time.seconds(), 0).unwrap_or_default()
}

/// The first line of a commit's message.
fn subject_of(commit: &git2::Commit<'_>) -> String {
    String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned()
}
