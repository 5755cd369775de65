//! Builds two sides and measures them in turn: programs of Sprag by its kernels, or two commits of a `command` suite.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::builds::commit_build;
use crate::builds::{Builds, BuiltProgram, BuiltTree};
use crate::compare::timed;
use crate::config::{Config, FILE_NAME, Suite, SuiteKind};
use crate::error::Cause;
use crate::gate::{self, AgainstBase, CompareRequest, base_error};
use crate::measuring::{GpuOverride, MeasureHost};
use crate::project::Project;
use crate::{Advice, Error, measuring, refuse, text};
use sprag_analysis::rules::interval::FEWEST_PAIRS;
use sprag_history as history;
use sprag_measure::command::paired as paired_commands;
use sprag_measure::command::paired::CommandSides;
use sprag_measure::command::suite::CommandSuite;
use sprag_measure::paired::{self, PairedBuilds, PairedResult};
use sprag_measure::process::WorkerCommand;
use sprag_measure::suite::command::{Requested, command_suite, without_places};
use sprag_measure::suite::gpu::{DeviceSuite, SharedDevice};
use sprag_measure::suite::kernels::select;
use sprag_measure::suite::{CommandSettings, Effort, built_from_fault, is_ours};
use sprag_measure::workload::Workload;
use sprag_measure::{MeasureError, cpu, environment};
use sprag_model::foreign::Output;
use sprag_model::{Commit, Role};

pub(crate) struct Contest<'a> {
    pub project: &'a Project,
    pub name: &'a str,
    pub suite: &'a Suite,
    pub request: &'a CompareRequest,
    pub effort: Effort,
    pub host: MeasureHost<'a>,
    pub builds: &'a Builds<'a>,
}

pub(crate) struct BuildsOutcome {
    pub result: PairedResult,
    /// The commits of base and other; `None` for a program given by its path.
    pub commits: [Option<String>; 2],
    /// What their builds add to the environment.
    pub facts: [BTreeMap<String, String>; 2],
}

enum Named {
    Program(WorkerCommand),
    Commit(Commit),
}

struct Side {
    command: WorkerCommand,
    build: Option<BuiltProgram>,
}

pub(super) fn measure_kernels(contest: &Contest<'_>) -> crate::Result<BuildsOutcome> {
    let Contest { project, name, suite, request, host, .. } = contest;
    let named = [named(contest, &request.base)?, named(contest, &request.other)?];
    let trees = trees(contest, &named)?;
    let device = device(contest, trees.as_ref())?;
    let workloads = match &device {
        Some(device) => &device.workloads,
        None => &cpu::workloads(name)?,
    };
    let selected = tracked(select(name, &suite.include, &request.filters, workloads)?);
    if selected.is_empty() {
        let names = workloads.iter().map(|workload| workload.benchmark.name.as_str());
        return Err(measuring::nothing_left(&request.filters, names).into());
    }
    let commits = [0, 1].map(|place: usize| named[place].commit().map(|commit| commit.sha.clone()));
    let (mut base, mut other) = if trees.is_some() {
        let here = [WorkerCommand::for_task("serve")?, WorkerCommand::for_task("serve")?];
        let [base, other] = here.map(|command| Side { command, build: None });
        (base, Some(other))
    } else {
        sides(contest, &named)?
    };
    let mut protocol = contest.effort.protocol_of_pairs(suite.processes(), FEWEST_PAIRS as u32);
    if let Some(device) = &device {
        protocol.patience_seconds = device.patience_seconds;
        for (side, arguments) in std::iter::once(&mut base).chain(&mut other).zip(&device.arguments) {
            side.command.arguments.extend(arguments.clone());
        }
    }
    if let Some(left) = suite.seconds_left() {
        protocol.patience_seconds = protocol.patience_seconds.min(left);
        protocol.budget_seconds = Some(left);
    }
    let facts = |side: Option<&Side>| -> BTreeMap<String, String> {
        let of_build = side.and_then(|side| side.build.as_ref()).map(|build| build.program.facts.clone());
        let of_device = device.as_ref().map(|device| device.facts.clone());
        of_device.into_iter().chain(of_build).flatten().collect()
    };
    let facts = [facts(Some(&base)), facts(other.as_ref())];
    let machine =
        environment::machine(project.machine_name().as_deref(), device.as_ref().map(|one| one.model.as_str()));
    let key = environment::environment(&facts[0]).key;
    // Both sides run as they are tracked.
    let configurations = measuring::incumbents(project, name, &machine.id, &key);
    let pairs = protocol.processes;
    host.observer.begin(
        &format!("comparing {} in up to {pairs} process pairs", text::count(selected.len(), "benchmark")),
        pairs.into(),
    );
    let mut step = |done: u32| host.observer.step(u64::from(done));
    let sides = PairedBuilds { base: &base.command, other: &other.as_ref().unwrap_or(&base).command };
    let result = paired::measure(name, &selected, sides, &configurations, &protocol, &mut step);
    let result = result.map_err(|error| {
        Advice::new(
            error.to_string(),
            "both sides must be `sprag` programs that understand each other's plans: build them from near commits",
        )
    })?;
    Ok(BuildsOutcome { result, commits, facts })
}

