//! The command line of `release`.

use clap::Subcommand;

use super::evidence::{AttestArgs, ChecklistArgs, VerifyReleaseArgs};
use super::waive::WaiveArgs;

/// What `release` does.
#[derive(Debug, Subcommand)]
pub enum ReleaseCommand {
    /// Fill the checklist of a release from what is recorded: go or no-go, what blocks, and what to do next. Exits with 1
    /// where it is no-go, and with 4 where what is recorded does not hold together.
    Checklist(ChecklistArgs),
    /// Write all that a release rests on into a folder, with a statement that others can verify without us.
    Attest(AttestArgs),
    /// Verify such a folder offline: digests, history, statement, signature, and every verdict from the records again.
    /// Exits with 4 where anything disagrees, and names the file and the byte.
    Verify(VerifyReleaseArgs),
    /// Write an entry of the ledger for review: a regression that is accepted, or an item of a release that is waived.
    Waive(WaiveArgs),
}
