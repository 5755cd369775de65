//! What a bisection adds to the history with `--record`: a run of each commit that it measured, and what it found of its event.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{SubsecRound as _, TimeDelta};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bisect::measuring::{Measurer, Taken, is_measured};
use crate::bisect::report::{BisectOutcome, BisectReport, Culprit};
use crate::bisect::state::{Recording, State};
use crate::builds::commit_build::by_id;
use crate::config::SuiteKind;
use crate::error::WithContext as _;
use crate::pending;
use crate::project::Project;
use crate::text::note;
use crate::{refuse, trend};
use sprag_analysis::bisect::question::Session;
use sprag_base::files::write_atomic;
use sprag_base::number;
use sprag_base::text::{printable, shortened};
use sprag_history::Record;
use sprag_measure::plan::Protocol;
use sprag_measure::{clock, environment, parity, pool};
use sprag_model::paired::Pair;
use sprag_model::run::FILTER;
use sprag_model::{
    BisectEffect, BisectMeasurement, BisectSuspect, Bisection, EventKind, EventRecord, EventStep, Measurement, Member,
    Quality, Run, SkippedCommit,
};

/// The setting of a run that a bisection measured.
pub(crate) const SETTING: &str = "bisect";

/// What a run says of the bisection that measured it, so that other jobs can use its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The number of the job from 1, and of its session: what is measured twice in one second is two runs.
    #[serde(default)]
    pub(super) measured: (u32, usize),
    pub(super) good: String,
    pub(super) filters: Vec<String>,
    /// Absent for the judged metric.
    pub(super) metric: Option<String>,
    #[serde(default)]
    pub(super) settings: String,
    /// Of each benchmark the logarithms of the ratios to the good end.
    pub(super) session: Session,
}

const DIGITS: usize = 4;

/// The longest reason of a skipped commit that is recorded, in characters.
const MOST_OF_REASON: usize = 300;

/// Refuses what could not be recorded, before a long search. An event without a record gets one.
pub(super) fn check(project: &Project, state: &mut State) -> crate::Result<()> {
    if let Some(event) = state.event.clone().filter(|_| state.recording != Recording::None)
        && newest(project, &event)?.is_none()
    {
        let opening = trend::unrecorded(project)?.into_iter().find(|record| record.event == event);
        if opening.is_none() && state.opening.is_none() {
            let message = format!("the event {event} is not certain enough to be recorded");
            return refuse(message, "leave out `--record` and `--output-runs`");
        }
        state.opening = state.opening.take().or(opening);
    }
    if state.recording != Recording::History {
        return Ok(());
    }
    let bad = state.stages[0].commits.last().map_or("", String::as_str);
    pending::foretell(project, Some(&by_id(project, bad)?))
}

/// Each in a file of its own, named as in the history.
pub(super) fn write(folder: &Path, records: &[Record]) -> crate::Result<()> {
    for record in records {
        let name = record.path.rsplit('/').next().unwrap_or(&record.path);
        write_atomic(&folder.join(name), &record.bytes)?;
    }
    Ok(())
}

/// The id of the run of a commit, and its text, with that of the run of the good end where that is asked.
pub(super) fn runs(
    measurer: &Measurer<'_>,
    state: &State,
    [good, commit]: [&str; 2],
    taken: &Taken,
    (job, with_good): (u32, bool),
) -> crate::Result<(String, Vec<String>)> {
    let run = |place: usize, sha: &str| run(measurer, state, sha, taken, place);
    let mut measured = run(1, commit)?;
    let note = Note {
        measured: (job, state.runs.len() + 1),
        good: good.to_owned(),
        filters: state.filters.clone(),
        metric: state.metric.clone(),
        settings: state.settings.clone(),
        session: rounded(&taken.session),
    };
    measured.config.insert(SETTING.to_owned(), serde_json::to_value(note).context("cannot write a run")?);
    let mut records = vec![text(&measured)];
    if with_good {
        records.push(text(&run(0, good)?));
    }
    Ok((measured.to_record().0, records))
}

/// What the history keeps of a run.
pub(super) fn text(run: &Run) -> String {
    String::from_utf8_lossy(&run.to_record().2).into_owned()
}

fn rounded(session: &Session) -> Session {
    let round = |value: &f64| number::round_significant(*value, 2 * DIGITS);
    session.iter().map(|(id, pairs)| (id.clone(), pairs.iter().map(round).collect())).collect()
}

/// What one side of the pairs measured.
fn run(measurer: &Measurer<'_>, state: &State, sha: &str, taken: &Taken, place: usize) -> crate::Result<Run> {
    let mut run = Run::new(&state.suite, clock::now(), measurer.machine.clone());
    run.commit = Some(by_id(measurer.project, sha)?);
    run.environment = match measurer.suite.kind {
        SuiteKind::Command => environment::environment_of_programs(&taken.facts[place]),
        _ => environment::environment(&taken.facts[place]),
    };
    let result = &taken.result;
    let mut estimates: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for one in result.benchmarks.iter().chain(&result.shown).filter(|one| is_measured(one)) {
        let side = |pair: &Pair| if place == 0 { pair.base } else { pair.other };
        let values: Vec<f64> = one.pairs.iter().map(side).collect();
        let estimate = pool::over_processes(one.metric.clone(), &values, values.len(), Protocol::quick().seed);
        estimates.entry(&one.benchmark).or_default().extend(estimate);
    }
    // A few pairs of some commit are not a session of the suite: a gate must not take them for its newest run.
    run.config.insert(FILTER.to_owned(), Value::from(estimates.keys().copied().collect::<Vec<_>>()));
    run.config.insert("processes".to_owned(), Value::from(result.pairs));
    let reasons = vec![format!("measured in {} of processes by a bisection", crate::text::count(result.pairs, "pair"))];
    run.quality = Quality { clean: false, reasons };
    let measurement = |(id, estimates): (&str, Vec<_>)| {
        let benchmark = result.identities.get(id)?.clone();
        Some(Measurement { parity: parity::unchecked(), ..Measurement::new(benchmark, estimates) })
    };
    run.measurements = estimates.into_iter().filter_map(measurement).collect();
    Ok(run)
}

