//! The whole of the command line: its subcommands, and the options of those that measure and judge nothing.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::export::ExportCommand;
use super::gate::{BaselineCommand, CheckArgs, CompareArgs};
use super::history::{HistoryCommand, ImportArgs};
use super::kernels::KernelsCommand;
use super::release::ReleaseCommand;
use super::replay::ReplayCommand;
use super::run::{RunArgs, WeeklyArgs};
use super::trend::{DetectArgs, TrendArgs};
use sprag_pipeline::init::{digest, repository};

/// Reads the command line of this process; on a fault or a call for help it prints and exits.
pub fn parse() -> Cli {
    Cli::parse()
}

/// Measure compute kernels, record every result in git, and find what got slower.
#[derive(Debug, Parser)]
#[command(name = "sprag", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes:\n  0  done, or passed\n  1  regressed, or a check failed\n  2  wrong usage, or an error\n  \
    3  inconclusive, not comparable or no baseline (check and compare)\n  4  data are damaged or were changed\n  \
    5  could not measure"
)]
pub struct Cli {
    /// Run as if started in this folder.
    #[arg(short = 'C', long = "repo", global = true, value_name = "FOLDER")]
    pub repo: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the scheduled build: measure every suite, record, analyse, render the site and print the digest.
    Weekly(WeeklyArgs),
    /// Run benchmark suites.
    Run(Box<RunArgs>),
    /// Compare the newest run at HEAD with a baseline, a release or earlier sessions, and fail on a regression.
    Check(CheckArgs),
    /// Compare two commits, tags or files by their recorded results, or build and measure both now (`--measure`).
    Compare(CompareArgs),
    /// Find change points in a CSV table of time series.
    Detect(DetectArgs),
    /// Show regressions, improvements and drifts over the recorded history.
    Trend(TrendArgs),
    /// Create, accept, list and compare baselines.
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Import results of other benchmark tools into the history.
    Import(ImportArgs),
    /// Record finished runs; list, sync, check and prove the history.
    #[command(subcommand)]
    History(HistoryCommand),
    /// Render the site from the recorded history, without measuring.
    Site(SiteArgs),
    /// Export the recorded history.
    #[command(subcommand)]
    Export(ExportCommand),
    /// Print the JSON Schema of a file that sprag writes, or list all schemas.
    Schema(SchemaArgs),
    /// Fill the checklist of a release, and write or verify its evidence.
    #[command(subcommand)]
    Release(ReleaseCommand),
    /// Record and verify reproducible runs by hashing their settings, files and outputs.
    #[command(subcommand)]
    Replay(ReplayCommand),
    /// Run golden cases against this build.
    Conformance(ConformanceArgs),
    /// Check what this machine can measure, how noisy it is, and what to improve.
    Doctor(DoctorArgs),
    /// Set up a project: `sprag.toml`, GitHub workflows and the baselines folder. Existing files are kept.
    Init(InitArgs),
    /// Generate a demo repository with known changes, and its site.
    Demo(DemoArgs),
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Write the manual pages, one per command.
    Man(ManArgs),
    /// Compile every CUDA kernel, or check each one on the device.
    #[command(subcommand)]
    Kernels(KernelsCommand),
    /// Measure as a worker process: reads a plan from stdin, writes messages to stdout.
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Lead the process group of a command, and kill it when standard input ends; or keep a folder, and remove it then.
    #[command(hide = true)]
    Guard(GuardArgs),
}

#[derive(Args, Debug)]
pub struct WorkerArgs {
    /// What to do with the plan.
    #[arg(long, value_enum, default_value_t = Task::Time)]
    pub task: Task,
    /// What of the GPU suite runs, as JSON; the plan is about CPU kernels where absent.
    #[arg(long, value_name = "SCOPE")]
    pub gpu: Option<String>,
}

#[derive(Args, Debug)]
pub struct GuardArgs {
    /// The folder to remove.
    #[arg(long, value_name = "FOLDER")]
    pub remove: Option<PathBuf>,
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
    /// The same on a device.
    GpuCalls,
    /// Counts the instructions of one benchmark, under Valgrind.
    Count,
}

#[derive(Args, Debug)]
pub struct SiteArgs {
    /// The folder of the site (default: `out` of `[site]`, or `_site`).
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Write nothing; check that the folder equals a clean rebuild byte for byte. Exits with 1 if it does not.
    #[arg(long)]
    pub check: bool,
}

#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// The schema, such as `run-2` (default: list all).
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Args, Debug)]
pub struct ConformanceArgs {
    /// Folders with golden cases.
    #[arg(required = true, value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Use fewer and shorter worker processes: about two seconds, with rougher noise figures.
    #[arg(long)]
    pub quick: bool,
    /// Print JSON instead of text (see docs/DOCTOR.md).
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct DemoArgs {
    /// The folder to create; it must be empty or not exist.
    #[arg(default_value = "sprag-demo", value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

#[derive(Args, Debug)]
#[command(after_help = "See docs/CI.md for what the workflows do and need.")]
pub struct InitArgs {
    /// Print what would be written, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Replace existing files that differ, except `sprag.toml` and the files in `release/`.
    #[arg(long, conflicts_with = "keep")]
    pub force: bool,
    /// Keep existing files that differ, and write the others. Without `--force` or `--keep`, nothing is written then.
    #[arg(long)]
    pub keep: bool,
    /// The GitHub repository from which workflows download Sprag, as `OWNER/NAME`.
    #[arg(long, value_name = "OWNER/NAME", value_parser = repository)]
    pub download_from: Option<String>,
    /// The SHA-256 of `SHA256SUMS` of that release. Workflows run no other release.
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    pub sha256: Option<String>,
}

#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub struct ManArgs {
    /// The output folder; it is created if needed.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
