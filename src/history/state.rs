//! The files of an append under way in `sprag/` inside the git folder: a lock, a journal, and staged files.
//!
//! One process at a time appends to a repository: it holds `lock`, which the system releases when the process ends in any way.
//! So whoever takes the lock and finds a journal knows that its writer died, and that the working trees it names may lack files
//! of their branch. A file system without locks loses this order and the healing; the compare-and-swap of the ref still holds.

use std::borrow::Cow;
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
use sprag_base::files::{self, open_lock};

/// How often an append tries the lock: about a minute in all, enough for dozens of processes that append.
const LOCK_ATTEMPTS: u32 = 480;

const BRIEF_ATTEMPTS: u32 = 12;

/// From so many files on, the whole file system is flushed at once instead of each file.
pub(crate) const MANY_FILES: usize = 64;

/// A journal without files that leave has version 1.
const JOURNAL_VERSION: u32 = 2;

/// The start of the names of preserved journals of newer versions.
const NEWER_JOURNAL_PREFIX: &str = "journal-";

/// The moments between the steps of an append, at which tests cut it short or step in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The lock is taken, and an earlier append is healed.
    Locked,
    /// Blobs, trees and the commit are in the object database.
    CommitWritten,
    /// The files lie in the git folder.
    Staged,
    Journalled,
    IndexLocked,
    RefMoved,
    /// Files of the working tree are gone that the branch lost.
    FilesRemoved,
    FilePlaced,
    /// The new index lies in the git folder.
    IndexReady,
    /// The new index is in place, and still locked.
    IndexWritten,
    CaughtUp,
}

pub(crate) type Watch<'a> = &'a mut dyn FnMut(Step);

/// A record whose branch is about to have it, or has it, and whose working trees may not; or a file that the branch loses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pending {
    /// The branch, in full.
    pub(crate) reference: String,
    pub(crate) path: String,
    pub(crate) blob: String,
    /// Whether the file could not be written, though the index may have it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unplaced: bool,
    /// Whether the branch loses it. The path is then text, even where it is not UTF-8.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) removed: bool,
}

impl Pending {
    pub(crate) fn new(reference: &str, path: &str, blob: Oid) -> Pending {
        let (reference, path, blob) = (reference.to_owned(), path.to_owned(), blob.to_string());
        Pending { reference, path, blob, unplaced: false, removed: false }
    }

