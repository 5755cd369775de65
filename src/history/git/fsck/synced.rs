//! The branch held against what a remote had after the last sync.

use std::collections::HashSet;

use git2::Repository;

use super::tip::Tip;
use crate::git::commits::facts::short_name;
use crate::git::reading::loose;
use sprag_model::fsck::{Finding, FindingKind};

/// Records of the last sync with each remote that are not among the paths that the branch ever had, as after a `git
/// reset`. One that a commit took out is told as lost.
pub(super) fn lost_since(repository: &Repository, reference: &str, known: &HashSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Ok(remotes) = repository.remotes() else { return findings };
    for remote in remotes.iter().filter_map(|name| name.ok().flatten()) {
        let name = format!("{remote}/{}", short_name(reference));
        let Some(tip) = tip_of(repository, &format!("refs/sprag/synced/{name}")) else { continue };
        let files = tip.runs.iter().chain(&tip.events).chain(&tip.aside);
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
    Some(Tip::of(repository, &loose::find_tree(repository, commit.tree_id()).ok()?))
}
