//! Adding entries to the index of a working tree, with everything else in it left as it is.
//!
//! libgit2 reads the index, changes it in memory, and takes the lock only to write; whatever `git add` did in
//! between would be lost. So the lock is taken first, by git's own protocol: `index.lock`, made so that it must be
//! new. The changed index is written beside and renamed over the old one while the lock is held. The lock bears our
//! mark, by which one that a killed process left behind is known and removed.
//!
//! The new index keeps the time of the old one: an entry as young as the index is one that git compares by content,
//! and it must stay so.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry, IndexTime, Oid, Repository};

use super::append::{Step, Watch};
use crate::history::HistoryError;
use crate::history::layout::PLAIN;
use crate::history::state::{Pending, StateFolder, pause, rename_new, sync_folder};

/// How often a lock of another process is waited for: about a second in all.
const LOCK_ATTEMPTS: u32 = 12;

/// What our lock holds, where git's holds nothing or an index.
pub(super) const MARK: &[u8] = b"sprag\n";

/// A record that the index should have.
pub(super) struct Wanted<'a> {
    pub(super) record: &'a Pending,
    pub(super) blob: Oid,
    /// The facts of its file, which spare git reading it; absent where the file is not ours.
    pub(super) stat: Option<Metadata>,
}

/// Why the index was left as it was.
#[derive(Debug, thiserror::Error)]
pub(super) enum IndexError {
    #[error(
        "the index stays locked by another git process; until the next sprag command `git status` calls the new \
         record deleted"
    )]
    Locked,
    #[error(
        "the index cannot be written ({0}); until the next sprag command `git status` calls the new record deleted"
    )]
    Io(#[from] io::Error),
    #[error("the index cannot be changed ({0}); run `git checkout HEAD -- history` there")]
    Unknown(String),
}

impl IndexError {
    /// Whether trying again later may help.
    pub(super) fn passes(&self) -> bool {
        !matches!(self, IndexError::Unknown(_))
    }
}

/// Git's lock of an index. It stays until it is released, also where this process ends in whatever way: then it is
/// known by its mark and removed when the append is healed.
pub(super) struct IndexLock {
    path: PathBuf,
}

