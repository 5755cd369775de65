//! `sprag history root`: what is to be kept elsewhere, so that a rewritten history can be known for one.

use std::io::Write;
use std::path::Path;

use crate::cli::RootArgs;
use crate::commands::project::Project;
use crate::commands::{Exit, text};
use sprag_history::{self as history, Entries};
use sprag_model::history_log::{HistoryRoot, SCHEMA_VERSION};

pub(super) fn run(folder: &Path, args: &RootArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let entries = entries(&Project::open(folder)?)?;
    let root = HistoryRoot {
        schema_version: SCHEMA_VERSION,
        reference: entries.reference,
        tip: entries.tip,
        size: entries.tree.len() as u64,
        root: entries.tree.root(),
    };
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&root)?)?;
        return Ok(Exit::Done);
    }
    let tip = root.tip.as_deref().map_or("no commit yet", |tip| tip.get(..12).unwrap_or(tip));
    let runs = text::count(entries.tree.len(), "run");
    writeln!(out, "{}  {runs} on {} at {tip}", root.root, text::printable(&root.reference))?;
    Ok(Exit::Done)
}

/// The list of the project's history.
pub(super) fn entries(project: &Project) -> anyhow::Result<Entries> {
    let store = project.store()?;
    let source = project.source()?;
    Ok(history::entries(store, &source)?)
}
