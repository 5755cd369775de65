//! Adding records to the branch of the history.
//!
//! In order: the lock; the objects; where working trees are on the branch, the new files staged inside the git folder;
//! the journal; the ref, by compare-and-swap; then the files and the index entries; last the journal goes. Whatever is
//! cut short before the ref moves has not happened. Whatever is cut short after it has, and the journal lets the
//! working trees catch up.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use git2::build::TreeUpdateBuilder;
use git2::{Commit, ErrorCode, FileMode, ObjectType, Oid, Repository, Signature};

use super::checkout::{Checkouts, heal_locked};
use super::target::{Target, tip};
use super::{Store, durable, failed};
use crate::history::HistoryError;
use crate::history::layout::{self, Kind, PLAIN};
use crate::history::state::{Pending, StateFolder, pause};
use crate::model::run::Run;

/// How often a moved or locked ref is tried again, about two seconds in all.
const ATTEMPTS: u32 = 16;

/// Who commits where git's configuration names nobody.
const NOBODY: (&str, &str) = ("sprag", "sprag@localhost");

/// A file to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it goes in the tree.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The subject of the commit that records it alone.
    pub subject: String,
}

impl Record {
    /// The record of a run.
    pub fn of(run: &Run) -> Record {
        let (_, path, bytes) = run.to_record();
        Record { path, bytes, subject: run.subject() }
    }
}

/// What an append did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The branch, in full.
    pub reference: String,
    /// The commit that was made; absent where the history had all records already.
    pub commit: Option<String>,
    /// The paths that are new, in order.
    pub added: Vec<String>,
    /// The paths that the history had already, with the same content.
    pub present: Vec<String>,
    /// Who the commit says made it, as `name <email>`.
    pub author: String,
    /// Whether git's configuration names nobody, so that the author is a stand-in.
    pub stand_in: bool,
    /// What went wrong after the records were safe, one sentence each.
    pub warnings: Vec<String>,
}

/// Appends the records to the branch, all in one commit that bears `time`.
///
/// A record that the history has already is nothing to do. Nothing is checked out, and what users have staged stays as
/// it is; signing is left out even where git's configuration asks for it. Where the branch is checked out, in whichever
/// working tree, the files and their index entries are added there; when that fails, the records are safe all the same,
/// and the failure is a warning.
///
/// # Errors
/// When a record is one that loading would refuse, when its path is taken by something else, when the ref cannot be
/// moved, or when git or the file system refuse. The history is then as it was.
pub fn append(
    store: &Store,
    target: &Target,
    records: &[Record],
    time: DateTime<Utc>,
) -> Result<Appended, HistoryError> {
    append_watched(store, target, records, time, &mut |_| {})
}

/// The moments between the steps of an append, at which tests cut it short or step in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The lock is held, and what an earlier append left is healed.
    Locked,
    /// Blobs, trees and the commit are in the object database.
    CommitWritten,
    /// The files lie in the git folder.
    Staged,
    /// The journal is written.
    Journalled,
    /// The branch has the records.
    RefMoved,
    /// A file is at its place.
    FilePlaced,
    /// The index is locked.
    IndexLocked,
    /// The new index lies in the git folder.
    IndexReady,
    /// The new index is in place, and still locked.
    IndexWritten,
    /// The working trees have caught up.
    CaughtUp,
}

/// Sees each step when it is done.
pub(super) type Watch<'a> = &'a mut dyn FnMut(Step);

pub(super) fn append_watched(
    store: &Store,
    target: &Target,
    records: &[Record],
    time: DateTime<Utc>,
    watch: Watch<'_>,
) -> Result<Appended, HistoryError> {
    if !target.reference.starts_with("refs/heads/") {
        let reason = "only branches hold records";
        return Err(HistoryError::BadRef { name: target.reference.clone(), reason });
    }
    let repository = &store.repository;
    let records = Batch::new(records)?;
    let state = StateFolder::of(repository.commondir());
    let lock = state.lock()?;
    let (healed, unfinished) = heal_locked(repository, &state, &lock, watch)?;
    watch(Step::Locked);
    let checkouts = Checkouts::of(repository, &target.reference)?;
    let append = Append { repository, target, records: &records, time, state: &state, unfinished };
    let moved = match append.move_ref(!checkouts.found.is_empty(), watch) {
        Ok(moved) => moved,
        Err(error) => {
            // The error that came first is the one to tell; what is left lying is removed by the next append.
            let _ = state.settle(&append.unfinished);
            return Err(error);
        }
    };
    watch(Step::RefMoved);
    let mut warnings = healed.warnings;
    warnings.extend(checkouts.warnings);
    let mut unfinished = append.unfinished.clone();
    for checkout in &checkouts.found {
        let caught_up = checkout.catch_up(&append.pending(), &state, watch);
        warnings.extend(caught_up.warnings);
        unfinished.extend(caught_up.unfinished);
    }
    watch(Step::CaughtUp);
    unfinished.sort();
    unfinished.dedup();
    if let Err(error) = state.settle(&unfinished) {
        warnings.push(error.to_string());
    }
    Ok(Appended { warnings, ..moved })
}

