//! Reading every record of the tip: whether it is one, and what is odd about its time and its fellows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::thread;

use chrono::{DateTime, TimeDelta, Utc};
use git2::{Odb, OdbLookupFlags, Oid, Repository};

use crate::error::{FETCH_ALL, HistoryError, failed};
use crate::fsck::tip::{Fault, SET_ASIDE, Tip, TipFile};
use crate::layout::{self, Kind, PLAIN};
use crate::objects::{self, LooseObjects, Promises};
use crate::packs::pack_order;
use crate::past::{Appearance, Digests, MISSING, Past, QUARANTINE, is_here, noted, reason, record_digest, vouches};
use sprag_base::digest::{Digest, is_hex};
use sprag_model::event_record::{EventError, EventRecord};
use sprag_model::fsck::{Finding, FindingKind};
use sprag_model::record::{MAX_RECORD_BYTES, RecordError};
use sprag_model::run::{RECORD_ROOT, Run};

/// How many files are held in memory to be decoded together.
const BATCH: usize = 256;

/// How far a run may lie ahead of the clock: clocks of machines differ by minutes, by an hour only when set wrongly.
const AHEAD: TimeDelta = TimeDelta::hours(1);

/// How long before its commit a run may lie: both times come from different clocks, in different time zones at worst.
const BEFORE_COMMIT: TimeDelta = TimeDelta::days(1);

/// How many names a finding about many lists.
const NAMED: usize = 5;

pub(crate) struct RunFacts {
    path: String,
    suite: String,
    machine: String,
    commit: Option<(String, DateTime<Utc>)>,
    time: DateTime<Utc>,
    /// The digest of its content without its time; absent where nothing was measured, or a part only.
    timeless: Option<Digest>,
}

pub(crate) enum Judged {
    Run(RunFacts),
    Event,
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

/// What the files of the tip are.
#[derive(Default)]
pub(crate) struct TipContents {
    pub(crate) runs: Vec<RunFacts>,
    /// What was set aside: the contents that lie there, and those that a note stands for.
    pub(crate) set_aside: HashSet<Oid>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) findings: Vec<Finding>,
    /// Paths of files that are not here, as in a partial clone.
    pub(crate) absent: Vec<String>,
}

/// Reads every record of the tip, of runs and of events, and tells their digests; and all that was set aside.
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
    contents.read_set_aside(repository, tip, promises);
    Ok(contents)
}

impl TipContents {
    fn fault(&mut self, file: &TipFile, kind: FindingKind, what: String) {
        let advice = match kind {
            FindingKind::Unreadable => fetch_first(file.id),
            _ => SET_ASIDE.to_owned(),
        };
        self.faults.push(Fault::new(file.clone(), kind, what, advice));
    }

    /// Reads all that was set aside, and holds it against the folders that it lies in.
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
                && !stands_in(digits, &path, blob.content())
            {
                let what = "was set aside, and no longer has the content that its folder is named after";
                let advice = "run `sprag history fsck --repair` to set this content aside under its own digest";
                self.faults.push(Fault::new(file.clone(), FindingKind::Name, what, advice));
            }
            // A content that is here again is to be brought back.
            let Some(id) = noted(repository, &file.path, file.id).filter(|&id| !is_here(repository, id)) else {
                continue;
            };
            self.set_aside.insert(id);
            if !path.rsplit('/').next().is_some_and(|name| recorded.contains(name)) {
                let what = "marks a file that could not be read and is nowhere else in the history";
                let advice = if promises.cover(id) {
                    format!("{FETCH_ALL}; then `sprag history fsck --repair` brings it back")
                } else {
                    format!(
                        "fetch {id} from a repository that has it; then `sprag history fsck --repair` brings it back"
                    )
                };
                self.findings.push(Finding::at(FindingKind::SetAside, &path, what).advise(advice));
            }
        }
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

// What was set aside: where it lies, whether it is still what it was, and what stands for contents that could not be
// read.

/// How the name of a note ends that stands for a submodule.
pub(crate) const SUBMODULE: &str = ".submodule";

/// The longest name of a file that is set aside: what a path of the layout allows for one part.
const LONGEST_NAME: usize = 100;

/// How many digits of a digest name the folder of a content.
const DIGITS: usize = 16;

/// What to do about an object that nobody has promised.
pub(crate) fn fetch_first(id: Oid) -> String {
    format!(
        "fetch {id} from a repository that has it, as by `git fetch --refetch`; only if none has it, run `sprag history \
         fsck --repair` to set it aside"
    )
}

/// Notes of the past that nobody need miss: what they stand for is in the history again, or can be read.
pub(crate) fn settled(repository: &Repository, past: &Past, present: &HashMap<String, Oid>) -> HashSet<Oid> {
    let mut gone = past.files.iter().filter(|file| file.path.ends_with(MISSING) && !present.contains_key(&file.path));
    let mut settled = HashSet::new();
    let contents: HashSet<&Oid> = present.values().collect();
    for note in &mut gone {
        let stood_for = noted(repository, note.path.as_bytes(), note.blob);
        if stood_for.is_some_and(|id| contents.contains(&id) || is_here(repository, id)) {
            settled.insert(note.blob);
        }
    }
    settled
}

