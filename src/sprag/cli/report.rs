//! The options of `run` that the seed's tools know, too: what its reports are of, and where they go.

use std::path::PathBuf;

use clap::Args;

/// The most calls that can be asked for: all times are held in memory.
pub(super) const MOST_CALLS: i64 = 1_000_000;

/// What the suites on a GPU and of TensorRT share.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options of the suites on a GPU and of TensorRT, and of their reports")]
pub struct ReportArgs {
    /// Calls before those that count.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MOST_CALLS))]
    pub warmup: Option<u32>,
    /// Calls that count.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_CALLS))]
    pub iters: Option<u32>,
    /// What inputs and orders follow from (default: 123).
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