impl IndexLock {
    /// Takes git's lock. The mark is in it from the first moment, since it comes there by a rename.
    pub(super) fn take(repository: &Repository, state: &StateFolder) -> Result<IndexLock, IndexError> {
        let path = lock_path(repository);
        let mark = state.scratch("mark");
        for attempt in 0..LOCK_ATTEMPTS {
            fs::write(&mark, MARK)?;
            match rename_new(&mark, &path) {
                Ok(()) => return Ok(IndexLock { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => pause(attempt),
                Err(error) => return Err(error.into()),
            }
        }
        Err(IndexError::Locked)
    }

    /// Lets go of the lock; says so where that cannot be done.
    pub(super) fn release(&self) -> Result<(), HistoryError> {
        fs::remove_file(&self.path).map_err(HistoryError::io("remove", &self.path))
    }
}

/// Adds the records to the index that is locked; says which of them something of the user's stands in the way of.
pub(super) fn add(
    repository: &Repository,
    wanted: &[Wanted<'_>],
    state: &StateFolder,
    watch: Watch<'_>,
) -> Result<Vec<String>, IndexError> {
    let mut obstacles = Vec::new();
    let mut edit = |index: &mut Index| -> Result<(), git2::Error> {
        for wanted in wanted {
            match obstacle(index, &wanted.record.path) {
                None => index.add(&entry(wanted))?,
                Some(obstacle) => {
                    obstacles.push(format!("`{}` was not added to the index, {obstacle}", wanted.record.path))
                }
            }
        }
        Ok(())
    };
    let warning = change(repository, state, &mut edit, watch)?;
    obstacles.extend(warning);
    Ok(obstacles)
}

/// An entry that the index should no longer have.
pub(super) struct Removed {
    pub(super) path: PathBuf,
    /// Its content; an entry with another one stays, since that is the user's.
    pub(super) blob: Oid,
}

/// Locks the index and removes the entries, as far as it has them.
pub(super) fn remove(repository: &Repository, removed: &[Removed], state: &StateFolder) -> Result<(), IndexError> {
    if removed.is_empty() {
        return Ok(());
    }
    let mut edit = |index: &mut Index| -> Result<(), git2::Error> {
        for Removed { path, blob } in removed {
            if index.get_path(path, 0).is_some_and(|entry| entry.id == *blob) {
                index.remove(path, 0)?;
            }
        }
        Ok(())
    };
    let lock = IndexLock::take(repository, state)?;
    let changed = change(repository, state, &mut edit, &mut |_| {});
    // A lock that cannot be removed is found and removed by its mark later.
    let _ = lock.release();
    changed.map(|_| ())
}

/// What is to be done to an index.
type Edit<'a> = &'a mut dyn FnMut(&mut Index) -> Result<(), git2::Error>;

/// Changes the index that is locked; says so where the change may not last.
fn change(
    repository: &Repository,
    state: &StateFolder,
    edit: Edit<'_>,
    watch: Watch<'_>,
) -> Result<Option<String>, IndexError> {
    let unknown = |error: git2::Error| IndexError::Unknown(error.message().to_owned());
    let original = repository.path().join("index");
    let copy = state.scratch("index");
    let time = match fs::copy(&original, &copy) {
        Ok(_) => Some(fs::metadata(&original)?.modified()?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let _ = fs::remove_file(&copy);
            None
        }
        Err(error) => return Err(error.into()),
    };
    let mut index = Index::open(&copy).map_err(unknown)?;
    edit(&mut index).map_err(unknown)?;
    index.write().map_err(|error| IndexError::Io(io::Error::other(error.message().to_owned())))?;
    let file = File::options().write(true).open(&copy)?;
    if let Some(time) = time {
        file.set_modified(time)?;
    }
    file.sync_all()?;
    watch(Step::IndexReady);
    fs::rename(&copy, &original)?;
    let synced = sync_folder(repository.path());
    let warning = synced.err().map(|error| format!("{error}; the index may not outlast a power cut"));
    watch(Step::IndexWritten);
    Ok(warning)
}

/// What of the user's is staged at the path, or makes a folder of it impossible.
fn obstacle(index: &Index, path: &str) -> Option<&'static str> {
    if (1..=3).any(|stage| index.get_path(Path::new(path), stage).is_some()) {
        return Some("because it is in conflict there");
    }
    if index.get_path(Path::new(path), 0).is_some() {
        return Some("because something else is staged there");
    }
    let parents = path.match_indices('/').map(|(end, _)| &path[..end]);
    let blocked = parents.into_iter().any(|parent| index.get_path(Path::new(parent), 0).is_some());
    if blocked || index.find_prefix(format!("{path}/")).is_ok() {
        return Some("because a file is staged where a folder is needed");
    }
    None
}

fn entry(wanted: &Wanted<'_>) -> IndexEntry {
    let zero = IndexTime::new(0, 0);
    let mut entry = IndexEntry {
        ctime: zero,
        mtime: zero,
        dev: 0,
        ino: 0,
        mode: PLAIN as u32,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: wanted.blob,
        flags: 0,
        flags_extended: 0,
        path: wanted.record.path.clone().into_bytes(),
    };
    #[cfg(unix)]
    if let Some(stat) = &wanted.stat {
        use std::os::unix::fs::MetadataExt;
        // The index holds the low 32 bits of each.
        entry.ctime = IndexTime::new(stat.ctime() as i32, stat.ctime_nsec() as u32);
        entry.mtime = IndexTime::new(stat.mtime() as i32, stat.mtime_nsec() as u32);
        entry.dev = stat.dev() as u32;
        entry.ino = stat.ino() as u32;
        entry.uid = stat.uid();
        entry.gid = stat.gid();
        entry.file_size = stat.size() as u32;
    }
    entry
}

pub(super) fn lock_path(repository: &Repository) -> PathBuf {
    repository.path().join("index.lock")
}
