//! The command line of `release`.

use clap::Subcommand;

use super::waive::WaiveArgs;

/// What `release` does.
#[derive(Debug, Subcommand)]
pub enum ReleaseCommand {
    /// Write an entry of the ledger for review: a regression that is accepted, or an item of a release that is waived.
    Waive(WaiveArgs),
}
