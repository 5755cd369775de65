//! The ledger of a project: `ledger/*.toml` beside its baselines, and where what it says is told.

use std::fs;
use std::io;

use anyhow::Context as _;
use chrono::{DateTime, Utc};

use super::project::Project;
use super::study::{self, Study};
use super::{Advice, bounded, text, trend};
use sprag_analysis::ledger::{Accepting, Held};
use sprag_evidence::ledger::{self, LedgerError, MOST_BYTES};
use sprag_history::{self as history, Head};
use sprag_measure::clock;
use sprag_model::gate::SuiteGate;
use sprag_model::ledger::{FOLDER, Ledger, day};
use sprag_model::run::Run;
use sprag_model::trend::Trend;
use sprag_model::verdict::{Comparison, Verdict};

/// Reads all files of the ledger, in the order of their names; one that is not there is empty.
///
/// # Errors
/// When the folder cannot be listed, or a file of it not be read: whoever took it for empty would let an acceptance lapse, or
/// believe that one stands.
pub(super) fn read(project: &Project) -> anyhow::Result<Ledger> {
    of(&files(project)?).map_err(|error| faulty(&error.to_string()).into())
}

/// Likewise, with one more file that is not there yet.
///
/// # Errors
/// As [`read`], and where the new file is at fault.
pub(super) fn read_with(project: &Project, path: &str, text: &str) -> anyhow::Result<Ledger> {
    let mut files = files(project)?;
    files.push((path.to_owned(), text.as_bytes().to_vec()));
    let hint = "nothing was written; `--date` and `--expires` name other days".to_owned();
    of(&files).map_err(|error| Advice { message: text::printable(&error.to_string()), hint }.into())
}

fn of(files: &[(String, Vec<u8>)]) -> Result<Ledger, LedgerError> {
    ledger::read(files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())))
}

/// The files of the ledger: path from the root of the project, and content.
fn files(project: &Project) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let folder = project.root.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot list `{}`", folder.display())),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list `{}`", folder.display()))?.path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let shown = format!("{FOLDER}/{name}");
        // What is there and is no file must not look like a file that is not there; a pipe has no end.
        let bytes = match fs::metadata(&path) {
            Ok(found) if !found.is_file() => Err("is no file".to_owned()),
            _ => bounded::read(&path, MOST_BYTES).map_err(|error| format!("cannot be read: {error}")),
        };
        files.push((shown.clone(), bytes.map_err(|fault| faulty(&format!("`{shown}` {fault}")))?));
    }
    files.sort();
    Ok(files)
}

fn faulty(message: &str) -> Advice {
    Advice {
        message: text::printable(message),
        hint: "mend the entry, or take it out; nothing is accepted by a ledger that cannot be read as a whole"
            .to_owned(),
    }
}

/// The moment by which pages read the ledger: that of the newest run, or of the commit that is checked out where that is later, as
/// an entry counts from the day on which it is committed. So equal repositories give equal pages.
///
/// # Errors
/// When HEAD cannot be read.
pub(super) fn time(project: &Project, newest: DateTime<Utc>) -> anyhow::Result<DateTime<Utc>> {
    let Some(store) = project.find_store() else { return Ok(newest) };
    let commit = match history::facts(store)?.head {
        Head::Branch { commit, .. } | Head::Detached { commit } => history::find_commit(store, &commit)?,
        Head::Unborn { .. } => None,
    };
    Ok(commit.map_or(newest, |commit| commit.commit_time.max(newest)))
}

/// Writes to each regression of the newest runs of a study what the ledger says to it, as of a moment.
pub(super) fn tell_newest(study: &mut Study, trend: &Trend, now: DateTime<Utc>) {
    let Study { analysis, line, ledger, .. } = study;
    Accepting::new(ledger, &trend.events, line, day(now)).tell_newest(analysis);
}

/// Writes to regressions that were found in runs of now what the ledger says to them; each group with its run and the commit
/// that it was held against.
pub(super) fn tell_runs<'a>(
    study: &Study,
    trend: &Trend,
    groups: impl IntoIterator<Item = (&'a Run, Option<&'a str>, &'a mut [Comparison])>,
) {
    let accepting = Accepting::new(&study.ledger, &trend.events, &study.line, day(clock::now()));
    for (run, base, comparisons) in groups {
        accepting.tell(&held(run, base), comparisons);
    }
}

/// Writes to each regression that a gate found what the ledger says to it; the run of each suite stands at its place. The events
/// are looked for only where one of them could answer.
///
/// # Errors
/// When the history is needed and cannot be read.
pub(super) fn tell_gate(
    project: &Project,
    ledger: &Ledger,
    suites: &mut [SuiteGate],
    runs: &[Option<&Run>],
) -> anyhow::Result<()> {
    let regressed = suites.iter().flat_map(|suite| &suite.comparisons).any(|one| one.verdict == Verdict::Regressed);
    if ledger.acceptances.is_empty() || !regressed || project.find_store().is_none() {
        return Ok(());
    }
    let study = study::study(project)?;
    let found = trend::of_study(project, &study, &trend::Wish::events(clock::now()), &|_| true)?.trend;
    let groups = suites.iter_mut().zip(runs).filter_map(|(suite, run)| {
        let SuiteGate { base_commit, comparisons, .. } = suite;
        Some(((*run)?, base_commit.as_deref(), comparisons.as_mut_slice()))
    });
    tell_runs(&study, &found, groups);
    Ok(())
}

/// Warns of acceptances of events that nobody tells: they answer for nothing.
pub(super) fn tell_unknown(ledger: &Ledger, trend: &Trend) {
    for one in &ledger.acceptances {
        if trend.events.iter().all(|event| event.id != one.event) {
            super::warn(&format!(
                "{} accepts `{}`, which is no event of the history: it answers for nothing",
                one.terms.entry, one.event
            ));
        }
    }
}

fn held<'a>(run: &'a Run, base: Option<&'a str>) -> Held<'a> {
    Held {
        machine: &run.machine.id,
        machine_name: &run.machine.name,
        base,
        commit: run.commit.as_ref().map(|commit| commit.sha.as_str()),
    }
}
