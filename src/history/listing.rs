//! The records that the tip of the history lists, without reading any of them.

use std::collections::{BTreeMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use git2::{Commit, ErrorCode, ObjectType, Odb, OdbObject, Oid, Repository, Tree, TreeEntry};
use serde::{Deserialize, Serialize};

use crate::archived::Archived;
use crate::error::{HistoryError, failed};
use crate::layout::{self, FOLDER, Leaf, Name, RECORD_DEPTH};
use crate::objects::{self, LooseObjects, Promises};
use crate::repository::{Store, short_name};
use crate::target::{Target, tip};
use sprag_model::archive::{ARCHIVE_ROOT, Archive};
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::retraction::{RESTORATION_ROOT, RETRACTION_ROOT, Retraction};
use sprag_model::run::{FileFault, LAYOUT_VERSION, Quarantined, RECORD_ROOT};

/// So many of the last commits say how late it was when the history was written.
const RECENT_COMMITS: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The commit it was read at; absent where there is no history yet.
    pub tip: Option<String>,
    pub reference: String,
    /// The files that may be records, and runs of snapshots that are here, by path, without those that were retracted.
    pub entries: Vec<Leaf>,
    /// The notes of snapshots that are not here.
    pub absent: Vec<Archive>,
    /// The number of their runs.
    pub absent_runs: u64,
    /// The files of runs that were retracted, each with the reason as it reads after its path.
    pub retracted: Vec<(Leaf, String)>,
    /// By the path of a run, the newest record that retracts it or undoes that.
    pub decided: BTreeMap<String, Retraction>,
    /// A run dated after this has a wrong clock: a day after the newest of the last commits.
    pub latest: Option<DateTime<Utc>>,
    pub quarantined: Vec<Quarantined>,
    pub warnings: Vec<String>,
}

/// Lists the records of the history, without reading them. What is misnamed, or no plain file, is quarantined with the reason.
///
/// Folders below `history/v1/` that begin with an underscore hold no runs, and files that begin with `.git` belong to git: both
/// are skipped. A ref that does not exist is an empty history.
pub fn list(store: &Store, target: &Target) -> Result<Listing, HistoryError> {
    Ok(list_cached(store, target, FolderCache::default())?.0)
}

/// As [`list`] without reading cached folders. Also gives a new cache, unless it would be the same.
pub fn list_cached(
    store: &Store,
    target: &Target,
    cache: FolderCache,
) -> Result<(Listing, Option<FolderCache>), HistoryError> {
    let repository = &store.repository;
    let mut listing = Listing {
        tip: None,
        reference: target.reference.clone(),
        entries: Vec::new(),
        absent: Vec::new(),
        absent_runs: 0,
        retracted: Vec::new(),
        decided: BTreeMap::new(),
        latest: None,
        quarantined: Vec::new(),
        warnings: Vec::new(),
    };
    let Some((commit, reference)) = tip(repository, target)? else { return Ok((listing, None)) };
    let tree = commit.tree().map_err(failed("read the tree of the history"))?;
    listing.tip = Some(commit.id().to_string());
    if Some(&reference) == target.inherited.as_ref() {
        let [branch, code] = [&target.reference, &reference].map(|name| short_name(name));
        let begins =
            format!("there is no branch `{branch}` yet: it will begin with the records of `{code}`, which are used");
        listing.warnings.push(begins);
    }
    listing.reference = reference;
    let mut walk = Walk::new(repository, RECORD_DEPTH, |path| Name::parse(path).map(drop));
    walk.cache = cache;
    walk.enter_top(&tree);
    let news = (walk.has_news || !walk.cache.is_empty()).then(|| std::mem::take(&mut walk.news));
    listing.warnings.append(&mut walk.warnings);
    (listing.entries, listing.quarantined) = walk.finish();
    // A machine whose clock is behind must not make the runs of others future ones.
    let loose = LooseObjects::new(repository);
    let parent = |commit: &Commit<'_>| loose.find_commit(repository, commit.parent_id(0).ok()?).ok();
    let recent = std::iter::successors(Some(commit), parent).take(RECENT_COMMITS);
    let newest = recent.map(|commit| commit.time().seconds()).max();
    listing.latest =
        newest.and_then(|seconds| DateTime::from_timestamp(seconds, 0)).map(|time| time + TimeDelta::days(1));
    listing.add_archived(store, &tree)?;
    listing.retract(repository, &tree)?;
    Ok((listing, news))
}

impl Listing {
    /// Whether the run of that time is dated in the future of the history; the fault reads after its path.
    pub fn check_time(&self, time: DateTime<Utc>) -> Result<(), String> {
        if self.latest.is_none_or(|latest| time <= latest) {
            return Ok(());
        }
        Err(format!("is dated {}, more than a day after the newest commit of the history", time.format("%Y-%m-%d")))
    }

