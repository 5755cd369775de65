//! Canonical rows of a foreign format, against what its reader makes of the samples next to them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::{Outcome, fails, require};
use crate::folder::{MOST_BYTES, files_below};
use sprag_base::files::read_bounded;
use sprag_formats::rows::{self, ReadSource};
use sprag_formats::{Format, SIDECAR, registry};
use sprag_model::foreign::Output;

const OTHER_FILES: [&str; 2] = ["README.md", "expected.json"];

/// Reads the samples next to the file of rows as `sprag import` does, and compares every key of every row.
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

/// All of a folder where a format is one of folders, else its files and folders one by one.
fn samples(folder: &Path, rows: &Path) -> Outcome<Vec<(&'static Format, Vec<Output>)>> {
    if let Some(result) = recognised(folder) {
        return Ok(vec![result]);
    }
    let listed = fs::read_dir(folder).map_err(|error| fails(format!("cannot list {}: {error}", folder.display())))?;
    let paths: BTreeSet<_> = listed.filter_map(Result::ok).map(|entry| entry.path()).collect();
    let is_sample = |path: &&PathBuf| {
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

/// A file with its sidecar, or the files of a folder that a format could want.
fn outputs(path: &Path) -> Option<Vec<Output>> {
    let is_folder = path.is_dir();
    let root = if is_folder { path } else { path.parent()? };
    let mut files = files_below(path).ok()?;
    let sidecar = path.with_file_name(format!("{}{SIDECAR}", path.file_name()?.to_string_lossy()));
    if !is_folder && sidecar.is_dir() {
        files.extend(files_below(&sidecar).ok()?);
    }
    let ends = || registry::FORMATS.iter().flat_map(|format| format.files);
    let is_wanted = |name: &str| !is_folder || (ends().any(|end| name.ends_with(end)) && !OTHER_FILES.contains(&name));
    let named = files.iter().map(|file| (file, file.strip_prefix(root).unwrap_or(file).to_string_lossy().into_owned()));
    let read = |(file, name): (&PathBuf, String)| Some(Output { name, bytes: read_bounded(file, MOST_BYTES).ok()? });
    named.filter(|(_, name)| is_wanted(name)).map(read).collect()
}
