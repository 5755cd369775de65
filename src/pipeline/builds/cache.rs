//! The folder of built commits: one folder an entry, with what was built, a lock, and `entry.json`, which is written last.
//!
//! A build remains where it was made, because build systems write absolute paths into what they make. A folder without
//! `entry.json` is unfinished, as after a kill: whoever gets its lock removes it. The lock of all entries is taken to take or
//! remove one. The time of `entry.json` is that of the last use.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::error::WithContext as _;
use crate::project;
use sprag_base::files::{open_lock, read_bounded, write_atomic, write_cache};
use sprag_base::json;
use sprag_measure::command::keeper;

const ENTRY: &str = "entry.json";
const MOST_ENTRY: usize = 1 << 20;
const LOCK: &str = "lock";

/// A dozen builds of a large project.
pub const MOST_BYTES: u64 = 10 << 30;

pub struct BuildCache {
    folder: PathBuf,
}

/// What was built, or why it could not be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildEntry {
    pub repository: String,
    pub commit: String,
    pub subject: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Of a program of Sprag.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    pub bytes: u64,
    /// What building took; absent where that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// An entry that this process alone uses until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) folder: PathBuf,
    pub(super) entry: Option<BuildEntry>,
    _lock: File,
}

pub struct ListedBuild {
    pub entry: BuildEntry,
    pub used: SystemTime,
    folder: PathBuf,
}

#[derive(Debug, Default, PartialEq)]
pub struct Removed {
    pub builds: usize,
    pub bytes: u64,
    /// In use by a process.
    pub busy: usize,
}

impl BuildCache {
    /// In the cache folder of the user; `None` if it cannot be made.
    pub fn of_user() -> Option<BuildCache> {
        let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let usual = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
        let home = || std::env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(usual));
        let local = || if cfg!(windows) { set("LOCALAPPDATA") } else { None };
        BuildCache::at(set("XDG_CACHE_HOME").or_else(local).or_else(home)?.join("sprag/builds"))
    }

    fn at(folder: PathBuf) -> Option<BuildCache> {
        fs::create_dir_all(&folder).ok()?;
        // Builds must see the path that the system gives them for their folder.
        Some(BuildCache { folder: fs::canonicalize(folder).ok()? })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `None` if another process, or this one, uses it; or if the file system has no locks.
    pub(super) fn take(&self, key: &str) -> crate::Result<Option<Slot>> {
        let _all = self.lock()?;
        let folder = self.folder.join(key);
        let prepare = || -> io::Result<Option<Slot>> {
            fs::create_dir_all(&folder)?;
            let Some(lock) = locked_alone(&folder)? else { return Ok(None) };
            let entry = read(&folder);
            match &entry {
                // This sets the time of the file.
                Some(entry) => write_cache(&folder.join(ENTRY), &[json::to_canonical(entry).as_bytes()])?,
                None => empty(&folder)?,
            }
            Ok(Some(Slot { folder: folder.clone(), entry, _lock: lock }))
        };
        prepare().with_context(|| format!("cannot prepare `{}`", folder.display()))
    }

    pub(super) fn peek(&self, key: &str) -> Option<BuildEntry> {
        read(&self.folder.join(key))
    }

    /// The last used one first; without those that are unfinished.
    pub fn list(&self) -> Vec<ListedBuild> {
        let listed = |folder: PathBuf| {
            let used = fs::metadata(folder.join(ENTRY)).ok()?.modified().ok()?;
            Some(ListedBuild { entry: read(&folder)?, used, folder })
        };
        let mut all: Vec<ListedBuild> = self.folders().into_iter().filter_map(listed).collect();
        all.sort_by(|a, b| (b.used, &a.folder).cmp(&(a.used, &b.folder)));
        all
    }

    /// The build of that repository that was used last and has this folder.
    pub(super) fn newest_with(&self, repository: &str, below: &Path) -> Option<PathBuf> {
        let all = self.list().into_iter().filter(|one| one.entry.repository == repository);
        all.map(|one| one.folder.join(below)).find(|folder| folder.is_dir())
    }

    /// Removes unfinished entries, and then those that were used the longest time ago, until the others have so many bytes.
    pub(super) fn shrink(&self, most: u64) -> crate::Result<()> {
        let mut bytes = 0;
        let too_many = self.list().into_iter().filter(|one| {
            bytes += one.entry.bytes;
            bytes > most
        });
        let places: Vec<PathBuf> = too_many.map(|one| one.folder).collect();
        self.remove(|folder, entry| entry.is_none() || places.iter().any(|place| place == folder)).map(drop)
    }

    /// Removes the entries that were not used since then; all without a time.
    pub fn clear(&self, since: Option<SystemTime>) -> crate::Result<Removed> {
        let recent: Vec<PathBuf> = self
            .list()
            .into_iter()
            .filter(|one| since.is_some_and(|since| one.used >= since))
            .map(|one| one.folder)
            .collect();
        self.remove(|folder, _| recent.iter().all(|place| place != folder))
    }

    fn remove(&self, is_unwanted: impl Fn(&Path, Option<&BuildEntry>) -> bool) -> crate::Result<Removed> {
        let _all = self.lock()?;
        let mut removed = Removed::default();
        for folder in self.folders() {
            let entry = read(&folder);
            if !is_unwanted(&folder, entry.as_ref()) {
                continue;
            }
            let remove = || -> io::Result<bool> {
                let lock = locked_alone(&folder)?;
                if lock.is_some() {
                    keeper::remove(&folder)?;
                }
                Ok(lock.is_some())
            };
            match remove().with_context(|| format!("cannot remove `{}`", folder.display()))? {
                true => {
                    removed.builds += 1;
                    removed.bytes += entry.map_or(0, |entry| entry.bytes);
                }
                false => removed.busy += 1,
            }
        }
        Ok(removed)
    }

    fn folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        entries.filter(is_folder).map(|entry| entry.path()).collect()
    }

    fn lock(&self) -> crate::Result<File> {
        lock_all(&self.folder)
    }
}

