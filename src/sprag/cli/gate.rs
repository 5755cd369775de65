//! The options of the commands that judge: `check`, `compare` and `baseline`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::run::{EffortArgs, PairEffortArgs};
use super::words::{Word, words};
use sprag_pipeline::gate::Inconclusive;

/// What the exit codes of the commands that judge mean.
const EXITS: &str = "Exit codes: 0 pass; 1 something is worse or missing; 2 used wrongly; 3 inconclusive, not comparable or \
    without a baseline (see --inconclusive); 4 a record is damaged; 5 what should be judged was not measured.";

/// Options of `check`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXITS)]
pub struct CheckArgs {
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// The run to judge: a record file, results of another tool, or a report of Apex-X, a text of Criterion or a ground
    /// truth of tt-metal (default: the newest run of this machine at HEAD).
    #[arg(long, value_name = "FILE", conflicts_with = "measure")]
    pub run: Option<PathBuf>,
    /// Measure now what is judged, as `--quick`, `--rigorous`, `--budget` and `--pin` say; nothing of it is recorded.
    #[arg(long)]
    pub measure: bool,
    /// How much time `--measure` may take.
    #[command(flatten)]
    pub effort: EffortArgs,
    /// What to hold it against: a baseline file, a run file, a commit, a tag, `baseline` or `history`.
    ///
    /// By default the baseline of the class of this machine; where there is none, the last release (a tag such as v1.2) that
    /// has a run; where there is none either, the last eight sessions of this machine before it.
    #[arg(long, value_name = "WHAT")]
    pub against: Option<String>,
    /// The baseline file to hold it against; for a foreign file one of its own kind.
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    pub baseline: Option<PathBuf>,
    /// Judge and print as Trueno's or tt-metal's own check does, with all that it passes over; for files of theirs only.
    #[arg(long, requires_all = ["run", "baseline"])]
    pub compatible: bool,
    /// Judge by the rules of this file, which holds `[rules]` as sprag.toml does; they go before those of a baseline.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Write what was found to a file: json, md, junit, sarif, github, summary or trend, as `FORMAT=PATH`; may be given
    /// several times, and `-` is standard output.
    #[arg(long = "report", value_name = "FORMAT=PATH")]
    pub reports: Vec<String>,
    /// Write what the check found to this file in the form of Apex-X.
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Write the trend artifact of Apex-X to this file.
    #[arg(long, value_name = "FILE")]
    pub trend_output: Option<PathBuf>,
    /// Judge nothing; replay the history through the rules, and say how often each would have been wrong and what it finds.
    #[arg(long, conflicts_with_all = ["run", "measure", "against", "baseline", "summary", "trend_output", "bisect"])]
    pub calibrate: bool,
    /// With `--calibrate`: print one JSON object in place of the tables.
    #[arg(long, requires = "calibrate")]
    pub json: bool,
    /// Exit as `git bisect run` wants it: 0 good, 1 slower, 125 cannot tell, 128 used wrongly.
    #[arg(long)]
    pub bisect: bool,
    /// The exit code of a check that comes out inconclusive, not comparable or without a baseline.
    #[arg(long, value_parser = words(&INCONCLUSIVE), default_value = "report")]
    pub inconclusive: Inconclusive,
}

/// What an inconclusive outcome is taken for.
const INCONCLUSIVE: [Word<Inconclusive>; 3] = [
    ("report", "Exit with 3", Inconclusive::Report),
    ("ok", "Exit with 0", Inconclusive::Ok),
    ("fail", "Exit with 1", Inconclusive::Fail),
];

