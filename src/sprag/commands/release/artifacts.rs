//! The files that a checklist needs, where they lie.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::commands::project::Project;
use crate::commands::replay::digest_of;
use crate::commands::{Advice, text};
use crate::config::nearest;
use sprag_evidence::bundle;
use sprag_evidence::derive::FoundFile;
use sprag_model::checklist::{Checklist, Item, NeededFile, Rests};

/// A file that was found for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Artifact {
    /// Its path as others know it.
    pub(super) path: String,
    /// Where it lies now.
    pub(super) file: PathBuf,
}

/// The artifacts of a checklist, by key: where they were named, else where the checklist says.
///
/// # Errors
/// When a name is no `key=path`, no item needs the key, or a key is named twice.
pub(super) fn named(
    project: &Project,
    folder: &Path,
    checklist: &Checklist,
    named: &[String],
) -> anyhow::Result<BTreeMap<String, Artifact>> {
    let mut given = pairs(named)?;
    let needed = || checklist.items.iter().flat_map(|item| &item.files);
    let keys: BTreeSet<&str> = needed().map(|one| one.key.as_str()).collect();
    if let Some(unknown) = given.keys().find(|key| !keys.contains(key.as_str())) {
        let keys: Vec<&str> = keys.into_iter().collect();
        let near = nearest(unknown, &keys).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let known = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
        return Err(Advice {
            message: format!("no item of the checklist needs an artifact `{}`", text::printable(unknown)),
            hint: format!("{near}it needs: {known}"),
        }
        .into());
    }
    let mut artifacts = BTreeMap::new();
    for one in needed() {
        if !artifacts.contains_key(&one.key) {
            let artifact = match given.remove(&one.key) {
                Some(path) => of_path(project, folder, one, &path),
                None => Artifact { path: one.path.clone(), file: project.root.join(&one.path) },
            };
            artifacts.insert(one.key.clone(), artifact);
        }
    }
    Ok(artifacts)
}

/// The keys and paths of `--artifact`.
///
/// # Errors
/// When one is no `key=path`, or a key is named twice.
pub(super) fn pairs(named: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut given = BTreeMap::new();
    for pair in named {
        let parts = pair.split_once('=').map(|(key, path)| (key.trim(), path.trim()));
        let (key, path) = parts.filter(|(key, path)| !key.is_empty() && !path.is_empty()).ok_or_else(|| Advice {
            message: text::printable(&format!("`--artifact {pair}` names no file")),
            hint: "give a key and a path, such as `--artifact parity_report=out/parity.json`".to_owned(),
        })?;
        if given.insert(key.to_owned(), path.to_owned()).is_some() {
            let message = text::printable(&format!("two artifacts are given for the key `{key}`"));
            return Err(Advice { message, hint: "name each key once".to_owned() }.into());
        }
    }
    Ok(given)
}

fn of_path(project: &Project, folder: &Path, needed: &NeededFile, path: &str) -> Artifact {
    let file = folder.join(path);
    let inside = || {
        let root = fs::canonicalize(&project.root).ok()?;
        Some(fs::canonicalize(&file).ok()?.strip_prefix(root).ok()?.to_string_lossy().into_owned())
    };
    // Of a file elsewhere the name alone is told: where it lay is nobody's business.
    let name = || file.file_name().map(|name| name.to_string_lossy().into_owned());
    let path = inside().or_else(name).unwrap_or_else(|| needed.path.clone());
    Artifact { path, file }
}

pub(super) fn found(item: &Item, artifacts: &BTreeMap<String, Artifact>) -> Vec<FoundFile> {
    let found = |needed: &NeededFile| {
        let path = artifacts.get(&needed.key).map_or(&needed.path, |artifact| &artifact.path).clone();
        let needed = NeededFile { path, ..needed.clone() };
        let (content, fault) = match artifacts.get(&needed.key).map(|artifact| content(&artifact.file)) {
            None => (None, None),
            Some(Ok(content)) => (content, None),
            Some(Err(fault)) => (None, Some(fault)),
        };
        FoundFile { needed, content, fault }
    };
    item.files.iter().map(found).collect()
}

/// The digest and the size of a file; absent where it is not there.
fn content(file: &Path) -> Result<Option<(String, u64)>, String> {
    match fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot be read: {error}")),
        Ok(facts) if !facts.is_file() => Err("is no file".to_owned()),
        Ok(facts) => match digest_of(file) {
            Ok(digest) => Ok(Some((digest, facts.len()))),
            Err(error) => Err(format!("cannot be read: {error}")),
        },
    }
}

/// What statuses of an item rest on: its files that are there, as they lie in what an attestation writes.
pub(super) fn rests(files: &[FoundFile]) -> Vec<Rests> {
    let rests = |file: &FoundFile| {
        let (sha256, bytes) = file.content.clone()?;
        Some(Rests { path: bundle::place(&file.needed.key, &file.needed.path), sha256, bytes })
    };
    files.iter().filter_map(rests).collect()
}
