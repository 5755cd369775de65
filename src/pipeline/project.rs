//! The project of a command: its folder, configuration and repository.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::config::{Config, FILE_NAME, RECORDS_BRANCH, Suite};
use crate::error::WithContext as _;
use crate::snapshots::SnapshotFolder;
use crate::text::{self, warn};
use crate::{Error, refuse};
use sprag_base::files::{open_lock, read_bounded, write_atomic};
use sprag_history::{self as history, HistoryError, Store, Target};
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::{Baseline, BaselineFile};

/// Pending records and caches; git ignores it.
pub(crate) const PRIVATE_FOLDER: &str = ".sprag";

const BASELINES: &str = "baselines";

pub const BASELINE_ARCHIVE: &str = "baselines/archive";

pub struct Project {
    /// The root of the working tree, or the start folder.
    pub root: PathBuf,
    pub config: Config,
    /// Without a working tree, results need another place.
    pub is_bare: bool,
    pub has_cache: bool,
    pub pinned: Option<String>,
    store: Result<Store, HistoryError>,
}

impl Project {
    /// Finds the project at or above `folder`.
    pub fn open(folder: &Path) -> crate::Result<Project> {
        let folder = fs::canonicalize(folder).with_context(|| format!("cannot enter `{}`", folder.display()))?;
        let mut store = history::open(&folder);
        if !folder.is_dir() {
            return Err(Error::message(format!("cannot enter `{}`: it is not a folder", folder.display())));
        }
        let workdir = match &store {
            Ok(store) => history::facts(store)?.workdir,
            Err(_) => None,
        };
        let is_bare = store.is_ok() && workdir.is_none();
        let root = workdir.unwrap_or(folder);
        let mut config = Config::load(&root)?;
        if let Ok(store) = &mut store {
            store.warnings.iter().for_each(|warning| warn(warning));
            config.history.reference = reference(store, config.history.reference);
            use_snapshots(store, &root, &config);
        }
        Ok(Project { root, config, is_bare, has_cache: true, pinned: None, store })
    }

    /// Relative to the root if it lies inside, else as given.
    pub fn shown(&self, path: &Path) -> String {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let inside = real(path).strip_prefix(real(&self.root)).map(Path::to_owned);
        let shown = inside.unwrap_or_else(|_| path.strip_prefix(&self.root).unwrap_or(path).to_owned());
        shown.display().to_string()
    }

    pub fn store(&self) -> crate::Result<&Store> {
        match &self.store {
            Ok(store) => Ok(store),
            Err(error) => {
                let hint = error.hint().unwrap_or_else(|| "run sprag inside a git repository".to_owned());
                refuse(error.to_string(), hint)
            }
        }
    }

    pub fn find_store(&self) -> Option<&Store> {
        self.store.as_ref().ok()
    }

    pub fn target(&self) -> crate::Result<Target> {
        Ok(history::target(self.store()?, self.config.history.reference.as_deref())?)
    }

    pub fn source(&self) -> crate::Result<Target> {
        let store = self.store()?;
        match &self.pinned {
            Some(commit) => Ok(Target { reference: commit.clone(), remote: None, inherited: None, configured: false }),
            None => Ok(history::source(store, self.config.history.reference.as_deref())?),
        }
    }

    /// Files in one folder, history of another repository as of a commit; nothing is cached.
    pub fn at(files: &Path, repository: &Path, commit: &str) -> crate::Result<Project> {
        let mut store = history::open(repository)?;
        let (root, mut config) = (files.to_owned(), Config::load(files)?);
        config.history.reference = reference(&store, config.history.reference);
        use_snapshots(&mut store, &root, &config);
        Ok(Project {
            root,
            config,
            is_bare: false,
            has_cache: false,
            pinned: Some(commit.to_owned()),
            store: Ok(store),
        })
    }

    /// Takes suites and rules from a commit, but suites that it lacks. Warns of differences; the commit and what it decides.
    pub fn use_config_of(&mut self, commit: &str) -> crate::Result<String> {
        let files = history::files_of(self.store()?, commit, FILE_NAME)?;
        let bytes = files.first().map_or(&[][..], |(_, bytes)| bytes);
        let path = format!("{commit}:{FILE_NAME}");
        let text = str::from_utf8(bytes).with_context(|| format!("`{path}` cannot be read"))?;
        let base = Config::parse(text, Path::new(&path))?;
        let own = std::mem::replace(&mut self.config.suites, base.suites);
        let differs = |name: &String, suite: &Suite| own.get(name) != Some(suite);
        let suites = self.config.suites.iter().filter(|(name, suite)| differs(name, suite));
        let mut edited: Vec<String> = suites.map(|(name, _)| format!("[suites.{name}]")).collect();
        if std::mem::replace(&mut self.config.rules, base.rules.clone()) != base.rules {
            edited.push("[rules]".to_owned());
        }
        for (name, suite) in own {
            match base.on_request.contains_key(&name) {
                // Else settings of a built-in suite would be new.
                true => edited.push(format!("[suites.{name}]")),
                false => drop(self.config.suites.entry(name).or_insert(suite)),
            }
        }
        self.config.on_request = base.on_request;
        if edited.is_empty() {
            return Ok(commit.to_owned());
        }
        let from = format!("{commit}, as the checkout edits `{}`", edited.join("`, `"));
        warn(&format!("`{FILE_NAME}` is that of {}", text::printable(&from)));
        Ok(from)
    }

