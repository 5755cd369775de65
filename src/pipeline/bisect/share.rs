//! Several jobs share a bisection by the history: each records its runs, and reads the answers in those of the others.

use chrono::TimeDelta;

use crate::bisect::record::{Note, SETTING};
use crate::bisect::state::{Answer, State};
use crate::builds::failures::broken;
use crate::project::Project;
use crate::study::{self, Loaded};
use crate::text::note;
use sprag_history::{self as history, SyncError, SyncOptions};
use sprag_measure::clock;
use sprag_model::environment::Machine;

/// Answers that are older belong to an earlier bisection.
const OLDEST: TimeDelta = TimeDelta::days(1);

/// Sends the records of this job and takes those of others.
///
/// # Errors
///
/// Where there is no remote. What may pass is only noted.
pub(super) fn exchange(project: &Project) -> crate::Result<()> {
    let synced =
        history::sync(project.store()?, &project.target()?, &SyncOptions::default(), std::env::vars_os(), clock::now());
    match synced {
        Err(error @ SyncError::NoRemote(_)) => return Err(error.into()),
        Err(error) => note(&format!("records were not exchanged with other jobs: {error}")),
        Ok(_) => {}
    }
    Ok(())
}

/// Skips the commits of which the history says that they cannot be built. Returns how many these are.
pub(super) fn skip_broken(loaded: &Loaded, state: &mut State) -> usize {
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
