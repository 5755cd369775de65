//! Adding entries to the index of a working tree, and leaving the rest of it as it is.
//!
//! libgit2 locks the index only to write it, so a `git add` after it has read the index would be lost. Here the lock comes
//! first, by git's own protocol: `index.lock`, which must be new. The changed index is written to another file, which is
//! renamed to `index` while the lock is held. The lock contains a mark, by which one of a killed process is recognised.
//!
//! The new index keeps the time of the old one: git compares files as young as the index by content, and must go on to.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use git2::{AttrCheckFlags, AttrValue, Index, IndexEntry, IndexEntryExtendedFlag, IndexTime, Oid, Repository};

use crate::error::HistoryError;
use crate::layout::PLAIN;
use crate::state::{StateFolder, Step, Watch, pause, rename_new, sync_folder};

/// How often a lock is tried: about a second in all.
const LOCK_ATTEMPTS: u32 = 12;

/// The content of our lock. Git's is empty or an index.
pub(crate) const MARK: &[u8] = b"sprag\n";

pub(crate) struct Wanted<'a> {
    pub(crate) path: &'a str,
    pub(crate) blob: Oid,
    /// Of its file, so that git need not read it; absent where the file is not ours.
    pub(crate) stat: Option<Metadata>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum IndexError {
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
    pub(crate) fn passes(&self) -> bool {
        !matches!(self, IndexError::Unknown(_))
    }
}

/// Git's lock of an index. It stays when this process dies; the next one recognises it by its mark and removes it.
pub(crate) struct IndexLock {
    path: PathBuf,
}

impl IndexLock {
    /// Takes git's lock by renaming a file that has the mark.
    pub(crate) fn take(repository: &Repository, state: &StateFolder) -> Result<IndexLock, IndexError> {
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

    pub(crate) fn release(&self) -> Result<(), HistoryError> {
        fs::remove_file(&self.path).map_err(HistoryError::io("remove", &self.path))
    }
}

/// A copy of a locked index, to be changed and put into its place.
pub(crate) struct Draft {
    index: Index,
    copy: PathBuf,
    original: PathBuf,
    /// Of the original; absent where there is none.
    time: Option<SystemTime>,
}

impl Draft {
    pub(crate) fn read(repository: &Repository, state: &StateFolder) -> Result<Draft, IndexError> {
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
        let index = Index::open(&copy).map_err(git_error)?;
        Ok(Draft { index, copy, original, time })
    }

    pub(crate) fn index(&mut self) -> &mut Index {
        &mut self.index
    }

    /// The entry of that content at a path, which is given as text.
    pub(crate) fn entry(&self, path: &str, blob: Oid) -> Option<IndexEntry> {
        let is_it = |entry: &IndexEntry| entry.id == blob && String::from_utf8_lossy(&entry.path) == path;
        match path.contains(char::REPLACEMENT_CHARACTER) {
            true => self.index.iter().find(is_it),
            false => self.index.get_path(Path::new(path), 0).filter(is_it),
        }
    }

    pub(crate) fn remove(&mut self, path: &Path) -> Result<(), IndexError> {
        self.index.remove(path, 0).map_err(git_error)
    }

