//! Repairing a history without losing a byte.
//!
//! One commit on the branch moves damaged files, unchanged, to `history/v1/_quarantine/`, and brings back what earlier commits
//! had. A content that cannot be read is replaced by a note with its id; once the object is available, the next repair brings
//! the record back.

use std::collections::BTreeMap;
use std::fs;

use chrono::{DateTime, Utc};
use git2::{Commit, ObjectType, Oid, Repository, Tree};

use crate::checkout::{BranchMove, Checkout, native};
use crate::error::{self, FETCH_ALL, HistoryError, failed};
use crate::fsck::check::Examined;
use crate::fsck::content;
use crate::fsck::tip::{Tip, TipFile};
use crate::inherited;
use crate::layout::{EXECUTABLE, PLAIN};
use crate::objects::{self, Edit, Edits, Promises, Swapped, compare_and_swap, edited};
use crate::past::MISSING;
use crate::repository::{Store, signature_at};
use crate::salvage::set_aside;
use crate::state::{Pending, StateFolder, Step, Watch, pause};
use crate::target::{Target, tip};
use sprag_model::fsck::FindingKind;

const ATTEMPTS: u32 = 8;

const SUBMODULE: i32 = 0o160_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    pub steps: Vec<String>,
    /// Absent where none was needed.
    pub commit: Option<String>,
    /// One sentence each.
    pub warnings: Vec<String>,
}

/// Quarantines what is damaged, brings back what was lost, clears what dead processes left, and lets the working trees on the
/// branch catch up. The commit, if one is needed, is dated `time`. On an error the branch is as it was.
pub fn repair(store: &Store, target: &Target, time: DateTime<Utc>) -> Result<Repaired, HistoryError> {
    repair_watched(store, target, time, &mut |_| {})
}

pub(crate) fn repair_watched(
    store: &Store,
    target: &Target,
    time: DateTime<Utc>,
    watch: Watch<'_>,
) -> Result<Repaired, HistoryError> {
    let mut repaired = Repaired::default();
    match repair_into(&mut repaired, store, target, time, watch) {
        Ok(()) => Ok(repaired),
        Err(cause) if repaired.steps.is_empty() => Err(cause),
        Err(cause) => Err(HistoryError::Unrepaired { steps: repaired.steps, cause: Box::new(cause) }),
    }
}

fn repair_into(
    repaired: &mut Repaired,
    store: &Store,
    target: &Target,
    time: DateTime<Utc>,
    watch: Watch<'_>,
) -> Result<(), HistoryError> {
    let repository = &store.repository;
    let named = repository.find_reference(&target.reference).and_then(|reference| reference.resolve());
    let tip = named.ok().and_then(|reference| reference.target());
    set_aside(repository, tip, &mut repaired.steps)?;
    let tree = tip.and_then(|tip| repository.find_commit(tip).ok()).map(|commit| commit.tree_id());
    set_aside(repository, tree, &mut repaired.steps)?;
    inherited::begin(repository, target)?;
    let left = StateFolder::new(repository.commondir()).leftovers();
    let mut branch = BranchMove::begin(repository, &target.reference, watch)?;
    repaired.steps.extend(left.iter().map(|name| format!("removed `sprag/{name}` from the git folder")));
    let moved = move_ref(repository, target, &mut branch, time, repaired, watch);
    let moved = moved.inspect_err(|_| branch.abandon())?;
    let removed = moved.into_iter().filter(|file| file.removed);
    let wanted: Vec<Pending> = removed.chain(records_of(repository, target)?).collect();
    if repaired.commit.is_none() {
        // By a journal, the next command knows that the lock of an index is ours.
        branch.journal(&wanted[..wanted.len().min(1)])?;
    }
    let counts = branch.catch_up(&wanted, watch);
    for (tree, count) in branch.trees.iter().zip(counts).filter(|(_, count)| *count > 0) {
        let folder = tree.folder.display();
        repaired.steps.push(format!("the working tree `{folder}` caught up with {}", error::count(count, "file")));
    }
    for tree in &branch.trees {
        let (placed, warnings) = tree.bring_back(&wanted, &branch.state);
        repaired.steps.extend(placed.iter().map(|path| format!("wrote `{path}` to a working tree")));
        repaired.warnings.extend(warnings);
    }
    repaired.warnings.extend(branch.finish());
    Ok(())
}

