//! Adding records to the branch of the history.
//!
//! In order: the lock; the objects; where working trees are on the branch, the new files staged inside the git folder;
//! the journal; git's locks of the indexes of those trees; the ref, by compare-and-swap; then the files and the index
//! entries; last the journal goes. Whatever is cut short before the ref moves has not happened. Whatever is cut short
//! after it has, and the journal lets the working trees catch up.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use chrono::{DateTime, Utc};
use git2::build::TreeUpdateBuilder;
use git2::{Commit, FileMode, ObjectType, Oid, Repository, Signature, Tree};

use crate::checkout::{Checkout, Checkouts, heal_locked};
use crate::error::{HistoryError, failed};
use crate::index::{IndexLock, release};
use crate::layout::{self, PLAIN};
use crate::objects::{self, Swapped, TreeLookup, compare_and_swap, write_commit};
use crate::packs;
use crate::repository::{Store, signature_at};
use crate::state::{MANY_FILES, Pending, StateFolder, Step, Watch, pause};
use crate::target::{Target, tip};
use sprag_model::event_record::EventRecord;
use sprag_model::run::Run;

/// How often a moved or locked ref is tried again, about eight seconds in all: a `git commit` in a loop moves it quickly.
const ATTEMPTS: u32 = 64;

/// After so many attempts the indexes stay locked from one to the next, or who commits in a loop could always be faster.
const FAIR_ATTEMPTS: u32 = 8;

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
/// it is. Where the branch is checked out, in whichever working tree, the files and their index entries are added there;
/// when that fails, the records are safe all the same, and the failure is a warning.
///
/// Of git's configuration `user.name` and `user.email` count, from wherever they are included; where they name nobody,
/// a stand-in commits. So do the settings by which libgit2 writes objects, refs and their logs. No program runs: no hook
/// (neither those of `core.hooksPath` nor `reference-transaction`), no filter driver, no `core.fsmonitor`, no program
/// that signs, even where the configuration asks for signing. Line endings are not converted. Where a filter or an
/// encoding is named for the records, git itself may call them changed afterwards; that is a warning, with the line for
/// `.gitattributes` that helps. Variables of the environment such as `GIT_DIR` or `GIT_AUTHOR_NAME` do not count.
///
/// # Errors
/// When a record is one that loading would refuse, when its path is taken by something else or is alike to another one
/// but for case, when the ref cannot be moved, or when git or the file system refuse, in flushing to the disk too. The
/// history is then as it was.
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
    let repository = &store.repository;
    let records = Batch::new(records)?;
    let state = StateFolder::new(repository.commondir());
    let lock = state.lock()?;
    let (healed, unfinished) = heal_locked(repository, &state, &lock, watch)?;
    watch(Step::Locked);
    let checkouts = Checkouts::on_branch(repository, &target.reference)?;
    let append =
        Append { repository, target, records: &records, time, state: &state, checkouts: &checkouts.trees, unfinished };
    let mut locks = Vec::new();
    let appended = match append.move_ref(&mut locks, watch) {
        Ok(appended) => appended,
        Err(error) => {
            // The first error counts; the next append removes what is left.
            // A lock that stays is removed by its mark, as long as there is a journal.
            if release(&mut locks).is_ok() {
                let _ = state.settle(&append.unfinished);
            }
            return Err(error);
        }
    };
    watch(Step::RefMoved);
    let mut warnings = [healed.warnings, checkouts.warnings.clone(), appended.warnings].concat();
    let was_locked = locks.iter().all(Option::is_some);
    let unfinished = checkouts.catch_up(locks, &append.pending(), &state, &mut warnings, watch);
    if !was_locked {
        warnings.extend(append.removed_warning()?);
    }
    watch(Step::CaughtUp);
    state.settle_with_warning([append.unfinished, unfinished].concat(), &mut warnings);
    Ok(Appended { warnings, ..appended })
}

struct Append<'a> {
    repository: &'a Repository,
    target: &'a Target,
    records: &'a Batch<'a>,
    time: DateTime<Utc>,
    state: &'a StateFolder,
    checkouts: &'a [Checkout],
    /// What an earlier append left that could not be healed yet; it stays in the journal.
    unfinished: Vec<Pending>,
}

