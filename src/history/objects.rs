//! Objects of git: reading damaged ones, those that a partial clone lacks, writing commits, and flushing them.
//!
//! After a power cut, the file of an object may be cut short. libgit2 never returns from reading such a file, so the stream is
//! read to its end here first. libgit2 itself notices a pack that is cut short.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use git2::{
    Commit, ErrorClass, ErrorCode, FileMode, ObjectType, Odb, OdbLookupFlags, OdbObject, Oid, Reference, Repository,
    Signature, Tree, TreeEntry,
};
use unicode_normalization::UnicodeNormalization as _;

use crate::error::{FETCH_ALL, HistoryError, UNSHALLOW, failed};
use crate::layout::PLAIN;
use crate::state::{MANY_FILES, sync_file_system, sync_folder};

/// Fails where the object is loose and its file does not hold a whole stream.
pub(crate) fn check(repository: &Repository, id: Oid) -> Result<(), git2::Error> {
    LooseObjects::new(repository).check(id)
}

/// The folders of objects of a repository: its own first, then those that it borrows from, but not from where they borrow.
pub(crate) struct LooseObjects(Vec<PathBuf>);

impl LooseObjects {
    pub(crate) fn new(repository: &Repository) -> LooseObjects {
        let own = repository.commondir().join("objects");
        let list = fs::read_to_string(own.join("info").join("alternates")).unwrap_or_default();
        let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut folders: Vec<PathBuf> = lines.map(|line| own.join(line)).collect();
        folders.insert(0, own);
        LooseObjects(folders)
    }

    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.0
    }

    pub(crate) fn find_commit<'r>(&self, repository: &'r Repository, id: Oid) -> Result<Commit<'r>, git2::Error> {
        self.check(id)?;
        let commit = repository.find_commit(id)?;
        // Most callers go on to the tree.
        self.check(commit.tree_id())?;
        Ok(commit)
    }

    pub(crate) fn check(&self, id: Oid) -> Result<(), git2::Error> {
        let name = id.to_string();
        let file = self.0.iter().find_map(|folder| File::open(folder.join(&name[..2]).join(&name[2..])).ok());
        let read = file.map_or(Ok(0), |file| io::copy(&mut ZlibDecoder::new(file), &mut io::sink()));
        let broken =
            |error| git2::Error::from_str(&format!("the file of `{id}` in the git folder is broken ({error})"));
        read.map(drop).map_err(broken)
    }

    /// An object, with a content that has its id. Its header alone says nothing: git2 panics at one of an unknown kind, and a
    /// damaged one may claim any size.
    pub(crate) fn read<'o>(&self, odb: &'o Odb<'_>, id: Oid) -> Result<OdbObject<'o>, git2::Error> {
        self.check(id)?;
        odb.read(id)
    }
}

pub(crate) fn find_tree(repository: &Repository, id: Oid) -> Result<Tree<'_>, git2::Error> {
    check(repository, id)?;
    repository.find_tree(id)
}