    fn add_archived(&mut self, store: &Store, tree: &Tree<'_>) -> Result<(), HistoryError> {
        let (archives, bad) = archives_in(&store.repository, tree)?;
        self.quarantined.extend(bad);
        let count = self.entries.len();
        for archive in archives.into_iter().filter(|archive| !archive.restored) {
            match store.snapshots.as_ref().map_or(Ok(None), |snapshots| snapshots.runs(&archive))? {
                Some(runs) => self.entries.extend(runs),
                None => self.absent.push(archive),
            }
        }
        self.absent_runs = self.absent.iter().map(|archive| archive.runs).sum();
        let mut months = HashSet::new();
        if !self.absent.iter().flat_map(|archive| archive.folders.keys()).all(|month| months.insert(month)) {
            // A run may be in two of them.
            let here = self.entries.iter().map(|entry| entry.path.clone()).collect();
            self.absent_runs = Archived::by(&store.repository, self.absent.clone()).count(&here);
        }
        if self.entries.len() > count {
            // A run that is on the branch as well comes first, and stays.
            self.entries.sort_by(|a, b| a.path.cmp(&b.path));
            self.entries.dedup_by(|later, first| later.path == first.path);
        }
        Ok(())
    }

    /// Moves the runs that the tree retracts. The newest record of a run decides; of equally new ones, that which undoes.
    fn retract(&mut self, repository: &Repository, tree: &Tree<'_>) -> Result<(), HistoryError> {
        let mut newest: BTreeMap<String, Retraction> = BTreeMap::new();
        for root in [RETRACTION_ROOT, RESTORATION_ROOT] {
            let PlainFiles { files, quarantined } = files_below(repository, tree, root)?;
            self.quarantined.extend(quarantined);
            for (path, bytes) in files {
                match Retraction::from_file(&path, &bytes) {
                    Ok(one)
                        if newest
                            .get(&one.run)
                            .is_some_and(|other| (other.time, other.undo) > (one.time, one.undo)) => {}
                    Ok(one) => drop(newest.insert(one.run.clone(), one)),
                    Err(reason) => self.quarantined.push(Quarantined { path, reason: reason.into() }),
                }
            }
        }
        self.quarantined.sort_by(|a, b| a.path.cmp(&b.path));
        for entry in std::mem::take(&mut self.entries) {
            match newest.get(&entry.path) {
                Some(one) if !one.undo => self.retracted.push((entry, one.words())),
                _ => self.entries.push(entry),
            }
        }
        self.decided = newest;
        Ok(())
    }
}

pub(crate) struct Walk<'r> {
    repository: &'r Repository,
    /// The depth of files below the start of the walk.
    deepest: usize,
    check: fn(&str) -> Result<(), String>,
    entries: Vec<Leaf>,
    quarantined: Vec<Quarantined>,
    warnings: Vec<String>,
    cache: FolderCache,
    /// The folders that hold files with fitting names and nothing else.
    news: FolderCache,
    /// Whether a folder in `news` was not cached.
    has_news: bool,
}

