//! What a bisection is asked, and its state on disk, `.sprag/bisect.json`: what was measured, so that it can go on.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::Suite;
use crate::error::WithContext as _;
use crate::project::{self, Project, read_regular};
use crate::text::warn;
use crate::{refuse, text};
use sprag_analysis::bisect::question::{BisectQuestion, Session};
use sprag_analysis::bisect::search::Search;
use sprag_base::digest;
use sprag_base::files::write_atomic;
use sprag_model::{EventRecord, Metric, Shard};

/// Where the runs of measured commits go, and the record of the event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Recording {
    #[default]
    None,
    History,
    /// As files.
    Folder(PathBuf),
}

#[derive(Clone, Debug, Default)]
pub struct BisectRequest {
    pub folder: PathBuf,
    /// Good and bad end, or an event, or neither to go on.
    pub ends: Option<(String, String)>,
    pub event: Option<String>,
    pub resume: bool,
    pub suite: Option<String>,
    pub filters: Vec<String>,
    /// In place of the judged metric.
    pub metric: Option<String>,
    pub first_parent: bool,
    pub confidence: f64,
    /// In seconds.
    pub budget: f64,
    pub steps: Option<u32>,
    pub recording: Recording,
    /// Whether instruction counts decide, not times.
    pub instructions: bool,
    /// Which of several jobs this is that share the bisection.
    pub shard: Option<Shard>,
    pub pin: Option<u32>,
}

/// The pairs that a measurement may have. A comparison takes ten.
pub(super) const PAIRS: [usize; 3] = [4, 8, 16];

/// A difference below this does not matter: the same code, built again, may differ by as much.
pub(super) const LEAST: f64 = 0.005;

const VERSION: u32 = 1;

/// Jobs in one folder have a file each.
fn file(shard: Option<Shard>) -> String {
    shard.map_or_else(|| "bisect.json".to_owned(), |shard| format!("bisect-{}.json", shard.index()))
}

/// Many times what thousands of measurements take.
const MOST_BYTES: usize = 64 << 20;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    version: u32,
    pub(super) suite: String,
    pub(super) filters: Vec<String>,
    pub(super) metric: Option<String>,
    pub(super) first_parent: bool,
    pub(super) confidence: f64,
    /// As they were given.
    pub(super) named: [String; 2],
    pub(super) event: Option<String>,
    /// The first record of the event, where the history has none yet.
    #[serde(default)]
    pub(super) opening: Option<EventRecord>,
    #[serde(default)]
    pub(super) instructions: bool,
    #[serde(default)]
    pub(super) recording: Recording,
    /// As `i/n`.
    #[serde(default)]
    shard: Option<String>,
    #[serde(default)]
    pub(super) pin: Option<u32>,
    /// A digest of what the suite runs: answers of other settings are about other programs.
    #[serde(default)]
    pub(super) settings: String,
    /// The runs of this bisection whose answers it has.
    #[serde(default)]
    pub(super) runs: BTreeSet<String>,
    /// Runs whose answers it has, and which are recorded once this is on disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) unrecorded: Vec<String>,
    /// Where several merges are culprits: the bisection of what each brought.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<State>,
    /// Sessions of the bad end against the good one.
    pub(super) ends: Vec<Session>,
    /// The line of the ends, then that of each merge that was the culprit on the one before.
    pub(super) stages: Vec<Stage>,
    pub(super) seconds: f64,
    pub(super) build_seconds: Vec<f64>,
    pub(super) pair_seconds: Vec<f64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stage {
    /// Oldest first, both ends included.
    pub(super) commits: Vec<String>,
    pub(super) prior: Vec<f64>,
    pub(super) answers: Vec<Answer>,
    /// Why commits were not measured.
    pub(super) skipped: BTreeMap<usize, String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    pub(super) commit: usize,
    pub(super) session: Session,
}

