//! `sprag history log`: the recorded runs, newest first.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;

use super::filter::Filter;
use crate::cli::LogArgs;
use crate::cmd::project::Project;
use crate::cmd::{Exit, text};
use crate::history;
use crate::model::commit::NO_COMMIT;
use crate::model::history_log::{HistoryLog, LoggedRun, SCHEMA_VERSION};

pub(super) fn run(folder: &Path, args: &LogArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let branch = args.branch.as_deref().or(project.config.history.reference.as_deref());
    let source = history::source(store, branch)?;
    let loaded = history::load(store, &source).context("cannot read the history")?;
    if loaded.tip.is_none() && args.branch.is_some() {
        return Err(crate::cmd::Advice {
            message: format!("there is no branch `{}`", text::printable(&source.reference)),
            hint: "see `git branch --list` for those that exist".to_owned(),
        }
        .into());
    }
    // Runs come oldest first.
    let runs: Vec<LoggedRun> = loaded.runs.iter().rev().map(LoggedRun::of).collect();
    let filter = Filter::of(args, &runs, store)?;
    let is_empty = runs.is_empty();
    let mut runs: Vec<LoggedRun> = runs.into_iter().filter(|run| filter.takes(run)).collect();
    let matching = runs.len();
    if args.limit > 0 {
        runs.truncate(args.limit);
    }
    let log = HistoryLog {
        schema_version: SCHEMA_VERSION,
        reference: loaded.reference,
        tip: loaded.tip,
        matching: matching as u64,
        quarantined: loaded.quarantined.len() as u64,
        runs,
    };
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&log)?)?;
    } else if is_empty {
        writeln!(out, "no run is recorded on {} yet", text::printable(&log.reference))?;
        eprintln!(
            "hint: `sprag run --record` measures and records; `sprag history add FILE` records what was measured"
        );
    } else {
        write!(out, "{}", table(&log.runs))?;
        if log.runs.len() < matching {
            eprintln!("{} of {matching} runs; `--limit 0` lists all", log.runs.len());
        } else if matching == 0 {
            eprintln!("no run is like that");
        }
    }
    if log.quarantined > 0 {
        let files = text::count(loaded.quarantined.len(), "file");
        crate::cmd::warn(&format!("{files} of the history cannot be used; `sprag history fsck` tells why"));
    }
    Ok(Exit::Done)
}

/// The runs as columns.
fn table(runs: &[LoggedRun]) -> String {
    let row = |run: &LoggedRun| {
        let commit = run.commit.as_deref().map_or(NO_COMMIT, |sha| sha.get(..12).unwrap_or(sha));
        let failed = if run.failed > 0 { format!(" ({} failed)", run.failed) } else { String::new() };
        let reasons = run.reason.iter().chain(&run.quality.reasons).cloned().collect::<Vec<_>>().join("; ");
        let quality = match (run.quality.clean, reasons.is_empty()) {
            (true, true) => "clean".to_owned(),
            (true, false) => reasons,
            (false, true) => "not clean".to_owned(),
            (false, false) => format!("not clean: {reasons}"),
        };
        let cells = [
            run.timestamp_utc.format("%Y-%m-%d %H:%M:%SZ").to_string(),
            run.suite.clone(),
            run.status.word().to_owned(),
            format!("{commit}{}", if run.dirty { "+" } else { "" }),
            run.machine.name.clone(),
            format!("{}{failed}", run.benchmarks),
            run.id.clone(),
            quality,
        ];
        cells.map(|cell| text::printable(&cell)).to_vec()
    };
    let head = ["time", "suite", "status", "commit", "machine", "benchmarks", "run", "quality"].map(str::to_owned);
    let mut rows = vec![head.to_vec()];
    rows.extend(runs.iter().map(row));
    if runs.is_empty() { String::new() } else { text::columns(&rows, &[5]) }
}