/// Makes the commit and moves the branch to it; gives what it puts and the files that are no longer where they were.
fn move_ref(
    repository: &Repository,
    target: &Target,
    branch: &mut BranchMove,
    time: DateTime<Utc>,
    repaired: &mut Repaired,
    watch: Watch<'_>,
) -> Result<Vec<Pending>, HistoryError> {
    let mut refusal = String::new();
    for attempt in 0..ATTEMPTS {
        let Some((commit, name)) = tip(repository, target)? else { return Ok(Vec::new()) };
        let mut examined = Examined::read(repository, commit.id())?;
        let steps = repaired.steps.len();
        set_aside(repository, examined.unreadable(), &mut repaired.steps)?;
        let is_moved = repaired.steps.len() > steps;
        if rewrite(repository, &branch.trees, &examined, repaired) || is_moved {
            examined = Examined::read(repository, commit.id())?;
        }
        let plan = Plan::new(repository, &examined)?;
        if let Some(folder) = &plan.waits_for {
            let warning = format!(
                "left the rest alone until `git fetch --refetch` brings back the folder `{folder}/`; then repair again"
            );
            repaired.warnings.push(warning);
            return Ok(Vec::new());
        }
        if plan.left_alone > 0 {
            let files = error::count(plan.left_alone, "file");
            let warning = format!("left {files} alone that are not here, as in a partial clone; {FETCH_ALL}");
            if !repaired.warnings.contains(&warning) {
                repaired.warnings.push(warning);
            }
        }
        if plan.edits.is_empty() {
            return Ok(Vec::new());
        }
        let new = plan.commit(repository, &commit, time)?;
        watch(Step::CommitWritten);
        let pending = plan.pending(&target.reference);
        branch.journal(&pending)?;
        watch(Step::Journalled);
        branch.lock_indexes(watch);
        let expected = (name == target.reference).then(|| commit.id());
        match compare_and_swap(repository, &target.reference, expected, new, &plan.message())? {
            Swapped::Done { warning } => {
                repaired.warnings.extend(warning);
                repaired.steps.extend(plan.steps);
                repaired.commit = Some(new.to_string());
                watch(Step::RefMoved);
                return Ok(pending);
            }
            Swapped::Lost { reason, .. } => {
                refusal = reason;
                branch.release()?;
                pause(attempt);
            }
        }
    }
    Err(HistoryError::Contended { reference: target.reference.clone(), attempts: ATTEMPTS, reason: refusal })
}

/// Writes unreadable objects again whose bytes a working tree still has; whether there were any.
fn rewrite(repository: &Repository, trees: &[Checkout], examined: &Examined<'_>, repaired: &mut Repaired) -> bool {
    let unreadable: Vec<&TipFile> = examined
        .faults
        .iter()
        .filter(|fault| fault.finding.kind == FindingKind::Unreadable)
        .map(|fault| &fault.file)
        .collect();
    let contents = contents(trees, &unreadable);
    for (id, bytes) in &contents {
        match repository.blob(bytes) {
            Ok(_) => repaired.steps.push(format!("wrote the object {id} again from the file in a working tree")),
            Err(why) => {
                repaired.warnings.push(format!("the object {id} could not be written again: {}", why.message()))
            }
        }
    }
    !contents.is_empty()
}

