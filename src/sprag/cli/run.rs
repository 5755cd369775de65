//! The options of the commands that measure: `weekly` and `run`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::gpu::GpuBenchArgs;
use super::report::{MOST_CALLS, ReportArgs, TrtArgs};

/// How much time measuring may take.
#[derive(Args, Clone, Debug)]
pub struct EffortArgs {
    /// One worker process: done in seconds, without intervals.
    #[arg(long, conflicts_with_all = ["rigorous", "budget"])]
    pub quick: bool,
    /// Fifteen worker processes in place of five, or as many as the suite says where that is more: sees smaller changes.
    #[arg(long, conflicts_with = "budget")]
    pub rigorous: bool,
    /// As many worker processes as fit this time a suite, such as `60s`; fewer once intervals are within 1 %, those of kernels
    /// of the class `dram` left aside.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub budget: Option<String>,
    /// Keep worker processes on this processor, counted from 0.
    #[arg(long, value_name = "PROCESSOR")]
    pub pin: Option<u32>,
}

/// How much time measuring two builds against each other may take.
#[derive(Args, Debug)]
pub struct PairEffortArgs {
    /// Three pairs of processes, one of each side, the fewest that can be judged (default: twice the `processes` of the suite,
    /// so ten): sees large changes only.
    #[arg(long, conflicts_with_all = ["rigorous", "budget"])]
    pub quick: bool,
    /// Fifteen pairs of processes, or the default where that is more: sees smaller changes.
    #[arg(long, conflicts_with = "budget")]
    pub rigorous: bool,
    /// As many pairs of processes as fit this time, such as `60s`; fewer once all intervals are within 1 %, those of kernels
    /// of the class `dram` left aside.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub budget: Option<String>,
    /// Keep both sides on this processor, counted from 0.
    #[arg(long, value_name = "PROCESSOR")]
    pub pin: Option<u32>,
}

impl PairEffortArgs {
    /// Whether any of them was given.
    pub fn is_given(&self) -> bool {
        self.plain().is_given()
    }

    /// The same, as commands that measure one side know them.
    pub fn plain(&self) -> EffortArgs {
        let PairEffortArgs { quick, rigorous, budget, pin } = self;
        EffortArgs { quick: *quick, rigorous: *rigorous, budget: budget.clone(), pin: *pin }
    }
}

impl EffortArgs {
    /// Whether any of them was given.
    pub fn is_given(&self) -> bool {
        self.quick || self.rigorous || self.budget.is_some() || self.pin.is_some()
    }
}

/// Options of `weekly`.
#[derive(Args, Debug)]
pub struct WeeklyArgs {
    /// How much time it may take.
    #[command(flatten)]
    pub effort: EffortArgs,
    /// The folder of the site (default: `out` of `[site]`, or `_site`).
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// Options of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Only benchmarks whose id contains this text; may be given several times.
    #[arg(long = "filter", value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub filters: Vec<String>,
    /// How much time it may take.
    #[command(flatten)]
    pub effort: EffortArgs,
    /// Measure one of n parts of each suite, such as `2/4`; without a value, the part that the build system tells.
    ///
    /// Looks at SPRAG_SHARD=i/n, then at the variables of Buildkite, Slurm arrays, Kubernetes indexed Jobs (with
    /// JOB_COMPLETIONS or SPRAG_SHARDS) and GitHub (STRATEGY_JOB_INDEX and STRATEGY_JOB_TOTAL, which the workflow sets).
    /// All forms of a kernel share a part; a part without any benchmark ends well and leaves no record. `check` and the
    /// digest take the records of all parts, of one commit on one machine, as one run.
    #[arg(long, value_name = "I/N", num_args = 0..=1, default_missing_value = "auto", conflicts_with = "output")]
    pub shard: Option<String>,
    /// Count the instructions of one call of each CPU kernel, too, under Valgrind's tool Callgrind.
    ///
    /// The metric `instructions` stands beside the times and is the same in every run of the same binary and inputs. It
    /// is of the code that Valgrind knows: AVX2 where a kernel would take AVX-512. Kernels on several threads are left
    /// out. Without Valgrind, or where a kernel cannot be counted, the run says why and its times stand.
    #[arg(long)]
    pub count_instructions: bool,
    /// Measure this commit in place of the working tree: a tag, `HEAD~3` or any other revision.
    ///
    /// It is checked out in a temporary folder and built there, by the settings of the present `sprag.toml`; suites of the
    /// kind `command` by their `build`, those of the kind `cpu`, in the repository of Sprag alone, by Cargo. The run is
    /// that of the commit. What cannot be built is an error, and no run.
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["output", "count_instructions", "retune"])]
    pub commit: Option<String>,
    /// Choose the configurations of CUDA kernels anew, also where an earlier run has chosen.
    ///
    /// Choices are kept in `.sprag/autotune.json`, for exactly these kernels, compiler, driver and device. The one in
    /// use stays unless another is faster by more than noise. Also `--quick` and `--budget` then choose, beyond their time.
    #[arg(long)]
    pub retune: bool,
    /// Commit the result to the history.
    #[arg(long)]
    pub record: bool,
    /// Write the run's record to this file; with one suite only.
    #[arg(long, value_name = "FILE")]
    pub output_run: Option<PathBuf>,
    /// Write the report of Apex-X to this file; with one suite only, of kind `cpu`, `gpu` or `trt`.
    ///
    /// Of a CPU suite one more process times single calls of `infer`, `tile_pack`, `tile_unpack` and `fusion_gate` (small
    /// profile, fast forms, one thread), whatever `--filter` says. A kernel that is wrong gives no report and exit code 1.
    /// Of a GPU suite one more process times single calls of all kernels in both forms, at the sizes of the fixed profile
    /// or those that options name; where that cannot be had, the report says why. Of a suite of TensorRT it is the sweep over shapes, of what was measured for the record.
    #[arg(long, visible_alias = "output-json", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How the report of `--output` is timed.
    #[command(flatten)]
    pub single_calls: SingleCallArgs,
    /// What the suites on a GPU and of TensorRT share.
    #[command(flatten)]
    pub report: ReportArgs,
    /// What GPU suites run.
    #[command(flatten)]
    pub gpu: GpuBenchArgs,
    /// What only suites of TensorRT know.
    #[command(flatten)]
    pub trt: TrtArgs,
}

/// How the report of `run --output` is timed.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Options of the report of a CPU suite (only with --output)")]
pub struct SingleCallArgs {
    /// Calls of `infer` before those that count (default: 5).
    #[arg(long, value_name = "N", requires = "output", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MOST_CALLS))]
    pub infer_warmup: Option<u32>,
    /// Calls of `infer` that count (default: 30).
    #[arg(long, value_name = "N", requires = "output", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_CALLS))]
    pub infer_iters: Option<u32>,
    /// Calls of each other CPU kernel before those that count (default: 5).
    #[arg(long, value_name = "N", requires = "output", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MOST_CALLS))]
    pub micro_warmup: Option<u32>,
    /// Calls of each other CPU kernel that count (default: 50).
    #[arg(long, value_name = "N", requires = "output", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_CALLS))]
    pub micro_iters: Option<u32>,
}