/// [`check`] for all folders below the tree.
pub(crate) fn check_below(repository: &Repository, tree: &Tree<'_>) -> Result<(), git2::Error> {
    let folders = tree.iter().filter(|entry| entry.kind() == Some(ObjectType::Tree));
    for entry in folders {
        match find_tree(repository, entry.id()) {
            Ok(folder) => check_below(repository, &folder)?,
            // As in a clone without trees.
            Err(error) if error.code() == ErrorCode::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(crate) fn commit_at<'r>(repository: &'r Repository, reference: &Reference<'_>) -> Result<Commit<'r>, git2::Error> {
    let resolved = reference.resolve()?;
    let nothing = || git2::Error::new(ErrorCode::NotFound, ErrorClass::Reference, "the ref names no commit");
    let id = resolved.target().ok_or_else(nothing)?;
    check(repository, id)?;
    let commit = repository.find_object(id, None)?.peel_to_commit()?;
    let commit = LooseObjects::new(repository).find_commit(repository, commit.id())?;
    commit.tree().map(|_| commit)
}

/// The objects that a partial clone may lack, because a remote has promised to have them.
pub(crate) struct Promises<'r> {
    repository: &'r Repository,
    odb: Odb<'r>,
    is_partial: bool,
    unsent: OnceCell<Option<HashSet<Oid>>>,
}

impl<'r> Promises<'r> {
    pub(crate) fn new(repository: &'r Repository) -> Result<Promises<'r>, HistoryError> {
        let odb = repository.odb().map_err(failed("open the object database"))?;
        Ok(Promises { repository, odb, is_partial: is_partial(repository).unwrap_or(false), unsent: OnceCell::new() })
    }

    /// Whether the repository lacks an object, and may.
    pub(crate) fn cover(&self, id: Oid) -> bool {
        let is_unsent =
            || self.unsent.get_or_init(|| unsent(self.repository)).as_ref().is_some_and(|ids| ids.contains(&id));
        self.is_partial && !self.odb.exists_ext(id, OdbLookupFlags::NO_REFRESH) && !is_unsent()
    }
}

/// What commits of local branches named first that no branch of a remote has; absent where no such branch is known.
pub(crate) fn unsent(repository: &Repository) -> Option<HashSet<Oid>> {
    let remotes = ["refs/remotes/*", "refs/sprag/*"].map(|glob| repository.references_glob(glob));
    let tip = |reference: Reference<'_>| Some(reference.peel_to_commit().ok()?.id());
    let remotes: Vec<Oid> = remotes.into_iter().flatten().flatten().flatten().filter_map(tip).collect();
    let mut walk = repository.revwalk().ok().filter(|_| !remotes.is_empty())?;
    walk.push_glob("refs/heads/*").ok()?;
    remotes.into_iter().try_for_each(|remote| walk.hide(remote)).ok()?;
    let mut objects = HashSet::new();
    for commit in walk.map_while(|id| repository.find_commit(id.ok()?).ok()) {
        let before = commit.parent(0).ok().map(|parent| parent.tree_id());
        collect_new(repository, commit.tree_id(), before, &mut objects);
    }
    Some(objects)
}

fn collect_new(repository: &Repository, id: Oid, before: Option<Oid>, objects: &mut HashSet<Oid>) {
    if before == Some(id) || !objects.insert(id) {
        return;
    }
    let Ok(before) = before.map(|before| find_tree(repository, before)).transpose() else { return };
    for entry in find_tree(repository, id).iter().flat_map(|tree| tree.iter()) {
        let was = before.as_ref().and_then(|before| before.get_name_bytes(entry.name_bytes())).map(|was| was.id());
        match entry.kind() {
            Some(ObjectType::Tree) => collect_new(repository, entry.id(), was, objects),
            _ if was == Some(entry.id()) => {}
            _ => drop(objects.insert(entry.id())),
        }
    }
}

pub(crate) fn is_partial(repository: &Repository) -> Result<bool, git2::Error> {
    let config = repository.config()?.snapshot()?;
    let mut entries = config.entries(None)?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let Ok(name) = entry.name() else { continue };
        let is_remote = name.starts_with("remote.");
        let names_one = name == "extensions.partialclone" || (is_remote && name.ends_with(".partialclonefilter"));
        if names_one || (is_remote && name.ends_with(".promisor") && config.get_bool(name).unwrap_or(false)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Something is not here: a shallow clone may lack commits with all that only they have, a partial one anything, and else it was
/// lost.
pub(crate) fn absent(repository: &Repository, what: String, is_of_commits: bool) -> HistoryError {
    match is_of_commits && repository.is_shallow() {
        true => HistoryError::Incomplete { what, hint: UNSHALLOW },
        false if is_partial(repository).unwrap_or(false) => HistoryError::Incomplete { what, hint: FETCH_ALL },
        false => HistoryError::Damaged(what),
    }
}

/// Why files of a commit cannot be read.
pub(crate) fn unread_files<'a>(
    repository: &'a Repository,
    commit: &'a str,
) -> impl Fn(git2::Error) -> HistoryError + Copy + 'a {
    move |error| match error.code() {
        ErrorCode::NotFound => {
            HistoryError::NotHere { commit: commit.to_owned(), promised: is_partial(repository).unwrap_or(false) }
        }
        _ => failed("read the files of a commit")(error),
    }
}

/// Writes a commit on top of `parent`; `change` makes its tree from that of the parent. Gives the commit and the tree.
pub(crate) fn write_commit<'r>(
    repository: &'r Repository,
    reference: Option<&str>,
    parent: Option<&Commit<'_>>,
    signature: &Signature<'_>,
    message: &str,
    change: impl FnOnce(&Tree<'_>) -> Result<Oid, git2::Error>,
) -> Result<(Oid, Tree<'r>), git2::Error> {
    let base = match parent {
        Some(parent) => parent.tree()?,
        None => repository.find_tree(repository.treebuilder(None)?.write()?)?,
    };
    let tree = repository.find_tree(change(&base)?)?;
    let parents: Vec<&Commit<'_>> = parent.into_iter().collect();
    let commit = repository.commit(reference, signature, signature, message, &tree, &parents)?;
    Ok((commit, tree))
}

pub(crate) enum Swapped {
    /// The warning says that the move may not outlast a power cut.
    Done { warning: Option<String> },
    /// Another process moved the branch or holds its lock.
    Lost { reason: String, is_locked: bool },
}

/// Moves a branch to a commit if it is still at `expected`, and flushes it.
pub(crate) fn compare_and_swap(
    repository: &Repository,
    reference: &str,
    expected: Option<Oid>,
    commit: Oid,
    message: &str,
) -> Result<Swapped, HistoryError> {
    let moved = match expected {
        Some(expected) => repository.reference_matching(reference, commit, true, expected, message),
        None => repository.reference(reference, commit, false, message),
    };
    match moved {
        Ok(_) => {
            let synced = sync_ref(repository, reference);
            let warning = |error| format!("{error}; a power cut may lose the new commit");
            Ok(Swapped::Done { warning: synced.err().map(warning) })
        }
        Err(error) if matches!(error.code(), ErrorCode::Modified | ErrorCode::Exists | ErrorCode::Locked) => {
            Ok(Swapped::Lost { reason: error.message().to_owned(), is_locked: error.code() == ErrorCode::Locked })
        }
        Err(error) => Err(failed("move the branch of the history")(error)),
    }
}

/// Flushes a commit, its tree, and the trees and blobs on the way to `paths`.
///
/// Git leaves loose objects to the system, which writes them in its own time. After a crash, a branch without the objects that it
/// names would be broken, so the objects are flushed before the ref moves, and the ref after. A failed flush is final: the system
/// may have dropped what it could not write, and would report success the second time. `packs` flushes objects in packs.
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

fn sync_file(path: &Path) -> Result<bool, HistoryError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(HistoryError::io("open", path)(error)),
    };
    file.sync_all().map_err(HistoryError::io("make durable", path))?;
    Ok(true)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeItem {
    pub(crate) id: Oid,
    pub(crate) mode: i32,
}

impl TreeItem {
    pub(crate) fn new(entry: &TreeEntry<'_>) -> TreeItem {
        TreeItem { id: entry.id(), mode: entry.filemode_raw() }
    }

    pub(crate) fn is_folder(self) -> bool {
        self.mode == i32::from(FileMode::Tree)
    }
}

/// Looks up paths in a tree and reads each folder once; libgit2 reads a large folder again for every path.
pub(crate) struct TreeLookup<'r> {
    repository: &'r Repository,
    /// By path; absent where there is no such folder.
    folders: HashMap<String, Option<Tree<'r>>>,
    /// The names in those folders, each by its folded form.
    names: HashMap<String, HashMap<String, String>>,
}

impl<'r> TreeLookup<'r> {
    pub(crate) fn new(repository: &'r Repository, root: Tree<'r>) -> TreeLookup<'r> {
        TreeLookup { repository, folders: HashMap::from([(String::new(), Some(root))]), names: HashMap::new() }
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<Option<TreeItem>, git2::Error> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let Some(folder) = self.folder(parent)? else { return Ok(None) };
        Ok(folder.get_name(name).map(|entry| TreeItem { id: entry.id(), mode: entry.filemode() }))
    }

    /// Refuses a path that the tree lacks and whose folder has a name that differs by case or Unicode form alone.
    pub(crate) fn check_collision(&mut self, path: &str) -> Result<(), HistoryError> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if !self.names.contains_key(parent) {
            let folder = self.folder(parent).map_err(failed("read the tree of the history"))?;
            let entries = folder.into_iter().flatten();
            let names = entries.map(|entry| String::from_utf8_lossy(entry.name_bytes()).into_owned());
            let names = names.map(|name| (case_folded(&name), name)).collect();
            self.names.insert(parent.to_owned(), names);
        }
        match self.names.get(parent).and_then(|names| names.get(&case_folded(name))) {
            None => Ok(()),
            Some(other) if parent.is_empty() => {
                Err(HistoryError::Alike { path: path.to_owned(), other: other.clone() })
            }
            Some(other) => Err(HistoryError::Alike { path: path.to_owned(), other: format!("{parent}/{other}") }),
        }
    }

    /// Whether the folder of a path has a name that differs by case or Unicode form alone.
    pub(crate) fn has_alike(&mut self, path: &str) -> bool {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_alike = |other: &str| other != name && case_folded(other) == case_folded(name);
        let folder = self.folder(parent).ok().flatten();
        folder.is_some_and(|folder| folder.iter().any(|entry| entry.name().is_ok_and(is_alike)))
    }

    fn folder(&mut self, path: &str) -> Result<Option<&Tree<'r>>, git2::Error> {
        if !self.folders.contains_key(path) {
            let tree = match self.get(path)?.filter(|item| item.is_folder()) {
                None => None,
                Some(item) => Some(self.repository.find_tree(item.id)?),
            };
            self.folders.insert(path.to_owned(), tree);
        }
        Ok(self.folders.get(path).and_then(Option::as_ref))
    }
}

