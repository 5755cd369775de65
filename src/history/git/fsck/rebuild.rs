//! A tree with some of its files moved, as git's own tools could not do it with names that are not UTF-8.

use std::collections::BTreeMap;

use git2::{ObjectType, Oid, Repository, Tree};

use crate::layout::PLAIN;

const FOLDER: i32 = 0o040_000;

/// What becomes of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// Whatever lies there goes, a folder with all below it.
    Remove,
    /// This content lies there as a plain file.
    Put(Oid),
}

/// Paths and what becomes of them. Removals come first, so that a folder can take the place of a file.
pub(super) type Edits = BTreeMap<Vec<u8>, Edit>;

/// The tree with the edits; absent where nothing is left in it.
pub(super) fn edited(
    repository: &Repository,
    base: Option<&Tree<'_>>,
    edits: &Edits,
) -> Result<Option<Oid>, git2::Error> {
    let mut builder = repository.treebuilder(base)?;
    let mut below: BTreeMap<&[u8], Edits> = BTreeMap::new();
    let mut put = Vec::new();
    for (path, edit) in edits {
        match path.iter().position(|&byte| byte == b'/') {
            Some(end) => {
                below.entry(&path[..end]).or_default().insert(path[end + 1..].to_vec(), *edit);
            }
            None => {
                if builder.get(path.clone())?.is_some() {
                    builder.remove(path.clone())?;
                }
                if let Edit::Put(content) = edit {
                    put.push((path, *content));
                }
            }
        }
    }
    for (name, edits) in below {
        let folder = builder.get(name.to_vec())?.filter(|entry| entry.kind() == Some(ObjectType::Tree));
        let folder = folder.map(|entry| repository.find_tree(entry.id())).transpose()?;
        match edited(repository, folder.as_ref(), &edits)? {
            Some(tree) => {
                builder.insert(name.to_vec(), tree, FOLDER)?;
            }
            None if folder.is_some() => builder.remove(name.to_vec())?,
            None => {}
        }
    }
    for (name, content) in put {
        builder.insert(name.clone(), content, PLAIN)?;
    }
    Ok(if builder.is_empty() { None } else { Some(builder.write()?) })
}
