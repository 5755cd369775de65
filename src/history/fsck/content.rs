//! The contents of the tip: whether each record is valid, and which times and duplicates are odd.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use git2::{Odb, Oid, Repository};

use crate::archived::Archived;
use crate::error::{FETCH_ALL, HistoryError, REPAIR_AND_FETCH, failed};
use crate::fsck::tip::{Fault, SET_ASIDE, Tip, TipFile};
use crate::layout::{self, Kind, PLAIN};
use crate::load::absent;
use crate::objects::{self, LooseObjects, Promises};
use crate::packs::{map_in_parallel, pack_order};
use crate::past::{Appearance, Digests, MISSING, Past, QUARANTINE, is_here, noted, reason, record_digest, vouches};
use sprag_base::digest::{Digest, is_hex};
use sprag_model::archive::Archive;
use sprag_model::event_record::{EventError, EventRecord};
use sprag_model::fsck::{Finding, FindingKind};
use sprag_model::record::{MAX_RECORD_BYTES, RecordError};
use sprag_model::run::{RECORD_ROOT, Run};

const BATCH: usize = 256;

/// A run may be ahead of the clock: clocks of machines differ by minutes, by an hour only when set wrongly.
const AHEAD: TimeDelta = TimeDelta::hours(1);

/// A run may be before its commit: both times come from different clocks, in different time zones at worst.
const BEFORE_COMMIT: TimeDelta = TimeDelta::days(1);

const NAMED: usize = 5;

pub(crate) struct RunFacts {
    path: String,
    suite: String,
    machine: String,
    commit: Option<(String, DateTime<Utc>)>,
    time: DateTime<Utc>,
    /// The digest of its content without its time; absent unless everything was measured.
    timeless: Option<Digest>,
}

pub(crate) enum Judged {
    Run(RunFacts),
    Event,
    Newer(u64),
    Bad(FindingKind, String),
}

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

/// The name of a file that only a newer sprag can read still vouches for its content.
fn judge_newer(path: &str, bytes: &[u8], version: u64) -> Judged {
    if vouches(path, record_digest(bytes).as_ref()) {
        return Judged::Newer(version);
    }
    let what = format!("has schema version {version}, and an id in its path that its content contradicts");
    Judged::Bad(FindingKind::Name, what)
}

/// Whether the mode, the name or the content of the file at `path` is wrong for every build.
pub(crate) fn is_damaged(path: &str, mode: i32, bytes: &[u8]) -> bool {
    match layout::check_mode(mode).and_then(|()| layout::check_path(path)) {
        Ok(Kind::Run | Kind::Event) => matches!(judge(path, bytes), Judged::Bad(..)),
        Ok(Kind::Auxiliary) => {
            layout::check_auxiliary(path, bytes).is_err() && layout::newer_version(path, bytes).is_none()
        }
        Err(_) => true,
    }
}

impl RunFacts {
    fn new(path: &str, run: &Run, bytes: &[u8]) -> RunFacts {
        let is_complete = !run.measurements.is_empty() && !run.is_partial();
        RunFacts {
            path: path.to_owned(),
            suite: run.suite.clone(),
            machine: run.machine.id.clone(),
            commit: run.commit.as_ref().map(|commit| (commit.sha.clone(), commit.commit_time)),
            time: run.timestamp,
            timeless: is_complete.then(|| timeless(bytes)),
        }
    }
}

/// The digest of a record without its time. A quote inside a text is escaped, so no text contains the key.
fn timeless(bytes: &[u8]) -> Digest {
    const KEY: &[u8] = b"\"timestamp_utc\":\"";
    let Some(start) = bytes.windows(KEY.len()).rposition(|window| window == KEY) else {
        return Digest::from_parts(&[bytes]);
    };
    let value = &bytes[start + KEY.len()..];
    let end = value.iter().position(|&byte| byte == b'"').unwrap_or(value.len());
    Digest::from_parts(&[&bytes[..start], &value[end..]])
}

