//! The report of Apex-X's GPU suite, `apex_x_gpu_benchmark`, schema version 1.
//!
//! One sample is a single call with a wait for the device after it, timed by the host. Fields that name Python, torch or
//! Triton hold null where their type allows it, else `none`, and what they say of availability is `false`. The keys of
//! the benchmarks keep Apex-X's names, so that its comparisons find them: `torch_reference` and `torch_eager` are our
//! plain kernels, `triton_dispatch` and `torch_triton_fastpath` our tuned ones, whose backend is called `cuda`.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::autotune::AutotuneSnapshot;
use super::report_parts::{CallSummary, RuntimeCaps};
use sprag_base::json;

pub const SUITE: &str = "apex_x_gpu_benchmark";

pub const SCHEMA_VERSION: u64 = 1;

#[derive(Clone, Debug, PartialEq)]
pub struct GpuReport {
    pub timestamp: DateTime<Utc>,
    pub environment: ReportEnvironment,
    pub config: GpuConfig,
    pub outcome: GpuOutcome,
    pub autotune: AutotuneSnapshot,
}

#[derive(Clone, Debug, PartialEq)]
pub enum GpuOutcome {
    /// For this reason, such as `cuda_unavailable`.
    Skipped(String),
    Measured(Box<Benchmarks>),
}

impl GpuReport {
    /// # Errors
    /// Names the benchmark that has no times, or one that is not finite.
    pub fn to_value(&self) -> Result<Value, String> {
        let (status, reason, benchmarks) = match &self.outcome {
            GpuOutcome::Skipped(reason) => ("skipped", Some(reason), json!({})),
            GpuOutcome::Measured(benchmarks) => ("ok", None, benchmarks.to_json(&self.config)?),
        };
        let mut report = json!({
            "schema_version": SCHEMA_VERSION,
            "suite": SUITE,
            "timestamp_utc": self.timestamp.to_rfc3339_opts(SecondsFormat::Micros, false),
            "environment": self.environment.to_json(),
            "config": self.config,
            "status": status,
            "benchmarks": benchmarks,
            "triton_autotune": self.autotune,
        });
        if let Some(reason) = reason {
            report["reason"] = json!(reason);
        }
        Ok(report)
    }