impl Append<'_> {
    /// Makes the commit on the tip and moves the ref from the tip to it, until nobody was faster.
    ///
    /// The indexes of the working trees are locked across the move, and stay so: between the ref and the index entry, a
    /// `git commit` would take the record out of the branch again.
    fn move_ref(&self, locks: &mut Vec<Option<IndexLock>>, watch: Watch<'_>) -> Result<Appended, HistoryError> {
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
            if appended.added.is_empty() {
                return Ok(appended);
            }
            if appended.added.len() > MANY_FILES {
                let new = appended.added.iter().filter(|path| packed.insert((*path).clone()));
                packs::write(self.repository, &new.map(|path| self.blob(path).1).collect::<Vec<_>>())?;
            }
            let commit = self.commit(tip.as_ref().map(|(commit, _)| commit), &appended.added, &signature)?;
            watch(Step::CommitWritten);
            if !prepared {
                self.prepare(watch)?;
                prepared = true;
            }
            // Others wait meanwhile, so this is the last thing before the move, unless they were always faster.
            if locks.is_empty() {
                *locks = self.checkouts.iter().map(|checkout| checkout.lock(self.state, watch)).collect();
            }
            let expected = tip.as_ref().filter(|(_, name)| *name == self.target.reference).map(|(tip, _)| tip.id());
            let message = self.records.message();
            let subject = message.lines().next().unwrap_or_default();
            match compare_and_swap(self.repository, &self.target.reference, expected, commit, subject)? {
                Swapped::Done { warning } => {
                    appended.commit = Some(commit.to_string());
                    appended.warnings.extend(warning);
                    return Ok(appended);
                }
                Swapped::Lost { reason, is_locked } => {
                    refusal = reason;
                    if attempt < FAIR_ATTEMPTS || is_locked || locks.iter().any(Option::is_none) {
                        release(locks)?;
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
        for (&path, (_, blob)) in &self.records.0 {
            let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
            let mut found = None;
            for end in ends {
                let Some(folders) = &mut folders else { break };
                let Some(entry) = folders.get(&path[..end]).map_err(failed("read the tree of the history"))? else {
                    folders.check_collision(&path[..end])?;
                    break;
                };
                if end == path.len() {
                    found = Some(entry);
                } else if !entry.is_folder {
                    let reference = self.target.reference.clone();
                    return Err(HistoryError::NotAFolder { path: path[..end].to_owned(), reference });
                }
            }
            match found {
                None => added.push(path.to_owned()),
                Some(entry) if entry.id == *blob && entry.mode == PLAIN => present.push(path.to_owned()),
                Some(_) => {
                    let reference = self.target.reference.clone();
                    return Err(HistoryError::Different { path: path.to_owned(), reference });
                }
            }
        }
        if let Some((path, other)) = objects::find_collision(self.records.0.keys().copied()) {
            return Err(HistoryError::Alike { path: path.to_owned(), other: other.to_owned() });
        }
        Ok((added, present))
    }

    /// What to say of records that the branch has no more, though it was moved to them: where an index could not be
    /// locked, a `git commit` that was under way may have taken them out.
    fn removed_warning(&self) -> Result<Option<String>, HistoryError> {
        let tip = tip(self.repository, self.target)?;
        let (dropped, _) = self.split(tip.as_ref().map(|(commit, _)| commit))?;
        let reference = &self.target.reference;
        let warning = |path: &String| {
            format!("a commit that was under way took `{path}` out of `{reference}` again; record it again")
        };
        Ok(dropped.first().map(warning))
    }

    /// The id and the content of the record at a path of this append.
    fn blob(&self, path: &str) -> (Oid, &[u8]) {
        let (record, blob) = self.records.0[path];
        (blob, &record.bytes)
    }

    /// Writes the commit, and the blobs where they are few enough not to be in a pack.
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
            let (blob, content) = self.blob(path);
            if !are_packed {
                self.repository.blob(content).map_err(refused())?;
            }
            update.upsert(path.as_str(), blob, FileMode::Blob);
        }
        let change = |base: &Tree<'_>| update.create_updated(self.repository, base);
        let message = self.records.message();
        let (commit, tree) = write_commit(self.repository, None, tip, signature, &message, change).map_err(refused())?;
        // A pack is flushed already.
        let folder = |path: &String| if are_packed { parent(path).to_owned() } else { path.clone() };
        let unflushed: BTreeSet<String> = paths.iter().map(folder).collect();
        objects::sync_commit(self.repository, commit, &tree, &unflushed.into_iter().collect::<Vec<_>>())?;
        Ok(commit)
    }

    /// Stages the files, where working trees want them, and writes the journal: a full disk is found before the ref
    /// moves, and if the process dies while it does, the lock of the ref is known for ours.
    fn prepare(&self, watch: Watch<'_>) -> Result<(), HistoryError> {
        let wanted = self.records.0.values().filter(|_| !self.checkouts.is_empty());
        let files: Vec<(String, &[u8])> =
            wanted.map(|(record, blob)| (blob.to_string(), record.bytes.as_slice())).collect();
        self.state.stage_all(&files)?;
        watch(Step::Staged);
        self.state.write_journal(&[self.unfinished.clone(), self.pending()].concat())?;
        watch(Step::Journalled);
        Ok(())
    }

    fn pending(&self) -> Vec<Pending> {
        let reference = &self.target.reference;
        let records = self.records.0.iter();
        records.map(|(path, (_, blob))| Pending::new(reference, path, *blob)).collect()
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

// The records that one append takes.

/// So few records are checked on one thread.
const FEW: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub path: String,
    pub bytes: Vec<u8>,
    /// The subject of the commit that records it alone.
    pub subject: String,
}

impl Record {
    pub fn from_run(run: &Run) -> Record {
        let (_, path, bytes) = run.to_record();
        Record { path, bytes, subject: run.subject() }
    }

    pub fn from_event(record: &EventRecord) -> Record {
        let (path, bytes, subject) = record.to_file();
        Record { path, bytes, subject }
    }
}

/// Records with distinct paths, in order of path, each with the id of its blob.
pub(crate) struct Batch<'a>(pub(crate) BTreeMap<&'a str, (&'a Record, Oid)>);

impl<'a> Batch<'a> {
    pub(crate) fn new(records: &'a [Record]) -> Result<Batch<'a>, HistoryError> {
        let mut batch: BTreeMap<&str, (&Record, Oid)> = BTreeMap::new();
        for (record, checked) in records.iter().zip(check_all(records)) {
            let fault = |reason: String| HistoryError::BadRecord { path: record.path.clone(), reason };
            let blob = checked.map_err(fault)?;
            let earlier = batch.insert(&record.path, (record, blob));
            if earlier.is_some_and(|(_, earlier)| earlier != blob) {
                return Err(fault("is given twice, with different content".to_owned()));
            }
        }
        Ok(Batch(batch))
    }

    pub(crate) fn message(&self) -> String {
        let subjects: Vec<&str> = self.0.values().map(|(record, _)| record.subject.as_str()).collect();
        message(&subjects)
    }
}

/// The id of the blob of each record, or why it cannot be recorded; on all processors, since a large import has thousands.
fn check_all(records: &[Record]) -> Vec<Result<Oid, String>> {
    let check = |record: &Record| {
        layout::check_file(&record.path, &record.bytes)?;
        Oid::hash_object(ObjectType::Blob, &record.bytes).map_err(|error| error.message().to_owned())
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    if records.len() <= FEW {
        return records.iter().map(check).collect();
    }
    let share = records.len().div_ceil(workers);
    thread::scope(|scope| {
        let shares = records.chunks(share);
        let workers: Vec<_> =
            shares.map(|share| scope.spawn(move || share.iter().map(check).collect::<Vec<_>>())).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("checking a record does not panic")).collect()
    })
}

/// The subject of the record where it is alone; of a few of one commit `sprag: cpu ok, gpu skipped at …`; else how
/// many there are, and the subject of each below.
pub(crate) fn message(subjects: &[&str]) -> String {
    match (subjects, joined(subjects)) {
        ([only], _) => format!("{only}\n"),
        (_, Some(together)) => format!("{together}\n"),
        (several, None) => format!("sprag: {} records\n\n{}\n", several.len(), several.join("\n")),
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
    let distinct = runs.iter().collect::<BTreeSet<_>>().len() == runs.len();
    (distinct && parts.iter().all(|(_, other)| *other == commit))
        .then(|| format!("sprag: {} at {commit}", runs.join(", ")))
}
