//! The branch that a release is judged by: the one that holds the history, and whether that holds together.

use super::fault::Fault;
use crate::cmd::project::Project;
use crate::cmd::{Advice, Trouble, text};
use crate::history::{self, Head, HistoryError, Store, Target};

/// Where the history is read from: the configured branch, else the one that is checked out. Where a commit is checked out that
/// the default branch of `origin` has, as in a clone at a tag, it is that branch: a tag ends before the records of its release.
///
/// # Errors
/// When the name is not that of a branch, or HEAD cannot be read.
pub(super) fn source(store: &Store, configured: Option<&str>) -> Result<Target, HistoryError> {
    let own = history::source(store, configured)?;
    if own.reference == "HEAD"
        && let (Head::Detached { commit }, Some((reference, tip))) =
            (history::facts(store)?.head, history::default_branch(store))
        && history::comes_after(store, &tip, &commit)?
    {
        return Ok(Target { reference, ..own });
    }
    Ok(own)
}

/// The short name of a branch, here or of a remote; absent where the ref is none.
pub(super) fn name(reference: &str) -> Option<&str> {
    let of_remote = |rest: &'static str| reference.strip_prefix(rest).and_then(|rest| Some(rest.split_once('/')?.1));
    reference.strip_prefix("refs/heads/").or_else(|| of_remote("refs/remotes/"))
}

/// The commits from which all leads back that a clone has reason to believe: HEAD, the default branch, the history.
///
/// # Errors
/// When they cannot be read.
pub(super) fn tips(store: &Store, target: &Target) -> anyhow::Result<Vec<String>> {
    let head = match history::facts(store)?.head {
        Head::Branch { commit, .. } | Head::Detached { commit } => Some(commit),
        Head::Unborn { .. } => None,
    };
    let default = history::default_branch(store).map(|(_, commit)| commit);
    Ok(head.into_iter().chain(default).chain(history::list(store, target)?.tip).collect())
}

/// What `sprag history fsck` calls damage in the history as of a commit, by file.
///
/// # Errors
/// When the commit cannot be read.
pub(super) fn damage(store: &Store, commit: &str) -> anyhow::Result<Vec<Fault>> {
    let found = history::damage(store, commit)?;
    Ok(found.into_iter().map(|one| Fault::of(one.path.as_deref().unwrap_or("history"), one.what)).collect())
}

/// Checks that the history as of a commit holds together.
///
/// # Errors
/// That it does not, with the first file; nothing waives that.
pub(super) fn check(project: &Project, commit: &str) -> anyhow::Result<()> {
    let found = damage(project.store()?, commit)?;
    let Some(first) = found.first() else { return Ok(()) };
    let more = if found.len() > 1 { format!(", and {} more", found.len() - 1) } else { String::new() };
    let message = format!("the history does not hold together: {} {}{more}", first.path, first.what);
    Err(Trouble::Damaged(Advice {
        message: text::printable(&message),
        hint: "`sprag history fsck` tells all of it, `--repair` restores what git still has; nothing waives this"
            .to_owned(),
    })
    .into())
}
