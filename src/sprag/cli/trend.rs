//! The options of `trend` and `detect`.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

use crate::cli::run::{Word, words};
use sprag_pipeline::config::SensitivityName;

#[derive(Args, Debug)]
pub struct DetectArgs {
    /// A table with the header `series,index,commit,time,value`, one row a point; `-` is standard input.
    #[arg(value_name = "FILE", required_unless_present_any = ["parquet", "arrow"])]
    pub file: Option<PathBuf>,
    /// Parts of the dataset that `sprag export series` wrote, or folders of them. The partial result for `sprag trend --from`
    /// goes to `--output`, else to standard output as a stream of Arrow.
    #[arg(long, value_name = "PART", num_args = 1..,
          conflicts_with_all = ["file", "arrow", "sensitivity", "least", "more_is_better", "stream"])]
    pub parquet: Vec<PathBuf>,
    /// Read rows of that dataset from standard input and write the partial result to standard output, as streams of Arrow.
    #[arg(long, requires = "dataset", conflicts_with_all = ["file", "output"])]
    pub arrow: bool,
    /// The folder of that dataset (default: where the first part is).
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["file", "sensitivity", "least", "more_is_better", "stream"])]
    pub dataset: Option<PathBuf>,
    /// Write the results to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How much evidence a change needs.
    #[arg(long, value_parser = words(&SENSITIVITIES), default_value = "balanced")]
    pub sensitivity: SensitivityName,
    /// The smallest relative change to report, such as 0.01 for 1 %.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub least: Option<f64>,
    /// Higher values are better, as for rates.
    #[arg(long)]
    pub more_is_better: bool,
    /// Report the changes for every prefix of each series, as if it grew point by point. The limit is one series of 20,000
    /// points, or 400 series of 1,000.
    #[arg(long)]
    pub stream: bool,
}

pub(super) const SENSITIVITIES: [Word<SensitivityName>; 3] = [
    ("strict", "Fewer false alarms, about half, and fewer changes", SensitivityName::Strict),
    ("balanced", "Well under one false alarm in ten thousand points", SensitivityName::Balanced),
    ("loose", "More changes, and more false alarms", SensitivityName::Loose),
];

pub(super) fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("from 0 to 1 is allowed (0.01 is 1 %)".to_owned()) }
}

/// What is detected, and in which order of commits.
#[derive(Args, Clone, Debug)]
pub struct DetectionArgs {
    /// How much evidence a change needs, for all metrics (default: `sensitivity` of `[trend]`).
    #[arg(long, value_parser = words(&SENSITIVITIES))]
    pub sensitivity: Option<SensitivityName>,
    /// The smallest relative change to report, such as 0.01 for 1 %, for all metrics (default: `least` of `[trend]`).
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub least: Option<f64>,
    /// Order points by the first-parent history of this revision.
    #[arg(long, value_name = "REVISION", default_value = "HEAD")]
    pub branch: String,
    /// Order points by all commits, including merged branches.
    #[arg(long)]
    pub all_parents: bool,
}

#[derive(Args, Debug)]
pub struct TrendArgs {
    /// Output format.
    #[arg(long, value_enum, default_value_t = TrendFormat::Table)]
    pub format: TrendFormat,
    /// Write to this file instead of stdout.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub detection: DetectionArgs,
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Only this machine: its name, or the start of its id.
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Only benchmarks whose id contains this; may be given several times.
    #[arg(long = "filter", value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub filters: Vec<String>,
    /// The time to treat as now, in RFC 3339, such as 2026-05-31T12:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub as_of: Option<DateTime<Utc>>,
    /// The window of the largest changes and the geometric means, in days.
    #[arg(long, value_name = "N", default_value_t = 28, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: u32,
    /// Show this event in full: its id, or the start of it, or `worst`, the worst open regression with several suspects.
    #[arg(long, value_name = "ID", conflicts_with_all = ["format", "details", "all"])]
    pub event: Option<String>,
    /// Show each event in full, and the tables of coverage, movers, noise and schedule. JSON and Markdown always do.
    #[arg(long, conflicts_with = "format")]
    pub details: bool,
    /// Include events that may be chance or were retracted.
    #[arg(long)]
    pub all: bool,
    /// Join these partial results of `sprag detect`, or folders of them, instead of reading the history.
    #[arg(long, value_name = "PARTIAL", num_args = 1.., requires = "dataset")]
    pub from: Vec<PathBuf>,
    /// The dataset that they were detected in, as `sprag export series` wrote it.
    #[arg(long, value_name = "FOLDER", requires = "from")]
    pub dataset: Option<PathBuf>,
    /// Record new and changed events in the history, under history/v1/_events/.
    #[arg(long)]
    pub record: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrendFormat {
    /// Text for a terminal.
    Table,
    /// JSON, as `sprag schema trend-1` describes it.
    Json,
    /// GitHub Markdown, for a digest or a job summary.
    Md,
}

fn moment(text: &str) -> Result<DateTime<Utc>, String> {
    let time = DateTime::parse_from_rfc3339(text).map(|time| time.to_utc());
    time.map_err(|_| "give RFC 3339 with a zone, such as 2026-05-31T12:00:00Z".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn options_are_read_or_refused() {
        let read = |words: &str| match Cli::try_parse_from(format!("sprag trend {words}").split(' ')).ok()?.command {
            Command::Trend(args) => Some(args),
            _ => None,
        };
        let args = read("--suite a").expect("nothing else has to be given");
        assert_eq!((args.format, args.days, args.detection.branch.as_str()), (TrendFormat::Table, 28, "HEAD"));
        let detection = &args.detection;
        assert!(detection.sensitivity.is_none() && detection.least.is_none() && !detection.all_parents);
        assert!(args.as_of.is_none() && args.machine.is_none() && !args.all && !args.record);
        let args = read("--suite a --suite b --filter x --format md").expect("all of it is known");
        assert_eq!((args.suites.len(), args.filters.len(), args.format), (2, 1, TrendFormat::Md));
        let args = read("--days 3650 --as-of 2026-05-31T12:00:00+02:00").expect("all of it is known");
        assert_eq!(args.as_of.map(|time| time.to_rfc3339()).as_deref(), Some("2026-05-31T10:00:00+00:00"));
        for wrong in
            ["--days 0", "--days 3651", "--least 1.5", "--as-of 2026-05-31", "--sensitivity very", "--format xml"]
        {
            assert!(read(wrong).is_none(), "{wrong}");
        }
    }
}