#[derive(Default)]
pub(crate) struct TipContents {
    pub(crate) runs: Vec<RunFacts>,
    /// The contents in quarantine, and those that notes name.
    pub(crate) set_aside: HashSet<Oid>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) findings: Vec<Finding>,
    /// Paths of files that a partial clone lacks.
    pub(crate) absent: Vec<String>,
}

/// Reads every file of the tip. libgit2 hashes each object when it reads it; the first line makes sure that this is switched on.
pub(crate) fn read(
    repository: &Repository,
    tip: &Tip,
    digests: &mut Digests<'_>,
    promises: &Promises<'_>,
) -> Result<TipContents, HistoryError> {
    git2::opts::strict_hash_verification(true);
    let odb = repository.odb().map_err(failed("open the object database"))?;
    let loose = LooseObjects::new(repository);
    let mut contents = TipContents::default();
    let files: Vec<&TipFile> = tip.runs.iter().chain(&tip.events).collect();
    let order = pack_order(repository, &files, |file| Some(file.id));
    for batch in order.chunks(BATCH) {
        let mut read = Vec::new();
        for file in batch.iter().map(|&place| files[place]) {
            match fetch(&loose, &odb, file.id) {
                Ok(bytes) => read.push((file, file.text(), bytes)),
                Err(_) if promises.cover(file.id) => contents.absent.push(file.text()),
                Err((kind, what)) => contents.fault(file, kind, what),
            }
        }
        let judged = map_in_parallel(&read, |(_, path, bytes)| (record_digest(bytes), judge(path, bytes)));
        for ((file, path, _), (digest, judged)) in read.iter().zip(judged) {
            digests.insert(file.id, digest);
            match judged {
                Judged::Run(facts) => contents.runs.push(facts),
                Judged::Event => {}
                Judged::Newer(version) => contents.newer(path, version),
                Judged::Bad(kind, what) => contents.fault(file, kind, what),
            }
        }
    }
    contents.runs.sort_by(|a, b| a.path.cmp(&b.path));
    contents.faults.sort_by(|a, b| a.file.path.cmp(&b.file.path));
    contents.findings.sort_by(|a, b| a.path.cmp(&b.path));
    contents.absent.sort();
    for file in &tip.auxiliary {
        match fetch(&loose, &odb, file.id) {
            Ok(bytes) => {
                let path = file.text();
                match (layout::check_auxiliary(&path, &bytes), layout::newer_version(&path, &bytes)) {
                    (Ok(()), _) => {}
                    (Err(_), Some(version)) => contents.newer(&path, version),
                    (Err(what), None) => contents.fault(file, FindingKind::Schema, what),
                }
            }
            Err(_) if promises.cover(file.id) => contents.absent.push(file.text()),
            Err((kind, what)) => contents.fault(file, kind, what),
        }
    }
    contents.findings.extend(absent_commits(&odb, &contents.runs));
    contents.findings.extend(duplicates(&contents.runs));
    contents.read_set_aside(repository, tip, promises);
    Ok(contents)
}

impl TipContents {
    fn newer(&mut self, path: &str, version: u64) {
        let what = format!("has schema version {version}, and was left as it is");
        self.findings.push(Finding::at(FindingKind::Newer, path, what).advise("a newer sprag can read it"));
    }

    fn fault(&mut self, file: &TipFile, kind: FindingKind, what: String) {
        let advice = match kind {
            FindingKind::Unreadable => REPAIR_AND_SYNC,
            _ => SET_ASIDE,
        };
        self.faults.push(Fault::new(file.clone(), kind, what, advice));
    }