impl<'r> Walk<'r> {
    pub(crate) fn new(repository: &'r Repository, deepest: usize, check: fn(&str) -> Result<(), String>) -> Walk<'r> {
        Walk {
            repository,
            deepest,
            check,
            entries: Vec::new(),
            quarantined: Vec::new(),
            warnings: Vec::new(),
            cache: FolderCache::default(),
            news: FolderCache::default(),
            has_news: false,
        }
    }

    /// The plain files with a fitting name, and everything else, each by path.
    pub(crate) fn finish(mut self) -> (Vec<Leaf>, Vec<Quarantined>) {
        self.entries.sort_by(|a, b| a.path.cmp(&b.path));
        self.quarantined.sort_by(|a, b| a.path.cmp(&b.path));
        (self.entries, self.quarantined)
    }

    pub(crate) fn enter_below(&mut self, tree: &Tree<'_>, path: &str) {
        let mut parent = String::new();
        let mut inner: Option<Tree<'r>> = None;
        for name in path.split('/') {
            let folder = inner.as_ref().unwrap_or(tree);
            let Some(entry) = folder.get_name(name) else { return };
            parent = if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") };
            let Some(folder) = self.folder(&parent, &entry) else { return };
            drop(entry);
            inner = Some(folder);
        }
        for entry in inner.iter().flat_map(|folder| folder.iter()) {
            self.enter(path, &entry, 0);
        }
    }

    fn enter_top(&mut self, tree: &Tree<'_>) {
        let Some(history) = tree.get_name(FOLDER) else { return };
        let Some(folder) = self.folder(FOLDER, &history) else { return };
        for entry in &folder {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            let path = format!("{FOLDER}/{name}");
            let version = name.strip_prefix('v').and_then(|version| version.parse::<u64>().ok());
            if path == RECORD_ROOT {
                self.enter_version(&entry);
            } else if version.is_some_and(|version| version > LAYOUT_VERSION) {
                let reason = "is of a newer layout and was not read; a newer sprag can read it";
                self.warnings.push(format!("`{path}/` {reason}"));
            } else if entry.kind() == Some(ObjectType::Tree) {
                self.warnings.push(format!("`{path}/` is not part of the layout and was not read"));
            }
        }
    }

    fn enter_version(&mut self, entry: &TreeEntry<'_>) {
        let Some(folder) = self.folder(RECORD_ROOT, entry) else { return };
        for entry in &folder {
            if !entry.name_bytes().starts_with(b"_") {
                self.enter(RECORD_ROOT, &entry, 0);
            }
        }
    }

    fn enter(&mut self, parent: &str, entry: &TreeEntry<'_>, depth: usize) {
        if entry.name_bytes().starts_with(b".git") {
            return;
        }
        let Ok(name) = entry.name() else {
            let path = format!("{parent}/{}", String::from_utf8_lossy(entry.name_bytes()));
            return self.quarantine(path, "has a name that is not UTF-8".to_owned());
        };
        let path = format!("{parent}/{name}");
        if entry.kind() != Some(ObjectType::Tree) {
            return match layout::check_mode(entry.filemode()).and_then(|()| (self.check)(&path)) {
                Ok(()) => self.entries.push(Leaf { path, blob: entry.id().to_string() }),
                Err(reason) => self.quarantine(path, reason),
            };
        }
        if depth == self.deepest {
            return self.quarantine(path, "is a folder, where a record is a plain file".to_owned());
        }
        if depth + 1 == self.deepest {
            return self.enter_files(path, entry);
        }
        let Some(folder) = self.folder(&path, entry) else { return };
        for entry in &folder {
            self.enter(&path, &entry, depth + 1);
        }
    }

    fn enter_files(&mut self, path: String, entry: &TreeEntry<'_>) {
        let id = entry.id().to_string();
        let first = self.entries.len();
        let cached = self.cache.take(&id, &path);
        let was_cached = cached.is_some();
        if let Some(files) = cached {
            self.entries.extend(files);
        } else {
            let Some(folder) = self.folder(&path, entry) else { return };
            for entry in &folder {
                self.enter(&path, &entry, self.deepest);
            }
            if self.entries.len() - first < folder.len() {
                return;
            }
        }
        self.has_news |= !was_cached;
        self.news.0.insert(id, Folder { path, files: self.entries[first..].to_vec() });
    }

    fn folder(&mut self, path: &str, entry: &TreeEntry<'_>) -> Option<Tree<'r>> {
        if entry.kind() != Some(ObjectType::Tree) {
            self.quarantine(path.to_owned(), "is a file, where a folder of records is expected".to_owned());
            return None;
        }
        match objects::find_tree(self.repository, entry.id()) {
            Ok(tree) => Some(tree),
            Err(error) => {
                self.quarantine(path.to_owned(), unread(&error, "the folder"));
                None
            }
        }
    }

    fn quarantine(&mut self, path: String, reason: impl Into<FileFault>) {
        self.quarantined.push(Quarantined { path, reason: reason.into() });
    }
}

/// How many folders lie between the root of event records, or of retractions, and a record: year and month.
const YEAR_AND_MONTH: usize = 2;

/// What lies below a folder of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainFiles {
    /// Path and content of each plain file, by path.
    pub files: Vec<(String, Vec<u8>)>,
    pub quarantined: Vec<Quarantined>,
}

/// Files that begin with `.git` belong to git and are skipped.
pub(crate) fn files_below(repository: &Repository, tree: &Tree<'_>, folder: &str) -> Result<PlainFiles, HistoryError> {
    let mut walk = Walk::new(repository, YEAR_AND_MONTH, |_| Ok(()));
    walk.enter_below(tree, folder);
    let (entries, mut quarantined) = walk.finish();
    let odb = repository.odb().map_err(failed("open the object database"))?;
    let loose = LooseObjects::new(repository);
    let mut files = Vec::with_capacity(entries.len());
    for entry in entries {
        match content(&loose, &odb, &entry) {
            Ok(object) => files.push((entry.path, object.data().to_vec())),
            Err(reason) => quarantined.push(Quarantined { path: entry.path, reason }),
        }
    }
    quarantined.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(PlainFiles { files, quarantined })
}

/// The newest note of each archive, and files in their place that are none.
pub(crate) fn archives_in(
    repository: &Repository,
    tree: &Tree<'_>,
) -> Result<(Vec<Archive>, Vec<Quarantined>), HistoryError> {
    let (notes, quarantined) = notes_in(repository, tree)?;
    Ok((Archive::newest(notes), quarantined))
}

/// All notes of archives, and files in their place that are none.
pub(crate) fn notes_in(
    repository: &Repository,
    tree: &Tree<'_>,
) -> Result<(Vec<Archive>, Vec<Quarantined>), HistoryError> {
    let PlainFiles { files, mut quarantined } = files_below(repository, tree, ARCHIVE_ROOT)?;
    let mut notes = Vec::new();
    for (path, bytes) in files {
        match Archive::from_file(&path, &bytes) {
            Ok(note) => notes.push(note),
            Err(reason) => quarantined.push(Quarantined { path, reason: reason.into() }),
        }
    }
    Ok((notes, quarantined))
}

/// The plain files in a folder of the history, and in folders down to two below it.
pub(crate) fn plain_files_below(repository: &Repository, tree: &Tree<'_>, folder: &str) -> Vec<Leaf> {
    let mut walk = Walk::new(repository, YEAR_AND_MONTH, |_| Ok(()));
    walk.enter_below(tree, folder);
    walk.entries
}

/// The contents of notes that a partial clone lacks.
pub(crate) fn absent_notes(repository: &Repository, tree: &Tree<'_>, promises: &Promises<'_>) -> Vec<Oid> {
    let notes = plain_files_below(repository, tree, ARCHIVE_ROOT);
    let ids = notes.iter().filter_map(|entry| Oid::from_str(&entry.blob).ok());
    ids.filter(|id| promises.cover(*id)).collect()
}

/// The content of a file, or why it cannot be that of a record.
pub(crate) fn content<'o>(loose: &LooseObjects, odb: &'o Odb<'_>, entry: &Leaf) -> Result<OdbObject<'o>, FileFault> {
    let object = Oid::from_str(&entry.blob).and_then(|blob| loose.read(odb, blob));
    let object = object.map_err(|error| unread(&error, "its content"))?;
    match object.len() {
        size if size > MAX_RECORD_BYTES => {
            Err(format!("holds {size} bytes, more than the {MAX_RECORD_BYTES} that a record may have").into())
        }
        _ => Ok(object),
    }
}

fn unread(error: &git2::Error, what: &'static str) -> FileFault {
    match error.code() {
        ErrorCode::NotFound => FileFault::Absent(what),
        _ => format!("cannot be read: {}", error.message()).into(),
    }
}

// A tree never changes, so a folder that was read once need not be read again. Most folders are months that are over.

/// Folders by the id of their tree, which hold plain files that are named like records and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FolderCache(BTreeMap<String, Folder>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Folder {
    path: String,
    files: Vec<Leaf>,
}

