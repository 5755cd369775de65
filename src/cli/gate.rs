//! The options of the commands that judge: `check`, `compare` and `baseline`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::run::EffortArgs;

/// Options of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// The run to judge: a record file, or a report of Apex-X (default: the newest run of this machine at HEAD).
    #[arg(long, value_name = "FILE")]
    pub run: Option<PathBuf>,
    /// The baseline to hold it against (default: `baselines/<suite>.<class>.json`); of Apex-X for a report of its own.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write what the check found to this file as Apex-X does; with a report of its own only.
    #[arg(long, value_name = "FILE", requires = "run")]
    pub summary: Option<PathBuf>,
    /// Write the trend artifact of Apex-X to this file; with a report of its own only.
    #[arg(long, value_name = "FILE", requires = "run")]
    pub trend_output: Option<PathBuf>,
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
    /// The run to take: a record file, or a report of Apex-X (default: the newest run of this machine at HEAD).
    #[arg(long, value_name = "FILE")]
    pub run: Option<PathBuf>,
    /// Where the baseline of a report of Apex-X goes, in its own format; a file that is there stays as it is.
    #[arg(long, value_name = "FILE", requires = "run")]
    pub output: Option<PathBuf>,
    /// A word on why, kept in the file.
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub notes: String,
}