    /// Reads the files in quarantine, and compares them with the names of their folders.
    fn read_set_aside(&mut self, repository: &Repository, tip: &Tip, promises: &Promises<'_>) {
        let records = tip.runs.iter().chain(&tip.events);
        let recorded: HashSet<String> = records.map(|file| name_of(&file.text(), MISSING)).collect();
        for file in &tip.quarantined {
            self.set_aside.insert(file.id);
            let path = file.text();
            let blob = objects::check(repository, file.id).and_then(|()| repository.find_blob(file.id));
            let blob = match blob {
                Ok(blob) => blob,
                Err(_) if promises.cover(file.id) => {
                    self.absent.push(path);
                    continue;
                }
                Err(error) => {
                    let what = format!("was set aside, and cannot be read: {}", reason(&error));
                    self.fault(file, FindingKind::Unreadable, what);
                    continue;
                }
            };
            if let Some(digits) = folder_of(&path)
                && !belongs_to(digits, &path, blob.content())
            {
                let what = "was set aside, and no longer has the content that its folder is named after";
                let advice = "run `sprag history fsck --repair` to set this content aside under its own digest";
                self.faults.push(Fault::new(file.clone(), FindingKind::Name, what, advice));
            }
            // A repair brings back a content that is available again.
            let Some(id) = noted(repository, &file.path, file.id).filter(|&id| !is_here(repository, id)) else {
                continue;
            };
            self.set_aside.insert(id);
            if !path.rsplit('/').next().is_some_and(|name| recorded.contains(name)) {
                let what = "marks a file that could not be read and is nowhere else in the history";
                let fetch = match promises.cover(id) {
                    true => FETCH_ALL.to_owned(),
                    false => format!("run `sprag history sync`, or fetch {id} from a repository that has it"),
                };
                let advice = format!("{fetch}; then `sprag history fsck --repair` brings it back");
                self.findings.push(Finding::at(FindingKind::SetAside, &path, what).advise(advice));
            }
        }
    }
}

fn fetch(loose: &LooseObjects, odb: &Odb<'_>, id: Oid) -> Result<Vec<u8>, (FindingKind, String)> {
    match loose.read(odb, id) {
        Ok(object) if object.len() > MAX_RECORD_BYTES => {
            Err((FindingKind::Schema, RecordError::Large(object.len()).to_string()))
        }
        Ok(object) => Ok(object.data().to_vec()),
        Err(error) => Err((FindingKind::Unreadable, format!("cannot be read: {}", reason(&error)))),
    }
}

fn absent_commits(odb: &Odb<'_>, runs: &[RunFacts]) -> Option<Finding> {
    let commits = runs.iter().filter_map(|run| run.commit.as_ref());
    let runs_of = absent(odb, commits.map(|(sha, _)| sha.as_str()));
    if runs_of.is_empty() {
        return None;
    }
    let runs: usize = runs_of.values().sum();
    let names: Vec<&str> = runs_of.keys().take(NAMED).map(|sha| sha.get(..12).unwrap_or(sha)).collect();
    let more = if runs_of.len() > NAMED { ", …" } else { "" };
    let what =
        format!("{runs} of the runs measured commits that this repository does not hold: {}{more}", names.join(", "));
    let advice = "nothing is wrong where they were squashed or rebased; in a shallow clone run `git fetch --unshallow`";
    Some(Finding::overall(FindingKind::AbsentCommit, what).advise(advice))
}

fn duplicates(runs: &[RunFacts]) -> Vec<Finding> {
    let mut at_once: BTreeMap<_, Vec<&RunFacts>> = BTreeMap::new();
    let mut repeated: BTreeMap<_, Vec<&RunFacts>> = BTreeMap::new();
    for run in runs {
        let Some(timeless) = run.timeless else { continue };
        let commit = run.commit.as_ref().map(|(sha, _)| sha.as_str());
        at_once.entry((&run.suite, &run.machine, commit, run.time)).or_default().push(run);
        repeated.entry((&run.suite, &run.machine, commit, timeless)).or_default().push(run);
    }
    let mut findings = Vec::new();
    let advice = "leave both: records are never deleted; `sprag history retract RUN` takes one out of analysis";
    let mut report = |group: &[&RunFacts], what: &str| {
        let [first, others @ ..] = group else { return };
        findings.extend(others.iter().map(|other| {
            Finding::at(FindingKind::Duplicate, &other.path, format!("{what} `{}`", first.path)).advise(advice)
        }));
    };
    for group in at_once.values() {
        report(group, "is of the same suite, machine, commit and second as");
    }
    for group in repeated.values() {
        report(group, "has to the last digit what was measured in");
    }
    findings
}

