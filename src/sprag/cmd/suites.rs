//! From a suite of the configuration to a finished run: commit, machine, environment and measurements together.

use std::collections::BTreeMap;

use serde_json::Value;

use super::effort::Effort;
use super::gpu_suite::{self, GpuWish};
use super::kernel_suite::{self, Bench};
use super::progress::Progress;
use super::project::Project;
use super::trt_options::TrtOptions;
use super::trt_profile::SLOWEST_LAYER;
use super::{Exit, command_suite, commit_program, trt_suite};
use crate::config::{Suite, SuiteKind};
use sprag_formats::compat::apex_x::trt_report::SweepReport;
use sprag_history as history;
use sprag_measure::environment::pressure::{self, Pressure, PressureChange};
use sprag_measure::environment::redact::{redacted, redacted_arguments, without_secrets};
use sprag_measure::plan::Protocol;
use sprag_measure::{clock, cpu};
use sprag_model::commit::Commit;
use sprag_model::environment::{Environment, Machine};
use sprag_model::run::{FILTER, Quality, Run, RunStatus};
use sprag_model::shard::Shard;

/// The setting that holds the program of a command suite and its arguments.
pub(super) const COMMAND: &str = "command";

pub(super) struct Wish<'a> {
    /// How much time it may take.
    pub(super) effort: Effort,
    /// Only benchmarks whose id contains one of these texts; all where empty.
    pub(super) filters: &'a [String],
    /// Only the benchmarks of this part.
    pub(super) shard: Option<Shard>,
    pub(super) count_instructions: bool,
    /// Whether configurations of a device are chosen anew where a choice is known.
    pub(super) retune: bool,
    /// What the suite of a device is to run in place of what its configuration says.
    pub(super) gpu: GpuWish,
    /// What a suite of TensorRT is told beyond its settings.
    pub(super) trt: &'a TrtOptions,
    /// The commit to build and measure in place of the working tree.
    pub(super) commit: Option<&'a Commit>,
}

