//! Everything that the history ever held: every file at its first appearance on the first-parent line of the branch.
//!
//! Two commits mostly share all folders but one, so each folder is read once. Parents are read from the header of a commit:
//! grafts do not count.

use std::collections::{HashMap, HashSet};

use git2::{Commit, ErrorCode, ObjectType, Odb, Oid, Repository, Tree};

use crate::commits::parents;
use crate::error::{HistoryError, failed};
use crate::layout::{self, DEEPEST, Kind, RECORD_DEPTH};
use crate::objects::{self, LooseObjects, Promises};
use crate::repository::Store;
use crate::target::{Target, tip};
use sprag_base::digest::Digest;
use sprag_model::merkle::MerkleTree;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::run::RECORD_ROOT;

pub(crate) const QUARANTINE: &str = "_quarantine";

pub(crate) struct Past {
    /// The commits, oldest first, with their times in seconds.
    pub(crate) commits: Vec<(Oid, i64)>,
    /// The files by commit and path. A path that had several contents occurs with each.
    pub(crate) files: Vec<Appearance>,
    pub(crate) is_complete: bool,
    pub(crate) unreadable: Vec<Gap>,
}

/// A commit or a folder that could not be read.
pub(crate) struct Gap {
    pub(crate) id: Oid,
    pub(crate) what: String,
    pub(crate) why: String,
    /// Whether a partial clone may lack it.
    pub(crate) is_promised: bool,
}

pub(crate) struct Appearance {
    pub(crate) path: String,
    pub(crate) kind: Kind,
    pub(crate) blob: Oid,
    /// The commit that added it, as a position in [`Past::commits`].
    pub(crate) commit: usize,
}

impl Past {
    pub(crate) fn read(repository: &Repository, tip: Oid) -> Result<Past, HistoryError> {
        let mut past = Past { commits: Vec::new(), files: Vec::new(), is_complete: true, unreadable: Vec::new() };
        let mut trees = Vec::new();
        let loose = LooseObjects::new(repository);
        let mut next = Some(repository.find_commit(tip).map_err(failed("read the tip of the history"))?);
        while let Some(commit) = next {
            past.commits.push((commit.id(), commit.time().seconds()));
            trees.push(commit.tree_id());
            next = past.parent(repository, &loose, &commit);
        }
        past.commits.reverse();
        trees.reverse();
        let mut walk = Walk { repository, loose, past, folders: HashMap::new(), seen: HashSet::new(), commit: 0 };
        for (position, tree) in trees.into_iter().enumerate() {
            walk.commit = position;
            walk.enter(tree);
        }
        Ok(walk.past)
    }

    pub(crate) fn paths(&self) -> HashSet<&str> {
        self.files.iter().map(|file| file.path.as_str()).collect()
    }

    fn parent<'r>(
        &mut self,
        repository: &'r Repository,
        loose: &LooseObjects,
        commit: &Commit<'_>,
    ) -> Option<Commit<'r>> {
        let parent = parents(commit).into_iter().next()?;
        let id = Oid::from_str(&parent).ok()?;
        match loose.check(id).and_then(|()| repository.find_commit(id)) {
            Ok(parent) => return Some(parent),
            Err(error) if error.code() == ErrorCode::NotFound && repository.is_shallow() => {}
            Err(error) => {
                let what = format!("the commit {parent}");
                self.unreadable.push(Gap { id, what, why: reason(&error), is_promised: false });
            }
        }
        self.is_complete = false;
        None
    }
}

/// Why an object could not be read.
pub(crate) fn reason(error: &git2::Error) -> String {
    match error.code() {
        ErrorCode::NotFound => "it is not in this repository".to_owned(),
        _ => error.message().to_owned(),
    }
}

struct Walk<'r> {
    repository: &'r Repository,
    loose: LooseObjects,
    past: Past,
    /// The contents that each file had, by folder and name.
    folders: HashMap<String, HashMap<Vec<u8>, Vec<Oid>>>,
    /// The folders that were read, at their paths.
    seen: HashSet<(String, Oid)>,
    commit: usize,
}

