//! The ledger of a project: `ledger/*.toml` beside its baselines.

use std::fs;
use std::io;

use crate::error::Context as _;
use chrono::{DateTime, Utc};

use crate::project::Project;
use crate::{Advice, text};
use sprag_base::files::read_bounded;
use sprag_base::toml::TomlError;
use sprag_evidence::ledger::{self, MOST_BYTES};
use sprag_history::{self as history, Head};
use sprag_model::ledger::{FOLDER, Ledger};

/// Reads all files of the ledger, in the order of their names; one that is not there is empty.
pub fn read(project: &Project) -> crate::Result<Ledger> {
    of(&files(project)?).map_err(|error| faulty(&error.to_string()).into())
}

/// Likewise, with one more file that is not there yet.
pub fn read_with(project: &Project, path: &str, text: &str) -> crate::Result<Ledger> {
    let mut files = files(project)?;
    files.push((path.to_owned(), text.as_bytes().to_vec()));
    let hint = "nothing was written; `--date` and `--expires` name other days".to_owned();
    of(&files).map_err(|error| Advice { message: text::printable(&error.to_string()), hint }.into())
}

fn of(files: &[(String, Vec<u8>)]) -> Result<Ledger, TomlError> {
    ledger::read(files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())))
}

/// The files of the ledger: path from the root of the project, and content.
fn files(project: &Project) -> crate::Result<Vec<(String, Vec<u8>)>> {
    let folder = project.root.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot list `{}`", folder.display())),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list `{}`", folder.display()))?.path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let shown = format!("{FOLDER}/{name}");
        // What is there and is no file must not look like a file that is not there; a pipe has no end.
        let bytes = match fs::metadata(&path) {
            Ok(found) if !found.is_file() => Err("is no file".to_owned()),
            _ => read_bounded(&path, MOST_BYTES).map_err(|error| format!("cannot be read: {error}")),
        };
        files.push((shown.clone(), bytes.map_err(|fault| faulty(&format!("`{shown}` {fault}")))?));
    }
    files.sort();
    Ok(files)
}

fn faulty(message: &str) -> Advice {
    Advice {
        message: text::printable(message),
        hint: "mend the entry, or take it out; nothing is accepted by a ledger that cannot be read as a whole"
            .to_owned(),
    }
}

/// The moment by which pages read the ledger: that of the newest run, or of the commit that is checked out where that is later, as
/// an entry counts from the day on which it is committed. So equal repositories give equal pages.
pub fn time(project: &Project, newest: DateTime<Utc>) -> crate::Result<DateTime<Utc>> {
    let Some(store) = project.find_store() else { return Ok(newest) };
    let commit = match history::facts(store)?.head {
        Head::Branch { commit, .. } | Head::Detached { commit } => history::find_commit(store, &commit)?,
        Head::Unborn { .. } => None,
    };
    Ok(commit.map_or(newest, |commit| commit.commit_time.max(newest)))
}
