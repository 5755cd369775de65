//! What the history ever held: every file at its first appearance on the first-parent line of the branch.
//!
//! Two commits mostly share all folders but one, and a folder that was looked into before has nothing new, so each is
//! read once. Parents are read from the header of a commit: what grafts say does not count.

use std::collections::{HashMap, HashSet};

use git2::{Commit, ErrorCode, ObjectType, Oid, Repository, Tree};

use crate::commits::measured::parents;
use crate::error::HistoryError;
use crate::layout;
use crate::layout::Kind;
use crate::objects::loose;
use crate::objects::loose::LooseObjects;
use crate::objects::partial::Promises;
use crate::store::failed;
use sprag_model::run::RECORD_ROOT;

/// The folder of what was set aside.
pub(crate) const QUARANTINE: &str = "_quarantine";

/// How deep folders that begin with an underscore are looked into.
const DEEPEST: usize = 16;

/// The files of a line of commits.
pub(crate) struct Past {
    /// The commits, oldest first, with their times in seconds.
    pub(crate) commits: Vec<(Oid, i64)>,
    /// The files in order of appearance: by commit, then by path. A path that had several contents stands here
    /// with each.
    pub(crate) files: Vec<Appearance>,
    /// Whether the line is here to its first commit.
    pub(crate) is_whole: bool,
    /// What could not be read.
    pub(crate) unreadable: Vec<Gap>,
}

/// A commit or a folder that could not be read.
pub(crate) struct Gap {
    pub(crate) what: String,
    pub(crate) why: String,
    /// Whether it need not be here, as in a partial clone.
    pub(crate) is_promised: bool,
}

/// A file when it first had that content.
pub(crate) struct Appearance {
    pub(crate) path: String,
    pub(crate) kind: Kind,
    pub(crate) blob: Oid,
    /// The commit that brought it, as a position in [`Past::commits`].
    pub(crate) commit: usize,
}

impl Past {
    /// Walks from the tip to the first commit, and back.
    pub(crate) fn read(repository: &Repository, tip: Oid) -> Result<Past, HistoryError> {
        let mut past = Past { commits: Vec::new(), files: Vec::new(), is_whole: true, unreadable: Vec::new() };
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

    /// Every path that there ever was.
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
        let found = Oid::from_str(&parent).and_then(|id| loose.check(id).map(|()| id));
        match found.and_then(|id| repository.find_commit(id)) {
            Ok(parent) => return Some(parent),
            Err(error) if error.code() == ErrorCode::NotFound && repository.is_shallow() => {}
            Err(error) => {
                let what = format!("the commit {parent}");
                self.unreadable.push(Gap { what, why: reason(&error), is_promised: false });
            }
        }
        self.is_whole = false;
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
    /// The folders that were looked into, at their paths.
    seen: HashSet<(String, Oid)>,
    commit: usize,
}

impl<'r> Walk<'r> {
    fn enter(&mut self, root: Oid) {
        let mut id = root;
        let mut path = String::new();
        // The folders above the records are looked at in every commit that changes anything in them.
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
                    // What the layout has no place for is told of the tip alone.
                    if let Ok(kind) = layout::check_path(&path) {
                        self.past.files.push(Appearance { path, kind, blob: entry.id(), commit: self.commit });
                    }
                }
                Some(ObjectType::Tree) => {
                    let Ok(name) = entry.name() else { continue };
                    let auxiliary = auxiliary || (depth == 0 && name.starts_with('_'));
                    if auxiliary || depth < 3 {
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
            self.past.unreadable.push(Gap { what, why: reason(&error), is_promised });
            self.past.is_whole = false;
        })
        .ok()
    }
}

/// How the name of a note ends.
pub(crate) const MISSING: &str = ".missing";

/// The content that the file at `path` stands for; absent where it is no such note, or cannot be read.
pub(crate) fn noted(repository: &Repository, path: &[u8], note: Oid) -> Option<Oid> {
    let folder = format!("{RECORD_ROOT}/{QUARANTINE}/");
    if !path.starts_with(folder.as_bytes()) || !path.ends_with(MISSING.as_bytes()) {
        return None;
    }
    let note = loose::check(repository, note).and_then(|()| repository.find_blob(note)).ok()?;
    let text = std::str::from_utf8(note.content()).ok()?.trim_end();
    if text.len() == 40 { Oid::from_str(text).ok() } else { None }
}

/// Whether a content can be read.
pub(crate) fn is_here(repository: &Repository, id: Oid) -> bool {
    loose::check(repository, id).and_then(|()| repository.find_blob(id)).is_ok()
}
