//! Adding records to the branch of the history.
//!
//! In order: the lock; the objects; where working trees are on the branch, the new files staged inside the git folder; the
//! journal; git's locks of the indexes of those trees; the ref, by compare-and-swap; then the files and the index entries; last
//! the journal goes. An append that is cut short before the ref moves has not happened. After that, the journal lets the working
//! trees catch up.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use git2::build::TreeUpdateBuilder;
use git2::{Commit, FileMode, ObjectType, Oid, Repository, Signature, Tree};

use crate::checkout::BranchMove;
use crate::error::{HistoryError, failed};
use crate::inherited;
use crate::layout::{self, PLAIN};
use crate::objects::{self, Swapped, TreeLookup, compare_and_swap, write_commit};
use crate::packs::{self, map_in_parallel};
use crate::past::{record_digest, vouches};
use crate::repository::{Store, signature_at};
use crate::salvage::{exists, set_aside};
use crate::state::{MANY_FILES, Pending, Step, Watch, pause};
use crate::target::{Target, tip};
use sprag_base::json;
use sprag_model::event_record::EventRecord;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::retraction::Retraction;
use sprag_model::run::Run;

/// How often a moved or locked ref is tried again, about eight seconds in all: a `git commit` in a loop moves it quickly.
const ATTEMPTS: u32 = 64;

/// After so many attempts the indexes stay locked from one to the next, or a `git commit` in a loop could always be faster.
const FAIR_ATTEMPTS: u32 = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The branch, in full.
    pub reference: String,
    /// Absent where the history had all records already.
    pub commit: Option<String>,
    pub added: Vec<String>,
    /// The paths that the history had already.
    pub present: Vec<String>,
    /// As `name <email>`.
    pub author: String,
    /// Git's configuration names nobody.
    pub stand_in: bool,
    /// One sentence each.
    pub warnings: Vec<String>,
}

/// Appends the records to the branch, all in one commit of the time `time`. Records that the history has already are skipped.
///
/// Nothing is checked out, and what users have staged stays as it is. Every working tree on the branch gets the files and their
/// index entries; a failure of that is a warning, since the records are safe.
///
/// No program runs: no hook, no filter driver, no `core.fsmonitor`, no signing. Line endings are not converted. A warning names
/// attributes by which git would call the records changed. Of git's configuration count `user.name` and `user.email`, and the
/// settings by which libgit2 writes objects, refs and their logs. Variables such as `GIT_DIR` or `GIT_AUTHOR_NAME` do not count.
///
/// # Errors
/// When loading would refuse a record, when its path is taken by something else or differs from another one by case alone, when
/// the ref cannot be moved, or when git or the file system fail, also in flushing to the disk. The history is then as it was.
pub fn append(
    store: &Store,
    target: &Target,
    records: &[Record],
    time: DateTime<Utc>,
) -> Result<Appended, HistoryError> {
    append_watched(store, target, records, time, &mut |_| {})
}

pub(crate) fn append_watched(
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
    let records = batch(records)?;
    inherited::begin(&store.repository, target)?;
    let mut branch = BranchMove::begin(&store.repository, &target.reference, watch)?;
    let present = records.values().filter(|(record, blob)| record.stored.is_none() && exists(&store.repository, *blob));
    set_aside(&store.repository, present.map(|(_, blob)| *blob), &mut branch.warnings)?;
    let append = Append { repository: &store.repository, target, records: &records, time };
    // The first error counts; the next append removes what is left.
    let mut appended = append.move_ref(&mut branch, watch).inspect_err(|_| branch.abandon())?;
    watch(Step::RefMoved);
    branch.warnings.append(&mut appended.warnings);
    if appended.commit.is_none() && !branch.trees.is_empty() {
        // By a journal, the next command knows that the lock of an index is ours.
        branch.journal(&append.pending())?;
    }
    let were_locked = branch.are_all_locked();
    branch.catch_up(&append.pending(), watch);
    if !were_locked {
        branch.warnings.extend(append.removed_warning()?);
    }
    Ok(Appended { warnings: branch.finish(), ..appended })
}

