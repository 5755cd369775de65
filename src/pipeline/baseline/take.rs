//! Where baselines come from: runs of a file, of HEAD or of a named commit, and files that should be baselines.
//!
//! Earlier sessions teach the noise of each metric.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::error::{Cause, WithContext as _};
use crate::gate::{self, GateRun, Records, apex_x};
use crate::project::Project;
use crate::run_file::{self, baseline_hint};
use crate::text::{self, warn};
use crate::{Advice, doctor, policy, refuse};
use sprag_analysis::reference::{self, Ground};
use sprag_analysis::session_noise;
use sprag_base::files::read_bounded;
use sprag_formats::registry;
use sprag_history as history;
use sprag_model::foreign::Output;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::{Baseline, Policy, RecordedRun, Run, RunStatus};

pub(super) struct RunSelection<'a> {
    pub suites: &'a [String],
    pub file: Option<PathBuf>,
    pub revision: Option<&'a str>,
}

pub(super) enum TakeOutcome {
    Taken(Box<Taken>),
    Nothing { why: String, failed: bool },
}

pub(super) struct Taken {
    pub recorded: RecordedRun,
    pub baseline: Baseline,
    /// Sessions that hold each metric, by its key, this run included.
    pub sessions: BTreeMap<String, usize>,
}

impl Taken {
    pub(super) fn warn(&self) {
        for measurement in self.recorded.run.measurements.iter().filter(|one| one.failed().is_some()) {
            warn(&format!("`{}` failed and is left out", measurement.benchmark));
        }
        for reason in &self.recorded.run.quality.reasons {
            warn(&format!("the run is rough: {reason}"));
        }
    }
}

pub(super) fn open(folder: &Path) -> crate::Result<Project> {
    let project = Project::open(folder)?;
    if project.is_bare {
        let message = "a bare repository has no working tree to put a baseline in";
        return refuse(message, "take the baseline in a clone, and push it");
    }
    Ok(project)
}

pub(super) fn take(project: &Project, wanted: &RunSelection<'_>) -> crate::Result<Vec<TakeOutcome>> {
    let policy = policy::from_rules(&project.config.rules);
    if let Some(revision) = wanted.revision {
        return from_revision(project, wanted.suites, revision, &policy);
    }
    let (records, chosen) = match &wanted.file {
        Some(file) => {
            let recorded = run_file::read_run(file)?;
            run_file::refuse_other(&recorded, wanted.suites)?;
            let records = project.find_store().map(|_| Records::open(project)).transpose()?;
            (records, vec![GateRun::from(recorded)])
        }
        None => {
            let records = Records::open(project)?;
            match gate::choose(project, &records, wanted.suites)? {
                (_, Some(nothing)) => return Err(nothing.because(Cause::Unmeasured).into()),
                (chosen, None) => (Some(records), chosen),
            }
        }
    };
    let outcomes = chosen.into_iter().map(|GateRun { suite, run, .. }| match run {
        None => Ok(nothing(format!("the suite `{suite}` has no run of this machine at HEAD"), false)),
        Some(RecordedRun { run, .. }) if run.status != RunStatus::Ok => {
            let reason = run.reason.as_deref().unwrap_or("no reason given");
            let why = match run.status {
                RunStatus::Failed => format!("the run of suite `{suite}` failed ({reason})"),
                _ => format!("suite `{suite}` was skipped ({reason})"),
            };
            Ok(nothing(why, run.status == RunStatus::Failed))
        }
        Some(recorded) => {
            let time = recorded.run.timestamp;
            from_runs(project, records.as_ref(), vec![recorded], time, &policy)
        }
    });
    outcomes.collect()
}

fn nothing(why: String, failed: bool) -> TakeOutcome {
    TakeOutcome::Nothing { why, failed }
}

/// The runs are of one suite, machine and environment, the newest last; `time` is the earliest. Without a history the noise is
/// assumed.
fn from_runs(
    project: &Project,
    records: Option<&Records<'_>>,
    runs: Vec<RecordedRun>,
    time: DateTime<Utc>,
    policy: &Policy,
) -> crate::Result<TakeOutcome> {
    let newest = runs.last().expect("whoever calls has a run");
    let before = records.map_or(Ok(Vec::new()), |records| before(records, &newest.run, time))?;
    let (base, past): (Vec<&RecordedRun>, Vec<&RecordedRun>) = (runs.iter().collect(), before.iter().collect());
    let taken = reference::baseline(&base, &past, Ground::Joined, policy, &doctor::spreads(project)).map(without_zeros);
    let Some(baseline) = taken.filter(|baseline| !baseline.metrics.is_empty()) else {
        return Ok(nothing(format!("the run of `{}` has nothing to judge", newest.run.suite), false));
    };
    let mut sessions = reference::sessions(&before.iter().chain(&runs).collect::<Vec<_>>());
    sessions.values_mut().for_each(|count| *count = (*count).min(session_noise::MOST_SESSIONS));
    Ok(TakeOutcome::Taken(Box::new(Taken { recorded: newest.clone(), baseline, sessions })))
}

