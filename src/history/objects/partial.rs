//! Partial clones, in which an object that is not here lies at a remote until git asks for it.

use git2::{Odb, OdbLookupFlags, Oid, Repository};

use crate::error::HistoryError;
use crate::store::failed;

/// What a remote has promised to have.
pub(crate) struct Promises<'r> {
    odb: Odb<'r>,
    is_partial: bool,
}

impl<'r> Promises<'r> {
    pub(crate) fn new(repository: &'r Repository) -> Result<Promises<'r>, HistoryError> {
        let odb = repository.odb().map_err(failed("open the object database"))?;
        Ok(Promises { odb, is_partial: is_partial(repository).unwrap_or(false) })
    }

    /// Whether an object is not here, and need not be.
    pub(crate) fn cover(&self, id: Oid) -> bool {
        self.is_partial && !self.odb.exists_ext(id, OdbLookupFlags::NO_REFRESH)
    }
}

/// Whether objects may be missing because a remote has promised them.
pub(crate) fn is_partial(repository: &Repository) -> Result<bool, git2::Error> {
    let config = repository.config()?.snapshot()?;
    let mut entries = config.entries(None)?;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let Ok(name) = entry.name() else { continue };
        let is_remote = name.starts_with("remote.");
        let names_one = name == "extensions.partialclone" || (is_remote && name.ends_with(".partialclonefilter"));
        if names_one || (is_remote && name.ends_with(".promisor") && config.get_bool(name).unwrap_or(false)) {
            return Ok(true);
        }
    }
    Ok(false)
}
