//! A suite of the kind `trt`: an engine of TensorRT over shapes, timed by `trtexec`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::environment::redact::redacted;
use crate::environment::{self, platform};
use crate::gpu;
use crate::gpu::probe::{self, DeviceInfo};
use crate::plan::Protocol;
use crate::process::WorkerCommand;
use crate::suite::description::{
    self, MeasureOptions, Observer, ProjectContext, SuiteError, SuiteOutcome, SuiteSpec, TrtSuite,
};
use crate::tensorrt::once::{self, EngineFile, Layer, LayerProfile};
use crate::tensorrt::sweep::{self, CaseResult, NumberedCase, Sweep, SweepResult};
use crate::tensorrt::{self, benchmark};
use crate::tensorrt::{Reason, ReasonCode};
use sprag_base::files::{WriteError, write_atomic};
use sprag_base::number::percent;
use sprag_base::{json, text};
use sprag_formats::compat::apex_x::report_parts::{CudaDevice, Fp8, RuntimeCaps};
use sprag_formats::compat::apex_x::trt_report::{
    CaseMetrics, CaseOutcome, SweepCase, SweepConfig, SweepOutcome, SweepReport,
};
use sprag_model::{Environment, Run, RunStatus};

const VERSION: &str = "tensorrt";

/// Digits of the digest of an engine in its benchmarks.
const SHORT_DIGEST: usize = 16;

/// Measures the suite, or gives a run with its reason. An engine is not divided: one of several shards measures all of it.
pub(super) fn measure(
    context: &ProjectContext<'_>,
    suite: &SuiteSpec,
    plan: &TrtSuite,
    options: &MeasureOptions<'_>,
    observer: &dyn Observer,
) -> Result<SuiteOutcome, SuiteError> {
    let name = suite.name.as_str();
    if let Some(shard) = options.shard.filter(|shard| !shard.holds_suite(name)) {
        return Ok(SuiteOutcome::EmptyShard(shard));
    }
    let cases = selected(suite, options, &plan.cases);
    if cases.is_empty() {
        return Ok(SuiteOutcome::Nothing(Vec::new()));
    }
    let protocol = Protocol { seed: plan.seed, ..options.effort.protocol(suite.processes) };
    let device = probe::device();
    let machine = description::machine(context, device.as_ref().ok().map(|one| one.name.as_str()));
    let environment = environment::environment(&facts(device.as_ref().ok()));
    let mut run = description::new_run(name, context.commit.clone(), machine, environment);
    run.config = config(plan, &protocol, options);
    let swept = sweep_engine(name, plan, cases.clone(), protocol, observer, &mut run);
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
                    run.reason = Some(format!("{reason}; name shapes it accepts, for example with `--shape-case`"));
                }
                _ => run.quality = description::quality(&run, result.reasons.clone(), None),
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
            if let Some(folder) = &plan.layers_folder {
                time_layers(&sweep, &result, folder, &mut run, observer);
            }
            let cases = result.cases.iter().map(|case| sweep_case(case, &result)).collect();
            SweepOutcome::Measured(cases)
        }
        Err(reason) => {
            run.reason = Some(reason.to_string());
            let text = redacted(&reason.to_string());
            // A code means something missing on this machine or in the user's files; without one it is a fault.
            if reason.code == ReasonCode::Failed {
                run.status = RunStatus::Failed;
                let failed = |case: &NumberedCase| reported(case, CaseOutcome::Failed(text.clone()));
                SweepOutcome::Measured(cases.iter().map(failed).collect())
            } else {
                run.status = RunStatus::Skipped;
                SweepOutcome::Skipped(text)
            }
        }
    };
    let report = report(plan, &run, device.ok(), outcome);
    Ok(SuiteOutcome::Sweep(Box::new(run), Box::new(report)))
}

fn selected(suite: &SuiteSpec, options: &MeasureOptions<'_>, cases: &[NumberedCase]) -> Vec<NumberedCase> {
    let wanted = |case: &&NumberedCase| {
        let id = benchmark(&suite.name, &case.shapes).id();
        description::is_selected(&id, &suite.include) && description::is_selected(&id, options.filters)
    };
    cases.iter().filter(wanted).cloned().collect()
}

fn sweep_engine(
    name: &str,
    plan: &TrtSuite,
    cases: Vec<NumberedCase>,
    protocol: Protocol,
    observer: &dyn Observer,
    run: &mut Run,
) -> Result<(Sweep, SweepResult, EngineFile), Reason> {
    let trtexec = tensorrt::find(plan.trtexec.as_deref())?;
    let engine = once::identify(&plan.engine)?;
    run.config.insert("engine_sha256".to_owned(), Value::from(engine.sha256.clone()));
    let sweep = Sweep {
        suite: name.to_owned(),
        trtexec,
        engine: plan.engine.clone(),
        plugin: plan.plugin.clone(),
        cases,
        settings: plan.settings,
        time_out: plan.time_out,
        protocol,
        guard: WorkerCommand::for_this_program(&["guard"]).ok(),
    };
    let processes = sweep.protocol.processes;
    let what = text::count(sweep.cases.len(), "case");
    let extent = if processes == 1 { "1 process".to_owned() } else { format!("{processes} processes") };
    let steps = u64::from(processes) * sweep.cases.len() as u64;
    observer.begin(&format!("suite {name}: {what} of `{}` in {extent} each", engine.name), steps);
    let result = sweep::measure(&sweep, &mut |done| observer.step(done))?;
    Ok((sweep, result, engine))
}

