//! Records finished files of runs, and of events that a bisection narrowed, in one commit.
//!
//! Anyone may have written them, so kind, size, schema and the id in the name are checked. Files are only read.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};

use crate::error::{Exit, WithContext as _};
use crate::pending::{self, Origin};
use crate::project::Project;
use crate::text::{self, say, warn};
use crate::{Advice, Error, refuse};
use sprag_base::digest::is_hex;
use sprag_base::files::open_inside;
use sprag_history::{self as history, HistoryError, Record, Store};
use sprag_measure::clock;
use sprag_model::record::{MAX_RECORD_BYTES, RecordError};
use sprag_model::{Commit, EventRecord, Run};

/// What the files must be, whatever they say.
#[derive(Debug, Default)]
pub struct ExpectedRecords {
    /// Empty for any.
    pub suites: Vec<String>,
    /// The start of an id, or a revision.
    pub commit: Option<String>,
    pub max_age_days: Option<u32>,
    /// Whether a run may be dated more than a day after this machine's clock.
    pub allow_future: bool,
}

impl ExpectedRecords {
    /// What contradicts, as it reads after the name. `run` is absent for the record of an event.
    fn check(&self, run: Option<&Run>, commits: &[String], now: DateTime<Utc>) -> Result<(), Bad> {
        let bad = |reason: String, hint| Err(Bad { hint: Some(hint), ..Bad::new("", reason) });
        let asked = "it is not what this call was asked to record: see where the file comes from";
        let Some(run) = run else {
            let takes_any = self.suites.is_empty() && commits.is_empty();
            return if takes_any {
                Ok(())
            } else {
                bad("is the record of an event, where runs are expected".to_owned(), asked)
            };
        };
        if !self.suites.is_empty() && !self.suites.contains(&run.suite) {
            return bad(
                format!("is of the suite `{}`, where `{}` is expected", run.suite, self.suites.join("`, `")),
                asked,
            );
        }
        let sha = run.commit.as_ref().map_or("no commit", |commit| commit.sha.as_str());
        if !commits.is_empty() && !commits.iter().any(|start| sha.starts_with(start.as_str())) {
            return bad(format!("is of {sha}, where {} is expected", commits.join(" or ")), asked);
        }
        let date = run.timestamp.format("%Y-%m-%d %H:%M UTC");
        if let Some(days) = self.max_age_days.filter(|days| run.timestamp < now - TimeDelta::days(i64::from(*days))) {
            return bad(format!("is dated {date}, more than {} ago", text::count(days as usize, "day")), asked);
        }
        if !self.allow_future && run.timestamp > now + TimeDelta::days(1) {
            let hint = "check the clocks of both machines; `--allow-future` records it anyway";
            return bad(format!("is dated {date}, more than a day after the clock of this machine"), hint);
        }
        Ok(())
    }

    /// The starts of the ids that are allowed.
    fn commits(&self, store: &Store) -> crate::Result<Vec<String>> {
        let Some(given) = &self.commit else { return Ok(Vec::new()) };
        let is_id = (7..=40).contains(&given.len()) && is_hex(given, given.len()..=given.len());
        // Of a commit of records, the commit of code before it is measured.
        let measured = history::commit_at(store, given).ok().flatten().map(|commit| commit.sha);
        let commits: Vec<String> = is_id.then(|| given.clone()).into_iter().chain(measured).collect();
        if commits.is_empty() {
            let message = format!("`{}` names no commit of this repository", text::printable(given));
            return refuse(message, "give `--expect-commit` at least seven digits of its id, or fetch the commit");
        }
        Ok(commits)
    }
}

