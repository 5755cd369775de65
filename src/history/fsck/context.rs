//! What lies around the history: working trees, leftovers of processes, and what the repository is told to believe.

use std::collections::HashSet;
use std::fs;

use git2::{Oid, Repository, Status, StatusOptions};

use crate::checkout::index::sparse_paths;
use crate::checkout::working_tree::Checkouts;
use crate::commits::head::short_name;
use crate::error::HistoryError;
use crate::fsck::tip::Tip;
use crate::layout::FOLDER;
use crate::objects::loose;
use crate::state::StateFolder;
use crate::store::failed;
use sprag_model::fsck::{Finding, FindingKind};

/// Looks at the working trees on that branch.
pub(crate) fn working_trees(repository: &Repository, reference: &str) -> Result<Vec<Finding>, HistoryError> {
    let mut findings = Vec::new();
    let checkouts = Checkouts::on_branch(repository, reference)?;
    findings.extend(checkouts.warnings.into_iter().map(|warning| Finding::overall(FindingKind::WorkingTree, warning)));
    for checkout in &checkouts.trees {
        match working_tree(&checkout.repository) {
            Ok(found) => findings.extend(found),
            // As where a folder of the branch is missing, which is told where the branch is read.
            Err(error) => {
                let what = format!("the working tree `{}` was not looked at: {error}", checkout.folder.display());
                findings.push(Finding::overall(FindingKind::WorkingTree, what));
            }
        }
    }
    Ok(findings)
}

/// Where the repository does not have all commits, or is told that they are others.
pub(crate) fn beliefs(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut tell = |what: String, advice: &str| {
        findings.push(Finding::overall(FindingKind::Incomplete, what).advise(advice));
    };
    if repository.is_shallow() {
        let what = "this is a shallow clone: earlier commits were not looked at, and there is no root over the runs";
        tell(what.to_owned(), "run `git fetch --unshallow`; in a workflow set `fetch-depth: 0` where it checks out");
    }
    let grafts = repository.commondir().join("info").join("grafts");
    if fs::metadata(&grafts).is_ok_and(|grafts| grafts.len() > 0) {
        let what = "`info/grafts` in the git folder gives commits other parents; their own were looked at";
        tell(what.to_owned(), "remove the file once you know why it is there");
    }
    let replaced = repository.references_glob("refs/replace/*").map_or(0, |references| references.count());
    if replaced > 0 {
        let what = format!("{replaced} objects have a replacement (`git replace`); the originals were looked at");
        tell(what, "see `git replace --list`");
    }
    findings
}

/// What dead processes of ours left. Where one is at work there is nothing to tell yet.
pub(crate) fn leftovers(repository: &Repository) -> Vec<Finding> {
    let state = StateFolder::new(repository.commondir());
    let left = state.leftovers();
    if left.is_empty() || !matches!(state.lock_briefly(), Ok(Some(_))) {
        return Vec::new();
    }
    let advice = "the next record removes it; so does `sprag history fsck --repair`";
    let tell = |name: String| {
        let what = "was left in the git folder by a process that ended early";
        Finding::at(FindingKind::Leftover, &format!("sprag/{name}"), what).advise(advice)
    };
    left.into_iter().map(tell).collect()
}

/// What a working tree on the branch has that its commit has not, or the other way round.
fn working_tree(repository: &Repository) -> Result<Vec<Finding>, HistoryError> {
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).include_ignored(false);
    options.disable_pathspec_match(true).pathspec(FOLDER);
    let statuses = repository.statuses(Some(&mut options)).map_err(failed("compare the working tree with HEAD"))?;
    let sparse_paths = sparse_paths(repository);
    let mut findings = Vec::new();
    for entry in &statuses {
        let status = entry.status();
        let (what, advice) = if status.contains(Status::INDEX_DELETED) {
            ("is in the branch, but not in the index: the next `git commit` would drop it", REPAIR)
        } else if status.intersects(Status::INDEX_NEW | Status::INDEX_MODIFIED | Status::INDEX_RENAMED) {
            ("is staged with a content that the branch does not have", "records are added by `sprag history add`")
        } else if status.contains(Status::WT_DELETED) {
            if sparse_paths.contains(entry.path_bytes()) {
                continue;
            }
            ("is in the branch, but not in the working tree", REPAIR)
        } else if status.contains(Status::WT_NEW) {
            ("lies in the working tree, but is not in the branch", "record it by `sprag history add`, or remove it")
        } else if status.intersects(Status::WT_MODIFIED | Status::WT_TYPECHANGE | Status::INDEX_TYPECHANGE) {
            let advice = "run `git checkout HEAD -- history` once you know why";
            ("has another content in the working tree than in the branch", advice)
        } else {
            continue;
        };
        let path = String::from_utf8_lossy(entry.path_bytes()).into_owned();
        findings.push(Finding::at(FindingKind::WorkingTree, &path, what).advise(advice));
    }
    Ok(findings)
}

/// What brings a file of the branch back to where it is missing.
const REPAIR: &str = "run `sprag history fsck --repair` to bring it back";

/// Commits of the line that claim to be older than their parent.
pub(crate) fn backward_commits(commits: &[(Oid, i64)]) -> Option<Finding> {
    let backward: Vec<Oid> = commits.windows(2).filter(|pair| pair[1].1 < pair[0].1).map(|pair| pair[1].0).collect();
    let newest = backward.last()?;
    let what =
        format!("{} of the commits are dated before their first parent, the newest of them {newest}", backward.len());
    let advice = "nothing need be done: commits stand in the order of the line, not of their dates";
    Some(Finding::overall(FindingKind::Clock, what).advise(advice))
}

/// Records of the last sync with each remote that are not among the paths that the branch ever had, as after a `git
/// reset`. One that a commit took out is told as lost.
pub(crate) fn lost_since(repository: &Repository, reference: &str, known: &HashSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Ok(remotes) = repository.remotes() else { return findings };
    for remote in remotes.iter().filter_map(|name| name.ok().flatten()) {
        let name = format!("{remote}/{}", short_name(reference));
        let Some(tip) = tip_of(repository, &format!("refs/sprag/synced/{name}")) else { continue };
        let files = tip.runs.iter().chain(&tip.events).chain(&tip.auxiliary);
        let gone = files.filter(|file| !known.contains(file.text().as_str())).count();
        let (what, them) = match gone {
            0 => continue,
            1 => (format!("1 record of the last sync with `{name}` is not on this branch"), "it"),
            _ => (format!("{gone} records of the last sync with `{name}` are not on this branch"), "them"),
        };
        let advice = format!("`sprag history sync` brings {them} back");
        findings.push(Finding::overall(FindingKind::Incomplete, what).advise(advice));
    }
    findings
}

/// What the branch of the remote had; absent where there was no sync, or its commit cannot be read.
fn tip_of(repository: &Repository, reference: &str) -> Option<Tip> {
    let commit = loose::commit_at(repository, &repository.find_reference(reference).ok()?).ok()?;
    Some(Tip::read(repository, &loose::find_tree(repository, commit.tree_id()).ok()?))
}
