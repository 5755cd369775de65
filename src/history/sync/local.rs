//! The local branch, which follows to where the branch of the remote is.

use std::collections::BTreeMap;

use git2::{ErrorCode, Oid, Repository};

use crate::checkout::index::release;
use crate::checkout::removal;
use crate::checkout::working_tree::{Checkouts, heal_locked};
use crate::commits::head::short_name;
use crate::error::HistoryError;
use crate::layout::{PLAIN, check_path};
use crate::objects::flush;
use crate::state::{Pending, StateFolder};
use crate::store::failed;
use crate::sync::compare::{Difference, TreePath, compare, outside};
use crate::sync::outcome::LocalBranch;
use crate::sync::plan::Tips;
use crate::sync::remote::RemoteBranch;
use crate::sync::user_commits::{meeting, user_commits};

/// What came of moving the branch.
pub(crate) enum Moved {
    /// It is where it should be, or must wait.
    Settled(LocalBranch),
    /// Somebody recorded something meanwhile.
    Outrun(String),
}

/// Why the local branch has to wait for its user; nothing where it can move to `tip`.
///
/// # Errors
/// When an object cannot be read.
pub(crate) fn obstacle(
    repository: &Repository,
    branch: &RemoteBranch,
    tips: Tips,
    tip: Oid,
) -> Result<Option<LocalBranch>, HistoryError> {
    let pull = format!("git pull --rebase {} {}", branch.remote, short_name(&branch.reference));
    let waits = |reason| Ok(Some(LocalBranch::Waits { reason, command: pull.clone() }));
    if tips.local == Some(tip) {
        return Ok(None);
    }
    if let Some(local) = tips.local {
        // What a sync published before and the remote has lost since is not the user's to publish, but it is code.
        if !user_commits(repository, local, &[Some(tip)])?.is_empty() {
            return waits("it has commits of code that the remote lacks");
        }
        let base = meeting(repository, Some(local), Some(tip))?;
        if outside(repository, Some(local))? != outside(repository, base)? {
            return waits("it differs from the remote by more than records");
        }
    }
    if Checkouts::on_branch(repository, &branch.reference)?.trees.is_empty() {
        return Ok(None);
    }
    if outside(repository, tips.local)? != outside(repository, Some(tip))? {
        return waits("the remote has commits of code that the working tree lacks");
    }
    let difference = compare(repository, tips.local, Some(tip))?;
    let odd = |(path, mode): (&TreePath, i32)| mode != PLAIN || text_of(path).is_none();
    let added = difference.right.iter().map(|(path, entry)| (path, entry.mode));
    let changed = difference.changed.iter().map(|(path, (_, entry))| (path, entry.mode));
    if added.chain(changed).any(odd) {
        return waits("the remote has files below `history/v1/` that are no records");
    }
    Ok(None)
}

/// Moves the local branch from where it was to `tip` by compare-and-swap, and lets working trees catch up.
///
/// Call it only where nothing stands in the way.
///
/// # Errors
/// When git or the file system refuse. The branch is then where it was.
pub(crate) fn follow(
    repository: &Repository,
    reference: &str,
    from: Option<Oid>,
    tip: Oid,
    warnings: &mut Vec<String>,
) -> Result<Moved, HistoryError> {
    if from == Some(tip) {
        return Ok(Moved::Settled(LocalBranch::Unchanged));
    }
    let state = StateFolder::new(repository.commondir());
    let lock = state.lock()?;
    let (healed, mut unfinished) = heal_locked(repository, &state, &lock, &mut |_| {})?;
    warnings.extend(healed.warnings);
    let checkouts = Checkouts::on_branch(repository, reference)?;
    warnings.extend(checkouts.warnings);
    let difference = compare(repository, from, Some(tip))?;
    let pending = pending(reference, &difference);
    let mut dropped: BTreeMap<_, _> = difference.left;
    dropped.extend(difference.changed.into_iter().map(|(path, (before, _))| (path, before)));
    for checkout in &checkouts.trees {
        warnings.extend(removal::let_go(checkout, &dropped, &state));
    }
    // If we die while the ref moves, its lock is known for ours by this.
    state.write_journal(&[unfinished.clone(), pending.clone()].concat())?;
    // Locked across the move, so that no `git commit` can take the new records out of the branch again.
    let mut locks: Vec<_> = checkouts.trees.iter().map(|checkout| checkout.lock(&state, &mut |_| {})).collect();
    let moved = match from {
        Some(from) => repository.reference_matching(reference, tip, true, from, "sprag: sync"),
        None => repository.reference(reference, tip, false, "sprag: sync"),
    };
    if let Err(error) = moved {
        // The error that came first is the one to tell. A lock that stays is removed by its mark, while there is a journal.
        if release(&mut locks).is_ok() {
            let _ = state.settle(&unfinished);
        }
        return match error.code() {
            ErrorCode::Modified | ErrorCode::Exists | ErrorCode::Locked => {
                Ok(Moved::Outrun(error.message().to_owned()))
            }
            _ => Err(failed("move the branch of the history")(error)),
        };
    }
    if let Err(error) = flush::sync_ref(repository, reference) {
        warnings.push(format!("{error}; the branch may not outlast a power cut"));
    }
    for (checkout, lock) in checkouts.trees.iter().zip(locks) {
        let caught_up = checkout.catch_up(&pending, lock, &state, &mut |_| {});
        warnings.extend(caught_up.warnings);
        unfinished.extend(caught_up.unfinished);
    }
    unfinished.sort();
    unfinished.dedup();
    if let Err(error) = state.settle(&unfinished) {
        warnings.push(error.to_string());
    }
    Ok(Moved::Settled(LocalBranch::Moved))
}

/// What working trees have to catch up with.
fn pending(reference: &str, difference: &Difference) -> Vec<Pending> {
    let changed = difference.changed.iter().map(|(path, (_, after))| (path, after));
    let entries = difference.right.iter().chain(changed);
    let pending = entries.filter_map(|(path, entry)| {
        let path = text_of(path)?.to_owned();
        Some(Pending { reference: reference.to_owned(), path, blob: entry.id.to_string(), unplaced: false })
    });
    pending.collect()
}

/// The path as text, where it may name a file of the history in a working tree.
fn text_of(path: &TreePath) -> Option<&str> {
    std::str::from_utf8(path).ok().filter(|path| check_path(path).is_ok())
}
