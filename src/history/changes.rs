//! What a commit changed against its first parent, as `git show --stat` shows it.

use git2::{Diff, Patch};

use crate::error::{HistoryError, failed};
use crate::repository::Store;

/// A commit and what it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitChanges {
    pub author: String,
    pub files: Vec<FileChange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: String,
    /// Lines; none of a binary file.
    pub added: usize,
    pub removed: usize,
}

/// The paths that a commit changed.
pub fn changed_paths(store: &Store, sha: &str) -> Result<Vec<String>, HistoryError> {
    let diff = diff(store, sha)?;
    Ok((0..diff.deltas().len()).map(|place| path(&diff, place)).collect())
}

pub fn changes(store: &Store, sha: &str) -> Result<CommitChanges, HistoryError> {
    let diff = diff(store, sha)?;
    let mut files = Vec::new();
    for place in 0..diff.deltas().len() {
        let patch = Patch::from_diff(&diff, place).map_err(failed("compare a commit with its parent"))?;
        let lines = patch.map(|patch| patch.line_stats()).transpose();
        let (_, added, removed) = lines.map_err(failed("count changed lines"))?.unwrap_or_default();
        files.push(FileChange { path: path(&diff, place), added, removed });
    }
    let commit = commit(store, sha)?;
    let author = String::from_utf8_lossy(commit.author().name_bytes()).into_owned();
    Ok(CommitChanges { author, files })
}

fn commit<'s>(store: &'s Store, sha: &str) -> Result<git2::Commit<'s>, HistoryError> {
    let id = git2::Oid::from_str(sha).map_err(failed("read a commit"))?;
    store.repository.find_commit(id).map_err(failed("read a commit"))
}

fn diff<'s>(store: &'s Store, sha: &str) -> Result<Diff<'s>, HistoryError> {
    let commit = commit(store, sha)?;
    let tree = commit.tree().map_err(failed("read the tree of a commit"))?;
    let before = commit.parent(0).ok().and_then(|parent| parent.tree().ok());
    let diff = store.repository.diff_tree_to_tree(before.as_ref(), Some(&tree), None);
    diff.map_err(failed("compare a commit with its parent"))
}

fn path(diff: &Diff<'_>, place: usize) -> String {
    let delta = diff.get_delta(place);
    let path = delta.as_ref().and_then(|delta| delta.new_file().path_bytes().or(delta.old_file().path_bytes()));
    String::from_utf8_lossy(path.unwrap_or_default()).into_owned()
}