    /// An error other than that there is no repository.
    pub fn store_fault(&self) -> Option<&HistoryError> {
        self.store.as_ref().err().filter(|error| !matches!(error, HistoryError::NoRepository(_)))
    }

    /// Made on demand, with a rule that git ignores it.
    pub fn private_folder(&self) -> crate::Result<PathBuf> {
        let folder = self.root.join(PRIVATE_FOLDER);
        let ignore = folder.join(".gitignore");
        if !ignore.exists() {
            write_atomic(&ignore, b"*\n")?;
        }
        Ok(folder)
    }

    /// Finished runs that wait for the history; it may not exist.
    pub fn pending_folder(&self) -> PathBuf {
        self.root.join(PRIVATE_FOLDER).join("pending")
    }

    /// Readable or not, by path.
    pub fn baselines(&self) -> crate::Result<Vec<BaselineFile>> {
        self.baselines_in(BASELINES)
    }

    pub fn archived_baselines(&self) -> crate::Result<Vec<BaselineFile>> {
        self.baselines_in(BASELINE_ARCHIVE)
    }

    fn baselines_in(&self, place: &str) -> crate::Result<Vec<BaselineFile>> {
        let file = |path: PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let content = read_regular(&path, MAX_RECORD_BYTES);
            let content = content.and_then(|bytes| Baseline::from_json(&bytes).map_err(|error| error.to_string()));
            BaselineFile { path: format!("{place}/{name}"), content }
        };
        Ok(files(&self.root.join(place), "json")?.into_iter().map(file).collect())
    }

    /// The variable goes before the file.
    pub fn machine_name(&self) -> Option<String> {
        let variable = std::env::var(sprag_measure::environment::MACHINE_VARIABLE).ok();
        variable.filter(|name| !name.trim().is_empty()).or_else(|| self.config.machine.name.clone())
    }
}

/// The branch of records: the configured one; `None`, the current one, where branches of code have records; else its own.
fn reference(store: &Store, configured: Option<String>) -> Option<String> {
    configured.or_else(|| (!history::keeps_records_with_code(store)).then(|| RECORDS_BRANCH.to_owned()))
}

/// Sorted; empty if there is no folder.
pub(crate) fn files(folder: &Path, extension: &str) -> crate::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries.collect::<std::io::Result<Vec<_>>>(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => Err(error),
    };
    let entries = entries.with_context(|| format!("cannot list `{}`", folder.display()))?;
    let has_extension = |path: &PathBuf| path.extension().is_some_and(|one| one == extension);
    let mut files: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(has_extension).collect();
    files.sort();
    Ok(files)
}

/// The fault reads after the name. A folder or a pipe must not look like an absent file.
pub(crate) fn read_regular(path: &Path, most: usize) -> Result<Vec<u8>, String> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err("is not a file".to_owned());
    }
    read_bounded(path, most).map_err(|error| format!("cannot be read: {error}"))
}

fn use_snapshots(store: &mut Store, root: &Path, config: &Config) {
    if let Some(folder) = &config.history.archive {
        store.use_snapshots(Box::new(SnapshotFolder::new(root.join(folder))));
    }
}

/// Locks until dropped; calls `waits` if another process has the lock. File systems without locks give no protection.
pub(crate) fn locked(path: &Path, waits: &dyn Fn()) -> crate::Result<File> {
    lock(path, &|file| {
        waits();
        file.lock().map(|()| true)
    })
    .map(|file| file.expect("it was awaited"))
}

/// As [`locked`], or `None` if another process has the lock.
pub(crate) fn try_locked(path: &Path) -> crate::Result<Option<File>> {
    lock(path, &|_| Ok(false))
}

/// `if_busy` says whether the lock was taken after all.
fn lock(path: &Path, if_busy: &dyn Fn(&File) -> io::Result<bool>) -> crate::Result<Option<File>> {
    let lock = || -> io::Result<Option<File>> {
        let file = open_lock(path)?;
        let is_taken = match file.try_lock() {
            Err(TryLockError::WouldBlock) => if_busy(&file)?,
            Err(TryLockError::Error(error)) if error.kind() != ErrorKind::Unsupported => return Err(error),
            _ => true,
        };
        Ok(is_taken.then_some(file))
    };
    lock().with_context(|| format!("cannot lock `{}`", path.display()))
}
