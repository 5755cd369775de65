//! The command line: subcommands, options, their help, completions of shells and manual pages. No logic.

mod builds;
mod run;
mod gate;
mod bisect;
mod history;
mod release;
mod trend;
pub mod color;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args, ColorChoice, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

use sprag_base::text::printable;
use sprag_pipeline::init::{digest, repository};

pub use crate::cli::bisect::{BisectArgs, BisectFormat};
pub use crate::cli::builds::{BackfillArgs, CacheArgs, CacheCommand};
pub use crate::cli::gate::{BaselineCommand, CheckArgs, CompareArgs, JudgeArgs};
pub use crate::cli::history::{HistoryCommand, ImportArgs};
pub use crate::cli::release::{
    AttestArgs, AttestFormat, ChecklistArgs, ReleaseArgs, ReleaseCommand, VerifyReleaseArgs, WaiveArgs,
};
pub use crate::cli::run::{
    BenchArgs, DigestFormat, EffortArgs, PlanArgs, ReportArgs, RunArgs, SingleCallArgs, SiteArgs, TrtArgs, WeeklyArgs,
};
pub use crate::cli::trend::{DetectArgs, DetectionArgs, TrendArgs, TrendFormat};

pub fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        // Messages quote arguments, which may control the terminal.
        let escaped = std::env::args_os().map(|argument| printable(&argument.to_string_lossy()));
        Cli::try_parse_from(escaped).err().unwrap_or(error).exit()
    })
}

