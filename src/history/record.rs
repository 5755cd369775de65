//! The records that one append takes.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use git2::{ObjectType, Oid};

use crate::error::HistoryError;
use crate::layout;
use sprag_model::event_record::EventRecord;
use sprag_model::run::Run;

/// So few records are checked on one thread.
const FEW: usize = 16;

/// A file to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it goes in the tree.
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

    /// The record of what was told of an event.
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