pub(crate) fn odd_times(runs: &[RunFacts], notes: &[Archive], now: DateTime<Utc>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |path: &str, time: DateTime<Utc>, why: String| {
        let finding = Finding::at(FindingKind::Clock, path, format!("is dated {time}, {why}"));
        findings.push(finding.advise("set the clock of that machine"));
    };
    let notes = notes.iter().map(|note| (note.to_file().0, note.time));
    for (path, time) in notes.chain(runs.iter().map(|run| (run.path.clone(), run.time))) {
        if time > now + AHEAD {
            report(&path, time, "which is yet to come".to_owned());
        }
    }
    for run in runs {
        if let Some((_, committed)) = run.commit.as_ref().filter(|(_, time)| run.time + BEFORE_COMMIT < *time) {
            report(&run.path, run.time, format!("before its commit was made at {committed}"));
        }
    }
    findings
}

// The quarantine: its paths, whether its files are unchanged, and notes about contents that could not be read.

/// The ending of the name of a note about a submodule.
pub(crate) const SUBMODULE: &str = ".submodule";

const LONGEST_NAME: usize = 100;

/// Digits of a digest in the name of a folder.
const DIGITS: usize = 16;

const REPAIR_AND_SYNC: &str = "run `sprag history fsck --repair` to set it aside; then `sprag history sync` brings it back, if the \
                               remote has it";

/// Removed notes about contents that are in the history again, or can be read.
pub(crate) fn settled(repository: &Repository, past: &Past, present: &HashMap<String, Oid>) -> HashSet<Oid> {
    let contents: HashSet<&Oid> = present.values().collect();
    let is_gone = |file: &&Appearance| file.path.ends_with(MISSING) && !present.contains_key(&file.path);
    let is_settled = |note: &&Appearance| {
        let content = noted(repository, note.path.as_bytes(), note.blob);
        content.is_some_and(|id| contents.contains(&id) || is_here(repository, id))
    };
    past.files.iter().filter(is_gone).filter(is_settled).map(|note| note.blob).collect()
}

/// Valid records in quarantine that the history has nowhere else.
pub(crate) fn intact_records(repository: &Repository, tip: &Tip) -> Vec<Finding> {
    let present = tip.contents();
    let mut findings = Vec::new();
    for file in &tip.quarantined {
        if objects::check(repository, file.id).is_err() {
            continue;
        }
        let Ok(blob) = repository.find_blob(file.id) else { continue };
        let Ok((id, run)) = Run::from_record(blob.content()) else { continue };
        // A record whose name has another id was changed.
        if !file.text().ends_with(&format!("-{id}.json")) {
            continue;
        }
        let path = run.path(&id);
        if layout::check_path(&path).is_ok() && !present.contains_key(&path) {
            let what = format!("is a valid record of `{path}`, which the history lacks");
            let advice = "if it belongs there, write it to a file by `git show` and run `sprag history add`";
            findings.push(Finding::at(FindingKind::SetAside, &file.text(), what).advise(advice));
        }
    }
    findings
}

/// The path in quarantine of the file at `path`, in the folder of these digits.
pub(crate) fn place(digits: &str, path: &str, ending: &str) -> String {
    format!("{RECORD_ROOT}/{QUARANTINE}/{digits}/{}", name_of(path, ending))
}

pub(crate) fn digits_of(bytes: &[u8]) -> String {
    record_digest(bytes).unwrap_or_else(|| Digest::from_parts(&[bytes])).short()
}

pub(crate) fn digits_of_id(id: Oid) -> String {
    id.to_string()[..DIGITS].to_owned()
}

pub(crate) fn name_of(path: &str, ending: &str) -> String {
    let inside = path.strip_prefix(RECORD_ROOT).unwrap_or(path).trim_start_matches('/');
    format!("{}{ending}", flat(inside, LONGEST_NAME - ending.len()))
}

/// The digits of the folder of a quarantined file; absent where no repair put it there.
fn folder_of(path: &str) -> Option<&str> {
    let inside = path.strip_prefix(RECORD_ROOT)?.strip_prefix('/')?.strip_prefix(QUARANTINE)?.strip_prefix('/')?;
    let (folder, name) = inside.split_once('/')?;
    let is_digits = is_hex(folder, DIGITS..=DIGITS);
    (is_digits && !name.contains('/')).then_some(folder)
}

