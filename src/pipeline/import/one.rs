//! One file of another tool as a run, for a command that compares and records nothing.

use std::path::Path;

use crate::error::Context as _;
use chrono::DateTime;

use super::{convert, source};
use crate::Advice;
use sprag_formats::registry;
use sprag_model::run::RecordedRun;

/// Reads a file or folder in a format that is known; of several runs in it the newest counts, with a word on the others.
///
/// # Errors
/// When it cannot be read, is of no format, or holds no run.
pub fn foreign(path: &Path) -> crate::Result<RecordedRun> {
    let outputs = source::read(path, source::MOST_BYTES)?;
    // A text with Trueno's head is one of Criterion's, too.
    let is_trueno = registry::recognise(&outputs).iter().any(|format| format.name == "trueno");
    let named = is_trueno.then_some("trueno");
    let (format, outputs) = source::format(path, outputs, named).map_err(|error| Advice {
        message: error.to_string(),
        hint:
            "give a record, a baseline, or results in a format that `sprag import --list` names; what has to be named \
               there is recorded first"
                .to_owned(),
    })?;
    let mut imported =
        (format.read)(&outputs).with_context(|| format!("cannot read `{}` as {}", path.display(), format.name))?;
    if imported.runs.len() > 1 {
        let shown = path.display();
        crate::notices::note(&format!("`{shown}` holds {} runs; the newest counts", imported.runs.len()));
    }
    imported.runs.sort_by_key(|run| run.time);
    let newest = imported.runs.pop().with_context(|| format!("`{}` holds no run", path.display()))?;
    let of = convert::Source { format: format.name, tool: imported.tool, tool_version: imported.tool_version };
    // Equal files give equal runs: what a file does not tell is the same of all of them.
    let time = newest.time.unwrap_or(DateTime::UNIX_EPOCH);
    let (suite, machine) = (format.name.to_owned(), convert::NO_MACHINE.to_owned());
    let run = convert::run(&of, newest, convert::Place { suite, commit: None, machine, time });
    let (id, ..) = run.to_record();
    Ok(RecordedRun { path: path.display().to_string(), id, run })
}