impl State {
    /// Before anything is measured.
    pub(super) fn new(request: &BisectRequest, suite: &str, named: [String; 2], stage: Stage) -> State {
        State {
            version: VERSION,
            suite: suite.to_owned(),
            filters: request.filters.clone(),
            metric: if request.instructions { Some(Metric::instructions().name) } else { request.metric.clone() },
            instructions: request.instructions,
            recording: request.recording.clone(),
            shard: request.shard.map(|shard| shard.to_string()),
            pin: request.pin,
            first_parent: request.first_parent,
            confidence: request.confidence,
            named,
            stages: vec![stage],
            ..State::default()
        }
    }

    /// That of the commits that a merge brought, which moved these benchmarks.
    pub(super) fn part(&self, stage: Stage, filters: Vec<String>) -> State {
        let ends = [stage.commits.first(), stage.commits.last()];
        State {
            filters,
            named: ends.map(|end| end.map_or_else(String::new, |sha| text::short(sha, 12).to_owned())),
            event: None,
            opening: None,
            unrecorded: Vec::new(),
            parts: Vec::new(),
            ends: Vec::new(),
            stages: vec![stage],
            build_seconds: Vec::new(),
            pair_seconds: Vec::new(),
            ..self.clone()
        }
    }

    /// That of the shard, or the only bisection. What the request has of recording and pinning replaces what the state has.
    pub(super) fn load(project: &Project, request: &BisectRequest) -> crate::Result<State> {
        let path = match request.shard {
            None => only(project)?,
            shard => path(project, shard),
        };
        let fault = |reason: String| {
            refuse(format!("`{}` {reason}", project.shown(&path)), "begin again: `sprag bisect GOOD BAD`")
        };
        if !path.exists() {
            return refuse("no bisection was interrupted here", "begin one: `sprag bisect GOOD BAD`");
        }
        let bytes = match read_regular(&path, MOST_BYTES) {
            Ok(bytes) => bytes,
            Err(reason) => return fault(reason),
        };
        match serde_json::from_slice::<State>(&bytes) {
            Ok(mut state) if state.version == VERSION && state.is_complete() => {
                if request.recording != Recording::None {
                    state.recording = request.recording.clone();
                }
                state.shard = request.shard.map(|shard| shard.to_string()).or(state.shard);
                state.pin = request.pin.or(state.pin);
                Ok(state)
            }
            Ok(state) if state.version == VERSION => fault("is damaged".to_owned()),
            Ok(state) => fault(format!("is of version {}, and this build reads version {VERSION}", state.version)),
            Err(error) => fault(format!("is damaged: {error}")),
        }
    }

    /// Takes down what the suite runs, and warns where it was another program when the bisection began.
    pub(super) fn settle(&mut self, suite: &Suite) {
        let run = (&suite.command, &suite.cwd, &suite.env, &suite.build, &suite.include, &suite.output);
        let settings = format!("{run:?} {} {:?}", suite.format().name(), suite.kernel);
        let settings = digest::sha256_hex(settings.as_bytes())[..16].to_owned();
        if !self.settings.is_empty() && self.settings != settings {
            warn(&format!(
                "the suite `{}` was changed in sprag.toml since the bisection began: undo that, or begin again, if it \
                 measures something else now",
                self.suite
            ));
        }
        self.settings = settings;
    }

    fn is_complete(&self) -> bool {
        let is_valid = |stage: &Stage| {
            let last = stage.commits.len().saturating_sub(1);
            let inside = |commit: &usize| (1..last).contains(commit);
            last >= 1
                && stage.prior.len() == last
                && stage.prior.iter().all(|one| one.is_finite() && *one > 0.0)
                && stage.answers.iter().all(|answer| inside(&answer.commit))
                && stage.skipped.keys().all(inside)
        };
        let has_shard = self.shard.as_deref().is_none_or(|shard| Shard::parse(shard).is_ok());
        let parts = self.parts.iter().all(State::is_complete);
        has_shard && parts && !self.stages.is_empty() && self.stages.iter().all(is_valid)
    }

    /// Which of several jobs this is that share the bisection.
    pub(super) fn shard(&self) -> Option<Shard> {
        self.shard.as_deref().and_then(|shard| Shard::parse(shard).ok())
    }

