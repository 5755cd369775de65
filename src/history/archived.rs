//! Runs that left the branch for a snapshot, as the notes about these say.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use git2::{Oid, Repository, Tree};

use crate::error::HistoryError;
use crate::layout::PLAIN;
use crate::objects::{self, TreeItem, TreeLookup};
use crate::packs::pack_order;
use crate::past::{Contents, Digests, Entered, Entries, Past, vouches};
use crate::sync::compare::contains;
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
    /// Files that left with notes of a newer build.
    pub(crate) of_newer: HashMap<String, Oid>,
    /// Of notes that do not fit the history, by path, what is wrong with them.
    pub(crate) wrong: BTreeMap<String, &'static str>,
    /// The paths of all notes that archive, by snapshot.
    paths: Vec<(String, String)>,
    /// The trees of the folders that left, by path, each with the place of its note.
    folders: HashMap<Vec<u8>, Vec<(usize, Tree<'r>)>>,
}

/// Whether a note fits the runs that it names.
pub(crate) enum NoteFit {
    Valid,
    /// What it names is not all here.
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
        Archived { notes, paths, folders, ..Archived::default() }
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

    /// Compares a note with its commit, and with the runs of the folders that it names. What cannot be read proves nothing.
    pub(crate) fn verdict(&self, repository: &Repository, note: &Archive, digests: &mut Digests<'_>) -> NoteFit {
        match (compare_commit(repository, note), self.compare_runs(repository, note, digests)) {
            (NoteFit::Invalid(why), _) | (_, NoteFit::Invalid(why)) => NoteFit::Invalid(why),
            (NoteFit::Valid, NoteFit::Valid) => NoteFit::Valid,
            _ => NoteFit::Unknown,
        }
    }

    /// Compares a note with the runs of the folders that it names.
    pub(crate) fn compare_runs(&self, repository: &Repository, note: &Archive, digests: &mut Digests<'_>) -> NoteFit {
        const OTHER: NoteFit = NoteFit::Invalid("does not fit the runs of the months that it names");
        let mut runs: Vec<(String, Oid)> = Vec::new();
        for (folder, tree) in &note.folders {
            let folder = path_of(folder);
            let trees = self.folders.get(folder.as_bytes()).into_iter().flatten();
            let Some((_, tree)) = trees.into_iter().find(|(_, other)| other.id().to_string() == *tree) else {
                return NoteFit::Unknown;
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
            true => NoteFit::Valid,
            false => OTHER,
        }
    }

    /// As [`Archived::verdict`], and compares the root with that of the list at the commit, which has to be below the tip of this
    /// past. So every clone that has all commits and runs gives the same answer, and any other knows none.
    pub(crate) fn judge(
        &self,
        repository: &Repository,
        note: &Archive,
        (past, entries): (&Past, &Entries),
        contents: &mut Contents<'_>,
    ) -> NoteFit {
        let Ok(commit) = Oid::from_str(&note.commit) else { return NoteFit::Unknown };
        let tip = past.commits.last().map(|(tip, _)| *tip);
        // A history that was rewritten since has other commits.
        if !tip.is_some_and(|tip| contains(repository, tip, commit).unwrap_or(false)) {
            return NoteFit::Unknown;
        }
        let verdict = self.verdict(repository, note, &mut contents.digests);
        if !matches!(verdict, NoteFit::Valid) {
            return verdict;
        }
        let place = |commit: Oid| past.commits.iter().position(|(other, _)| *other == commit);
        let root = match place(commit) {
            // The list at a commit of this line is the beginning of that at its tip.
            Some(last) => {
                let is_later =
                    |run: &Entered| Oid::from_str(&run.commit).ok().and_then(place).is_none_or(|at| at > last);
                let size = entries.runs.partition_point(|run| !is_later(run));
                entries.tree.root_of(size).map(|root| (size, root))
            }
            None => Past::read(repository, commit).ok().and_then(|past| {
                let list = contents.list(&past);
                let is_complete = std::mem::take(&mut contents.unreadable).is_empty() && past.is_complete;
                is_complete.then(|| (list.tree.len(), list.tree.root()))
            }),
        };
        match root {
            None => NoteFit::Unknown,
            Some((size, root)) if size as u64 == note.history_size && root == note.history_root => NoteFit::Valid,
            Some(_) => NoteFit::Invalid("names a root that the history did not have at its commit"),
        }
    }

    /// Judges a note by the history below a tip.
    pub(crate) fn judge_below(repository: &Repository, tip: Oid, note: &Archive) -> Result<NoteFit, HistoryError> {
        let past = Past::read(repository, tip)?;
        let mut contents = Contents { digests: Digests::new(repository)?, unreadable: Vec::new() };
        let entries = contents.list(&past);
        if !past.is_complete || !std::mem::take(&mut contents.unreadable).is_empty() {
            return Ok(NoteFit::Unknown);
        }
        Ok(Archived::by(repository, vec![note.clone()]).judge(repository, note, (&past, &entries), &mut contents))
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

/// Compares a note with its commit, which had all its runs.
fn compare_commit(repository: &Repository, note: &Archive) -> NoteFit {
    let Ok(commit) = Oid::from_str(&note.commit).and_then(|commit| repository.find_commit(commit)) else {
        return match repository.is_shallow() {
            true => NoteFit::Unknown,
            false => NoteFit::Invalid("names a commit that is not here"),
        };
    };
    let Ok(tree) = objects::find_tree(repository, commit.tree_id()) else { return NoteFit::Unknown };
    let mut had = TreeLookup::new(repository, tree);
    for (folder, tree) in &note.folders {
        match had.get(&path_of(folder)) {
            Ok(Some(item)) if item.id.to_string() == *tree => {}
            Ok(_) => return NoteFit::Invalid("names a commit that had other runs"),
            Err(_) => return NoteFit::Unknown,
        }
    }
    NoteFit::Valid
}

fn path_of(folder: &str) -> String {
    format!("{RECORD_ROOT}/{folder}")
}