/// The facts of a GPU suite but for the compiler.
fn facts(device: Option<&DeviceInfo>) -> BTreeMap<String, String> {
    device.and_then(|device| gpu::facts::describe(device).ok()).unwrap_or_default()
}

fn config(plan: &TrtSuite, protocol: &Protocol, options: &MeasureOptions<'_>) -> BTreeMap<String, Value> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut config = description::settings(protocol, options);
    config.extend([
        // Only the last name of a path, as the rest depends on the machine.
        ("engine".to_owned(), Value::from(name(&plan.engine))),
        ("shape_cases".to_owned(), Value::from(plan.shape_cases.clone())),
        ("warmup_milliseconds".to_owned(), Value::from(plan.settings.warmup_milliseconds)),
        ("skipped_calls".to_owned(), Value::from(plan.settings.skipped_calls)),
        ("iterations".to_owned(), Value::from(plan.settings.iterations)),
        ("duration_seconds".to_owned(), Value::from(plan.settings.duration_seconds)),
        ("timeout_seconds".to_owned(), Value::from(plan.time_out.as_secs())),
    ]);
    config.extend(plan.plugin.as_ref().map(|path| ("plugin_lib".to_owned(), Value::from(name(path)))));
    config
}

fn sweep_case(case: &CaseResult, result: &SweepResult) -> SweepCase {
    let metrics = |processes: &Vec<Vec<f64>>| {
        let milliseconds: Vec<f64> = processes.concat().iter().map(|seconds| seconds * 1e3).collect();
        CaseMetrics::from_samples(&milliseconds, case.batch)
    };
    let outcome = match &case.outcome {
        Ok(processes) => match metrics(processes) {
            Some(metrics) => CaseOutcome::Ok { mode: result.version.mode().to_owned(), metrics },
            None => CaseOutcome::Failed("it gave no times".to_owned()),
        },
        // The engine works but does not accept these shapes.
        Err(reason) if reason.code == ReasonCode::ShapeOutsideProfile => {
            CaseOutcome::Skipped(redacted(&reason.to_string()))
        }
        Err(reason) => CaseOutcome::Failed(redacted(&reason.to_string())),
    };
    reported(&case.case, outcome)
}

fn reported(case: &NumberedCase, outcome: CaseOutcome) -> SweepCase {
    SweepCase { label: case.label(), input_shapes: case.shapes.specs(), outcome }
}

fn report(plan: &TrtSuite, run: &Run, device: Option<DeviceInfo>, outcome: SweepOutcome) -> SweepReport {
    let cuda = device.ok_or_else(|| ReasonCode::CudaUnavailable.word().to_owned());
    let cuda =
        cuda.map(|one| CudaDevice { count: one.count, name: one.name, compute_capability: one.compute_capability });
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

pub(super) const SLOWEST_LAYER: &str = "slowest_layer";

/// The most characters of a recorded layer name; fused layers have the names of all their parts.
const MOST_NAME: usize = 180;

/// Times the layers of each measured case, writes a file a case to `folder`, and records the slowest. Failures only warn.
fn time_layers(sweep: &Sweep, result: &SweepResult, folder: &Path, run: &mut Run, observer: &dyn Observer) {
    observer.begin(&format!("suite {}: the layers of each case", sweep.suite), result.cases.len() as u64);
    for (place, (case, measurement)) in result.recorded().zip(&mut run.measurements).enumerate() {
        observer.step(place as u64);
        if case.outcome.is_err() {
            continue;
        }
        let label = case.case.label();
        match sweep::profile(sweep, result.version, &case.case) {
            Ok(profile) => {
                let slowest = profile.slowest().map(layer_text);
                measurement.attributes.extend(slowest.map(|text| (SLOWEST_LAYER.to_owned(), text)));
                if let Err(error) = write(&profile, &label, folder) {
                    observer.warn(&format!("cannot write the layers of {label}: {error}"));
                }
            }
            Err(reason) => observer.warn(&format!("no layer times of {label}: {reason}")),
        }
    }
}

fn layer_text(layer: &Layer) -> String {
    let mut name: String = layer.name.chars().take(MOST_NAME).collect();
    if name.len() < layer.name.len() {
        name.push_str("...");
    }
    format!("{name} ({})", percent(layer.share, 1))
}

fn write(profile: &LayerProfile, label: &str, folder: &Path) -> Result<(), WriteError> {
    let text = json::to_pretty(&profile.to_json(label));
    write_atomic(&folder.join(format!("{label}.layers.json")), text.as_bytes())?;
    if let Some(information) = &profile.information {
        write_atomic(&folder.join(format!("{label}.layer-information.json")), information)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_layer_is_cut() {
        let layer = |name: &str| Layer { name: name.to_owned(), mean_s: 1.0, median_s: None, share: 0.4 };
        assert_eq!(layer_text(&layer("/stem/Conv + /stem/Relu")), "/stem/Conv + /stem/Relu (40.0 %)");
        assert_eq!(layer_text(&layer(&"é".repeat(180))), format!("{} (40.0 %)", "é".repeat(180)));
        assert_eq!(layer_text(&layer(&"é".repeat(500))), format!("{}... (40.0 %)", "é".repeat(180)));
    }
}
