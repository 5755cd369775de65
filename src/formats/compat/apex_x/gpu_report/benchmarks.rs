//! What was measured: the block `benchmarks`, out of the times of single calls.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::config::GpuConfig;
use crate::compat::apex_x::single_calls::summarise;

/// Bytes of a mebibyte, which the seed calls `mb`.
const MEBIBYTE: f64 = 1_048_576.0;

/// Single calls of one kernel or path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    pub milliseconds: Vec<f64>,
    /// The most device memory held meanwhile, inputs included; absent where it is not known.
    pub peak_bytes: Option<u64>,
}

/// Which form of an operation ran.
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
    /// Why the tuned form was not.
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
        /// Images, or tokens, of a call.
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
    /// What those of the second level cost.
    pub budget_b2_spent: f64,
}

/// The path in each form.
#[derive(Clone, Debug, PartialEq)]
pub struct EndToEnd {
    pub reference: Path,
    pub dispatch: Path,
    /// By a TensorRT engine.
    pub engine: TensorRt,
}

/// Everything that a report states times of.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmarks {
    pub tilepack: Operation,
    pub tileunpack: Operation,
    pub fusion_gate: Operation,
    pub tilessm: Operation,
    /// The scan as a TensorRT plugin.
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
    pub(super) fn to_json(&self, config: &GpuConfig) -> Result<Value, String> {
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
