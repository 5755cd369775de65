//! An open repository, and what libgit2 says of it.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use git2::{ErrorCode, Repository, RepositoryOpenFlags};

use crate::error::HistoryError;

/// An open repository.
///
/// It may be sent to another thread but not shared with one: each thread opens its own.
pub struct Store {
    pub(crate) repository: Repository,
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
            Err(not_opened(found.unwrap_or_else(|_| start.to_owned()), error))
        }
    }
}

fn not_opened(path: PathBuf, reason: git2::Error) -> HistoryError {
    let says = |word: &str| reason.message().contains(word);
    // libgit2 has no codes for the two formats, so its words decide; a change of them costs the hint alone.
    if reason.code() == ErrorCode::Owner {
        HistoryError::Owner(path)
    } else if says("sha256") || says("objectformat") {
        HistoryError::Sha256(path)
    } else if says("refstorage") {
        HistoryError::Reftable(path)
    } else {
        HistoryError::Unreadable { path, reason }
    }
}

/// Wraps what git2 said.
pub(crate) fn failed(action: &'static str) -> impl FnOnce(git2::Error) -> HistoryError {
    move |reason| HistoryError::Git { action, reason }
}

/// A time of git, which may be any number, as one of ours; what no calendar holds becomes 1970.
pub(crate) fn time_of(time: git2::Time) -> DateTime<Utc> {
    DateTime::from_timestamp(time.seconds(), 0).unwrap_or_default()
}

/// The first line of a commit's message.
pub(crate) fn subject_of(commit: &git2::Commit<'_>) -> String {
    String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned()
}
