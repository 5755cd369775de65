//! Suites: from a description to a finished run with commit, machine, environment and measurements.
//!
//! The caller provides what needs git or the command line: the commit, its program, the configurations of earlier runs.

pub mod command;
pub mod description;
pub mod gpu;
pub mod kernels;
mod trt;

pub use crate::command::suite::CommandSettings;
pub use description::{CommitProgram, CudaSuite, Effort, Extent, GpuSuite, MeasureOptions};
pub use description::{
    Observer, ProjectContext, SuiteError, SuiteOutcome, SuiteSpec, SuiteSubject, TrtSuite, Work, built_from_fault,
    is_ours,
};
use serde_json::Value;

use crate::cpu;
use crate::environment::pressure::{self, Pressure, PressureChange};
use crate::environment::redact::{redacted, redacted_arguments, without_secrets};
use crate::suite::gpu::DeviceSuite;
use crate::suite::kernels::KernelBench;
use crate::suite::trt::SLOWEST_LAYER;
use sprag_model::{Environment, Run, RunStatus};

/// Measures a suite. A failure gives a run with its reason.
pub fn measure(
    context: &ProjectContext<'_>,
    suite: &SuiteSpec,
    options: &MeasureOptions<'_>,
    subject: SuiteSubject<'_>,
    observer: &dyn Observer,
) -> Result<SuiteOutcome, SuiteError> {
    let before = Pressure::read();
    let program = match subject {
        SuiteSubject::Program(program) => Some(program),
        SuiteSubject::WorkingTree | SuiteSubject::Checkout(_) => None,
    };
    let outcome = match &suite.work {
        Work::Cpu => {
            let mut bench = KernelBench { workloads: cpu::workloads(&suite.name)?, device: None, program };
            kernels::measure(context, suite, options, &mut bench, observer)?
        }
        Work::Gpu(one) => gpu::measure(context, suite, DeviceSuite::Gpu(one), (options, program), observer)?,
        Work::Cuda(one) => gpu::measure(context, suite, DeviceSuite::Cuda(one), (options, None), observer)?,
        Work::Command(settings) => command::measure(context, suite, settings, options, subject, observer)?,
        Work::Trt(plan) => trt::measure(context, suite, plan, options, observer)?,
    };
    let finished = |run: Box<Run>| Box::new(finished(*run, &Pressure::read().since(&before)));
    Ok(match outcome {
        SuiteOutcome::Run(run) => SuiteOutcome::Run(finished(run)),
        SuiteOutcome::Sweep(run, report) => SuiteOutcome::Sweep(finished(run), report),
        outcome => outcome,
    })
}

/// The run with the pressure of the rest of the machine as facts and reasons, and without paths and secrets in texts.
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
    if let Some(command) = run.config.get_mut(description::COMMAND).and_then(Value::as_array_mut) {
        let arguments: Vec<&str> = command.iter().filter_map(Value::as_str).collect();
        *command = redacted_arguments(&arguments).into_iter().map(Value::from).collect();
    }
    run
}

fn redact(value: &mut Value) {
    match value {
        Value::String(text) => *text = redacted(text),
        Value::Array(values) => values.iter_mut().for_each(redact),
        Value::Object(fields) => fields.values_mut().for_each(redact),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use sprag_model::Machine;

    use super::*;

    #[test]
    fn foreign_texts_lose_paths_and_secrets() {
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let machine = Machine::named("m", "CPU");
        let mut run = description::new_run("theirs", None, machine, Environment::from_facts(BTreeMap::new()));
        run.status = RunStatus::Failed;
        run.reason = Some(format!("it said token {token} at /opt/secret/me"));
        run.quality.reasons = vec!["see /home/jo/x".to_owned()];
        run.config.insert(description::COMMAND.to_owned(), json!(["./bench", "--token", token]));
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
