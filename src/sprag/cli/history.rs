//! The options of `history`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::words::{Word, words};
use sprag_history::AfterRewrite;
use sprag_model::run::RunStatus;

/// What to do with the history.
#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// Record finished run files, as `run --output-run` writes them, all in one commit.
    Add(HistoryAddArgs),
    /// Bring the history and that of a remote together: fetch, send what it lacks without force, follow.
    #[command(after_help = "Only records are ever sent. Whatever happens, they stay on the local branch.")]
    Sync(HistorySyncArgs),
    /// List the recorded runs, newest first.
    Log(LogArgs),
    /// Check that the history holds together: exit 4 on damage; with --repair, put it right.
    Fsck(FsckArgs),
    /// Print the root over all runs: noted down elsewhere, it shows later that nothing was rewritten.
    Root(RootArgs),
    /// Prove that a run is in the history, or that the history begins with what it had; or check such a proof.
    Prove(ProveArgs),
    /// Decode the runs that the cache does not hold yet, and tell what it holds.
    ///
    /// Commands that read the whole history do the same by themselves. SPRAG_CACHE=off switches the cache off.
    Cache,
}

/// Options of `history add`.
#[derive(Args, Debug)]
pub struct HistoryAddArgs {
    /// Run files; folders, of which every `*.json` below is taken; `-` for one run on standard input.
    ///
    /// Files are read as data that anyone may have written: their size, their schema and, where the name bears an id,
    /// their content are checked. Links are not followed. A record that the history has already is nothing to do.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Record the good files also where some are bad, name the bad ones, and exit with 1.
    #[arg(long)]
    pub skip_bad: bool,
}

/// Options of `history sync`.
#[derive(Args, Debug)]
pub struct HistorySyncArgs {
    /// The remote (default: that of the branch's upstream, else `origin`, else the only one).
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub remote: Option<String>,
    /// What to do where the remote has lost records that it had after the last sync.
    #[arg(long, value_name = "WHAT", value_parser = words(&AFTER_REWRITE))]
    pub after_rewrite: Option<AfterRewrite>,
    /// Fetch, and only say what would be sent.
    #[arg(long)]
    pub dry_run: bool,
}

/// What to do where records were lost.
const AFTER_REWRITE: [Word<AfterRewrite>; 2] = [
    ("restore", "Put every lost or changed record back as it was after the last sync", AfterRewrite::Restore),
    (
        "accept",
        "Accept the remote's rewritten history: delete local records it removed, then push newer ones",
        AfterRewrite::Accept,
    ),
];

/// How a run ended.
const STATUSES: [Word<RunStatus>; 3] = [
    ("ok", "It ran", RunStatus::Ok),
    ("skipped", "It could not run on its machine", RunStatus::Skipped),
    ("failed", "It broke", RunStatus::Failed),
];

/// Options of `history log`.
#[derive(Args, Debug)]
pub struct LogArgs {
    /// Only this suite; may be given several times.
    #[arg(long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Only this machine: its name, or the start of its id; may be given several times.
    #[arg(long = "machine", value_name = "NAME")]
    pub machines: Vec<String>,
    /// Only runs of this commit: the start of its id, or a revision such as HEAD~3 or a tag.
    #[arg(long, value_name = "COMMIT")]
    pub commit: Option<String>,
    /// Only runs that ended like this; may be given several times.
    #[arg(long = "status", value_name = "STATUS", value_parser = words(&STATUSES))]
    pub statuses: Vec<RunStatus>,
    /// Only runs from this time on: a date such as 2026-05-31, or RFC 3339.
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only runs up to this time; of a date, up to its end.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Read this branch (default: `ref` of `[history]`, or the branch that is checked out).
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// List so many at most; 0 lists all.
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
    /// Print one JSON document in place of the list.
    #[arg(long)]
    pub json: bool,
}

/// Options of `history fsck`.
#[derive(Args, Debug)]
pub struct FsckArgs {
    /// Set damaged files aside, bring back lost records and let working trees catch up; nothing is deleted.
    #[arg(long)]
    pub repair: bool,
    /// A root that `history root` gave earlier: the history must still begin with the runs below it.
    #[arg(long, value_name = "ROOT")]
    pub against: Option<String>,
    /// Print one JSON document in place of the list.
    #[arg(long)]
    pub json: bool,
}

/// Options of `history root`.
#[derive(Args, Debug)]
pub struct RootArgs {
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Options of `history prove`.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["run", "since", "check"]))]
pub struct ProveArgs {
    /// The run: its id, six digits or more of it, or the path of its record.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Prove that the history begins with the runs below this earlier root.
    #[arg(long, value_name = "ROOT")]
    pub since: Option<String>,
    /// Check the proof in this file; needs no repository.
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    pub check: Option<PathBuf>,
    /// The root that the proof must end in, as it was noted down.
    #[arg(long, value_name = "ROOT", requires = "check")]
    pub root: Option<String>,
    /// Write the proof to this file (default: standard output).
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
