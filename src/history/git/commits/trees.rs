//! Comparing the trees of commits: which commits changed something besides the history.

use git2::{Commit, ErrorCode, Repository, Tree};

use crate::HistoryError;
use crate::git::failed;
use crate::git::reading::loose::LooseObjects;
use crate::layout::FOLDER;

/// The first parent of a commit, as far as this repository knows.
pub(in crate::git) enum FirstParent<'r> {
    None,
    /// It has one that a shallow clone leaves out.
    Absent,
    Commit(Commit<'r>),
}

/// Looks for the first parent of `commit`.
pub(in crate::git) fn first_parent<'r>(
    repository: &'r Repository,
    loose: &LooseObjects,
    commit: &Commit<'_>,
) -> Result<FirstParent<'r>, HistoryError> {
    // The header tells the truth where libgit2 hides the parents of the last commit of a shallow clone.
    let Some(id) = parents(commit).into_iter().next() else { return Ok(FirstParent::None) };
    if commit.parent_count() == 0 {
        return Ok(FirstParent::Absent);
    }
    let id = git2::Oid::from_str(&id).map_err(failed("read the parents of a commit"))?;
    match loose.find_commit(repository, id) {
        Ok(parent) => Ok(FirstParent::Commit(parent)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(FirstParent::Absent),
        Err(error) => Err(failed("read a commit")(error)),
    }
}

/// The parents that the commit names, whether or not they are here.
pub(in crate::git) fn parents(commit: &Commit<'_>) -> Vec<String> {
    let header = String::from_utf8_lossy(commit.raw_header_bytes()).into_owned();
    header.lines().filter_map(|line| line.strip_prefix("parent ")).map(str::to_owned).collect()
}

/// Whether `commit` is one that can be measured: its tree differs from its first parent's outside the history.
///
/// A root commit counts unless it holds nothing but a history. Where the trees are not here, as in a clone without
/// them, the commit counts. The last commit of a shallow clone has nothing to be compared with: there the subject
/// that record commits bear decides.
pub(in crate::git) fn changes_code(commit: &Commit<'_>, parent: &FirstParent<'_>) -> Result<bool, HistoryError> {
    let Some(tree) = present(commit.tree())? else { return Ok(true) };
    match parent {
        FirstParent::Absent => Ok(!looks_like_record(commit)),
        FirstParent::None => Ok(tree.is_empty() || tree.iter().any(|entry| entry.name_bytes() != FOLDER.as_bytes())),
        FirstParent::Commit(parent) => {
            if parent.tree_id() == tree.id() {
                return Ok(false);
            }
            Ok(present(parent.tree())?.is_none_or(|parent_tree| differ_outside_history(&tree, &parent_tree)))
        }
    }
}

/// Whether the message is one that [`crate::git::append`] writes.
fn looks_like_record(commit: &Commit<'_>) -> bool {
    commit.message_bytes().starts_with(b"sprag: ")
}

fn differ_outside_history(a: &Tree<'_>, b: &Tree<'_>) -> bool {
    let rest = |tree: &Tree<'_>| {
        let entries = tree.iter().filter(|entry| entry.name_bytes() != FOLDER.as_bytes());
        entries.map(|entry| (entry.name_bytes().to_vec(), entry.id(), entry.filemode_raw())).collect::<Vec<_>>()
    };
    rest(a) != rest(b)
}

fn present<'r>(tree: Result<Tree<'r>, git2::Error>) -> Result<Option<Tree<'r>>, HistoryError> {
    match tree {
        Ok(tree) => Ok(Some(tree)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(failed("read the tree of a commit")(error)),
    }
}
