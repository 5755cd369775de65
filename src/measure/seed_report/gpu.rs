//! The report of a GPU suite, out of what its run came to: single calls in one more process, or why there are none.

use std::path::PathBuf;

use chrono::Utc;

use super::calls::{self, BothForms, GpuCalls, GpuCallsPlan};
use super::engine::AskedEngine;
use crate::MeasureError;
use crate::environment::{platform, redact::redacted};
use crate::gpu::precision::fp8_unavailable;
use crate::gpu::probe::{self, GpuError};
use crate::gpu::program::Dtype;
use crate::gpu::settings::Settings;
use crate::gpu::suite;
use crate::process::WorkerCommand;
use crate::suite::observer::Observer;
use sprag_formats::compat::apex_x::gpu_launches::{Chosen, TimedOperation};
use sprag_formats::compat::apex_x::gpu_report::{
    self, Backend, Benchmarks, EndToEnd, Environment, GpuConfig, GpuReport, Operation, Outcome,
};
use sprag_formats::compat::apex_x::report_parts::{CudaDevice, Fp8, RuntimeCaps};
use sprag_model::autotune::Snapshot;
use sprag_model::run::{Run, RunStatus};

#[derive(Clone, Debug)]
pub struct GpuReportOptions {
    pub settings: Settings,
    /// The engine as the user wrote it; empty where there is none.
    pub engine: String,
    /// The library of plugins, likewise.
    pub plugin: String,
    pub shapes: Vec<String>,
    /// Where the user is: paths count from there.
    pub folder: PathBuf,
}

impl GpuReportOptions {
    fn config(&self) -> GpuConfig {
        let Settings { profile, dtype, warmup, iters, seed, budgets } = self.settings;
        GpuConfig {
            batch: profile.batch.into(),
            channels: profile.channels.into(),
            height: profile.height.into(),
            width: profile.width.into(),
            tile_size: profile.tile_size.into(),
            kmax: profile.kmax.into(),
            steps: profile.scan.steps.into(),
            warmup: warmup.into(),
            iters: iters.into(),
            seed,
            dtype: dtype.word().to_owned(),
            budget_b1: budgets.b1,
            budget_b2: budgets.b2,
            budget_total: budgets.total,
            trt_engine_path: self.engine.clone(),
            trt_plugin_lib: self.plugin.clone(),
            trt_input_shapes: self.shapes.clone(),
        }
    }

    fn engine(&self) -> AskedEngine {
        let named = |text: &str| (!text.is_empty()).then(|| self.folder.join(text));
        let Settings { warmup, iters, .. } = self.settings;
        AskedEngine {
            engine: named(&self.engine).map(|path| (path, self.engine.clone())),
            // As in the seed, a library that is not there is none.
            plugin: named(&self.plugin).filter(|path| path.is_file()),
            shapes: self.shapes.clone(),
            warmup,
            iters,
            batch: self.settings.profile.batch,
        }
    }
}

/// The report of a run; or why there is none. Compiled kernels lie in `compiled`.
pub fn gpu_report(
    options: &GpuReportOptions,
    run: &Run,
    compiled: Option<PathBuf>,
    observer: &dyn Observer,
) -> Result<Result<GpuReport, String>, MeasureError> {
    let device = probe::device();
    match run.status {
        RunStatus::Skipped => {
            let reason = match &device {
                Ok(_) => code(run.reason.as_deref().unwrap_or_default()).to_owned(),
                Err(error) => seed_word(error).to_owned(),
            };
            Ok(Ok(assembled(options, run, device, Outcome::Skipped(reason), Snapshot::default())))
        }
        RunStatus::Failed => Ok(Err("the suite gave no times for the report".to_owned())),
        RunStatus::Ok => measured(options, run, device, compiled, observer),
    }
}

fn measured(
    options: &GpuReportOptions,
    run: &Run,
    device: Result<probe::DeviceInfo, GpuError>,
    compiled: Option<PathBuf>,
    observer: &dyn Observer,
) -> Result<Result<GpuReport, String>, MeasureError> {
    let effective = options.settings.dtype.effective(device.as_ref().ok().and_then(capability_of));
    let chosen = Chosen::from_run(run, |timed| tuned_id(run, timed, &options.settings, effective.dtype));
    let plan = GpuCallsPlan {
        settings: options.settings,
        dtype: effective.dtype,
        compiled,
        configurations: chosen.configurations.clone(),
    };
    let times = match calls::measure(&WorkerCommand::for_task("gpu-calls")?, &plan) {
        Ok(times) => times,
        Err(error) => return Ok(Err(redacted(&error.to_string()))),
    };
    let tuned = times.operations.iter().filter_map(|(timed, calls)| Some((*timed, calls.tuned.as_ref().ok()?)));
    let autotune = chosen.snapshot(tuned, &options.config(), effective.word());
    let benchmarks = benchmarks(&times, &options.engine(), observer);
    let outcome = benchmarks.map(|benchmarks| Outcome::Measured(Box::new(benchmarks)));
    Ok(outcome.map(|outcome| assembled(options, run, device, outcome, autotune)))
}

