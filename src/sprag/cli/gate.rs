//! The options of the commands that judge: `check`, `compare` and `baseline`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, Args, Subcommand};

use crate::cli::run::{EffortArgs, Word, words};
use sprag_pipeline::gate::{Inconclusive, PrintFormat};

const EXITS: &str = "Exit codes: 0 pass; 1 regressed or missing; 2 usage error; 3 inconclusive, not comparable or no \
    baseline (see --inconclusive); 4 a record is damaged; 5 not measured.";

/// The options that `check` and `compare` share.
#[derive(Args, Clone, Debug)]
pub struct JudgeArgs {
    /// Use the rules of this file instead of those of the baseline. It holds `[rules]`, as sprag.toml does.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Let every metric pass that is at most this much worse, such as `10%`, instead of using the rules of the baseline.
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "policy", allow_hyphen_values = true)]
    pub tolerance: Option<f64>,
    /// Write a report, as `FORMAT=PATH`. Formats: json, md, junit, sarif, github, summary, trend. `-` is stdout. May be given
    /// several times.
    #[arg(long = "report", value_name = "FORMAT=PATH")]
    pub reports: Vec<String>,
    /// Output format.
    #[arg(long, value_name = "FORMAT", value_parser = words(&FORMATS), default_value = "table")]
    pub format: PrintFormat,
    /// The same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Exit as `git bisect run` expects: 0 good, 1 slower, 125 skip, 128 usage error.
    #[arg(long)]
    pub bisect: bool,
    /// What to do when the result is inconclusive, not comparable or has no baseline.
    #[arg(long, value_name = "WHAT", value_parser = words(&INCONCLUSIVE), default_value = "report")]
    pub inconclusive: Inconclusive,
}

#[derive(Args, Clone, Debug)]
#[command(after_help = EXITS)]
pub struct CheckArgs {
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// The run to judge: a file (default: the newest run of this machine at HEAD).
    ///
    /// It may be a record, results of another tool, a report of Apex-X, a text of Criterion or a ground truth of tt-metal.
    #[arg(long, value_name = "FILE", conflicts_with = "measure")]
    pub run: Option<PathBuf>,
    /// Measure now instead of using a recorded run. Nothing is recorded.
    #[arg(long)]
    pub measure: bool,
    #[command(flatten)]
    pub effort: EffortArgs,
    /// What to compare with: a baseline file, a run file, a commit, a tag, `baseline` or `history`.
    ///
    /// The default is the baseline of this machine class. Without one, it is the last release (a tag such as v1.2) that has
    /// a run. Without that, it is the last eight sessions of this machine.
    #[arg(long, value_name = "WHAT")]
    pub against: Option<String>,
    /// The baseline file to compare with. A file of another tool needs a baseline of the same tool.
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    pub baseline: Option<PathBuf>,
    /// Judge and print exactly as the check of Trueno or tt-metal does, for their files only.
    #[arg(long, requires_all = ["run", "baseline"], conflicts_with = "tolerance")]
    pub compatible: bool,
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// Write the summary of Apex-X to this file.
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Write the trend artifact of Apex-X to this file.
    #[arg(long, value_name = "FILE")]
    pub trend_output: Option<PathBuf>,
    /// Replay the history through the rules, and print how often each rule is wrong. Judges nothing.
    #[arg(long, conflicts_with_all = ["run", "measure", "against", "baseline", "summary", "trend_output", "bisect", "tolerance"])]
    pub calibrate: bool,
}

const INCONCLUSIVE: [Word<Inconclusive>; 3] = [
    ("report", "Exit with 3", Inconclusive::Report),
    ("ok", "Exit with 0", Inconclusive::Ok),
    ("fail", "Exit with 1", Inconclusive::Fail),
];

const FORMATS: [Word<PrintFormat>; 3] = [
    ("table", "Text for a terminal", PrintFormat::Table),
    ("md", "GitHub Markdown", PrintFormat::Markdown),
    ("json", "JSON", PrintFormat::Json),
];

const PAIRS: [(&str, &str); 4] = [
    (
        "quick",
        "Three process pairs, the fewest that can be judged: detects large changes only. The default is twice the \
        `processes` of the suite, so ten",
    ),
    ("rigorous", "At least fifteen process pairs: detects smaller changes"),
    (
        "budget",
        "As many process pairs as fit in this time, such as `60s`. Stops early once intervals are within 1 %, except those \
        of `dram` kernels",
    ),
    ("pin", "Pin both sides to this CPU, counted from 0"),
];

