//! Whether what people review is what a commit holds: the files of the project, and artifacts that lie in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::artifacts::Artifact;
use super::fault::Fault;
use crate::config::FILE_NAME;
use sprag_evidence::checklist::CHECKLIST_PATH;
use sprag_evidence::releases::RELEASES_PATH;
use sprag_evidence::sums::first_difference;
use sprag_history::{self as history, Store};
use sprag_model::checklist::Checklist;
use sprag_model::ledger::FOLDER as LEDGER;

/// The folders of which a release rests on all files with that extension.
pub(super) const FOLDERS: [(&str, &str); 2] = [(LEDGER, "toml"), ("baselines", "json")];

/// Holds the files of the project in a folder, `has`, against those of a commit, which must be the same ones.
///
/// # Errors
/// When they cannot be read.
pub(super) fn files<'p>(
    store: &Store,
    commit: &str,
    root: &Path,
    has: impl IntoIterator<Item = &'p String>,
) -> anyhow::Result<Vec<Fault>> {
    let mut must = of_commit(store, commit)?;
    let mut faults = Vec::new();
    for path in has {
        match must.remove(path) {
            None => faults.push(Fault::of(path, format!("is not in the commit {}", short(commit)))),
            Some(must) => faults.extend(differs(path, commit, &root.join(path), &must)?),
        }
    }
    let missing = |path: &String| Fault::of(path, format!("is in the commit {}, and not here", short(commit)));
    faults.extend(must.keys().map(missing));
    Ok(faults)
}

/// Holds artifacts against the commit where it has files at their paths, else at those that the checklist names; `place` says by
/// which path a fault names one.
///
/// # Errors
/// When they cannot be read.
pub(super) fn artifacts(
    store: &Store,
    commit: &str,
    checklist: &Checklist,
    artifacts: &BTreeMap<String, Artifact>,
    place: &dyn Fn(&str, &Artifact) -> String,
) -> anyhow::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for (key, artifact) in artifacts {
        let needed = checklist.items.iter().flat_map(|item| &item.files).find(|needed| needed.key == *key);
        let usual = || needed.map_or(Ok(None), |needed| file(store, commit, &needed.path));
        let Some(must) = file(store, commit, &artifact.path)?.map_or_else(usual, |found| Ok(Some(found)))? else {
            continue;
        };
        match artifact.file.is_file() {
            true => faults.extend(differs(&place(key, artifact), commit, &artifact.file, &must)?),
            false => faults
                .push(Fault::of(&place(key, artifact), format!("is in the commit {}, and not here", short(commit)))),
        }
    }
    Ok(faults)
}

/// The files of the project in a commit, by path.
fn of_commit(store: &Store, commit: &str) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for path in [CHECKLIST_PATH, RELEASES_PATH, FILE_NAME] {
        found.extend(file(store, commit, path)?.map(|bytes| (path.to_owned(), bytes)));
    }
    for (folder, extension) in FOLDERS {
        let is_one = |path: &str| {
            let name = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
            name.is_some_and(|name| {
                !name.contains('/') && Path::new(name).extension().is_some_and(|one| one == extension)
            })
        };
        found.extend(history::files_of(store, commit, folder)?.into_iter().filter(|(path, _)| is_one(path)));
    }
    Ok(found)
}

fn file(store: &Store, commit: &str, path: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let is_plain = path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    if !is_plain {
        return Ok(None);
    }
    let found = history::files_of(store, commit, path)?;
    Ok(found.into_iter().find(|(of, _)| of == path).map(|(_, bytes)| bytes))
}

fn differs(path: &str, commit: &str, place: &Path, must: &[u8]) -> anyhow::Result<Option<Fault>> {
    let has = fs::read(place).with_context(|| format!("cannot read `{}`", place.display()))?;
    let fault = |byte| {
        let what = format!("is not the file of the commit {}", short(commit));
        Fault { path: path.to_owned(), byte: Some(byte), what }
    };
    Ok(first_difference(&has, must).map(fault))
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