    /// The text of the report: keys sorted, two spaces a level, one line feed at the end.
    pub fn to_json(&self) -> Result<String, String> {
        Ok(json::to_pretty(&self.to_value()?))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReportEnvironment {
    /// Operating system, its release, architecture and C library, joined as Python joins them.
    pub platform: String,
    pub caps: RuntimeCaps,
    /// Such as `fp16`.
    pub requested_dtype: String,
    /// The element type that ran, such as `float16`.
    pub effective_dtype: String,
    /// Why requested 8-bit elements did not run.
    pub fp8_fallback_reason: Option<String>,
}

impl ReportEnvironment {
    fn to_json(&self) -> Value {
        let fp8_requested = self.requested_dtype == "fp8";
        json!({
            "python": "none",
            "torch": "none",
            "platform": self.platform,
            "device": if self.caps.cuda.is_ok() { "cuda" } else { "cpu" },
            "dtype": self.effective_dtype,
            "requested_dtype": self.requested_dtype,
            "effective_dtype": self.effective_dtype,
            "fp8_requested": fp8_requested,
            "fp8_enabled": fp8_requested && self.fp8_fallback_reason.is_none(),
            "fp8_fallback_reason": self.fp8_fallback_reason,
            "runtime_caps": self.caps.to_json(),
        })
    }
}

/// Its fields are those of the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuConfig {
    pub batch: u64,
    pub channels: u64,
    pub height: u64,
    pub width: u64,
    /// The side of a tile, in pixels.
    pub tile_size: u64,
    /// Tiles of each image.
    pub kmax: u64,
    pub steps: u64,
    /// Calls of each kernel before those that count.
    pub warmup: u64,
    pub iters: u64,
    pub seed: u64,
    /// `fp16`, `bf16`, `fp32` or `fp8`.
    pub dtype: String,
    /// The most that the tiles of the first level may cost; `budget_b2` is of the second.
    pub budget_b1: f64,
    pub budget_b2: f64,
    pub budget_total: f64,
    /// Empty for none.
    pub trt_engine_path: String,
    /// Empty for none.
    pub trt_plugin_lib: String,
    /// Shapes of the engine's inputs, each `name=AxB`.
    pub trt_input_shapes: Vec<String>,
}

/// Bytes of a mebibyte, which Apex-X calls `mb`.
const MEBIBYTE: f64 = 1_048_576.0;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    pub milliseconds: Vec<f64>,
    /// The peak of device memory, inputs included.
    pub peak_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    Cuda,
    /// The plain form, as the tuned one could not run.
    Reference,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReportedOperation {
    pub reference: Calls,
    /// The tuned form, or where it cannot run the plain one.
    pub dispatch: Calls,
    pub backend: Backend,
    pub fallback_reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TensorRt {
    /// For this reason, such as `missing_trt_engine_path`.
    Skipped(String),
    Measured {
        /// The file of the engine, or of the library with the plugin.
        path: String,
        /// How the engine was called, such as `modern_io_tensors`; absent for a plugin.
        mode: Option<String>,
        work: f64,
        calls: Calls,
    },
}

/// The path of an image through the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub calls: Calls,
    pub selection: SelectedTiles,
    /// Why the tuned form did not run. Apex-X has no such key here, so it is written only where there is a reason.
    pub fallback_reason: Option<String>,
}

/// The tiles that a call of the path selected, of all images, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SelectedTiles {
    pub level_0: u64,
    pub level_1: u64,
    pub budget_b1_spent: f64,
    pub budget_b2_spent: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EndToEnd {
    pub reference: Path,
    pub dispatch: Path,
    pub engine: TensorRt,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Benchmarks {
    pub tilepack: ReportedOperation,
    pub tileunpack: ReportedOperation,
    pub fusion_gate: ReportedOperation,
    pub tilessm: ReportedOperation,
    pub tilessm_plugin: TensorRt,
    pub end_to_end: EndToEnd,
}

impl Benchmarks {
    fn to_json(&self, config: &GpuConfig) -> Result<Value, String> {
        let product = |factors: &[u64]| factors.iter().map(|factor| *factor as f64).product::<f64>();
        let GpuConfig { batch, channels, height, width, kmax, steps, .. } = config;
        let (tiles, elements, frames) =
            (product(&[*batch, *kmax]), product(&[*batch, *channels, *height, *width]), product(&[*batch]));
        // Apex-X calls each channel of each step a token.
        let tokens = product(&[*batch, *steps, *channels]);
        let tile_op = |name: &str, one: &ReportedOperation, work: f64, label: &str| -> Result<Value, String> {
            Ok(json!({
                "backend": one.backend,
                "fallback_reason": one.fallback_reason,
                "reference": block(&format!("{name} by plain kernels"), &one.reference, work, label)?,
                "dispatch": block(name, &one.dispatch, work, label)?,
            }))
        };
        let scan = |name: &str, calls: &Calls| block(name, calls, tokens, "tokens_per_s");
        Ok(json!({
            "tile_ops": {
                "tilepack": tile_op("tilepack", &self.tilepack, tiles, "tiles_per_s")?,
                "tileunpack": tile_op("tileunpack", &self.tileunpack, tiles, "tiles_per_s")?,
                "fusion_gate": tile_op("fusion_gate", &self.fusion_gate, elements, "elements_per_s")?,
            },
            "tilessm": {
                "backend": self.tilessm.backend,
                "fallback_reason": self.tilessm.fallback_reason,
                "torch_reference": scan("tilessm by plain kernels", &self.tilessm.reference)?,
                "triton_dispatch": scan("tilessm", &self.tilessm.dispatch)?,
                "tensorrt_plugin": self.tilessm_plugin.to_json("plugin_library", "tokens_per_s")?,
            },
            "end_to_end_infer": {
                "torch_eager": path("end_to_end_infer by plain kernels", &self.end_to_end.reference, frames)?,
                "torch_triton_fastpath": path("end_to_end_infer", &self.end_to_end.dispatch, frames)?,
                "tensorrt_engine": self.end_to_end.engine.to_json("engine_path", "frames_per_s")?,
            },
        }))
    }
}

impl TensorRt {
    fn to_json(&self, path_key: &str, label: &str) -> Result<Value, String> {
        match self {
            TensorRt::Skipped(reason) => Ok(json!({ "status": "skipped", "reason": reason })),
            TensorRt::Measured { path, mode, work, calls } => {
                let metrics = block("TensorRT", calls, *work, label)?;
                let mut measured = json!({ "status": "ok", "metrics": metrics });
                measured[path_key] = json!(path);
                if let Some(mode) = mode {
                    measured["mode"] = json!(mode);
                }
                Ok(measured)
            }
        }
    }
}

fn path(name: &str, path: &Path, frames: f64) -> Result<Value, String> {
    let mut metrics = block(name, &path.calls, frames, "frames_per_s")?;
    let selection = path.selection;
    metrics["selected_l0_per_call"] = json!(selection.level_0);
    metrics["selected_l1_per_call"] = json!(selection.level_1);
    metrics["budget_b1_spent"] = json!(selection.budget_b1_spent);
    metrics["budget_b2_spent"] = json!(selection.budget_b2_spent);
    if let Some(reason) = &path.fallback_reason {
        metrics["fallback_reason"] = json!(reason);
    }
    Ok(metrics)
}

/// The figures of some calls, each of which does `work`; an error where there are none.
fn block(name: &str, calls: &Calls, work: f64, label: &str) -> Result<Value, String> {
    let summary =
        CallSummary::from_calls(&calls.milliseconds).ok_or_else(|| format!("there are no times of {name}"))?;
    let peak_memory = calls.peak_bytes.map(|bytes| bytes as f64 / MEBIBYTE);
    let mut metrics = json!({"p50_ms": summary.p50, "p95_ms": summary.p95, "peak_memory_mb": peak_memory});
    metrics[label] = json!(summary.throughput(work));
    Ok(metrics)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::compat::apex_x::gate::{ApexSuite, Template};
    use crate::compat::apex_x::report_parts::{CudaDevice, Fp8};
    use crate::compat::apex_x::{markdown, schema};

    pub(in super::super) fn config() -> GpuConfig {
        GpuConfig {
            batch: 1,
            channels: 128,
            height: 128,
            width: 128,
            tile_size: 8,
            kmax: 32,
            steps: 256,
            warmup: 10,
            iters: 50,
            seed: 123,
            dtype: "fp16".into(),
            budget_b1: 16.0,
            budget_b2: 8.0,
            budget_total: 32.0,
            trt_engine_path: String::new(),
            trt_plugin_lib: String::new(),
            trt_input_shapes: Vec::new(),
        }
    }

    fn skipped() -> GpuReport {
        GpuReport {
            timestamp: DateTime::from_timestamp(1_790_000_000, 547_213_000).expect("a date"),
            environment: ReportEnvironment {
                platform: "Linux-6.1.0-x86_64-with-glibc2.36".into(),
                caps: RuntimeCaps {
                    cuda: Err("cuda_unavailable".into()),
                    fp8: Fp8::Unavailable("fp8_requires_cuda".into()),
                    has_runtime: false,
                },
                requested_dtype: "fp16".into(),
                effective_dtype: "float32".into(),
                fp8_fallback_reason: None,
            },
            config: config(),
            outcome: GpuOutcome::Skipped("cuda_unavailable".into()),
            autotune: AutotuneSnapshot::default(),
        }
    }

    /// Calls of so many milliseconds and twice as many.
    fn calls(milliseconds: f64) -> Calls {
        Calls { milliseconds: vec![milliseconds, 2.0 * milliseconds, milliseconds], peak_bytes: Some(3 << 19) }
    }

    fn operation(milliseconds: f64) -> ReportedOperation {
        let (reference, dispatch) = (calls(2.0 * milliseconds), calls(milliseconds));
        ReportedOperation { reference, dispatch, backend: Backend::Cuda, fallback_reason: None }
    }

    fn measured() -> GpuReport {
        let selection =
            SelectedTiles { level_0: 20, level_1: 32, budget_b1_spent: 16.000000000000004, budget_b2_spent: 8.0 };
        let engine = TensorRt::Measured {
            path: "model.plan".into(),
            mode: Some("modern_io_tensors".into()),
            work: 2.0,
            calls: calls(4.0),
        };
        let benchmarks = Benchmarks {
            tilepack: operation(0.5),
            tileunpack: operation(1.0),
            fusion_gate: ReportedOperation {
                backend: Backend::Reference,
                fallback_reason: Some("cuda_launch_failed".into()),
                ..operation(1.0)
            },
            tilessm: operation(0.0),
            tilessm_plugin: TensorRt::Skipped("missing_plugin_library".into()),
            end_to_end: EndToEnd {
                reference: Path { calls: calls(8.0), selection, fallback_reason: None },
                dispatch: Path { calls: Calls { peak_bytes: None, ..calls(4.0) }, selection, fallback_reason: None },
                engine,
            },
        };
        let device = CudaDevice { count: 1, name: "NVIDIA H200".into(), compute_capability: "9.0".into() };
        let environment = ReportEnvironment {
            caps: RuntimeCaps { cuda: Ok(device), fp8: Fp8::Available, has_runtime: true },
            requested_dtype: "fp8".into(),
            effective_dtype: "float8_e4m3fn".into(),
            ..skipped().environment
        };
        GpuReport { environment, outcome: GpuOutcome::Measured(Box::new(benchmarks)), ..skipped() }
    }

    #[test]
    fn a_skipped_report_has_every_key() {
        let text = skipped().to_json().expect("nothing is missing");
        insta::assert_snapshot!(text);
        assert!(text.ends_with("}\n") && !text.ends_with("\n\n"));
    }

    #[test]
    fn a_measured_report_has_every_figure() {
        let text = measured().to_json().expect("nothing is missing");
        insta::assert_snapshot!(text);
        let report = measured().to_value().expect("nothing is missing");
        let markdown = markdown::gpu_report(&report).expect("it can be shown");
        assert!(markdown.contains("| TilePack | cuda | 1.0000 | 0.5000 | 1.0000 | 0.5000 |"), "{markdown}");
        assert!(markdown.contains("- fp8: `enabled`\n"), "{markdown}");
        let baseline = Template::from_report(ApexSuite::Gpu, &report).expect("the figures are numbers");
        assert_eq!(baseline.metrics.len(), 12, "all that the seed compares is there");
    }

    #[test]
    fn reports_follow_their_schema() {
        for report in [skipped(), measured()].map(|report| report.to_value().expect("nothing is missing")) {
            jsonschema::validate(&schema::gpu(), &report).expect("it follows the schema");
            let check = |pointer: &str, wrong: Value| {
                let mut damaged = report.clone();
                let (parent, field) = pointer.rsplit_once('/').expect("a pointer has a slash");
                damaged.pointer_mut(parent).expect("the parent is there")[field] = wrong;
                assert!(!jsonschema::is_valid(&schema::gpu(), &damaged), "{pointer}");
            };
            check("/schema_version", json!(2));
            check("/other", json!(2));
            check("/status", json!("fine"));
            check("/benchmarks/other", json!({}));
            check("/config/batch", json!("1"));
            check("/environment/device", json!("tpu"));
            check("/triton_autotune/summary/launches", json!(-1));
            check("/timestamp_utc", json!("2026-05-04T03:02:01Z"));
        }
    }

    #[test]
    fn a_path_that_fell_back_says_so() {
        let mut report = measured();
        let key = "/benchmarks/end_to_end_infer/torch_triton_fastpath/fallback_reason";
        assert_eq!(report.to_value().expect("nothing is missing").pointer(key), None);
        if let GpuOutcome::Measured(benchmarks) = &mut report.outcome {
            benchmarks.end_to_end.dispatch.fallback_reason = Some("parity: off".to_owned());
        }
        assert_eq!(report.to_value().expect("nothing is missing").pointer(key), Some(&json!("parity: off")));
    }

    #[test]
    fn a_report_without_times_is_none() {
        let check = |break_it: fn(&mut Benchmarks), expected: &str| {
            let mut report = measured();
            if let GpuOutcome::Measured(benchmarks) = &mut report.outcome {
                break_it(benchmarks);
            }
            assert_eq!(report.to_json(), Err(format!("there are no times of {expected}")));
        };
        check(|all| all.tilepack.dispatch.milliseconds.clear(), "tilepack");
        check(|all| all.tilessm.reference.milliseconds.push(f64::NAN), "tilessm by plain kernels");
        check(|all| all.end_to_end.dispatch.calls = Calls::default(), "end_to_end_infer");
    }
}