/// Records that an event is narrowed to the culprit, and how that was found.
pub(super) fn event(project: &Project, state: &State, report: &BisectReport) -> crate::Result<()> {
    let is_single =
        matches!(report.outcome, BisectOutcome::Culprit | BisectOutcome::OneOfSeveral | BisectOutcome::Redone);
    let Some(culprit) = report.culprits.first().filter(|_| is_single) else {
        if report.event.is_some() {
            note("the event is not narrowed, as no single culprit is certain");
        }
        return Ok(());
    };
    let id = match &report.event {
        Some(id) => id.clone(),
        None => match event_of(project, state, culprit)? {
            Some(id) => id,
            None => {
                note("the runs are recorded without an event: the culprit is not a suspect of a recorded one");
                return Ok(());
            }
        },
    };
    let id = &id;
    let recorded = newest(project, id)?;
    let opening = state.opening.clone().filter(|_| recorded.is_none());
    let Some(newest) = recorded.or_else(|| opening.clone()) else { return Ok(()) };
    let commits: Vec<&String> = culprit.commits.iter().map(|one| &one.sha).collect();
    // Of what a merge brought, the line of the event has the merge alone.
    let of_merge = merge(state);
    let first = of_merge.unwrap_or(commits[0]);
    let last = of_merge.unwrap_or(commits[commits.len() - 1]);
    let likely = report.suspects.iter().map(|one| &one.sha).find(|sha| commits.contains(sha));
    let most_likely = of_merge.or(likely).unwrap_or(first);
    let range = [&newest.first_suspect, &newest.last_suspect, &newest.most_likely];
    let is_recorded = newest.step != EventStep::Retracted && newest.bisection.is_some();
    if is_recorded && range == [first, last, most_likely] {
        return trend::record(project, &[]);
    }
    let narrowed = EventRecord {
        step: EventStep::Narrowed,
        time: clock::now().trunc_subsecs(0).max(newest.time + TimeDelta::seconds(1)),
        reason: None,
        first_suspect: first.clone(),
        last_suspect: last.clone(),
        most_likely: most_likely.clone(),
        bisection: Some(bisection(state, report, culprit)),
        ..newest
    };
    let steps: Vec<EventRecord> = opening.into_iter().chain([narrowed]).collect();
    match &state.recording {
        Recording::Folder(folder) => write(folder, &steps.iter().map(Record::from_event).collect::<Vec<_>>()),
        _ => trend::record(project, &steps),
    }
}

/// The merge that brought the culprit.
fn merge(state: &State) -> Option<&String> {
    state.stages.get(1).and_then(|stage| stage.commits.last())
}

/// The recorded event of which the culprit between two named ends is a suspect, by a benchmark that moved there.
fn event_of(project: &Project, state: &State, culprit: &Culprit) -> crate::Result<Option<String>> {
    let commits: Vec<&String> = match merge(state) {
        Some(merge) => vec![merge],
        None => culprit.commits.iter().map(|one| &one.sha).collect(),
    };
    for event in trend::events(project)? {
        let is_suspect = event.suspects.iter().any(|one| commits.contains(&&one.commit.sha));
        let has_moved = |one: &Member| culprit.effects.iter().any(|effect| effect.benchmark == one.benchmark);
        let is_member = event.members.iter().any(|one| one.suite == state.suite && has_moved(one));
        if event.kind == EventKind::Change && is_suspect && is_member && newest(project, &event.id)?.is_some() {
            note(&format!("the culprit is a suspect of the event {}, which is narrowed to it", event.id));
            return Ok(Some(event.id));
        }
    }
    Ok(None)
}

fn bisection(state: &State, report: &BisectReport, culprit: &Culprit) -> Bisection {
    let round = |value: f64| number::round_significant(value, DIGITS);
    let line = &state.stages[0].commits;
    let measurement = |one: &BisectMeasurement| BisectMeasurement {
        level: round(one.level),
        probability: round(one.probability),
        ..one.clone()
    };
    let effect = |one: &BisectEffect| BisectEffect {
        change: round(one.change),
        interval: (round(one.interval.0), round(one.interval.1)),
        ..one.clone()
    };
    let skipped = |one: &SkippedCommit| {
        let reason = shortened(&printable(&one.reason), MOST_OF_REASON);
        SkippedCommit { reason, ..one.clone() }
    };
    let suspects = report.suspects.iter();
    Bisection {
        good: line[0].clone(),
        bad: line[line.len() - 1].clone(),
        measurements: report.measurements.iter().map(measurement).collect(),
        suspects: suspects
            .map(|one| BisectSuspect { commit: one.sha.clone(), probability: round(one.probability) })
            .collect(),
        culprits: culprit.commits.iter().map(|one| one.sha.clone()).collect(),
        probability: round(culprit.probability.min(1.0)),
        effects: culprit.effects.iter().map(effect).collect(),
        skipped: report.skipped.iter().map(skipped).collect(),
    }
}

/// The newest record of an event.
fn newest(project: &Project, id: &str) -> crate::Result<Option<EventRecord>> {
    let records = trend::read_event_records(project)?.into_iter().filter(|record| record.event == id);
    Ok(records.max_by_key(|record| record.time))
}