fn tuned_id(run: &Run, timed: TimedOperation, settings: &Settings, dtype: Dtype) -> Option<String> {
    suite::tuned_id(&run.suite, &calls::operation(timed, settings).ok()?, dtype).ok()
}

fn benchmarks(times: &GpuCalls, engine: &AskedEngine, observer: &dyn Observer) -> Result<Benchmarks, String> {
    let timed = |subject: TimedOperation| {
        let calls =
            times.operations.get(&subject).ok_or_else(|| format!("there are no times of `{}`", subject.word()))?;
        let operation = operation(calls);
        if let Some(reason) = &operation.fallback_reason {
            observer.warn(&format!("`{}` ran in its plain form in the report: {reason}", subject.word()));
        }
        Ok::<Operation, String>(operation)
    };
    let path = timed(TimedOperation::EndToEnd)?;
    let selection = times.selection;
    Ok(Benchmarks {
        tilepack: timed(TimedOperation::TilePack)?,
        tileunpack: timed(TimedOperation::TileUnpack)?,
        fusion_gate: timed(TimedOperation::FusionGate)?,
        tilessm: timed(TimedOperation::Scan)?,
        tilessm_plugin: engine.plugin(),
        end_to_end: EndToEnd {
            reference: gpu_report::Path { calls: path.reference, selection, fallback_reason: None },
            dispatch: gpu_report::Path { calls: path.dispatch, selection, fallback_reason: path.fallback_reason },
            engine: engine.measure(),
        },
    })
}

fn operation(calls: &BothForms) -> Operation {
    let fallback_reason = calls.tuned.as_ref().err().map(|reason| redacted(reason));
    Operation {
        reference: calls.reference.clone(),
        dispatch: calls.dispatch.clone(),
        backend: if fallback_reason.is_none() { Backend::Cuda } else { Backend::Reference },
        fallback_reason,
    }
}

fn assembled(
    options: &GpuReportOptions,
    run: &Run,
    device: Result<probe::DeviceInfo, GpuError>,
    outcome: Outcome,
    autotune: Snapshot,
) -> GpuReport {
    let capability = device.as_ref().ok().and_then(capability_of);
    let effective = options.settings.dtype.effective(capability);
    GpuReport {
        timestamp: Utc::now(),
        environment: Environment {
            platform: platform(&run.environment.facts),
            caps: RuntimeCaps {
                has_runtime: device.is_ok() && probe::nvrtc().is_ok(),
                cuda: device.map_err(|error| seed_word(&error).to_owned()).map(|device| CudaDevice {
                    count: device.count,
                    name: device.name,
                    compute_capability: device.compute_capability,
                }),
                fp8: fp8_unavailable(capability).map_or(Fp8::Available, |reason| Fp8::Unavailable(reason.to_owned())),
            },
            requested_dtype: options.settings.dtype.word().to_owned(),
            effective_dtype: effective.word().to_owned(),
            fp8_fallback_reason: effective.fallback_reason.map(str::to_owned),
        },
        config: options.config(),
        outcome,
        autotune,
    }
}

fn capability_of(device: &probe::DeviceInfo) -> Option<(u32, u32)> {
    capability(&device.compute_capability)
}

fn seed_word(error: &GpuError) -> &'static str {
    match error {
        GpuError::NoDriver => "cuda_unavailable",
        GpuError::NoDevice => "cuda_device_not_found",
        GpuError::OldDriver(_) | GpuError::Init(_) | GpuError::NoCompiler | GpuError::OldCompiler(_) => {
            "cuda_query_failed"
        }
    }
}

fn code(reason: &str) -> &str {
    reason.split(':').next().unwrap_or(reason)
}

/// A compute capability such as `9.0` as two numbers.
fn capability(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absences_have_the_words_of_the_seed() {
        let check = |error: GpuError, word: &str| assert_eq!(seed_word(&error), word);
        check(GpuError::NoDriver, "cuda_unavailable");
        check(GpuError::NoDevice, "cuda_device_not_found");
        check(GpuError::OldDriver("cuInit"), "cuda_query_failed");
        check(GpuError::Init("CUDA_ERROR_UNKNOWN".to_owned()), "cuda_query_failed");
        assert_eq!(code("nvrtc_not_found: no compiler"), "nvrtc_not_found");
        assert_eq!(code(""), "");
    }

    #[test]
    fn a_capability_is_two_numbers() {
        assert_eq!(capability("10.3"), Some((10, 3)));
        assert_eq!(capability("9"), None);
        assert_eq!(capability("a.b"), None);
    }
}
