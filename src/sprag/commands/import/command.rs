//! The command: reads, converts, records.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use chrono::{DateTime, NaiveDate, Utc};

use super::converted::Converted;
use super::plan::Plan;
use crate::cli::ImportArgs;
use crate::commands::project::Project;
use crate::commands::text::{columns, count, printable};
use crate::commands::{Advice, Exit, note, study, warn};
use sprag_formats::registry::FORMATS;
use sprag_history as history;
use sprag_measure::clock;
use sprag_model::imported::Imported;
use sprag_pipeline::import::source;

/// How many notes of a source are printed; the rest is counted.
const MOST_NOTES: usize = 10;

/// Imports what the arguments name.
///
/// # Errors
/// When a file cannot be read or is of no format, or the history cannot take the runs. Nothing is recorded then.
pub(crate) fn run(folder: &Path, args: &ImportArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if args.list {
        let rows: Vec<Vec<String>> =
            FORMATS.iter().map(|format| vec![format.name.to_owned(), format.title.to_owned()]).collect();
        write!(out, "{}", columns(&rows, &[]))?;
        return Ok(Exit::Done);
    }
    let project = Project::open(folder)?;
    let store = project.store()?;
    let target = history::target(store, project.config.history.reference.as_deref())?;
    let heads = study::load(&project, store)?.runs;
    let time = args.time.as_deref().map(time_of).transpose()?;
    let mut plan = Plan::new(args, store, time, heads.heads())?;
    drop(heads);
    let mut read = Vec::new();
    for path in &args.paths {
        let path = folder.join(path);
        let outputs = source::read(&path, args.max_bytes.unwrap_or(source::MOST_BYTES))?;
        let (format, outputs) = source::format(&path, outputs, args.format.as_deref())?;
        let imported = (format.read)(&outputs)
            .with_context(|| format!("cannot import `{}` as {}", path.display(), format.name))?;
        tell_notes(&imported);
        read.push((format, imported));
    }
    for (format, imported) in read {
        plan.take(format, imported)?;
    }
    plan.tell_what_was_assumed();
    let Plan { runs, present, .. } = plan;
    let converted = Converted::of(runs, !args.dry_run);
    converted.tell(present, args.dry_run, out)?;
    if converted.records.is_empty() {
        return Ok(Exit::Done);
    }
    let appended = history::append(store, &target, &converted.records, clock::now()).context("nothing was imported")?;
    appended.warnings.iter().for_each(|warning| warn(warning));
    let branch = appended.reference.trim_start_matches("refs/heads/");
    writeln!(out, "recorded {} on {}", count(appended.added.len(), "run"), printable(branch))?;
    Ok(Exit::Done)
}

/// A time as RFC 3339 has it, or a date.
fn time_of(text: &str) -> anyhow::Result<DateTime<Utc>> {
    let date = || text.parse::<NaiveDate>().ok().and_then(|date| date.and_hms_opt(0, 0, 0)).map(|time| time.and_utc());
    let time = DateTime::parse_from_rfc3339(text).map(|time| time.to_utc()).ok().or_else(date);
    time.ok_or_else(|| {
        let message = format!("`{}` is no time", printable(text));
        Advice { message, hint: "write it as 2026-11-21T12:00:00Z or 2026-11-21".to_owned() }.into()
    })
}

fn tell_notes(imported: &Imported) {
    for text in imported.notes.iter().take(MOST_NOTES) {
        note(text);
    }
    if imported.notes.len() > MOST_NOTES {
        note(&format!("{} more like these", imported.notes.len() - MOST_NOTES));
    }
}
