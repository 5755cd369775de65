//! A suite of built-in kernels, of the CPU or of a device: from the configuration to a finished run.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::built_from;
use super::commit_program::CommitProgram;
use super::effort::{Effort, Extent};
use super::gpu_suite::Tuned;
use super::progress::Progress;
use super::project::Project;
use super::suites::{self, Measured, Wish};
use super::{Advice, instructions, shard, text};
use crate::config::{self, Suite};
use sprag_history::{self as history, Entry};
use sprag_measure::environment;
use sprag_measure::plan::{NO_SUCH_BENCHMARK, Protocol};
use sprag_measure::process::WorkerCommand;
use sprag_measure::protocol::{self, Configurations, SuiteResult};
use sprag_measure::tune::{self, Choice};
use sprag_measure::workload::{self, Workload};
use sprag_model::commit::Commit;
use sprag_model::run::{Quality, RecordedRun, Run, RunStatus};

/// How long a worker on a device may say nothing, in seconds.
const DEVICE_PATIENCE: f64 = 600.0;

/// The kernels of a suite and where they run.
pub(super) struct Bench {
    /// Every benchmark of the suite.
    pub(super) workloads: Vec<Workload>,
    /// The device that runs them; absent for the CPU.
    pub(super) device: Option<BenchDevice>,
    /// The program of a commit that they are part of; this program where absent.
    pub(super) program: Option<CommitProgram>,
}

/// What is known of a device before it is measured.
pub(super) struct BenchDevice {
    pub(super) model: String,
    pub(super) facts: BTreeMap<String, String>,
    /// What the run records of how the suite was set.
    pub(super) settings: BTreeMap<String, Value>,
    /// What the workers are told, as one argument.
    pub(super) told: String,
    /// The configurations that were chosen before.
    pub(super) tuned: Tuned,
}

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
    bench: &mut Bench,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    let Bench { workloads, device, program } = bench;
    let mut selected = select(name, suite, wish.filters, workloads)?;
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
    let mut protocol = wish.effort.protocol(suite.processes());
    if device.is_some() {
        // A worker that compiles many variants of one kernel says nothing meanwhile.
        protocol.patience_seconds = DEVICE_PATIENCE;
    }
    let model = device.as_ref().map(|device| device.model.as_str());
    let machine = environment::machine(project.machine_name().as_deref(), model);
    let mut facts = device.as_ref().map(|device| device.facts.clone()).unwrap_or_default();
    facts.extend(program.as_ref().map(|program| program.facts.clone()).unwrap_or_default());
    let mut run = suites::new_run(name, commit, machine, environment::environment(&facts));
    run.config = config(&protocol, wish);
    run.config.extend(device.iter().flat_map(|device| device.settings.clone()));
    run.config.extend(share.into_iter().flatten());
    let mut command = worker_command("time")?;
    if let Some(program) = &program {
        command.program.clone_from(&program.path);
    }
    if let Some(device) = &device {
        command.arguments.extend(["--gpu".to_owned(), device.told.clone()]);
    }
    let tuned = device.as_mut().map(|device| &mut device.tuned);
    let incumbents = match &tuned {
        Some(tuned) => tuned.in_use(),
        None => in_use(project, &run.suite, &run.machine.id, &run.environment.key),
    };
    let wanted = Wanted { suite: name, selected: &selected, incumbents: &incumbents, effort: wish.effort };
    let choices = tune(&wanted, tuned, &protocol, &command, progress);
    let configurations = configurations(&choices, &selected, &incumbents);
    run.autotune = match device.as_ref().map(|device| &device.tuned) {
        Some(tuned) => choices.iter().map(|choice| tuned.entry(choice)).collect(),
        None => choices.iter().map(Choice::to_json).collect(),
    };
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
            let built_from = built_from::fault(&project.root).filter(|_| program.is_none());
            if let Some(fault) = &built_from {
                super::warn(&format!("{fault}; build it anew"));
            }
            run.quality = quality(&run, reasons, built_from);
            run.measurements = measurements;
            if program.is_some() {
                leave_out_unknown(&mut run)?;
            }
            if wish.count_instructions {
                instructions::count(&mut run, &selected, &configurations, protocol.seed, progress)?;
            }
        }
        Err(error) if program.is_some() => {
            return Err(Advice {
                message: format!("the program of that commit cannot be measured: {error}"),
                hint: "this program and that one must understand the same plans".to_owned(),
            }
            .into());
        }
        Err(error) => {
            run.status = RunStatus::Failed;
            run.reason = Some(error.to_string());
        }
    }
    Ok(Measured::Run(Box::new(run)))
}

/// Takes out what the program of a commit does not have: it is no failure of a commit that a later one added something.
///
/// # Errors
/// When nothing is left.
fn leave_out_unknown(run: &mut Run) -> anyhow::Result<()> {
    let all = run.measurements.len();
    run.measurements.retain(|one| one.failure.as_deref() != Some(NO_SUCH_BENCHMARK));
    let unknown = all - run.measurements.len();
    if run.measurements.is_empty() {
        bail!("that commit has none of the benchmarks that were asked for");
    }
    if unknown > 0 {
        super::note(&format!("{} left out, which that commit does not have", text::count(unknown, "benchmark")));
    }
    Ok(())
}

/// How this program starts itself as a worker for a task, as `--task` names it.
///
/// # Errors
/// When the system does not tell which program this is.
pub(super) fn worker_command(task: &str) -> anyhow::Result<WorkerCommand> {
    own_command(&["worker", "--task", task])
}