    /// Adds the records; says which of them a staged change of the user prevents.
    pub(crate) fn add(&mut self, wanted: &[Wanted<'_>]) -> Result<Vec<String>, IndexError> {
        let mut obstacles = Vec::new();
        for wanted in wanted {
            match obstacle(&self.index, wanted.path) {
                None => self.index.add(&entry(wanted)).map_err(git_error)?,
                Some(obstacle) => obstacles.push(format!("`{}` was not added to the index, {obstacle}", wanted.path)),
            }
        }
        Ok(obstacles)
    }

    /// Replaces the index; a warning says that the change may not outlast a power cut.
    pub(crate) fn write(mut self, watch: Watch<'_>) -> Result<Option<String>, IndexError> {
        self.index.write().map_err(|error| IndexError::Io(io::Error::other(error.message().to_owned())))?;
        let file = File::options().write(true).open(&self.copy)?;
        if let Some(time) = self.time {
            file.set_modified(time)?;
        }
        file.sync_all()?;
        watch(Step::IndexReady);
        fs::rename(&self.copy, &self.original)?;
        let synced = self.original.parent().map_or(Ok(()), sync_folder);
        let warning = synced.err().map(|error| format!("{error}; a power cut may lose the index"));
        watch(Step::IndexWritten);
        Ok(warning)
    }
}

/// The paths that a sparse checkout leaves out of the working tree; none where the index cannot be read.
pub(crate) fn sparse_paths(repository: &Repository) -> HashSet<Vec<u8>> {
    let Ok(mut index) = repository.index() else { return HashSet::new() };
    // The index may have been written since it was opened.
    if index.read(false).is_err() {
        return HashSet::new();
    }
    let skips =
        |flags: u16| IndexEntryExtendedFlag::from_bits_truncate(flags).contains(IndexEntryExtendedFlag::SKIP_WORKTREE);
    index.iter().filter(|entry| skips(entry.flags_extended)).map(|entry| entry.path).collect()
}

fn git_error(error: git2::Error) -> IndexError {
    IndexError::Unknown(error.message().to_owned())
}

/// Why a staged change of the user prevents an entry at the path.
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
        path: wanted.path.into(),
    };
    if let Some(stat) = &wanted.stat {
        // The index holds the low 32 bits of each.
        entry.file_size = stat.len() as u32;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            entry.ctime = IndexTime::new(stat.ctime() as i32, stat.ctime_nsec() as u32);
            entry.mtime = IndexTime::new(stat.mtime() as i32, stat.mtime_nsec() as u32);
            entry.dev = stat.dev() as u32;
            entry.ino = stat.ino() as u32;
            entry.uid = stat.uid();
            entry.gid = stat.gid();
        }
    }
    entry
}

pub(crate) fn lock_path(repository: &Repository) -> PathBuf {
    repository.path().join("index.lock")
}

// Attributes by which git would see records as changed.
//
// A record has the same bytes in the tree and in a working tree, and line endings do it no harm. But where a filter driver or
// another encoding is set for it, git compares the output of the driver with the tree, and `git status` calls the record
// changed. Drivers are programs, and none is run here, so a warning has to do.

const LINE: &str = "history/** -filter -working-tree-encoding";

/// The warning where such an attribute holds for one of the paths; of each folder one path is checked. An attribute may stand
/// in a file of the index alone, which is passed in since reading it again takes longer than all the rest.
pub(crate) fn warning<'a>(
    repository: &Repository,
    index: &mut Index,
    paths: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let repository = Repository::open(repository.path()).ok()?;
    repository.set_index(index).ok()?;
    let mut folders = BTreeSet::new();
    let mut paths = paths.filter(|path| folders.insert(path.rsplit_once('/').map(|(folder, _)| folder)));
    let (path, attribute) = paths.find_map(|path| Some((path, harmful(&repository, path)?)))?;
    Some(format!(
        "the attribute `{attribute}` applies to `{path}`, so git may call it changed; add the line `{LINE}` to \
         .gitattributes"
    ))
}

fn harmful(repository: &Repository, path: &str) -> Option<String> {
    let value = |name: &str| {
        let value = repository.get_attr(Path::new(path), name, AttrCheckFlags::FILE_THEN_INDEX).ok()?;
        match AttrValue::from_string(value) {
            AttrValue::String(text) => Some(text.to_owned()),
            _ => None,
        }
    };
    if let Some(driver) = value("filter").filter(|driver| is_defined(repository, driver)) {
        return Some(format!("filter={driver}"));
    }
    let encoding = value("working-tree-encoding").filter(|encoding| !encoding.eq_ignore_ascii_case("UTF-8"));
    encoding.map(|encoding| format!("working-tree-encoding={encoding}"))
}

/// Whether the configuration defines what a driver does with a file that is added. Git ignores other drivers.
fn is_defined(repository: &Repository, driver: &str) -> bool {
    let Ok(config) = repository.config() else { return false };
    ["clean", "process"].iter().any(|what| config.get_entry(&format!("filter.{driver}.{what}")).is_ok())
}
