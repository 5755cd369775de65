//! The beginning of a branch of records in a repository that kept them with its code.

use git2::{Commit, Oid, Repository, Sort, Tree};

use crate::error::{HistoryError, failed};
use crate::layout::FOLDER;
use crate::objects::{Swapped, compare_and_swap, find_tree, sync_commit};
use crate::target::{Target, tip};

/// Makes the branch, where it exists nowhere and the code has records: each commit that changed them is made again with nothing but
/// the folder of records, by its author and at its time. So what was added, changed and removed stays to be seen, roots stay the
/// same, and every clone makes the same commits.
pub(crate) fn begin(repository: &Repository, target: &Target) -> Result<(), HistoryError> {
    let Some((code, _)) = tip(repository, target)?.filter(|(_, name)| Some(name) == target.inherited.as_ref()) else {
        return Ok(());
    };
    let failure = || failed("make the commits of the records again");
    let mut walk = repository.revwalk().map_err(failure())?;
    walk.push(code.id()).map_err(failure())?;
    walk.simplify_first_parent().map_err(failure())?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE).map_err(failure())?;
    let mut newest: Option<(Commit<'_>, Oid)> = None;
    for id in walk {
        let commit = id.and_then(|id| repository.find_commit(id)).map_err(failure())?;
        let records = records_of(repository, &commit).map_err(failure())?;
        if newest.as_ref().map_or(records.is_empty(), |(_, tree)| *tree == records.id()) {
            continue;
        }
        let parents: Vec<&Commit<'_>> = newest.iter().map(|(commit, _)| commit).collect();
        let message = commit.message().unwrap_or_default();
        let made = repository.commit(None, &commit.author(), &commit.committer(), message, &records, &parents);
        let made = made.map_err(failure())?;
        sync_commit(repository, made, &records, &[])?;
        newest = Some((repository.find_commit(made).map_err(failure())?, records.id()));
    }
    let Some((newest, _)) = newest else { return Ok(()) };
    match compare_and_swap(repository, &target.reference, None, newest.id(), "begin with the records of the code")? {
        Swapped::Done { .. } => Ok(()),
        // Another process was faster, with the same commits or a record of its own on top.
        Swapped::Lost { .. } if repository.find_reference(&target.reference).is_ok() => Ok(()),
        Swapped::Lost { reason, .. } => {
            Err(HistoryError::Contended { reference: target.reference.clone(), attempts: 1, reason })
        }
    }
}

/// The tree of a commit with nothing but the folder of records.
fn records_of<'r>(repository: &'r Repository, commit: &Commit<'_>) -> Result<Tree<'r>, git2::Error> {
    let tree = find_tree(repository, commit.tree_id())?;
    let mut builder = repository.treebuilder(None)?;
    if let Some(folder) = tree.get_name(FOLDER) {
        builder.insert(FOLDER, folder.id(), folder.filemode())?;
    }
    repository.find_tree(builder.write()?)
}