/// Whether the folder of these digits is that of a content, by its digest, or of a note about an object with that id.
fn belongs_to(digits: &str, path: &str, bytes: &[u8]) -> bool {
    let is_note = path.ends_with(MISSING) || path.ends_with(SUBMODULE);
    digits_of(bytes) == digits || (is_note && bytes.starts_with(digits.as_bytes()))
}

/// A path as one name; the end of a path that is too long.
fn flat(path: &str, longest: usize) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let flat: String = path.chars().map(fine).collect();
    let end = flat.len().saturating_sub(longest - 1);
    let flat = &flat[end..];
    if flat.starts_with(['.', '-']) || flat.is_empty() { format!("_{flat}") } else { flat.to_owned() }
}

// What earlier commits had and the tip lacks, or has with other content.
//
// Of several contents that a record ever had, its name vouches for one; of other files the first that is valid counts. Quarantined files are
// not lost.

#[derive(Default)]
pub(crate) struct Losses {
    pub(crate) findings: Vec<Finding>,
    pub(crate) restore: Vec<(String, Oid)>,
    /// Lost contents that are not records, to be quarantined.
    pub(crate) set_aside: Vec<(String, Oid)>,
    /// Paths of `restore` whose present content is to be quarantined.
    pub(crate) replaced: Vec<(String, Oid)>,
    /// Paths of contents that a partial clone lacks.
    pub(crate) absent: Vec<String>,
    /// The number of runs that left with a note of a newer build.
    pub(crate) of_newer: usize,
}

/// Compares the contents of the tip, by path, with everything that was ever there. Archived runs are not lost.
pub(crate) fn compare(
    repository: &Repository,
    past: &Past,
    present: &HashMap<String, Oid>,
    archived: &Archived<'_>,
    set_aside: &HashSet<Oid>,
    digests: &mut Digests<'_>,
    promises: &Promises<'_>,
) -> Losses {
    let mut of_path: BTreeMap<&str, Vec<&Appearance>> = BTreeMap::new();
    for file in &past.files {
        of_path.entry(&file.path).or_default().push(file);
    }
    let mut losses = Losses::default();
    for (path, contents) in of_path {
        let now = present.get(path);
        // The common case, in which nothing has to be read.
        if contents.len() == 1 && now == Some(&contents[0].blob) {
            continue;
        }
        let is_archived = |file: &&&Appearance| archived.has(path.as_bytes(), file.blob);
        if let Some(file) = contents.iter().find(is_archived).filter(|_| now.is_none()) {
            // Without its content, the history has no root.
            if let Err(error) = digests.get(file.blob)
                && !(promises.cover(file.blob) || set_aside.contains(&file.blob))
            {
                let what = format!("was archived, and its content cannot be read: {}", reason(&error));
                let advice =
                    format!("restore it by `sprag history archive --restore` with its snapshot, or {REPAIR_AND_FETCH}");
                losses.findings.push(Finding::at(FindingKind::Unreadable, path, what).advise(advice));
            }
            continue;
        }
        let is_of_newer = |file: &&Appearance| archived.of_newer.get(path) == Some(&file.blob);
        if now.is_none() && contents[0].kind == Kind::Run && contents.iter().any(is_of_newer) {
            losses.of_newer += 1;
            continue;
        }
        if now.is_none() && archived.lacks_notes && contents[0].kind == Kind::Run {
            // It may have left by one of the notes that are not here.
            losses.absent.push(path.to_owned());
            continue;
        }
        let right = match contents[0].kind {
            Kind::Auxiliary => contents.iter().copied().find(|file| is_valid(repository, archived, file)),
            Kind::Run | Kind::Event => losses.vouched(&contents, now, set_aside, digests, promises),
        };
        match (right, now) {
            (Some(right), Some(now)) if right.blob == *now => {}
            (Some(right), _) if set_aside.contains(&right.blob) => {}
            (Some(right), now) => losses.report(past, right, now, digests, promises),
            (None, Some(_)) => {}
            (None, None) if contents.iter().any(|file| promises.cover(file.blob)) => {
                if !contents.iter().any(|file| set_aside.contains(&file.blob)) {
                    losses.gone(past, contents[contents.len() - 1]);
                }
            }
            (None, None) => losses.removed(past, contents[contents.len() - 1], archived, set_aside),
        }
    }
    losses
}

