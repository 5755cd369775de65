//! A suite of the kind `trt`: an engine of TensorRT over shapes, timed by `trtexec`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::progress::Progress;
use super::project::Project;
use super::seed_report::platform;
use super::suites::{self, Measured, Wish};
use super::trt_options::TrtPlan;
use super::{kernel_suite, trt_profile};
use crate::config::Suite;
use sprag_formats::compat::apex_x::runtime_caps::{CudaDevice, Fp8, RuntimeCaps};
use sprag_formats::compat::apex_x::trt_report::{
    CaseMetrics, CaseOutcome, SweepCase, SweepConfig, SweepOutcome, SweepReport,
};
use sprag_measure::environment::redact::redacted;
use sprag_measure::gpu::probe::{self, Device};
use sprag_measure::plan::Protocol;
use sprag_measure::process::WorkerCommand;
use sprag_measure::tensorrt::engine::{self, EngineFile};
use sprag_measure::tensorrt::measurements::benchmark;
use sprag_measure::tensorrt::reason::{Code, Reason};
use sprag_measure::tensorrt::sweep::{self, CaseResult, NumberedCase, Sweep, SweepResult};
use sprag_measure::{environment, gpu, tensorrt};
use sprag_model::commit::Commit;
use sprag_model::environment::Environment;
use sprag_model::run::{Run, RunStatus};

/// The fact that names the version of TensorRT.
const VERSION: &str = "tensorrt";

/// Digits of an engine's digest that each of its benchmarks bears.
const SHORT_DIGEST: usize = 16;

/// Measures the suite. An engine is not divided, so one of several shards measures all of it.
///
/// # Errors
/// When the plan cannot be. What cannot be measured gives a run that says why.
pub(super) fn measure(
    project: &Project,
    name: &str,
    settings: &Suite,
    wish: &Wish<'_>,
    commit: Option<Commit>,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    if let Some(shard) = wish.shard.filter(|shard| !shard.holds_suite(name)) {
        return Ok(Measured::EmptyShare(shard));
    }
    let plan = wish.trt.plan(project, name, settings)?;
    let cases = selected(name, settings, wish, &plan.cases);
    if cases.is_empty() {
        return Ok(Measured::Nothing);
    }
    let protocol = Protocol { seed: plan.seed, ..wish.effort.protocol(settings.processes()) };
    let device = probe::device();
    let machine =
        environment::machine(project.machine_name().as_deref(), device.as_ref().ok().map(|one| one.name.as_str()));
    let mut run = suites::new_run(name, commit, machine, environment::environment(&facts(device.as_ref().ok())));
    run.config = config(&plan, settings, &protocol, wish);
    let swept = sweep_engine(name, settings, &plan, cases.clone(), protocol, progress, &mut run);
    let outcome = match swept {
        Ok((sweep, result, engine)) => {
            let mut facts = std::mem::take(&mut run.environment.facts);
            facts.insert(VERSION.to_owned(), result.version.to_string());
            run.environment = Environment::from_facts(facts);
            run.config.insert("stop_reason".to_owned(), Value::from(result.stop.word()));
            run.config.insert("workers".to_owned(), Value::from(result.processes));
            run.measurements = result.measurements(&sweep);
            match result.cases.iter().find_map(CaseResult::left_out) {
                Some(reason) if run.measurements.is_empty() => {
                    run.status = RunStatus::Skipped;
                    run.reason = Some(format!("{reason}; name shapes that it takes, as with `--shape-case`"));
                }
                _ => run.quality = kernel_suite::quality(&run, result.reasons.clone(), None),
            }
            for measurement in &mut run.measurements {
                let digest = engine.sha256.get(..SHORT_DIGEST).unwrap_or_default().to_owned();
                measurement.attributes.extend([
                    ("mode".to_owned(), result.version.mode().to_owned()),
                    ("tensorrt".to_owned(), result.version.to_string()),
                    ("engine".to_owned(), engine.name.clone()),
                    ("engine_digest".to_owned(), digest),
                ]);
            }
            if let Some(folder) = &wish.trt.profile {
                trt_profile::profile(&sweep, &result, folder, &mut run, progress);
            }
            let cases = result.cases.iter().map(|case| sweep_case(case, &result)).collect();
            SweepOutcome::Measured(cases)
        }
        Err(reason) => {
            run.reason = Some(reason.to_string());
            let told = redacted(&reason.to_string());
            // What has a code is a lack of this machine or of the user's files, what has none is a fault.
            if reason.code == Code::Failed {
                run.status = RunStatus::Failed;
                let failed = |case: &NumberedCase| reported(case, CaseOutcome::Failed(told.clone()));
                SweepOutcome::Measured(cases.iter().map(failed).collect())
            } else {
                run.status = RunStatus::Skipped;
                SweepOutcome::Skipped(told)
            }
        }
    };
    let report = report(&plan, &run, device.ok(), outcome);
    Ok(Measured::Sweep(Box::new(run), Box::new(report)))
}

