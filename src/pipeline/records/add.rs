//! Finished run files, recorded in one commit.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::incoming::{self, Bad, Incoming, files};
use crate::exit::Exit;
use crate::notices::{say, warn};
use crate::pending::Origin;
use crate::project::Project;
use crate::{Advice, pending, text};
use sprag_history::{self as history, HistoryError, Record, Store};

pub fn add(
    folder: &Path,
    paths: &[PathBuf],
    skip_bad: bool,
    input: &mut dyn Read,
    out: &mut dyn Write,
) -> crate::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    let (mut good, mut bad) = incoming::read(folder, paths, input)?;
    bad.iter().for_each(report);
    while !good.is_empty() && (bad.is_empty() || skip_bad) {
        let records: Vec<Record> = good.iter().map(|one| one.record.clone()).collect();
        match pending::record(&project, &records, Origin::Files) {
            Ok(appended) => {
                warn_of_absent_commits(store, &good);
                for path in &appended.added {
                    writeln!(out, "{path}")?;
                }
                break;
            }
            // The history refuses one of the files, which no check of the file alone could tell.
            Err(error) => bad.push(refused(&mut good, error)?),
        }
    }
    Ok(match (bad.is_empty(), bad.iter().any(|one| one.is_damaged), skip_bad) {
        (true, ..) => Exit::Done,
        (false, true, _) => Exit::Integrity,
        (false, false, true) => Exit::Failed,
        (false, false, false) => {
            let message = format!("nothing was recorded: {} of {} cannot be", bad.len(), files(good.len() + bad.len()));
            let hint = "mend or leave out what is named above, or record the others with `--skip-bad`".to_owned();
            return Err(Advice { message, hint }.into());
        }
    })
}

/// Takes the file that the history refuses out of the good ones.
fn refused(good: &mut Vec<Incoming>, error: crate::Error) -> crate::Result<Bad> {
    let history_error = error.cause::<HistoryError>();
    let place = history_error.and_then(|error| good.iter().position(|one| error.blames(&one.record.path)));
    let Some(place) = place else { return Err(error) };
    let bad = Bad::new(&good.remove(place).name, format!("is refused by the history: {error}"));
    report(&bad);
    if let Some(hint) = history_error.and_then(HistoryError::hint) {
        say(&format!("hint: {}", text::printable(&hint)));
    }
    Ok(bad)
}

fn report(bad: &Bad) {
    say(&format!("error: {}", text::printable(&format!("`{}` {}", bad.name, bad.reason))));
    if let Some(hint) = bad.hint {
        say(&format!("hint: {hint}"));
    }
}

/// A run may be of a commit that was squashed since, or that a shallow clone leaves out: its numbers stand all the same.
fn warn_of_absent_commits(store: &Store, recorded: &[Incoming]) {
    let commits: BTreeSet<&str> = recorded.iter().filter_map(|one| one.commit.as_deref()).collect();
    let absent: Vec<&str> = commits.into_iter().filter(|commit| !history::has_commit(store, commit)).collect();
    let Some(first) = absent.first() else { return };
    let commits = text::count(absent.len(), "commit");
    warn(&format!("this repository does not hold {commits} that the runs measured, such as {first}"));
}