impl<'r> Walk<'r> {
    fn enter(&mut self, root: Oid) {
        let mut id = root;
        let mut path = String::new();
        for name in RECORD_ROOT.split('/') {
            if !self.seen.insert((path.clone(), id)) {
                return;
            }
            let Some(tree) = self.read(&path, id) else { return };
            let Some(entry) = tree.get_name(name) else { return };
            if entry.kind() != Some(ObjectType::Tree) {
                return;
            }
            id = entry.id();
            path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        }
        self.enter_folder(&path, id, 0, false);
    }

    fn enter_folder(&mut self, path: &str, id: Oid, depth: usize, auxiliary: bool) {
        if depth > DEEPEST || !self.seen.insert((path.to_owned(), id)) {
            return;
        }
        let Some(tree) = self.read(path, id) else { return };
        let mut files = self.folders.remove(path).unwrap_or_default();
        for entry in &tree {
            let name = entry.name_bytes();
            if name.starts_with(b".git") {
                continue;
            }
            match entry.kind() {
                Some(ObjectType::Blob) => {
                    if files.get(name).is_some_and(|contents| contents.contains(&entry.id())) {
                        continue;
                    }
                    files.entry(name.to_vec()).or_default().push(entry.id());
                    let Ok(name) = entry.name() else { continue };
                    let path = format!("{path}/{name}");
                    // Misplaced files are reported of the tip alone.
                    if let Ok(kind) = layout::check_path(&path) {
                        self.past.files.push(Appearance { path, kind, blob: entry.id(), commit: self.commit });
                    }
                }
                Some(ObjectType::Tree) => {
                    let Ok(name) = entry.name() else { continue };
                    let auxiliary = auxiliary || (depth == 0 && name.starts_with('_'));
                    if auxiliary || depth < RECORD_DEPTH {
                        self.enter_folder(&format!("{path}/{name}"), entry.id(), depth + 1, auxiliary);
                    }
                }
                _ => {}
            }
        }
        self.folders.insert(path.to_owned(), files);
    }

    fn read(&mut self, path: &str, id: Oid) -> Option<Tree<'r>> {
        let tree = self.loose.check(id).and_then(|()| self.repository.find_tree(id));
        tree.map_err(|error| {
            let folder = if path.is_empty() { "the top folder".to_owned() } else { format!("the folder `{path}/`") };
            let (commit, _) = self.past.commits[self.commit];
            let what = format!("{folder} of the commit {commit}");
            let is_promised = Promises::new(self.repository).is_ok_and(|promises| promises.cover(id));
            self.past.unreadable.push(Gap { id, what, why: reason(&error), is_promised });
            self.past.is_complete = false;
        })
        .ok()
    }
}

/// The ending of the name of a note about a content that cannot be read.
pub(crate) const MISSING: &str = ".missing";

/// The content that a note names; absent where the file at `path` is not a note.
pub(crate) fn noted(repository: &Repository, path: &[u8], note: Oid) -> Option<Oid> {
    let folder = format!("{RECORD_ROOT}/{QUARANTINE}/");
    if !path.starts_with(folder.as_bytes()) || !path.ends_with(MISSING.as_bytes()) {
        return None;
    }
    let note = objects::check(repository, note).and_then(|()| repository.find_blob(note)).ok()?;
    let text = std::str::from_utf8(note.content()).ok()?.trim_end();
    if text.len() == 40 { Oid::from_str(text).ok() } else { None }
}

pub(crate) fn is_here(repository: &Repository, id: Oid) -> bool {
    objects::check(repository, id).and_then(|()| repository.find_blob(id)).is_ok()
}

// The list of runs in the order in which they entered the branch, and the Merkle tree over it.
//
// A run enters with the first commit of the first-parent line that has its record: a file at a path of the layout whose name
// contains the start of the digest of its content. Commits count from the oldest on, the files of one commit by path; no run
// enters twice. So appending only makes the list longer, and damaging, removing, quarantining or restoring a record does not
// change it; rewriting the commits does.

/// The runs of a branch in the order in which they entered.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    pub reference: String,
    /// Absent where there is no history yet.
    pub tip: Option<String>,
    pub runs: Vec<Entered>,
    pub tree: MerkleTree,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The SHA-256 of its canonical JSON.
    pub digest: Digest,
    /// The first path of its record.
    pub path: String,
    pub commit: String,
}

