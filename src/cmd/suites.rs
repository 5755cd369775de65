//! From a suite of the configuration to a finished run: commit, machine, environment and measurements together.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::Exit;
use super::progress::Progress;
use super::project::Project;
use crate::config::{Suite, SuiteKind};
use crate::history;
use crate::measure::plan::Protocol;
use crate::measure::protocol::{self, SuiteResult, WorkerCommand};
use crate::measure::{clock, cpu, environment, gpu, workload};
use crate::model::commit::Commit;
use crate::model::environment::{Environment, Machine};
use crate::model::run::{FILTER, Quality, Run, RunStatus};
use crate::stats::bootstrap::FEWEST_VALUES;

/// How to measure.
pub(super) struct Wish<'a> {
    /// One worker process and fewer samples.
    pub(super) quick: bool,
    /// Only benchmarks whose id contains one of these texts; all where empty.
    pub(super) filters: &'a [String],
}

/// Measures the suites one after another.
///
/// # Errors
/// When filters leave nothing in any suite. A suite that cannot run gives a run that says so.
pub(super) fn measure(
    project: &Project,
    suites: &[(&str, &Suite)],
    wish: &Wish<'_>,
    progress: &Progress,
) -> anyhow::Result<Vec<Run>> {
    if let Some(fault) = project.store_fault() {
        super::warn(&format!("{fault}; the runs will name no commit"));
    }
    let commit = match project.find_store() {
        Some(store) => history::measured_commit(store).unwrap_or_else(|error| {
            super::warn(&format!("{error}; the runs will name no commit"));
            None
        }),
        None => None,
    };
    let mut runs = Vec::new();
    for (name, suite) in suites {
        runs.extend(measure_suite(project, name, suite, wish, commit.clone(), progress)?);
    }
    if runs.is_empty() {
        let texts = wish.filters.join("` or `");
        bail!("no benchmark of the suites that were asked for contains `{texts}`");
    }
    Ok(runs)
}

/// What measuring came to, before anything is compared.
pub(super) fn exit(runs: &[Run]) -> Exit {
    let failed = runs.iter().any(|run| {
        run.status == RunStatus::Failed || run.measurements.iter().any(|measurement| measurement.failure.is_some())
    });
    if failed {
        Exit::Failed
    } else if runs.iter().all(|run| run.status == RunStatus::Skipped) {
        Exit::NotMeasured
    } else {
        Exit::Done
    }
}

fn measure_suite(
    project: &Project,
    name: &str,
    suite: &Suite,
    wish: &Wish<'_>,
    commit: Option<Commit>,
    progress: &Progress,
) -> anyhow::Result<Option<Run>> {
    match suite.kind {
        SuiteKind::Cpu => cpu_suite(project, name, suite, wish, commit, progress),
        // It has no benchmarks yet, so no filter asks for one of them.
        SuiteKind::Gpu if !wish.filters.is_empty() => Ok(None),
        SuiteKind::Gpu => {
            progress.begin(&format!("suite {name}: looking for a CUDA device"), 1);
            Ok(Some(gpu_suite(project, name, commit)))
        }
    }
}

fn cpu_suite(
    project: &Project,
    name: &str,
    suite: &Suite,
    wish: &Wish<'_>,
    commit: Option<Commit>,
    progress: &Progress,
) -> anyhow::Result<Option<Run>> {
    let workloads = cpu::workloads(name)?;
    let included = workload::select(workloads.iter(), &suite.include);
    if included.is_empty() {
        bail!(
            "`suites.{name}.include` in sprag.toml leaves no benchmark: none contains `{}`",
            suite.include.join("` or `")
        );
    }
    let selected = workload::select(included.into_iter(), wish.filters);
    if selected.is_empty() {
        return Ok(None);
    }
    let protocol = if wish.quick { Protocol::quick() } else { Protocol::ordinary(suite.processes()) };
    let machine = environment::machine(project.machine_name().as_deref(), None);
    let mut run = new_run(name, commit, machine, environment::environment(&BTreeMap::new()));
    run.config = config(&protocol, wish);
    let count = selected.len();
    let plural = if protocol.processes == 1 { "process" } else { "processes" };
    progress.begin(
        &format!("suite {name}: {count} benchmarks in {} worker {plural}", protocol.processes),
        u64::from(protocol.processes),
    );
    let program = std::env::current_exe().context("cannot tell which program this is")?;
    let command = WorkerCommand { program, arguments: vec!["worker".to_owned()] };
    let mut tell = |done: u32, _: u32| progress.step(u64::from(done));
    match protocol::measure(name, &selected, &protocol, &command, &mut tell) {
        Ok(SuiteResult { measurements, faults }) => {
            run.quality = quality(&run, &protocol, faults);
            run.measurements = measurements;
        }
        Err(error) => {
            run.status = RunStatus::Failed;
            run.reason = Some(error.to_string());
        }
    }
    Ok(Some(run))
}

fn gpu_suite(project: &Project, name: &str, commit: Option<Commit>) -> Run {
    let (gpu, facts, reason) = match gpu::probe::device() {
        Ok(device) => {
            let reason = format!("gpu_kernels_missing: this version has no CUDA kernels to run on {}", device.name);
            let facts = BTreeMap::from([
                ("gpu_driver".to_owned(), format!("CUDA {}", device.driver_cuda)),
                ("gpu_compute_capability".to_owned(), device.compute_capability),
            ]);
            (Some(device.name), facts, reason)
        }
        Err(error) => (None, BTreeMap::new(), error.to_string()),
    };
    let machine = environment::machine(project.machine_name().as_deref(), gpu.as_deref());
    let mut run = new_run(name, commit, machine, environment::environment(&facts));
    run.status = RunStatus::Skipped;
    run.reason = Some(reason);
    run
}

fn new_run(name: &str, commit: Option<Commit>, machine: Machine, environment: Environment) -> Run {
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

fn config(protocol: &Protocol, wish: &Wish<'_>) -> BTreeMap<String, Value> {
    BTreeMap::from([
        ("quick".to_owned(), Value::from(wish.quick)),
        (FILTER.to_owned(), Value::from(wish.filters.to_vec())),
        ("processes".to_owned(), Value::from(protocol.processes)),
        ("rounds".to_owned(), Value::from(protocol.rounds)),
        ("block_samples".to_owned(), Value::from(protocol.block_samples)),
        ("sample_seconds".to_owned(), Value::from(protocol.sample_seconds)),
        ("series_seconds".to_owned(), Value::from(protocol.series_seconds)),
        ("seed".to_owned(), Value::from(protocol.seed)),
    ])
}

/// What speaks against the numbers of a run.
fn quality(run: &Run, protocol: &Protocol, faults: Vec<String>) -> Quality {
    let mut reasons = faults;
    if (protocol.processes as usize) < FEWEST_VALUES {
        reasons.push(format!("{} worker process: below {FEWEST_VALUES} there is no interval", protocol.processes));
    }
    let fact = |name: &str| run.environment.facts.get(name).and_then(|value| value.parse::<f64>().ok());
    if let (Some(load), Some(cores)) = (fact("load_1m"), fact("cores"))
        && load > cores
    {
        reasons.push(format!("load {load} on {cores} cores when the run began"));
    }
    if let Some(commit) = run.commit.as_ref().filter(|commit| commit.dirty) {
        reasons.push(format!("tracked files differed from {}", commit.short()));
    }
    Quality { clean: reasons.is_empty(), reasons }
}
