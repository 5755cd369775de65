//! The project a command works on: its folder, its configuration, its repository.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::Context as _;
use tempfile::NamedTempFile;

use crate::config::Config;
use crate::{Advice, Error, bounded};
use sprag_history::{self as history, HistoryError, Store, Target};
use sprag_model::baseline::{Baseline, BaselineFile};
use sprag_model::record::MAX_RECORD_BYTES;

/// The folder, at the root of a project, of what is not for git: pending records and caches.
const PRIVATE_FOLDER: &str = ".sprag";

/// The folder of what runs are held against.
const BASELINES: &str = "baselines";

/// The folder of what they were held against before.
pub const BASELINE_ARCHIVE: &str = "baselines/archive";

/// A project.
pub struct Project {
    /// The working tree's root, or the start folder where there is none.
    pub root: PathBuf,
    /// What `sprag.toml` says.
    pub config: Config,
    /// Whether the repository has no working tree, so that results need a place of their own.
    pub is_bare: bool,
    /// Whether decoded runs are kept from one command to the next.
    pub has_cache: bool,
    /// The commit that the history is read at, in place of the branch that holds it.
    pub pinned: Option<String>,
    store: Result<Store, HistoryError>,
}

impl Project {
    /// Finds the project at or above `folder`.
    ///
    /// # Errors
    /// When the folder cannot be entered or `sprag.toml` is faulty. A missing repository is told when it is needed.
    pub fn open(folder: &Path) -> crate::Result<Project> {
        let folder = fs::canonicalize(folder).with_context(|| format!("cannot enter `{}`", folder.display()))?;
        let store = history::open(&folder);
        if !folder.is_dir() {
            return Err(Error::message(format!("cannot enter `{}`: it is no folder", folder.display())));
        }
        let workdir = match &store {
            Ok(store) => history::facts(store)?.workdir,
            Err(_) => None,
        };
        let is_bare = store.is_ok() && workdir.is_none();
        let root = workdir.unwrap_or(folder);
        let config = Config::load(&root)?;
        Ok(Project { root, config, is_bare, has_cache: true, pinned: None, store })
    }

    /// A path as others of the project know it: from its root where it lies inside, else as it was named.
    pub fn shown(&self, path: &Path) -> String {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let inside = real(path).strip_prefix(real(&self.root)).map(Path::to_owned);
        let shown = inside.unwrap_or_else(|_| path.strip_prefix(&self.root).unwrap_or(path).to_owned());
        shown.display().to_string()
    }

    /// The repository, or why there is none.
    pub fn store(&self) -> crate::Result<&Store> {
        match &self.store {
            Ok(store) => Ok(store),
            Err(error) => {
                let hint = error.hint().unwrap_or_else(|| "run sprag inside a git repository".to_owned());
                Err(Advice { message: error.to_string(), hint }.into())
            }
        }
    }

    /// The repository, if there is one.
    pub fn find_store(&self) -> Option<&Store> {
        self.store.as_ref().ok()
    }

    /// Where the history is read from.
    ///
    /// # Errors
    /// When there is no repository, or `[history] ref` names no branch.
    pub fn source(&self) -> crate::Result<Target> {
        let store = self.store()?;
        match &self.pinned {
            Some(commit) => Ok(Target { reference: commit.clone(), remote: None, configured: false }),
            None => Ok(history::source(store, self.config.history.reference.as_deref())?),
        }
    }

    /// The project whose files lie in one folder and whose repository is another's, with its history as of a commit.
    /// Nothing is kept of what is decoded.
    ///
    /// # Errors
    /// When there is no repository, or `sprag.toml` is faulty.
    pub fn at(files: &Path, repository: &Path, commit: &str) -> crate::Result<Project> {
        let store = Ok(history::open(repository)?);
        let (root, config) = (files.to_owned(), Config::load(files)?);
        Ok(Project { root, config, is_bare: false, has_cache: false, pinned: Some(commit.to_owned()), store })
    }

    /// Why there is no repository, unless it is simply not there.
    pub fn store_fault(&self) -> Option<&HistoryError> {
        self.store.as_ref().err().filter(|error| !matches!(error, HistoryError::NoRepository(_)))
    }

    /// The folder of what is not for git, made on demand with a rule that keeps git out of it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn private_folder(&self) -> crate::Result<PathBuf> {
        let folder = self.root.join(PRIVATE_FOLDER);
        let ignore = folder.join(".gitignore");
        if !ignore.exists() {
            write_whole(&ignore, b"*\n")?;
        }
        Ok(folder)
    }

    /// Where finished runs wait for the history; it need not be there.
    pub fn pending_folder(&self) -> PathBuf {
        self.root.join(PRIVATE_FOLDER).join("pending")
    }

    /// Every file of `baselines/`, by path, readable or not.
    ///
    /// # Errors
    /// When the folder is there and cannot be listed.
    pub fn baselines(&self) -> crate::Result<Vec<BaselineFile>> {
        self.baselines_in(BASELINES)
    }

    /// Every file of `baselines/archive/`, likewise.
    ///
    /// # Errors
    /// When the folder is there and cannot be listed.
    pub fn archived_baselines(&self) -> crate::Result<Vec<BaselineFile>> {
        self.baselines_in(BASELINE_ARCHIVE)
    }

    fn baselines_in(&self, place: &str) -> crate::Result<Vec<BaselineFile>> {
        let folder = self.root.join(place);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).with_context(|| format!("cannot list `{}`", folder.display())),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.with_context(|| format!("cannot list `{}`", folder.display()))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                // What is there and is no file must not look like a baseline that is not there; a pipe has no end.
                let is_odd = fs::metadata(&path).is_ok_and(|found| !found.is_file());
                let content = if is_odd { Err("is no file".to_owned()) } else { read_baseline(&path) };
                files.push(BaselineFile { path: format!("{place}/{name}"), content });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// The name given to this computer: the variable goes before the file.
    pub fn machine_name(&self) -> Option<String> {
        let variable = std::env::var(sprag_measure::environment::MACHINE_VARIABLE).ok();
        variable.filter(|name| !name.trim().is_empty()).or_else(|| self.config.machine.name.clone())
    }
}

