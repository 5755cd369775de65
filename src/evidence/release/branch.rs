//! The branch that a release is judged by: where the history is, and whether it is undamaged.

use super::{Fault, ReleaseError, Result};
use sprag_history::{self as history, Entries, Facts, Store, Target};

/// Where the history is read from: the configured branch, else the one that is checked out. Where a commit is checked out
/// that the default branch of `origin` contains, as in a clone at a tag, it is that branch: the records of a release come
/// after its tag.
pub fn source(store: &Store, configured: Option<&str>) -> Result<Target> {
    let own = history::source(store, configured)?;
    if own.reference == "HEAD"
        && let (Facts { branch: None, commit: Some(commit), .. }, Some((reference, tip))) =
            (history::facts(store)?, history::default_branch(store))
        && history::comes_after(store, &tip, &commit)?
    {
        return Ok(Target { reference, ..own });
    }
    Ok(own)
}

/// The name of a branch, here or of a remote, without its namespace; absent for any other ref.
pub fn short_name(reference: &str) -> Option<&str> {
    let remote = || reference.strip_prefix("refs/remotes/").and_then(|rest| Some(rest.split_once('/')?.1));
    reference.strip_prefix("refs/heads/").or_else(remote)
}

/// The commits whose ancestors a clone trusts: HEAD, the default branch, and the tip of the history.
pub(super) fn trusted_tips(store: &Store, target: &Target) -> Result<Vec<String>> {
    let head = history::facts(store)?.commit;
    let default = history::default_branch(store).map(|(_, commit)| commit);
    Ok(head.into_iter().chain(default).chain(history::list(store, target)?.tip).collect())
}

pub(super) fn undamaged_entries(store: &Store, target: &Target) -> Result<Entries> {
    history::verified_entries(store, target)?.map_err(|damage| {
        let faults = damage.into_iter().map(|one| Fault::new(one.path.as_deref().unwrap_or("history"), one.what));
        ReleaseError::Disagreement(faults.collect())
    })
}

/// Likewise, where damage is an error that names the first file.
pub fn entries(store: &Store, target: &Target) -> Result<Entries> {
    undamaged_entries(store, target).map_err(|error| {
        let ReleaseError::Disagreement(faults) = error else { return error };
        let first = faults.first().map(|one| format!(": {} {}", one.path, one.what)).unwrap_or_default();
        let more = if faults.len() > 1 { format!(", and {} more", faults.len() - 1) } else { String::new() };
        ReleaseError::damaged(
            format!("the history is damaged{first}{more}"),
            "list all damage with `sprag history fsck`; `--repair` restores what git still has. No waiver covers damage",
        )
    })
}
