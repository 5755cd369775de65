//! Locks that a process of ours left in git's places when it was killed, and that would stop git itself.
//!
//! Whoever calls this holds our own lock, so no process of ours is alive; what remains is to tell our leavings from the
//! locks of other programs, which are theirs to keep or to clear.

use std::fs::{self, Metadata};
use std::path::Path;
use std::thread;
use std::time::Duration;

use git2::{Oid, Repository};

use crate::checkout::index;
use crate::state::Pending;

/// How long an empty lock of a ref is watched. Git writes into its own at once; libgit2 keeps one empty for the time
/// of a few system calls.
const WATCH: Duration = Duration::from_millis(300);

/// Removes the lock of the index, if it bears our mark.
pub(crate) fn remove_index_lock(repository: &Repository) {
    let lock = index::lock_path(repository);
    if fs::read(&lock).is_ok_and(|content| content == index::MARK) {
        let _ = fs::remove_file(lock);
    }
}

/// Removes the lock of the branch that was about to get these records, if it was left by the process that was about to.
///
/// It holds the commit that has them, or nothing. One that stays empty while we watch is nobody's any more.
pub(crate) fn remove_ref_lock(repository: &Repository, reference: &str, records: &[Pending]) {
    let lock = repository.commondir().join(format!("{reference}.lock"));
    let Ok(content) = fs::read_to_string(&lock) else { return };
    let ours =
        if content.is_empty() { stays_empty(&lock) } else { has_records(repository, content.trim_end(), records) };
    if ours {
        let _ = fs::remove_file(lock);
    }
}

/// Removes the lock of a ref that only a sync writes, if it does not change while we watch; the caller holds the lock
/// of syncing. The git of a sync that was killed may live on, but holds a ref for moments.
pub(crate) fn remove_sync_ref_lock(repository: &Repository, reference: &str) {
    let lock = repository.commondir().join(format!("{reference}.lock"));
    if lock.exists() && stays(&lock, |_| true) {
        let _ = fs::remove_file(lock);
    }
}

fn stays_empty(lock: &Path) -> bool {
    stays(lock, |metadata| metadata.len() == 0)
}

fn stays(lock: &Path, fits: impl Fn(&Metadata) -> bool) -> bool {
    let look = || fs::metadata(lock).ok().filter(&fits).as_ref().map(identity);
    let before = look();
    thread::sleep(WATCH);
    before.is_some() && before == look()
}

fn has_records(repository: &Repository, commit: &str, records: &[Pending]) -> bool {
    let tree = Oid::from_str(commit).and_then(|id| repository.find_commit(id)).and_then(|commit| commit.tree());
    let Ok(tree) = tree else { return false };
    let has = |record: &Pending| {
        let entry = tree.get_path(Path::new(&record.path));
        entry.is_ok_and(|entry| entry.id().to_string() == record.blob)
    };
    !records.is_empty() && records.iter().all(has)
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, i64, i64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> Option<std::time::SystemTime> {
    metadata.modified().ok()
}
