//! A file that a command is given: a record, a baseline, or what another tool wrote.

use std::path::Path;

use anyhow::bail;

use super::import::foreign;
use super::{bounded, choose};
use crate::model::baseline::{Baseline, BaselineError};
use crate::model::record::MAX_RECORD_BYTES;
use crate::model::run::RecordedRun;

/// What a file holds.
pub(super) enum RunFile {
    /// A run.
    Run(Box<RecordedRun>),
    /// A baseline.
    Baseline(Box<Baseline>),
}

/// Reads a record, a baseline, or results in a format that `sprag import` knows.
///
/// # Errors
/// Names the file and what is wrong with it.
pub(super) fn read(path: &Path) -> anyhow::Result<RunFile> {
    let bytes = match path.is_dir() {
        true => Vec::new(),
        false => bounded::read(path, MAX_RECORD_BYTES)
            .map_err(|error| anyhow::anyhow!("cannot read `{}`: {error}", path.display()))?,
    };
    match Baseline::from_json(&bytes) {
        Ok(baseline) => return Ok(RunFile::Baseline(Box::new(baseline))),
        // Of records and of other tools it is no baseline either.
        Err(BaselineError::Foreign | BaselineError::Json(_)) => {}
        Err(BaselineError::Schema { .. }) if !is_baseline(&bytes) => {}
        Err(error) => bail!("`{}` {error}", path.display()),
    }
    let of_record = match choose::read_run(path) {
        Ok(run) => return Ok(RunFile::Run(Box::new(run))),
        Err(error) => error,
    };
    match foreign(path) {
        Ok(run) => Ok(RunFile::Run(Box::new(run))),
        // A file of ours that is broken is told of as such, and so is JSON that ends too early.
        Err(_) if is_ours(&bytes) => Err(of_record),
        Err(error) => Err(error),
    }
}

/// Whether a file that is no sound baseline is meant as one: it has its keys, and not those of a record.
fn is_baseline(bytes: &[u8]) -> bool {
    let has = |key: &str| bytes.windows(key.len()).any(|part| part == key.as_bytes());
    has("\"machine_class\"") && has("\"metrics\"") && !has("\"benchmarks\"")
}

fn is_ours(bytes: &[u8]) -> bool {
    let begins = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let names_version = bytes.windows(16).any(|part| part == b"\"schema_version\"");
    names_version || begins && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err()
}