/// How this program starts itself with those arguments.
///
/// # Errors
/// As [`worker_command`].
pub(super) fn own_command(arguments: &[&str]) -> anyhow::Result<WorkerCommand> {
    let program = std::env::current_exe().context("cannot tell which program this is")?;
    Ok(WorkerCommand { program, arguments: arguments.iter().map(|one| (*one).to_owned()).collect() })
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
    nothing_left_of(filters, workloads.map(|workload| workload.benchmark.name.as_str()))
}

/// The same, of benchmarks of those names.
pub(super) fn nothing_left_of<'a>(filters: &[String], names: impl Iterator<Item = &'a str>) -> Advice {
    let names: Vec<&str> = names.collect();
    let near = filters.iter().find_map(|text| config::nearest(text, &names));
    let mut seen = BTreeSet::new();
    let distinct: Vec<&str> = names.into_iter().filter(|name| seen.insert(*name)).collect();
    Advice {
        message: format!("no benchmark of the suites that were asked for contains `{}`", filters.join("` or `")),
        hint: match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if distinct.is_empty() => "run without `--filter` to see what there is".to_owned(),
            None => format!("there are {}", distinct.join(", ")),
        },
    }
}

struct Wanted<'a> {
    suite: &'a str,
    selected: &'a [&'a Workload],
    incumbents: &'a Configurations,
    effort: Effort,
}

/// Chooses configurations; a quick run and one with a budget take those in use untried unless new ones are asked for, and
/// so do benchmarks of a device whose configuration was chosen before. A tuner that fails leaves those in use, too.
fn tune(
    wanted: &Wanted<'_>,
    tuned: Option<&mut Tuned>,
    protocol: &Protocol,
    command: &WorkerCommand,
    progress: &Progress,
) -> Vec<Choice> {
    let tunable: Vec<&Workload> = wanted.selected.iter().copied().filter(|one| tune::is_tunable(one)).collect();
    // A budget is for measuring; what is in use has been chosen by a run without one.
    let is_short = matches!(wanted.effort.extent, Extent::Quick | Extent::Budget(_));
    let is_short = is_short && !tuned.as_ref().is_some_and(|tuned| tuned.is_retuning());
    let is_settled = |one: &&Workload| is_short || tuned.as_ref().is_some_and(|tuned| tuned.is_settled(one));
    let (settled, open): (Vec<&Workload>, Vec<&Workload>) = tunable.into_iter().partition(is_settled);
    let mut choices: Vec<Choice> =
        settled.into_iter().filter_map(|workload| tune::untried(workload, wanted.incumbents)).collect();
    if open.is_empty() {
        return choices;
    }
    progress.begin(&format!("suite {}: choosing configurations", wanted.suite), 3);
    let mut tell = |done: u32| progress.step(u64::from(done));
    choices.extend(match tune::tune(wanted.suite, &open, wanted.incumbents, protocol, command, &mut tell) {
        Ok(choices) => {
            for choice in &choices {
                for (name, reason) in &choice.failures {
                    super::warn(&format!("the configuration {name} of {} was not tried: {reason}", choice.benchmark));
                }
            }
            if let Some(tuned) = tuned {
                tuned.keep(&choices);
            }
            choices
        }
        Err(error) => {
            super::warn(&format!("configurations were not tuned: {error}"));
            open.into_iter().filter_map(|workload| tune::untried(workload, wanted.incumbents)).collect()
        }
    });
    choices
}

/// The configuration of every benchmark that has one: that which was chosen for it, or for the one that it goes with.
fn configurations(choices: &[Choice], selected: &[&Workload], incumbents: &Configurations) -> Configurations {
    let chosen: Configurations = choices.iter().map(|one| (one.benchmark.clone(), one.selected.clone())).collect();
    let of = |workload: &&Workload| {
        let id = workload.benchmark.id();
        let leader = workload.tuned_with.as_ref().unwrap_or(&id);
        let configuration = chosen.get(leader).or_else(|| incumbents.get(leader))?.clone();
        Some((id, configuration))
    };
    selected.iter().filter(|workload| !workload.configurations.is_empty()).filter_map(of).collect()
}

/// The configurations that the newest run of a suite used on a machine in an environment.
pub(super) fn in_use(project: &Project, suite: &str, machine: &str, environment_key: &str) -> Configurations {
    let newest = || {
        let store = project.find_store()?;
        let source = history::source(store, project.config.history.reference.as_deref()).ok()?;
        let listing = history::list(store, &source).ok()?;
        let mut months: BTreeMap<(&str, &str), Vec<Entry>> = BTreeMap::new();
        for entry in listing.entries.iter().filter(|one| one.suite() == suite && machine.starts_with(one.machine())) {
            months.entry(entry.month()).or_default().push(entry.clone());
        }
        let fits = |one: &RecordedRun| {
            let recorded = &one.run;
            recorded.machine.id == machine
                && recorded.environment.key == environment_key
                && !recorded.autotune.is_empty()
        };
        // No month older than that of the newest is read.
        months.values().rev().find_map(|entries| {
            let runs = history::read(store, entries).ok()?.into_iter().flatten().filter(fits);
            let newest = runs.max_by_key(|one| (one.run.timestamp, one.id.clone()))?;
            Some(tune::recorded(&newest.run.autotune))
        })
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
