//! `sprag history log`: the recorded runs, newest first.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;

use super::filter::Filter;
use crate::cli::LogArgs;
use crate::commands::project::Project;
use crate::commands::{Exit, say, text};
use sprag_history::{self as history, Entry, Store};
use sprag_model::head::RunHead;
use sprag_model::history_log::{HistoryLog, LoggedRun, SCHEMA_VERSION};
use sprag_model::run::{Quarantined, RecordedRun};

pub(super) fn run(folder: &Path, args: &LogArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let branch = args.branch.as_deref().or(project.config.history.reference.as_deref());
    let source = history::source(store, branch)?;
    let listing = history::list(store, &source).context("cannot read the history")?;
    if listing.tip.is_none() && args.branch.is_some() {
        return Err(crate::commands::Advice {
            message: format!("there is no branch `{}`", text::printable(&source.reference)),
            hint: "see `git branch --list` for those that exist".to_owned(),
        }
        .into());
    }
    let (mut heads, quarantined) = heads(&project, store, args.branch.is_none(), &listing.entries)?;
    let quarantined = listing.quarantined.len() + quarantined;
    heads.sort_by(|a, b| (b.timestamp, &b.path).cmp(&(a.timestamp, &a.path)));
    let runs: Vec<LoggedRun> = heads.into_iter().map(LoggedRun::new).collect();
    let filter = Filter::of(args, &runs, store)?;
    let is_empty = runs.is_empty();
    let mut runs: Vec<LoggedRun> = runs.into_iter().filter(|run| filter.takes(run)).collect();
    let matching = runs.len();
    if args.limit > 0 {
        runs.truncate(args.limit);
    }
    let log = HistoryLog {
        schema_version: SCHEMA_VERSION,
        reference: listing.reference,
        tip: listing.tip,
        matching: matching as u64,
        quarantined: quarantined as u64,
        runs,
    };
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&log)?)?;
    } else if is_empty {
        let reference = text::printable(&log.reference);
        if quarantined > 0 {
            // What to do about it is told below.
            writeln!(out, "no run on {reference} can be read")?;
        } else {
            writeln!(out, "no run is recorded on {reference} yet")?;
            say("hint: `sprag run --record` measures and records; `sprag history add FILE` records what was measured");
        }
    } else {
        write!(out, "{}", table(&log.runs))?;
        if log.runs.len() < matching {
            say(&format!("{} of {matching} runs; `--limit 0` lists all", log.runs.len()));
        } else if matching == 0 {
            say("no run is like that");
        }
    }
    if log.quarantined > 0 {
        let files = text::count(quarantined, "file");
        crate::commands::warn(&format!("{files} of the history cannot be used; `sprag history fsck` tells why"));
    }
    Ok(Exit::Done)
}

/// The heads of the runs, and how many records cannot be used. The cache holds the runs of one branch alone, so those of
/// another one are read.
fn heads(
    project: &Project,
    store: &Store,
    is_own_branch: bool,
    entries: &[Entry],
) -> anyhow::Result<(Vec<RunHead>, usize)> {
    if is_own_branch {
        let decoded = sprag_pipeline::run_cache::decode(project, store, entries)?;
        let heads = decoded.runs.into_heads().into_iter().map(|(head, _)| head);
        return Ok((heads.collect(), decoded.quarantined.len()));
    }
    let begin = || (Vec::new(), 0);
    let take =
        |(heads, bad): &mut (Vec<RunHead>, usize), _: usize, record: Result<RecordedRun, Quarantined>| match record {
            Ok(recorded) => heads.push(RunHead::new(&recorded)),
            Err(_) => *bad += 1,
        };
    let shares = history::fold(store, entries, begin, take).context("cannot read the history")?;
    Ok(shares.into_iter().fold(begin(), |mut all, (heads, bad)| {
        all.0.extend(heads);
        (all.0, all.1 + bad)
    }))
}

fn table(runs: &[LoggedRun]) -> String {
    let row = |run: &LoggedRun| {
        let commit = run.commit.as_deref().map_or("-", |sha| sha.get(..12).unwrap_or(sha));
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
