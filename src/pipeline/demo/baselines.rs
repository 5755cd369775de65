//! The baselines of the generated project.

use crate::error::Context as _;
use chrono::{DateTime, Utc};

use sprag_analysis::reference::{self, Level};
use sprag_history::Author;
use sprag_model::baseline::{Acceptance, Baseline};
use sprag_model::rule::Policy;
use sprag_model::run::{RecordedRun, Run, RunStatus};

use super::machines::BENCHES;

/// A baseline for the suite `cpu` on each class of machine: path and content. Each is what the newest run and the sessions
/// before it come to, taken by `author` at `time`.
pub(super) fn files(runs: &[Run], author: &Author, time: DateTime<Utc>) -> crate::Result<Vec<(String, String)>> {
    let machines = BENCHES.iter().filter(|bench| bench.suite == "cpu").map(|bench| bench.machine());
    machines
        .map(|machine| {
            let of_machine = runs.iter().filter(|run| run.machine == machine && run.status == RunStatus::Ok);
            let baseline =
                take(of_machine).with_context(|| format!("no runs of `{}` to take a baseline from", machine.name))?;
            let why = "v0.3.0 is released: this is what later work is held to".to_owned();
            let by = format!("{} <{}>", author.name, author.email);
            let accepted = Acceptance { by, at_utc: time, why, replaces: None, metrics: None };
            let baseline = Baseline { accepted: Some(accepted), ..baseline };
            Ok((Baseline::path(&baseline.suite, &baseline.machine_class), baseline.to_json()))
        })
        .collect()
}

/// What the newest of the runs comes to, and those before it in its environment.
fn take<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<Baseline> {
    let recorded = |run: &Run| {
        let (id, path, _) = run.to_record();
        RecordedRun { path, id, run: run.clone() }
    };
    let mut all: Vec<RecordedRun> = runs.map(recorded).collect();
    let newest = all.pop()?;
    let alike = |one: &&RecordedRun| one.run.environment.key == newest.run.environment.key;
    let before: Vec<&RecordedRun> = all.iter().filter(alike).collect();
    reference::baseline(&[&newest], &before, Level::Joined, &Policy::default())
}
