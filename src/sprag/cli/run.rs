//! The options of the commands that measure, `weekly` and `run`, and options that take one of a few words.

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use sprag_measure::gpu::settings::AskedDtype;
use sprag_pipeline::fleet::PlanFormat;

#[derive(Args, Clone, Debug)]
pub struct EffortArgs {
    /// One worker process: takes seconds, gives no intervals.
    #[arg(long, conflicts_with_all = ["rigorous", "budget"])]
    pub quick: bool,
    /// At least fifteen worker processes instead of five: detects smaller changes.
    #[arg(long, conflicts_with = "budget")]
    pub rigorous: bool,
    /// As many worker processes as fit in this time per suite, such as `60s`. Stops early once intervals are within 1 %,
    /// except those of `dram` kernels.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub budget: Option<String>,
    /// Pin worker processes to this CPU, counted from 0.
    #[arg(long, value_name = "PROCESSOR")]
    pub pin: Option<u32>,
}

impl EffortArgs {
    pub fn is_given(&self) -> bool {
        self.quick || self.rigorous || self.budget.is_some() || self.pin.is_some()
    }
}

#[derive(Args, Debug)]
pub struct WeeklyArgs {
    #[command(flatten)]
    pub effort: EffortArgs,
    /// The format of the digest.
    #[arg(long, value_enum, default_value_t = DigestFormat::Table)]
    pub format: DigestFormat,
    /// The folder of the site (default: `out` of `[site]`, or `_site`).
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DigestFormat {
    /// Text for a terminal.
    Table,
    /// GitHub Markdown, for a job summary.
    Md,
}

#[derive(Args, Debug)]
pub struct SiteArgs {
    /// The folder of the site (default: `out` of `[site]`, or `_site`).
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Write nothing; check that the folder equals a clean rebuild byte for byte. Exits with 1 if it does not.
    #[arg(long, conflicts_with = "serve")]
    pub check: bool,
    /// Take what was detected from these partial results of `sprag detect`, or folders of them. Records, commits and points still
    /// come from the history; only detection is left out.
    #[arg(long, value_name = "PARTIAL", num_args = 1.., requires = "dataset", conflicts_with = "check")]
    pub from: Vec<PathBuf>,
    /// The dataset that they were detected in, as `sprag export series` wrote it of this history.
    #[arg(long, value_name = "FOLDER", requires = "from")]
    pub dataset: Option<PathBuf>,
    /// Serve the site to browsers on this machine until Ctrl-C.
    #[arg(long)]
    pub serve: bool,
    /// The port to serve on; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 8000, requires = "serve")]
    pub port: u16,
    /// Open the served site in the browser.
    #[arg(long, requires = "serve")]
    pub open: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  sprag bench -- ./sort big.txt\n  sprag bench -- ./old --vs ./new\n  \
    sprag bench 'sort big.txt | uniq'\n  sprag bench --record --name sort -- ./sort big.txt\n\n\
    Exit codes: 0 done; 1 the command failed; 2 usage error, or there is no such program.")]
pub struct BenchArgs {
    /// Runs of each command, each in a fresh process, with `--vs` an even number (default: as many as fit in three seconds, from
    /// 10 to 100).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=100))]
    pub runs: Option<u32>,
    /// Runs before these, which are not counted.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub warmup: u32,
    /// Pin the commands to this CPU, counted from 0.
    #[arg(long, value_name = "PROCESSOR")]
    pub pin: Option<u32>,
    /// Record the result in the history, as a suite with the name given by `--name`.
    #[arg(long, requires = "name")]
    pub record: bool,
    /// The suite of the record, such as `sort`.
    #[arg(long, requires = "record")]
    pub name: Option<String>,
    /// The command and its arguments, and after `--vs` the one to compare it with. The shell runs a
    /// single quoted argument with spaces.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub words: Vec<String>,
}

#[derive(Args, Debug)]
pub struct RunArgs {
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Only benchmarks whose id contains this text; may be given several times.
    #[arg(long = "filter", value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub filters: Vec<String>,
    #[command(flatten)]
    pub effort: EffortArgs,
    /// Measure one of n parts of each suite, such as `2/4`. Without a value, the CI environment gives the part.
    ///
    /// Reads SPRAG_SHARD=i/n, then the variables of Buildkite, Slurm arrays, Kubernetes indexed Jobs (with
    /// JOB_COMPLETIONS or SPRAG_SHARDS) and GitHub (STRATEGY_JOB_INDEX and STRATEGY_JOB_TOTAL, which the workflow sets).
    /// All forms of a kernel share a part; a part without any benchmark exits with 0 and leaves no record. `check` and the
    /// digest take the records of all parts, of one commit on one machine, as one run.
    #[arg(long, value_name = "I/N", num_args = 0..=1, default_missing_value = "auto", conflicts_with = "output")]
    pub shard: Option<String>,
    /// Also count the instructions of one call of each CPU kernel with Callgrind.
    ///
    /// The metric `instructions` is the same in every run of the same binary and inputs. Valgrind runs AVX2 code where a
    /// kernel would use AVX-512. Kernels on several threads are skipped. If a kernel cannot be counted, the run says why and
    /// keeps its times.
    #[arg(long)]
    pub count_instructions: bool,
    /// Measure this commit instead of the working tree: a tag, `HEAD~3` or any other revision.
    ///
    /// The commit is checked out and built in a temporary folder, with the settings of the current `sprag.toml`. Suites of
    /// the kind `command` use their `build`; those of the kind `cpu`, in the repository of Sprag only, use Cargo. A build
    /// failure is an error; nothing is recorded.
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["output", "count_instructions", "retune"])]
    pub commit: Option<String>,
    /// Take suites from `sprag.toml` of this commit, except those it lacks, so that no change edits what it is judged by.
    #[arg(long, value_name = "COMMIT")]
    pub config_from: Option<String>,
    /// Re-run CUDA autotuning even if a cached choice exists.
    ///
    /// Choices are cached in `.sprag/autotune.json` for exactly these kernels, compiler, driver and device. The one in use
    /// stays unless another is faster by more than noise. Tuning takes extra time with `--quick` and `--budget`.
    #[arg(long)]
    pub retune: bool,
    /// Record the result in the history.
    #[arg(long)]
    pub record: bool,
    /// Write the run's record to this file; with one suite only.
    #[arg(long, value_name = "FILE")]
    pub output_run: Option<PathBuf>,
    /// Write the report of Apex-X to this file; with one suite only, of kind `cpu`, `gpu` or `trt`.
    ///
    /// For a CPU suite, one more process times single calls of `infer`, `tile_pack`, `tile_unpack` and `fusion_gate` (small
    /// profile, fast forms, one thread), whatever `--filter` says. A kernel that is wrong gives no report and exit code 1.
    ///
    /// For a GPU suite, one more process times single calls of all kernels in both forms, at the sizes of the fixed profile
    /// or those that options name. If they cannot be timed, the report says why. For TensorRT it is the recorded sweep.
    #[arg(long, visible_alias = "output-json", value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub single_calls: SingleCallArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub gpu: GpuBenchArgs,
    #[command(flatten)]
    pub trt: TrtArgs,
}

