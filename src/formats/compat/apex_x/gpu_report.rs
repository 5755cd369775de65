//! The report of the seed's GPU suite, `apex_x_gpu_benchmark`, schema version 1: as JSON and as Markdown.
//!
//! One sample is a single call with a wait for the device after it, timed by the host. Fields that name Python, torch or
//! Triton hold null where their type allows it, else `none`, and what they say of availability is `false`. The keys of
//! the benchmarks keep the seed's names, so that its comparisons find them: `torch_reference` and `torch_eager` are our
//! plain kernels, `triton_dispatch` and `torch_triton_fastpath` our tuned ones, whose backend is called `cuda`.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::compat::apex_x::runtime_caps::{CudaDevice, Fp8, RuntimeCaps};
use crate::compat::apex_x::single_calls::summarise;
use sprag_base::json;
use sprag_model::autotune::Snapshot;

pub const SUITE: &str = "apex_x_gpu_benchmark";

pub const SCHEMA_VERSION: u64 = 1;

/// A report of the seed's GPU suite.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuReport {
    pub timestamp: DateTime<Utc>,
    pub environment: Environment,
    pub config: GpuConfig,
    pub outcome: Outcome,
    pub autotune: Snapshot,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nothing, for this reason, such as `cuda_unavailable`.
    Skipped(String),
    Measured(Box<Benchmarks>),
}

impl GpuReport {
    /// The report as a value.
    ///
    /// # Errors
    /// Names the benchmark that has no times, or one that is not finite.
    pub fn to_value(&self) -> Result<Value, String> {
        let (status, reason, benchmarks) = match &self.outcome {
            Outcome::Skipped(reason) => ("skipped", Some(reason), json!({})),
            Outcome::Measured(benchmarks) => ("ok", None, benchmarks.to_json(&self.config)?),
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

/// What stands where text is asked for of software that has no part in it.
const NONE: &str = "none";

#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Operating system, its release, architecture and C library, joined as Python joins them.
    pub platform: String,
    /// The device, or why there is none: one of the seed's words, such as `cuda_unavailable`.
    pub device: Result<Device, String>,
    /// The element type asked for, such as `fp16`.
    pub requested_dtype: String,
    /// The element type that ran, such as `float16`.
    pub effective_dtype: String,
    /// Why 8-bit elements that were asked for did not run.
    pub fp8_fallback_reason: Option<String>,
    /// Why no kernel with 8-bit elements can run here; `None` where one can.
    pub fp8_unavailable: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub count: u64,
    /// The model of the one that was used.
    pub name: String,
    /// Its compute capability, such as `9.0`.
    pub compute_capability: Option<String>,
    /// Whether kernels can be compiled for it: the runtime that our kernels need beside the driver.
    pub can_compile: bool,
}

impl Environment {
    fn caps(&self) -> RuntimeCaps {
        let cuda = self.device.clone().map(|device| CudaDevice {
            count: device.count,
            name: device.name,
            compute_capability: device.compute_capability,
        });
        RuntimeCaps {
            cuda,
            fp8: self.fp8_unavailable.clone().map_or(Fp8::Available, Fp8::Unavailable),
            has_runtime: self.device.as_ref().is_ok_and(|device| device.can_compile),
        }
    }

    fn to_json(&self) -> Value {
        let fp8_requested = self.requested_dtype == "fp8";
        json!({
            "python": NONE,
            "torch": NONE,
            "platform": self.platform,
            "device": if self.device.is_ok() { "cuda" } else { "cpu" },
            "dtype": self.effective_dtype,
            "requested_dtype": self.requested_dtype,
            "effective_dtype": self.effective_dtype,
            "fp8_requested": fp8_requested,
            "fp8_enabled": fp8_requested && self.fp8_fallback_reason.is_none(),
            "fp8_fallback_reason": self.fp8_fallback_reason,
            "runtime_caps": self.caps().to_json(),
        })
    }
}

/// The sizes of the profile, how often each kernel was called, and what else was asked for. Its fields are those of the
/// report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuConfig {
    pub batch: u64,
    pub channels: u64,
    pub height: u64,
    pub width: u64,
    /// The side of a tile, in pixels.
    pub tile_size: u64,
    /// Tiles taken of each image.
    pub kmax: u64,
    pub steps: u64,
    /// Calls of each kernel before those that count.
    pub warmup: u64,
    pub iters: u64,
    pub seed: u64,
    /// The element type asked for: `fp16`, `bf16`, `fp32` or `fp8`.
    pub dtype: String,
    /// What the tiles of the first level may cost.
    pub budget_b1: f64,
    /// What the tiles of the second level may cost.
    pub budget_b2: f64,
    pub budget_total: f64,
    /// A TensorRT engine to time; empty for none.
    pub trt_engine_path: String,
    /// A library of TensorRT plugins; empty for none.
    pub trt_plugin_lib: String,
    /// Shapes of the engine's inputs, each `name=AxB`.
    pub trt_input_shapes: Vec<String>,
}

impl GpuConfig {
    fn tiles(&self) -> f64 {
        product(&[self.batch, self.kmax])
    }