/// The bytes of the wanted files in working trees, where they have the right hash.
fn contents(trees: &[Checkout], wanted: &[&TipFile]) -> BTreeMap<Oid, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for (checkout, file) in trees.iter().flat_map(|checkout| wanted.iter().map(move |file| (checkout, file))) {
        let Some(place) = native(&file.path).map(|path| checkout.folder.join(path)) else { continue };
        let is_file = fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_file());
        let Some(bytes) = is_file.then(|| fs::read(&place).ok()).flatten() else { continue };
        if Oid::hash_object(ObjectType::Blob, &bytes).is_ok_and(|id| id == file.id) {
            contents.insert(file.id, bytes);
        }
    }
    contents
}

#[derive(Default)]
struct Plan {
    edits: Edits,
    steps: Vec<String>,
    removed: Vec<TipFile>,
    set_aside: usize,
    restored: usize,
    left_alone: usize,
    /// A folder that cannot be read and that the remote has.
    waits_for: Option<String>,
}

impl Plan {
    fn new(repository: &Repository, examined: &Examined<'_>) -> Result<Plan, HistoryError> {
        let mut plan = Plan { left_alone: examined.absent.len(), ..Plan::default() };
        let unsent = if examined.tip.lost.is_empty() { None } else { objects::unsent(repository) };
        for folder in &examined.tip.lost {
            // What a remote has it gives back, and nothing can be put next to it before.
            if unsent.as_ref().is_some_and(|unsent| !unsent.contains(&folder.id)) {
                plan.waits_for = Some(folder.text());
                return Ok(plan);
            }
            plan.edits.insert(folder.path.clone(), Edit::Remove);
            plan.steps.push(format!("left out the folder `{}/`, which cannot be read", folder.text()));
            plan.set_aside += 1;
        }
        for fault in &examined.faults {
            if is_valid_but_executable(repository, &fault.file) {
                plan.make_plain(&fault.file);
            } else {
                plan.remove(repository, &examined.promises, &fault.file)?;
            }
        }
        for (path, blob) in &examined.losses.replaced {
            let promises = &examined.promises;
            plan.remove(repository, promises, &TipFile { path: path.clone().into_bytes(), mode: PLAIN, id: *blob })?;
        }
        for (path, blob) in examined.losses.set_aside.iter().filter(|(_, blob)| !examined.promises.cover(*blob)) {
            plan.quarantine_file(repository, &TipFile { path: path.clone().into_bytes(), mode: PLAIN, id: *blob })?;
        }
        for (path, blob) in &examined.losses.restore {
            plan.edits.insert(path.clone().into_bytes(), Edit::Put(*blob));
            plan.steps.push(format!("brought back `{path}`"));
            plan.restored += 1;
        }
        Ok(plan)
    }

    fn make_plain(&mut self, file: &TipFile) {
        self.edits.insert(file.path.clone(), Edit::Put(file.id));
        self.steps.push(format!("made `{}` a plain file", file.text()));
        self.removed.push(file.clone());
        self.restored += 1;
    }

    /// Quarantines a file, or a folder with everything below it. A file that a partial clone lacks stays.
    fn remove(&mut self, repository: &Repository, promises: &Promises<'_>, file: &TipFile) -> Result<(), HistoryError> {
        if self.edits.contains_key(&file.path) {
            return Ok(());
        }
        let files = below(repository, file);
        let absent = files.iter().filter(|file| file.mode != SUBMODULE && promises.cover(file.id)).count();
        if absent > 0 {
            self.left_alone += absent;
            return Ok(());
        }
        self.edits.insert(file.path.clone(), Edit::Remove);
        for file in files {
            self.quarantine_file(repository, &file)?;
            self.removed.push(file);
        }
        Ok(())
    }

