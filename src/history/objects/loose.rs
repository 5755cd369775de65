//! Objects whose file in the git folder is cut short, as by a power cut.
//!
//! libgit2 never returns from reading such a file: it waits for more of a stream that has ended. So the stream is
//! followed to its end here before libgit2 is let near it. Objects in packs are read by other code, which notices.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use git2::{Commit, ErrorClass, ErrorCode, ObjectType, Oid, Reference, Repository, Tree};

/// Fails where the object lies in a file of its own that does not hold a whole stream.
pub(crate) fn check(repository: &Repository, id: Oid) -> Result<(), git2::Error> {
    let own = repository.commondir().join("objects");
    let file = open(&own, id).or_else(|| alternates(&own).iter().find_map(|objects| open(objects, id)));
    file.map_or(Ok(()), |file| check_stream(id, file))
}

/// What [`check`] asks the file system for every object, asked once for many. Objects that come later are not seen.
pub(crate) struct LooseObjects {
    /// The folders of objects, and which of their folders there are: in a repository that is packed there are few.
    folders: Vec<(PathBuf, [bool; 256])>,
}

impl LooseObjects {
    pub(crate) fn new(repository: &Repository) -> LooseObjects {
        let roots = object_folders(repository);
        let present = |root: &PathBuf| {
            let mut present = [false; 256];
            for entry in fs::read_dir(root).into_iter().flatten().flatten() {
                let number = entry.file_name().to_str().and_then(|name| u8::from_str_radix(name, 16).ok());
                if let Some(number) = number {
                    present[usize::from(number)] = true;
                }
            }
            present
        };
        LooseObjects { folders: roots.into_iter().map(|root| (root.clone(), present(&root))).collect() }
    }

    pub(crate) fn find_commit<'r>(&self, repository: &'r Repository, id: Oid) -> Result<Commit<'r>, git2::Error> {
        self.check(id)?;
        let commit = repository.find_commit(id)?;
        // Whoever asks for the commit mostly goes on to its tree.
        self.check(commit.tree_id())?;
        Ok(commit)
    }

    /// As [`check`].
    pub(crate) fn check(&self, id: Oid) -> Result<(), git2::Error> {
        let first = usize::from(id.as_bytes()[0]);
        let mut roots = self.folders.iter().filter(|(_, present)| present[first]);
        roots.find_map(|(root, _)| open(root, id)).map_or(Ok(()), |file| check_stream(id, file))
    }
}

fn open(objects: &Path, id: Oid) -> Option<File> {
    let name = id.to_string();
    File::open(objects.join(&name[..2]).join(&name[2..])).ok()
}

fn check_stream(id: Oid, file: File) -> Result<(), git2::Error> {
    let broken =
        |error: io::Error| git2::Error::from_str(&format!("the file of `{id}` in the git folder is broken ({error})"));
    io::copy(&mut ZlibDecoder::new(file), &mut io::sink()).map(drop).map_err(broken)
}

/// The repository's folders of objects: its own, and those that it borrows from.
pub(crate) fn object_folders(repository: &Repository) -> Vec<PathBuf> {
    let own = repository.commondir().join("objects");
    let mut folders = alternates(&own);
    folders.insert(0, own);
    folders
}

/// The folders of objects that this one borrows from; those that they borrow from in turn are not followed.
fn alternates(objects: &Path) -> Vec<PathBuf> {
    let Ok(list) = fs::read_to_string(objects.join("info").join("alternates")) else { return Vec::new() };
    list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| objects.join(line)).collect()
}

pub(crate) fn find_tree(repository: &Repository, id: Oid) -> Result<Tree<'_>, git2::Error> {
    check(repository, id)?;
    repository.find_tree(id)
}

/// Fails where a folder below the tree lies in such a file.
pub(crate) fn check_below(repository: &Repository, tree: &Tree<'_>) -> Result<(), git2::Error> {
    let folders = tree.iter().filter(|entry| entry.kind() == Some(ObjectType::Tree));
    for entry in folders {
        match find_tree(repository, entry.id()) {
            Ok(folder) => check_below(repository, &folder)?,
            // In a clone without trees there is none to wait for.
            Err(error) if error.code() == ErrorCode::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The commit that a branch or HEAD is at.
pub(crate) fn commit_at<'r>(repository: &'r Repository, reference: &Reference<'_>) -> Result<Commit<'r>, git2::Error> {
    let resolved = reference.resolve()?;
    let nothing = || git2::Error::new(ErrorCode::NotFound, ErrorClass::Reference, "the ref names no commit");
    let id = resolved.target().ok_or_else(nothing)?;
    check(repository, id)?;
    let commit = repository.find_object(id, None)?.peel_to_commit()?;
    LooseObjects::new(repository).find_commit(repository, commit.id())
}
