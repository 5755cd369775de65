//! What an append under way leaves in `sprag/` inside the git folder: a lock, a journal, and staged files.
//!
//! One process at a time appends to a repository: it holds `lock`, which the system lets go of when the process
//! ends in whatever way. So a journal that is found while holding the lock is that of a process that died, and the
//! working trees it names may lack files that their branch has. A file system without locks costs this order and
//! the healing after a crash; the compare-and-swap of the ref holds all the same.

use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use git2::Oid;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::HistoryError;

/// How often an append tries the lock: often enough for dozens of processes that all want to append.
const LOCK_ATTEMPTS: u32 = 480;

/// How often healing tries it: half a second in all.
const BRIEF_ATTEMPTS: u32 = 12;

/// From how many files on all that the file system holds is flushed in one go: one by one each takes its own time.
pub(crate) const MANY_FILES: usize = 64;

/// The version of the journal that this build writes and reads.
const JOURNAL_VERSION: u32 = 1;

/// How the names of journals begin that newer versions left.
const NEWER_JOURNAL_PREFIX: &str = "journal-";

/// The moments between the steps of an append, at which tests cut it short or step in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The lock is held, and what an earlier append left is healed.
    Locked,
    /// Blobs, trees and the commit are in the object database.
    CommitWritten,
    /// The files lie in the git folder.
    Staged,
    Journalled,
    IndexLocked,
    RefMoved,
    FilePlaced,
    /// The new index lies in the git folder.
    IndexReady,
    /// The new index is in place, and still locked.
    IndexWritten,
    CaughtUp,
}

/// Sees each step when it is done.
pub(crate) type Watch<'a> = &'a mut dyn FnMut(Step);

/// A record whose branch is about to have it, or has it, and whose working trees may not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pending {
    /// The branch, in full.
    pub(crate) reference: String,
    pub(crate) path: String,
    pub(crate) blob: String,
    /// Whether the file could not be brought to its place, though the index may have it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unplaced: bool,
}

impl Pending {
    pub(crate) fn new(reference: &str, path: &str, blob: Oid) -> Pending {
        Pending { reference: reference.to_owned(), path: path.to_owned(), blob: blob.to_string(), unplaced: false }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Journal {
    version: u32,
    records: Vec<Pending>,
}

/// The folder `sprag/` in the common git folder of a repository and its worktrees.
pub(crate) struct StateFolder {
    folder: PathBuf,
}

/// The lock of the state folder, held until dropped.
pub(crate) struct Lock {
    /// Keeps the system's lock; absent where the file system has none.
    file: Option<File>,
}

impl Lock {
    /// Whether nobody else can be appending: false only on a file system without locks.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.file.is_some()
    }
}

impl StateFolder {
    pub(crate) fn new(common_git_folder: &Path) -> StateFolder {
        StateFolder { folder: common_git_folder.join("sprag") }
    }

    /// Waits for the lock, about a minute at most: an append takes milliseconds, and many may be waiting for it.
    pub(crate) fn lock(&self) -> Result<Lock, HistoryError> {
        fs::create_dir_all(&self.folder).map_err(HistoryError::io("create the folder", &self.folder))?;
        self.lock_within(LOCK_ATTEMPTS)?.ok_or_else(|| HistoryError::Locked(self.lock_path()))
    }

    /// Waits for the lock half a second. It may be held so long by nobody: where a program starts another one,
    /// locks live on in the child until that has begun.
    pub(crate) fn lock_briefly(&self) -> Result<Option<Lock>, HistoryError> {
        self.lock_within(BRIEF_ATTEMPTS)
    }

    /// Takes the lock of syncing, by which one process at a time reaches out; records are appended meanwhile.
    pub(crate) fn lock_sync(&self) -> Result<Option<Lock>, HistoryError> {
        fs::create_dir_all(&self.folder).map_err(HistoryError::io("create the folder", &self.folder))?;
        take(&self.sync_lock_path())
    }

    fn lock_within(&self, attempts: u32) -> Result<Option<Lock>, HistoryError> {
        for attempt in 0..attempts {
            if let Some(lock) = self.try_lock()? {
                return Ok(Some(lock));
            }
            pause(attempt);
        }
        Ok(None)
    }

    fn try_lock(&self) -> Result<Option<Lock>, HistoryError> {
        take(&self.lock_path())
    }