struct Append<'a> {
    repository: &'a Repository,
    target: &'a Target,
    records: &'a Batch<'a>,
    time: DateTime<Utc>,
}

impl Append<'_> {
    /// Makes the commit on the tip and moves the ref to it; tries again where another process was faster.
    fn move_ref(&self, branch: &mut BranchMove, watch: Watch<'_>) -> Result<Appended, HistoryError> {
        let (signature, stand_in) = signature_at(self.repository, self.time)?;
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
        let mut packed = BTreeSet::new();
        let mut prepared = false;
        let mut refusal = String::new();
        for attempt in 0..ATTEMPTS {
            let tip = tip(self.repository, self.target)?;
            (appended.added, appended.present) = self.split(tip.as_ref().map(|(commit, _)| commit))?;
            let present = appended.present.iter().map(|path| self.records[path.as_str()]);
            let lost = |(record, blob): &(&Record, Oid)| record.stored.is_none() && !exists(self.repository, *blob);
            for (record, _) in present.filter(lost) {
                self.repository.blob(&record.bytes).map_err(failed("write a record again"))?;
            }
            if appended.added.is_empty() {
                return Ok(appended);
            }
            if appended.added.len() > MANY_FILES {
                let new = appended.added.iter().filter(|path| packed.insert((*path).clone()));
                let loose = new.map(|path| self.records[path.as_str()]).filter(|(record, _)| record.stored.is_none());
                let blobs: BTreeMap<Oid, &[u8]> = loose.map(|(record, blob)| (blob, &record.bytes[..])).collect();
                if !blobs.is_empty() {
                    packs::write(self.repository, &blobs)?;
                }
            }
            let commit = self.commit(tip.as_ref().map(|(commit, _)| commit), &appended.added, &signature)?;
            watch(Step::CommitWritten);
            if !prepared {
                self.prepare(branch, watch)?;
                prepared = true;
            }
            // Others wait meanwhile, so this comes last before the move.
            branch.lock_indexes(watch);
            let expected = tip.as_ref().filter(|(_, name)| *name == self.target.reference).map(|(tip, _)| tip.id());
            let message = self.message();
            let subject = message.lines().next().unwrap_or_default();
            match compare_and_swap(self.repository, &self.target.reference, expected, commit, subject)? {
                Swapped::Done { warning } => {
                    appended.commit = Some(commit.to_string());
                    appended.warnings.extend(warning);
                    return Ok(appended);
                }
                Swapped::Lost { reason, is_locked } => {
                    refusal = reason;
                    if attempt < FAIR_ATTEMPTS || is_locked || !branch.are_all_locked() {
                        branch.release()?;
                    }
                    pause(attempt);
                }
            }
        }
        let reference = self.target.reference.clone();
        Err(HistoryError::Contended { reference, attempts: ATTEMPTS, reason: refusal })
    }

    /// The paths that the tree of the tip lacks, and those that it has.
    fn split(&self, tip: Option<&Commit<'_>>) -> Result<(Vec<String>, Vec<String>), HistoryError> {
        let (mut added, mut present) = (Vec::new(), Vec::new());
        let tree = tip.map(Commit::tree).transpose().map_err(failed("read the tree of the history"))?;
        let mut folders = tree.map(|tree| TreeLookup::new(self.repository, tree));
        for (&path, (_, blob)) in self.records {
            let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
            let mut present_entry = None;
            for end in ends {
                let Some(folders) = &mut folders else { break };
                let Some(entry) = folders.get(&path[..end]).map_err(failed("read the tree of the history"))? else {
                    folders.check_collision(&path[..end])?;
                    break;
                };
                if end == path.len() {
                    present_entry = Some(entry);
                } else if !entry.is_folder() {
                    let reference = self.target.reference.clone();
                    return Err(HistoryError::NotAFolder { path: path[..end].to_owned(), reference });
                }
            }
            match present_entry {
                None => added.push(path.to_owned()),
                Some(entry) if entry.id == *blob && entry.mode == PLAIN => present.push(path.to_owned()),
                Some(_) => {
                    let reference = self.target.reference.clone();
                    return Err(HistoryError::Different { path: path.to_owned(), reference });
                }
            }
        }
        if let Some((path, other)) = objects::find_collision(self.records.keys().copied()) {
            return Err(HistoryError::Alike { path: path.to_owned(), other: other.to_owned() });
        }
        Ok((added, present))
    }

    /// The warning about records that the branch lost again: where an index could not be locked, a `git commit` under way may have
    /// removed them.
    fn removed_warning(&self) -> Result<Option<String>, HistoryError> {
        let tip = tip(self.repository, self.target)?;
        let (dropped, _) = self.split(tip.as_ref().map(|(commit, _)| commit))?;
        let reference = &self.target.reference;
        let warning = |path: &String| {
            format!("a commit that was under way took `{path}` out of `{reference}` again; record it again")
        };
        Ok(dropped.first().map(warning))
    }

    /// Writes the commit, and the blobs unless they are in a pack.
    fn commit(
        &self,
        tip: Option<&Commit<'_>>,
        paths: &[String],
        signature: &Signature<'_>,
    ) -> Result<Oid, HistoryError> {
        let refused = || failed("write the commit");
        let are_packed = paths.len() > MANY_FILES;
        let mut update = TreeUpdateBuilder::new();
        for path in paths {
            let (record, blob) = self.records[path.as_str()];
            if !are_packed && record.stored.is_none() {
                self.repository.blob(&record.bytes).map_err(refused())?;
            }
            update.upsert(path.as_str(), blob, FileMode::Blob);
        }
        let change = |base: &Tree<'_>| update.create_updated(self.repository, base);
        let message = self.message();
        let (commit, tree) = write_commit(self.repository, None, tip, signature, &message, change).map_err(refused())?;
        // A pack is flushed already.
        let folder = |path: &String| if are_packed { parent(path).to_owned() } else { path.clone() };
        let unflushed: BTreeSet<String> = paths.iter().map(folder).collect();
        objects::sync_commit(self.repository, commit, &tree, &unflushed.into_iter().collect::<Vec<_>>())?;
        Ok(commit)
    }

    /// Stages the files, where working trees want them, and writes the journal. So a full disk fails before the ref moves.
    fn prepare(&self, branch: &BranchMove, watch: Watch<'_>) -> Result<(), HistoryError> {
        let count = if branch.trees.is_empty() { 0 } else { self.records.len() };
        let files = self.records.values().map(|(record, blob)| {
            let content: Cow<'_, [u8]> = match record.stored {
                None => Cow::Borrowed(&record.bytes),
                Some(_) => {
                    let blob = self.repository.find_blob(*blob).map_err(failed("read a record"))?;
                    Cow::Owned(blob.content().to_vec())
                }
            };
            Ok((blob.to_string(), content))
        });
        branch.state.stage_all(count, files)?;
        watch(Step::Staged);
        branch.journal(&self.pending())?;
        watch(Step::Journalled);
        Ok(())
    }

    fn message(&self) -> String {
        let subjects: Vec<&str> = self.records.values().map(|(record, _)| record.subject.as_str()).collect();
        message(&subjects)
    }

    fn pending(&self) -> Vec<Pending> {
        let reference = &self.target.reference;
        let records = self.records.iter();
        records.map(|(path, (_, blob))| Pending::new(reference, path, *blob)).collect()
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

// The records that one append takes.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub path: String,
    /// Empty where the repository holds them already.
    pub bytes: Vec<u8>,
    /// The subject of the commit that records it alone.
    pub subject: String,
    /// The blob that [`store_blobs`] wrote.
    pub(crate) stored: Option<Oid>,
    /// The path of the run that the bytes were made of, if a record can hold it.
    pub(crate) checked: Option<String>,
}

