//! The command line of what a release rests on: `release checklist`, `attest` and `verify`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Which release is looked at, and with which files.
#[derive(Args, Debug)]
pub struct LookArgs {
    /// The release, as `release/releases.toml` names it and says what it is for.
    #[arg(value_name = "TAG")]
    pub tag: String,
    /// Where a file of the checklist lies; again for each.
    #[arg(long = "artifact", value_name = "KEY=PATH")]
    pub artifacts: Vec<String>,
}

/// Options of `release checklist`.
#[derive(Args, Debug)]
pub struct ChecklistArgs {
    /// What is looked at.
    #[command(flatten)]
    pub look: LookArgs,
    /// Write CHECKLIST.md and checklist.json into this folder.
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// The form of what `release attest` writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AttestFormat {
    /// An in-toto statement, SHA256SUMS and all files they are about.
    #[default]
    InToto,
    /// The attestation of Apex-X, JSON and Markdown, its statuses derived.
    ApexX,
}

/// Options of `release attest`.
#[derive(Args, Debug)]
pub struct AttestArgs {
    /// What is looked at.
    #[command(flatten)]
    pub look: LookArgs,
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

/// Options of `release verify`.
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
