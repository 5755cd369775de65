//! Operations of git that are under way in a working tree.

use std::fmt;

use git2::{Repository, RepositoryState};

/// An operation that git has begun and not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// `git merge`.
    Merge,
    /// `git rebase`.
    Rebase,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    ApplyMailbox,
    /// `git bisect`; it moves no branch, so it stands in nobody's way.
    Bisect,
}

impl Activity {
    /// Whether a new commit on the branch would disturb it.
    pub fn holds_branch(self) -> bool {
        self != Activity::Bisect
    }

    pub(crate) fn detect(repository: &Repository) -> Option<Activity> {
        match repository.state() {
            RepositoryState::Clean => None,
            RepositoryState::Merge => Some(Activity::Merge),
            RepositoryState::Revert | RepositoryState::RevertSequence => Some(Activity::Revert),
            RepositoryState::CherryPick | RepositoryState::CherryPickSequence => Some(Activity::CherryPick),
            RepositoryState::Bisect => Some(Activity::Bisect),
            RepositoryState::Rebase | RepositoryState::RebaseInteractive | RepositoryState::RebaseMerge => {
                Some(Activity::Rebase)
            }
            RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => Some(Activity::ApplyMailbox),
        }
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Activity::Merge => "merge",
            Activity::Rebase => "rebase",
            Activity::CherryPick => "cherry-pick",
            Activity::Revert => "revert",
            Activity::ApplyMailbox => "mailbox application",
            Activity::Bisect => "bisect",
        })
    }
}
