//! Brings the history and that of a remote together; and what the cache holds of it.

use std::io::Write;
use std::path::Path;

use crate::error::Context as _;
use crate::exit::Exit;
use crate::notices::{note, warn};
use crate::project::Project;
use crate::study;
use crate::text::{count, printable};
use sprag_analysis::frame::Frame;
use sprag_history::{self as history, LocalBranch, SyncOptions, Synced};
use sprag_measure::clock;

pub fn sync(folder: &Path, options: &SyncOptions, out: &mut dyn Write) -> crate::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let target = history::target(store, project.config.history.reference.as_deref())?;
    let synced = history::sync(store, &target, options, std::env::vars_os(), clock::now())?;
    for warning in &synced.warnings {
        warn(warning);
    }
    if let LocalBranch::Waits { reason, command } = &synced.local {
        let local = target.reference.trim_start_matches("refs/heads/");
        note(&format!("`{local}` stays where it is: {reason}; run `{command}`"));
    }
    writeln!(out, "{}", line(&synced, options.dry_run))?;
    if options.dry_run {
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

/// Decodes what the cache lacks, as ahead of a job that must be quick.
pub fn cache(folder: &Path, out: &mut dyn Write) -> crate::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let study::Loaded { facts, runs } = study::load(&project, store)?;
    let line = history::commit_line(store, None).context("cannot read the commits")?;
    let (n_runs, n_values) = (runs.heads().len(), runs.n_values());
    let n_series = Frame::new(&runs, &line).series.len();
    writeln!(out, "{}, {} in {n_series} series", count(n_runs, "run"), count(n_values, "value"))?;
    if !facts.quarantined.is_empty() {
        writeln!(out, "{} quarantined", count(facts.quarantined.len(), "record"))?;
    }
    match crate::cache::size(&project) {
        Some(bytes) => {
            writeln!(out, "kept in {} of {bytes} bytes under `.sprag/cache`", count(usize::from(bytes > 0), "file"))?;
        }
        None => writeln!(out, "no cache is kept")?,
    }
    Ok(Exit::Done)
}