    /// Whether somebody left a journal, alive or dead.
    pub(crate) fn has_journal(&self) -> bool {
        self.journal_path().exists()
    }

    /// The records of the journal; an empty list where there is none, or none of this version that can be read.
    pub(crate) fn read_journal(&self) -> Vec<Pending> {
        let bytes = fs::read(self.journal_path()).unwrap_or_default();
        match serde_json::from_slice::<Journal>(&bytes) {
            Ok(journal) if journal.version == JOURNAL_VERSION => journal.records,
            _ => Vec::new(),
        }
    }

    /// Puts a journal that a newer Sprag left out of the way, under a name that bears its version, and gives that name:
    /// what it lists cannot be told from here, and ours must not be written over it.
    pub(crate) fn preserve_newer_journal(&self) -> Result<Option<PathBuf>, HistoryError> {
        let path = self.journal_path();
        let bytes = fs::read(&path).unwrap_or_default();
        let version = serde_json::from_slice::<Value>(&bytes).ok().and_then(|value| value.get("version")?.as_u64());
        let Some(version) = version.filter(|version| *version > u64::from(JOURNAL_VERSION)) else { return Ok(None) };
        let kept = self.folder.join(format!("{NEWER_JOURNAL_PREFIX}{version}.json"));
        fs::rename(&path, &kept).map_err(HistoryError::io("rename to", &kept))?;
        Ok(Some(kept))
    }

    /// Writes the journal under a temporary name and renames it.
    pub(crate) fn write_journal(&self, records: &[Pending]) -> Result<(), HistoryError> {
        let journal = Journal { version: JOURNAL_VERSION, records: records.to_vec() };
        let bytes = serde_json::to_vec(&journal).expect("a journal holds only strings and numbers");
        let temporary = self.folder.join("journal.tmp");
        write_synced(&temporary, &bytes)?;
        let path = self.journal_path();
        fs::rename(&temporary, &path).map_err(HistoryError::io("rename to", &path))?;
        sync_folder(&self.folder)
    }

    /// Writes a file that will be renamed to its place in a working tree.
    pub(crate) fn stage(&self, name: &str, bytes: &[u8]) -> Result<(), HistoryError> {
        self.stage_all(&[(name.to_owned(), bytes)])
    }

    /// Writes files that will be renamed to their places.
    pub(crate) fn stage_all(&self, files: &[(String, &[u8])]) -> Result<(), HistoryError> {
        if files.is_empty() {
            return Ok(());
        }
        let folder = self.staged_folder();
        fs::create_dir_all(&folder).map_err(HistoryError::io("create the folder", &folder))?;
        let are_many = files.len() > MANY_FILES && cfg!(target_os = "linux");
        if !are_many {
            return files.iter().try_for_each(|(name, bytes)| write_synced(&folder.join(name), bytes));
        }
        let write = |(name, bytes): &(String, &[u8])| {
            let path = folder.join(name);
            fs::write(&path, bytes).map_err(HistoryError::io("write", &path))
        };
        let share = files.len().div_ceil(thread::available_parallelism().map_or(1, usize::from));
        thread::scope(|scope| {
            let shares = files.chunks(share);
            let writers: Vec<_> = shares.map(|share| scope.spawn(|| share.iter().try_for_each(write))).collect();
            writers.into_iter().try_for_each(|writer| writer.join().expect("writing a file does not panic"))
        })?;
        sync_file_system(&folder).map(drop)
    }

    /// Where [`StateFolder::stage`] puts a file of that name.
    pub(crate) fn staged_path(&self, name: &str) -> PathBuf {
        self.staged_folder().join(name)
    }

    /// A path for a scratch copy that will be renamed to somewhere else in the git folder.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The names of everything but the lock, in order: what an append under way has, or one that was cut short left.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok);
        let names = entries
            .filter(|entry| {
                entry.path() != self.lock_path()
                    && entry.path() != self.sync_lock_path()
                    && !is_preserved(&entry.path())
            })
            .map(|entry| entry.file_name());
        let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Removes everything but the locks, the journal, and what is kept of newer versions.
    pub(crate) fn sweep(&self) -> Result<(), HistoryError> {
        let entries = fs::read_dir(&self.folder).map_err(HistoryError::io("list", &self.folder))?;
        for entry in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if [self.lock_path(), self.sync_lock_path(), self.journal_path()].contains(&entry) || is_preserved(&entry) {
                continue;
            }
            let removed = if entry.is_dir() { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
            removed.map_err(HistoryError::io("remove", &entry))?;
        }
        Ok(())
    }

