//! The command line of `release`.

use clap::Subcommand;

use super::evidence::ChecklistArgs;

/// What `release` does.
#[derive(Debug, Subcommand)]
pub enum ReleaseCommand {
    /// Fill the checklist of a release from what is recorded: go or no-go, what blocks, and what to do next. Exits with 1
    /// where it is no-go, and with 4 where what is recorded does not hold together.
    Checklist(ChecklistArgs),
}
