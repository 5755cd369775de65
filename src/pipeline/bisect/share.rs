//! Several jobs share a bisection by the history: each announces what it measures, and reads the runs of the others.
//!
//! An announcement is a file of the history, and a push succeeds only on top of what was fetched. So of two jobs that choose the
//! same commit at the same time, the second one to push finds the announcement of the first, and chooses again.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::bisect::record::{Note, SETTING};
use crate::bisect::state::{Answer, State};
use crate::builds::failures::broken;
use crate::error::WithContext as _;
use crate::project::Project;
use crate::records::say_waits;
use crate::study::{self, DecodedHistory};
use crate::text::{self, note};
use sprag_analysis::bisect::choice::BisectChoice;
use sprag_base::{digest, json};
use sprag_history::{self as history, Record, SyncError, SyncOptions};
use sprag_measure::clock;
use sprag_model::Machine;
use sprag_model::run::RECORD_ROOT;

/// Answers that are older belong to an earlier bisection.
const OLDEST: TimeDelta = TimeDelta::days(1);

/// An announcement ends with the run that it announces, with the next one of its job, and at the latest after three times what the
/// measurement is expected to take, so that the commit of a job that was killed is measured by another one. Where no build was
/// timed yet, it takes minutes.
const PATIENCE: f64 = 3.0;
const LEAST_PATIENCE: f64 = 300.0;

const VERSION: u32 = 1;

/// What a job measures next. Older builds do not read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Announcement {
    schema_version: u32,
    job: u32,
    /// From 1, among those of its job.
    number: usize,
    pub(super) commit: String,
    pub(super) pairs: usize,
    time: DateTime<Utc>,
    until: DateTime<Utc>,
}

/// The folder of the announcements about one question.
fn folder(state: &State) -> String {
    let good = &state.stages[0].commits[0];
    let question = format!("{:?}", (&state.suite, good, &state.filters, &state.metric, &state.settings));
    format!("{RECORD_ROOT}/_bisect/{}", &digest::sha256_hex(question.as_bytes())[..16])
}

fn announcements(project: &Project, state: &State) -> crate::Result<Vec<Announcement>> {
    let files = history::plain_files(project.store()?, &project.source()?, &folder(state));
    let files = files.context("cannot read what other jobs measure")?.files.into_iter();
    let read = files.filter_map(|(_, bytes)| serde_json::from_slice::<Announcement>(&bytes).ok());
    Ok(read.filter(|one| one.schema_version == VERSION).collect())
}

/// Announces the measurement of a commit that is expected to take so many seconds, and exchanges announcements with others.
pub(super) fn announce(
    project: &Project,
    state: &State,
    (job, choice): (u32, &BisectChoice),
    (expected, left): (f64, f64),
) -> crate::Result<()> {
    let seconds = (PATIENCE * expected).max(LEAST_PATIENCE).min(left).min(OLDEST.num_seconds() as f64);
    let time = clock::now();
    let announcement = Announcement {
        schema_version: VERSION,
        job,
        number: announcements(project, state)?.iter().filter(|one| one.job == job).count() + 1,
        commit: state.stage().commits[choice.commit].clone(),
        pairs: choice.pairs,
        time,
        until: time + TimeDelta::seconds(seconds.ceil() as i64),
    };
    let text = json::to_canonical(&announcement) + "\n";
    let (month, commit) = (time.format("%Y/%m"), text::short(&announcement.commit, 12));
    let path = format!("{}/{month}/{commit}-{job}-{}.json", folder(state), announcement.number);
    let subject = format!("sprag: announcement of job {job} at {commit}");
    let record = Record::auxiliary(path, text.into_bytes(), subject);
    history::append(project.store()?, &project.target()?, &[record], time)?;
    exchange(project)
}

/// What other jobs measure now.
pub(super) fn others(project: &Project, state: &State, job: u32) -> crate::Result<Vec<Announcement>> {
    let loaded = study::load(project, project.store()?)?;
    let is_recorded = |one: &Announcement| {
        let of_commit = loaded.runs.heads().iter().filter(|head| {
            head.suite == state.suite
                && head.timestamp >= one.time
                && head.commit.as_ref().is_some_and(|commit| commit.sha == one.commit)
        });
        let mut notes = of_commit.filter_map(|head| head.config.get(SETTING));
        notes.any(|note| serde_json::from_value::<Note>(note.clone()).is_ok_and(|note| note.measured.0 == one.job))
    };
    let mut live = in_flight(announcements(project, state)?, job, clock::now());
    live.retain(|one| !is_recorded(one));
    Ok(live)
}