/// Whether a file that is neither a run nor an event may come back.
fn is_valid(repository: &Repository, archived: &Archived<'_>, file: &Appearance) -> bool {
    let blob = objects::check(repository, file.blob).and_then(|()| repository.find_blob(file.blob));
    !archived.wrong.contains_key(&file.path) && blob.map_or(true, |blob| !is_damaged(&file.path, PLAIN, blob.content()))
}

impl Losses {
    fn vouched<'p>(
        &mut self,
        contents: &[&'p Appearance],
        now: Option<&Oid>,
        set_aside: &HashSet<Oid>,
        digests: &mut Digests<'_>,
        promises: &Promises<'_>,
    ) -> Option<&'p Appearance> {
        contents.iter().copied().find(|file| match digests.get(file.blob) {
            Ok(digest) => vouches(&file.path, digest.as_ref()),
            Err(_) if promises.cover(file.blob) => {
                self.absent.push(file.path.clone());
                false
            }
            Err(error) => {
                // Reading the tip reports what the tip has.
                if now != Some(&file.blob) && !set_aside.contains(&file.blob) {
                    let what = format!("had a content that cannot be read: {}", reason(&error));
                    let finding = Finding::at(FindingKind::Unreadable, &file.path, what);
                    self.findings.push(finding.advise(REPAIR_AND_FETCH));
                }
                false
            }
        })
    }

    fn report(
        &mut self,
        past: &Past,
        right: &Appearance,
        now: Option<&Oid>,
        digests: &mut Digests<'_>,
        promises: &Promises<'_>,
    ) {
        let (commit, _) = past.commits[right.commit];
        let (kind, what) = match now {
            None => (FindingKind::Lost, format!("is gone; the commit {commit} had it")),
            Some(_) => (FindingKind::Changed, format!("was changed since the commit {commit}")),
        };
        let repair = "run `sprag history fsck --repair` to bring it back";
        // An unreadable content cannot be brought back.
        if digests.get(right.blob).is_err() {
            let fetch = match promises.cover(right.blob) {
                true => FETCH_ALL.to_owned(),
                false => format!("fetch the object {} from a repository that has it", right.blob),
            };
            self.findings.push(Finding::at(kind, &right.path, what).advise(format!("{fetch}; then {repair}")));
            return;
        }
        self.findings.push(Finding::at(kind, &right.path, what).advise(repair));
        self.restore.push((right.path.clone(), right.blob));
        self.replaced.extend(now.map(|now| (right.path.clone(), *now)));
    }

    /// A file that is gone and whose content a partial clone lacks.
    fn gone(&mut self, past: &Past, last: &Appearance) {
        let (commit, _) = past.commits[last.commit];
        let what = format!("is gone; the commit {commit} had it, and its content is not here");
        let advice = format!("{FETCH_ALL}; then run `sprag history fsck --repair` to bring it back");
        self.findings.push(Finding::at(FindingKind::Lost, &last.path, what).advise(advice));
    }

    /// A file that was no record, and was removed instead of being quarantined.
    fn removed(&mut self, past: &Past, last: &Appearance, archived: &Archived<'_>, set_aside: &HashSet<Oid>) {
        if set_aside.contains(&last.blob) {
            return;
        }
        let (commit, _) = past.commits[last.commit];
        let was = archived.wrong.get(&last.path).map(|why| format!("was a note that {why},"));
        let was = was.as_deref().unwrap_or("was a damaged file");
        let what = format!("{was} and is gone; the commit {commit} had it");
        let advice = "run `sprag history fsck --repair` to keep it among what was set aside";
        self.findings.push(Finding::at(FindingKind::Lost, &last.path, what).advise(advice));
        self.set_aside.push((last.path.clone(), last.blob));
    }
}