/// Nothing can be compared with zero by a share.
fn without_zeros(mut baseline: Baseline) -> Baseline {
    let (metrics, zeros): (BTreeMap<_, _>, BTreeMap<_, _>) =
        std::mem::take(&mut baseline.metrics).into_iter().partition(|(_, metric)| metric.value > 0.0);
    if !zeros.is_empty() {
        let keys: Vec<&str> = zeros.keys().map(String::as_str).collect();
        warn(&format!("left out, since their value is zero and has no relative change: {}", keys.join(", ")));
    }
    Baseline { metrics, ..baseline }
}

/// Runs of uncommitted changes teach nothing.
fn before(records: &Records<'_>, run: &Run, time: DateTime<Utc>) -> crate::Result<Vec<RecordedRun>> {
    let alike = |one: &Run| {
        one.environment.key == run.environment.key && one.commit.as_ref().is_none_or(|commit| !commit.dirty)
    };
    records.before(run, time, &alike)
}

fn from_revision(
    project: &Project,
    suites: &[String],
    revision: &str,
    policy: &Policy,
) -> crate::Result<Vec<TakeOutcome>> {
    let store = project.store()?;
    let commit = history::commit_at(store, revision)?;
    let sha = commit.as_ref().map(|commit| commit.sha.as_str());
    let short = sha.and_then(|sha| sha.get(..12)).unwrap_or("no commit");
    let records = Records::open(project).context("cannot look for the runs of that commit")?;
    let name = project.machine_name();
    let mut outcomes = Vec::new();
    for (suite, settings) in project.config.select(suites)? {
        let machine = gate::machine_of(name.as_deref(), settings);
        let mut runs = records.at(Some(suite), sha)?;
        runs.retain(|one| one.run.machine.id == machine.id);
        let is_clean = |one: &RecordedRun| one.run.commit.as_ref().is_none_or(|commit| !commit.dirty);
        if runs.iter().any(is_clean) {
            runs.retain(is_clean);
        }
        let key = runs.last().map(|one| one.run.environment.key.clone());
        runs.retain(|one| Some(&one.run.environment.key) == key.as_ref());
        let first = runs.first().map(|one| one.run.timestamp);
        outcomes.push(match first {
            Some(first) => from_runs(project, Some(&records), runs, first, policy)?,
            None => nothing(format!("the suite `{suite}` has no complete run of this machine at {short}"), false),
        });
    }
    if outcomes.iter().all(|one| matches!(one, TakeOutcome::Nothing { .. })) {
        let message =
            format!("the history has no complete run of this machine at {} ({short})", text::printable(revision));
        let hint = "`sprag history log` lists the runs there are; SPRAG_MACHINE names another machine";
        return refuse(message, hint);
    }
    Ok(outcomes)
}

pub(super) fn read_file(path: &Path) -> Result<Baseline, Advice> {
    let shown = text::path(path);
    let bytes = read_bounded(path, MAX_RECORD_BYTES).map_err(|error| {
        let message = format!("`{shown}` cannot be read: {error}");
        Advice::new(message, "`sprag baseline list --archive` lists the files")
    })?;
    Baseline::from_json(&bytes).map_err(|error| {
        let (message, hint) = match other(&bytes) {
            Some((is, hint)) => (format!("`{shown}` is {is}, not a baseline of Sprag"), hint),
            None => (format!("`{shown}` {error}"), baseline_hint(&error)),
        };
        Advice::new(message, hint)
    })
}

pub(super) fn read_of(path: &Path, shown: &str, suites: &[String]) -> Result<Baseline, Advice> {
    let baseline = read_file(path)?;
    if !suites.is_empty() && !suites.contains(&baseline.suite) {
        let message = format!("`{}` is of the suite `{}`", text::printable(shown), baseline.suite);
        return refuse(message, "leave out `--suite`: the file says which it is of");
    }
    Ok(baseline)
}

pub(super) fn other_fault(path: &Path) -> Option<(String, &'static str)> {
    let (is, hint) = other(&read_bounded(path, MAX_RECORD_BYTES).ok()?)?;
    Some((format!("is {is}, not a baseline of Sprag"), hint))
}

/// What the file is in place of a baseline, and a hint.
fn other(bytes: &[u8]) -> Option<(String, &'static str)> {
    const JUDGED: &str =
        "it is used as it is: `sprag check --run CURRENT --baseline FILE`, with a file of its own kind";
    if Run::from_json(bytes).is_ok() {
        let hint = "take a baseline from it: `sprag baseline emit --run FILE --output BASELINE.json`";
        return Some(("the record of a run".to_owned(), hint));
    }
    if apex_x::is_apex_x_baseline(bytes) {
        return Some(("a baseline of Apex-X".to_owned(), JUDGED));
    }
    let output = Output { name: "file".to_owned(), bytes: bytes.to_vec() };
    let formats = registry::recognise(&[output]);
    // A text with Trueno's head is also one of Criterion's.
    let format = formats.iter().find(|one| one.name == "trueno").or(formats.first())?;
    Some(match format.name {
        "trueno" => ("a baseline of Trueno".to_owned(), JUDGED),
        "tt-metal" => ("ground truth of tt-metal".to_owned(), JUDGED),
        name => {
            let hint = "`sprag import FILE` records it; then run `sprag baseline emit`";
            (format!("of the format `{name}`"), hint)
        }
    })
}
