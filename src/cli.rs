//! The command line: what can be typed, and its help. No logic.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Reads the command line of this process; on a fault or a call for help it prints and exits.
pub fn parse() -> Cli {
    Cli::parse()
}

/// Keeps compute kernels fast: measures them, records every result in git, and shows what got slower.
#[derive(Debug, Parser)]
#[command(name = "sprag", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done or pass; 1 regressed or a check failed; 2 usage, or it could not work; \
    3 inconclusive, not comparable or no baseline (check and compare); 4 integrity; 5 could not measure.")]
pub struct Cli {
    /// Work as if started in this folder.
    #[arg(short = 'C', long = "repo", global = true, value_name = "FOLDER")]
    pub repo: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The scheduled build: run every suite, record, analyse, render the site, print the digest.
    Weekly(WeeklyArgs),
    /// Measure suites.
    Run(RunArgs),
    /// Gate: hold the newest run of this machine at HEAD against the baseline.
    Check(CheckArgs),
    /// Time two builds against each other in alternating blocks, and judge every benchmark.
    Compare(CompareArgs),
    /// Make baselines.
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Render the site from the recorded history, without measuring.
    Site(SiteArgs),
    /// Run the golden cases of folders against this build.
    Conformance(ConformanceArgs),
    /// Tell what this machine can measure and how noisily, and what to change about it.
    Doctor(DoctorArgs),
    /// Generate a repository with planted changes, and its site.
    Demo(DemoArgs),
    /// Measure as a worker process: a plan on standard input, messages on standard output.
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Lead the process group of a command, and kill it when standard input ends.
    #[command(hide = true)]
    Guard,
}

/// Options of `worker`.
#[derive(Args, Debug)]
pub struct WorkerArgs {
    /// What to do with the plan.
    #[arg(long, value_enum, default_value_t = Task::Time)]
    pub task: Task,
}

/// What a worker process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Task {
    /// Times all of the plan and reports.
    Time,
    /// Takes blocks as they are asked for.
    Serve,
    /// Times single calls, as Apex-X does.
    Seed,
    /// Counts the instructions of one benchmark, under Valgrind.
    Count,
}

/// How much time measuring may take.
#[derive(Args, Debug)]
pub struct EffortArgs {
    /// One worker process: done in seconds, without intervals.
    #[arg(long, conflicts_with_all = ["rigorous", "budget"])]
    pub quick: bool,
    /// Fifteen worker processes in place of five: sees smaller changes.
    #[arg(long, conflicts_with = "budget")]
    pub rigorous: bool,
    /// As many worker processes as fit this time a suite, such as `60s`; fewer once intervals are within 1 %.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub budget: Option<String>,
    /// Keep worker processes on this processor, counted from 0.
    #[arg(long, value_name = "PROCESSOR")]
    pub pin: Option<u32>,
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
    #[arg(long = "filter", value_name = "TEXT")]
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
    /// Commit the result to the history.
    #[arg(long)]
    pub record: bool,
    /// Write the run's record to this file; with one suite only.
    #[arg(long, value_name = "FILE")]
    pub output_run: Option<PathBuf>,
    /// Write the report of Apex-X's CPU suite to this file; with one suite of kind `cpu` only.
    ///
    /// One more process times single calls of `infer`, `tile_pack`, `tile_unpack` and `fusion_gate` (small profile,
    /// fast forms, one thread), whatever `--filter` says. A kernel that is wrong gives no report and exit code 1.
    #[arg(long, alias = "output-json", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How the report of `--output` is timed.
    #[command(flatten)]
    pub single_calls: SingleCallArgs,
}

/// How the report of `run --output` is timed.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Options of the report (only with --output)")]
pub struct SingleCallArgs {
    /// Calls of `infer` before those that count.
    #[arg(long, default_value_t = 5, value_name = "N", requires = "output", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MOST_CALLS))]
    pub infer_warmup: u32,
    /// Calls of `infer` that count.
    #[arg(long, default_value_t = 30, value_name = "N", requires = "output", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_CALLS))]
    pub infer_iters: u32,
    /// Calls of each other kernel before those that count.
    #[arg(long, default_value_t = 5, value_name = "N", requires = "output", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=MOST_CALLS))]
    pub micro_warmup: u32,
    /// Calls of each other kernel that count.
    #[arg(long, default_value_t = 50, value_name = "N", requires = "output", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_CALLS))]
    pub micro_iters: u32,
    /// The seed of the inputs.
    #[arg(long, default_value_t = 123, value_name = "N", requires = "output", allow_negative_numbers = true)]
    pub seed: u64,
}

/// The most calls that can be asked for: all times are held in memory.
const MOST_CALLS: i64 = 1_000_000;

/// Options of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// The run to judge: a record file (default: the newest run of this machine at HEAD).
    #[arg(long, value_name = "FILE")]
    pub run: Option<PathBuf>,
    /// The baseline to hold it against (default: `baselines/<suite>.<class>.json`).
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// The exit code of a check that comes out inconclusive, not comparable or without a baseline.
    #[arg(long, value_enum, default_value_t = Inconclusive::Report)]
    pub inconclusive: Inconclusive,
}

/// What an inconclusive check counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Inconclusive {
    /// Exit with 3.
    Report,
    /// Exit with 0.
    Ok,
    /// Exit with 1.
    Fail,
}

/// Options of `compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// The base: the path of a `sprag` program, or a revision whose build this program is.
    #[arg(value_name = "BASE")]
    pub base: String,
    /// What is held against it, likewise.
    #[arg(value_name = "OTHER")]
    pub other: String,
    /// Measure both now, interleaved.
    #[arg(long, required = true)]
    pub measure: bool,
    /// The suite of CPU kernels to time.
    #[arg(long, default_value = "cpu", value_name = "NAME")]
    pub suite: String,
    /// Only benchmarks whose id contains this text; may be given several times.
    #[arg(long = "filter", value_name = "TEXT")]
    pub filters: Vec<String>,
    /// How much time it may take.
    #[command(flatten)]
    pub effort: EffortArgs,
    /// Print one JSON object in place of the table.
    #[arg(long)]
    pub json: bool,
    /// The exit code of a comparison that comes out inconclusive.
    #[arg(long, value_enum, default_value_t = Inconclusive::Report)]
    pub inconclusive: Inconclusive,
}

/// What to do about baselines.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Write a baseline from the newest run of this machine at HEAD; the old one goes to `baselines/archive/`.
    Emit(BaselineEmitArgs),
}

/// Options of `baseline emit`.
#[derive(Args, Debug)]
pub struct BaselineEmitArgs {
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// The run to take: a record file (default: the newest run of this machine at HEAD).
    #[arg(long, value_name = "FILE")]
    pub run: Option<PathBuf>,
    /// A word on why, kept in the file.
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub notes: String,
}

/// Options of `site`.
#[derive(Args, Debug)]
pub struct SiteArgs {
    /// The folder of the site (default: `out` of `[site]`, or `_site`).
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// Options of `conformance`.
#[derive(Args, Debug)]
pub struct ConformanceArgs {
    /// Folders with golden cases.
    #[arg(required = true, value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
}

/// Options of `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Fewer and shorter worker processes: done in about two seconds, with rougher figures of noise.
    #[arg(long)]
    pub quick: bool,
    /// Print one JSON document instead of text; `docs/DOCTOR.md` describes it.
    #[arg(long)]
    pub json: bool,
}

/// Options of `demo`.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Where to make the repository; must not exist or be empty.
    #[arg(default_value = "sprag-demo", value_name = "FOLDER")]
    pub folder: PathBuf,
    /// What all generated numbers follow from.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}
