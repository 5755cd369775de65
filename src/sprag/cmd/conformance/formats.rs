//! Canonical rows of a foreign format, against what its reader makes of the samples beside them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use sprag_formats::rows::{self, ReadSource};
use sprag_formats::{Format, registry};
use sprag_model::foreign::Output;
use sprag_pipeline::import::source;

/// Files of a folder of samples that are no samples.
const BESIDE: [&str; 2] = ["README.md", "expected.json"];

/// The case of a file of rows: the rows, and the folder with the samples.
pub(super) fn case(file: &Path, rows: Value) -> Value {
    let folder = file.parent().unwrap_or(Path::new("."));
    json!({ "rows": rows, "file": file.file_name().map(|name| name.to_string_lossy()), "folder": folder })
}

/// Reads the samples as `sprag import` does and compares every key of every row.
pub(super) fn run(case: &Value) -> Result<()> {
    let rows = case["rows"].as_array().context("the case has no rows")?;
    let folder = PathBuf::from(case["folder"].as_str().context("the case has no folder")?);
    let mut sources = Vec::new();
    let files: BTreeSet<&str> = rows.iter().filter_map(|row| row["file"].as_str()).collect();
    let samples = match files.is_empty() {
        true => samples(&folder, case["file"].as_str().unwrap_or_default())?,
        // Rows that name files are of each file alone.
        false => files.iter().filter_map(|file| recognised(&folder.join(file))).collect(),
    };
    for (format, outputs) in samples {
        let name = outputs[0].name.rsplit('/').next().unwrap_or_default().to_owned();
        let imported = (format.read)(&outputs).with_context(|| format!("read {name} as {}", format.name))?;
        sources.push(ReadSource { name, imported });
    }
    if sources.is_empty() {
        bail!("no format recognises a sample in {}", folder.display());
    }
    match rows::compare(rows, &sources) {
        Ok(()) => Ok(()),
        Err(faults) => bail!("expected {} rows, got other ones: {}", rows.len(), faults.join("; ")),
    }
}

/// The samples of a folder: the whole where a format is one of folders, else its files and folders one by one.
fn samples(folder: &Path, rows: &str) -> Result<Vec<(&'static Format, Vec<Output>)>> {
    if let Some(found) = recognised(folder) {
        return Ok(vec![found]);
    }
    let mut paths = BTreeSet::new();
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry.with_context(|| format!("list {}", folder.display()))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !BESIDE.contains(&name.as_str()) && name != rows {
            paths.insert(path);
        }
    }
    Ok(paths.iter().filter_map(|path| recognised(path)).collect())
}

/// What the format that recognises it makes of a path; none where none or several do.
fn recognised(path: &Path) -> Option<(&'static Format, Vec<Output>)> {
    let mut outputs = source::read(path, source::MOST_BYTES).ok()?;
    outputs.retain(|output| !BESIDE.contains(&output.name.as_str()));
    match registry::recognise(&outputs)[..] {
        [format] => Some((format, outputs)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases() -> Vec<Value> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/formats");
        let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        let rows = |file: &Path| serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        folders.map(|folder| folder.join("expected.json")).map(|file| case(&file, rows(&file))).collect()
    }

    /// Whatever is changed in a row, the case fails: nothing that is recorded goes uncompared.
    #[test]
    fn every_value_of_every_row_is_compared() {
        let mut compared = 0;
        for case in cases() {
            run(&case).unwrap();
            for (place, row) in case["rows"].as_array().unwrap().iter().enumerate() {
                // The first and the last row of a case are enough: all rows of a tool have one shape.
                if place > 0 && place + 1 < case["rows"].as_array().unwrap().len() {
                    continue;
                }
                for (key, value) in row.as_object().unwrap() {
                    let other = match value {
                        Value::Number(number) => json!(number.as_f64().unwrap() * 1.001 + 1.0),
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
                    let mut tampered = case.clone();
                    tampered["rows"][place][key] = other;
                    assert!(run(&tampered).is_err(), "{}: {key} of {row} is not compared", case["folder"]);
                    compared += 1;
                }
            }
        }
        assert!(compared > 250, "only {compared} values were tried");
    }

    #[test]
    fn a_series_that_no_row_has_fails() {
        let mut case = cases().into_iter().find(|case| case["folder"].as_str().unwrap().ends_with("divan")).unwrap();
        case["rows"].as_array_mut().unwrap().pop();
        let error = run(&case).unwrap_err().to_string();
        assert!(error.contains("is in no row"), "{error}");
    }
}