/// Neither the A/A control nor what is only reported.
fn tracked(selected: Vec<&Workload>) -> Vec<&Workload> {
    selected.into_iter().filter(|workload| workload.role == Role::Tracked).collect()
}

/// The files of both commits, which have the kernels of a suite of the kind `cuda`. This program measures them.
fn trees(contest: &Contest<'_>, named: &[Named; 2]) -> crate::Result<Option<[BuiltTree; 2]>> {
    if contest.suite.kind != SuiteKind::Cuda {
        return Ok(None);
    }
    let [Named::Commit(base), Named::Commit(other)] = named else {
        let message =
            format!("the suite `{}` compares the kernels of two commits, and a program has none", contest.name);
        return refuse(message, "name two commits");
    };
    let base = contest.builds.tree(contest.suite, base).map_err(base_error)?;
    Ok(Some([base, contest.builds.tree(contest.suite, other)?]))
}

/// The device of a suite of the kind `gpu` or `cuda`.
fn device(contest: &Contest<'_>, trees: Option<&[BuiltTree; 2]>) -> crate::Result<Option<SharedDevice>> {
    let Contest { project, name, suite, host, .. } = contest;
    let gpu = GpuOverride::default().suite(project, suite);
    let custom = trees.map(|trees| trees.each_ref().map(|tree| measuring::cuda_suite(project, suite, &tree.root)));
    let sides = match &custom {
        Some(custom) => custom.each_ref().map(DeviceSuite::Cuda),
        None if suite.kind == SuiteKind::Gpu => [DeviceSuite::Gpu(&gpu); 2],
        None => return Ok(None),
    };
    SharedDevice::open(name, sides, host.observer).map(Some).map_err(|reason| {
        let message = format!("the suite `{name}` cannot be measured: {reason}");
        Advice::new(message, "`sprag doctor` says what is missing").into()
    })
}

fn named(contest: &Contest<'_>, named: &str) -> crate::Result<Named> {
    match gate::named(contest.project, &contest.request.gate.folder, named)? {
        Some(AgainstBase::File(program)) => {
            Ok(Named::Program(WorkerCommand { program, ..WorkerCommand::for_task("serve")? }))
        }
        Some(_) => Ok(Named::Commit(commit_build::commit(contest.project, named)?)),
        None => Err(neither(named, "`sprag` program")),
    }
}

/// No second side if both are one commit. This program is the build of its own commit, unless another commit must be
/// built. Then both are built alike, or they would differ in more than code.
fn sides(contest: &Contest<'_>, named: &[Named; 2]) -> crate::Result<(Side, Option<Side>)> {
    let mut is_built = false;
    for commit in named.iter().filter_map(Named::commit) {
        is_built |= !is_build_of(contest, commit)?;
    }
    let side = |named: &Named| -> crate::Result<Side> {
        Ok(match named {
            Named::Program(command) => Side { command: command.clone(), build: None },
            Named::Commit(_) if !is_built => Side { command: WorkerCommand::for_task("serve")?, build: None },
            Named::Commit(commit) => {
                let build = contest.builds.program(contest.suite, commit)?;
                let command = WorkerCommand::for_task("serve")?;
                let command = WorkerCommand { program: build.program.path.clone(), ..command };
                Side { command, build: Some(build) }
            }
        })
    };
    let [base, other] = named;
    let is_same = base.commit().is_some_and(|base| other.commit().is_some_and(|other| base.sha == other.sha));
    let first = side(base).map_err(base_error)?;
    Ok((first, if is_same { None } else { Some(side(other)?) }))
}