pub fn add(
    folder: &Path,
    paths: &[PathBuf],
    skip_bad: bool,
    expected: &ExpectedRecords,
    input: &mut dyn Read,
    out: &mut dyn Write,
) -> crate::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let (commits, now) = (expected.commits(store)?, clock::now());
    let (mut good, mut bad) = read(folder, paths, input, &|run| expected.check(run, &commits, now))?;
    bad.iter().for_each(report);
    while !good.is_empty() && (bad.is_empty() || skip_bad) {
        let records: Vec<Record> = good.iter().map(|one| one.record.clone()).collect();
        match pending::record(&project, &records, Origin::Files) {
            Ok(appended) => {
                warn_of_absent_commits(store, &good);
                for path in &appended.added {
                    writeln!(out, "{path}")?;
                }
                break;
            }
            // The history may refuse a file that is valid alone.
            Err(error) => bad.push(refused(&mut good, error)?),
        }
    }
    Ok(match (bad.is_empty(), bad.iter().any(|one| one.is_damaged), skip_bad) {
        (true, ..) => Exit::Done,
        (false, true, _) => Exit::Integrity,
        (false, false, true) => Exit::Failed,
        (false, false, false) => {
            let message = format!("nothing was recorded: {} of {} are wrong", bad.len(), files(good.len() + bad.len()));
            let hint = "fix or leave out what is named above, or record the others with `--skip-bad`";
            return refuse(message, hint);
        }
    })
}

fn refused(good: &mut Vec<Incoming>, error: crate::Error) -> crate::Result<Bad> {
    let history_error = error.cause::<HistoryError>();
    let place = history_error.and_then(|error| good.iter().position(|one| error.blames(&one.record.path)));
    let Some(place) = place else { return Err(error) };
    let bad = Bad::new(&good.remove(place).name, format!("is refused by the history: {error}"));
    report(&bad);
    if let Some(hint) = history_error.and_then(HistoryError::hint) {
        say(&format!("hint: {}", text::printable(&hint)));
    }
    Ok(bad)
}

fn report(bad: &Bad) {
    say(&format!("error: {}", text::printable(&format!("`{}` {}", bad.name, bad.reason))));
    if let Some(hint) = bad.hint {
        say(&format!("hint: {hint}"));
    }
}

/// The commit may have been squashed, or be missing in a shallow clone.
fn warn_of_absent_commits(store: &Store, recorded: &[Incoming]) {
    let commits: BTreeSet<&str> = recorded.iter().filter_map(|one| one.commit.as_deref()).collect();
    let absent: Vec<&str> = commits.into_iter().filter(|commit| !history::has_commit(store, commit)).collect();
    let Some(first) = absent.first() else { return };
    let commits = text::count(absent.len(), "commit");
    warn(&format!("this repository does not hold {commits} that the runs measured, such as {first}"));
}

const MOST_FILES: usize = 10_000;

/// Records are held in memory.
const MOST_BYTES: usize = 256 << 20;

/// So that a wrong folder ends soon.
const MOST_ENTRIES: usize = 100_000;

const MOST_DEPTH: usize = 16;

const STANDARD_INPUT: &str = "-";

pub(super) struct Incoming {
    pub name: String,
    pub record: Record,
    pub commit: Option<String>,
}

#[derive(Debug)]
pub(super) struct Bad {
    pub name: String,
    /// Reads after the name.
    pub reason: String,
    pub hint: Option<&'static str>,
    /// Whether content and name contradict: the file is damaged or forged.
    pub is_damaged: bool,
}

impl Bad {
    pub(super) fn new(name: &str, reason: String) -> Bad {
        Bad { name: name.to_owned(), reason, hint: None, is_damaged: false }
    }
}

/// What contradicts the expectations of a call; gets no run for the record of an event.
type ExpectedCheck<'a> = dyn Fn(Option<&Run>) -> Result<(), Bad> + 'a;

