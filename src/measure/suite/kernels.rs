//! A suite of built-in kernels, of the CPU or of a device: from its description to a finished run.

use std::collections::BTreeMap;

use serde_json::Value;

use super::description::{
    CommitProgram, Effort, Extent, MeasureOptions, ProjectContext, Suite, SuiteError, SuiteOutcome,
};
use super::draft;
use super::instructions;
use super::observer::Observer;
use super::tuned::TunedConfigurations;
use crate::built_from;
use crate::environment;
use crate::plan::{NO_SUCH_BENCHMARK, Protocol};
use crate::process::WorkerCommand;
use crate::protocol::{self, Configurations, SuiteResult};
use crate::tune::{self, Choice};
use crate::workload::{self, Workload};
use sprag_model::run::{Run, RunStatus};
use sprag_model::sample::Role;
use sprag_model::shard::Shard;

/// How long a worker on a device may say nothing, in seconds.
const DEVICE_PATIENCE: f64 = 600.0;

pub(super) struct KernelBench<'a> {
    pub(super) workloads: Vec<Workload>,
    /// The device that runs them; absent for the CPU.
    pub(super) device: Option<BenchDevice>,
    /// The program of a commit that they are part of; this program where absent.
    pub(super) program: Option<&'a CommitProgram>,
}

/// What is known of a device before it is measured.
pub(super) struct BenchDevice {
    pub(super) model: String,
    pub(super) facts: BTreeMap<String, String>,
    pub(super) settings: BTreeMap<String, Value>,
    pub(super) scope: String,
    /// The configurations that were chosen before.
    pub(super) tuned: TunedConfigurations,
}

pub(super) fn measure(
    context: &ProjectContext<'_>,
    suite: &Suite,
    options: &MeasureOptions<'_>,
    bench: &mut KernelBench<'_>,
    observer: &dyn Observer,
) -> Result<SuiteOutcome, SuiteError> {
    let KernelBench { workloads, device, program } = bench;
    let name = suite.name.as_str();
    let mut selected = select(name, &suite.include, options.filters, workloads)?;
    // Threads that are kept on one processor take turns, which shows nothing.
    let all = selected.len();
    selected.retain(|workload| workload.threads == 1 || options.effort.pin.is_none());
    if selected.len() < all {
        let left_out = draft::count(all - selected.len(), "benchmark");
        observer.note(&format!("{left_out} on two threads left out: workers are pinned to one processor"));
    }
    if selected.is_empty() {
        return Ok(SuiteOutcome::Nothing);
    }
    let (selected, share) = match options.shard {
        None => (selected, None),
        Some(shard) => match share_of(shard, selected) {
            Some((part, occupied)) => (part, Some(shard.settings(&occupied))),
            None => return Ok(SuiteOutcome::EmptyShard(shard)),
        },
    };
    let mut protocol = options.effort.protocol(suite.processes);
    if device.is_some() {
        // A worker that compiles many variants of one kernel says nothing meanwhile.
        protocol.patience_seconds = DEVICE_PATIENCE;
    }
    let model = device.as_ref().map(|device| device.model.as_str());
    let machine = draft::machine(context, model);
    let mut facts = device.as_ref().map(|device| device.facts.clone()).unwrap_or_default();
    facts.extend(program.as_ref().map(|program| program.facts.clone()).unwrap_or_default());
    let mut run = draft::new_run(name, context.commit.clone(), machine, environment::environment(&facts));
    run.config = config(&protocol, options);
    run.config.extend(device.iter().flat_map(|device| device.settings.clone()));
    run.config.extend(share.into_iter().flatten());
    let mut command = WorkerCommand::for_task("time")?;
    if let Some(program) = &program {
        command.program.clone_from(&program.path);
    }
    if let Some(device) = &device {
        command.arguments.extend(["--gpu".to_owned(), device.scope.clone()]);
    }
    let tuned = device.as_mut().map(|device| &mut device.tuned);
    let incumbents = match &tuned {
        Some(tuned) => tuned.in_use(),
        None => (context.incumbents)(&run.suite, &run.machine.id, &run.environment.key),
    };
    let wanted = Wanted { suite: name, selected: &selected, incumbents: &incumbents, effort: options.effort };
    let choices = tune(&wanted, tuned, &protocol, &command, observer);
    let configurations = configurations(&choices, &selected, &incumbents);
    run.autotune = match device.as_ref().map(|device| &device.tuned) {
        Some(tuned) => choices.iter().map(|choice| tuned.entry(choice)).collect(),
        None => choices.iter().map(Choice::to_json).collect(),
    };
    let extent = options.effort.extent_text(protocol.processes, "worker process");
    observer.begin(&format!("suite {name}: {} benchmarks {extent}", selected.len()), u64::from(protocol.processes));
    let mut tell = |done: u32| observer.step(u64::from(done));
    match protocol::measure(name, &selected, &configurations, &protocol, &command, &mut tell) {
        Ok(SuiteResult { measurements, reasons, stop, workers }) => {
            run.config.insert("stop_reason".to_owned(), Value::from(stop.word()));
            run.config.insert("workers".to_owned(), Value::from(workers));
            let built_from = built_from::fault(context.root, context.built_from).filter(|_| program.is_none());
            if let Some(fault) = &built_from {
                observer.warn(&format!("{fault}; build it anew"));
            }
            run.quality = draft::quality(&run, reasons, built_from);
            run.measurements = measurements;
            if program.is_some() {
                leave_out_unknown(&mut run, observer)?;
            }
            if options.count_instructions {
                instructions::count(&mut run, &selected, &configurations, protocol.seed, observer)?;
            }
        }
        Err(error) if program.is_some() => {
            return Err(SuiteError::CommitProgram(error));
        }
        Err(error) => {
            run.status = RunStatus::Failed;
            run.reason = Some(error.to_string());
        }
    }
    Ok(SuiteOutcome::Run(Box::new(run)))
}

