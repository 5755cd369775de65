//! A file given to a command: a record, a baseline, or results of another tool.

use std::path::Path;

use crate::error::WithContext as _;
use crate::import::foreign;
use crate::{Error, refuse};
use sprag_base::files::read_bounded;
use sprag_formats::registry;
use sprag_model::foreign::Output;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::{Baseline, BaselineError, RecordedRun, Run};

pub enum RunFile {
    Run(Box<RecordedRun>),
    Baseline(Box<Baseline>),
}

pub fn read(path: &Path) -> crate::Result<RunFile> {
    let bytes = match path.is_dir() {
        true => Vec::new(),
        false => read_bounded(path, MAX_RECORD_BYTES).with_context(|| format!("cannot read `{}`", path.display()))?,
    };
    // Each attempt below reads the whole file.
    let may_be_baseline = is_baseline(&bytes);
    if !may_be_baseline && let Ok((id, run)) = Run::from_json(&bytes) {
        return Ok(RunFile::Run(Box::new(RecordedRun { path: path.display().to_string(), id, run })));
    }
    match Baseline::from_json(&bytes) {
        Ok(baseline) => return Ok(RunFile::Baseline(Box::new(baseline))),
        // Neither are records and files of other tools.
        Err(BaselineError::Foreign | BaselineError::Json(_)) => {}
        Err(BaselineError::Schema { .. }) if !may_be_baseline => {}
        Err(error) => {
            return refuse(format!("`{}` {error}", path.display()), baseline_hint(&error).to_owned());
        }
    }
    let of_record = match read_run(path) {
        Ok(run) => return Ok(RunFile::Run(Box::new(run))),
        Err(error) => error,
    };
    match foreign(path, None) {
        Ok(run) => Ok(RunFile::Run(Box::new(run))),
        // Broken files of ours are reported as such, and so is truncated JSON.
        Err(_) if is_ours(&bytes) => Err(of_record),
        // JSON of no format could be anything.
        Err(error) if begins_object(&bytes) && is_unknown(path, &bytes) => {
            let hint = error.hint().unwrap_or_default();
            refuse(of_record.to_string(), hint)
        }
        Err(error) => Err(error),
    }
}

pub fn read_run(path: &Path) -> crate::Result<RecordedRun> {
    let bytes = read_bounded(path, MAX_RECORD_BYTES).with_context(|| format!("cannot read `{}`", path.display()))?;
    match Run::from_json(&bytes) {
        Ok((id, run)) => Ok(RecordedRun { path: path.display().to_string(), id, run }),
        Err(error) => refuse(
            format!("`{}` {error}", path.display()),
            "give a record that `sprag run --output-run FILE` wrote, or results in a format of `sprag import --list`",
        ),
    }
}

pub fn refuse_other(recorded: &RecordedRun, suites: &[String]) -> crate::Result<()> {
    if !suites.is_empty() && !suites.contains(&recorded.run.suite) {
        return Err(Error::message(format!("`{}` is a run of the suite `{}`", recorded.path, recorded.run.suite)));
    }
    Ok(())
}

fn is_unknown(path: &Path, bytes: &[u8]) -> bool {
    registry::recognise(&[Output { name: path.display().to_string(), bytes: bytes.to_vec() }]).is_empty()
}

/// It has the keys of a baseline and not those of a record.
fn is_baseline(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else { return false };
    let has = |key: &str| text.contains(key);
    has("\"machine_class\"") && has("\"metrics\"") && !has("\"benchmarks\"")
}

fn is_ours(bytes: &[u8]) -> bool {
    let names_version = bytes.windows(16).any(|part| part == b"\"schema_version\"");
    names_version || begins_object(bytes) && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err()
}

fn begins_object(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

pub fn baseline_hint(error: &BaselineError) -> &'static str {
    match error {
        BaselineError::Newer(_) => "use the newer sprag",
        BaselineError::Json(_) | BaselineError::Foreign => {
            "name a file that `sprag baseline emit --output` wrote, or one of `baselines/`"
        }
        _ => "fix the file, or take a new one with `sprag baseline emit`",
    }
}
