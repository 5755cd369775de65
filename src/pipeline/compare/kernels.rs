//! Two builds of Sprag itself, by the kernels that are part of it: programs given by their paths, this program, or
//! programs built from commits.

use std::collections::BTreeMap;

use super::contest::{Contest, Outcome};
use crate::gate::{self, Against, base_error};
use crate::measuring;
use crate::measuring::commit_build::{self, CommitBuild};
use crate::project::Project;
use crate::{Advice, refuse, text};
use sprag_analysis::rules::interval::FEWEST_PAIRS;
use sprag_history as history;
use sprag_measure::paired::{self, Sides};
use sprag_measure::process::WorkerCommand;
use sprag_measure::protocol::Configurations;
use sprag_measure::suite::kernels::select;
use sprag_measure::suite::{built_from_fault, is_ours};
use sprag_measure::workload::Workload;
use sprag_measure::{cpu, environment};
use sprag_model::commit::Commit;
use sprag_model::sample::Role;

enum Named {
    Program(WorkerCommand),
    Commit(Commit),
}

struct Side {
    command: WorkerCommand,
    /// The build of a commit; it goes with this.
    build: Option<CommitBuild>,
}

/// Finds or builds both programs, and times them.
pub(super) fn measure(contest: &Contest<'_>) -> crate::Result<Outcome> {
    let Contest { project, name, suite, request, host, .. } = contest;
    let workloads = cpu::workloads(name)?;
    let selected = tracked(select(name, &suite.include, &request.filters, &workloads)?);
    if selected.is_empty() {
        let names = workloads.iter().map(|workload| workload.benchmark.name.as_str());
        return Err(measuring::nothing_left(&request.filters, names).into());
    }
    let named = [named(contest, &request.base)?, named(contest, &request.other)?];
    let commits = [0, 1].map(|place: usize| named[place].commit().map(|commit| commit.sha.clone()));
    let (base, other) = sides(contest, &named)?;
    let protocol = contest.effort.protocol_of_pairs(suite.processes(), FEWEST_PAIRS as u32);
    let facts = base.build.as_ref().map(|build| build.program.facts.clone()).unwrap_or_default();
    let configurations = in_use(project, name, &facts);
    let pairs = protocol.processes;
    host.observer.begin(
        &format!("comparing {} in up to {pairs} pairs of processes", text::count(selected.len(), "benchmark")),
        pairs.into(),
    );
    let mut step = |done: u32| host.observer.step(u64::from(done));
    let sides = Sides { base: &base.command, other: &other.as_ref().unwrap_or(&base).command };
    let result = paired::measure(name, &selected, sides, &configurations, &protocol, &mut step);
    let result = result.map_err(|error| {
        Advice::new(
            error.to_string(),
            "both sides must be `sprag` programs that understand each other's plans: build them from near commits",
        )
    })?;
    Ok(Outcome { result, commits })
}

/// What a gate looks at: not the control, whose comparison is with itself, nor what is only reported.
fn tracked(selected: Vec<&Workload>) -> Vec<&Workload> {
    selected.into_iter().filter(|workload| workload.role == Role::Tracked).collect()
}

/// The configurations that the newest run of this machine used, in an environment with those facts: both sides are
/// compared as they are tracked.
fn in_use(project: &Project, suite: &str, facts: &BTreeMap<String, String>) -> Configurations {
    let machine = environment::machine(project.machine_name().as_deref(), None);
    let key = environment::environment(facts).key;
    measuring::incumbents(project, suite, &machine.id, &key)
}

fn named(contest: &Contest<'_>, named: &str) -> crate::Result<Named> {
    match gate::named(contest.project, &contest.request.gate.folder, named)? {
        Some(Against::File(program)) => {
            Ok(Named::Program(WorkerCommand { program, ..WorkerCommand::for_task("serve")? }))
        }
        Some(_) => Ok(Named::Commit(commit_build::commit(contest.project, named)?)),
        None => refuse(
            format!("`{}` is neither a program nor a commit of this repository", named.escape_debug()),
            "give the path of a `sprag` program, or a revision such as `HEAD~1`",
        ),
    }
}

/// The programs of both sides; no second one where both are one commit. This program stands for the commit that it is of,
/// but not where another commit has to be built: both are built in the same way, or they would differ in more than code.
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
                let build = commit_build::build(contest.project, contest.suite, commit, contest.host.observer)?;
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

/// Whether this program is the build of a commit. In the sources of Sprag that can be told; elsewhere it counts for
/// what is checked out, whose code it does not measure.
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