    fn elements(&self) -> f64 {
        product(&[self.batch, self.channels, self.height, self.width])
    }

    /// Tokens of a call. The seed calls each channel of each step one.
    fn tokens(&self) -> f64 {
        product(&[self.batch, self.steps, self.channels])
    }

    fn frames(&self) -> f64 {
        product(&[self.batch])
    }
}

fn product(factors: &[u64]) -> f64 {
    factors.iter().map(|factor| *factor as f64).product()
}

/// Bytes of a mebibyte, which the seed calls `mb`.
const MEBIBYTE: f64 = 1_048_576.0;

/// Single calls of one kernel or path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    pub milliseconds: Vec<f64>,
    /// The most device memory held meanwhile, inputs included; absent where it is not known.
    pub peak_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Cuda,
    /// The plain one, since the tuned one could not.
    Reference,
}

/// An operation in both forms.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    pub reference: Calls,
    /// What is used: the tuned form, or where it cannot run the plain one.
    pub dispatch: Calls,
    pub backend: Backend,
    pub fallback_reason: Option<String>,
}

/// What TensorRT was measured to do, or why it was not.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorRt {
    /// It was not measured, for this reason, such as `missing_trt_engine_path`.
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

/// The whole path of an image through the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub calls: Calls,
    pub selection: Selection,
    /// Why the tuned form did not run. The seed has no word for it here, so the key is there only where there is one.
    pub fallback_reason: Option<String>,
}

/// What a call of the path selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// Tiles of the first level, of all images.
    pub level_0: u64,
    /// Tiles of the second level, of all images.
    pub level_1: u64,
    /// What those of the first level cost.
    pub budget_b1_spent: f64,
    pub budget_b2_spent: f64,
}

/// The path in each form.
#[derive(Clone, Debug, PartialEq)]
pub struct EndToEnd {
    pub reference: Path,
    pub dispatch: Path,
    pub engine: TensorRt,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Benchmarks {
    pub tilepack: Operation,
    pub tileunpack: Operation,
    pub fusion_gate: Operation,
    pub tilessm: Operation,
    pub tilessm_plugin: TensorRt,
    pub end_to_end: EndToEnd,
}

impl Backend {
    fn word(self) -> &'static str {
        match self {
            Backend::Cuda => "cuda",
            Backend::Reference => "reference",
        }
    }
}

