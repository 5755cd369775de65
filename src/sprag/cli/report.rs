//! The options of `run` for GPU suites, TensorRT and the reports of Apex-X.

use std::path::PathBuf;

use clap::Args;

use super::words::{Word, words};
use sprag_measure::gpu::settings::AskedDtype;

/// The most calls that can be asked for: all times are held in memory.
pub(super) const MOST_CALLS: i64 = 1_000_000;

/// What the suites on a GPU and of TensorRT share.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options of the suites on a GPU and of TensorRT, and of their reports")]
pub struct ReportArgs {
    /// Warm-up calls.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MOST_CALLS))]
    pub warmup: Option<u32>,
    /// Timed calls.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_CALLS))]
    pub iters: Option<u32>,
    /// Random seed (default: 123).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// The TensorRT engine to time.
    #[arg(long, value_name = "FILE")]
    pub trt_engine_path: Option<PathBuf>,
    /// A library with plugins of the engine (default: that of the variable APEXX_TRT_PLUGIN_LIB, where there is one).
    #[arg(long, value_name = "FILE")]
    pub trt_plugin_lib: Option<PathBuf>,
    /// Write the report of `--output` to this file as Markdown, too, or instead.
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub output_md: Option<PathBuf>,
}

/// What only suites of TensorRT know.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options of suites of TensorRT")]
pub struct TrtArgs {
    /// Time the engine with these shapes, too, such as `image=1x3x128x128;centers=1024x2`; may be given several times.
    ///
    /// The first case is always the one that gives no shapes.
    #[arg(long = "shape-case", value_name = "SHAPES")]
    pub shape_cases: Vec<String>,
    /// The program of TensorRT that times engines (default: that of the variable TRTEXEC, on the search path, or where
    /// TensorRT puts it).
    #[arg(long, value_name = "FILE")]
    pub trtexec: Option<PathBuf>,
    /// Time each layer, too, in one more process a case, and write the times to this folder.
    #[arg(long, value_name = "FOLDER")]
    pub trt_profile: Option<PathBuf>,
}

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