pub fn entries(store: &Store, target: &Target) -> Result<Entries, HistoryError> {
    let Some((commit, reference)) = tip(&store.repository, target)? else {
        return Ok(Entries { reference: target.reference.clone(), ..Entries::default() });
    };
    let past = Past::read(&store.repository, commit.id())?;
    let digests = Digests::new(&store.repository)?;
    let entries = Contents { digests, unreadable: Vec::new() }.complete_list(&store.repository, &past)?;
    Ok(Entries { reference, tip: Some(commit.id().to_string()), ..entries })
}

/// The digests of contents, each computed once.
pub(crate) struct Digests<'r> {
    loose: LooseObjects,
    odb: Odb<'r>,
    digests: HashMap<Oid, Option<Digest>>,
    pub(crate) unreadable: HashSet<Oid>,
}

impl<'r> Digests<'r> {
    pub(crate) fn new(repository: &'r Repository) -> Result<Digests<'r>, HistoryError> {
        let odb = repository.odb().map_err(failed("open the object database"))?;
        Ok(Digests { loose: LooseObjects::new(repository), odb, digests: HashMap::new(), unreadable: HashSet::new() })
    }

    pub(crate) fn insert(&mut self, blob: Oid, digest: Option<Digest>) {
        self.digests.insert(blob, digest);
    }

    /// The digest for the name of a record; absent where a record cannot have the content.
    pub(crate) fn get(&mut self, blob: Oid) -> Result<Option<Digest>, git2::Error> {
        if let Some(digest) = self.digests.get(&blob) {
            return Ok(*digest);
        }
        let digest = self.compute(blob);
        match &digest {
            Ok(digest) => drop(self.digests.insert(blob, *digest)),
            Err(_) => self.unreadable.extend([blob]),
        }
        digest
    }

    fn compute(&self, blob: Oid) -> Result<Option<Digest>, git2::Error> {
        let object = self.loose.read(&self.odb, blob)?;
        Ok(record_digest(object.data()).filter(|_| object.len() <= MAX_RECORD_BYTES))
    }
}

/// The digest of all bytes but the line feed at the end.
pub(crate) fn record_digest(bytes: &[u8]) -> Option<Digest> {
    bytes.strip_suffix(b"\n").map(|json| Digest::from_parts(&[json]))
}

/// Whether the name of a run or an event contains the start of this digest.
pub(crate) fn vouches(path: &str, digest: Option<&Digest>) -> bool {
    digest.is_some_and(|digest| layout::digits_of(path) == Some(&digest.short()))
}

/// The contents of a past, as far as they can be read.
pub(crate) struct Contents<'r> {
    pub(crate) digests: Digests<'r>,
    /// Paths whose content cannot be read, and why.
    pub(crate) unreadable: Vec<(String, String)>,
}

impl Contents<'_> {
    /// As [`Contents::list`]; fails where anything is missing.
    pub(crate) fn complete_list(&mut self, repository: &Repository, past: &Past) -> Result<Entries, HistoryError> {
        if let Some(gap) = past.unreadable.first() {
            return Err(objects::absent(repository, format!("{} cannot be read, {}", gap.what, gap.why), false));
        }
        if !past.is_complete {
            return Err(objects::absent(
                repository,
                "this is a shallow clone, which lacks earlier commits".to_owned(),
                true,
            ));
        }
        let entries = self.list(past);
        match self.unreadable.first() {
            Some((path, why)) => Err(objects::absent(repository, format!("`{path}` cannot be read, {why}"), false)),
            None => Ok(entries),
        }
    }

    pub(crate) fn list(&mut self, past: &Past) -> Entries {
        let mut entries = Entries::default();
        let mut entered = HashSet::new();
        let mut files: Vec<_> = past.files.iter().filter(|file| file.kind == Kind::Run).collect();
        files.sort_by(|a, b| (a.commit, &a.path).cmp(&(b.commit, &b.path)));
        for file in files {
            let digest = match self.digests.get(file.blob) {
                Ok(digest) => digest,
                Err(error) => {
                    self.unreadable.push((file.path.clone(), reason(&error)));
                    continue;
                }
            };
            let Some(digest) = digest.filter(|digest| vouches(&file.path, Some(digest))) else { continue };
            if entered.insert(digest) {
                let (commit, _) = past.commits[file.commit];
                entries.runs.push(Entered { digest, path: file.path.clone(), commit: commit.to_string() });
                entries.tree.push(digest);
            }
        }
        entries
    }
}
