//! The report of a GPU suite: single calls in one more process, or why there are none.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::Utc;

use crate::MeasureError;
use crate::apex_x_report::calls::{self, BothForms, GpuCalls, GpuCallsPlan};
use crate::environment::platform;
use crate::environment::redact::redacted;
use crate::gpu::program::Dtype;
use crate::gpu::settings::{GpuSettings, fp8_unavailable};
use crate::gpu::suite;
use crate::gpu::{GpuError, probe};
use crate::plan::Protocol;
use crate::process::WorkerCommand;
use crate::suite::Observer;
use crate::tensorrt;
use crate::tensorrt::sweep::{self, NumberedCase, Sweep};
use crate::tensorrt::{Reason, ReasonCode};
use sprag_formats::compat::apex_x::autotune::AutotuneSnapshot;
use sprag_formats::compat::apex_x::gpu_launches::{ChosenLaunches, TimedOperation};
use sprag_formats::compat::apex_x::gpu_report::{
    self, Backend, Benchmarks, Calls, EndToEnd, GpuConfig, GpuOutcome, GpuReport, ReportEnvironment, ReportedOperation,
    TensorRt,
};
use sprag_formats::compat::apex_x::report_parts::{CudaDevice, Fp8, RuntimeCaps};
use sprag_model::{Run, RunStatus, ShapeCase};

#[derive(Clone, Debug)]
pub struct GpuReportOptions {
    pub settings: GpuSettings,
    /// As the user wrote them; empty where absent.
    pub engine: String,
    pub plugin: String,
    pub shapes: Vec<String>,
    /// Paths are relative to it.
    pub folder: PathBuf,
}

impl GpuReportOptions {
    fn config(&self) -> GpuConfig {
        let GpuSettings { profile, dtype, warmup, iters, seed, budgets } = self.settings;
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

    fn named(&self, text: &str) -> Option<PathBuf> {
        (!text.is_empty()).then(|| self.folder.join(text))
    }

    /// As in Apex-X, a file that does not exist is not a library.
    fn library(&self) -> Option<PathBuf> {
        self.named(&self.plugin).filter(|path| path.is_file())
    }

    fn time_plugin(&self) -> TensorRt {
        TensorRt::Skipped(if self.library().is_some() { NO_LAYER } else { NO_LIBRARY }.to_owned())
    }

    /// The times of the engine are those of the device.
    fn time_engine(&self) -> TensorRt {
        let Some(path) = self.named(&self.engine) else { return TensorRt::Skipped(NO_ENGINE.to_owned()) };
        let shown = self.engine.clone();
        if !path.is_file() {
            return TensorRt::Skipped(format!("engine_not_found:{shown}"));
        }
        match self.sweep_engine(&path) {
            Ok((calls, mode, work)) => TensorRt::Measured { path: shown, mode: Some(mode), work, calls },
            Err(reason) if reason.code == ReasonCode::EngineIncompatible => {
                TensorRt::Skipped("engine_deserialize_failed".to_owned())
            }
            Err(reason) => TensorRt::Skipped(redacted(&reason.to_string())),
        }
    }

    /// The calls, the mode of `trtexec`, and the images of a call.
    fn sweep_engine(&self, engine: &Path) -> Result<(Calls, String, f64), Reason> {
        let trtexec = tensorrt::find(None)?;
        let shapes = match self.shapes.is_empty() {
            true => ShapeCase::default(),
            false => ShapeCase::parse(&self.shapes.join(";"))
                .map_err(|error| Reason::new(ReasonCode::ShapeOutsideProfile, error.to_string()))?,
        };
        let sweep = Sweep {
            suite: "trt".to_owned(),
            trtexec,
            engine: engine.to_owned(),
            plugin: self.library(),
            cases: vec![NumberedCase { number: 0, shapes }],
            settings: sweep::TimingSettings {
                // Apex-X counts calls, not milliseconds.
                warmup_milliseconds: 0,
                skipped_calls: self.settings.warmup,
                iterations: self.settings.iters,
                duration_seconds: 0,
            },
            time_out: TIME_OUT,
            protocol: Protocol::ordinary(1),
            guard: WorkerCommand::for_this_program(&["guard"]).ok(),
        };
        let result = sweep::measure(&sweep, &mut |_| ())?;
        let mode = result.version.mode().to_owned();
        let case =
            result.cases.into_iter().next().ok_or_else(|| Reason::new(ReasonCode::Failed, "it timed nothing"))?;
        let work = case.batch.map_or(f64::from(self.settings.profile.batch), |batch| batch as f64);
        let processes = case.outcome?;
        let milliseconds = processes.concat().iter().map(|seconds| seconds * 1e3).collect();
        // `trtexec` does not report the memory of TensorRT.
        Ok((Calls { milliseconds, peak_bytes: None }, mode, work))
    }
}

/// The report of a run; or why there is none. Compiled kernels are in `compiled`.
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
                Ok(_) => run.reason.iter().flat_map(|reason| reason.split(':')).next().unwrap_or_default().to_owned(),
                Err(error) => apex_x_word(error).to_owned(),
            };
            Ok(Ok(assembled(options, run, device, GpuOutcome::Skipped(reason), AutotuneSnapshot::default())))
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
    let chosen = ChosenLaunches::from_run(run, |timed| tuned_id(run, timed, &options.settings, effective.dtype));
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
    let benchmarks = benchmarks(&times, options, observer);
    let outcome = benchmarks.map(|benchmarks| GpuOutcome::Measured(Box::new(benchmarks)));
    Ok(outcome.map(|outcome| assembled(options, run, device, outcome, autotune)))
}

