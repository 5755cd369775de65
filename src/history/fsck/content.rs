//! Reading every record of the tip: whether it is one, and what is odd about its time and its fellows.

use std::collections::BTreeMap;
use std::thread;

use chrono::{DateTime, TimeDelta, Utc};
use git2::{Odb, OdbLookupFlags, Oid, Repository};

use crate::error::HistoryError;
use crate::fsck::quarantine::fetch_first;
use crate::fsck::tip::Fault;
use crate::fsck::tip::{Tip, TipFile};
use crate::layout;
use crate::layout::{Kind, PLAIN};
use crate::objects::loose::LooseObjects;
use crate::objects::pack_index::PackIndexes;
use crate::objects::partial::Promises;
use crate::reading::entries::{Digests, record_digest, vouches};
use crate::reading::past::reason;
use crate::store::failed;
use sprag_base::digest::Digest;
use sprag_model::event_record::{EventError, EventRecord};
use sprag_model::fsck::{Finding, FindingKind};
use sprag_model::record::{MAX_RECORD_BYTES, RecordError};
use sprag_model::run::Run;

/// How many files are held in memory to be decoded together.
const BATCH: usize = 256;

/// How far a run may lie ahead of the clock: clocks of machines differ by minutes, by an hour only when set wrongly.
const AHEAD: TimeDelta = TimeDelta::hours(1);

/// How long before its commit a run may lie: both times come from different clocks, in different time zones at worst.
const BEFORE_COMMIT: TimeDelta = TimeDelta::days(1);

/// How many names a finding about many lists.
const NAMED: usize = 5;

/// What is kept of a sound record.
pub(crate) struct RunFacts {
    path: String,
    suite: String,
    machine: String,
    /// The commit it measured, and when that was committed.
    commit: Option<(String, DateTime<Utc>)>,
    time: DateTime<Utc>,
    /// The digest of its content without its time; absent where nothing was measured, or a part only.
    timeless: Option<Digest>,
}

/// What a file at the path of a record is.
pub(crate) enum Judged {
    /// A sound record of a run.
    Run(RunFacts),
    /// A sound record of an event.
    Event,
    /// A record of this newer version.
    Newer(u64),
    Bad(FindingKind, String),
}

/// Holds a file against the path it lies at.
pub(crate) fn judge(path: &str, bytes: &[u8]) -> Judged {
    if layout::check_path(path) == Ok(Kind::Event) {
        return judge_event(path, bytes);
    }
    match layout::check_record(path, PLAIN, bytes) {
        Ok(recorded) => Judged::Run(RunFacts::new(path, &recorded.run, bytes)),
        Err(what) => match Run::from_record(bytes) {
            Ok(_) => Judged::Bad(FindingKind::Name, what),
            Err(RecordError::Newer(version)) => judge_newer(path, bytes, version),
            Err(RecordError::NotCanonical) => Judged::Bad(FindingKind::NotCanonical, what),
            Err(_) => Judged::Bad(FindingKind::Schema, what),
        },
    }
}

fn judge_event(path: &str, bytes: &[u8]) -> Judged {
    let error = match EventRecord::read(path, bytes) {
        Ok(_) => return Judged::Event,
        Err(EventError::Newer(version)) => return judge_newer(path, bytes, version),
        Err(error) => error,
    };
    let kind = match error {
        EventError::Name(_) => FindingKind::Name,
        EventError::NotCanonical => FindingKind::NotCanonical,
        _ => FindingKind::Schema,
    };
    Judged::Bad(kind, error.to_string())
}

/// What cannot be read yet is as it was where its name bears its digest.
fn judge_newer(path: &str, bytes: &[u8], version: u64) -> Judged {
    if vouches(path, record_digest(bytes).as_ref()) {
        return Judged::Newer(version);
    }
    let what = format!("has schema version {version}, and an id in its path that its content contradicts");
    Judged::Bad(FindingKind::Name, what)
}

impl RunFacts {
    fn new(path: &str, run: &Run, bytes: &[u8]) -> RunFacts {
        let whole = !run.measurements.is_empty() && !run.is_partial();
        RunFacts {
            path: path.to_owned(),
            suite: run.suite.clone(),
            machine: run.machine.id.clone(),
            commit: run.commit.as_ref().map(|commit| (commit.sha.clone(), commit.commit_time)),
            time: run.timestamp,
            timeless: whole.then(|| timeless(bytes)),
        }
    }
}

