//! The options of `trend`.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

use super::detect::{SENSITIVITIES, share};
use super::words::words;
use sprag_pipeline::config::SensitivityName;

/// Options of `trend`.
#[derive(Args, Debug)]
pub struct TrendArgs {
    /// In which form to tell it.
    #[arg(long, value_enum, default_value_t = TrendFormat::Table)]
    pub format: TrendFormat,
    /// Write it to this file in place of standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How much it takes to call something a change, for all metrics (default: `sensitivity` of `[trend]`).
    #[arg(long, value_parser = words(&SENSITIVITIES))]
    pub sensitivity: Option<SensitivityName>,
    /// The least relative change that counts, such as 0.01 for 1 %, for all metrics (default: `least` of `[trend]`).
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub least: Option<f64>,
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Only this machine: its name, or the start of its id.
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Only benchmarks whose id contains this; may be given several times.
    #[arg(long = "filter", value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub filters: Vec<String>,
    /// The commits that lead to this one, first parents only, are the order of points.
    #[arg(long, value_name = "REVISION", default_value = "HEAD")]
    pub branch: String,
    /// Order by all commits that the branch holds, those of merged branches, too.
    #[arg(long)]
    pub all_parents: bool,
    /// The present, against which the schedule is held: RFC 3339, such as 2026-05-31T12:00:00Z (default: now).
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub as_of: Option<DateTime<Utc>>,
    /// How many days make up a window of the movers and the geometric means.
    #[arg(long, value_name = "N", default_value_t = 28, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: u32,
    /// List events that may be chance or were taken back, too.
    #[arg(long)]
    pub all: bool,
    /// Write what became of events to the history, under history/v1/_events/.
    #[arg(long)]
    pub record: bool,
}

/// In which form a trend is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrendFormat {
    /// Text for a terminal.
    Table,
    /// One JSON document with all of it; `sprag schema trend-1` describes it.
    Json,
    /// Markdown of GitHub's dialect, for a digest or the summary of a job.
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

    fn read(words: &[&str]) -> Option<TrendArgs> {
        let words = ["sprag", "trend"].iter().chain(words);
        match Cli::try_parse_from(words).ok()?.command {
            Command::Trend(args) => Some(args),
            _ => None,
        }
    }

    #[test]
    fn what_is_not_given_is_left_to_the_project() {
        let args = read(&[]).expect("nothing has to be given");
        assert_eq!((args.format, args.days, args.branch.as_str()), (TrendFormat::Table, 28, "HEAD"));
        assert!(args.sensitivity.is_none() && args.least.is_none() && args.as_of.is_none() && args.machine.is_none());
        assert!(!args.all && !args.all_parents && !args.record);
    }

    #[test]
    fn options_are_read_and_faulty_ones_refused() {
        let args = read(&[
            "--suite",
            "a",
            "--suite",
            "b",
            "--filter",
            "x",
            "--format",
            "md",
            "--as-of",
            "2026-05-31T12:00:00+02:00",
        ]);
        let args = args.expect("all of it is known");
        assert_eq!((args.suites.len(), args.filters.len(), args.format), (2, 1, TrendFormat::Md));
        assert_eq!(args.as_of.map(|time| time.to_rfc3339()).as_deref(), Some("2026-05-31T10:00:00+00:00"));
        for wrong in [
            ["--days", "0"],
            ["--days", "3651"],
            ["--least", "1.5"],
            ["--as-of", "2026-05-31"],
            ["--sensitivity", "very"],
            ["--format", "xml"],
        ] {
            assert!(read(&wrong).is_none(), "{wrong:?}");
        }
        assert!(read(&["--days", "3650"]).is_some());
    }
}