/// The cases that the configuration and the user's filters leave.
fn selected(name: &str, settings: &Suite, wish: &Wish<'_>, cases: &[NumberedCase]) -> Vec<NumberedCase> {
    let among = |texts: &[String], id: &str| texts.is_empty() || texts.iter().any(|text| id.contains(text.as_str()));
    let wanted = |case: &&NumberedCase| {
        let id = benchmark(name, &case.shapes).id();
        among(&settings.include, &id) && among(wish.filters, &id)
    };
    cases.iter().filter(wanted).cloned().collect()
}

/// Finds what is needed and times the engine.
fn sweep_engine(
    name: &str,
    settings: &Suite,
    plan: &TrtPlan,
    cases: Vec<NumberedCase>,
    protocol: Protocol,
    progress: &Progress,
    run: &mut Run,
) -> Result<(Sweep, SweepResult, EngineFile), Reason> {
    let trtexec = tensorrt::find(plan.trtexec.as_deref())?;
    let engine = engine::identify(&plan.engine)?;
    run.config.insert("engine_sha256".to_owned(), Value::from(engine.sha256.clone()));
    let guard = std::env::current_exe().ok();
    let sweep = Sweep {
        suite: name.to_owned(),
        trtexec,
        engine: plan.engine.clone(),
        plugin: plan.plugin.clone(),
        cases,
        settings: plan.settings,
        time_out: Duration::from_secs(settings.timeout_seconds()),
        protocol,
        guard: guard.map(|program| WorkerCommand { program, arguments: vec!["guard".to_owned()] }),
    };
    let processes = sweep.protocol.processes;
    let what = super::text::count(sweep.cases.len(), "case");
    let extent = if processes == 1 { "1 process".to_owned() } else { format!("{processes} processes") };
    let steps = u64::from(processes) * sweep.cases.len() as u64;
    progress.begin(&format!("suite {name}: {what} of `{}` in {extent} each", engine.name), steps);
    let result = sweep::measure(&sweep, &mut |done| progress.step(done))?;
    Ok((sweep, result, engine))
}

/// What a GPU suite records of the device, too, but for the compiler, which has no part here.
fn facts(device: Option<&Device>) -> BTreeMap<String, String> {
    let described = device.and_then(|device| gpu::facts::describe(device).ok());
    described.map(|description| description.facts()).unwrap_or_default()
}

fn config(plan: &TrtPlan, settings: &Suite, protocol: &Protocol, wish: &Wish<'_>) -> BTreeMap<String, Value> {
    let name = |path: &std::path::Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut config = suites::settings(protocol, wish);
    config.extend([
        // Of paths the last name alone: the rest is of this machine.
        ("engine".to_owned(), Value::from(name(&plan.engine))),
        ("shape_cases".to_owned(), Value::from(plan.shape_cases.clone())),
        ("warmup_milliseconds".to_owned(), Value::from(plan.settings.warmup_milliseconds)),
        ("skipped_calls".to_owned(), Value::from(plan.settings.skipped_calls)),
        ("iterations".to_owned(), Value::from(plan.settings.iterations)),
        ("duration_seconds".to_owned(), Value::from(plan.settings.duration_seconds)),
        ("timeout_seconds".to_owned(), Value::from(settings.timeout_seconds())),
    ]);
    config.extend(plan.plugin.as_ref().map(|path| ("plugin_lib".to_owned(), Value::from(name(path)))));
    config
}

fn sweep_case(case: &CaseResult, result: &SweepResult) -> SweepCase {
    let metrics = |processes: &Vec<Vec<f64>>| {
        let milliseconds: Vec<f64> = processes.concat().iter().map(|seconds| seconds * 1e3).collect();
        CaseMetrics::of(&milliseconds, case.batch)
    };
    let outcome = match &case.outcome {
        Ok(processes) => match metrics(processes) {
            Some(metrics) => CaseOutcome::Ok { mode: result.version.mode().to_owned(), metrics },
            None => CaseOutcome::Failed("it gave no times".to_owned()),
        },
        // The engine works, it only does not take these shapes.
        Err(reason) if reason.code == Code::ShapeOutsideProfile => CaseOutcome::Skipped(redacted(&reason.to_string())),
        Err(reason) => CaseOutcome::Failed(redacted(&reason.to_string())),
    };
    reported(&case.case, outcome)
}

fn reported(case: &NumberedCase, outcome: CaseOutcome) -> SweepCase {
    SweepCase { label: case.label(), input_shapes: case.shapes.specs(), outcome }
}

fn report(plan: &TrtPlan, run: &Run, device: Option<Device>, outcome: SweepOutcome) -> SweepReport {
    let cuda = device.ok_or_else(|| Code::CudaUnavailable.word().to_owned());
    let cuda = cuda.map(|one| CudaDevice {
        count: one.count,
        name: one.name,
        compute_capability: Some(one.compute_capability),
    });
    SweepReport {
        timestamp: chrono::Utc::now(),
        platform: platform(&run.environment.facts),
        caps: RuntimeCaps { cuda, fp8: Fp8::NotUsed, has_runtime: run.environment.facts.contains_key(VERSION) },
        config: SweepConfig {
            trt_engine_path: plan.engine_text.clone(),
            shape_cases: plan.shape_cases.clone(),
            warmup: plan.settings.skipped_calls,
            iters: plan.settings.iterations,
            seed: plan.seed,
        },
        outcome,
    }
}