impl FolderCache {
    /// Removes a folder and gives its files.
    fn take(&mut self, id: &str, path: &str) -> Option<Vec<Leaf>> {
        (self.0.get(id)?.path == path).then(|| self.0.remove(id))?.map(|folder| folder.files)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("texts are JSON")
    }

    /// Absent where the text is not that of a cache.
    pub fn from_text(text: &str) -> Option<FolderCache> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_folder_is_taken_once_by_its_tree_and_path() {
        let entry = |path: &str, blob: &str| Leaf { path: path.to_owned(), blob: blob.to_owned() };
        let files = vec![entry("a/b/one two", "b1"), entry("a/b/c", "b2")];
        let mut cache = FolderCache::default();
        for (tree, path, files) in [("t1", "a/b", files.clone()), ("t2", "a/empty folder", Vec::new())] {
            cache.0.insert(tree.to_owned(), Folder { path: path.to_owned(), files });
        }
        let mut read = FolderCache::from_text(&cache.to_text()).expect("it is the text of a cache");
        assert_eq!((read.len(), &read), (2, &cache));
        assert_eq!(read.take("t1", "a"), None, "another path");
        assert_eq!(read.take("t3", "a/b"), None);
        assert_eq!(read.take("t1", "a/b"), Some(files));
        assert_eq!(read.take("t1", "a/b"), None, "it was taken");
        assert!(FolderCache::from_text(&FolderCache::default().to_text()).is_some_and(|cache| cache.is_empty()));
        for wrong in ["t1", "{\"t1\": \"a\"}", &cache.to_text()[1..]] {
            assert_eq!(FolderCache::from_text(wrong), None, "{wrong}");
        }
    }
}