/// The newest announcement of each other job that is not over.
fn in_flight(mut all: Vec<Announcement>, job: u32, now: DateTime<Utc>) -> Vec<Announcement> {
    all.sort_by_key(|one| (one.job, std::cmp::Reverse(one.number)));
    all.dedup_by_key(|one| one.job);
    // Nothing keeps a commit for longer, whatever the clock of a job says.
    all.retain(|one| one.job != job && now < one.until && one.until <= now + OLDEST);
    all
}

/// Sends the records of this job and takes those of others; fails without a remote. What may pass is only noted.
pub(super) fn exchange(project: &Project) -> crate::Result<()> {
    let (store, target, options) = (project.store()?, project.target()?, SyncOptions::default());
    match history::sync(store, &target, &options, std::env::vars_os(), clock::now(), &mut say_waits) {
        Err(error @ SyncError::NoRemote(_)) => return Err(error.into()),
        Err(error) => note(&format!("records were not exchanged with other jobs: {error}")),
        Ok(_) => {}
    }
    Ok(())
}

/// Skips the commits of which the history says that they cannot be built. Returns how many these are.
pub(super) fn skip_broken(loaded: &DecodedHistory, state: &mut State) -> usize {
    let mut broken = broken(loaded.runs.heads(), &state.suite);
    let stage = state.stage_mut();
    let between = 1..stage.commits.len() - 1;
    let before = stage.skipped.len();
    for place in between.filter(|place| !stage.answers.iter().any(|answer| answer.commit == *place)) {
        if let Some(reason) = broken.remove(&stage.commits[place]) {
            stage.skipped.entry(place).or_insert_with(|| format!("{reason}; so a record says"));
        }
    }
    stage.skipped.len() - before
}

/// Adds the recorded answers of machines of this class to the same question, each once. Returns how many there were.
pub(super) fn join(project: &Project, machine: &Machine, state: &mut State) -> crate::Result<usize> {
    let loaded = study::load(project, project.store()?)?;
    skip_broken(&loaded, state);
    let since = clock::now() - OLDEST;
    let line = &state.stages[0].commits;
    let (good, bad) = (line[0].clone(), line[line.len() - 1].clone());
    let before = state.runs.len();
    for head in loaded.runs.heads() {
        let is_alike = head.suite == state.suite && head.machine.class == machine.class && head.timestamp >= since;
        let note = head.config.get(SETTING).filter(|_| is_alike && !state.runs.contains(&head.id));
        let note = note.and_then(|note| serde_json::from_value::<Note>(note.clone()).ok());
        let asked = |note: &Note| {
            note.good == good
                && note.filters == state.filters
                && note.metric == state.metric
                && note.settings == state.settings
        };
        let Some((note, commit)) = note.filter(asked).zip(head.commit.as_ref()) else { continue };
        if commit.sha == bad {
            state.ends.push(note.session);
        } else {
            let stage = state.stage_mut();
            let place = stage.commits.iter().position(|sha| *sha == commit.sha);
            let Some(place) = place.filter(|place| (1..stage.commits.len() - 1).contains(place)) else { continue };
            stage.answers.push(Answer { commit: place, session: note.session });
        }
        state.runs.insert(head.id.clone());
    }
    Ok(state.runs.len() - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_announcement_of_each_other_job_holds_until_it_ends() {
        let now: DateTime<Utc> = "2026-11-01T12:00:00Z".parse().expect("a time");
        let one = |job: u32, number: usize, left: i64| Announcement {
            schema_version: VERSION,
            job,
            number,
            commit: format!("{job}{number}"),
            pairs: 4,
            time: now,
            until: now + TimeDelta::seconds(left),
        };
        for (all, expected) in [
            (vec![one(1, 1, 60)], &[][..]),
            (vec![one(2, 1, 60), one(2, 2, 60), one(3, 1, 60)], &["22", "31"]),
            // A job that was killed, one that yielded, and one whose clock is wrong.
            (vec![one(2, 1, 0)], &[]),
            (vec![one(2, 1, 60), one(2, 10, 0), one(2, 9, 60)], &[]),
            (vec![one(2, 1, 1_000_000)], &[]),
        ] {
            let commits: Vec<String> = in_flight(all, 1, now).into_iter().map(|one| one.commit).collect();
            assert_eq!(commits, expected);
        }
    }
}