/// Takes out what the program of a commit does not have: it is no failure of a commit that a later one added something.
fn leave_out_unknown(run: &mut Run, observer: &dyn Observer) -> Result<(), SuiteError> {
    let all = run.measurements.len();
    run.measurements.retain(|one| one.failure.as_deref() != Some(NO_SUCH_BENCHMARK));
    let unknown = all - run.measurements.len();
    if run.measurements.is_empty() {
        return Err(SuiteError::NoneAtCommit);
    }
    if unknown > 0 {
        let left_out = draft::count(unknown, "benchmark");
        observer.note(&format!("{left_out} left out: not defined by that commit"));
    }
    Ok(())
}

/// The benchmarks that the configuration and the user's filters leave, which may be none.
pub fn select<'a>(
    name: &str,
    include: &[String],
    filters: &[String],
    workloads: &'a [Workload],
) -> Result<Vec<&'a Workload>, SuiteError> {
    let included = workload::select(workloads.iter(), include);
    if included.is_empty() {
        return Err(SuiteError::Include { suite: name.to_owned(), include: include.to_vec() });
    }
    Ok(workload::select(included.into_iter(), filters))
}

/// The workloads of a suite that this shard measures, and the shards that hold any; `None` where it holds none itself.
/// A control is measured by every shard, and is no work of its own.
fn share_of(shard: Shard, selected: Vec<&Workload>) -> Option<(Vec<&Workload>, Vec<u32>)> {
    let is_control = |workload: &Workload| workload.role == Role::Control;
    let occupied = shard.occupied(selected.iter().filter(|one| !is_control(one)).map(|one| &one.benchmark));
    let is_part = |workload: &&Workload| is_control(workload) || shard.holds(&workload.benchmark);
    occupied.contains(&shard.index()).then(|| (selected.into_iter().filter(is_part).collect(), occupied))
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
    tuned: Option<&mut TunedConfigurations>,
    protocol: &Protocol,
    command: &WorkerCommand,
    observer: &dyn Observer,
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
    observer.begin(&format!("suite {}: choosing configurations", wanted.suite), 3);
    let mut tell = |done: u32| observer.step(u64::from(done));
    choices.extend(match tune::tune(wanted.suite, &open, wanted.incumbents, protocol, command, &mut tell) {
        Ok(choices) => {
            for choice in &choices {
                for (name, reason) in &choice.failures {
                    observer.warn(&format!("the configuration {name} of {} was not tried: {reason}", choice.benchmark));
                }
            }
            if let Some(tuned) = tuned {
                tuned.save(&choices, observer);
            }
            choices
        }
        Err(error) => {
            observer.warn(&format!("configurations were not tuned: {error}"));
            open.into_iter().filter_map(|workload| tune::untried(workload, wanted.incumbents)).collect()
        }
    });
    choices
}

fn configurations(choices: &[Choice], selected: &[&Workload], incumbents: &Configurations) -> Configurations {
    let chosen: Configurations = choices.iter().map(|one| (one.benchmark.clone(), one.selected.clone())).collect();
    let configuration = |workload: &&Workload| {
        let id = workload.benchmark.id();
        let leader = workload.tuned_with.as_ref().unwrap_or(&id);
        let configuration = chosen.get(leader).or_else(|| incumbents.get(leader))?.clone();
        Some((id, configuration))
    };
    selected.iter().filter(|workload| !workload.configurations.is_empty()).filter_map(configuration).collect()
}

fn config(protocol: &Protocol, options: &MeasureOptions<'_>) -> BTreeMap<String, Value> {
    let mut config = draft::settings(protocol, options);
    config.extend([
        ("rounds".to_owned(), Value::from(protocol.rounds)),
        ("block_samples".to_owned(), Value::from(protocol.block_samples)),
        ("sample_seconds".to_owned(), Value::from(protocol.sample_seconds)),
        ("series_seconds".to_owned(), Value::from(protocol.series_seconds)),
    ]);
    config
}