/// Relative paths count from `folder`.
fn read(
    folder: &Path,
    paths: &[PathBuf],
    input: &mut dyn Read,
    check: &ExpectedCheck<'_>,
) -> crate::Result<(Vec<Incoming>, Vec<Bad>)> {
    let mut reader = Reader { check, good: Vec::new(), bad: Vec::new(), bytes: 0, entries: 0 };
    let mut has_input = false;
    for path in paths {
        if path.as_os_str() == STANDARD_INPUT {
            if has_input {
                return Err(Error::message("`-` can be given once: standard input holds one run"));
            }
            has_input = true;
            reader.take("standard input", None, input)?;
            continue;
        }
        let full = folder.join(path);
        let before = reader.good.len() + reader.bad.len();
        match fs::symlink_metadata(&full) {
            Ok(metadata) if metadata.is_dir() => {
                reader.walk(&full, path, 0)?;
                if reader.good.len() + reader.bad.len() == before {
                    let message = format!("`{}` holds no file whose name ends with `.json`", path.display());
                    let hint = "name the files, or the folder that they lie in";
                    return refuse(message, hint);
                }
            }
            _ => reader.file(&full, &path.to_string_lossy())?,
        }
    }
    Ok((reader.good, reader.bad))
}

struct Reader<'a> {
    check: &'a ExpectedCheck<'a>,
    good: Vec<Incoming>,
    bad: Vec<Bad>,
    bytes: usize,
    entries: usize,
}

