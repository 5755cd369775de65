//! The options of `detect`.

use std::path::PathBuf;

use clap::Args;

use super::words::{Word, words};
use sprag_pipeline::config::SensitivityName;

/// Options of `detect`.
#[derive(Args, Debug)]
pub struct DetectArgs {
    /// A table with the header `series,index,commit,time,value`, one row a point.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write what was found to this file in place of standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How much it takes to call something a change.
    #[arg(long, value_parser = words(&SENSITIVITIES), default_value = "balanced")]
    pub sensitivity: SensitivityName,
    /// The least relative change that counts, such as 0.01 for 1 %.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub least: Option<f64>,
    /// More is better, as of rates: strays lie below the other points then, not above.
    #[arg(long)]
    pub more_is_better: bool,
    /// Tell what each beginning of every series gives, as though it grew point by point. One series of 20,000 points can be
    /// looked at so, or 400 of a thousand; longer ones are refused.
    #[arg(long)]
    pub stream: bool,
}

/// How much it takes to call something a change.
pub(super) const SENSITIVITIES: [Word<SensitivityName>; 3] = [
    ("strict", "Half of the false alarms, and fewer changes", SensitivityName::Strict),
    ("balanced", "Well under one false alarm in ten thousand points", SensitivityName::Balanced),
    ("loose", "More changes, and more false alarms", SensitivityName::Loose),
];

pub(super) fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "it is no number".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("from 0 to 1 is allowed (0.01 is 1 %)".to_owned()) }
}