impl Slot {
    /// From now on the entry is in the cache.
    pub(super) fn finish(&mut self, entry: BuildEntry) -> crate::Result<()> {
        if entry.failure.is_some() {
            empty(&self.folder).with_context(|| format!("cannot empty `{}`", self.folder.display()))?;
        }
        let entry = BuildEntry { bytes: size(&self.folder), ..entry };
        write_atomic(&self.folder.join(ENTRY), json::to_canonical(&entry).as_bytes())?;
        self.entry = Some(entry);
        Ok(())
    }

    /// Removes what was built, so that it can be built again.
    pub(super) fn forget(&mut self) -> crate::Result<()> {
        self.entry = None;
        empty(&self.folder).with_context(|| format!("cannot empty `{}`", self.folder.display()))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.entry.is_none()
            && let Some(parent) = self.folder.parent()
            && let Ok(_all) = lock_all(parent)
        {
            // What stays is removed with the next build.
            let _ = keeper::remove(&self.folder);
        }
    }
}

fn lock_all(folder: &Path) -> crate::Result<File> {
    project::locked(&folder.join(LOCK), &|| {})
}

fn locked_alone(folder: &Path) -> io::Result<Option<File>> {
    let file = open_lock(&folder.join(LOCK))?;
    Ok(file.try_lock().is_ok().then_some(file))
}

fn read(folder: &Path) -> Option<BuildEntry> {
    serde_json::from_slice(&read_bounded(&folder.join(ENTRY), MOST_ENTRY).ok()?).ok()
}

/// Removes everything but the lock, the entry first.
fn empty(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(ENTRY)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            keeper::remove(&path)?;
        } else if path.file_name().is_none_or(|name| name != LOCK) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Unreadable files have no bytes here.
