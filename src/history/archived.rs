//! Runs that left the branch for a snapshot, as the notes about these say.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use git2::{Oid, Repository, Tree};

use crate::layout::PLAIN;
use crate::objects::{self, TreeItem};
use crate::packs::pack_order;
use crate::past::{Digests, vouches};
use sprag_base::digest::Digest;
use sprag_model::archive::Archive;
use sprag_model::merkle::MerkleTree;
use sprag_model::run::RECORD_ROOT;

#[derive(Default)]
pub(crate) struct Archived<'r> {
    /// The newest of each snapshot, also of those that were restored.
    pub(crate) notes: Vec<Archive>,
    /// Whether a partial clone lacks some notes.
    pub(crate) lacks_notes: bool,
    /// The paths of all notes that archive, by snapshot.
    paths: Vec<(String, String)>,
    /// The trees of the folders that left, by path, each with the place of its note.
    folders: HashMap<Vec<u8>, Vec<(usize, Tree<'r>)>>,
}

/// Whether a note fits the runs that it names.
pub(crate) enum NoteFit {
    Valid,
    /// They are not all here.
    Unknown,
    /// The fault reads after the path of the note.
    Invalid(&'static str),
}

impl<'r> Archived<'r> {
    /// By all of these notes. A tree that is not here covers nothing, so that its runs stay where they are.
    pub(crate) fn by(repository: &'r Repository, notes: Vec<Archive>) -> Archived<'r> {
        let archiving = notes.iter().filter(|note| !note.restored);
        let paths = archiving.map(|note| (note.file.clone(), note.to_file().0)).collect();
        let notes = Archive::newest(notes);
        let mut folders: HashMap<Vec<u8>, Vec<(usize, Tree<'r>)>> = HashMap::new();
        for (place, note) in notes.iter().enumerate() {
            for (folder, tree) in &note.folders {
                if let Ok(tree) = Oid::from_str(tree).and_then(|tree| objects::find_tree(repository, tree)) {
                    folders.entry(path_of(folder).into_bytes()).or_default().push((place, tree));
                }
            }
        }
        // The newest decides.
        for trees in folders.values_mut() {
            trees.sort_by_key(|(place, _)| Reverse((notes[*place].time, notes[*place].restored)));
        }
        Archived { notes, lacks_notes: false, paths, folders }
    }

    /// The notes about the file at `path` with this content, the newest first.
    fn about(&self, path: &[u8], blob: Oid) -> impl Iterator<Item = &Archive> {
        let split = path.iter().rposition(|byte| *byte == b'/').map(|end| (&path[..end], &path[end + 1..]));
        let split = split.and_then(|(folder, name)| Some((folder, std::str::from_utf8(name).ok()?)));
        let trees = split.and_then(|(folder, name)| Some((self.folders.get(folder)?, name)));
        trees.into_iter().flat_map(move |(trees, name)| {
            let has = move |tree: &Tree<'_>| tree.get_name(name).is_some_and(|entry| entry.id() == blob);
            trees.iter().filter(move |(_, tree)| has(tree)).map(move |(place, _)| &self.notes[*place])
        })
    }

    /// Whether a snapshot has the file at `path` with this content, and it did not come back.
    pub(crate) fn has(&self, path: &[u8], blob: Oid) -> bool {
        self.about(path, blob).next().is_some_and(|note| !note.restored)
    }

    /// Takes the files out of a list that left by a note among the `new` files. Only notes that `is_valid` accepts take anything.
    pub(crate) fn take(
        &self,
        files: &mut BTreeMap<Vec<u8>, TreeItem>,
        new: &BTreeMap<Vec<u8>, TreeItem>,
        is_valid: &mut dyn FnMut(&Archived<'_>, &Archive) -> bool,
    ) -> BTreeMap<Vec<u8>, TreeItem> {
        let is_new = |(_, path): &&(String, String)| new.contains_key(path.as_bytes());
        let new: HashSet<&str> = self.paths.iter().filter(is_new).map(|(file, _)| file.as_str()).collect();
        let mut taken = BTreeMap::new();
        if new.is_empty() {
            return taken;
        }
        for (path, item) in &*files {
            let (mut leaves, mut is_news) = (None, false);
            for note in self.about(path, item.id) {
                if note.restored || is_valid(self, note) {
                    leaves.get_or_insert(!note.restored);
                    is_news |= new.contains(note.file.as_str());
                }
            }
            if leaves == Some(true) && is_news {
                taken.insert(path.clone(), *item);
            }
        }
        files.retain(|path, _| !taken.contains_key(path));
        taken
    }

    /// Compares a note with the runs of the folders that it names, and with its commit.
    pub(crate) fn verdict(&self, repository: &Repository, note: &Archive, digests: &mut Digests<'_>) -> NoteFit {
        const OTHER: NoteFit = NoteFit::Invalid("does not fit the runs of the months that it names");
        let is_shallow = repository.is_shallow();
        let may_lack = is_shallow || objects::is_partial(repository).unwrap_or(false);
        let mut runs: Vec<(String, Oid)> = Vec::new();
        for (folder, tree) in &note.folders {
            let folder = path_of(folder);
            let trees = self.folders.get(folder.as_bytes()).into_iter().flatten();
            let Some((_, tree)) = trees.into_iter().find(|(_, other)| other.id().to_string() == *tree) else {
                return if may_lack { NoteFit::Unknown } else { NoteFit::Invalid("names months that are not here") };
            };
            for entry in tree {
                match entry.name() {
                    Ok(name) if entry.filemode() == PLAIN => runs.push((format!("{folder}/{name}"), entry.id())),
                    _ => return OTHER,
                }
            }
        }
        if runs.len() as u64 != note.runs {
            return OTHER;
        }
        let commit = Oid::from_str(&note.commit).and_then(|commit| repository.find_commit(commit));
        let has_all = |top: Tree<'_>| {
            let at = |folder: &str| top.get_path(path_of(folder).as_ref()).map(|entry| entry.id().to_string());
            let mut same = note.folders.iter().map(|(folder, tree)| at(folder).map(|at| at == *tree));
            same.try_fold(true, |all, same| same.map(|same| all && same))
        };
        let has_commit = match commit.map(|commit| objects::find_tree(repository, commit.tree_id()).and_then(has_all)) {
            Ok(Ok(true)) => true,
            Ok(Err(_)) if may_lack => false,
            Err(_) if is_shallow => false,
            _ => return NoteFit::Invalid("names a commit that had other runs, or is not here"),
        };
        let mut of_runs: Vec<(&str, Digest)> = Vec::with_capacity(runs.len());
        for place in pack_order(repository, &runs, |(_, blob)| Some(*blob)) {
            let (path, blob) = &runs[place];
            match digests.get(*blob) {
                Ok(Some(digest)) if vouches(path, Some(&digest)) => of_runs.push((path, digest)),
                Ok(_) => return OTHER,
                Err(_) => return NoteFit::Unknown,
            }
        }
        of_runs.sort();
        match MerkleTree::from_leaves(of_runs.into_iter().map(|(_, digest)| digest)).root() == note.root {
            true if has_commit => NoteFit::Valid,
            true => NoteFit::Unknown,
            false => OTHER,
        }
    }

    /// Forgets a note, which then covers nothing.
    pub(crate) fn forget(&mut self, path: &str) {
        let is_it = |note: &Archive| note.to_file().0 == path;
        for trees in self.folders.values_mut() {
            trees.retain(|(place, _)| !is_it(&self.notes[*place]));
        }
        // The places of the others stay.
        for note in self.notes.iter_mut().filter(|note| is_it(note)) {
            note.folders.clear();
            note.runs = 0;
        }
    }

    /// The number of runs that left and are not in `present`.
    pub(crate) fn count(&self, present: &HashSet<String>) -> u64 {
        let is_here = |note: &Archive| {
            let trees = |folder: &str| self.folders.get(path_of(folder).as_bytes()).into_iter().flatten();
            note.folders.iter().all(|(folder, id)| trees(folder).any(|(_, tree)| tree.id().to_string() == *id))
        };
        // Of the others no paths are known.
        let unknown = self.notes.iter().filter(|note| !note.restored && !is_here(note)).map(|note| note.runs);
        let mut paths = BTreeSet::new();
        for (folder, trees) in &self.folders {
            let folder = String::from_utf8_lossy(folder);
            for (place, tree) in trees.iter().filter(|(place, _)| !self.notes[*place].restored) {
                if !is_here(&self.notes[*place]) {
                    continue;
                }
                for entry in tree {
                    let path = format!("{folder}/{}", String::from_utf8_lossy(entry.name_bytes()));
                    if !present.contains(&path) {
                        paths.insert(path);
                    }
                }
            }
        }
        paths.len() as u64 + unknown.sum::<u64>()
    }
}

fn path_of(folder: &str) -> String {
    format!("{RECORD_ROOT}/{folder}")
}
