//! Making what was recorded outlast a power cut.
//!
//! Git leaves loose objects to the system, which writes them in its own time. A branch that survives a crash without
//! the objects it names is broken, and benchmark machines do crash; so the objects are flushed before the ref moves,
//! and the ref after. What cannot be flushed is an error, and nothing is flushed twice: after a failure the system may
//! have dropped what it could not write, and would call the second try good. Objects that lie in a pack are passed over:
//! `packed` flushes what it writes.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use git2::{Oid, Repository, Tree};

use crate::error::HistoryError;
use crate::state::{MANY_FILES, sync_file_system, sync_folder};

/// Flushes a commit, its tree, and the trees and blobs on the way to `paths`.
pub(crate) fn sync_commit(
    repository: &Repository,
    commit: Oid,
    tree: &Tree<'_>,
    paths: &[String],
) -> Result<(), HistoryError> {
    let mut objects = BTreeSet::from([commit, tree.id()]);
    let mut seen = BTreeSet::new();
    for path in paths {
        for end in path.match_indices('/').map(|(end, _)| end).chain([path.len()]) {
            if seen.insert(&path[..end]) {
                objects.extend(tree.get_path(Path::new(&path[..end])).map(|entry| entry.id()));
            }
        }
    }
    let root = repository.commondir().join("objects");
    if objects.len() > MANY_FILES && sync_file_system(&root)? {
        return Ok(());
    }
    let mut folders = BTreeSet::from([root.clone()]);
    for object in objects {
        let name = object.to_string();
        let folder = root.join(&name[..2]);
        if sync_file(&folder.join(&name[2..]))? {
            folders.insert(folder);
        }
    }
    folders.iter().try_for_each(|folder| sync_folder(folder))
}

pub(crate) fn sync_ref(repository: &Repository, reference: &str) -> Result<(), HistoryError> {
    let path = repository.commondir().join(reference);
    sync_file(&path)?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Flushes a file; tells whether it is there.
fn sync_file(path: &Path) -> Result<bool, HistoryError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(HistoryError::io("open", path)(error)),
    };
    file.sync_all().map_err(HistoryError::io("make durable", path))?;
    Ok(true)
}