fn tuned_id(run: &Run, timed: TimedOperation, settings: &GpuSettings, dtype: Dtype) -> Option<String> {
    suite::tuned_id(&run.suite, &calls::operation(timed, settings).ok()?, dtype).ok()
}

fn benchmarks(times: &GpuCalls, options: &GpuReportOptions, observer: &dyn Observer) -> Result<Benchmarks, String> {
    let timed = |subject: TimedOperation| {
        let calls =
            times.operations.get(&subject).ok_or_else(|| format!("there are no times of `{}`", subject.word()))?;
        let operation = operation(calls);
        if let Some(reason) = &operation.fallback_reason {
            observer.warn(&format!("`{}` ran in its plain form in the report: {reason}", subject.word()));
        }
        Ok::<ReportedOperation, String>(operation)
    };
    let path = timed(TimedOperation::EndToEnd)?;
    let selection = times.selection;
    Ok(Benchmarks {
        tilepack: timed(TimedOperation::TilePack)?,
        tileunpack: timed(TimedOperation::TileUnpack)?,
        fusion_gate: timed(TimedOperation::FusionGate)?,
        tilessm: timed(TimedOperation::Scan)?,
        tilessm_plugin: options.time_plugin(),
        end_to_end: EndToEnd {
            reference: gpu_report::Path { calls: path.reference, selection, fallback_reason: None },
            dispatch: gpu_report::Path { calls: path.dispatch, selection, fallback_reason: path.fallback_reason },
            engine: options.time_engine(),
        },
    })
}

fn operation(calls: &BothForms) -> ReportedOperation {
    let fallback_reason = calls.tuned.as_ref().err().map(|reason| redacted(reason));
    ReportedOperation {
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
    outcome: GpuOutcome,
    autotune: AutotuneSnapshot,
) -> GpuReport {
    let capability = device.as_ref().ok().and_then(capability_of);
    let effective = options.settings.dtype.effective(capability);
    GpuReport {
        timestamp: Utc::now(),
        environment: ReportEnvironment {
            platform: platform(&run.environment.facts),
            caps: RuntimeCaps {
                has_runtime: device.is_ok() && probe::nvrtc().is_ok(),
                cuda: device.map_err(|error| apex_x_word(&error).to_owned()).map(|device| CudaDevice {
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
    let (major, minor) = device.compute_capability.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn apex_x_word(error: &GpuError) -> &'static str {
    match error {
        GpuError::NoDriver => "cuda_unavailable",
        GpuError::NoDevice => "cuda_device_not_found",
        GpuError::OldDriver(_) | GpuError::Init(_) | GpuError::NoCompiler | GpuError::OldCompiler(_) => {
            "cuda_query_failed"
        }
    }
}

/// Apex-X's words for a missing engine and a missing library.
const NO_ENGINE: &str = "missing_trt_engine_path";
const NO_LIBRARY: &str = "missing_trt_plugin_lib";

/// TensorRT runs plugins as layers of an engine only, and its own libraries are not linked.
const NO_LAYER: &str = "plugin_is_timed_within_an_engine";
/// As long as in a suite.
const TIME_OUT: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absences_have_the_words_of_the_seed() {
        let check = |error: GpuError, word: &str| assert_eq!(apex_x_word(&error), word);
        check(GpuError::NoDriver, "cuda_unavailable");
        check(GpuError::NoDevice, "cuda_device_not_found");
        check(GpuError::OldDriver("cuInit"), "cuda_query_failed");
        check(GpuError::Init("CUDA_ERROR_UNKNOWN".to_owned()), "cuda_query_failed");
    }

    #[test]
    fn what_is_not_there_has_the_words_of_the_seed() {
        let options = |engine: &str, plugin: &str| GpuReportOptions {
            settings: GpuSettings::FIXED,
            engine: engine.to_owned(),
            plugin: plugin.to_owned(),
            shapes: Vec::new(),
            folder: "/nonexistent".into(),
        };
        let none = options("", "p.so");
        assert_eq!(none.time_engine(), TensorRt::Skipped("missing_trt_engine_path".to_owned()));
        assert_eq!(none.time_plugin(), TensorRt::Skipped("missing_trt_plugin_lib".to_owned()));
        let file = std::env::current_exe().expect("this program has a path");
        let gone = options("m.plan", &file.to_string_lossy());
        assert_eq!(gone.time_engine(), TensorRt::Skipped("engine_not_found:m.plan".to_owned()));
        assert_eq!(gone.time_plugin(), TensorRt::Skipped("plugin_is_timed_within_an_engine".to_owned()));
    }
}
