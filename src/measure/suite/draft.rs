//! What the runs of all suites have in common: how they begin, their settings, and what speaks against them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::description::{MeasureOptions, ProjectContext};
use crate::clock;
use crate::environment;
use crate::plan::Protocol;
use sprag_model::commit::Commit;
use sprag_model::environment::{Environment, Machine};
use sprag_model::run::{FILTER, Quality, Run, RunStatus};

/// The setting that holds the program of a command suite and its arguments.
pub(super) const COMMAND: &str = "command";

/// The settings that every measured suite records, whatever measures it.
pub(super) fn settings(protocol: &Protocol, options: &MeasureOptions<'_>) -> BTreeMap<String, Value> {
    let mut settings = BTreeMap::from([
        ("effort".to_owned(), Value::from(options.effort.word())),
        (FILTER.to_owned(), Value::from(options.filters.to_vec())),
        ("processes".to_owned(), Value::from(protocol.processes)),
        ("seed".to_owned(), Value::from(protocol.seed)),
    ]);
    let asked = [
        ("budget_seconds", protocol.budget_seconds.map(Value::from)),
        ("precision", protocol.precision.map(Value::from)),
        ("pin", protocol.pin.map(Value::from)),
    ];
    settings.extend(asked.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    settings
}

pub(super) fn machine(context: &ProjectContext<'_>, gpu: Option<&str>) -> Machine {
    environment::machine(context.machine_name.as_deref(), gpu)
}

/// A run that begins now and holds nothing yet.
pub(super) fn new_run(name: &str, commit: Option<Commit>, machine: Machine, environment: Environment) -> Run {
    Run {
        suite: name.to_owned(),
        timestamp: clock::now(),
        commit,
        machine,
        environment,
        config: BTreeMap::new(),
        status: RunStatus::Ok,
        reason: None,
        quality: Quality { clean: true, reasons: Vec::new() },
        measurements: Vec::new(),
        autotune: Vec::new(),
    }
}

/// What speaks against the numbers of a run: what the measuring found, and the state of the sources.
pub(super) fn quality(run: &Run, mut reasons: Vec<String>, built_from: Option<String>) -> Quality {
    reasons.extend(built_from);
    if let Some(commit) = run.commit.as_ref().filter(|commit| commit.dirty) {
        reasons.push(format!("tracked files differed from {}", commit.short()));
    }
    Quality { clean: reasons.is_empty(), reasons }
}

/// Whether the id of a benchmark contains one of the texts; any does where there is no text.
pub(super) fn is_selected(id: &str, texts: &[String]) -> bool {
    texts.is_empty() || texts.iter().any(|text| id.contains(text.as_str()))
}

pub(super) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
