//! The command line of `release`.

use std::path::PathBuf;

use chrono::NaiveDate;
use clap::{ArgGroup, Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum ReleaseCommand {
    /// Decide go or no-go from the recorded data, and list what blocks and what to do next. Exits with 1 on no-go, and with
    /// 4 if recorded data are damaged or were changed.
    Checklist(ChecklistArgs),
    /// Write the evidence of a release to a folder, with a statement that anyone can verify offline.
    Attest(AttestArgs),
    /// Verify the folder of `attest` offline: digests, history, signature, and every status derived again. Exits with 4 on
    /// any difference, and names the file and the byte.
    Verify(VerifyReleaseArgs),
    /// Accept a regression or waive a checklist item: writes an entry of the ledger for review.
    Waive(WaiveArgs),
}

#[derive(Args, Debug)]
pub struct ReleaseArgs {
    /// The release, by its name in `release/releases.toml`.
    #[arg(value_name = "TAG")]
    pub tag: String,
    /// The path of a file that the checklist asks for; may be given several times.
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
    /// An in-toto statement, SHA256SUMS and all files that they name.
    #[default]
    InToto,
    /// The attestation of Apex-X as JSON and Markdown.
    ApexX,
}

#[derive(Args, Debug)]
pub struct AttestArgs {
    #[command(flatten)]
    pub release: ReleaseArgs,
    /// The folder to write; must not exist or be empty.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Sign the statement with this key: an SSH key, or ed25519 as PKCS#8 in PEM. Not with `--format apex-x`.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// What to write.
    #[arg(long, value_enum, default_value_t)]
    pub format: AttestFormat,
    /// The owner of the release, with `--format apex-x` only (default: the user of git).
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
}

#[derive(Args, Debug)]
pub struct VerifyReleaseArgs {
    /// The folder that `release attest` wrote.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// A clone of the repository of the release (default: the current one).
    #[arg(long, value_name = "FOLDER")]
    pub repository: Option<PathBuf>,
    /// The signers to trust, a file as `ssh-keygen -Y verify` reads it.
    #[arg(long, value_name = "FILE", conflicts_with = "public_key")]
    pub allowed_signers: Option<PathBuf>,
    /// The public key to trust: ed25519 in PEM, or an SSH public key.
    #[arg(long, value_name = "FILE")]
    pub public_key: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
#[command(
    group(ArgGroup::new("what").required(true).args(["event", "release"])),
    after_help = "The entry goes to a file of its own under ledger/; existing entries stay as they are. It takes effect \
    once committed, and ends after its last day. Have it reviewed."
)]
pub struct WaiveArgs {
    /// Accept the change of this event, such as e-0a1b2c; `sprag trend` lists events.
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
    /// The reason; kept in the entry, and shown wherever it applies.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// The largest relative change that is accepted, such as 0.12 for 12 % worse (default: the change of the event).
    #[arg(long, value_name = "SHARE", conflicts_with = "release")]
    pub at_most: Option<f64>,
    /// The series that are accepted: `event` for all, a part of `benchmark metric`, or either with ` on MACHINE` (default: event).
    #[arg(long, value_name = "SCOPE", conflicts_with = "release")]
    pub scope: Option<String>,
    /// Who takes responsibility (default: your git identity).
    #[arg(long, value_name = "TEXT")]
    pub author: Option<String>,
    /// The first day on which it applies, in UTC (default: today).
    #[arg(long, value_name = "DAY")]
    pub date: Option<NaiveDate>,
    /// The last day on which it applies, in UTC, such as 2026-12-31 (default: 90 days after the first).
    #[arg(long, value_name = "DAY")]
    pub expires: Option<NaiveDate>,
}
