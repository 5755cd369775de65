//! `sprag history sync`: brings the history and that of a remote together.

use std::io::Write;
use std::path::Path;

use super::super::project::Project;
use super::super::text::{count, printable};
use super::super::{Exit, note, warn};
use crate::cli::{AfterRewriteArg, HistorySyncArgs};
use sprag_history::{self as history, AfterRewrite, LocalBranch, SyncOptions, Synced};
use sprag_measure::clock;

pub(in crate::commands) fn run(folder: &Path, args: &HistorySyncArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let target = history::target(store, project.config.history.reference.as_deref())?;
    let after_rewrite = args.after_rewrite.map(|after| match after {
        AfterRewriteArg::Restore => AfterRewrite::Restore,
        AfterRewriteArg::Accept => AfterRewrite::Accept,
    });
    let options = SyncOptions { remote: args.remote.clone(), after_rewrite, dry_run: args.dry_run };
    let synced = history::sync(store, &target, &options, std::env::vars_os(), clock::now())?;
    for warning in &synced.warnings {
        warn(warning);
    }
    if let LocalBranch::Waits { reason, command } = &synced.local {
        let local = target.reference.trim_start_matches("refs/heads/");
        note(&format!("`{local}` stays where it is: {reason}; run `{command}`"));
    }
    writeln!(out, "{}", line(&synced, args.dry_run))?;
    if args.dry_run {
        for path in &synced.sent {
            writeln!(out, "  {}", printable(path))?;
        }
    }
    Ok(Exit::Done)
}

/// What was done, or in a dry run would be, in one line.
fn line(synced: &Synced, dry_run: bool) -> String {
    let records = |number| if number == 0 { "nothing".to_owned() } else { count(number, "record") };
    let (sent, received) = (records(synced.sent.len()), records(synced.received));
    let branch = printable(&synced.branch);
    if dry_run {
        return format!("{branch}: would send {sent} and receive {received}");
    }
    let attempts = count(synced.attempts as usize, "attempt");
    format!("{branch}: sent {sent}, received {received} ({attempts})")
}