/// Options of `compare`.
#[derive(Args, Debug)]
#[command(after_help = EXITS)]
pub struct CompareArgs {
    /// The base: a commit, a tag, a run file, a baseline file, or results of another tool; with `--measure` a revision, or for
    /// a suite of the kind `cpu` the path of a `sprag` program.
    #[arg(value_name = "BASE")]
    pub base: String,
    /// What is held against it, likewise, but no baseline.
    #[arg(value_name = "OTHER")]
    pub other: String,
    /// Build and measure both now, taking turns, in place of looking at what was recorded; `--quick`, `--rigorous`, `--budget`,
    /// `--pin` and `--filter` say how much.
    #[arg(long)]
    pub measure: bool,
    /// Only this suite; may be given several times (with `--measure` one of the kind `cpu` or
    /// `command`; the only one of these, or `cpu`, where none is named).
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Print only what changed or could not be judged; counts are of all, and so are the files of `--report`.
    #[arg(long)]
    pub only_changed: bool,
    /// Judge by the rules of this file, which holds `[rules]` as sprag.toml does; they go before those of a baseline.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// With `--measure`: only benchmarks whose id contains this text; may be given several times.
    #[arg(long = "filter", value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub filters: Vec<String>,
    /// How much time `--measure` may take.
    #[command(flatten)]
    pub effort: PairEffortArgs,
    /// Write what was found to a file: json, md, junit, sarif, github, summary or trend, as `FORMAT=PATH`; may be given
    /// several times, and `-` is standard output.
    #[arg(long = "report", value_name = "FORMAT=PATH")]
    pub reports: Vec<String>,
    /// Print one JSON object in place of the table.
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print Markdown in place of the table.
    #[arg(long)]
    pub markdown: bool,
    /// Exit as `git bisect run` wants it: 0 good, 1 slower, 125 cannot tell, 128 used wrongly.
    #[arg(long)]
    pub bisect: bool,
    /// The exit code of a comparison that comes out inconclusive, not comparable or without a baseline.
    #[arg(long, value_parser = words(&INCONCLUSIVE), default_value = "report")]
    pub inconclusive: Inconclusive,
}

/// What to do about baselines.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Write a baseline from the newest run of this machine at HEAD; the old one goes to `baselines/archive/`.
    Emit(BaselineEmitArgs),
    /// Make a proposed baseline, or the newest run of this machine at HEAD, what later runs are held against.
    #[command(
        after_help = "The old one goes to baselines/archive/ as it is. --metric takes over some metrics only: that is how \
        an intended slowdown of one kernel is accepted."
    )]
    Accept(BaselineAcceptArgs),
    /// List the baselines: of what they are, by which rules they judge, and who accepted them.
    List(BaselineListArgs),
    /// Tell what differs between two baselines, metric by metric, the largest change first.
    #[command(
        after_help = "Without FILE, each baseline is held against the one it replaced. One FILE is held against the \
        one it replaced where it is in use, else against the one in use. A diff judges nothing: it exits with 0."
    )]
    Diff(BaselineDiffArgs),
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
    /// Take the recorded runs of this machine at that commit or tag.
    #[arg(long, value_name = "REV", conflicts_with = "run")]
    pub from: Option<String>,
    /// Write the baseline to this file, to be reviewed and accepted; one that is there stays as it is.
    ///
    /// The baseline of a report of Apex-X, in its own format, goes nowhere else.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// A word on why, kept in the file.
    #[arg(long, value_name = "TEXT")]
    pub notes: Option<String>,
}

/// Options of `baseline accept`.
#[derive(Args, Debug)]
pub struct BaselineAcceptArgs {
    /// A baseline that `baseline emit --output` wrote, or one of the archive (default: what the newest run of this machine at
    /// HEAD comes to).
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Why; kept in the file.
    #[arg(long, value_name = "TEXT")]
    pub why: String,
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Take over only metrics whose key, `<benchmark id> <metric>`, contains this text; all others stay as they are. May be
    /// given several times.
    #[arg(long = "metric", value_name = "TEXT")]
    pub metrics: Vec<String>,
    /// Take a run that has some benchmarks only: those that it lacks stay as they are.
    #[arg(long)]
    pub partial: bool,
    /// Take a run that measured files which no commit holds.
    #[arg(long)]
    pub dirty: bool,
}

/// Options of `baseline list`.
#[derive(Args, Debug)]
pub struct BaselineListArgs {
    /// List those of the archive, too.
    #[arg(long)]
    pub archive: bool,
    /// Print one JSON object in place of the table.
    #[arg(long)]
    pub json: bool,
}

/// Options of `baseline diff`.
#[derive(Args, Debug)]
pub struct BaselineDiffArgs {
    /// The baseline that was before.
    #[arg(value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// The baseline that came after.
    #[arg(value_name = "OTHER", conflicts_with = "run")]
    pub to: Option<PathBuf>,
    /// Hold it against what the newest run of this machine at HEAD comes to.
    #[arg(long)]
    pub run: bool,
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Print one JSON object in place of the table.
    #[arg(long)]
    pub json: bool,
}
