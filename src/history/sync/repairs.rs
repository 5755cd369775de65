//! What a repair of one side changed, which the other side follows.
//!
//! A damaged file that a repair moved to the quarantine is not lost. Yet a clone takes a file off the remote only if it finds the file
//! damaged as well: by mode, name and content, by a path that is the same without case, or, of a note of an archive, by the history
//! below it. A clone that lacks that content or history only lets go of what the remote no longer has. A file that one clone could not
//! read comes back from another one that can. What both sides lacked where they met after the last sync, and one has again, need not
//! be explained.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use git2::{ObjectType, Oid, Repository};

use crate::archived::{Archived, NoteFit};
use crate::error::{self, HistoryError};
use crate::fsck::content::{SUBMODULE, is_damaged, name_of};
use crate::layout::{EXECUTABLE, PLAIN, check_mode, check_path};
use crate::listing::plain_files_below;
use crate::objects::{self, Promises, TreeItem, TreeLookup};
use crate::past::{MISSING, QUARANTINE, is_here};
use crate::sync::compare::{Difference, TreePath, compare, texts, tree_of};
use crate::sync::outcome::quoted;
use sprag_model::archive::Archive;
use sprag_model::run::RECORD_ROOT;

pub(crate) struct Repairs<'r> {
    repository: &'r Repository,
    promises: Promises<'r>,
    tips: Vec<Oid>,
    trees: Vec<TreeLookup<'r>>,
    /// The tree of the commit at which both sides met, where that is later than the last sync.
    met: Option<TreeLookup<'r>>,
    /// The name in quarantine and the content of each file there.
    quarantined: HashSet<(String, String)>,
    answers: HashMap<(TreePath, Oid), Answer>,
}

/// Whether a repair set a file aside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// It is in quarantine, and damaged.
    Yes,
    No,
    /// It is in quarantine, and what shows whether it is damaged is not here.
    Unknown,
    /// A repair could not read it, and this clone can.
    Back,
}

/// Contents of files that the remote has and a repair set aside, as far as they are not here.
pub(crate) fn unread(
    repository: &Repository,
    local: Option<Oid>,
    remote: Option<Oid>,
) -> Result<Vec<Oid>, HistoryError> {
    let mut repairs = Repairs::new(repository, [local, remote], None)?;
    if repairs.quarantined.is_empty() {
        return Ok(Vec::new());
    }
    let mut files = compare(repository, local, remote)?.right;
    files.retain(|path, item| repairs.answer(path, *item) == Answer::Unknown && !is_here(repository, item.id));
    Ok(files.into_values().map(|item| item.id).collect())
}