impl<'a> Wish<'a> {
    /// All benchmarks of the working tree, as they are configured.
    pub(super) fn whole(effort: Effort, trt: &'a TrtOptions) -> Wish<'a> {
        Wish {
            effort,
            filters: &[],
            shard: None,
            count_instructions: false,
            retune: false,
            gpu: GpuWish::default(),
            trt,
            commit: None,
        }
    }
}

/// What a suite came to.
pub(super) enum Measured {
    /// A run, if only one that says why nothing could be measured.
    Run(Box<Run>),
    /// A run, and the report of the sweep that it was.
    Sweep(Box<Run>, Box<SweepReport>),
    /// No benchmark was asked for.
    Nothing,
    /// Other shards hold what was asked for.
    EmptyShare(Shard),
}

/// What several suites came to.
pub(super) struct Taken {
    /// One run a suite that was not empty.
    pub(super) runs: Vec<Run>,
    pub(super) sweeps: Vec<SweepReport>,
}

/// Measures the suites one after another.
///
/// # Errors
/// When filters leave nothing in any suite, and when a commit that is wished for cannot be built. A suite that cannot run
/// gives a run that says so; one of which this shard holds nothing gives none.
pub(super) fn measure(
    project: &Project,
    suites: &[(&str, &Suite)],
    wish: &Wish<'_>,
    progress: &Progress,
) -> anyhow::Result<Taken> {
    if let Some(fault) = project.store_fault() {
        super::warn(&format!("{fault}; the runs will name no commit"));
    }
    let commit = match project.find_store() {
        _ if wish.commit.is_some() => wish.commit.cloned(),
        Some(store) => history::measured_commit(store).unwrap_or_else(|error| {
            super::warn(&format!("{error}; the runs will name no commit"));
            None
        }),
        None => None,
    };
    let (mut runs, mut sweeps, mut empty_share) = (Vec::new(), Vec::new(), false);
    for (name, suite) in suites {
        let before = Pressure::read();
        match measure_suite(project, name, suite, wish, commit.clone(), progress)? {
            Measured::Run(run) => runs.push(finished(*run, &Pressure::read().since(&before))),
            Measured::Sweep(run, report) => {
                runs.push(finished(*run, &Pressure::read().since(&before)));
                sweeps.push(*report);
            }
            Measured::Nothing => {}
            Measured::EmptyShare(shard) => {
                progress.end();
                super::note(&format!(
                    "the shard {shard} holds no benchmark of `{name}`: nothing to measure or to record"
                ));
                empty_share = true;
            }
        }
    }
    if runs.is_empty() && !empty_share {
        let mut workloads = Vec::new();
        for (name, suite) in suites {
            match suite.kind {
                SuiteKind::Cpu => workloads.extend(cpu::workloads(name)?),
                SuiteKind::Gpu => workloads.extend(gpu_suite::workloads(name, suite, wish)?),
                SuiteKind::Command | SuiteKind::Trt => {}
            }
        }
        return Err(kernel_suite::nothing_left(wish.filters, workloads.iter()).into());
    }
    Ok(Taken { runs, sweeps })
}

/// What measuring came to, before anything is compared.
pub(super) fn exit(runs: &[Run]) -> Exit {
    let failed = runs.iter().any(|run| {
        run.status == RunStatus::Failed || run.measurements.iter().any(|measurement| measurement.failure.is_some())
    });
    if failed {
        Exit::Failed
    } else if !runs.is_empty() && runs.iter().all(|run| run.status == RunStatus::Skipped) {
        Exit::NotMeasured
    } else {
        Exit::Done
    }
}

/// The run with what the rest of the machine did meanwhile, facts and reasons where it speaks against the numbers, and
/// without what looks like a path or a secret in any text that others wrote.
fn finished(mut run: Run, change: &PressureChange) -> Run {
    if run.status != RunStatus::Skipped {
        let mut facts = std::mem::take(&mut run.environment.facts);
        facts.extend(change.facts());
        run.environment = Environment::from_facts(facts);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        run.quality.reasons.extend(pressure::reasons(change, cores));
        run.quality.clean = run.quality.reasons.is_empty();
    }
    let failures = run.measurements.iter_mut().filter_map(|measurement| measurement.failure.as_mut());
    for text in run.reason.iter_mut().chain(&mut run.quality.reasons).chain(failures) {
        *text = redacted(text);
    }
    for (name, text) in run.measurements.iter_mut().flat_map(|measurement| &mut measurement.attributes) {
        // The names of layers look like paths: `/stem/Conv + /stem/Relu`.
        *text = if name == SLOWEST_LAYER { without_secrets(text) } else { redacted(text) };
    }
    run.autotune.iter_mut().filter_map(|entry| entry.get_mut("failures")).for_each(redact);
    if let Some(command) = run.config.get_mut(COMMAND).and_then(Value::as_array_mut) {
        let arguments: Vec<&str> = command.iter().filter_map(Value::as_str).collect();
        *command = redacted_arguments(&arguments).into_iter().map(Value::from).collect();
    }
    run
}

/// Takes paths and secrets out of every text of a value.
fn redact(value: &mut Value) {
    match value {
        Value::String(text) => *text = redacted(text),
        Value::Array(values) => values.iter_mut().for_each(redact),
        Value::Object(fields) => fields.values_mut().for_each(redact),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn measure_suite(
    project: &Project,
    name: &str,
    suite: &Suite,
    wish: &Wish<'_>,
    commit: Option<Commit>,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    match suite.kind {
        SuiteKind::Cpu => {
            let program = wish.commit.map(|commit| commit_program::build(project, suite, commit, progress));
            let mut bench = Bench { workloads: cpu::workloads(name)?, device: None, program: program.transpose()? };
            kernel_suite::measure(project, name, suite, wish, commit, &mut bench, progress)
        }
        SuiteKind::Command => command_suite::measure(project, name, suite, wish, commit, progress),
        SuiteKind::Trt => trt_suite::measure(project, name, suite, wish, commit, progress),
        SuiteKind::Gpu => gpu_suite::measure(project, name, suite, wish, commit, progress),
    }
}

/// The settings that every measured suite records, whatever measures it.
pub(super) fn settings(protocol: &Protocol, wish: &Wish<'_>) -> BTreeMap<String, Value> {
    let mut settings = BTreeMap::from([
        ("effort".to_owned(), Value::from(wish.effort.word())),
        (FILTER.to_owned(), Value::from(wish.filters.to_vec())),
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_text_that_others_wrote_keeps_a_path_or_a_secret() {
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let machine = Machine::named("m", "CPU");
        let mut run = new_run("theirs", None, machine, Environment::from_facts(BTreeMap::new()));
        run.status = RunStatus::Failed;
        run.reason = Some(format!("it said token {token} at /opt/secret/me"));
        run.quality.reasons = vec!["see /home/jo/x".to_owned()];
        run.config.insert(COMMAND.to_owned(), json!(["./bench", "--token", token]));
        run.autotune = vec![json!({"benchmark": "a", "failures": {"b": "broke in /opt/x"}})];
        let before = Pressure::read();
        let text = serde_json::from_slice::<Value>(&finished(run, &Pressure::read().since(&before)).to_record().2);
        let text = text.expect("a record is JSON").to_string();
        for secret in [token, "/opt", "/home"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        assert!(text.contains("it said token <redacted> at <path>") && text.contains("./bench"), "{text}");
    }
}
