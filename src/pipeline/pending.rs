//! Records without loss: a finished run is kept in `.sprag/pending/` until the history has it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::error::WithContext as _;
use crate::project::{self, Project};
use crate::text::{self, say, warn};
use sprag_base::files::{read_bounded, write_atomic};
use sprag_history::{self as history, Appended, HistoryError, Record};
use sprag_measure::clock;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::{Commit, Run};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Just measured and nowhere else, so kept before anything is tried.
    Measured,
    /// The user has the files, so they are kept only if recording fails.
    Files,
}

/// Records runs that were just measured, and returns in a later second: of two runs of one second, none would be newer.
pub fn record_runs(project: &Project, runs: &[Run]) -> crate::Result<()> {
    record(project, &runs.iter().map(Record::from_run).collect::<Vec<_>>(), Origin::Measured)?;
    while runs.iter().any(|run| run.timestamp == clock::now()) {
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

pub fn record(project: &Project, records: &[Record], origin: Origin) -> crate::Result<Appended> {
    let folder = project.pending_folder();
    let mut own = Vec::new();
    if origin == Origin::Measured {
        own = keep(project, records)?;
    }
    let appended = match append(project, records, &folder, &own) {
        Ok(appended) => appended,
        Err(error) => {
            let cause = error.cause::<HistoryError>();
            let blamed = cause.is_some_and(|cause| records.iter().any(|record| cause.blames(&record.path)));
            if origin == Origin::Files && blamed {
                return Err(error);
            }
            if origin == Origin::Files {
                keep(project, records)?;
            }
            let runs = match records.len() {
                1 => "the run is".to_owned(),
                count => format!("the {count} runs are"),
            };
            return Err(error.context(format!("{runs} not recorded; kept in `{}` for the next try", folder.display())));
        }
    };
    for file in &own {
        // A file that stays is recorded already, and found to be so.
        let _ = fs::remove_file(file);
    }
    Ok(appended)
}

fn append(project: &Project, records: &[Record], folder: &Path, own: &[PathBuf]) -> crate::Result<Appended> {
    let store = project.store()?;
    let target = project.target()?;
    let mut earlier = pending_runs(folder, own)?;
    let appended = loop {
        let all: Vec<Record> = records.iter().chain(earlier.iter().map(|(_, record)| record)).cloned().collect();
        match history::append(store, &target, &all, clock::now()) {
            Ok(appended) => break appended,
            Err(error) => {
                // One bad record must not block the others.
                let Some(place) = earlier.iter().position(|(_, record)| error.blames(&record.path)) else {
                    return Err(error.into());
                };
                let (file, _) = earlier.remove(place);
                warn(&format!("`{}` was left where it is: {error}", file.display()));
            }
        }
    };
    appended.warnings.iter().for_each(|warning| warn(warning));
    for (file, _) in &earlier {
        let _ = fs::remove_file(file);
    }
    let branch = text::branch(&appended.reference);
    let earlier_words = match earlier.len() {
        0 => String::new(),
        count => format!(" ({count} kept from an earlier try)"),
    };
    let present = appended.present.len();
    if !appended.added.is_empty() {
        let word = if appended.added.iter().any(|path| path.contains("/_events/")) { "record" } else { "run" };
        say(&format!("recorded {}{earlier_words} on {branch}", text::count(appended.added.len(), word)));
    }
    if present > 0 {
        say(&format!("{} already in the history of {branch}", text::count(present, "run")));
    }
    Ok(appended)
}

fn keep(project: &Project, records: &[Record]) -> crate::Result<Vec<PathBuf>> {
    project.private_folder()?;
    let folder = project.pending_folder();
    let mut files = Vec::new();
    for record in records {
        let name = record.path.rsplit('/').next().unwrap_or(&record.path);
        let file = folder.join(name);
        write_atomic(&file, &record.bytes)?;
        files.push(file);
    }
    Ok(files)
}

/// Warns before measuring if the history will not take the runs. `commit` is set if the working tree is not measured.
pub fn foretell(project: &Project, commit: Option<&Commit>) -> crate::Result<()> {
    let store = project.store()?;
    if commit.is_none() {
        history::measured_commit(store).context("cannot tell which commit would be measured")?;
    }
    let target = history::target(store, project.config.history.reference.as_deref());
    if let Err(error) = target.and_then(|_| history::check_writable(store)) {
        warn(&format!("{error}; the runs will be kept, not recorded"));
        if let Some(hint) = error.hint() {
            say(&format!("hint: {hint}"));
        }
    }
    Ok(())
}

/// Pending records except `own`. Files that hold no record stay, with a warning.
fn pending_runs(folder: &Path, own: &[PathBuf]) -> crate::Result<Vec<(PathBuf, Record)>> {
    let mut runs = Vec::new();
    for file in project::files(folder, "json")?.into_iter().filter(|file| !own.contains(file)) {
        let bytes = match read_bounded(&file, MAX_RECORD_BYTES) {
            Ok(bytes) => bytes,
            // Another process recorded it.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            // It would keep every later run from being recorded.
            Err(error) if matches!(error.kind(), ErrorKind::FileTooLarge | ErrorKind::InvalidInput) => {
                warn(&format!("`{}` cannot be read: {error}; left where it is", file.display()));
                continue;
            }
            Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", file.display())),
        };
        match Run::from_json(&bytes) {
            Ok((_, run)) => runs.push((file, Record::from_run(&run))),
            Err(error) => warn(&format!("`{}` {error}; left where it is", file.display())),
        }
    }
    Ok(runs)
}
