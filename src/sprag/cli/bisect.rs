//! The options of `bisect`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args, ValueEnum};

const EXITS: &str = "Exit codes: 0 a culprit has the asked probability, or no event is open for `--event worst`. 2 usage \
    error; 3 not certain, or the ends do not differ; 5 an end could not be built or measured. Nothing is checked out: commits \
    are built in other folders.";

#[derive(Args, Debug)]
#[command(after_help = EXITS)]
#[command(
    override_usage = "sprag bisect [OPTIONS] <GOOD> [BAD]\n       sprag bisect [OPTIONS] --event <ID>\n       sprag bisect --continue"
)]
#[command(group(ArgGroup::new("sharing").args(["record", "resume"]).multiple(true)))]
pub struct BisectArgs {
    /// The last commit or tag that is fine, an ancestor of BAD; also `GOOD..BAD`.
    #[arg(value_name = "GOOD", required_unless_present_any = ["event", "resume"])]
    pub good: Option<String>,
    /// A commit or tag that is not (default: HEAD). If it is faster, the commit that made it faster is named.
    #[arg(value_name = "BAD")]
    pub bad: Option<String>,
    /// Find the cause of this event instead: its id, or the start of it, as `sprag trend` prints it; or `worst`, the worst
    /// open regression that several commits may have caused.
    #[arg(long, value_name = "ID", conflicts_with_all = ["good", "resume"])]
    pub event: Option<String>,
    /// Go on with the bisection that was interrupted, or that ended without certainty; it records as before.
    #[arg(long = "continue", conflicts_with_all = ["good", "event", "suite", "filters", "metric", "first_parent", "confidence"])]
    pub resume: bool,
    /// This suite, whose commits can be built (default: that of the event, or the only one).
    #[arg(long = "suite", value_name = "NAME")]
    pub suite: Option<String>,
    /// Only benchmarks whose id contains this text; may be given several times.
    #[arg(long = "filter", value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub filters: Vec<String>,
    /// Decide by this metric of the benchmarks, such as `instructions` (default: the judged one).
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Decide by instruction counts, which Valgrind takes, instead of times. For a suite of the kind `command`, all
    /// instructions of the command are counted.
    #[arg(long, conflicts_with_all = ["metric", "resume"])]
    pub instructions: bool,
    /// Stop at a merge instead of going on among the commits that it brought.
    #[arg(long)]
    pub first_parent: bool,
    /// The probability at which a culprit is certain enough.
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = share)]
    pub confidence: f64,
    /// Stop after this time, such as `20m`, even in the middle of a build or a measurement; `--continue` goes on.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub budget: String,
    /// Stop after measuring so many commits; `--continue` goes on.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: Option<u32>,
    /// Pin both sides to this CPU, counted from 0.
    #[arg(long, value_name = "CPU")]
    pub pin: Option<u32>,
    /// Print what would be built and measured, and stop.
    #[arg(long, conflicts_with_all = ["resume", "record", "output_runs", "format", "out", "reports"])]
    pub dry_run: bool,
    /// Record a run of each measured commit in the history, and the bisection of the event. Between two
    /// ends, that is the recorded event of which the culprit is a suspect.
    #[arg(long)]
    pub record: bool,
    /// Write these records to this folder instead, for `sprag history add`.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["record", "shard"])]
    pub output_runs: Option<PathBuf>,
    /// Share the bisection with other jobs, as the I-th of N: records are exchanged with the remote before each step.
    #[arg(long, value_name = "I/N", requires = "sharing")]
    pub shard: Option<String>,
    /// The format of the report.
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "table")]
    pub format: BisectFormat,
    /// Write the report to this file.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Also write the report as `json` or `md`; may be given several times.
    #[arg(long = "report", value_name = "FORMAT=PATH", value_parser = report)]
    pub reports: Vec<(BisectFormat, PathBuf)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BisectFormat {
    /// Text for a terminal.
    Table,
    /// JSON, as `sprag schema bisect-1` describes it.
    Json,
    /// GitHub Markdown, for an issue or a job summary.
    Md,
}

fn report(text: &str) -> Result<(BisectFormat, PathBuf), String> {
    let pair = text.split_once('=').filter(|(format, path)| *format != "table" && !path.is_empty());
    let report = pair.and_then(|(format, path)| Some((BisectFormat::from_str(format, false).ok()?, path.into())));
    report.ok_or_else(|| "write a format and a file, as in `json=bisect.json` or `md=bisect.md`".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.5..=0.999).contains(share));
    share.ok_or_else(|| "give a share from 0.5 to 0.999, such as 0.95".to_owned())
}