/// Records that were set aside though nothing is wrong with them, and that the history has nowhere else.
pub(crate) fn intact_records(repository: &Repository, tip: &Tip) -> Vec<Finding> {
    let present = tip.contents();
    let mut findings = Vec::new();
    for file in &tip.quarantined {
        if objects::check(repository, file.id).is_err() {
            continue;
        }
        let Ok(blob) = repository.find_blob(file.id) else { continue };
        let Ok((id, run)) = Run::from_record(blob.content()) else { continue };
        // One whose name has another id was changed, and is no record of what was measured.
        if !file.text().ends_with(&format!("-{id}.json")) {
            continue;
        }
        let path = run.path(&id);
        if layout::check_path(&path).is_ok() && !present.contains_key(&path) {
            let what = format!("is a sound record of `{path}`, which the history lacks");
            let advice = "if it belongs there, write it to a file by `git show` and run `sprag history add`";
            findings.push(Finding::at(FindingKind::SetAside, &file.text(), what).advise(advice));
        }
    }
    findings
}

/// Where the file at `path` is set aside, in the folder of these digits.
pub(crate) fn place(digits: &str, path: &str, ending: &str) -> String {
    format!("{RECORD_ROOT}/{QUARANTINE}/{digits}/{}", name_of(path, ending))
}

/// The digits by which a content is set aside: those of a run, where it has the form of one.
pub(crate) fn digits_of(bytes: &[u8]) -> String {
    record_digest(bytes).unwrap_or_else(|| Digest::from_parts(&[bytes])).short()
}

/// The digits by which an object is set aside that has no content to be read.
pub(crate) fn digits_of_id(id: Oid) -> String {
    id.to_string()[..DIGITS].to_owned()
}

/// The name under which the file at `path` is set aside.
fn name_of(path: &str, ending: &str) -> String {
    let inside = path.strip_prefix(RECORD_ROOT).unwrap_or(path).trim_start_matches('/');
    format!("{}{ending}", flat(inside, LONGEST_NAME - ending.len()))
}

/// The digits of the folder that a file was set aside in; absent where a repair would not have put it there.
fn folder_of(path: &str) -> Option<&str> {
    let inside = path.strip_prefix(RECORD_ROOT)?.strip_prefix('/')?.strip_prefix(QUARANTINE)?.strip_prefix('/')?;
    let (folder, name) = inside.split_once('/')?;
    let is_digits = is_hex(folder, DIGITS..=DIGITS);
    (is_digits && !name.contains('/')).then_some(folder)
}

/// Whether a content belongs into the folder of these digits: by its digest, or as a note of an object with that id.
fn stands_in(digits: &str, path: &str, bytes: &[u8]) -> bool {
    let is_note = path.ends_with(MISSING) || path.ends_with(SUBMODULE);
    digits_of(bytes) == digits || (is_note && bytes.starts_with(digits.as_bytes()))
}

/// A path as one name: of too long a path the end, which tells more.
fn flat(path: &str, longest: usize) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let flat: String = path.chars().map(fine).collect();
    let end = flat.len().saturating_sub(longest - 1);
    let flat = &flat[end..];
    if flat.starts_with(['.', '-']) || flat.is_empty() { format!("_{flat}") } else { flat.to_owned() }
}

// What earlier commits had and the tip has not, or has with other content.
//
// Of several contents that a record ever had, its name vouches for one; of what lies aside of the runs, the first
// counts. What was set aside is not lost.

#[derive(Default)]
pub(crate) struct Losses {
    pub(crate) findings: Vec<Finding>,
    /// Contents to be brought back to their paths.
    pub(crate) restore: Vec<(String, Oid)>,
    /// Contents that no commit should have lost, and that are no records: they are to be set aside.
    pub(crate) set_aside: Vec<(String, Oid)>,
    /// Paths whose content now differs from what it was, and is to be set aside.
    pub(crate) replaced: Vec<(String, Oid)>,
    /// Paths that had a content which is not here, as in a partial clone.
    pub(crate) absent: Vec<String>,
}

/// Holds the contents of the tip, by path, against all that was ever there.
pub(crate) fn compare(
    past: &Past,
    present: &HashMap<String, Oid>,
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
        // The common case, and the only one in which nothing need be read.
        if contents.len() == 1 && now == Some(&contents[0].blob) {
            continue;
        }
        let right = match contents[0].kind {
            Kind::Auxiliary => Some(contents[0]),
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
            (None, None) => losses.removed(past, contents[contents.len() - 1], set_aside),
        }
    }
    losses
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
                // What the tip has is told where the tip is read.
                if now != Some(&file.blob) && !set_aside.contains(&file.blob) {
                    let what = format!("had a content that cannot be read: {}", reason(&error));
                    let advice = format!("fetch the object {} from a repository that has it", file.blob);
                    self.findings.push(Finding::at(FindingKind::Unreadable, &file.path, what).advise(advice));
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
        // What cannot be read cannot be brought back either.
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

    /// A file that is gone, and whose content is not here, as in a partial clone.
    fn gone(&mut self, past: &Past, last: &Appearance) {
        let (commit, _) = past.commits[last.commit];
        let what = format!("is gone; the commit {commit} had it, and its content is not here");
        let advice = format!("{FETCH_ALL}; then run `sprag history fsck --repair` to bring it back");
        self.findings.push(Finding::at(FindingKind::Lost, &last.path, what).advise(advice));
    }

    /// Something that was no record, and was removed rather than set aside.
    fn removed(&mut self, past: &Past, last: &Appearance, set_aside: &HashSet<Oid>) {
        if set_aside.contains(&last.blob) {
            return;
        }
        let (commit, _) = past.commits[last.commit];
        let what = format!("was a damaged file and is gone; the commit {commit} had it");
        let advice = "run `sprag history fsck --repair` to keep it among what was set aside";
        self.findings.push(Finding::at(FindingKind::Lost, &last.path, what).advise(advice));
        self.set_aside.push((last.path.clone(), last.blob));
    }
}