#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Options of the report of a CPU suite (only with --output)")]
pub struct SingleCallArgs {
    /// Warm-up calls of `infer` (default: 5).
    #[arg(long, value_name = "N", requires = "output", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MOST_CALLS))]
    pub infer_warmup: Option<u32>,
    /// Timed calls of `infer` (default: 30).
    #[arg(long, value_name = "N", requires = "output", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_CALLS))]
    pub infer_iters: Option<u32>,
    /// Warm-up calls of each other CPU kernel (default: 5).
    #[arg(long, value_name = "N", requires = "output", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MOST_CALLS))]
    pub micro_warmup: Option<u32>,
    /// Timed calls of each other CPU kernel (default: 50).
    #[arg(long, value_name = "N", requires = "output", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_CALLS))]
    pub micro_iters: Option<u32>,
}

/// All times are held in memory.
const MOST_CALLS: i64 = 1_000_000;

#[derive(Args, Debug)]
#[command(next_help_heading = "Options of GPU and TensorRT suites, and of their reports")]
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
    /// Write the report of `--output` to this file as Markdown, also without `--output`.
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub output_md: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Options of TensorRT suites")]
pub struct TrtArgs {
    /// Also time the engine with these shapes, such as `image=1x3x128x128;centers=1024x2`; may be given several times.
    ///
    /// The first case is always `default`, without shapes.
    #[arg(long = "shape-case", value_name = "SHAPES")]
    pub shape_cases: Vec<String>,
    /// The program of TensorRT that times engines (default: that of the variable TRTEXEC, on the search path, or where
    /// TensorRT puts it).
    #[arg(long, value_name = "FILE")]
    pub trtexec: Option<PathBuf>,
    /// Also time each layer, in one more process per case, and write the times to this folder.
    #[arg(long, value_name = "FOLDER")]
    pub trt_profile: Option<PathBuf>,
}

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
    /// The budget of the tiles of the model's first level (default: 16).
    #[arg(long, value_name = "COST", allow_negative_numbers = true)]
    pub budget_b1: Option<f64>,
    /// The budget of the tiles of its second level (default: 8).
    #[arg(long, value_name = "COST", allow_negative_numbers = true)]
    pub budget_b2: Option<f64>,
    /// The budget of all tiles (default: 32).
    #[arg(long, value_name = "COST", allow_negative_numbers = true)]
    pub budget_total: Option<f64>,
    /// The shape of an input of the engine, such as `tokens=1x256x128`; may be given several times.
    #[arg(long = "trt-input-shape", value_name = "NAME=AxB", requires = "trt_engine_path")]
    pub trt_input_shapes: Vec<String>,
}

