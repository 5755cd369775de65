//! The subcommands, one file each: the only place where two stages meet.

mod progress;
mod effort;
mod shard;
mod worktree;
mod commit_program;
mod suites;
mod trt_options;
mod history;
mod weekly;
mod seed_report;
mod run;
mod verdicts;
mod gate;
mod seed_gate;
mod foreign_gate;
mod gate_summary;
mod gate_reports;
mod check;
mod calibrate;
mod compare;
mod compare_stored;
mod detect;
mod trend;
mod baseline;
mod site;
mod import;
mod export;
mod schema;
mod init;
mod shells;
mod doctor;
mod worker;
mod guard;
mod kernels;
mod replay;
mod release;
mod demo;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;

use crate::cli::{BaselineCommand, Cli, Command};
use sprag_history::SyncError;
use sprag_pipeline::error::{cause_of, hint_of};
pub use sprag_pipeline::notices::say;
use sprag_pipeline::notices::{note, warn};
pub use sprag_pipeline::{Advice, Trouble};
use sprag_pipeline::{
    acceptance, choose, distinct, ledger, pending, policy, project, publish, revision, run_file, study, text,
};

pub use sprag_measure::memory::CountingAllocator;

/// How a command ended, as the exit code tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// Regressed, or a check failed.
    Failed = 1,
    /// Used wrongly, or the tool could not work.
    Usage = 2,
    /// Inconclusive, not comparable or no baseline.
    Inconclusive = 3,
    /// What is recorded does not hold together.
    Integrity = 4,
    NotMeasured = 5,
    /// Of `--bisect`: this commit cannot tell.
    CannotTell = 125,
    /// Of `--bisect`: used wrongly, or what is recorded does not hold together.
    Abort = 128,
}

impl Exit {
    /// All of them, in the order of their codes, with the word that `action.yml` has for each.
    pub const ALL: [(Exit, &str); 8] = [
        (Exit::Done, "pass"),
        (Exit::Failed, "fail"),
        (Exit::Usage, "error"),
        (Exit::Inconclusive, "inconclusive"),
        (Exit::Integrity, "integrity"),
        (Exit::NotMeasured, "not-measured"),
        (Exit::CannotTell, "error"),
        (Exit::Abort, "error"),
    ];

    /// What it says, as the table in `docs/CI.md` has it.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "done, or passed",
            Exit::Failed => "regressed, missing, or a check failed",
            Exit::Usage => "used wrongly, or it could not work",
            Exit::Inconclusive => "inconclusive, not comparable, or no baseline",
            Exit::Integrity => "what is recorded does not hold together",
            Exit::NotMeasured => "could not measure: everything that was asked for was skipped",
            Exit::CannotTell => "`--bisect` alone: this commit cannot tell",
            Exit::Abort => "`--bisect` alone: used wrongly, or what is recorded does not hold together",
        }
    }
}

/// Does what the command line says; data goes to `out`, progress and warnings to standard error.
///
/// # Errors
/// When the command was used wrongly or could not work, or what is recorded does not hold together; [`exit_of`] tells
/// which.
pub fn run(cli: Cli, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let folder = match cli.repo {
        Some(folder) => folder,
        None => std::env::current_dir().context("cannot tell the current folder")?,
    };
    let folder = std::path::absolute(&folder).with_context(|| format!("cannot enter `{}`", folder.display()))?;
    match cli.command {
        Command::Weekly(args) => weekly::run(&folder, &args, out),
        Command::Run(args) => run::run(&folder, &args, out),
        Command::Check(args) => check::run(&folder, &args, out),
        Command::Compare(args) => compare::run(&folder, &args, out),
        Command::Baseline(command) => match command {
            BaselineCommand::Emit(args) => baseline::emit(&folder, &args, out),
            BaselineCommand::Accept(args) => baseline::accept(&folder, &args, out),
            BaselineCommand::List(args) => baseline::list(&folder, &args, out),
            BaselineCommand::Diff(args) => baseline::diff(&folder, &args, out),
        },
        Command::Detect(args) => detect::run(&folder, &args, out),
        Command::Trend(args) => trend::run(&folder, &args, out),
        Command::Import(args) => import::run(&folder, &args, out),
        Command::History(command) => history::run(&folder, &command, out),
        Command::Site(args) => site::run(&folder, &args, out),
        Command::Export(command) => export::run(&folder, &command, out),
        Command::Schema(args) => schema::run(&args, out),
        Command::Release(command) => release::run(&folder, &command, out),
        Command::Replay(command) => replay::run(&folder, &command, out),
        Command::Conformance(args) => {
            let folders: Vec<PathBuf> = args.folders.iter().map(|one| folder.join(one)).collect();
            let tally = sprag_conformance::run(&folders, out)?;
            Ok(if tally.failed > 0 { Exit::Failed } else { Exit::Done })
        }
        Command::Doctor(args) => doctor::run(&folder, &args, out),
        Command::Init(args) => init::run(&folder, &args, out),
        Command::Demo(args) => demo::run(&folder, &args, out),
        Command::Completions(args) => shells::completions(&args, out),
        Command::Man(args) => shells::man(&folder, &args, out),
        Command::Kernels(command) => kernels::run(&command, out),
        Command::Worker(args) => worker::run(&args, &mut std::io::stdin().lock(), out),
        Command::Guard(args) => guard::run(&args, std::io::stdin().lock()),
    }
}

/// What the user can do about an error, if anyone along its chain knows.
pub fn hint(error: &anyhow::Error) -> Option<String> {
    hint_of(error.as_ref())
}

/// How a command ended that gave an error: mostly it was used wrongly or could not work.
pub fn exit_of(error: &anyhow::Error) -> Exit {
    let is_damage = cause::<SyncError>(error).is_some_and(SyncError::is_integrity)
        || matches!(cause(error), Some(Trouble::Damaged(_)));
    if is_damage { Exit::Integrity } else { Exit::Usage }
}

/// Whether the error is that nobody reads our output any more, as with `sprag … | head`.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    cause::<std::io::Error>(error).is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// The first cause of that type.
fn cause<E: std::error::Error + 'static>(error: &anyhow::Error) -> Option<&E> {
    cause_of(error.as_ref())
}
