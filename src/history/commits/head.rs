//! What a repository is like: where it lies, what HEAD is, and whether an operation is under way.

use std::path::PathBuf;

use git2::{ErrorCode, Repository};

use crate::activity::Activity;
use crate::error::HistoryError;
use crate::objects::loose;
use crate::store::{Store, failed};

/// What a repository is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The working tree; absent in a bare repository.
    pub workdir: Option<PathBuf>,
    /// What HEAD is.
    pub head: Head,
    /// The operation under way.
    pub activity: Option<Activity>,
    /// Whether the repository holds no more than the newest part of its history.
    pub shallow: bool,
}

/// What HEAD is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A branch is checked out.
    Branch { name: String, commit: String },
    /// A commit is checked out, and no branch.
    Detached { commit: String },
    /// A branch is checked out that has no commit yet.
    Unborn { name: String },
}

/// Looks at the repository.
///
/// # Errors
/// When HEAD cannot be read.
pub fn facts(store: &Store) -> Result<Facts, HistoryError> {
    let repository = &store.repository;
    let commit = match repository.head() {
        Ok(head) => {
            let commit = loose::commit_at(repository, &head).map_err(failed("read the commit of HEAD"))?;
            Some(commit.id().to_string())
        }
        Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => None,
        Err(error) => return Err(failed("read HEAD")(error)),
    };
    let branch = head_branch(repository)?.map(|full| short_name(&full).to_owned());
    let head = match (branch, commit) {
        (Some(name), Some(commit)) => Head::Branch { name, commit },
        (Some(name), None) => Head::Unborn { name },
        (None, Some(commit)) => Head::Detached { commit },
        (None, None) => {
            return Err(HistoryError::Unusable {
                action: "read HEAD",
                reason: "it names no branch and no commit".to_owned(),
            });
        }
    };
    Ok(Facts {
        workdir: repository.workdir().map(PathBuf::from),
        head,
        activity: Activity::detect(repository),
        shallow: repository.is_shallow(),
    })
}

/// Whether the repository holds a commit, by the digits of its id.
pub fn has_commit(store: &Store, sha: &str) -> bool {
    git2::Oid::from_str(sha).and_then(|id| store.repository.find_commit(id)).is_ok()
}

/// The branch that HEAD stands for, in full; absent when it is detached.
pub(crate) fn head_branch(repository: &Repository) -> Result<Option<String>, HistoryError> {
    let head = repository.find_reference("HEAD").map_err(failed("read HEAD"))?;
    let Some(named) = head.symbolic_target().map_err(failed("read HEAD"))? else { return Ok(None) };
    // A branch may itself be a name for another one; commits go to the one at the end.
    match head.resolve() {
        Ok(resolved) => resolved.name().map(|name| Some(name.to_owned())).map_err(failed("read HEAD")),
        Err(_) => Ok(Some(named.to_owned())),
    }
}

/// A branch without `refs/heads/`.
pub(crate) fn short_name(reference: &str) -> &str {
    reference.strip_prefix("refs/heads/").unwrap_or(reference)
}