/// Records with distinct paths, in order of path, each with the id of its blob.
struct Batch<'a>(BTreeMap<&'a str, (&'a Record, Oid)>);

impl<'a> Batch<'a> {
    fn new(records: &'a [Record]) -> Result<Batch<'a>, HistoryError> {
        let mut batch: BTreeMap<&str, (&Record, Oid)> = BTreeMap::new();
        for record in records {
            let fault = |reason: String| HistoryError::BadRecord { path: record.path.clone(), reason };
            match layout::check_path(&record.path).map_err(fault)? {
                Kind::Run => layout::check_record(&record.path, PLAIN, &record.bytes).map(|_| ()).map_err(fault)?,
                Kind::Aside => {}
            }
            let blob = Oid::hash_object(ObjectType::Blob, &record.bytes).map_err(failed("hash a record"))?;
            let earlier = batch.insert(&record.path, (record, blob));
            if earlier.is_some_and(|(_, earlier)| earlier != blob) {
                return Err(fault("is given twice, with different content".to_owned()));
            }
        }
        Ok(Batch(batch))
    }

    /// The subject of the record where it is alone; of a few of one commit `sprag: cpu ok, gpu skipped at …`; else how
    /// many there are, and the subject of each below.
    fn message(&self) -> String {
        let subjects: Vec<&str> = self.0.values().map(|(record, _)| record.subject.as_str()).collect();
        match (&subjects[..], joined(&subjects)) {
            ([only], _) => format!("{only}\n"),
            (_, Some(together)) => format!("{together}\n"),
            (several, None) => format!("sprag: {} records\n\n{}\n", several.len(), several.join("\n")),
        }
    }
}

/// The subjects in one, if they are of one commit and few enough to be read.
fn joined(subjects: &[&str]) -> Option<String> {
    const MOST: usize = 4;
    let parts: Option<Vec<(&str, &str)>> =
        subjects.iter().map(|subject| subject.strip_prefix("sprag: ")?.rsplit_once(" at ")).collect();
    let parts = parts.filter(|parts| parts.len() <= MOST)?;
    let commit = parts.first()?.1;
    let runs: Vec<&str> = parts.iter().map(|(run, _)| *run).collect();
    let distinct = runs.iter().collect::<std::collections::BTreeSet<_>>().len() == runs.len();
    (distinct && parts.iter().all(|(_, other)| *other == commit))
        .then(|| format!("sprag: {} at {commit}", runs.join(", ")))
}

/// An append with the lock held.
struct Append<'a> {
    repository: &'a Repository,
    target: &'a Target,
    records: &'a Batch<'a>,
    time: DateTime<Utc>,
    state: &'a StateFolder,
    /// What an earlier append left that could not be healed yet; it stays in the journal.
    unfinished: Vec<Pending>,
}

impl Append<'_> {
    /// Makes the commit on the tip and moves the ref from the tip to it, until nobody was faster.
    fn move_ref(&self, stage: bool, watch: Watch<'_>) -> Result<Appended, HistoryError> {
        let (signature, stand_in) = self.signature()?;
        let author = signature.to_string();
        let mut appended = Appended {
            reference: self.target.reference.clone(),
            commit: None,
            added: Vec::new(),
            present: Vec::new(),
            author,
            stand_in,
            warnings: Vec::new(),
        };
        let mut prepared = false;
        let mut refusal = String::new();
        for attempt in 0..ATTEMPTS {
            let tip = tip(self.repository, self.target)?;
            (appended.added, appended.present) = self.split(tip.as_ref().map(|(commit, _)| commit))?;
            if appended.added.is_empty() {
                return Ok(appended);
            }
            let commit = self.commit(tip.as_ref().map(|(commit, _)| commit), &appended.added, &signature)?;
            watch(Step::CommitWritten);
            if !prepared {
                self.prepare(stage, watch)?;
                prepared = true;
            }
            let expected = tip.as_ref().filter(|(_, name)| *name == self.target.reference).map(|(tip, _)| tip.id());
            match self.compare_and_swap(expected, commit) {
                Ok(()) => {
                    appended.commit = Some(commit.to_string());
                    return Ok(appended);
                }
                Err(error) if matches!(error.code(), ErrorCode::Modified | ErrorCode::Exists | ErrorCode::Locked) => {
                    refusal = error.message().to_owned();
                    pause(attempt);
                }
                Err(error) => return Err(failed("move the branch of the history")(error)),
            }
        }
        let reference = self.target.reference.clone();
        Err(HistoryError::Contended { reference, attempts: ATTEMPTS, reason: refusal })
    }

    /// The paths that the tree of the tip lacks, and those that it has.
    fn split(&self, tip: Option<&Commit<'_>>) -> Result<(Vec<String>, Vec<String>), HistoryError> {
        let (mut added, mut present) = (Vec::new(), Vec::new());
        let tree = tip.map(Commit::tree).transpose().map_err(failed("read the tree of the history"))?;
        for (&path, (_, blob)) in &self.records.0 {
            let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
            let mut found = None;
            for end in ends {
                let Some(tree) = &tree else { break };
                let entry = match tree.get_path(path[..end].as_ref()) {
                    Ok(entry) => entry,
                    Err(error) if error.code() == ErrorCode::NotFound => break,
                    Err(error) => return Err(failed("read the tree of the history")(error)),
                };
                if end == path.len() {
                    found = Some(entry);
                } else if entry.kind() != Some(ObjectType::Tree) {
                    let reference = self.target.reference.clone();
                    return Err(HistoryError::NotAFolder { path: path[..end].to_owned(), reference });
                }
            }
            match found {
                None => added.push(path.to_owned()),
                Some(entry) if entry.id() == *blob && entry.filemode() == PLAIN => present.push(path.to_owned()),
                Some(_) => {
                    let reference = self.target.reference.clone();
                    return Err(HistoryError::Different { path: path.to_owned(), reference });
                }
            }
        }
        Ok((added, present))
    }

    fn commit(
        &self,
        tip: Option<&Commit<'_>>,
        paths: &[String],
        signature: &Signature<'_>,
    ) -> Result<Oid, HistoryError> {
        let refused = || failed("write the commit");
        let base = match tip {
            Some(tip) => tip.tree().map_err(refused())?,
            None => {
                let empty = self.repository.treebuilder(None).and_then(|builder| builder.write());
                empty.and_then(|empty| self.repository.find_tree(empty)).map_err(refused())?
            }
        };
        let mut update = TreeUpdateBuilder::new();
        for path in paths {
            let (record, _) = self.records.0[path.as_str()];
            let blob = self.repository.blob(&record.bytes).map_err(refused())?;
            update.upsert(path.as_str(), blob, FileMode::Blob);
        }
        let tree = update.create_updated(self.repository, &base).map_err(refused())?;
        let tree = self.repository.find_tree(tree).map_err(refused())?;
        let parents: Vec<&Commit<'_>> = tip.into_iter().collect();
        let message = self.records.message();
        let commit = self.repository.commit(None, signature, signature, &message, &tree, &parents).map_err(refused())?;
        durable::sync_commit(self.repository, commit, &tree, paths);
        Ok(commit)
    }

    /// Stages the files, where working trees want them, and writes the journal: a full disk is found before the ref
    /// moves, and if the process dies while it does, the lock of the ref is known for ours.
    fn prepare(&self, stage: bool, watch: Watch<'_>) -> Result<(), HistoryError> {
        for (record, blob) in self.records.0.values().filter(|_| stage) {
            self.state.stage(&blob.to_string(), &record.bytes)?;
        }
        watch(Step::Staged);
        self.state.write_journal(&[self.unfinished.clone(), self.pending()].concat())?;
        watch(Step::Journalled);
        Ok(())
    }

    fn compare_and_swap(&self, expected: Option<Oid>, commit: Oid) -> Result<(), git2::Error> {
        let (name, message) = (&self.target.reference, self.records.message());
        let message = message.lines().next().unwrap_or_default();
        match expected {
            Some(expected) => self.repository.reference_matching(name, commit, true, expected, message)?,
            None => self.repository.reference(name, commit, false, message)?,
        };
        durable::sync_ref(self.repository, name);
        Ok(())
    }

    fn pending(&self) -> Vec<Pending> {
        let reference = &self.target.reference;
        let records = self.records.0.iter();
        let pending = records.map(|(path, (_, blob))| Pending {
            reference: reference.clone(),
            path: (*path).to_owned(),
            blob: blob.to_string(),
        });
        pending.collect()
    }

    /// Who commits, and whether that is a stand-in.
    fn signature(&self) -> Result<(Signature<'static>, bool), HistoryError> {
        let time = git2::Time::new(self.time.timestamp(), 0);
        if let Ok(known) = self.repository.signature() {
            let (name, email) =
                (String::from_utf8_lossy(known.name_bytes()), String::from_utf8_lossy(known.email_bytes()));
            if let Ok(signature) = Signature::new(&name, &email, &time) {
                return Ok((signature, false));
            }
        }
        let (name, email) = NOBODY;
        Ok((Signature::new(name, email, &time).map_err(failed("name an author"))?, true))
    }
}