/// The first path of which a part collides with that of another one, and that one, both up to that part.
pub(crate) fn find_collision<'a>(paths: impl Iterator<Item = &'a str>) -> Option<(&'a str, &'a str)> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for path in paths {
        for end in path.match_indices('/').map(|(end, _)| end).chain([path.len()]) {
            let part = &path[..end];
            let other = *seen.entry(case_folded(part)).or_insert(part);
            if other != part {
                return Some((part, other));
            }
        }
    }
    None
}

/// A name as a file system sees it that ignores case and Unicode form.
pub(crate) fn case_folded(name: &str) -> String {
    if name.is_ascii() { name.to_ascii_lowercase() } else { name.nfc().flat_map(char::to_lowercase).nfc().collect() }
}

// Changes of a tree.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// A file, or a folder with everything below it.
    Remove,
    Put(Oid),
}

/// By path. Removals come first, so that a folder can replace a file.
pub(crate) type Edits = BTreeMap<Vec<u8>, Edit>;

/// The tree with the edits; absent where it is empty.
pub(crate) fn edited(
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
                builder.insert(name.to_vec(), tree, i32::from(FileMode::Tree))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    #[test]
    fn a_lookup_agrees_with_the_tree() {
        let fixture = Fixture::new();
        fixture.commit("a/b/c", "x\n", "Add it");
        let store = fixture.store();
        let tree = store.repository.head().and_then(|head| head.peel_to_tree()).expect("there is a commit");
        let mut lookup = TreeLookup::new(&store.repository, tree.clone());
        for path in ["README", "a", "a/b", "a/b/c", "src/lib.rs"] {
            let entry = tree.get_path(path.as_ref()).expect("it is there");
            let item = lookup.get(path).expect("it can be read").expect("it is there");
            assert_eq!((item.id, item.mode), (entry.id(), entry.filemode()), "{path}");
            assert_eq!(item.is_folder(), ["a", "a/b"].contains(&path));
        }
        for path in ["b", "a/c", "a/b/c/d", "a/b/c/d/e", "a/x/c", "README/x"] {
            assert_eq!(lookup.get(path).expect("it can be read"), None, "{path}");
            for _ in 0..2 {
                lookup.check_collision(path).expect("nothing is like it");
            }
        }
        for (path, other) in [("A", "a"), ("a/B", "a/b"), ("a/b/C", "a/b/c"), ("readme", "README")] {
            let error = lookup.check_collision(path).expect_err("it is alike").to_string();
            assert!(error.contains(&format!("next to `{other}`")), "{error}");
        }
    }

    #[test]
    fn the_part_that_collides_is_named() {
        for (paths, expected) in [
            (&["a/b/c", "a/b/d", "a/x"][..], None),
            (&["a/B/c", "a/b/d"], Some(("a/b", "a/B"))),
            (&["a/b/c", "a/b/C"], Some(("a/b/C", "a/b/c"))),
        ] {
            assert_eq!(find_collision(paths.iter().copied()), expected);
        }
    }

    #[test]
    fn case_and_unicode_form_are_folded() {
        for (one, other, expected) in [
            ("cpu", "CPU", true),
            ("cpu", "cpu2", false),
            ("caf\u{e9}", "cafe\u{301}", true),
            ("caf\u{e9}", "CAFE\u{301}", true),
            // The Kelvin sign.
            ("kernels", "\u{212a}ernels", true),
        ] {
            assert_eq!(case_folded(one) == case_folded(other), expected, "{one} {other}");
        }
    }
}
