//! Canonical rows of a foreign format, against what its reader makes of the samples beside them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::failure::{Outcome, fails, require};
use crate::folder::files_below;
use sprag_formats::rows::{self, ReadSource};
use sprag_formats::{Format, registry};
use sprag_model::foreign::Output;

/// Files of a folder of samples that are no samples.
const OTHER_FILES: [&str; 2] = ["README.md", "expected.json"];

/// The end of the name of a folder in which nvbench keeps the samples of the file beside it.
const SIDECAR: &str = "-bin";

/// Reads the samples beside the file of rows as `sprag import` does and compares every key of every row.
pub(crate) fn run(rows: &[Value], file: &Path) -> Outcome {
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut sources = Vec::new();
    let files: BTreeSet<&str> = rows.iter().filter_map(|row| row["file"].as_str()).collect();
    let samples = match files.is_empty() {
        true => samples(folder, file)?,
        // Rows that name files are of each file alone.
        false => files.iter().filter_map(|file| recognised(&folder.join(file))).collect(),
    };
    for (format, outputs) in samples {
        let name = outputs[0].name.rsplit('/').next().unwrap_or_default().to_owned();
        let imported =
            format.read(&outputs).map_err(|error| fails(format!("read {name} as {}: {error}", format.name)))?;
        sources.push(ReadSource { name, imported });
    }
    require(!sources.is_empty(), || format!("no format recognises a sample in {}", folder.display()))?;
    rows::compare(rows, &sources)
        .map_err(|faults| fails(format!("expected {} rows, got other ones: {}", rows.len(), faults.join("; "))))
}

/// The samples of a folder: all of it where a format is one of folders, else its files and folders one by one.
fn samples(folder: &Path, rows: &Path) -> Outcome<Vec<(&'static Format, Vec<Output>)>> {
    if let Some(result) = recognised(folder) {
        return Ok(vec![result]);
    }
    let listed = fs::read_dir(folder).map_err(|error| fails(format!("cannot list {}: {error}", folder.display())))?;
    let paths: BTreeSet<_> = listed.filter_map(Result::ok).map(|entry| entry.path()).collect();
    let is_sample = |path: &&std::path::PathBuf| {
        path.as_path() != rows && !OTHER_FILES.iter().any(|other| path.file_name().is_some_and(|name| name == *other))
    };
    Ok(paths.iter().filter(is_sample).filter_map(|path| recognised(path)).collect())
}

/// What the format that recognises it makes of a path; none where none or several do.
fn recognised(path: &Path) -> Option<(&'static Format, Vec<Output>)> {
    let outputs = outputs(path)?;
    match registry::recognise(&outputs)[..] {
        [format] => Some((format, outputs)),
        _ => None,
    }
}

/// A file with what belongs to it, or the files of a folder that a format could want.
fn outputs(path: &Path) -> Option<Vec<Output>> {
    let read = |file: &Path, name: String| Some(Output { name, bytes: fs::read(file).ok()? });
    let name = path.file_name()?.to_string_lossy().into_owned();
    let below = |root: &Path, prefix: &str| -> Option<Vec<(String, std::path::PathBuf)>> {
        let relative = |file: std::path::PathBuf| {
            let name = file.strip_prefix(root).ok()?.to_string_lossy().into_owned();
            Some((format!("{prefix}{name}"), file))
        };
        files_below(root).ok()?.into_iter().map(relative).collect()
    };
    if path.is_dir() {
        let ends = || registry::FORMATS.iter().flat_map(|format| format.files);
        let is_wanted = |name: &str| ends().any(|end| name.ends_with(end)) && !OTHER_FILES.contains(&name);
        let files = below(path, "")?.into_iter().filter(|(name, _)| is_wanted(name));
        return files.map(|(name, file)| read(&file, name)).collect();
    }
    let sidecar = path.with_file_name(format!("{name}{SIDECAR}"));
    let siblings = if sidecar.is_dir() { below(&sidecar, &format!("{name}{SIDECAR}/"))? } else { Vec::new() };
    let files = std::iter::once((name, path.to_owned())).chain(siblings);
    files.map(|(name, file)| read(&file, name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tamper::golden;
    use serde_json::json;

    fn cases() -> Vec<(std::path::PathBuf, Vec<Value>)> {
        let folders = fs::read_dir(golden().join("formats")).expect("there are samples");
        let files = folders.map(|entry| entry.expect("it is listed").path().join("expected.json"));
        let rows = |file: &Path| serde_json::from_slice(&fs::read(file).expect("it is read")).expect("it is JSON");
        files.filter(|file| file.is_file()).map(|file| (file.clone(), rows(&file))).collect()
    }

    /// Whatever is changed in a row, the case fails: nothing that is recorded goes uncompared.
    #[test]
    fn every_value_of_every_row_is_compared() {
        let mut compared = 0;
        for (file, rows) in cases() {
            run(&rows, &file).expect("it passes");
            for (place, row) in rows.iter().enumerate() {
                // The first and the last row of a case are enough: all rows of a tool have one shape.
                if place > 0 && place + 1 < rows.len() {
                    continue;
                }
                for (key, value) in row.as_object().expect("a row is an object") {
                    let other = match value {
                        Value::Number(number) => json!(number.as_f64().expect("a number") * 1.001 + 1.0),
                        // Units that are no quantities are all plain numbers.
                        Value::String(unit) if key == "unit" => json!(if unit == "s" { "bytes" } else { "s" }),
                        Value::String(text) => json!(format!("{text}0")),
                        Value::Null => json!(1.0),
                        Value::Object(_) => json!({ "other": 1 }),
                        other => panic!("there is no way to tamper with {other}"),
                    };
                    // What did not run has no observation, and so none of these.
                    if row["value"].is_null() && ["better", "unit", "metric"].contains(&key.as_str()) {
                        continue;
                    }
                    let mut tampered = rows.clone();
                    tampered[place][key] = other;
                    assert!(run(&tampered, &file).is_err(), "{}: {key} of {row} is not compared", file.display());
                    compared += 1;
                }
            }
        }
        assert!(compared > 250, "only {compared} values were tried");
    }

    #[test]
    fn a_series_that_no_row_has_fails() {
        let divan = |file: &Path| file.parent().is_some_and(|folder| folder.ends_with("divan"));
        let (file, mut rows) = cases().into_iter().find(|(file, _)| divan(file)).expect("there is one of divan");
        rows.pop();
        let error = run(&rows, &file).expect_err("a row is gone").to_string();
        assert!(error.contains("is in no row"), "{error}");
    }
}
