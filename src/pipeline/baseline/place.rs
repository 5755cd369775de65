//! The file of a baseline, and how it is replaced.
//!
//! The old file is copied to the archive first, so that an interruption loses nothing. The archived name has suite,
//! class, time and run, and a number if that name is taken. No archived file is overwritten.

use std::fs::{self, File};
use std::path::Path;

use crate::error::WithContext as _;
use crate::project::{self, BASELINE_ARCHIVE, Project};
use crate::text::{self, warn};
use crate::{Advice, refuse};
use sprag_base::files::{read_bounded, write_atomic, write_new};
use sprag_history as history;
use sprag_measure::clock;
use sprag_model::baseline::BaselineAcceptance;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::{Baseline, BaselineError};

const LOCK: &str = "baselines.lock";

pub(super) struct Place<'p> {
    project: &'p Project,
    pub path: String,
    present: Option<(Vec<u8>, Baseline)>,
}

/// Waits while another process replaces baselines.
pub(super) fn lock(project: &Project) -> crate::Result<File> {
    project::locked(&project.private_folder()?.join(LOCK), &|| {})
}

impl<'p> Place<'p> {
    pub(super) fn open(project: &'p Project, suite: &str, class: &str) -> crate::Result<Place<'p>> {
        let path = Baseline::path(suite, class);
        let file = project.root.join(&path);
        if fs::metadata(&file).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(move_away(format!("`{path}` is not a file, so it is not replaced")).into());
        }
        let bytes = match read_bounded(&file, MAX_RECORD_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Place { project, path, present: None });
            }
            Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", file.display())),
        };
        let present = match Baseline::from_json(&bytes) {
            Ok(present) => present,
            Err(error @ BaselineError::Newer(_)) => {
                let message = format!("`{path}` {error}, so it is not replaced");
                return refuse(message, "use the newer sprag, or move the file away");
            }
            Err(_) => return Err(move_away(format!("`{path}` is not a baseline, so it is not replaced")).into()),
        };
        for (what, is, wanted) in [("suite", &*present.suite, suite), ("class", &present.machine_class, class)] {
            if is != wanted {
                let (is, wanted) = (text::printable(is), text::printable(wanted));
                let message = format!("`{path}` is of the {what} `{is}`, not of `{wanted}`, so it is not replaced");
                return Err(move_away(message).into());
            }
        }
        Ok(Place { project, path, present: Some((bytes, present)) })
    }

    pub(super) fn present(&self) -> Option<&Baseline> {
        self.present.as_ref().map(|(_, present)| present)
    }

    /// Returns the archived path of the file that was there. `metrics` are the keys taken over, if not all.
    pub(super) fn put(
        &self,
        baseline: Baseline,
        why: &str,
        metrics: Option<Vec<String>>,
    ) -> crate::Result<Option<String>> {
        let replaces = self.archive()?;
        let by = self.author();
        let accepted =
            BaselineAcceptance { by, at_utc: clock::now(), why: why.to_owned(), replaces: replaces.clone(), metrics };
        self.write(baseline, accepted)?;
        Ok(replaces)
    }

    /// Signs a baseline that was emitted but never accepted, and archives nothing; returns whether it did.
    pub(super) fn sign(&self, why: &str) -> crate::Result<bool> {
        let Some(present) = self.present() else { return Ok(false) };
        let before = present.accepted.clone();
        if before.as_ref().is_some_and(|accepted| !accepted.why.is_empty()) {
            return Ok(false);
        }
        let replaces = before.and_then(|accepted| accepted.replaces);
        let (by, at_utc) = (self.author(), clock::now());
        self.write(present.clone(), BaselineAcceptance { by, at_utc, why: why.to_owned(), replaces, metrics: None })?;
        Ok(true)
    }

    fn author(&self) -> String {
        let (author, is_named) = history::author(self.project.find_store());
        if !is_named {
            warn("git has no `user.name` and `user.email`, so the baseline names a placeholder");
        }
        format!("{} <{}>", author.name, author.email)
    }

    fn write(&self, baseline: Baseline, accepted: BaselineAcceptance) -> crate::Result<()> {
        let baseline = Baseline { accepted: Some(accepted), ..baseline };
        Ok(write_atomic(&self.project.root.join(&self.path), baseline.to_json().as_bytes())?)
    }

    fn archive(&self) -> crate::Result<Option<String>> {
        let Some((bytes, present)) = &self.present else { return Ok(None) };
        let stem = self.path.trim_start_matches("baselines/").trim_end_matches(".json");
        let taken = present.timestamp_utc.format("%Y%m%dT%H%M%SZ");
        // Other characters of a hand-written file could lead elsewhere.
        let run: String = present.run.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        let mut number = 1;
        loop {
            let counter = if number == 1 { String::new() } else { format!("-{number}") };
            let path = format!("{BASELINE_ARCHIVE}/{stem}.{taken}-{run}{counter}.json");
            let file = self.project.root.join(&path);
            if write_new(&file, bytes)? || holds(&file, bytes) {
                return Ok(Some(path));
            }
            number += 1;
        }
    }
}

fn move_away(message: String) -> Advice {
    Advice::new(message, "move it away or remove it")
}

fn holds(file: &Path, bytes: &[u8]) -> bool {
    read_bounded(file, MAX_RECORD_BYTES).is_ok_and(|content| content == bytes)
}

pub(super) fn count(baseline: &Baseline) -> String {
    format!("{} of {}", text::count(baseline.metrics.len(), "metric"), baseline.suite)
}

pub(super) fn to_commit(path: &str, archived: Option<&str>) -> String {
    let archived = archived.map_or(String::new(), |archived| format!(" {archived}"));
    format!("commit it, so that others compare with it:\n  git add {path}{archived}")
}
