//! Notes that stand, among what was set aside, for contents that could not be read.

use git2::{Oid, Repository};

use crate::git::reading::loose;
use crate::git::reading::past::QUARANTINE;
use sprag_model::run::RECORD_ROOT;

/// How the name of a note ends.
pub(in crate::git) const MISSING: &str = ".missing";

/// The content that the file at `path` stands for; absent where it is no such note, or cannot be read.
pub(in crate::git) fn noted(repository: &Repository, path: &[u8], note: Oid) -> Option<Oid> {
    let folder = format!("{RECORD_ROOT}/{QUARANTINE}/");
    if !path.starts_with(folder.as_bytes()) || !path.ends_with(MISSING.as_bytes()) {
        return None;
    }
    let note = loose::check(repository, note).and_then(|()| repository.find_blob(note)).ok()?;
    let text = std::str::from_utf8(note.content()).ok()?.trim_end();
    if text.len() == 40 { Oid::from_str(text).ok() } else { None }
}

/// Whether a content can be read.
pub(in crate::git) fn is_here(repository: &Repository, id: Oid) -> bool {
    loose::check(repository, id).and_then(|()| repository.find_blob(id)).is_ok()
}
