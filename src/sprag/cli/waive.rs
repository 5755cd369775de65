//! The options of `release waive`.

use chrono::NaiveDate;
use clap::{ArgGroup, Args};

/// Options of `release waive`.
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("what").required(true).args(["event", "release"])),
    after_help = "The entry goes to a file of its own under ledger/; nothing that is there is changed. It counts once it is \
    there, and until its last day is over: have it reviewed, and commit it."
)]
pub struct WaiveArgs {
    /// Accept what this event did, such as e-0a1b2c; `sprag trend` lists them.
    #[arg(long, value_name = "ID")]
    pub event: Option<String>,
    /// Waive an item of the checklist of this release.
    #[arg(long, value_name = "NAME", requires = "item")]
    pub release: Option<String>,
    /// The id of the item.
    #[arg(long, value_name = "ID", requires = "release", conflicts_with = "event")]
    pub item: Option<String>,
    /// Only for this runtime target (default: all).
    #[arg(long, value_name = "NAME", requires = "item", conflicts_with = "event")]
    pub target: Option<String>,
    /// Why; kept in the entry, and shown wherever it counts.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// The largest relative change that is accepted, such as 0.12 for 12 % worse (default: what the event did).
    #[arg(long, value_name = "SHARE", conflicts_with = "release")]
    pub at_most: Option<f64>,
    /// What of it is accepted: `event`, a part of `benchmark metric`, or either with ` on MACHINE` (default: event).
    #[arg(long, value_name = "SCOPE", conflicts_with = "release")]
    pub scope: Option<String>,
    /// Who answers for it (default: as git knows you).
    #[arg(long, value_name = "TEXT")]
    pub author: Option<String>,
    /// The first day on which it holds, in UTC (default: today).
    #[arg(long, value_name = "DAY")]
    pub date: Option<NaiveDate>,
    /// The last day on which it holds, in UTC, such as 2026-12-31 (default: 90 days after the first).
    #[arg(long, value_name = "DAY")]
    pub expires: Option<NaiveDate>,
}
