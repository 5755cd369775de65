//! Making what was recorded outlast a power cut.
//!
//! Git leaves loose objects to the system, which writes them in its own time. A branch that survives a crash without
//! the objects it names is broken, and benchmark machines do crash; so the objects are flushed before the ref moves,
//! and the ref after. Objects that lie in a pack, or cannot be opened, are passed over.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use git2::{Oid, Repository, Tree};

use crate::history::state::sync_folder;

/// Flushes a commit, its tree, and the trees and blobs on the way to `paths`.
pub(super) fn sync_commit(repository: &Repository, commit: Oid, tree: &Tree<'_>, paths: &[String]) {
    let mut objects = BTreeSet::from([commit, tree.id()]);
    let mut seen = BTreeSet::new();
    for path in paths {
        for end in path.match_indices('/').map(|(end, _)| end).chain([path.len()]) {
            if seen.insert(&path[..end]) {
                objects.extend(tree.get_path(Path::new(&path[..end])).map(|entry| entry.id()));
            }
        }
    }
    for object in objects {
        let name = object.to_string();
        sync_file(&repository.commondir().join("objects").join(&name[..2]).join(&name[2..]));
    }
}

/// Flushes a ref.
pub(super) fn sync_ref(repository: &Repository, reference: &str) {
    let path = repository.commondir().join(reference);
    sync_file(&path);
    path.parent().iter().for_each(|folder| sync_folder(folder));
}

fn sync_file(path: &Path) {
    // Nothing can be done about a failure, and the record is written all the same.
    if let Ok(file) = File::open(path) {
        let _ = file.sync_all();
    }
}
