//! Moving runs of past months off the branch, once a snapshot outside git has them.
//!
//! One commit removes the files and adds notes about the snapshots. Earlier commits keep the runs, so roots and proofs stay.
//! With a remote, a run is moved only if the remote had it after the last sync: then every clone can look up in the trees of its
//! commits which runs left, and a run that is new elsewhere is not mistaken for one of them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use git2::{Commit, ObjectType, Oid, Repository, Tree};

use crate::append::Record;
use crate::archived::{Archived, NoteFit};
use crate::checkout::BranchMove;
use crate::error::{self, FETCH_ALL, HistoryError, failed};
use crate::inherited;
use crate::layout::{Leaf, Name, PLAIN};
use crate::listing::{absent_notes, archives_in};
use crate::objects::{self, Edit, Edits, Promises, Swapped, TreeLookup, compare_and_swap, edited};
use crate::past::Digests;
use crate::repository::{Store, signature_at};
use crate::state::{Pending, Step, Watch, pause};
use crate::sync::outcome::SyncError;
use crate::sync::plan::{RemoteBranch, commit_of};
use crate::target::{Target, tip};
use sprag_model::archive::Archive;
use sprag_model::run::RECORD_ROOT;

const ATTEMPTS: u32 = 64;

/// Months whose runs can leave the branch.
#[derive(Debug, Default)]
pub struct PastMonths {
    /// A commit that has all of them.
    pub commit: String,
    pub months: Vec<PastMonth>,
}

#[derive(Debug)]
pub struct PastMonth {
    /// As `<suite>/<yyyy>/<mm>`.
    pub folder: String,
    /// The id of its tree.
    pub tree: String,
    /// By path.
    pub entries: Vec<Leaf>,
}

/// The newest note of each archive, also of those that were restored.
///
/// # Errors
/// Where a partial clone lacks some.
pub fn archives(store: &Store, target: &Target) -> Result<Vec<Archive>, HistoryError> {
    let repository = &store.repository;
    let Some((commit, _)) = tip(repository, target)? else { return Ok(Vec::new()) };
    let tree = commit.tree().map_err(failed("read the tree of the history"))?;
    match absent_notes(repository, &tree, &Promises::new(repository)?).len() {
        0 => Ok(archives_in(repository, &tree)?.0),
        count => {
            let what = format!("this partial clone lacks {}", error::count(count, "note of an archive"));
            Err(HistoryError::Incomplete { what, hint: FETCH_ALL })
        }
    }
}

/// The runs of an archive as earlier commits have them, so that they can be recorded again without the snapshot.
///
/// # Errors
/// Where they are not all here, or the note does not fit them.
pub fn archived_runs(store: &Store, archive: &Archive) -> Result<Vec<Record>, HistoryError> {
    let repository = &store.repository;
    let archived = Archived::by(repository, vec![archive.clone()]);
    let file = &archive.file;
    match archived.compare_runs(repository, archive, &mut Digests::new(repository)?) {
        NoteFit::Valid => {}
        NoteFit::Invalid(why) => return Err(HistoryError::Damaged(format!("the note of `{file}` {why}"))),
        NoteFit::Unknown => {
            let is_absent =
                |tree: &String| Oid::from_str(tree).and_then(|id| objects::find_tree(repository, id)).is_err();
            let lacks_months = archive.folders.values().any(is_absent);
            let what = if lacks_months { "earlier commits with the runs" } else { "the contents of some runs" };
            return Err(objects::absent(repository, format!("{what} of `{file}` are not here"), lacks_months));
        }
    }
    let mut records = Vec::new();
    for (folder, tree) in &archive.folders {
        let tree = Oid::from_str(tree).and_then(|tree| objects::find_tree(repository, tree));
        for run in runs_of(&tree.map_err(failed("read a folder of the history"))?, folder) {
            let blob = Oid::from_str(&run.blob).map_err(failed("read the id of a record"))?;
            let subject = format!("sprag: restore {}", run.path);
            records.push(Record { stored: Some(blob), ..Record::auxiliary(run.path, Vec::new(), subject) });
        }
    }
    Ok(records)
}

/// Compares a note with the runs, the commit and the root that it names. What is not here proves nothing.
///
/// # Errors
/// Where it does not fit them.
pub fn check_note(store: &Store, target: &Target, archive: &Archive) -> Result<(), HistoryError> {
    let Some((commit, _)) = tip(&store.repository, target)? else { return Ok(()) };
    match Archived::judge_below(&store.repository, commit.id(), archive)? {
        NoteFit::Invalid(why) => Err(HistoryError::Damaged(format!("the note of `{}` {why}", archive.file))),
        NoteFit::Valid | NoteFit::Unknown => Ok(()),
    }
}

