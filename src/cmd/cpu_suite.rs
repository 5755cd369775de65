//! The suite of CPU kernels: from the configuration to a finished run.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::built_from;
use super::effort::{Effort, Extent};
use super::progress::Progress;
use super::project::Project;
use super::suites::{self, Measured, Wish};
use super::{Advice, instructions, shard, text};
use crate::config::{self, Suite};
use crate::history;
use crate::measure::plan::Protocol;
use crate::measure::process::WorkerCommand;
use crate::measure::protocol::{self, Configurations, SuiteResult};
use crate::measure::tune::{self, Choice};
use crate::measure::workload::{self, Workload};
use crate::measure::{cpu, environment};
use crate::model::commit::Commit;
use crate::model::run::{Quality, Run, RunStatus};

/// Measures the suite, or this shard's part of it.
///
/// # Errors
/// When the configuration leaves no benchmark at all. A suite that cannot run gives a run that says so.
pub(super) fn measure(
    project: &Project,
    name: &str,
    suite: &Suite,
    wish: &Wish<'_>,
    commit: Option<Commit>,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    let workloads = cpu::workloads(name)?;
    let mut selected = select(name, suite, wish.filters, &workloads)?;
    // Threads that are kept on one processor take turns, which shows nothing.
    let all = selected.len();
    selected.retain(|workload| workload.threads == 1 || wish.effort.pin.is_none());
    if selected.len() < all {
        let left_out = text::count(all - selected.len(), "benchmark");
        super::note(&format!("{left_out} on two threads left out: workers are kept on one processor"));
    }
    if selected.is_empty() {
        return Ok(Measured::Nothing);
    }
    let (selected, share) = match wish.shard {
        None => (selected, None),
        Some(shard) => match shard::share(shard, selected) {
            Some((held, occupied)) => (held, Some(shard.settings(&occupied))),
            None => return Ok(Measured::EmptyShare(shard)),
        },
    };
    let protocol = wish.effort.protocol(suite.processes());
    let machine = environment::machine(project.machine_name().as_deref(), None);
    let mut run = suites::new_run(name, commit, machine, environment::environment(&BTreeMap::new()));
    run.config = config(&protocol, wish);
    run.config.extend(share.into_iter().flatten());
    let command = worker_command("time")?;
    let choices = tune(project, &run, &selected, wish.effort, &protocol, &command, progress);
    let configurations = choices.iter().map(|one| (one.benchmark.clone(), one.selected.clone())).collect();
    run.autotune = choices.iter().map(Choice::to_json).collect();
    let extent = match wish.effort.extent {
        Extent::Budget(seconds) => format!("within {seconds} s"),
        _ if protocol.processes == 1 => "in 1 worker process".to_owned(),
        _ => format!("in {} worker processes", protocol.processes),
    };
    progress.begin(&format!("suite {name}: {} benchmarks {extent}", selected.len()), u64::from(protocol.processes));
    let mut tell = |done: u32| progress.step(u64::from(done));
    match protocol::measure(name, &selected, &configurations, &protocol, &command, &mut tell) {
        Ok(SuiteResult { measurements, reasons, stop, workers }) => {
            run.config.insert("stop_reason".to_owned(), Value::from(stop.word()));
            run.config.insert("workers".to_owned(), Value::from(workers));
            let built_from = built_from::fault(&project.root);
            if let Some(fault) = &built_from {
                super::warn(&format!("{fault}; build it anew"));
            }
            run.quality = quality(&run, reasons, built_from);
            run.measurements = measurements;
            if wish.count_instructions {
                instructions::count(&mut run, &selected, &configurations, protocol.seed, progress)?;
            }
        }
        Err(error) => {
            run.status = RunStatus::Failed;
            run.reason = Some(error.to_string());
        }
    }
    Ok(Measured::Run(Box::new(run)))
}

/// How this program starts itself as a worker for a task, as `--task` names it.
///
/// # Errors
/// When the system does not tell which program this is.
pub(super) fn worker_command(task: &str) -> anyhow::Result<WorkerCommand> {
    let program = std::env::current_exe().context("cannot tell which program this is")?;
    Ok(WorkerCommand { program, arguments: ["worker", "--task", task].map(str::to_owned).to_vec() })
}