    fn quarantine_file(&mut self, repository: &Repository, file: &TipFile) -> Result<(), HistoryError> {
        let note = || repository.blob(format!("{}\n", file.id).as_bytes()).map_err(failed("write a note"));
        let (digits, ending, content) = if file.mode == SUBMODULE {
            (content::digits_of_id(file.id), content::SUBMODULE, note()?)
        } else {
            match objects::check(repository, file.id).and_then(|()| repository.find_blob(file.id)) {
                Ok(blob) => (content::digits_of(blob.content()), "", file.id),
                Err(_) => (content::digits_of_id(file.id), MISSING, note()?),
            }
        };
        let place = content::place(&digits, &file.text(), ending);
        if self.edits.insert(place.clone().into_bytes(), Edit::Put(content)).is_some() {
            return Ok(());
        }
        self.steps.push(match ending {
            MISSING => format!("noted in `{place}` that the content of `{}` could not be read", file.text()),
            _ => format!("set aside `{}` as `{place}`", file.text()),
        });
        self.set_aside += 1;
        Ok(())
    }

    fn pending(&self, reference: &str) -> Vec<Pending> {
        let removed = self.removed.iter().map(|file| Pending::removed(reference, &file.path, file.id));
        let put = self.edits.iter().filter_map(|(path, edit)| match edit {
            Edit::Put(blob) => Some(Pending::new(reference, std::str::from_utf8(path).ok()?, *blob)),
            Edit::Remove => None,
        });
        removed.chain(put).collect()
    }

    fn message(&self) -> String {
        format!("sprag: set aside {} and bring back {} of the history", self.set_aside, self.restored)
    }

    fn commit(&self, repository: &Repository, parent: &Commit<'_>, time: DateTime<Utc>) -> Result<Oid, HistoryError> {
        let change = |base: &Tree<'_>| match edited(repository, Some(base), &self.edits)? {
            Some(tree) => Ok(tree),
            None => repository.treebuilder(None)?.write(),
        };
        let (signature, _) = signature_at(repository, time)?;
        let message = format!("{}\n\n{}\n", self.message(), self.steps.join("\n"));
        let written = objects::write_commit(repository, None, Some(parent), &signature, &message, change);
        let (commit, tree) = written.map_err(failed("write the commit"))?;
        let put = self.edits.iter().filter(|(_, edit)| **edit != Edit::Remove);
        let paths: Vec<String> = put.map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect();
        objects::sync_commit(repository, commit, &tree, &paths)?;
        Ok(commit)
    }
}

fn below(repository: &Repository, file: &TipFile) -> Vec<TipFile> {
    let tree = objects::check(repository, file.id).and_then(|()| repository.find_tree(file.id));
    let Ok(tree) = tree else { return vec![file.clone()] };
    let join = |name: &[u8]| [&file.path, &b"/"[..], name].concat();
    let entries =
        tree.iter().map(|entry| TipFile { path: join(entry.name_bytes()), mode: entry.filemode(), id: entry.id() });
    entries.flat_map(|entry| below(repository, &entry)).collect()
}

fn is_valid_but_executable(repository: &Repository, file: &TipFile) -> bool {
    if file.mode != EXECUTABLE || objects::check(repository, file.id).is_err() {
        return false;
    }
    let Ok(blob) = repository.find_blob(file.id) else { return false };
    !content::is_damaged(&file.text(), PLAIN, blob.content())
}

fn records_of(repository: &Repository, target: &Target) -> Result<Vec<Pending>, HistoryError> {
    let Some((commit, _)) = tip(repository, target)? else { return Ok(Vec::new()) };
    let tree = commit.tree().map_err(failed("read the tree of the history"))?;
    let tip = Tip::read(repository, &tree);
    let promises = Promises::new(repository)?;
    let files = tip.runs.iter().chain(&tip.events).chain(&tip.auxiliary).chain(&tip.quarantined);
    let files = files.filter(|file| !promises.cover(file.id));
    let paths: BTreeMap<String, Oid> = files.map(|file| (file.text(), file.id)).collect();
    Ok(paths.into_iter().map(|(path, blob)| Pending::new(&target.reference, &path, blob)).collect())
}