/// The digest of a record without its time. A quote inside a text is escaped, so the key is found where it stands.
fn timeless(bytes: &[u8]) -> Digest {
    const KEY: &[u8] = b"\"timestamp_utc\":\"";
    let Some(start) = bytes.windows(KEY.len()).rposition(|window| window == KEY) else {
        return Digest::from_parts(&[bytes]);
    };
    let value = &bytes[start + KEY.len()..];
    let end = value.iter().position(|&byte| byte == b'"').unwrap_or(value.len());
    Digest::from_parts(&[&bytes[..start], &value[end..]])
}

/// What the records of the tip are.
pub(crate) struct TipContents {
    pub(crate) runs: Vec<RunFacts>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) findings: Vec<Finding>,
    /// Paths of files that are not here, as in a partial clone.
    pub(crate) absent: Vec<String>,
}

/// Reads every record of the tip, of runs and of events, and tells their digests.
///
/// libgit2 hashes each object when it reads it; this makes sure that nobody has switched that off.
pub(crate) fn read(
    repository: &Repository,
    tip: &Tip,
    digests: &mut Digests<'_>,
    promises: &Promises<'_>,
) -> Result<TipContents, HistoryError> {
    git2::opts::strict_hash_verification(true);
    let odb = repository.odb().map_err(failed("open the object database"))?;
    let loose = LooseObjects::new(repository);
    let mut contents = TipContents { runs: Vec::new(), faults: Vec::new(), findings: Vec::new(), absent: Vec::new() };
    let files: Vec<&TipFile> = tip.runs.iter().chain(&tip.events).collect();
    let order = PackIndexes::read(repository, files.len()).order(&files, |file| Some(file.id));
    for batch in order.chunks(BATCH) {
        let mut read = Vec::new();
        for file in batch.iter().map(|&place| files[place]) {
            match fetch(&loose, &odb, file.id) {
                Ok(bytes) => read.push((file, file.text(), bytes)),
                Err(_) if promises.cover(file.id) => contents.absent.push(file.text()),
                Err((kind, what)) => contents.fault(file, kind, what),
            }
        }
        for ((file, path, _), (digest, judged)) in read.iter().zip(judge_all(&read)) {
            digests.insert(file.id, digest);
            match judged {
                Judged::Run(facts) => contents.runs.push(facts),
                Judged::Event => {}
                Judged::Newer(version) => contents.findings.push(
                    Finding::at(
                        FindingKind::Newer,
                        path,
                        format!("has schema version {version}, and was left as it is"),
                    )
                    .advise("a newer sprag can read it"),
                ),
                Judged::Bad(kind, what) => contents.fault(file, kind, what),
            }
        }
    }
    contents.runs.sort_by(|a, b| a.path.cmp(&b.path));
    contents.faults.sort_by(|a, b| a.file.path.cmp(&b.file.path));
    contents.findings.sort_by(|a, b| a.path.cmp(&b.path));
    contents.absent.sort();
    for file in tip.auxiliary.iter() {
        match fetch(&loose, &odb, file.id) {
            Ok(_) => {}
            Err(_) if promises.cover(file.id) => contents.absent.push(file.text()),
            Err((kind, what)) => contents.fault(file, kind, what),
        }
    }
    let absent = absent_commits(&odb, &contents.runs);
    contents.findings.extend(absent);
    contents.findings.extend(duplicates(&contents.runs));
    Ok(contents)
}

impl TipContents {
    fn fault(&mut self, file: &TipFile, kind: FindingKind, what: String) {
        let advice = match kind {
            FindingKind::Unreadable => fetch_first(file.id),
            _ => "run `sprag history fsck --repair` to set it aside".to_owned(),
        };
        let finding = Finding::at(kind, &file.text(), what).advise(advice);
        self.faults.push(Fault { file: file.clone(), finding });
    }
}

