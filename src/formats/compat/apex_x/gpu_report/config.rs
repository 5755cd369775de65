//! What was measured: the block `config`, and the work of a call that follows from it.

use serde::Serialize;

/// The sizes of the profile, how often each kernel was called, and what else was asked for. Its fields are those of the
/// report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuConfig {
    /// Images of a call.
    pub batch: u64,
    pub channels: u64,
    /// Rows of a map.
    pub height: u64,
    /// Columns of a map.
    pub width: u64,
    /// The side of a tile, in pixels.
    pub tile_size: u64,
    /// Tiles taken of each image.
    pub kmax: u64,
    pub steps: u64,
    /// Calls of each kernel before those that count.
    pub warmup: u64,
    pub iters: u64,
    /// What the inputs follow from.
    pub seed: u64,
    /// The element type asked for: `fp16`, `bf16`, `fp32` or `fp8`.
    pub dtype: String,
    /// What the tiles of the first level may cost.
    pub budget_b1: f64,
    /// What the tiles of the second level may cost.
    pub budget_b2: f64,
    /// What all may cost.
    pub budget_total: f64,
    /// A TensorRT engine to time; empty for none.
    pub trt_engine_path: String,
    /// A library of TensorRT plugins; empty for none.
    pub trt_plugin_lib: String,
    /// Shapes of the engine's inputs, each `name=AxB`.
    pub trt_input_shapes: Vec<String>,
}

impl GpuConfig {
    pub(super) fn tiles(&self) -> f64 {
        product(&[self.batch, self.kmax])
    }

    /// Elements of a map of a call.
    pub(super) fn elements(&self) -> f64 {
        product(&[self.batch, self.channels, self.height, self.width])
    }

    /// Tokens of a call. The seed calls each channel of each step one.
    pub(super) fn tokens(&self) -> f64 {
        product(&[self.batch, self.steps, self.channels])
    }

    /// Images of a call.
    pub(super) fn frames(&self) -> f64 {
        product(&[self.batch])
    }
}

fn product(factors: &[u64]) -> f64 {
    factors.iter().map(|factor| *factor as f64).product()
}
