//! The command line of `release`.

use std::path::PathBuf;

use chrono::NaiveDate;
use clap::{ArgGroup, Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum ReleaseCommand {
    /// Fill the checklist of a release from what is recorded: go or no-go, what blocks, and what to do next. Exits with 1
    /// where it is no-go, and with 4 where recorded data are damaged or were changed.
    Checklist(ChecklistArgs),
    /// Write all that a release rests on into a folder, with a statement that others can verify without us.
    Attest(AttestArgs),
    /// Verify such a folder offline: digests, history, statement, signature, and every verdict from the records again.
    /// Exits with 4 where anything disagrees, and names the file and the byte.
    Verify(VerifyReleaseArgs),
    /// Write an entry of the ledger for review: a regression that is accepted, or an item of a release that is waived.
    Waive(WaiveArgs),
}

#[derive(Args, Debug)]
pub struct ReleaseArgs {
    /// The release, as `release/releases.toml` names it and says what it is for.
    #[arg(value_name = "TAG")]
    pub tag: String,
    /// Where a file of the checklist lies; again for each.
    #[arg(long = "artifact", value_name = "KEY=PATH")]
    pub artifacts: Vec<String>,
}

#[derive(Args, Debug)]
pub struct ChecklistArgs {
    #[command(flatten)]
    pub release: ReleaseArgs,
    /// Write CHECKLIST.md and checklist.json into this folder.
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AttestFormat {
    /// An in-toto statement, SHA256SUMS and all files they are about.
    #[default]
    InToto,
    /// The attestation of Apex-X, JSON and Markdown, its statuses derived.
    ApexX,
}

#[derive(Args, Debug)]
pub struct AttestArgs {
    #[command(flatten)]
    pub release: ReleaseArgs,
    /// The folder to write; must not exist or be empty.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Sign the statement with this key: one of SSH, or ed25519 as PKCS#8 in PEM. Apex-X's form has none.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// What to write.
    #[arg(long, value_enum, default_value_t)]
    pub format: AttestFormat,
    /// Who releases, for Apex-X's form alone (default: git's user).
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
}

#[derive(Args, Debug)]
pub struct VerifyReleaseArgs {
    /// What `release attest` wrote.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// A clone of the repository that it is about (default: the current one).
    #[arg(long, value_name = "FOLDER")]
    pub repository: Option<PathBuf>,
    /// Whose SSH signature counts, as `ssh-keygen -Y verify` reads it.
    #[arg(long, value_name = "FILE", conflicts_with = "public_key")]
    pub allowed_signers: Option<PathBuf>,
    /// The key whose signature counts: ed25519 in PEM, or a public key of SSH.
    #[arg(long, value_name = "FILE")]
    pub public_key: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
#[command(
    group(ArgGroup::new("what").required(true).args(["event", "release"])),
    after_help = "The entry goes to a file of its own under ledger/; nothing that is there is changed. It takes effect \
    once committed, until its last day is over: have it reviewed."
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
    /// Who answers for it (default: your git identity).
    #[arg(long, value_name = "TEXT")]
    pub author: Option<String>,
    /// The first day on which it holds, in UTC (default: today).
    #[arg(long, value_name = "DAY")]
    pub date: Option<NaiveDate>,
    /// The last day on which it holds, in UTC, such as 2026-12-31 (default: 90 days after the first).
    #[arg(long, value_name = "DAY")]
    pub expires: Option<NaiveDate>,
}
