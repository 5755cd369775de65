//! The files that items of a checklist need: where they are, and what they contain.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{ReleaseError, Result};
use crate::bundle;
use crate::derive::FileEvidence;
use sprag_base::files::sha256_of_file;
use sprag_base::text::suggestion;
use sprag_model::checklist::{Checklist, Item, NeededFile, Rests};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Its path as others see it.
    pub path: String,
    pub file: PathBuf,
}

pub type Artifacts = BTreeMap<String, Artifact>;

/// The artifacts of a checklist: at the paths of `--artifact`, else where the checklist says.
pub fn locate(root: &Path, folder: &Path, checklist: &Checklist, arguments: &[String]) -> Result<Artifacts> {
    let mut given = parse_pairs(arguments)?;
    let needed = || checklist.items.iter().flat_map(|item| &item.files);
    let keys: BTreeSet<&str> = needed().map(|one| one.key.as_str()).collect();
    if let Some(unknown) = given.keys().find(|key| !keys.contains(key.as_str())) {
        let message = format!("no item of the checklist needs an artifact `{unknown}`");
        return Err(ReleaseError::refused(message, suggestion(unknown, &Vec::from_iter(keys))));
    }
    let mut artifacts = Artifacts::new();
    for one in needed() {
        artifacts.entry(one.key.clone()).or_insert_with(|| match given.remove(&one.key) {
            Some(path) => at_path(root, folder.join(path), one),
            None => Artifact { path: one.path.clone(), file: root.join(&one.path) },
        });
    }
    Ok(artifacts)
}

pub fn parse_pairs(arguments: &[String]) -> Result<BTreeMap<String, String>> {
    let mut given = BTreeMap::new();
    for pair in arguments {
        let parts = pair.split_once('=').map(|(name, path)| (name.trim(), path.trim()));
        let (name, path) = parts.filter(|(name, path)| !name.is_empty() && !path.is_empty()).ok_or_else(|| {
            let hint = "give a name and a path, such as `--artifact trace=out/trace.json`";
            ReleaseError::refused(format!("`--artifact {pair}` names no file"), hint)
        })?;
        if given.insert(name.to_owned(), path.to_owned()).is_some() {
            return Err(ReleaseError::refused(format!("two files are named `{name}`"), "give each name once"));
        }
    }
    Ok(given)
}

fn at_path(root: &Path, file: PathBuf, needed: &NeededFile) -> Artifact {
    let inside = || {
        let real = fs::canonicalize(&file).ok()?;
        let inside = real.strip_prefix(fs::canonicalize(root).ok()?).ok()?;
        Some(inside.to_string_lossy().into_owned())
    };
    // Of a file elsewhere only the name is shown: its folder is private.
    let name = || file.file_name().map(|name| name.to_string_lossy().into_owned());
    let path = inside().or_else(name).unwrap_or_else(|| needed.path.clone());
    Artifact { path, file }
}

pub fn read_all(item: &Item, artifacts: &Artifacts) -> Vec<FileEvidence> {
    let read = |needed: &NeededFile| {
        let artifact = artifacts.get(&needed.key);
        let needed = NeededFile { path: artifact.map_or(&needed.path, |one| &one.path).clone(), ..needed.clone() };
        let (content, fault) = match artifact.map(|artifact| content(&artifact.file)) {
            None => (None, None),
            Some(Ok(content)) => (content, None),
            Some(Err(fault)) => (None, Some(fault)),
        };
        FileEvidence { needed, content, fault }
    };
    item.files.iter().map(read).collect()
}

/// Digest and size; absent where there is no file.
pub fn content(file: &Path) -> std::result::Result<Option<(String, u64)>, String> {
    let unreadable = |error| format!("cannot be read: {error}");
    match fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error)),
        Ok(facts) if !facts.is_file() => Err("is no file".to_owned()),
        Ok(facts) => Ok(Some((sha256_of_file(file).map_err(unreadable)?, facts.len()))),
    }
}

/// The files that statuses rest on, at their paths in an attestation.
pub fn rests(files: &[FileEvidence]) -> Vec<Rests> {
    let rests = |file: &FileEvidence| {
        let (sha256, bytes) = file.content.clone()?;
        Some(Rests { path: bundle::place(&file.needed.key, &file.needed.path), sha256, bytes })
    };
    files.iter().filter_map(rests).collect()
}