    /// Leaves nothing behind but the records that are still to be caught up with.
    pub(crate) fn settle(&self, pending: &[Pending]) -> Result<(), HistoryError> {
        self.sweep()?;
        if !pending.is_empty() {
            return self.write_journal(pending);
        }
        let path = self.journal_path();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(HistoryError::io("remove", &path)(error)),
            _ => Ok(()),
        }
    }

    /// As [`StateFolder::settle`], where a failure is a warning: the branch has moved already.
    pub(crate) fn settle_with_warning(&self, mut pending: Vec<Pending>, warnings: &mut Vec<String>) {
        pending.sort();
        pending.dedup();
        warnings.extend(self.settle(&pending).err().map(|error| error.to_string()));
    }

    fn lock_path(&self) -> PathBuf {
        self.folder.join("lock")
    }

    pub(crate) fn sync_lock_path(&self) -> PathBuf {
        self.folder.join("sync.lock")
    }

    fn journal_path(&self) -> PathBuf {
        self.folder.join("journal.json")
    }

    fn staged_folder(&self) -> PathBuf {
        self.folder.join("staged")
    }
}

/// Takes the lock of a file, unless somebody has it.
fn take(path: &Path) -> Result<Option<Lock>, HistoryError> {
    let file = File::options().create(true).append(true).open(path);
    // The lock of another user of a shared repository can be taken as well, if not written.
    let file = file.or_else(|error| File::open(path).map_err(|_| error));
    let file = file.map_err(HistoryError::io("open the lock", path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock { file: Some(file) })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(Some(Lock { file: None })),
        Err(TryLockError::Error(error)) => Err(HistoryError::io("take the lock", path)(error)),
    }
}

fn is_preserved(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NEWER_JOURNAL_PREFIX))
}

/// Sleeps longer with each attempt, up to a quarter of a second, by a random share so that rivals part.
pub(crate) fn pause(attempt: u32) {
    let longest = 4u64 << attempt.min(6);
    let random = RandomState::new().build_hasher().finish();
    thread::sleep(Duration::from_millis(1 + random % longest));
}

/// Renames a file of ours, never over something; it stays where it is when that fails.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    tempfile::TempPath::try_from_path(from)?.persist_noclobber(to).map_err(|refused| {
        // Dropping the path would remove the file.
        let _ = refused.path.keep();
        refused.error
    })
}

/// Makes a new name in `folder` durable, where the system can.
///
/// A failure is not tried again: the system may have thrown away what it could not write, and would then call a second
/// try good.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), HistoryError> {
    // Windows opens no folder as a file, and makes names durable with the file.
    if cfg!(unix) {
        match File::open(folder).and_then(|handle| handle.sync_all()) {
            // Some file systems cannot flush a folder.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
            synced => return synced.map_err(HistoryError::io("make durable the folder", folder)),
        }
    }
    Ok(())
}

/// Flushes all of the file system that a folder lies on; tells whether this system can.
#[cfg(target_os = "linux")]
pub(crate) fn sync_file_system(folder: &Path) -> Result<bool, HistoryError> {
    let synced = File::open(folder).and_then(|handle| rustix::fs::syncfs(&handle).map_err(io::Error::from));
    synced.map(|()| true).map_err(HistoryError::io("make durable what lies in", folder))
}

/// Flushes nothing: other systems do not tell whether it worked.
#[cfg(not(target_os = "linux"))]
pub(crate) fn sync_file_system(_folder: &Path) -> Result<bool, HistoryError> {
    Ok(false)
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), HistoryError> {
    let write = || {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(HistoryError::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_journal_is_kept_and_an_own_one_is_not_touched() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let state = StateFolder::new(root.path());
        let _lock = state.lock().expect("nobody else is here");
        let newer = "{\"version\": 2, \"whatever\": []}";
        fs::write(state.journal_path(), newer).expect("a file");
        let kept = state.preserve_newer_journal().expect("it can be renamed").expect("it is newer");
        state.write_journal(&[]).expect("it can be written");
        assert_eq!(state.preserve_newer_journal().expect("nothing is done"), None);
        state.settle(&[]).expect("it can be swept");
        assert_eq!(fs::read_to_string(&kept).expect("it is there"), newer);
        assert!(!state.has_journal());
    }
}