fn fetch(loose: &LooseObjects, odb: &Odb<'_>, id: Oid) -> Result<Vec<u8>, (FindingKind, String)> {
    let unread = |error: git2::Error| (FindingKind::Unreadable, format!("cannot be read: {}", reason(&error)));
    loose.check(id).map_err(unread)?;
    let (size, _) = odb.read_header(id).map_err(unread)?;
    if size > MAX_RECORD_BYTES {
        return Err((FindingKind::Schema, RecordError::Large(size).to_string()));
    }
    odb.read(id).map(|object| object.data().to_vec()).map_err(unread)
}

fn judge_all(files: &[(&TipFile, String, Vec<u8>)]) -> Vec<(Option<Digest>, Judged)> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = files.len().div_ceil(workers).max(1);
    thread::scope(|scope| {
        let one = |(_, path, bytes): &(&TipFile, String, Vec<u8>)| (record_digest(bytes), judge(path, bytes));
        let shares = files.chunks(share);
        let workers: Vec<_> =
            shares.map(|files| scope.spawn(move || files.iter().map(one).collect::<Vec<_>>())).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("judging a record does not panic")).collect()
    })
}

fn absent_commits(odb: &Odb<'_>, runs: &[RunFacts]) -> Option<Finding> {
    let mut of_commit: BTreeMap<&str, usize> = BTreeMap::new();
    for (sha, _) in runs.iter().filter_map(|run| run.commit.as_ref()) {
        *of_commit.entry(sha).or_default() += 1;
    }
    let here = |sha: &str| Oid::from_str(sha).is_ok_and(|id| odb.exists_ext(id, OdbLookupFlags::NO_REFRESH));
    of_commit.retain(|sha, _| !here(sha));
    if of_commit.is_empty() {
        return None;
    }
    let runs: usize = of_commit.values().sum();
    let names: Vec<&str> = of_commit.keys().take(NAMED).map(|sha| sha.get(..12).unwrap_or(sha)).collect();
    let more = if of_commit.len() > NAMED { ", …" } else { "" };
    let what =
        format!("{runs} of the runs measured commits that this repository does not hold: {}{more}", names.join(", "));
    let advice = "nothing is wrong where they were squashed or rebased; in a shallow clone run `git fetch --unshallow`";
    Some(Finding::overall(FindingKind::AbsentCommit, what).advise(advice))
}

fn duplicates(runs: &[RunFacts]) -> Vec<Finding> {
    let mut at_once: BTreeMap<_, Vec<&RunFacts>> = BTreeMap::new();
    let mut again: BTreeMap<_, Vec<&RunFacts>> = BTreeMap::new();
    for run in runs {
        let Some(timeless) = run.timeless else { continue };
        let commit = run.commit.as_ref().map(|(sha, _)| sha.as_str());
        at_once.entry((&run.suite, &run.machine, commit, run.time)).or_default().push(run);
        again.entry((&run.suite, &run.machine, commit, timeless)).or_default().push(run);
    }
    let mut findings = Vec::new();
    let advice = "if one of them should not count, leave both: nothing is taken out of a history";
    let mut tell = |group: &[&RunFacts], what: &str| {
        let [first, others @ ..] = group else { return };
        findings.extend(others.iter().map(|other| {
            Finding::at(FindingKind::Duplicate, &other.path, format!("{what} `{}`", first.path)).advise(advice)
        }));
    };
    for group in at_once.values() {
        tell(group, "is of the same suite, machine, commit and second as");
    }
    for group in again.values() {
        tell(group, "has to the last digit what was measured in");
    }
    findings
}

/// Runs whose time cannot be, seen from `now` and from their commit.
pub(crate) fn odd_times(runs: &[RunFacts], now: DateTime<Utc>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for run in runs {
        if run.time > now + AHEAD {
            let what = format!("is dated {}, which is yet to come", run.time);
            findings.push(Finding::at(FindingKind::Clock, &run.path, what).advise("set the clock of that machine"));
        }
        if let Some((_, committed)) = run.commit.as_ref().filter(|(_, time)| run.time + BEFORE_COMMIT < *time) {
            let what = format!("is dated {}, before its commit was made at {committed}", run.time);
            findings.push(Finding::at(FindingKind::Clock, &run.path, what).advise("set the clock of that machine"));
        }
    }
    findings
}