/// The id that git gives a content.
pub fn blob_id(bytes: &[u8]) -> Option<String> {
    Oid::hash_object(ObjectType::Blob, bytes).ok().map(|id| id.to_string())
}

/// The months for which `is_past` is true of year and month.
///
/// # Errors
/// Where there is a remote and no sync with it yet.
pub fn past_months(
    store: &Store,
    target: &Target,
    is_past: &dyn Fn(&str, &str) -> bool,
) -> Result<PastMonths, SyncError> {
    let repository = &store.repository;
    inherited::begin(repository, target)?;
    let has_remote = !repository.remotes().map_err(failed("list the remotes"))?.is_empty();
    let synced = match has_remote {
        true => {
            let branch = RemoteBranch::choose(repository, target, None)?;
            let synced = commit_of(repository, &branch.synced())?;
            Some(synced.ok_or_else(|| SyncError::NeverSynced { branch: branch.name() })?)
        }
        false => None,
    };
    let own = tip(repository, target)?.filter(|(_, name)| *name == target.reference);
    let Some((local, _)) = own else { return Ok(PastMonths::default()) };
    let commit = synced.unwrap_or_else(|| local.id());
    let refused = || failed("read the tree of the history");
    let mut here = TreeLookup::new(repository, local.tree().map_err(refused())?);
    let tree = objects::find_tree(repository, repository.find_commit(commit).map_err(refused())?.tree_id());
    let mut months = Vec::new();
    let top = tree.map_err(refused())?;
    for (suite, of_suite) in folders(repository, &top, RECORD_ROOT)? {
        if suite.starts_with('_') {
            continue;
        }
        for (year, of_year) in folders(repository, &of_suite, "")? {
            for (month, of_month) in
                folders(repository, &of_year, "")?.into_iter().filter(|(month, _)| is_past(&year, month))
            {
                let folder = format!("{suite}/{year}/{month}");
                let entries = runs_of(&of_month, &folder);
                let mut is_here = !entries.is_empty() && entries.len() == of_month.len();
                for entry in &entries {
                    let item = here.get(&entry.path).map_err(refused())?;
                    is_here = is_here && item.is_some_and(|item| item.id.to_string() == entry.blob);
                }
                if is_here {
                    months.push(PastMonth { folder, tree: of_month.id().to_string(), entries });
                }
            }
        }
    }
    Ok(PastMonths { commit: commit.to_string(), months })
}

/// The folders in a folder of the tree, by name.
fn folders<'r>(
    repository: &'r Repository,
    tree: &Tree<'r>,
    path: &str,
) -> Result<Vec<(String, Tree<'r>)>, HistoryError> {
    let refused = || failed("read a folder of the history");
    let below = match path {
        "" => None,
        path => match tree.get_path(path.as_ref()) {
            Ok(entry) => Some(objects::find_tree(repository, entry.id()).map_err(refused())?),
            Err(_) => return Ok(Vec::new()),
        },
    };
    let mut folders = Vec::new();
    for entry in below.as_ref().unwrap_or(tree).iter().filter(|entry| entry.kind() == Some(ObjectType::Tree)) {
        let Ok(name) = entry.name() else { continue };
        folders.push((name.to_owned(), objects::find_tree(repository, entry.id()).map_err(refused())?));
    }
    Ok(folders)
}

fn runs_of(month: &Tree<'_>, folder: &str) -> Vec<Leaf> {
    let entry = |entry: git2::TreeEntry<'_>| {
        let path = format!("{RECORD_ROOT}/{folder}/{}", entry.name().ok()?);
        let is_run = entry.filemode() == PLAIN && Name::parse(&path).is_ok();
        is_run.then(|| Leaf { path, blob: entry.id().to_string() })
    };
    month.iter().filter_map(entry).collect()
}

/// Takes the runs off the branch and adds the notes, in one commit of the time `time`. Gives the commit, and warnings.
///
/// # Errors
/// When the branch no longer has one of the runs, or cannot be moved. It is then as it was.
pub fn archive(
    store: &Store,
    target: &Target,
    runs: &[Leaf],
    notes: &[Record],
    time: DateTime<Utc>,
) -> Result<(String, Vec<String>), HistoryError> {
    archive_watched(store, target, runs, notes, time, &mut |_| {})
}

