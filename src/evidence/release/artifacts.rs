//! The files that items of a checklist need: where they are, and what they contain.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::{ReleaseError, Result};
use crate::bundle;
use crate::derive::FileEvidence;
use sprag_base::files::{open_inside, read_bounded_from, sha256_of};
use sprag_base::text::suggestion;
use sprag_model::checklist::{Checklist, Item, NeededFile, Rests};
use sprag_model::record::MAX_RECORD_BYTES;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseArtifact {
    /// Its path as others see it.
    pub path: String,
    pub folder: PathBuf,
    /// In that folder, through no link.
    pub file: PathBuf,
}

impl ReleaseArtifact {
    pub fn inside(root: &Path, path: &str) -> ReleaseArtifact {
        ReleaseArtifact { path: path.to_owned(), folder: root.to_owned(), file: PathBuf::from(path) }
    }

    pub fn open(&self) -> std::io::Result<File> {
        open_inside(&self.folder, &self.file)
    }

    pub fn read(&self) -> std::io::Result<Vec<u8>> {
        read_bounded_from(self.open()?, MAX_RECORD_BYTES)
    }

    pub fn is_there(&self) -> bool {
        self.open().is_ok()
    }
}

pub type Artifacts = BTreeMap<String, ReleaseArtifact>;

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
            None => ReleaseArtifact::inside(root, &one.path),
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

fn at_path(root: &Path, file: PathBuf, needed: &NeededFile) -> ReleaseArtifact {
    let inside = || {
        let real = fs::canonicalize(&file).ok()?;
        let inside = real.strip_prefix(fs::canonicalize(root).ok()?).ok()?;
        Some(inside.to_string_lossy().into_owned())
    };
    // Of a file elsewhere only the name is shown: its folder is private.
    let name = || file.file_name().map(|name| name.to_string_lossy().into_owned());
    let path = inside().or_else(name).unwrap_or_else(|| needed.path.clone());
    let (folder, name) = (file.parent().unwrap_or(&file), file.file_name().unwrap_or_default());
    ReleaseArtifact { path, folder: folder.to_owned(), file: PathBuf::from(name) }
}

pub fn read_all(item: &Item, artifacts: &Artifacts) -> Vec<FileEvidence> {
    let read = |needed: &NeededFile| {
        let artifact = artifacts.get(&needed.key);
        let needed = NeededFile { path: artifact.map_or(&needed.path, |one| &one.path).clone(), ..needed.clone() };
        let (content, fault) = match artifact.map(content) {
            None => (None, None),
            Some(Ok(content)) => (content, None),
            Some(Err(fault)) => (None, Some(fault)),
        };
        FileEvidence { needed, content, fault }
    };
    item.files.iter().map(read).collect()
}

/// Digest and size; absent where there is no file.
pub fn content(artifact: &ReleaseArtifact) -> std::result::Result<Option<(String, u64)>, String> {
    let read = |file: File| Ok(Some((file.metadata()?.len(), sha256_of(file)?)));
    match artifact.open().and_then(read) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot be read: {error}")),
        Ok(content) => Ok(content.map(|(bytes, sha256)| (sha256, bytes))),
    }
}

/// The files that statuses depend on, at their paths in an attestation.
pub fn rests(files: &[FileEvidence]) -> Vec<Rests> {
    let rests = |file: &FileEvidence| {
        let (sha256, bytes) = file.content.clone()?;
        Some(Rests { path: bundle::place(&file.needed.key, &file.needed.path), sha256, bytes })
    };
    files.iter().filter_map(rests).collect()
}
