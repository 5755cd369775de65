//! The options of `history` and `import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::run::{Word, words};
use sprag_history::AfterRewrite;
use sprag_model::{Better, RunStatus};

#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// Record finished run files, as `run --output-run` writes them, all in one commit.
    Add {
        /// Run files; folders, of which every `*.json` below is taken; `-` for one run on standard input.
        ///
        /// Files are not trusted: their size, schema and, if the name has an id, their content are checked. Links are not
        /// followed. Records that the history already has are skipped.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Record the good files even if some are bad; report the bad ones and exit with 1.
        #[arg(long)]
        skip_bad: bool,
        /// Refuse runs of any other suite; may be given several times.
        #[arg(long = "expect-suite", value_name = "NAME")]
        expect_suites: Vec<String>,
        /// Refuse runs of any other commit: the start of its id, or a revision.
        #[arg(long, value_name = "COMMIT")]
        expect_commit: Option<String>,
        /// Refuse runs that are older.
        #[arg(long, value_name = "DAYS")]
        max_age: Option<u32>,
        /// Record runs that are dated more than a day after the clock of this machine.
        #[arg(long)]
        allow_future: bool,
    },
    /// Take a run out of every analysis. Its record stays, and a second record says why.
    Retract {
        /// The run: its id, six digits or more of it, or the path of its record.
        #[arg(value_name = "RUN")]
        run: String,
        /// The reason, in one line: what is wrong with the run, or with `--undo` why it is right after all.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Use the run again. The retraction stays recorded, and a further record undoes it.
        #[arg(long)]
        undo: bool,
    },
    /// Synchronise the history with a remote: fetch, merge and push records, never by force.
    #[command(after_help = "Only records are pushed. They always stay on the local branch.")]
    Sync {
        /// The remote (default: that of the branch's upstream, else `origin`, else the only one).
        #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
        remote: Option<String>,
        /// What to do if the remote has lost records that it had after the last sync.
        #[arg(long, value_name = "WHAT", value_parser = words(&AFTER_REWRITE))]
        after_rewrite: Option<AfterRewrite>,
        /// Fetch, and print what would be pushed.
        #[arg(long)]
        dry_run: bool,
    },
    /// List the recorded runs, newest first.
    Log {
        /// Only this suite; may be given several times.
        #[arg(long = "suite", value_name = "NAME")]
        suites: Vec<String>,
        /// Only this machine: its name, or the start of its id; may be given several times.
        #[arg(long = "machine", value_name = "NAME")]
        machines: Vec<String>,
        /// Only runs of this commit: the start of its id, or a revision such as HEAD~3 or a tag.
        #[arg(long, value_name = "COMMIT")]
        commit: Option<String>,
        /// Only runs with this status; may be given several times.
        #[arg(long = "status", value_name = "STATUS", value_parser = words(&STATUSES))]
        statuses: Vec<RunStatus>,
        /// Only runs from this time on: a date such as 2026-05-31, or RFC 3339.
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Only runs up to this time; of a date, up to its end.
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        /// Read this branch (default: `ref` of `[history]`, or the current branch).
        #[arg(long, value_name = "NAME")]
        branch: Option<String>,
        /// The most runs to list; 0 lists all.
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: usize,
        /// Print JSON instead of the list.
        #[arg(long)]
        json: bool,
    },
    /// Move runs of past months out of git into Parquet snapshots, or back.
    ///
    /// Notes on the branch keep the proof of what left. Put the folder of the snapshots as `archive` under `[history]` in
    /// sprag.toml, and every command reads them.
    #[command(group = clap::ArgGroup::new("way").required(true).args(["before", "restore"]))]
    Archive {
        /// Archive all runs of the months that end before this month or date, such as 2025-01.
        #[arg(long, value_name = "DATE")]
        before: Option<String>,
        /// The folder to write the snapshots to, a file a year (default: `archive` of `[history]`).
        #[arg(long, value_name = "FOLDER", conflicts_with = "restore")]
        out: Option<PathBuf>,
        /// Bring the runs of these snapshots back to the branch.
        #[arg(long, value_name = "FILE", num_args = 1..)]
        restore: Vec<PathBuf>,
    },
    /// Check the integrity of the history. Exits with 4 on damage; `--repair` repairs it.
    Fsck {
        /// Quarantine damaged files, restore lost records and update working trees. Nothing is deleted.
        #[arg(long)]
        repair: bool,
        /// An earlier output of `history root`: the history must still begin with the runs of that root.
        #[arg(long, value_name = "ROOT")]
        against: Option<String>,
        /// Print JSON instead of the list.
        #[arg(long)]
        json: bool,
    },
    /// Print the Merkle root of all runs. Note it down elsewhere to detect a rewritten history.
    Root {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Prove that a run is in the history or that the history only grew; or check such a proof.
    #[command(group = clap::ArgGroup::new("what").required(true).args(["run", "since", "check"]))]
    Prove {
        /// The run: its id, six digits or more of it, or the path of its record.
        #[arg(value_name = "RUN")]
        run: Option<String>,
        /// Prove that the history begins with the runs of this earlier root.
        #[arg(long, value_name = "ROOT")]
        since: Option<String>,
        /// Check the proof in this file; needs no repository.
        #[arg(long, value_name = "FILE", conflicts_with = "output")]
        check: Option<PathBuf>,
        /// The root that the proof must lead to, as you noted it down.
        #[arg(long, value_name = "ROOT", requires = "check")]
        root: Option<String>,
        /// Write the proof to this file (default: standard output).
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Fill the cache of decoded runs, and print its size.
    ///
    /// Commands that read the whole history do the same by themselves. SPRAG_CACHE=off switches the cache off.
    Cache,
}

const AFTER_REWRITE: [Word<AfterRewrite>; 2] = [
    ("restore", "Put every lost or changed record back as it was after the last sync", AfterRewrite::Restore),
    (
        "accept",
        "Accept the remote's rewritten history: delete local records it removed, then push newer ones",
        AfterRewrite::Accept,
    ),
];

const STATUSES: [Word<RunStatus>; 3] = [
    ("ok", "It was measured", RunStatus::Ok),
    ("skipped", "It could not be measured on its machine", RunStatus::Skipped),
    ("failed", "It failed", RunStatus::Failed),
];

#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Files or folders of results that another tool wrote.
    #[arg(required_unless_present = "list", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The format, if it cannot be detected from the files; see `--list`.
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// The suite (default: its name in the source, else that of the tool); a prefix if the source has several suites.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub suite: Option<String>,
    /// The machine that measured, instead of the one named in the source.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub machine: Option<String>,
    /// The commit that was measured, if the source names none (default: that of HEAD), or `none`.
    #[arg(long, value_name = "REVISION")]
    pub commit: Option<String>,
    /// The time of the measurement, if the source has none, such as 2026-11-21T12:00:00Z (default: the commit's time).
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Which values are better, for all metrics, whatever the source says.
    #[arg(long, value_name = "WAY", value_parser = words(&BETTER))]
    pub better: Option<Better>,
    /// Print what would be recorded, and record nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// The most bytes that one PATH may hold (default: 268435456).
    #[arg(long, value_name = "N")]
    pub max_bytes: Option<u64>,
    /// Import runs that are dated more than a day after the clock of this machine.
    #[arg(long)]
    pub allow_future: bool,
    /// List the formats that can be imported.
    #[arg(long, conflicts_with = "paths")]
    pub list: bool,
}

const BETTER: [Word<Better>; 2] =
    [("lower", "Such as times and sizes", Better::Lower), ("higher", "Such as rates", Better::Higher)];

/// A name from an unset variable would stay in the history.
fn name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("a name is needed; is a variable not set?".to_owned())
    } else {
        Ok(text.to_owned())
    }
}