pub(crate) fn archive_watched(
    store: &Store,
    target: &Target,
    runs: &[Leaf],
    notes: &[Record],
    time: DateTime<Utc>,
    watch: Watch<'_>,
) -> Result<(String, Vec<String>), HistoryError> {
    let mut branch = BranchMove::begin(&store.repository, &target.reference, watch)?;
    let mut leaving = Leaving { repository: &store.repository, target, edits: Edits::new(), pending: Vec::new(), time };
    let has_trees = !branch.trees.is_empty();
    for run in runs {
        let blob = Oid::from_str(&run.blob).map_err(failed("read the id of a record"))?;
        leaving.edits.insert(run.path.clone().into_bytes(), Edit::Remove);
        if has_trees {
            leaving.pending.push(Pending::removed(&target.reference, run.path.as_bytes(), blob));
        }
    }
    for note in notes {
        let blob = store.repository.blob(&note.bytes).map_err(failed("write a note"))?;
        leaving.edits.insert(note.path.clone().into_bytes(), Edit::Put(blob));
        leaving.pending.push(Pending::new(&target.reference, &note.path, blob));
    }
    let subjects: Vec<&str> = notes.iter().map(|note| note.subject.as_str()).collect();
    let moved = leaving.move_ref(&mut branch, runs, &crate::append::message(&subjects), watch);
    if moved.is_ok() {
        watch(Step::RefMoved);
    }
    branch.catch_up(&leaving.pending, watch);
    let warnings = branch.finish();
    moved.map(|(commit, warning)| (commit, warnings.into_iter().chain(warning).collect()))
}

struct Leaving<'a> {
    repository: &'a Repository,
    target: &'a Target,
    edits: Edits,
    pending: Vec<Pending>,
    time: DateTime<Utc>,
}

impl Leaving<'_> {
    fn move_ref(
        &self,
        branch: &mut BranchMove,
        runs: &[Leaf],
        message: &str,
        watch: Watch<'_>,
    ) -> Result<(String, Option<String>), HistoryError> {
        let mut refusal = String::new();
        for attempt in 0..ATTEMPTS {
            let Some((tip, name)) = tip(self.repository, self.target)? else { return Err(gone(runs, self.target)) };
            self.check(&tip, runs)?;
            let commit = self.commit(&tip, message)?;
            watch(Step::CommitWritten);
            if attempt == 0 {
                branch.journal(&self.pending)?;
                watch(Step::Journalled);
            }
            branch.lock_indexes(watch);
            let expected = (name == self.target.reference).then(|| tip.id());
            let subject = message.lines().next().unwrap_or_default();
            match compare_and_swap(self.repository, &self.target.reference, expected, commit, subject)? {
                Swapped::Done { warning } => return Ok((commit.to_string(), warning)),
                Swapped::Lost { reason, .. } => {
                    refusal = reason;
                    branch.release()?;
                    pause(attempt);
                }
            }
        }
        let reference = self.target.reference.clone();
        Err(HistoryError::Contended { reference, attempts: ATTEMPTS, reason: refusal })
    }

    /// Another process may have moved the same runs.
    fn check(&self, tip: &Commit<'_>, runs: &[Leaf]) -> Result<(), HistoryError> {
        let refused = || failed("read the tree of the history");
        let mut here = TreeLookup::new(self.repository, self.repository.find_tree(tip.tree_id()).map_err(refused())?);
        for run in runs {
            let item = here.get(&run.path).map_err(refused())?;
            if item.is_none_or(|item| item.id.to_string() != run.blob) {
                return Err(gone(std::slice::from_ref(run), self.target));
            }
        }
        Ok(())
    }

    fn commit(&self, tip: &Commit<'_>, message: &str) -> Result<Oid, HistoryError> {
        let (signature, _) = signature_at(self.repository, self.time)?;
        let change = |base: &Tree<'_>| {
            let tree = edited(self.repository, Some(base), &self.edits)?;
            tree.ok_or_else(|| git2::Error::from_str("there are no notes"))
        };
        let written = objects::write_commit(self.repository, None, Some(tip), &signature, message, change);
        let (commit, tree) = written.map_err(failed("write the commit"))?;
        // The folders that changed are those on the way to the files, once each.
        let folder = |path: &[u8]| String::from_utf8_lossy(path).rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let folders: BTreeMap<String, ()> = self.edits.keys().filter_map(|path| Some((folder(path)?, ()))).collect();
        let notes = self.edits.iter().filter(|(_, edit)| **edit != Edit::Remove);
        let notes = notes.map(|(path, _)| String::from_utf8_lossy(path).into_owned());
        let paths: Vec<String> = folders.into_keys().chain(notes).collect();
        objects::sync_commit(self.repository, commit, &tree, &paths)?;
        Ok(commit)
    }
}

fn gone(runs: &[Leaf], target: &Target) -> HistoryError {
    let path = runs.first().map(|run| run.path.clone()).unwrap_or_default();
    HistoryError::Moved { path, reference: target.reference.clone() }
}