/// Run the benchmarks of any project, record every result in git, and find what got slower.
#[derive(Debug, Parser)]
#[command(name = "sprag", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes:\n  0  done, or passed\n  1  regressed, or a check failed\n  2  wrong usage, or an error\n  \
    3  inconclusive, not comparable or no baseline; or no culprit is certain (bisect)\n  4  data are damaged or were changed\n  \
    5  could not measure"
)]
pub struct Cli {
    /// Run as if started in this folder.
    #[arg(short = 'C', long = "repo", global = true, value_name = "FOLDER", help_heading = "Global options")]
    pub repo: Option<PathBuf>,
    /// Color verdicts; `auto` does so on a terminal, unless `NO_COLOR` is set.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, help_heading = "Global options")]
    pub color: ColorChoice,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the benchmarks of a project, write `sprag.toml`, and try each suite once.
    Init(InitArgs),
    /// Run benchmark suites.
    Run(Box<RunArgs>),
    /// Measure and record all suites, render the site, and print the digest.
    Weekly(WeeklyArgs),
    /// Compare the newest run with a baseline or earlier sessions, and fail on a regression.
    Check(CheckArgs),
    /// Compare two commits by recorded results, or measure both now (`--measure`).
    Compare(CompareArgs),
    /// Time any command, or two in turn with `--vs`.
    Bench(BenchArgs),
    /// Find the commit that made code slower or faster, by measuring.
    Bisect(Box<BisectArgs>),
    /// Measure commits of the past into the history, coarse to fine.
    Backfill(BackfillArgs),
    /// Print which suite to run on which machine of a fleet, and when.
    Plan(PlanArgs),
    /// Show regressions, improvements and drifts over the recorded history.
    Trend(TrendArgs),
    /// Render the site from the recorded history, without measuring.
    Site(SiteArgs),
    /// Create, accept, list and compare baselines.
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Record finished runs; list, sync, check and prove the history.
    #[command(subcommand)]
    History(HistoryCommand),
    /// Import results of other benchmark tools into the history.
    Import(ImportArgs),
    /// Export the recorded history.
    #[command(subcommand)]
    Export(ExportCommand),
    /// Fill the checklist of a release, and write or verify its evidence.
    #[command(subcommand)]
    Release(ReleaseCommand),
    /// Check what this machine can measure, how noisy it is, and what to improve.
    Doctor {
        /// Use fewer and shorter worker processes: about two seconds, with rougher noise figures.
        #[arg(long)]
        quick: bool,
        /// Print JSON instead of text (see `sprag schema doctor-1`).
        #[arg(long)]
        json: bool,
    },
    /// Generate a demo repository with known changes, and its site.
    Demo {
        /// The folder to create; it must be empty or not exist.
        #[arg(default_value = "sprag-demo", value_name = "FOLDER")]
        folder: PathBuf,
        /// Random seed.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// End the history today, so that nothing is stale (default: fixed dates, and the same bytes every time).
        #[arg(long)]
        today: bool,
    },
    /// Find change points in a CSV table of time series.
    Detect(DetectArgs),
    /// Compile every CUDA kernel, or check them on the device.
    #[command(subcommand)]
    Kernels(KernelsCommand),
    /// List or remove cached builds of commits.
    Cache(CacheArgs),
    /// Print the JSON Schema of a file that sprag writes, or list all schemas.
    Schema {
        /// The schema, such as `run-2` (default: list all).
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Record and verify reproducible runs by hashing their settings, files and outputs.
    #[command(subcommand)]
    Replay(ReplayCommand),
    /// Run golden cases against this build.
    Conformance {
        /// Folders with golden cases.
        #[arg(required = true, value_name = "FOLDER")]
        folders: Vec<PathBuf>,
    },
    /// Print the completion script of a shell.
    Completions {
        /// The shell.
        #[arg(value_enum, value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one per command.
    Man {
        /// The output folder; it is created if needed.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// Measure as a worker process: reads a plan from stdin, writes messages to stdout.
    #[command(hide = true)]
    Worker {
        /// What to do with the plan.
        #[arg(long, value_enum, default_value_t = Task::Time)]
        task: Task,
        /// What of the GPU suite runs, as JSON; the plan is about CPU kernels where absent.
        #[arg(long, value_name = "SCOPE")]
        gpu: Option<String>,
        /// What of a suite of the user's CUDA kernels runs, as JSON.
        #[arg(long, value_name = "SCOPE", conflicts_with = "gpu")]
        cuda: Option<String>,
    },
    /// Lead the process group of a command, and kill it when standard input ends; or keep a folder, and remove it then.
    #[command(hide = true)]
    Guard {
        /// The folder to remove.
        #[arg(long, value_name = "FOLDER")]
        remove: Option<PathBuf>,
    },
}

#[derive(Args, Debug)]
pub struct InitArgs {
    /// List the frameworks whose benchmarks are found, and write nothing.
    #[arg(long, exclusive = true)]
    pub list: bool,
    /// Do not measure the suites of the new `sprag.toml`.
    #[arg(long)]
    pub no_verify: bool,
    /// Also write workflows: the gate of pull requests and the scheduled build; `github-full` adds GPU and releases.
    #[arg(long, value_enum, value_name = "SYSTEM")]
    pub ci: Option<CiSystem>,
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
    #[arg(long, value_name = "OWNER/NAME", value_parser = repository, requires = "ci")]
    pub download_from: Option<String>,
    /// The SHA-256 of `SHA256SUMS` of that release. Workflows run no other release.
    #[arg(long, value_name = "DIGEST", value_parser = digest, requires = "ci")]
    pub sha256: Option<String>,
    /// A program to time as a whole, with its arguments, instead of the benchmarks that are found.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CiSystem {
    Github,
    GithubFull,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Task {
    /// Times all of the plan and reports.
    Time,
    /// Takes blocks as they are asked for.
    Serve,
    /// Checks kernels of the user.
    Check,
    /// Times single calls, as Apex-X does.
    Seed,
    /// The same on a device.
    GpuCalls,
    /// Counts the instructions of one benchmark, under Valgrind.
    Count,
}

#[derive(Debug, Subcommand)]
pub enum KernelsCommand {
    /// Compile every kernel variant with NVRTC, without a device, and print registers and spills.
    Compile(KernelsCompileArgs),
    /// Run every kernel variant on the device, at odd shapes, and compare it with its reference.
    Check(KernelsCheckArgs),
}

#[derive(Args, Debug)]
pub struct KernelsCompileArgs {
    /// The kernels of this suite of the kind `cuda` in sprag.toml. Default: Sprag's own.
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,
    /// Compile for these architectures, such as 90 for compute capability 9.0.
    #[arg(long = "arch", value_name = "N", value_delimiter = ',', default_values_t = [80, 90, 100])]
    #[arg(value_parser = architecture)]
    pub architectures: Vec<u32>,
    /// Also fail if registers spill.
    #[arg(long)]
    pub no_spills: bool,
    /// List every kernel, not only those whose registers spill.
    #[arg(long)]
    pub all: bool,
    /// Print JSON instead of the table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct KernelsCheckArgs {
    /// The kernels of this suite of the kind `cuda` in sprag.toml. Default: Sprag's own.
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,
    /// Only checks whose name contains this text, in which `*` matches any characters; may be given several times.
    #[arg(long = "filter", value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub filters: Vec<String>,
    /// Random seed.
    #[arg(long, default_value_t = 123, value_name = "N")]
    pub seed: u64,
    /// Print JSON instead of the list.
    #[arg(long)]
    pub json: bool,
}

/// Reads `90`, `sm_90` or `9.0`.
fn architecture(text: &str) -> Result<u32, String> {
    let digits: String = text.strip_prefix("sm_").unwrap_or(text).chars().filter(|c| *c != '.').collect();
    digits.parse().map_err(|_| "give a compute capability, such as 90, sm_90 or 9.0".to_owned())
}

#[derive(Debug, Subcommand)]
pub enum ReplayCommand {
    /// Write the manifest of a run, or run a fixture and record its result.
    Record(RecordArgs),
    /// Compare manifests and fixtures with the files that they name and with this build. Exits with 4 where one differs.
    Verify {
        /// Manifests and fixtures.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// The folder that paths in manifests are relative to (default: the current one).
        #[arg(long, value_name = "FOLDER")]
        root: Option<PathBuf>,
    },
}

#[derive(Args, Debug)]
#[command(group(ArgGroup::new("what").required(true).args(["config", "fixture"])))]
pub struct RecordArgs {
    /// Write the manifest of a run with these settings, a JSON object.
    #[arg(long, value_name = "FILE", requires = "seed")]
    pub config: Option<PathBuf>,
    /// The seed of the run.
    #[arg(long, requires = "config")]
    pub seed: Option<u64>,
    /// A file of the run; may be given several times.
    #[arg(long = "artifact", value_name = "NAME=PATH", requires = "config")]
    pub artifacts: Vec<String>,
    /// Run this selection, and write it with its result.
    #[arg(long, value_name = "FILE")]
    pub fixture: Option<PathBuf>,
    /// Write the trace of the fixture there, too.
    #[arg(long, value_name = "FILE", requires = "fixture")]
    pub trace: Option<PathBuf>,
    /// Write the manifest of the fixture there, too; it names the trace.
    #[arg(long, value_name = "FILE", requires = "trace")]
    pub manifest: Option<PathBuf>,
    /// The output file (default: standard output).
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Parquet in folders `suite=/year=/month=`: a table of benchmarks and one of samples. `docs/EXPORT.md` lists columns.
    Parquet {
        /// The output folder; it must be new, empty or an earlier export.
        #[arg(long, required = true, value_name = "FOLDER")]
        out: PathBuf,
        #[command(flatten)]
        selection: SelectionArgs,
    },
    /// The points of all analysed series, in parts for engines such as Spark, with all that `sprag detect --parquet` takes.
    Series {
        /// The output folder; it must be new, empty or an earlier export.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
        /// Add what came since the last export as new parts, and keep the others.
        #[arg(long)]
        since_last: bool,
        /// Into how many buckets series are divided; each task detects in one or more of them. Default: those of the last export
        /// with `--since-last`, else 16.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
        buckets: Option<u32>,
        /// The window of the largest changes and the geometric means, in days, as of `sprag trend`.
        #[arg(long, value_name = "N", default_value_t = 28, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
        #[command(flatten)]
        detection: DetectionArgs,
    },
    /// CSV: one line per run and benchmark, with the columns of the Parquet table; or the long form that `import` reads.
    Csv {
        /// Write the long form: one line per commit, benchmark and metric, from the newest run of each commit.
        #[arg(long)]
        long: bool,
        #[command(flatten)]
        text: ExportTextArgs,
    },
    /// JSON Lines: one object per run, benchmark and metric.
    Jsonl(ExportTextArgs),
    /// OpenMetrics text: the newest value of each series, for Prometheus and compatible systems.
    Openmetrics(ExportTextArgs),
}

#[derive(Args, Debug)]
pub struct ExportTextArgs {
    /// The file to write; `-` is standard output.
    #[arg(long, default_value = "-", value_name = "FILE")]
    pub out: PathBuf,
    #[command(flatten)]
    pub selection: SelectionArgs,
}

#[derive(Args, Debug)]
pub struct SelectionArgs {
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Only this machine, by its name or its id.
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    /// Only runs from this UTC date or time on, such as 2026-11-21 or 2026-11-21T04:05:06Z.
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Only runs up to this UTC date, inclusive, or time.
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// Only this metric, such as `time`, and benchmarks that have it.
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
}

pub fn completions(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "sprag", &mut script);
    out.write_all(&script)
}

/// By file name, such as `sprag-history-add.1`: one for `sprag` and each visible command.
pub fn man_pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    add(&root, "sprag", &mut pages)?;
    Ok(pages)
}

fn add(command: &clap::Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name.to_uppercase()).render(&mut page)?;
    pages.push((format!("{name}.1"), page));
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        add(part, &format!("{name}-{}", part.get_name()), pages)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_has_completions_of_every_command() {
        use clap::ValueEnum as _;
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            completions(*shell, &mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            for word in ["weekly", "download-from", "skip-bad"] {
                assert!(script.contains(word), "{shell} has no `{word}`");
            }
        }
    }

    #[test]
    fn each_visible_command_has_a_page() {
        let pages = man_pages().unwrap();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["sprag.1", "sprag-weekly.1", "sprag-history-add.1", "sprag-kernels-check.1"] {
            assert!(names.contains(&name), "{name} is not among {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("worker") || name.contains("guard") || name.contains("help")));
        for (name, page) in &pages {
            let page = String::from_utf8_lossy(page);
            assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
        }
    }
}