impl Record {
    pub fn from_run(run: &Run) -> Record {
        let (_, path, bytes) = run.to_record();
        let is_valid = bytes.len() <= MAX_RECORD_BYTES && json::check_size(&bytes).is_ok() && run.check().is_ok();
        Record { checked: is_valid.then(|| path.clone()), ..Record::auxiliary(path, bytes, run.subject()) }
    }

    pub fn from_event(record: &EventRecord) -> Record {
        let (path, bytes, subject) = record.to_file();
        Record::auxiliary(path, bytes, subject)
    }

    pub fn from_retraction(retraction: &Retraction) -> Record {
        let (path, bytes, subject) = retraction.to_file();
        Record::auxiliary(path, bytes, subject)
    }

    /// A file in a folder whose name begins with an underscore. Readers that do not know the folder ignore it.
    pub fn auxiliary(path: String, bytes: Vec<u8>, subject: String) -> Record {
        Record { path, bytes, subject, stored: None, checked: None }
    }

    /// Whether it is as it was made of a run, and may be recorded.
    fn is_intact(&self) -> bool {
        self.checked.as_ref() == Some(&self.path) && vouches(&self.path, record_digest(&self.bytes).as_ref())
    }
}

/// Records by path, each with the id of its blob.
type Batch<'a> = BTreeMap<&'a str, (&'a Record, Oid)>;

/// Writes the records as blobs, so that [`append`] needs them no longer in memory. They belong to no commit yet: git removes them
/// some day where no append follows.
pub fn store_blobs(store: &Store, records: &mut [Record]) -> Result<(), HistoryError> {
    let blobs = checked_blobs(records)?;
    let new = records.iter().zip(&blobs).filter(|(record, _)| record.stored.is_none());
    packs::write(&store.repository, &new.map(|(record, blob)| (*blob, &record.bytes[..])).collect())?;
    for (record, blob) in records.iter_mut().zip(blobs) {
        (record.bytes, record.stored) = (Vec::new(), Some(blob));
    }
    Ok(())
}

/// The blob of each record, which may be recorded at its path.
fn checked_blobs(records: &[Record]) -> Result<Vec<Oid>, HistoryError> {
    let check = |record: &Record| match record.stored {
        Some(blob) => Ok(blob),
        None => {
            if !record.is_intact() {
                layout::check_file(&record.path, &record.bytes)?;
            }
            Oid::hash_object(ObjectType::Blob, &record.bytes).map_err(|error| error.message().to_owned())
        }
    };
    let fault = |record: &Record, reason| HistoryError::BadRecord { path: record.path.clone(), reason };
    let checked = records.iter().zip(map_in_parallel(records, check));
    checked.map(|(record, blob)| blob.map_err(|reason| fault(record, reason))).collect()
}

fn batch(records: &[Record]) -> Result<Batch<'_>, HistoryError> {
    let mut batch = Batch::new();
    for (record, blob) in records.iter().zip(checked_blobs(records)?) {
        let fault = |reason: String| HistoryError::BadRecord { path: record.path.clone(), reason };
        if batch.insert(&record.path, (record, blob)).is_some_and(|(_, earlier)| earlier != blob) {
            return Err(fault("is given twice, with different content".to_owned()));
        }
    }
    Ok(batch)
}

/// Of one record its subject; of a few of one commit `sprag: cpu ok, gpu skipped at …`; else how many there are, and the subject
/// of each below.
pub(crate) fn message(subjects: &[&str]) -> String {
    match (subjects, joined(subjects)) {
        ([only], _) => format!("{only}\n"),
        (_, Some(together)) => format!("{together}\n"),
        (several, None) => format!("sprag: {} records\n\n{}\n", several.len(), several.join("\n")),
    }
}

fn joined(subjects: &[&str]) -> Option<String> {
    const MOST: usize = 4;
    let parts: Option<Vec<(&str, &str)>> =
        subjects.iter().map(|subject| subject.strip_prefix("sprag: ")?.rsplit_once(" at ")).collect();
    let parts = parts.filter(|parts| parts.len() <= MOST)?;
    let commit = parts.first()?.1;
    let runs: Vec<&str> = parts.iter().map(|(run, _)| *run).collect();
    let distinct = runs.iter().collect::<BTreeSet<_>>().len() == runs.len();
    (distinct && parts.iter().all(|(_, other)| *other == commit))
        .then(|| format!("sprag: {} at {commit}", runs.join(", ")))
}