/// The benchmarks that the configuration and the user's filters leave, which may be none.
///
/// # Errors
/// When the configuration leaves none.
pub(super) fn select<'a>(
    name: &str,
    suite: &Suite,
    filters: &[String],
    workloads: &'a [Workload],
) -> anyhow::Result<Vec<&'a Workload>> {
    let included = workload::select(workloads.iter(), &suite.include);
    if included.is_empty() {
        bail!(
            "`suites.{name}.include` in sprag.toml leaves no benchmark: none contains `{}`",
            suite.include.join("` or `")
        );
    }
    Ok(workload::select(included.into_iter(), filters))
}

/// That filters leave no benchmark, with the nearest name there is.
pub(super) fn nothing_left<'a>(filters: &[String], workloads: impl Iterator<Item = &'a Workload>) -> Advice {
    let names: Vec<&str> = workloads.map(|workload| workload.benchmark.name.as_str()).collect();
    let near = filters.iter().find_map(|text| config::nearest(text, &names));
    let mut distinct = names;
    distinct.dedup();
    Advice {
        message: format!("no benchmark of the suites that were asked for contains `{}`", filters.join("` or `")),
        hint: match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", distinct.join(", ")),
        },
    }
}

/// Chooses configurations; a quick run and one with a budget take those in use untried. A tuner that fails leaves them in use, too.
fn tune(
    project: &Project,
    run: &Run,
    selected: &[&Workload],
    effort: Effort,
    protocol: &Protocol,
    command: &WorkerCommand,
    progress: &Progress,
) -> Vec<Choice> {
    if !selected.iter().any(|workload| workload.configurations.len() > 1) {
        return Vec::new();
    }
    let incumbents = incumbents(project, run);
    // A budget is for measuring; what is in use has been chosen by a run without one.
    if matches!(effort.extent, Extent::Quick | Extent::Budget(_)) {
        return selected.iter().filter_map(|workload| tune::untried(workload, &incumbents)).collect();
    }
    progress.begin(&format!("suite {}: choosing configurations", run.suite), 3);
    let mut tell = |done: u32| progress.step(u64::from(done));
    match tune::tune(&run.suite, selected, &incumbents, protocol, command, &mut tell) {
        Ok(choices) => {
            for choice in &choices {
                for (name, reason) in &choice.failures {
                    super::warn(&format!("the configuration {name} of {} was not tried: {reason}", choice.benchmark));
                }
            }
            choices
        }
        Err(error) => {
            super::warn(&format!("configurations were not tuned: {error}"));
            selected.iter().filter_map(|workload| tune::untried(workload, &incumbents)).collect()
        }
    }
}

/// The configurations that the newest run of this suite, machine and environment used.
fn incumbents(project: &Project, run: &Run) -> Configurations {
    in_use(project, &run.suite, &run.machine.id, &run.environment.key)
}

/// The configurations that the newest run of a suite used on a machine in an environment.
pub(super) fn in_use(project: &Project, suite: &str, machine: &str, environment_key: &str) -> Configurations {
    let newest = || {
        let store = project.find_store()?;
        let source = history::source(store, project.config.history.reference.as_deref()).ok()?;
        let loaded = history::load(store, &source).ok()?;
        let fits = |one: &&crate::model::run::RecordedRun| {
            let recorded = &one.run;
            recorded.suite == suite
                && recorded.machine.id == machine
                && recorded.environment.key == environment_key
                && !recorded.autotune.is_empty()
        };
        let newest = loaded.runs.iter().filter(fits).max_by_key(|one| (one.run.timestamp, one.id.clone()))?;
        Some(tune::recorded(&newest.run.autotune))
    };
    // A history that cannot be read is told of when it is written to.
    newest().unwrap_or_default()
}

fn config(protocol: &Protocol, wish: &Wish<'_>) -> BTreeMap<String, Value> {
    let mut config = suites::settings(protocol, wish);
    config.extend([
        ("rounds".to_owned(), Value::from(protocol.rounds)),
        ("block_samples".to_owned(), Value::from(protocol.block_samples)),
        ("sample_seconds".to_owned(), Value::from(protocol.sample_seconds)),
        ("series_seconds".to_owned(), Value::from(protocol.series_seconds)),
    ]);
    config
}

/// What speaks against the numbers of a run: what the measuring found, and the state of the sources.
pub(super) fn quality(run: &Run, found: Vec<String>, built_from: Option<String>) -> Quality {
    let mut reasons = found;
    reasons.extend(built_from);
    if let Some(commit) = run.commit.as_ref().filter(|commit| commit.dirty) {
        reasons.push(format!("tracked files differed from {}", commit.short()));
    }
    Quality { clean: reasons.is_empty(), reasons }
}
