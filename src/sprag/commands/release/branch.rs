//! The branch that a release is judged by: the one that holds the history, and whether that holds together.

use anyhow::Context as _;

use super::fault::Fault;
use crate::commands::{Advice, Trouble, text};
use sprag_history::{self as history, Entries, Head, HistoryError, Store, Target};
use sprag_model::fsck::Finding;

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

/// The list of a history that holds together, else what `sprag history fsck` calls damage in it, by file.
///
/// # Errors
/// When the history cannot be read.
pub(super) fn sound(store: &Store, target: &Target) -> anyhow::Result<Result<Entries, Vec<Fault>>> {
    let found = history::verified_entries(store, target).context("cannot read the history")?;
    let fault = |one: Finding| Fault::of(one.path.as_deref().unwrap_or("history"), one.what);
    Ok(found.map_err(|damage| damage.into_iter().map(fault).collect()))
}

/// The list of a history, which must hold together.
///
/// # Errors
/// Also that it does not, with the first file; nothing waives that.
pub(super) fn entries(store: &Store, target: &Target) -> anyhow::Result<Entries> {
    let faults = match sound(store, target)? {
        Ok(entries) => return Ok(entries),
        Err(faults) => faults,
    };
    let first = faults.first().map(|one| format!(": {} {}", one.path, one.what)).unwrap_or_default();
    let more = if faults.len() > 1 { format!(", and {} more", faults.len() - 1) } else { String::new() };
    let message = format!("the history does not hold together{first}{more}");
    Err(Trouble::Damaged(Advice {
        message: text::printable(&message),
        hint: "`sprag history fsck` tells all of it, `--repair` restores what git still has; nothing waives this"
            .to_owned(),
    })
    .into())
}