/// Outside the sources of Sprag this program is treated as the build of the checkout, whose code it does not measure.
fn is_build_of(contest: &Contest<'_>, commit: &Commit) -> crate::Result<bool> {
    let project = contest.project;
    let here = history::measured_commit(project.store()?)?;
    let Some(here) = here.filter(|here| here.sha == commit.sha && !project.is_bare) else { return Ok(false) };
    Ok(!is_ours(&project.root) || (!here.dirty && built_from_fault(&project.root, contest.host.built_from).is_none()))
}

impl Named {
    fn commit(&self) -> Option<&Commit> {
        match self {
            Named::Commit(commit) => Some(commit),
            Named::Program(_) => None,
        }
    }
}

/// If the base fails and has no such suite, the other side is measured alone, and all of it is new.
pub(super) fn measure_commands(contest: &Contest<'_>) -> crate::Result<BuildsOutcome> {
    let Contest { suite, request, name, host, .. } = contest;
    if let Some(programs) = programs(contest)? {
        let command = |program: PathBuf| {
            let program = program.to_string_lossy().into_owned();
            std::iter::once(program).chain(suite.command.iter().skip(1).cloned()).collect()
        };
        return measure_programs(contest, &programs.map(command));
    }
    let [base, other] = [&request.base, &request.other].map(|named| commit_build::commit(contest.project, named));
    let (base, other) = (base?, other?);
    let selection = selection(contest)?;
    if !request.gate.bisect {
        measuring::foresee(contest.project, name, &request.filters, None);
    }
    let protocol = contest.effort.protocol_of_pairs(suite.processes(), FEWEST_PAIRS as u32);
    let is_new = !request.gate.bisect && lacks_suite(contest, &base)?;
    let (base_tree, unbuilt) = match contest.builds.tree(suite, &base).map_err(base_error) {
        Ok(tree) => (Some(tree), None),
        Err(error) if is_new => (None, Some(error)),
        Err(error) => return Err(error),
    };
    let (other_tree, unbuilt) = match (contest.builds.tree(suite, &other), unbuilt) {
        (Ok(tree), unbuilt) => (tree, unbuilt.map(|error| error.to_string())),
        // Neither builds, so the suite is not new.
        (Err(error), unbuilt) => return Err(unbuilt.unwrap_or(error)),
    };
    let command_suite = |tree: &BuiltTree| tree.command_suite(protocol.clone());
    let (base_suite, other_suite) = (base_tree.as_ref().map(command_suite).transpose()?, command_suite(&other_tree)?);

    let pairs = protocol.processes;
    let command = suite.command.join(" ");
    host.observer.begin(&format!("suite {name}: `{command}` in up to {pairs} process pairs"), pairs.into());
    let read = |outputs: &[Output]| selection.read(outputs);
    let places = |text: &str| {
        let text = without_places(text, &other_tree.root);
        base_tree.as_ref().map_or(text.clone(), |tree| without_places(&text, &tree.root))
    };
    let measured = |base: Option<&CommandSuite>| {
        let sides = CommandSides { base, other: &other_suite };
        paired_commands::measure(sides, &read, &protocol, &mut |done: u32| host.observer.step(u64::from(done)))
    };
    let (measured_sides, fault_of_base) = match measured(base_suite.as_ref()) {
        Err(MeasureError::Command(text)) if is_new => match measured(None) {
            Err(MeasureError::Other(other)) => (Err(MeasureError::Command(format!("{text}; {other}"))), None),
            measured_sides => (measured_sides, Some(text)),
        },
        measured_sides => (measured_sides, unbuilt),
    };
    let mut result = measured_sides.map_err(|error| {
        let hint = format!("`sprag run --suite {name} --commit <REVISION>` measures one of them alone");
        let advice = Advice::new(places(&error.to_string()), hint);
        match error {
            MeasureError::Other(_) => Error::from(advice.because(Cause::Unmeasured)),
            MeasureError::Command(_) => advice.because(Cause::BaseFails).into(),
            _ => advice.into(),
        }
    })?;
    if let Some(fault) = fault_of_base {
        let new =
            format!("the suite `{name}` is new, so it has no baseline: `{FILE_NAME}` of the base lacks it, or differs");
        result.faults.push(format!("{new}, and it failed there ({fault})"));
    }
    for fault in &mut result.faults {
        *fault = places(fault);
    }
    for failure in result.benchmarks.iter_mut().filter_map(|one| one.failure.as_mut()) {
        *failure = places(failure);
    }
    if result.benchmarks.is_empty() && result.new.is_empty() {
        return Err(nothing_left(contest, &selection).into());
    }
    Ok(BuildsOutcome { result, commits: [Some(base.sha), Some(other.sha)], facts: Default::default() })
}

