//! The files that people review, compared with those of a commit: files of the project, and artifacts inside it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::artifacts::{Artifacts, ReleaseArtifact};
use super::{Fault, ReleaseError, Result};
use crate::checklist::CHECKLIST_PATH;
use crate::releases::RELEASES_PATH;
use sprag_base::files::{open_inside, read_bounded_from};
use sprag_history::{self as history, Store};
use sprag_model::checklist::Checklist;
use sprag_model::ledger::FOLDER as LEDGER;
use sprag_model::record::MAX_RECORD_BYTES;

pub const SETTINGS_PATH: &str = "sprag.toml";

/// The single files that a release depends on, and the folders of which it depends on all files with that extension.
const FILES: [&str; 3] = [CHECKLIST_PATH, RELEASES_PATH, SETTINGS_PATH];
const FOLDERS: [(&str, &str); 2] = [(LEDGER, "toml"), ("baselines", "json")];

pub(super) fn is_project_file(path: &str) -> bool {
    path == SETTINGS_PATH || ["release/", "ledger/", "baselines/"].iter().any(|below| path.starts_with(below))
}

/// The paths of the files of a project that a release depends on, without records.
pub fn project_files(root: &Path) -> Result<Vec<String>> {
    let mut paths: Vec<String> = [CHECKLIST_PATH, RELEASES_PATH].map(str::to_owned).into();
    paths.extend(root.join(SETTINGS_PATH).is_file().then(|| SETTINGS_PATH.to_owned()));
    for (folder, extension) in FOLDERS {
        let error = || ReleaseError::io("list", Path::new(folder));
        let entries = match fs::read_dir(root.join(folder)) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries.map_err(error())?,
        };
        for entry in entries {
            let name = entry.map_err(error())?.file_name();
            let path = format!("{folder}/{}", name.to_string_lossy());
            paths.extend(has_extension(&path, extension).then_some(path));
        }
    }
    paths.sort();
    Ok(paths)
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|one| one == extension)
}

/// Compares the files `paths` of a folder with all files of the project in a commit.
pub(super) fn compare_files<'p>(
    store: &Store,
    commit: &str,
    root: &Path,
    paths: impl IntoIterator<Item = &'p String>,
) -> Result<Vec<Fault>> {
    let mut expected = files_of_commit(store, commit)?;
    let mut faults = Vec::new();
    for path in paths {
        match expected.remove(path) {
            None => faults.push(Fault::new(path, format!("is not in the commit {}", short(commit)))),
            Some(expected) => {
                let actual =
                    read_inside(root, path, MAX_RECORD_BYTES).map_err(ReleaseError::io("read", Path::new(path)))?;
                faults.extend(compare(path, commit, &actual, &expected));
            }
        }
    }
    faults.extend(expected.keys().map(|path| missing(path, commit)));
    Ok(faults)
}

/// Compares artifacts with the files of the commit at their paths, or at those in the checklist; `shown` gives the path for faults.
pub(super) fn compare_artifacts(
    store: &Store,
    commit: &str,
    checklist: &Checklist,
    artifacts: &Artifacts,
    shown: impl Fn(&str, &ReleaseArtifact) -> String,
) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for (key, artifact) in artifacts {
        let needed = checklist.items.iter().flat_map(|item| &item.files).find(|needed| needed.key == *key);
        let mut expected = None;
        for path in [Some(&artifact.path), needed.map(|needed| &needed.path)].into_iter().flatten() {
            if expected.is_none() {
                expected = file_of_commit(store, commit, path)?;
            }
        }
        let Some(expected) = expected else { continue };
        let path = shown(key, artifact);
        match artifact.is_there() {
            true => {
                let actual = artifact.read().map_err(ReleaseError::io("read", &artifact.file))?;
                faults.extend(compare(&path, commit, &actual, &expected));
            }
            false => faults.push(missing(&path, commit)),
        }
    }
    Ok(faults)
}

fn files_of_commit(store: &Store, commit: &str) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for path in FILES {
        files.extend(file_of_commit(store, commit, path)?.map(|bytes| (path.to_owned(), bytes)));
    }
    for (folder, extension) in FOLDERS {
        let is_one = |path: &str| {
            let name = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
            name.is_some_and(|name| !name.contains('/') && has_extension(name, extension))
        };
        files.extend(history::files_of(store, commit, folder)?.into_iter().filter(|(path, _)| is_one(path)));
    }
    Ok(files)
}

fn file_of_commit(store: &Store, commit: &str, path: &str) -> Result<Option<Vec<u8>>> {
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Ok(None);
    }
    let files = history::files_of(store, commit, path)?;
    Ok(files.into_iter().find(|(name, _)| name == path).map(|(_, bytes)| bytes))
}

fn compare(path: &str, commit: &str, actual: &[u8], expected: &[u8]) -> Option<Fault> {
    Fault::compare(path, actual, expected, format!("is not the file of the commit {}", short(commit)))
}

/// A file of the project, through no link.
pub(super) fn read_inside(root: &Path, path: &str, most: usize) -> io::Result<Vec<u8>> {
    read_bounded_from(open_inside(root, Path::new(path))?, most)
}

fn missing(path: &str, commit: &str) -> Fault {
    Fault::new(path, format!("is in the commit {}, and missing here", short(commit)))
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
