//! The ledger of a project: `ledger/*.toml`.

use chrono::{DateTime, Utc};

use crate::project::{self, Project};
use crate::{Advice, text};
use sprag_base::toml::TomlError;
use sprag_evidence::ledger::{self, MOST_BYTES};
use sprag_history as history;
use sprag_model::Ledger;
use sprag_model::ledger::FOLDER;

/// In order of names; empty if there are none.
pub fn read(project: &Project) -> crate::Result<Ledger> {
    parse(&files(project)?).map_err(|error| faulty(&error.to_string()).into())
}

/// With one more file, which is not written yet.
pub fn read_with(project: &Project, path: &str, text: &str) -> crate::Result<Ledger> {
    let mut files = files(project)?;
    files.push((path.to_owned(), text.as_bytes().to_vec()));
    let hint = "nothing was written; `--date` and `--expires` name other days";
    parse(&files).map_err(|error| Advice::new(text::printable(&error.to_string()), hint).into())
}

fn parse(files: &[(String, Vec<u8>)]) -> Result<Ledger, TomlError> {
    ledger::read(files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())))
}

fn files(project: &Project) -> crate::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for path in project::files(&project.root.join(FOLDER), "toml")? {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let shown = format!("{FOLDER}/{name}");
        let bytes = project::read_regular(&path, MOST_BYTES);
        let bytes = bytes.map_err(|fault| faulty(&format!("`{shown}` {fault}")))?;
        files.push((shown, bytes));
    }
    Ok(files)
}

fn faulty(message: &str) -> Advice {
    Advice::new(
        text::printable(message),
        "fix the entry, or remove it; while a part of the ledger cannot be read, nothing is accepted",
    )
}

/// The newest run, or the checked-out commit if later: an entry counts from its commit's day. Equal repositories, equal pages.
pub fn time(project: &Project, newest: DateTime<Utc>) -> crate::Result<DateTime<Utc>> {
    let Some(store) = project.find_store() else { return Ok(newest) };
    let Some(head) = history::facts(store)?.commit else { return Ok(newest) };
    let commit = history::find_commit(store, &head)?;
    Ok(commit.map_or(newest, |commit| commit.commit_time.max(newest)))
}