impl<'r> Repairs<'r> {
    pub(crate) fn new(
        repository: &'r Repository,
        tips: [Option<Oid>; 2],
        met: Option<Oid>,
    ) -> Result<Repairs<'r>, HistoryError> {
        let (mut quarantined, mut trees) = (HashSet::new(), Vec::new());
        for tip in tips {
            let Some(tree) = tree_of(repository, tip)? else { continue };
            for file in plain_files_below(repository, &tree, &format!("{RECORD_ROOT}/{QUARANTINE}")) {
                let name = file.path.rsplit('/').next().unwrap_or_default().to_owned();
                quarantined.insert((name, file.blob));
            }
            trees.push(TreeLookup::new(repository, tree));
        }
        let met = tree_of(repository, met)?.map(|tree| TreeLookup::new(repository, tree));
        let (promises, tips) = (Promises::new(repository)?, tips.into_iter().flatten().collect());
        Ok(Repairs { repository, promises, tips, trees, met, quarantined, answers: HashMap::new() })
    }

    /// Drops what repairs explain from what each side lost or changed. In the comparison of both, a path with two contents becomes
    /// one of the side that was repaired. Gives the files that have to leave the right side.
    pub(crate) fn settle(
        &mut self,
        at_left: &mut Difference,
        at_right: &mut Difference,
        against: &mut Difference,
    ) -> BTreeMap<TreePath, TreeItem> {
        let Difference { left, right, changed } = against;
        left.retain(|path, item| !self.may_be_aside(path, *item));
        let mut leaving: BTreeMap<_, _> = right.extract_if(.., |path, item| self.is_aside(path, *item)).collect();
        let is_made_plain = |from: TreeItem, to: TreeItem| from.id == to.id && from.mode != PLAIN && to.mode == PLAIN;
        for (path, (ours, theirs)) in std::mem::take(changed) {
            let (theirs_is_aside, ours_may_be) = (self.is_aside(&path, theirs), self.may_be_aside(&path, ours));
            let mut counts = |one, other, is_aside, at_one: &Difference, at_other: &Difference| {
                let was = |side: &Difference| side.changed.get(&path).map(|(before, _)| *before);
                (is_made_plain(other, one) && was(at_one) == Some(other))
                    || is_aside
                    || (was(at_other) == Some(one) && self.is_back(&path, one))
            };
            if counts(ours, theirs, theirs_is_aside, at_left, at_right) {
                leaving.insert(path.clone(), theirs);
                left.insert(path.clone(), ours);
            } else if counts(theirs, ours, ours_may_be, at_right, at_left) {
                right.insert(path.clone(), theirs);
            } else {
                changed.insert(path, (ours, theirs));
                continue;
            }
            at_left.changed.remove(&path);
            at_right.changed.remove(&path);
        }
        for (side, opposite, at_remote) in [(at_left, &*right, Some(&*right)), (at_right, &*left, None)] {
            let mut is_explained = |path: &TreePath, item: TreeItem| match self.answer(path, item) {
                Answer::Yes | Answer::Back => true,
                Answer::Unknown => at_remote.and_then(|files| files.get(path)) != Some(&item),
                Answer::No => false,
            };
            side.changed.retain(|path, (before, now)| !(is_made_plain(*before, *now) || is_explained(path, *before)));
            side.left.retain(|path, item| !is_explained(path, *item));
            side.left.retain(|path, item| !(opposite.get(path) == Some(item) && self.is_back(path, *item)));
        }
        leaving
    }

    /// Whether both sides lacked that file where they met.
    fn is_back(&mut self, path: &[u8], item: TreeItem) -> bool {
        let (met, path) = (self.met.as_mut(), std::str::from_utf8(path));
        met.zip(path.ok()).is_some_and(|(met, path)| met.get(path).is_ok_and(|had| had != Some(item)))
    }

    pub(crate) fn set_aside_note(&mut self, note: &Archive, is_at_remote: bool) -> bool {
        let (path, bytes, _) = note.to_file();
        let Ok(id) = Oid::hash_object(ObjectType::Blob, &bytes) else { return false };
        let item = TreeItem { id, mode: PLAIN };
        if is_at_remote { self.is_aside(path.as_bytes(), item) } else { self.may_be_aside(path.as_bytes(), item) }
    }

    /// A line for people, where there are any.
    pub(crate) fn warning(&self) -> Option<String> {
        let paths: BTreeSet<&TreePath> =
            self.answers.iter().filter(|(_, answer)| **answer == Answer::Yes).map(|((path, _), _)| path).collect();
        let (files, names) = (error::count(paths.len(), "file"), quoted(&texts(paths.iter().copied())));
        (!paths.is_empty()).then(|| format!("{files}, set aside as damaged by a repair: {names}"))
    }

    fn is_aside(&mut self, path: &[u8], item: TreeItem) -> bool {
        self.answer(path, item) == Answer::Yes
    }

    fn may_be_aside(&mut self, path: &[u8], item: TreeItem) -> bool {
        matches!(self.answer(path, item), Answer::Yes | Answer::Unknown)
    }

    fn answer(&mut self, path: &[u8], item: TreeItem) -> Answer {
        if self.quarantined.is_empty() {
            return Answer::No;
        }
        let text = String::from_utf8_lossy(path);
        let has = |ending, id: Oid| self.quarantined.contains(&(name_of(&text, ending), id.to_string()));
        let note = Oid::hash_object(ObjectType::Blob, format!("{}\n", item.id).as_bytes());
        let is_unread = note.is_ok_and(|note| has(MISSING, note) || has(SUBMODULE, note));
        if !is_unread && !has("", item.id) {
            return Answer::No;
        }
        let key = (path.to_vec(), item.id);
        if let Some(answer) = self.answers.get(&key) {
            return *answer;
        }
        // A repair makes an executable file plain, and sets it aside only for its content.
        let mode = if item.mode == EXECUTABLE { PLAIN } else { item.mode };
        let is_misplaced = check_mode(mode).is_err() || check_path(&text).is_err() || self.collides(&text);
        let blob = objects::check(self.repository, item.id).and_then(|()| self.repository.find_blob(item.id));
        let answer = match blob {
            _ if is_misplaced => Answer::Yes,
            Err(_) if is_unread || self.promises.cover(item.id) => Answer::Unknown,
            Err(_) => Answer::No,
            Ok(blob) => match Archive::from_file(&text, blob.content()).map(|note| self.is_wrong(&note)) {
                Ok(Answer::No) | Err(_) if is_unread && !is_damaged(&text, mode, blob.content()) => Answer::Back,
                Ok(answer) => answer,
                Err(_) if is_damaged(&text, mode, blob.content()) => Answer::Yes,
                Err(_) => Answer::No,
            },
        };
        self.answers.insert(key, answer);
        answer
    }

    /// Whether both sides have another path that is the same on file systems that do not know case.
    fn collides(&mut self, path: &str) -> bool {
        let mut ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        ends.any(|end| self.trees.iter_mut().all(|tree| tree.has_alike(&path[..end])))
    }

    fn is_wrong(&self, note: &Archive) -> Answer {
        for tip in &self.tips {
            match Archived::judge_below(self.repository, *tip, note) {
                Ok(NoteFit::Valid) | Err(_) => return Answer::No,
                Ok(NoteFit::Invalid(_)) => return Answer::Yes,
                Ok(NoteFit::Unknown) => {}
            }
        }
        let is_part = self.repository.is_shallow() || objects::is_partial(self.repository).unwrap_or(false);
        if is_part { Answer::Unknown } else { Answer::No }
    }
}
