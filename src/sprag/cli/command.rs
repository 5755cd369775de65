//! The whole of the command line: its subcommands, and the options of those that measure and judge nothing.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::detect::DetectArgs;
use super::export::ExportCommand;
use super::gate::{BaselineCommand, CheckArgs, CompareArgs};
use super::history::HistoryCommand;
use super::import::ImportArgs;
use super::kernels::KernelsCommand;
use super::release::ReleaseCommand;
use super::replay::ReplayCommand;
use super::run::{RunArgs, WeeklyArgs};
use super::trend::TrendArgs;
use sprag_pipeline::init::{digest, repository};

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
    Run(Box<RunArgs>),
    /// Gate: hold the newest run of this machine at HEAD against a baseline, a release or the sessions before it.
    Check(CheckArgs),
    /// Compare two commits, tags or files by what was recorded of them, or build and measure both in turns (`--measure`).
    Compare(CompareArgs),
    /// Change points of any table of histories.
    Detect(DetectArgs),
    /// Events, change points and drifts over the recorded history.
    Trend(TrendArgs),
    /// Make baselines.
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Record what other tools measured, whole histories of theirs too.
    Import(ImportArgs),
    /// Record finished runs; list, share, check and prove what is recorded.
    #[command(subcommand)]
    History(HistoryCommand),
    /// Render the site from the recorded history, without measuring.
    Site(SiteArgs),
    /// Write the recorded history in other forms.
    #[command(subcommand)]
    Export(ExportCommand),
    /// Print the JSON Schema of a file that sprag writes, or the list of them.
    Schema(SchemaArgs),
    /// Releases: their checklist, filled from what is recorded, and what others can verify of it.
    #[command(subcommand)]
    Release(ReleaseCommand),
    /// Manifests of deterministic runs: the digests of settings and files, and of what a selection chose.
    #[command(subcommand)]
    Replay(ReplayCommand),
    /// Run the golden cases of folders against this build.
    Conformance(ConformanceArgs),
    /// Tell what this machine can measure and how noisily, and what to change about it.
    Doctor(DoctorArgs),
    /// Set a project up: `sprag.toml`, workflows of GitHub, and where baselines lie. Nothing is replaced unasked.
    Init(InitArgs),
    /// Generate a repository with planted changes, and its site.
    Demo(DemoArgs),
    /// Print the script by which a shell completes the command line.
    Completions(CompletionsArgs),
    /// Write the manual pages, one a command.
    Man(ManArgs),
    /// Compile the CUDA kernels in every variant, or check them on the device.
    #[command(subcommand)]
    Kernels(KernelsCommand),
    /// Measure as a worker process: a plan on standard input, messages on standard output.
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Lead the process group of a command, and kill it when standard input ends; or keep a folder, and remove it then.
    #[command(hide = true)]
    Guard(GuardArgs),
}

/// Options of `worker`.
#[derive(Args, Debug)]
pub struct WorkerArgs {
    /// What to do with the plan.
    #[arg(long, value_enum, default_value_t = Task::Time)]
    pub task: Task,
    /// What of the GPU suite runs, as JSON; the plan is about CPU kernels where absent.
    #[arg(long, value_name = "SCOPE")]
    pub gpu: Option<String>,
}

/// Options of `guard`.
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

/// Options of `site`.
#[derive(Args, Debug)]
pub struct SiteArgs {
    /// The folder of the site (default: `out` of `[site]`, or `_site`).
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Write nothing: prove that the folder is, byte for byte, what a clean rebuild gives. Exits with 1 where it is not.
    #[arg(long)]
    pub check: bool,
}

/// Options of `schema`.
#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// Which one, such as `run-2`; all of them are listed where absent.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
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

/// Options of `init`.
#[derive(Args, Debug)]
#[command(after_help = "docs/CI.md says what the workflows do, and what a repository needs for them.")]
pub struct InitArgs {
    /// Write nothing: say what would be written.
    #[arg(long)]
    pub dry_run: bool,
    /// Replace files that are there and hold something else; `sprag.toml` and those of `release/` never.
    #[arg(long, conflicts_with = "keep")]
    pub force: bool,
    /// Leave such files as they are, and write the others; with neither of the two nothing is written.
    #[arg(long)]
    pub keep: bool,
    /// The repository on GitHub whose releases of Sprag the workflows download, as `OWNER/NAME`.
    #[arg(long, value_name = "OWNER/NAME", value_parser = repository)]
    pub download_from: Option<String>,
    /// The SHA-256 of the file `SHA256SUMS` of that release: nothing else is run.
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    pub sha256: Option<String>,
}

/// Options of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The folder that they go to; it is made where it is not there.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