#[derive(Args, Debug)]
pub struct PlanArgs {
    /// The machines, as TOML: `[[machine]]` with `name`, `class`, `labels`, `from` and `hours`. By suite, `[shards]` has
    /// numbers and `[suites]` names of machines or classes. For Kubernetes, add `image` and `volume`.
    #[arg(long, value_name = "FILE")]
    pub machines: PathBuf,
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Output format.
    #[arg(long, value_parser = words(&PLAN_FORMATS), default_value = "table")]
    pub format: PlanFormat,
}

const PLAN_FORMATS: [Word<PlanFormat>; 5] = [
    ("table", "Text for a terminal", PlanFormat::Table),
    ("json", "A list of tasks", PlanFormat::Json),
    ("github", "A matrix for a workflow on GitHub", PlanFormat::Github),
    ("slurm", "A script that submits an array for each machine", PlanFormat::Slurm),
    ("kubernetes", "Jobs, as JSON for `kubectl create -f -`", PlanFormat::Kubernetes),
];

const DTYPES: [Word<AskedDtype>; 4] = [
    ("fp16", "16-bit floating point", AskedDtype::Fp16),
    ("bf16", "16-bit floating point with the range of 32", AskedDtype::Bf16),
    ("fp32", "32-bit floating point", AskedDtype::Fp32),
    ("fp8", "8-bit floating point", AskedDtype::Fp8),
];

/// A word, its help, and its value.
pub(super) type Word<T> = (&'static str, &'static str, T);

pub(super) fn words<T: Clone + Send + Sync + 'static>(words: &'static [Word<T>]) -> impl TypedValueParser<Value = T> {
    let values = words.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(values).map(|given| {
        let word = words.iter().find(|(word, _, _)| *word == given);
        word.map(|(_, _, value)| value.clone()).expect("clap has refused all other words")
    })
}