pub(crate) fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let of_entry = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(of_entry).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (tempfile::TempDir, BuildCache) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = BuildCache::at(folder.path().join("builds")).expect("it can be made");
        (folder, cache)
    }

    fn entry(commit: &str) -> BuildEntry {
        BuildEntry { commit: commit.to_owned(), repository: "/project".to_owned(), ..BuildEntry::default() }
    }

    fn take(cache: &BuildCache, key: &str) -> Slot {
        cache.take(key).expect("it can be prepared").expect("it is free")
    }

    fn build(cache: &BuildCache, key: &str, bytes: usize) {
        let mut slot = take(cache, key);
        fs::create_dir(slot.folder.join("tree")).expect("a folder");
        fs::write(slot.folder.join("tree/program"), vec![0; bytes]).expect("a file");
        slot.finish(entry(key)).expect("it can be written");
    }

    fn commits(cache: &BuildCache) -> Vec<String> {
        cache.list().into_iter().map(|one| one.entry.commit).collect()
    }

    #[test]
    fn an_entry_is_there_once_it_is_finished() {
        let (_folder, cache) = cache();
        assert!(take(&cache, "a").entry.is_none());
        assert!(!cache.folder.join("a").exists(), "an unfinished build is removed");
        build(&cache, "a", 5);
        let slot = take(&cache, "a");
        assert_eq!(slot.entry, Some(BuildEntry { bytes: 5, ..entry("a") }));
        assert!(slot.folder.join("tree/program").exists());
        assert!(cache.take("a").expect("it can be read").is_none(), "it is in use");
        assert_eq!(cache.peek("a").map(|entry| entry.bytes), Some(5));
        drop(slot);
        // As after a kill.
        fs::remove_file(cache.folder.join("a").join(ENTRY)).expect("a file");
        let slot = take(&cache, "a");
        assert!(slot.entry.is_none() && !slot.folder.join("tree").exists());
    }

    #[test]
    fn a_failure_is_an_entry_without_files() {
        let (_folder, cache) = cache();
        let mut slot = take(&cache, "a");
        fs::create_dir(slot.folder.join("tree")).expect("a folder");
        slot.finish(BuildEntry { failure: Some("no compiler".to_owned()), ..entry("a") }).expect("it can be written");
        assert!(!slot.folder.join("tree").exists());
        drop(slot);
        assert_eq!(cache.peek("a").and_then(|entry| entry.failure).as_deref(), Some("no compiler"));
        take(&cache, "a").forget().expect("it can be emptied");
        assert_eq!(cache.peek("a"), None);
    }

    #[test]
    fn what_was_used_the_longest_time_ago_goes_first() {
        let (_folder, cache) = cache();
        for key in ["a", "b", "c"] {
            build(&cache, key, 100);
            // File systems keep times in steps of some milliseconds.
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        drop(take(&cache, "a"));
        assert_eq!(commits(&cache), ["a", "c", "b"]);
        fs::create_dir(cache.folder.join("killed")).expect("a folder");
        cache.shrink(250).expect("it can be emptied");
        assert_eq!(commits(&cache), ["a", "c"]);
        assert!(!cache.folder.join("killed").exists());
        let in_use = take(&cache, "c");
        cache.shrink(0).expect("it can be emptied");
        assert_eq!(commits(&cache), ["c"], "what is in use stays");
        assert_eq!(cache.clear(None).expect("it can be read"), Removed { builds: 0, bytes: 0, busy: 1 });
        drop(in_use);
        let used = cache.list()[0].used;
        assert_eq!(cache.clear(Some(used)).expect("it can be emptied"), Removed::default());
        assert_eq!(cache.clear(None).expect("it can be emptied"), Removed { builds: 1, bytes: 100, busy: 0 });
        assert_eq!(cache.newest_with("/project", Path::new("tree")), None);
    }
}