    /// Until it is dropped, no other process may go on with this bisection or replace it.
    pub(super) fn lock(&self, project: &Project) -> crate::Result<File> {
        let place = project.private_folder()?.join(file(self.shard())).with_extension("lock");
        match project::try_locked(&place)? {
            Some(lock) => Ok(lock),
            None => refuse(
                "another bisection runs in this project",
                "wait until it has ended, or bisect in another clone, made by `git clone`",
            ),
        }
    }

    pub(super) fn save(&self, project: &Project) -> crate::Result<()> {
        let text = serde_json::to_string(self).context("cannot write the state of the bisection")?;
        write_atomic(&project.private_folder()?.join(file(self.shard())), text.as_bytes())?;
        Ok(())
    }

    pub(super) fn exists(&self, project: &Project) -> bool {
        path(project, self.shard()).exists()
    }

    pub(super) fn remove(&self, project: &Project) -> crate::Result<()> {
        let path = path(project, self.shard());
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove `{}`", path.display()))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn stage(&self) -> &Stage {
        self.stages.last().expect("a bisection has a line of commits")
    }

    pub(super) fn stage_mut(&mut self) -> &mut Stage {
        self.stages.last_mut().expect("a bisection has a line of commits")
    }

    pub(super) fn measurements(&self) -> usize {
        self.stages.iter().map(|stage| stage.answers.len()).sum()
    }
}

impl Stage {
    pub(super) fn search(&self, question: &BisectQuestion) -> Search {
        Search {
            question: question.clone(),
            prior: self.prior.clone(),
            answers: self.answers.iter().map(|answer| (answer.commit, answer.session.clone())).collect(),
            skipped: self.skipped.keys().copied().collect(),
        }
    }
}

/// The state of the bisection that was interrupted. Jobs that share one may have their files in one folder.
fn only(project: &Project) -> crate::Result<PathBuf> {
    let own = path(project, None);
    let is_state = |path: &PathBuf| {
        path.file_stem().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("bisect-")) && !own.exists()
    };
    let shared = project::files(&project.root.join(project::PRIVATE_FOLDER), "json")?.into_iter().filter(is_state);
    match shared.collect::<Vec<PathBuf>>().as_slice() {
        [] => Ok(own),
        [one] => Ok(one.clone()),
        _ => refuse("several jobs of a bisection were interrupted here", "name one of them: `--continue --shard 1/3`"),
    }
}

fn path(project: &Project, shard: Option<Shard>) -> PathBuf {
    project.root.join(project::PRIVATE_FOLDER).join(file(shard))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn the_only_bisection_goes_on_with_its_shard() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let project = Project::open(folder.path()).expect("a folder is a project");
        let request = BisectRequest { shard: None, ..BisectRequest::default() };
        let begun = |shard: Option<&str>, recording: Recording| {
            let shard = shard.map(|shard| Shard::parse(shard).expect("it is a shard"));
            let request = BisectRequest { shard, recording, ..BisectRequest::default() };
            let stage = Stage { commits: vec!["a".to_owned(), "b".to_owned()], prior: vec![1.0], ..Stage::default() };
            let state = State::new(&request, "s", ["a", "b"].map(str::to_owned), stage);
            state.save(&project).expect("it can be written");
            state
        };
        let loaded = || State::load(&project, &request).map(|state| (state.shard.clone(), state.recording.clone()));
        let fault = |result: crate::Result<_>| {
            result.map(|_: (Option<String>, Recording)| ()).map_err(|error: Error| error.chain())
        };
        assert_eq!(fault(loaded()), Err("no bisection was interrupted here".to_owned()));
        begun(Some("2/3"), Recording::History);
        assert_eq!(loaded().expect("it is the only one"), (Some("2/3".to_owned()), Recording::History));
        let other = begun(Some("3/3"), Recording::History);
        assert_eq!(fault(loaded()), Err("several jobs of a bisection were interrupted here".to_owned()));
        begun(None, Recording::None);
        assert_eq!(loaded().expect("it is no shared one"), (None, Recording::None));
        let lock = other.lock(&project).expect("it is free");
        assert!(other.lock(&project).is_err(), "another process has it");
        drop(lock);
        drop(other.lock(&project).expect("it is free"));
    }
}