    pub(crate) fn removed(reference: &str, path: &[u8], blob: Oid) -> Pending {
        Pending { removed: true, ..Pending::new(reference, &String::from_utf8_lossy(path), blob) }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Journal {
    version: u32,
    records: Vec<Pending>,
}

pub(crate) struct StateFolder {
    folder: PathBuf,
}

/// The lock of the state folder, held until dropped.
pub(crate) struct Lock {
    /// Holds the lock of the system; absent on a file system without locks.
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

    /// Waits for the lock, about a minute at most.
    pub(crate) fn lock(&self) -> Result<Lock, HistoryError> {
        self.create()?;
        self.lock_within(LOCK_ATTEMPTS)?.ok_or_else(|| HistoryError::Locked(self.lock_path()))
    }

    /// Waits for the lock half a second. A dead process may seem to hold it so long: a child that is just starting inherits it.
    pub(crate) fn lock_briefly(&self) -> Result<Option<Lock>, HistoryError> {
        self.lock_within(BRIEF_ATTEMPTS)
    }

    /// Takes the lock of syncing, which one process at a time holds; records are appended meanwhile.
    pub(crate) fn lock_sync(&self) -> Result<Option<Lock>, HistoryError> {
        self.create()?;
        take(&self.sync_lock_path())
    }

    fn create(&self) -> Result<(), HistoryError> {
        fs::create_dir_all(&self.folder).map_err(HistoryError::io("create the folder", &self.folder))
    }

    fn lock_within(&self, attempts: u32) -> Result<Option<Lock>, HistoryError> {
        for attempt in 0..attempts {
            if let Some(lock) = take(&self.lock_path())? {
                return Ok(Some(lock));
            }
            pause(attempt);
        }
        Ok(None)
    }

    pub(crate) fn has_journal(&self) -> bool {
        self.journal_path().exists()
    }

    /// The records of the journal; none where there is no journal of this version that can be read.
    pub(crate) fn read_journal(&self) -> Vec<Pending> {
        let bytes = fs::read(self.journal_path()).unwrap_or_default();
        match serde_json::from_slice::<Journal>(&bytes) {
            Ok(journal) if (1..=JOURNAL_VERSION).contains(&journal.version) => journal.records,
            _ => Vec::new(),
        }
    }

    /// Renames a journal that a newer Sprag left, so that ours does not overwrite it; gives the new name.
    pub(crate) fn preserve_newer_journal(&self) -> Result<Option<PathBuf>, HistoryError> {
        let path = self.journal_path();
        let bytes = fs::read(&path).unwrap_or_default();
        let version = serde_json::from_slice::<Value>(&bytes).ok().and_then(|value| value.get("version")?.as_u64());
        let Some(version) = version.filter(|version| *version > u64::from(JOURNAL_VERSION)) else { return Ok(None) };
        let preserved = self.folder.join(format!("{NEWER_JOURNAL_PREFIX}{version}.json"));
        fs::rename(&path, &preserved).map_err(HistoryError::io("rename to", &preserved))?;
        Ok(Some(preserved))
    }

    pub(crate) fn write_journal(&self, records: &[Pending]) -> Result<(), HistoryError> {
        let version = if records.iter().any(|record| record.removed) { JOURNAL_VERSION } else { 1 };
        let journal = Journal { version, records: records.to_vec() };
        let bytes = serde_json::to_vec(&journal).expect("a journal holds only strings and numbers");
        let temporary = self.folder.join("journal.tmp");
        write_synced(&temporary, &bytes)?;
        let path = self.journal_path();
        fs::rename(&temporary, &path).map_err(HistoryError::io("rename to", &path))?;
        sync_folder(&self.folder)
    }

    /// Writes files, by name, that will be renamed to their places in a working tree.
    pub(crate) fn stage_all<'b>(
        &self,
        count: usize,
        files: impl IntoIterator<Item = Result<(String, Cow<'b, [u8]>), HistoryError>>,
    ) -> Result<(), HistoryError> {
        if count == 0 {
            return Ok(());
        }
        let folder = self.staged_folder();
        fs::create_dir_all(&folder).map_err(HistoryError::io("create the folder", &folder))?;
        let are_many = count > MANY_FILES && cfg!(target_os = "linux");
        for file in files {
            let (name, bytes) = file?;
            let path = folder.join(name);
            if are_many {
                fs::write(&path, bytes).map_err(HistoryError::io("write", &path))?;
            } else {
                write_synced(&path, &bytes)?;
            }
        }
        if are_many { sync_file_system(&folder).map(drop) } else { Ok(()) }
    }

    pub(crate) fn staged_path(&self, name: &str) -> PathBuf {
        self.staged_folder().join(name)
    }

    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Everything but the locks and the journals of newer versions.
    fn entries(&self) -> io::Result<Vec<PathBuf>> {
        let locks = [self.lock_path(), self.sync_lock_path()];
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let is_preserved = entry.file_name().to_string_lossy().starts_with(NEWER_JOURNAL_PREFIX);
            paths.extend(Some(entry.path()).filter(|path| !is_preserved && !locks.contains(path)));
        }
        paths.sort();
        Ok(paths)
    }

    /// The names of the files of an append that is under way or was cut short.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let entries = self.entries().unwrap_or_default();
        entries.iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
    }

    pub(crate) fn sweep(&self) -> Result<(), HistoryError> {
        let entries = self.entries().map_err(HistoryError::io("list", &self.folder))?;
        for entry in entries.iter().filter(|entry| **entry != self.journal_path()) {
            let removed = if entry.is_dir() { fs::remove_dir_all(entry) } else { fs::remove_file(entry) };
            removed.map_err(HistoryError::io("remove", entry))?;
        }
        Ok(())
    }

    /// Leaves a journal of the records that working trees still lack, and nothing else.
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

fn take(path: &Path) -> Result<Option<Lock>, HistoryError> {
    // In a shared repository the file may belong to another user; reading is enough to lock it.
    let file = open_lock(path).or_else(|error| files::open(path).map_err(|_| error));
    let file = file.map_err(HistoryError::io("open the lock", path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock { file: Some(file) })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(Some(Lock { file: None })),
        Err(TryLockError::Error(error)) => Err(HistoryError::io("take the lock", path)(error)),
    }
}

/// Sleeps for a random time, longer with each attempt, up to a quarter of a second.
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
/// A failure is final: the system may have dropped what it could not write, and would report success the second time.
pub fn sync_folder(folder: &Path) -> Result<(), HistoryError> {
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

/// Flushes the file system of a folder; false where the system cannot say whether that worked.
#[cfg(target_os = "linux")]
pub(crate) fn sync_file_system(folder: &Path) -> Result<bool, HistoryError> {
    let synced = File::open(folder).and_then(|handle| rustix::fs::syncfs(&handle).map_err(io::Error::from));
    synced.map(|()| true).map_err(HistoryError::io("make durable what lies in", folder))
}

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