impl Benchmarks {
    /// The block; an error names what has no times.
    fn to_json(&self, config: &GpuConfig) -> Result<Value, String> {
        let (tiles, elements, frames) = (config.tiles(), config.elements(), config.frames());
        let tile_op = |name: &str, one: &Operation, work: f64, label: &str| -> Result<Value, String> {
            Ok(json!({
                "backend": one.backend.word(),
                "fallback_reason": one.fallback_reason,
                "reference": block(&format!("{name} by plain kernels"), &one.reference, work, label)?,
                "dispatch": block(name, &one.dispatch, work, label)?,
            }))
        };
        let scan = |name: &str, calls: &Calls| block(name, calls, config.tokens(), "tokens_per_s");
        Ok(json!({
            "tile_ops": {
                "tilepack": tile_op("tilepack", &self.tilepack, tiles, "tiles_per_s")?,
                "tileunpack": tile_op("tileunpack", &self.tileunpack, tiles, "tiles_per_s")?,
                "fusion_gate": tile_op("fusion_gate", &self.fusion_gate, elements, "elements_per_s")?,
            },
            "tilessm": {
                "backend": self.tilessm.backend.word(),
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

/// What is stated of some calls, each of which does `work`; an error where there are none.
fn block(name: &str, calls: &Calls, work: f64, label: &str) -> Result<Value, String> {
    let summary = summarise(&calls.milliseconds).ok_or_else(|| format!("there are no times of {name}"))?;
    let mut metrics = Map::new();
    metrics.insert("p50_ms".to_owned(), json!(summary.p50));
    metrics.insert("p95_ms".to_owned(), json!(summary.p95));
    metrics.insert("peak_memory_mb".to_owned(), json!(calls.peak_bytes.map(|bytes| bytes as f64 / MEBIBYTE)));
    metrics.insert(label.to_owned(), json!(summary.throughput(work)));
    Ok(Value::Object(metrics))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::compat::apex_x::gpu_markdown::to_markdown;

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
            environment: Environment {
                platform: "Linux-6.1.0-x86_64-with-glibc2.36".into(),
                device: Err("cuda_unavailable".into()),
                requested_dtype: "fp16".into(),
                effective_dtype: "float32".into(),
                fp8_fallback_reason: None,
                fp8_unavailable: Some("fp8_requires_cuda".into()),
            },
            config: config(),
            outcome: Outcome::Skipped("cuda_unavailable".into()),
            autotune: Snapshot::default(),
        }
    }

    /// Calls of so many milliseconds and twice as many.
    fn calls(milliseconds: f64) -> Calls {
        Calls { milliseconds: vec![milliseconds, 2.0 * milliseconds, milliseconds], peak_bytes: Some(3 << 19) }
    }

    fn operation(milliseconds: f64) -> Operation {
        let (reference, dispatch) = (calls(2.0 * milliseconds), calls(milliseconds));
        Operation { reference, dispatch, backend: Backend::Cuda, fallback_reason: None }
    }

    fn measured() -> GpuReport {
        let selection =
            Selection { level_0: 20, level_1: 32, budget_b1_spent: 16.000000000000004, budget_b2_spent: 8.0 };
        let engine = TensorRt::Measured {
            path: "model.plan".into(),
            mode: Some("modern_io_tensors".into()),
            work: 2.0,
            calls: calls(4.0),
        };
        let benchmarks = Benchmarks {
            tilepack: operation(0.5),
            tileunpack: operation(1.0),
            fusion_gate: Operation {
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
        let device =
            Device { count: 1, name: "NVIDIA H200".into(), compute_capability: Some("9.0".into()), can_compile: true };
        let environment = Environment {
            device: Ok(device),
            requested_dtype: "fp8".into(),
            effective_dtype: "float8_e4m3fn".into(),
            fp8_unavailable: None,
            ..skipped().environment
        };
        GpuReport { environment, outcome: Outcome::Measured(Box::new(benchmarks)), ..skipped() }
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
        let markdown = to_markdown(&measured().to_value().expect("nothing is missing")).expect("it can be shown");
        assert!(markdown.contains("| TilePack | cuda | 1.0000 | 0.5000 | 1.0000 | 0.5000 |"), "{markdown}");
        assert!(markdown.contains("- fp8: `enabled`\n"), "{markdown}");
    }

    /// The paths that the seed's comparison looks up in a report.
    #[test]
    fn what_the_seed_compares_is_there() {
        let report = measured().to_value().expect("nothing is missing");
        let forms = ["tilepack", "tileunpack", "fusion_gate"].map(|name| format!("tile_ops/{name}/dispatch"));
        let others =
            ["tilessm/triton_dispatch", "end_to_end_infer/torch_eager", "end_to_end_infer/torch_triton_fastpath"];
        for form in forms.iter().map(String::as_str).chain(others) {
            for metric in ["p50_ms", "p95_ms"] {
                let found = report.pointer(&format!("/benchmarks/{form}/{metric}"));
                assert!(found.is_some_and(Value::is_f64), "{form} {metric}");
            }
        }
    }

    #[test]
    fn a_path_that_fell_back_says_so() {
        let mut report = measured();
        let key = "/benchmarks/end_to_end_infer/torch_triton_fastpath/fallback_reason";
        assert_eq!(report.to_value().expect("nothing is missing").pointer(key), None);
        if let Outcome::Measured(benchmarks) = &mut report.outcome {
            benchmarks.end_to_end.dispatch.fallback_reason = Some("parity: off".to_owned());
        }
        assert_eq!(report.to_value().expect("nothing is missing").pointer(key), Some(&json!("parity: off")));
    }

    #[test]
    fn a_report_without_times_is_none() {
        let check = |break_it: fn(&mut Benchmarks), expected: &str| {
            let mut report = measured();
            if let Outcome::Measured(benchmarks) = &mut report.outcome {
                break_it(benchmarks);
            }
            assert_eq!(report.to_json(), Err(format!("there are no times of {expected}")));
        };
        check(|all| all.tilepack.dispatch.milliseconds.clear(), "tilepack");
        check(|all| all.tilessm.reference.milliseconds.push(f64::NAN), "tilessm by plain kernels");
        check(|all| all.end_to_end.dispatch.calls = Calls::default(), "end_to_end_infer");
    }
}
