//! The options of `run` for GPU suites: what runs, for the record and the report of the seed alike.

use clap::Args;

use super::words::{Word, words};
use sprag_measure::gpu::precision::AskedDtype;

/// What a GPU suite runs in place of its profiles and element types.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options of GPU suites")]
pub struct GpuBenchArgs {
    /// Images of a call (default: 1).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub batch: Option<u32>,
    /// Channels of a map (default: 128).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub channels: Option<u32>,
    /// Rows of a map (default: 128).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub height: Option<u32>,
    /// Columns of a map (default: 128).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub width: Option<u32>,
    /// The side of a tile, in pixels (default: 8).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub tile_size: Option<u32>,
    /// Tiles taken of each image (default: 32).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub kmax: Option<u32>,
    /// Steps of the scan (default: 256).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub steps: Option<u32>,
    /// The element type; `fp8` runs as `fp16`, with the reason, where the device cannot (default: fp16).
    #[arg(long, value_parser = words(&DTYPES))]
    pub dtype: Option<AskedDtype>,
    /// What the tiles of the model's first level may cost (default: 16).
    #[arg(long, value_name = "COST", allow_negative_numbers = true)]
    pub budget_b1: Option<f64>,
    /// What the tiles of its second level may cost (default: 8).
    #[arg(long, value_name = "COST", allow_negative_numbers = true)]
    pub budget_b2: Option<f64>,
    /// What all may cost (default: 32).
    #[arg(long, value_name = "COST", allow_negative_numbers = true)]
    pub budget_total: Option<f64>,
    /// The shape of an input of the engine, such as `tokens=1x256x128`; may be given several times.
    #[arg(long = "trt-input-shape", value_name = "NAME=AxB", requires = "trt_engine_path")]
    pub trt_input_shapes: Vec<String>,
}

/// The element types.
const DTYPES: [Word<AskedDtype>; 4] = [
    ("fp16", "16-bit floating point", AskedDtype::Fp16),
    ("bf16", "16-bit floating point with the range of 32", AskedDtype::Bf16),
    ("fp32", "32-bit floating point", AskedDtype::Fp32),
    ("fp8", "8-bit floating point", AskedDtype::Fp8),
];