impl Reader<'_> {
    /// Every `*.json` below a folder, in order of names; the rest is ignored.
    fn walk(&mut self, folder: &Path, shown: &Path, depth: usize) -> crate::Result<()> {
        let unlisted = || format!("cannot list `{}`", shown.display());
        if depth > MOST_DEPTH {
            let message = format!("`{}` lies more than {MOST_DEPTH} folders deep", shown.display());
            return refuse(message, "name the folders that hold the files");
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).with_context(unlisted)? {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                let message = format!("`{}` holds more than {MOST_ENTRIES} files and folders", shown.display());
                return refuse(message, "name the folders that hold the files");
            }
            names.push(entry.with_context(unlisted)?.file_name());
        }
        names.sort();
        for name in names {
            let (path, shown) = (folder.join(&name), shown.join(&name));
            let metadata =
                fs::symlink_metadata(&path).with_context(|| format!("cannot look at `{}`", shown.display()))?;
            if metadata.is_dir() {
                self.walk(&path, &shown, depth + 1)?;
            } else if path.extension().is_some_and(|extension| extension == "json") {
                self.file(&path, &shown.to_string_lossy())?;
            } else if metadata.is_symlink() {
                warn(&format!("`{}` is a symbolic link and was not followed", shown.display()));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, shown: &str) -> crate::Result<()> {
        let name = path.file_name().unwrap_or_default();
        match open_inside(path.parent().unwrap_or(path), Path::new(name)) {
            Ok(mut file) => self.take(shown, name.to_str(), &mut file),
            Err(error) => {
                let hint = (error.kind() == ErrorKind::InvalidInput).then_some("`-` reads a run from standard input");
                self.bad.push(Bad { hint, ..Bad::new(shown, format!("cannot be read: {error}")) });
                Ok(())
            }
        }
    }

    fn take(&mut self, shown: &str, file_name: Option<&str>, source: &mut dyn Read) -> crate::Result<()> {
        if self.good.len() + self.bad.len() == MOST_FILES {
            return Err(too_much(format!("there are more than the {MOST_FILES} files that one call takes")));
        }
        let mut bytes = Vec::new();
        let most = u64::try_from(MAX_RECORD_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        if let Err(error) = source.take(most).read_to_end(&mut bytes) {
            self.bad.push(Bad::new(shown, format!("cannot be read: {error}")));
            return Ok(());
        }
        match check(shown, file_name, &bytes, self.check) {
            Ok(incoming) => {
                self.bytes += incoming.record.bytes.len();
                if self.bytes > MOST_BYTES {
                    let most = MOST_BYTES >> 20;
                    return Err(too_much(format!("the files have more than the {most} MiB that one call takes")));
                }
                self.good.push(incoming);
            }
            Err(bad) => self.bad.push(bad),
        }
        Ok(())
    }
}

fn too_much(message: String) -> Error {
    Advice::new(message, "add them in several calls").into()
}

fn check(shown: &str, file_name: Option<&str>, bytes: &[u8], is_expected: &ExpectedCheck<'_>) -> Result<Incoming, Bad> {
    let read = Run::from_json(bytes);
    if let (Err(_), Ok(event)) = (&read, EventRecord::from_bytes(bytes)) {
        let record = Record::from_event(&event);
        if file_name.is_some_and(|name| !record.path.ends_with(&format!("/{name}"))) {
            let reason = format!("does not have the name of its content: it should be that of `{}`", record.path);
            return Err(Bad { is_damaged: true, ..Bad::new(shown, reason) });
        }
        is_expected(None).map_err(|bad| Bad { name: shown.to_owned(), ..bad })?;
        return Ok(Incoming { name: shown.to_owned(), record, commit: None });
    }
    let (id, run) = read.map_err(|error| {
        let hint = match error {
            RecordError::Newer(_) => Some("install a newer sprag; the file was left as it is"),
            RecordError::Foreign => Some("`history add` takes what `run --output-run` writes"),
            _ => None,
        };
        // Reading stopped at the limit.
        let reason = match error {
            RecordError::Large(_) => format!("holds more than the {MAX_RECORD_BYTES} bytes that a record may have"),
            other => other.to_string(),
        };
        Bad { hint, ..Bad::new(shown, reason) }
    })?;
    let record = Record::from_run(&run);
    if let Some(reason) = file_name.and_then(|name| contradiction(name, &id, &record.path)) {
        let hint = Some("it was changed after it was written, or renamed; fetch it again from where it was written");
        return Err(Bad { hint, is_damaged: true, ..Bad::new(shown, reason) });
    }
    is_expected(Some(&run)).map_err(|bad| Bad { name: shown.to_owned(), ..bad })?;
    Ok(Incoming {
        name: shown.to_owned(),
        record,
        commit: run.commit.as_ref().map(|commit: &Commit| commit.sha.clone()),
    })
}

/// What content contradicts the name.
///
/// A name claims an id if it ends in `-`, sixteen hexadecimal digits and `.json`. Decimal digits alone may be a time or
/// a count, unless the other parts of a record's name are there.
fn contradiction(name: &str, id: &str, path: &str) -> Option<String> {
    let own = path.rsplit('/').next().unwrap_or(path);
    let parts: Vec<&str> = name.strip_suffix(".json")?.split('-').collect();
    let hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let [before @ .., run] = &parts[..] else { return None };
    let is_full = matches!(before, [.., commit, machine] if hex(commit, 12) && hex(machine, 8));
    let claims = !before.is_empty() && hex(run, 16) && (is_full || run.bytes().any(|byte| byte.is_ascii_lowercase()));
    if !claims {
        return None;
    }
    if *run != id {
        return Some(format!("has the id `{run}` in its name, but `{id}` in its content"));
    }
    let differs = is_full && !name.ends_with(own);
    differs.then(|| format!("has a name that its content contradicts: it should end with `{own}`"))
}

pub(super) fn files(count: usize) -> String {
    text::count(count, "file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_file_names_must_match_the_content() {
        let path = "history/v1/cpu/2026/11/0123456789ab-01234567-00000000deadbeef.json";
        let check = |name: &str, fine: bool| {
            assert_eq!(contradiction(name, "00000000deadbeef", path).is_none(), fine, "{name}");
        };
        check("0123456789ab-01234567-00000000deadbeef.json", true);
        check("artifact-7-0123456789ab-01234567-00000000deadbeef.json", true);
        check("cpu-00000000deadbeef.json", true);
        check("run.json", true);
        check("run-1763730000000000.json", true);
        check("00000000deadbeee.json", true);
        check("cpu-00000000deadbeee.json", false);
        check("0123456789ab-01234567-0000000000000000.json", false);
        check("0123456789ac-01234567-00000000deadbeef.json", false);
        check("0123456789ab-01234568-00000000deadbeef.json", false);
    }
}
