//! Working trees after a repair: what was set aside goes from its old place, and what is missing comes back.
//!
//! A file goes only where it is, to the last byte, the one that was set aside: a user's own change stays.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository};

use crate::checkout::index::{IndexError, IndexLock, Removed, sparse_paths};
use crate::checkout::working_tree::Checkout;
use crate::fsck::tip::TipFile;
use crate::layout::FOLDER;
use crate::state::{Pending, StateFolder};

/// Takes the old contents out of a working tree and its index, which is locked unless others hold it; says what stands in
/// the way.
pub(crate) fn take_out(
    checkout: &Checkout,
    removed: &[TipFile],
    lock: Option<&IndexLock>,
    state: &StateFolder,
) -> Vec<String> {
    let mut warnings = Vec::new();
    for file in removed {
        let Some(path) = native(&file.path) else { continue };
        let place = checkout.folder.join(&path);
        let Ok(metadata) = fs::symlink_metadata(&place) else { continue };
        let content = if metadata.is_symlink() {
            fs::read_link(&place).and_then(|link| {
                let bytes = link.as_os_str().as_encoded_bytes().to_vec();
                Oid::hash_object(ObjectType::Blob, &bytes).map_err(std::io::Error::other)
            })
        } else {
            Oid::hash_file(ObjectType::Blob, &place).map_err(std::io::Error::other)
        };
        let taken = match content {
            Ok(content) if content == file.id => fs::remove_file(&place).map_err(|error| error.to_string()),
            _ => Err("it has a content of its own".to_owned()),
        };
        match taken {
            Ok(()) => remove_empty(&checkout.folder.join(FOLDER), place.parent()),
            Err(why) => warnings.push(format!("`{}` was left in the working tree: {why}", file.text())),
        }
    }
    let entries: Vec<Removed> =
        removed.iter().filter_map(|file| Some(Removed { path: native(&file.path)?, blob: file.id })).collect();
    let gone = lock.map_or(Err(IndexError::Locked), |lock| lock.remove(&checkout.repository, &entries, state));
    if let Err(error) = gone
        && !entries.is_empty()
    {
        warnings.push(error.to_string());
    }
    let folder = checkout.folder.display();
    warnings.into_iter().map(|warning| format!("in the working tree `{folder}`: {warning}")).collect()
}

/// Brings back the files that the index has and the working tree lacks, unless a sparse checkout keeps them out; gives their paths, and what went wrong.
pub(crate) fn bring_back(checkout: &Checkout, records: &[Pending], state: &StateFolder) -> (Vec<String>, Vec<String>) {
    let (mut placed, mut warnings) = (Vec::new(), Vec::new());
    let sparse_paths = sparse_paths(checkout.repository());
    for record in records {
        if sparse_paths.contains(record.path.as_bytes())
            || fs::symlink_metadata(checkout.folder.join(&record.path)).is_ok()
        {
            continue;
        }
        let Ok(blob) = Oid::from_str(&record.blob) else { continue };
        match checkout.place(&record.path, blob, state) {
            Ok(None) => placed.push(record.path.clone()),
            Ok(Some(obstacle)) => warnings.push(obstacle),
            Err(error) => warnings.push(error.to_string()),
        }
    }
    (placed, warnings)
}

/// Contents of working trees whose objects are broken or missing: the bytes that hash to them.
pub(crate) fn contents(checkouts: &[Checkout], wanted: &[&TipFile]) -> BTreeMap<Oid, Vec<u8>> {
    let mut found = BTreeMap::new();
    for (checkout, file) in checkouts.iter().flat_map(|checkout| wanted.iter().map(move |file| (checkout, file))) {
        let Some(place) = native(&file.path).map(|path| checkout.folder.join(path)) else { continue };
        if !fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let Ok(bytes) = fs::read(&place) else { continue };
        if Oid::hash_object(ObjectType::Blob, &bytes).is_ok_and(|id| id == file.id) {
            found.insert(file.id, bytes);
        }
    }
    found
}

/// Writes an object anew, after its broken file has been moved to where git keeps what it finds lost.
pub(crate) fn write_anew(repository: &Repository, id: Oid, bytes: &[u8]) -> Result<(), String> {
    let name = id.to_string();
    let broken = repository.commondir().join("objects").join(&name[..2]).join(&name[2..]);
    if broken.exists() {
        let lost = repository.commondir().join("lost-found").join("sprag");
        fs::create_dir_all(&lost).and_then(|()| fs::rename(&broken, lost.join(&name))).map_err(|e| e.to_string())?;
    }
    let odb = repository.odb().map_err(|error| error.message().to_owned())?;
    odb.refresh().map_err(|error| error.message().to_owned())?;
    let written = odb.write(ObjectType::Blob, bytes).map_err(|error| error.message().to_owned())?;
    if written == id && broken.exists() { Ok(()) } else { Err("the object was not written".to_owned()) }
}

/// Removes the folders that a file leaves empty, up to the folder of the history.
fn remove_empty(top: &Path, folder: Option<&Path>) {
    let mut folder = folder;
    while let Some(empty) = folder.filter(|folder| folder.starts_with(top) && *folder != top) {
        if fs::remove_dir(empty).is_err() {
            return;
        }
        folder = empty.parent();
    }
}

#[cfg(unix)]
fn native(path: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(path)))
}

#[cfg(not(unix))]
fn native(path: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(path).ok().map(PathBuf::from)
}
