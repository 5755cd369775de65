//! Whether the history still begins with what it had when a root was noted down.

use std::collections::HashSet;

use git2::{Oid, Repository};

use crate::commits::measured::parents;
use crate::reading::entries::{Contents, Entries};
use crate::reading::past::Past;
use sprag_base::digest::Digest;
use sprag_model::fsck::{Against, Met};
use sprag_model::merkle::{SizedRoot, verify_consistency};

/// How many merged lines are looked at, the newest first.
const MERGED_LINES: usize = 256;

/// Looks for the root in the present list, and then in the lists of the lines that were merged into it.
pub(crate) fn find(
    repository: &Repository,
    tip: Oid,
    entries: &Entries,
    contents: &mut Contents<'_>,
    root: Digest,
) -> Against {
    let never = Against { root, met: Met::Never, size: None, commit: None };
    let proven = entries.tree.size_of(&root).filter(|&size| {
        let sized = |size: usize, root| SizedRoot { root, size: size as u64 };
        let path = entries.tree.consistency(size, entries.tree.len()).unwrap_or_default();
        verify_consistency(sized(size, root), sized(entries.tree.len(), entries.tree.root()), &path)
    });
    if let Some(size) = proven {
        return Against { met: Met::Beginning, size: Some(size as u64), ..never };
    }
    let present: HashSet<Digest> = entries.runs.iter().map(|run| run.digest).collect();
    for line in merged(repository, tip) {
        let Ok(past) = Past::read(repository, line) else { continue };
        let list = contents.list(&past);
        let Some(size) = list.tree.size_of(&root) else { continue };
        if list.runs[..size].iter().all(|run| present.contains(&run.digest)) {
            let commit = Some(line.to_string());
            return Against { met: Met::Merged, size: Some(size as u64), commit, ..never };
        }
    }
    never
}

/// The commits that were merged in, each the end of a line of its own.
fn merged(repository: &Repository, tip: Oid) -> Vec<Oid> {
    let Ok(mut walk) = repository.revwalk() else { return Vec::new() };
    if walk.push(tip).is_err() {
        return Vec::new();
    }
    let commits = walk.filter_map(|id| repository.find_commit(id.ok()?).ok());
    let others = commits.flat_map(|commit| parents(&commit).into_iter().skip(1).collect::<Vec<_>>());
    others.filter_map(|parent| Oid::from_str(&parent).ok()).take(MERGED_LINES).collect()
}