#[derive(Args, Debug)]
#[command(after_help = EXITS, mut_args(of_pairs))]
pub struct CompareArgs {
    /// The base: a commit, a tag, a run file, a baseline file, or results of another tool. With `--measure`: a revision, the
    /// path of a program in place of that of a `command` suite, or a command with arguments in one word.
    #[arg(value_name = "BASE")]
    pub base: String,
    /// The other side: the same, except a baseline.
    #[arg(value_name = "OTHER")]
    pub other: String,
    /// Build both and measure them interleaved, instead of comparing recorded results.
    #[arg(long)]
    pub measure: bool,
    /// Only this suite; may be given several times. With `--measure`: one suite whose commits can be built.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Print only what changed or could not be judged. Counts and reports cover everything.
    #[arg(long)]
    pub only_changed: bool,
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// With `--measure`: take suites and rules from `sprag.toml` of this commit, and say what else the checkout has.
    ///
    /// A gate takes them from the base, so that no change loosens what it is judged by. Suites that the base lacks are taken
    /// from the checkout.
    #[arg(long, value_name = "COMMIT", requires = "measure", conflicts_with = "policy")]
    pub config_from: Option<String>,
    /// With `--measure`: only benchmarks whose id contains this text; may be given several times.
    #[arg(long = "filter", value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub filters: Vec<String>,
    #[command(flatten)]
    pub effort: EffortArgs,
}

/// Reads `10%`, `2.5 %` or `0.1`.
fn share(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0);
    let (share, percent) = match text.strip_suffix('%') {
        Some(percent) => (number(percent).map(|percent| percent / 100.0), None),
        None => (number(text).filter(|share| *share < 1.0), number(text)),
    };
    let hint =
        percent.map_or_else(|| "give a percentage, such as `10%`".to_owned(), |n| format!("did you mean `{n}%`?"));
    share.filter(|share| *share <= 1.0).ok_or(hint)
}

/// The options of an effort with words about pairs of processes.
fn of_pairs(arg: Arg) -> Arg {
    let words = PAIRS.iter().find(|(name, _)| arg.get_id() == *name);
    words.map_or(arg.clone(), |(_, words)| arg.help(*words))
}

#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Write a baseline from the newest run of this machine at HEAD; the old one goes to `baselines/archive/`.
    Emit {
        /// Only this suite; may be given several times.
        #[arg(long = "suite", value_name = "NAME")]
        suites: Vec<String>,
        /// The run to take: a record file, or a report of Apex-X (default: the newest run of this machine at HEAD).
        #[arg(long, value_name = "FILE")]
        run: Option<PathBuf>,
        /// Take the recorded runs of this machine at that commit or tag.
        #[arg(long, value_name = "REV", conflicts_with = "run")]
        from: Option<String>,
        /// Write the baseline to this new file, to be reviewed and accepted.
        ///
        /// A report of Apex-X needs this option: its baseline keeps its own format.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// A note on why, stored in the file.
        #[arg(long, value_name = "TEXT")]
        notes: Option<String>,
    },
    /// Accept a proposed baseline, or the newest run of this machine at HEAD, as the baseline in use.
    #[command(
        after_help = "The old baseline goes to baselines/archive/ unchanged. --metric takes over some metrics only, as for \
        an intended slowdown of one kernel."
    )]
    Accept {
        /// A baseline that `baseline emit --output` wrote, or one of the archive (default: taken from the newest run of this
        /// machine at HEAD).
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// The reason; stored in the file.
        #[arg(long, value_name = "TEXT")]
        why: String,
        /// Only this suite; may be given several times.
        #[arg(long = "suite", value_name = "NAME")]
        suites: Vec<String>,
        /// Accept only metrics whose key, `<benchmark id> <metric>`, contains this text. May be given several times.
        #[arg(long = "metric", value_name = "TEXT")]
        metrics: Vec<String>,
        /// Accept a run of some benchmarks only; the others keep their values.
        #[arg(long)]
        partial: bool,
        /// Accept a run that measured uncommitted changes.
        #[arg(long)]
        dirty: bool,
    },
    /// List the baselines with their commits, rules and who accepted them.
    List {
        /// Include the archive.
        #[arg(long)]
        archive: bool,
        /// Print JSON instead of the table.
        #[arg(long)]
        json: bool,
    },
    /// Show the differences between two baselines by metric, largest change first.
    #[command(
        after_help = "Without FILE, each baseline is compared with the one it replaced. One FILE is compared with the \
        one it replaced if it is in use, else with the one in use. A diff judges nothing and exits with 0."
    )]
    Diff {
        /// The earlier baseline.
        #[arg(value_name = "FILE")]
        from: Option<PathBuf>,
        /// The later baseline.
        #[arg(value_name = "OTHER", conflicts_with = "run")]
        to: Option<PathBuf>,
        /// Compare with the newest run of this machine at HEAD.
        #[arg(long)]
        run: bool,
        /// Only this suite; may be given several times.
        #[arg(long = "suite", value_name = "NAME")]
        suites: Vec<String>,
        /// Print JSON instead of the table.
        #[arg(long)]
        json: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_tolerance_is_a_percentage() {
        for (text, expected) in [
            ("10%", Ok(0.1)),
            ("2.5 %", Ok(0.025)),
            ("0.1", Ok(0.1)),
            ("0%", Ok(0.0)),
            ("10", Err("did you mean `10%`?")),
            ("1", Err("did you mean `1%`?")),
            ("-1%", Err("give a percentage, such as `10%`")),
            ("101%", Err("give a percentage, such as `10%`")),
            ("ten", Err("give a percentage, such as `10%`")),
            ("NaN%", Err("give a percentage, such as `10%`")),
        ] {
            assert_eq!(share(text), expected.map_err(str::to_owned), "{text}");
        }
    }
}
