//! Runs that left the branch for a snapshot, as the notes about these say.

use std::collections::{BTreeMap, HashMap};

use git2::{Oid, Repository, Tree};

use crate::error::{HistoryError, failed};
use crate::listing::archives_in;
use crate::objects::{self, TreeItem};
use sprag_base::digest::Digest;
use sprag_model::archive::{ARCHIVE_ROOT, Archive};
use sprag_model::fsck::{Finding, FindingKind};
use sprag_model::merkle::MerkleTree;
use sprag_model::run::RECORD_ROOT;

#[derive(Default)]
pub(crate) struct Archived<'r> {
    pub(crate) archives: Vec<Archive>,
    /// The trees of the folders that left, by path.
    folders: HashMap<Vec<u8>, Vec<Tree<'r>>>,
}

impl<'r> Archived<'r> {
    pub(crate) fn at(repository: &'r Repository, tree: &Tree<'_>) -> Result<Archived<'r>, HistoryError> {
        Ok(Archived::by(repository, archives_in(repository, tree)?.0))
    }

    /// By the notes at `tip` that are among `new` files.
    pub(crate) fn by_new(
        repository: &'r Repository,
        tip: Option<Oid>,
        new: &BTreeMap<Vec<u8>, TreeItem>,
    ) -> Result<Archived<'r>, HistoryError> {
        let is_note = |path: &Vec<u8>| path.starts_with(ARCHIVE_ROOT.as_bytes());
        let Some(tip) = tip.filter(|_| new.keys().any(is_note)) else { return Ok(Archived::default()) };
        let tree = repository.find_commit(tip).and_then(|commit| commit.tree());
        let (mut archives, _) = archives_in(repository, &tree.map_err(failed("read the tree of the history"))?)?;
        archives.retain(|archive| new.contains_key(archive.to_file().0.as_bytes()));
        Ok(Archived::by(repository, archives))
    }

    /// A tree that is not here covers nothing, so that its runs stay where they are.
    fn by(repository: &'r Repository, mut archives: Vec<Archive>) -> Archived<'r> {
        archives.retain(|archive| !archive.restored);
        let mut folders: HashMap<Vec<u8>, Vec<Tree<'r>>> = HashMap::new();
        for (folder, tree) in archives.iter().flat_map(|archive| &archive.folders) {
            if let Ok(tree) = Oid::from_str(tree).and_then(|tree| objects::find_tree(repository, tree)) {
                folders.entry(format!("{RECORD_ROOT}/{folder}").into_bytes()).or_default().push(tree);
            }
        }
        Archived { archives, folders }
    }

    /// Whether a snapshot has the file at `path` with this content.
    pub(crate) fn has(&self, path: &[u8], blob: Oid) -> bool {
        let Some(end) = path.iter().rposition(|byte| *byte == b'/') else { return false };
        let Ok(name) = std::str::from_utf8(&path[end + 1..]) else { return false };
        let trees = self.folders.get(&path[..end]).into_iter().flatten();
        trees.into_iter().any(|tree| tree.get_name(name).is_some_and(|entry| entry.id() == blob))
    }

    /// Takes the archived files out of a list.
    pub(crate) fn take(&self, files: &mut BTreeMap<Vec<u8>, TreeItem>) -> BTreeMap<Vec<u8>, TreeItem> {
        if self.folders.is_empty() {
            return BTreeMap::new();
        }
        let (taken, rest) = std::mem::take(files).into_iter().partition(|(path, item)| self.has(path, item.id));
        *files = rest;
        taken
    }

    /// Compares the notes with the digests of all runs that ever entered, by path. `had_root` says whether the history had a
    /// root.
    pub(crate) fn check(
        &self,
        digests: &HashMap<&str, Digest>,
        mut had_root: impl FnMut(Digest, u64) -> bool,
    ) -> Vec<Finding> {
        let mut fault = |archive: &Archive| {
            if !had_root(archive.history_root, archive.history_size) {
                return Some("names a root that this history never had");
            }
            let mut runs: Vec<(String, Digest)> = Vec::new();
            for (folder, id) in &archive.folders {
                let folder = format!("{RECORD_ROOT}/{folder}");
                let trees = self.folders.get(folder.as_bytes()).into_iter().flatten();
                let tree = trees.into_iter().find(|tree| tree.id().to_string() == *id);
                let names = tree.into_iter().flat_map(|tree| tree.iter());
                let paths = names.filter_map(|entry| Some(format!("{folder}/{}", entry.name().ok()?)));
                runs.extend(paths.filter_map(|path| Some((path.clone(), *digests.get(path.as_str())?))));
            }
            runs.sort();
            let root = MerkleTree::from_leaves(runs.iter().map(|(_, digest)| *digest)).root();
            let is_same = root == archive.root && runs.len() as u64 == archive.runs;
            (!is_same).then_some("does not fit the runs of the months that it names")
        };
        let mut finding = |archive: &Archive| {
            let advice = "the note was forged, or made of another history: see `git log` for the commit that added it";
            Some(Finding::at(FindingKind::Name, &archive.to_file().0, fault(archive)?).advise(advice))
        };
        self.archives.iter().filter_map(&mut finding).collect()
    }
}
