//! The command line of `replay`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

/// What `replay` does.
#[derive(Debug, Subcommand)]
pub enum ReplayCommand {
    /// Write the manifest of a run, or run a fixture and write what it came to.
    Record(RecordArgs),
    /// Hold manifests and fixtures against the files that they name and against this build. Exits with 4 where one fails.
    Verify(VerifyArgs),
}

/// Options of `replay record`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("what").required(true).args(["config", "fixture"])))]
pub struct RecordArgs {
    /// The settings of a run, a JSON object: writes its manifest.
    #[arg(long, value_name = "FILE", requires = "seed")]
    pub config: Option<PathBuf>,
    /// The seed of the run.
    #[arg(long, requires = "config")]
    pub seed: Option<u64>,
    /// A file of the run, by its name; again for each.
    #[arg(long = "artifact", value_name = "NAME=PATH", requires = "config")]
    pub artifacts: Vec<String>,
    /// A selection to run: writes it with what it came to.
    #[arg(long, value_name = "FILE")]
    pub fixture: Option<PathBuf>,
    /// Write the trace of the fixture there, too.
    #[arg(long, value_name = "FILE", requires = "fixture")]
    pub trace: Option<PathBuf>,
    /// Write the manifest of the fixture there, too; it names the trace.
    #[arg(long, value_name = "FILE", requires = "trace")]
    pub manifest: Option<PathBuf>,
    /// Where to write it (default: standard output).
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Options of `replay verify`.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// Manifests and fixtures.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The folder that paths in manifests count from (default: the current one).
    #[arg(long, value_name = "FOLDER")]
    pub root: Option<PathBuf>,
}