/// Reads one baseline file; the fault reads after the file's name.
pub fn read_baseline(path: &Path) -> Result<Baseline, String> {
    let bytes = bounded::read(path, MAX_RECORD_BYTES).map_err(|error| format!("cannot be read: {error}"))?;
    Baseline::from_json(&bytes).map_err(|error| error.to_string())
}

/// Writes a file so that whoever looks sees the old content or the new, never part of it; what is no file, as `/dev/stdout`, is
/// written to as it is.
///
/// # Errors
/// When the folder cannot be made or the file not be written; the old content then stands.
pub fn write_whole(path: &Path, bytes: &[u8]) -> crate::Result<()> {
    write_whole_by(path, &mut |file| Ok(file.write_all(bytes)?))
}

/// As [`write_whole`], of what `write` writes.
///
/// # Errors
/// As [`write_whole`], and when `write` fails.
pub fn write_whole_by(path: &Path, write: &mut dyn FnMut(&mut dyn Write) -> crate::Result<()>) -> crate::Result<()> {
    let mut written = || -> crate::Result<()> {
        if is_stream(path) {
            let mut stream = BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
            write(&mut stream)?;
            return Ok(stream.flush()?);
        }
        // A link stays, and what it leads to is replaced.
        let place = if path.is_symlink() { fs::canonicalize(path).ok() } else { None };
        let place = place.as_deref().unwrap_or(path);
        written_aside(place, write)?.persist(place).map_err(|refused| refused.error)?;
        Ok(())
    };
    written().with_context(|| format!("cannot write `{}`", path.display()))
}

/// Whether what lies there is no file that could be replaced but something to write to, as `/dev/null`, `/dev/stdout` and
/// pipes are: put in its place, a file would be in everybody's way.
fn is_stream(path: &Path) -> bool {
    let is_special = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    is_special || (path.starts_with("/dev") || path.starts_with("/proc")) && path.exists()
}

/// As [`write_whole`], of a file that is new: where there is one already, it stays and the answer is `false`.
///
/// # Errors
/// When the folder cannot be made or the file not be written.
pub fn write_new(path: &Path, bytes: &[u8]) -> crate::Result<bool> {
    let written = || -> crate::Result<bool> {
        match written_aside(path, &mut |file| Ok(file.write_all(bytes)?))?.persist_noclobber(path) {
            Ok(_) => Ok(true),
            Err(refused) if refused.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(refused) => Err(refused.error.into()),
        }
    };
    written().with_context(|| format!("cannot write `{}`", path.display()))
}

/// A finished file beside the place of the one that it is to be.
fn written_aside(
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> crate::Result<()>,
) -> crate::Result<NamedTempFile> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = BufWriter::new(tempfile::Builder::new().prefix(".sprag-").tempfile_in(folder)?);
    write(&mut file)?;
    let file = file.into_inner().map_err(|error| error.into_error())?;
    file.as_file().sync_all()?;
    set_ordinary_mode(file.path())?;
    Ok(file)
}

/// Fails before the work where [`write_whole`] would fail after it.
///
/// # Errors
/// When the path is a folder, or its folder cannot be made or written to.
pub fn check_writable(path: &Path) -> crate::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err(Error::message(format!("cannot write `{}`: it is a folder", path.display())));
    }
    if is_stream(path) {
        return Ok(());
    }
    fs::create_dir_all(folder)
        .and_then(|()| tempfile::tempfile_in(folder).map(drop))
        .with_context(|| format!("cannot write `{}`", path.display()))
}

/// A temporary file is readable by its owner only; what we leave behind is an ordinary file.
#[cfg(unix)]
fn set_ordinary_mode(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_ordinary_mode(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{FileTypeExt as _, symlink};

    use super::*;

    #[test]
    fn what_is_no_file_is_written_to_and_stays() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
        assert!(made.success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).expect("the pipe can be read")
        });
        check_writable(&pipe).expect("it can be written to");
        write_whole(&pipe, b"all of it").expect("it can be written to");
        assert_eq!(reader.join().expect("the reader ends"), b"all of it");
        assert!(fs::symlink_metadata(&pipe).expect("it is there").file_type().is_fifo());
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").expect("it can be written");
        symlink(&file, &link).expect("it can be linked");
        write_whole(&link, b"new").expect("it can be written");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).expect("it is there"), b"new");
        // Of a link that leads nowhere a file becomes.
        symlink(folder.path().join("gone"), folder.path().join("dangling")).expect("it can be linked");
        write_whole(&folder.path().join("dangling"), b"new").expect("it can be written");
        assert_eq!(fs::read(folder.path().join("dangling")).expect("it is there"), b"new");
    }
}