/// Two commands that take turns, in the folder of the suite.
pub(crate) fn measure_programs(contest: &Contest<'_>, commands: &[Vec<String>; 2]) -> crate::Result<BuildsOutcome> {
    let Contest { project, suite, host, .. } = contest;
    let protocol = contest.effort.protocol_of_pairs(suite.processes(), FEWEST_PAIRS as u32);
    let side = |command: &Vec<String>| {
        let settings = CommandSettings { command: command.clone(), ..suite.command_settings() };
        command_suite(&project.root, &settings, protocol.clone())
    };
    let (base, other) = (side(&commands[0])?, side(&commands[1])?);
    let pairs = protocol.processes;
    let words = commands.each_ref().map(|command| timed::shown(command));
    host.observer.begin(&format!("`{}` and `{}` in up to {pairs} process pairs", words[0], words[1]), pairs.into());
    let selection = selection(contest)?;
    let read = |outputs: &[Output]| selection.read(outputs);
    let sides = CommandSides { base: Some(&base), other: &other };
    let measured = paired_commands::measure(sides, &read, &protocol, &mut |done| host.observer.step(u64::from(done)));
    let result = measured.map_err(|error| {
        let advice = Advice::new(error.to_string(), "run both by hand first: each must end with exit code 0");
        Error::from(advice.because(Cause::Unmeasured))
    })?;
    if result.benchmarks.is_empty() && result.new.is_empty() {
        return Err(nothing_left(contest, &selection).into());
    }
    Ok(BuildsOutcome { result, commits: [None, None], facts: Default::default() })
}

/// The paths of both sides where they are programs; `None` where both are revisions.
fn programs(contest: &Contest<'_>) -> crate::Result<Option<[PathBuf; 2]>> {
    let path = |side: &String| -> crate::Result<Option<PathBuf>> {
        match gate::named(contest.project, &contest.request.gate.folder, side)? {
            Some(AgainstBase::File(path)) => Ok(Some(path)),
            Some(_) => Ok(None),
            // The hint about a shallow clone is given where the commit is looked up.
            None => commit_build::commit(contest.project, side).map(|_| None).map_err(|error| match error.hint() {
                Some(_) => error,
                None => neither(side, "program"),
            }),
        }
    };
    match (path(&contest.request.base)?, path(&contest.request.other)?) {
        (Some(base), Some(other)) => Ok(Some([base, other])),
        (None, None) => Ok(None),
        (base, _) => {
            let side = if base.is_some() { &contest.request.base } else { &contest.request.other };
            let (side, suite) = (text::printable(side), contest.name);
            let message = format!("`{side}` is a file, and the suite `{suite}` compares commits, or two programs");
            refuse(message, "give two revisions, which are built as the suite says, or two programs")
        }
    }
}

/// `program` is what a side may be besides a commit.
pub(super) fn neither(side: &str, program: &str) -> Error {
    let message = format!("`{}` is neither a program nor a commit of this repository", side.escape_debug());
    Advice::new(message, format!("give the path of a {program}, or a revision such as `HEAD~1`")).into()
}

/// Refuses filters that leave out the benchmark of a command that is timed itself.
fn selection<'c>(contest: &'c Contest<'_>) -> crate::Result<Requested<'c>> {
    let Contest { name, suite, request, .. } = contest;
    let selection = Requested::new(name, suite.format(), &suite.include, &request.filters);
    match &suite.timed {
        Some(timed) if !selection.wants(timed) => Err(nothing_left(contest, &selection).into()),
        _ => Ok(selection),
    }
}

fn nothing_left(contest: &Contest<'_>, selection: &Requested<'_>) -> Advice {
    match selection.include_fault() {
        Some(fault) => Advice::new(fault, "see what the command reports"),
        None => measuring::nothing_left(&contest.request.filters, selection.names().iter().map(String::as_str)),
    }
}

fn lacks_suite(contest: &Contest<'_>, commit: &Commit) -> crate::Result<bool> {
    let run = |suite: &Suite| (suite.command.clone(), suite.build.clone(), suite.cwd.clone(), suite.env.clone());
    let files = history::files_of(contest.project.store()?, &commit.sha, FILE_NAME)?;
    let text = files.first().map(|(_, bytes)| String::from_utf8_lossy(bytes)).unwrap_or_default();
    let there = Config::parse(&text, Path::new(FILE_NAME));
    Ok(there.is_ok_and(|there| there.suites.get(contest.name).is_none_or(|there| run(there) != run(contest.suite))))
}
