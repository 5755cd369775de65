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

use serde::{Deserialize, Serialize};

use super::HistoryError;

/// How often an append tries the lock.
const LOCK_ATTEMPTS: u32 = 66;

/// How often healing tries it.
const BRIEF_ATTEMPTS: u32 = 6;

/// The version of the journal that this build writes and reads.
const JOURNAL_VERSION: u32 = 1;

/// A record whose branch is about to have it, or has it, and whose working trees may not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pending {
    /// The branch, in full.
    pub(super) reference: String,
    /// The path in its tree.
    pub(super) path: String,
    /// The id of the blob.
    pub(super) blob: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Journal {
    version: u32,
    records: Vec<Pending>,
}

/// The folder `sprag/` in the common git folder of a repository and its worktrees.
pub(super) struct StateFolder {
    folder: PathBuf,
}

/// The lock of the state folder, held until dropped.
pub(super) struct Lock {
    /// Keeps the system's lock; absent where the file system has none.
    file: Option<File>,
}

impl Lock {
    /// Whether nobody else can be appending: false only on a file system without locks.
    pub(super) fn is_exclusive(&self) -> bool {
        self.file.is_some()
    }
}

impl StateFolder {
    pub(super) fn of(common_git_folder: &Path) -> StateFolder {
        StateFolder { folder: common_git_folder.join("sprag") }
    }

    /// Waits for the lock, about eight seconds at most: an append takes milliseconds.
    pub(super) fn lock(&self) -> Result<Lock, HistoryError> {
        fs::create_dir_all(&self.folder).map_err(HistoryError::io("create the folder", &self.folder))?;
        self.lock_within(LOCK_ATTEMPTS)?.ok_or_else(|| HistoryError::Locked(self.lock_path()))
    }

    /// Waits for the lock a tenth of a second. It may be held so long by nobody: where a program starts another one,
    /// locks live on in the child until that has begun.
    pub(super) fn lock_briefly(&self) -> Result<Option<Lock>, HistoryError> {
        self.lock_within(BRIEF_ATTEMPTS)
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
        let path = self.lock_path();
        let file = File::options().create(true).append(true).open(&path);
        // The lock of another user of a shared repository can be taken as well, if not written.
        let file = file.or_else(|error| File::open(&path).map_err(|_| error));
        let file = file.map_err(HistoryError::io("open the lock", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { file: Some(file) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Some(Lock { file: None }))
            }
            Err(TryLockError::Error(error)) => Err(HistoryError::io("take the lock", &path)(error)),
        }
    }

    /// Whether somebody left a journal, alive or dead.
    pub(super) fn has_journal(&self) -> bool {
        self.journal_path().exists()
    }

    /// The records of the journal; an empty list where there is none, or none of this version that can be read.
    pub(super) fn read_journal(&self) -> Vec<Pending> {
        let bytes = fs::read(self.journal_path()).unwrap_or_default();
        match serde_json::from_slice::<Journal>(&bytes) {
            Ok(journal) if journal.version == JOURNAL_VERSION => journal.records,
            _ => Vec::new(),
        }
    }

    /// Writes the journal under a temporary name and renames it.
    pub(super) fn write_journal(&self, records: &[Pending]) -> Result<(), HistoryError> {
        let journal = Journal { version: JOURNAL_VERSION, records: records.to_vec() };
        let bytes = serde_json::to_vec(&journal).expect("a journal holds only strings and numbers");
        let temporary = self.folder.join("journal.tmp");
        write_synced(&temporary, &bytes)?;
        let path = self.journal_path();
        fs::rename(&temporary, &path).map_err(HistoryError::io("rename to", &path))?;
        sync_folder(&self.folder);
        Ok(())
    }

    /// Writes a file that will be renamed to its place in a working tree.
    pub(super) fn stage(&self, name: &str, bytes: &[u8]) -> Result<(), HistoryError> {
        let folder = self.staged_folder();
        fs::create_dir_all(&folder).map_err(HistoryError::io("create the folder", &folder))?;
        write_synced(&folder.join(name), bytes)
    }

    /// Where [`StateFolder::stage`] puts a file of that name.
    pub(super) fn staged_path(&self, name: &str) -> PathBuf {
        self.staged_folder().join(name)
    }

    /// A path for a scratch copy that will be renamed to somewhere else in the git folder.
    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Removes everything but the lock and the journal.
    pub(super) fn sweep(&self) -> Result<(), HistoryError> {
        let entries = fs::read_dir(&self.folder).map_err(HistoryError::io("list", &self.folder))?;
        for entry in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if entry == self.lock_path() || entry == self.journal_path() {
                continue;
            }
            let removed = if entry.is_dir() { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
            removed.map_err(HistoryError::io("remove", &entry))?;
        }
        Ok(())
    }

    /// Leaves nothing behind but the records that are still to be caught up with.
    pub(super) fn settle(&self, pending: &[Pending]) -> Result<(), HistoryError> {
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

    fn lock_path(&self) -> PathBuf {
        self.folder.join("lock")
    }

    fn journal_path(&self) -> PathBuf {
        self.folder.join("journal.json")
    }

    fn staged_folder(&self) -> PathBuf {
        self.folder.join("staged")
    }
}

/// Sleeps longer with each attempt, up to a quarter of a second, by a random share so that rivals part.
pub(super) fn pause(attempt: u32) {
    let longest = 4u64 << attempt.min(6);
    let random = RandomState::new().build_hasher().finish();
    thread::sleep(Duration::from_millis(1 + random % longest));
}

/// Renames a file of ours, never over something; it stays where it is when that fails.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    tempfile::TempPath::try_from_path(from)?.persist_noclobber(to).map_err(|refused| {
        // Dropping the path would remove the file.
        let _ = refused.path.keep();
        refused.error
    })
}

/// Makes a rename in `folder` durable, where the system can.
pub(super) fn sync_folder(folder: &Path) {
    // A failure costs durability on a power cut, and nothing can be done about it.
    if let Ok(handle) = File::open(folder) {
        let _ = handle.sync_all();
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), HistoryError> {
    let write = || {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(HistoryError::io("write", path))
}
