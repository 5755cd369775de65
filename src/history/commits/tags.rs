//! What a release is held against: its tag, whether one commit comes after another, and the files of a commit.

use git2::{ErrorCode, ObjectType, Oid, TreeWalkMode, TreeWalkResult};

use crate::commits::measured::resolve;
use crate::error::HistoryError;
use crate::objects::loose::LooseObjects;
use crate::store::{Store, failed};

/// The commit that a tag of that name points at; absent where there is no such tag.
///
/// # Errors
/// When the tag is of no commit, or cannot be read.
pub fn tagged(store: &Store, name: &str) -> Result<Option<String>, HistoryError> {
    match store.repository.find_reference(&format!("refs/tags/{name}")) {
        Ok(tag) => {
            let commit = tag.peel_to_commit().map_err(failed("read a tag"))?;
            Ok(Some(commit.id().to_string()))
        }
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => Ok(None),
        Err(error) => Err(failed("look for a tag")(error)),
    }
}

/// Whether `commit` is `ancestor` or comes after it. Where either is not here, it is not.
///
/// # Errors
/// When the commits cannot be walked.
pub fn comes_after(store: &Store, commit: &str, ancestor: &str) -> Result<bool, HistoryError> {
    let (Ok(commit), Ok(ancestor)) = (Oid::from_str(commit), Oid::from_str(ancestor)) else { return Ok(false) };
    let is_here = |id: Oid| store.repository.find_commit(id).is_ok();
    if !is_here(commit) || !is_here(ancestor) {
        return Ok(false);
    }
    Ok(commit == ancestor
        || store.repository.graph_descendant_of(commit, ancestor).map_err(failed("walk the commits"))?)
}

/// The files of a commit below a folder, or the one file at that path, by path: path and content. Links and submodules
/// are left out; where there is nothing, there are none.
///
/// # Errors
/// When the commit is not here, or a file of it cannot be read.
pub fn files_of(store: &Store, commit: &str, below: &str) -> Result<Vec<(String, Vec<u8>)>, HistoryError> {
    let repository = &store.repository;
    let tree = resolve(repository, commit)?.tree().map_err(failed("read the tree of a commit"))?;
    let entry = match tree.get_path(std::path::Path::new(below)) {
        Ok(entry) => entry,
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read the tree of a commit")(error)),
    };
    let mut blobs = Vec::new();
    match entry.kind() {
        Some(ObjectType::Blob) => blobs.push((below.to_owned(), entry.id())),
        Some(ObjectType::Tree) => {
            let folder = repository.find_tree(entry.id()).map_err(failed("read the tree of a commit"))?;
            let mut take = |parent: &str, entry: &git2::TreeEntry<'_>| {
                let is_file = entry.kind() == Some(ObjectType::Blob) && entry.filemode() != 0o120_000;
                if let (true, Ok(name)) = (is_file, std::str::from_utf8(entry.name_bytes())) {
                    blobs.push((format!("{below}/{parent}{name}"), entry.id()));
                }
                TreeWalkResult::Ok
            };
            folder.walk(TreeWalkMode::PreOrder, &mut take).map_err(failed("read the tree of a commit"))?;
        }
        _ => {}
    }
    blobs.sort();
    let loose = LooseObjects::new(repository);
    let read = |(path, id): (String, Oid)| {
        let content =
            loose.check(id).and_then(|()| repository.find_blob(id)).map_err(failed("read a file of a commit"));
        Ok((path, content?.content().to_vec()))
    };
    blobs.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use crate::commits::author::Author;
    use crate::commits::create::{NewCommit, commit_files, create, tag};
    use crate::testing::{Fixture, minute};

    use super::*;

    #[test]
    fn tags_ancestors_and_files_are_found() {
        let fixture = Fixture::nothing();
        let author = Author { name: "Ada".into(), email: "ada@example.com".into() };
        let store = create(&fixture.root, &author).unwrap();
        let commit = |path: &str, number| {
            let files = vec![(path.to_owned(), format!("{number}\n"))];
            let message = "Commit\n".to_owned();
            commit_files(&store, &NewCommit { files, author: author.clone(), time: minute(number), message }).unwrap()
        };
        let first = commit("a/b/c", 1);
        let second = commit("a/d", 2);
        tag(&store, "v1", &first).unwrap();
        assert_eq!(tagged(&store, "v1").unwrap(), Some(first.clone()));
        assert_eq!(tagged(&store, "v2").unwrap(), None);
        assert_eq!(tagged(&store, "..").unwrap(), None);
        let after = |one: &str, other: &str| comes_after(&store, one, other).unwrap();
        assert!(after(&second, &first) && after(&first, &first) && !after(&first, &second));
        assert!(!after(&second, &"0".repeat(40)) && !after("x", &first));
        let files = |commit: &str, below: &str| files_of(&store, commit, below).unwrap();
        assert_eq!(files(&second, "a"), [("a/b/c".to_owned(), b"1\n".to_vec()), ("a/d".to_owned(), b"2\n".to_vec())]);
        assert_eq!(files(&first, "a/b/c").len(), 1);
        assert!(files(&first, "a/d").is_empty() && files(&first, "x/y").is_empty());
    }
}
