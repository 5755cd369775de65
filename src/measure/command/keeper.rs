//! A temporary folder that is removed when its process ends, in whatever way.
//!
//! A process that is killed removes nothing. So a second Sprag, in its own process group, waits for the end of a pipe that
//! only the first one holds open, and then removes the folder. Where that one dies too, as when the machine does, [`sweep`]
//! finds the folder at the next start by its free lock.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::process::WorkerCommand;

const PREFIX: &str = "sprag-commit-";

/// The owner of the folder holds the lock of this file.
const LOCK: &str = "lock";

/// How often, and how far apart, removing is tried while something still writes into the folder.
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct GuardedFolder {
    pub path: PathBuf,
    keeper: Option<Child>,
    /// Until the folder is removed.
    _lock: File,
}

impl GuardedFolder {
    /// Makes a folder in `parent` for this user alone; `command` starts the keeper.
    pub fn new(parent: &Path, command: &WorkerCommand) -> io::Result<GuardedFolder> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).rand_bytes(10);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let folder = builder.tempdir_in(parent)?;
        // The lock is taken before the file has its name, so that `sweep` cannot remove the folder.
        let unnamed = folder.path().join("lock.new");
        let lock = File::create(&unnamed)?;
        lock.lock().or_else(|error| if error.kind() == ErrorKind::Unsupported { Ok(()) } else { Err(error) })?;
        fs::rename(unnamed, folder.path().join(LOCK))?;
        let path = folder.keep();
        let keeper = start(command, &path);
        Ok(GuardedFolder { path, keeper, _lock: lock })
    }
}

impl Drop for GuardedFolder {
    fn drop(&mut self) {
        // The keeper, and the next start, try again.
        let _ = remove(&self.path);
        if let Some(keeper) = &mut self.keeper {
            drop(keeper.stdin.take());
            let _ = keeper.wait();
        }
    }
}

/// Waits for the end of `input`, then removes the folder: the hidden command of the keeper.
pub fn keep(mut input: impl Read, folder: &Path) -> io::Result<()> {
    if !is_ours(folder) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "that is not a folder of ours"));
    }
    io::copy(&mut input, &mut io::sink())?;
    for _ in 1..ATTEMPTS {
        if remove(folder).is_ok() {
            return Ok(());
        }
        // Measured processes may live a moment longer than their parent.
        std::thread::sleep(PAUSE);
    }
    remove(folder)
}

/// Removes the folders in `parent` whose processes have died.
pub fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let folder = entry.path();
        // Links are not followed. A file that cannot be opened is another user's.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder || !is_ours(&folder) {
            continue;
        }
        if let Ok(lock) = sprag_base::files::open(&folder.join(LOCK))
            && lock.try_lock().is_ok()
        {
            let _ = remove(&folder);
        }
    }
}

fn is_ours(folder: &Path) -> bool {
    folder.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(PREFIX))
}

/// Starts the keeper in its own group, which interrupts of the terminal do not reach.
fn start(command: &WorkerCommand, folder: &Path) -> Option<Child> {
    let mut keeper = Command::new(&command.program);
    keeper.args(&command.arguments).arg(folder);
    keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    sprag_base::process::join_group(&mut keeper, 0);
    keeper.spawn().ok()
}

/// Removes a folder, also where a build has made parts of it read-only.
pub fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            make_writable(folder);
            fs::remove_dir_all(folder)
        }
        other => other,
    }
}

#[cfg(unix)]
fn make_writable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}

#[cfg(not(unix))]
fn make_writable(_folder: &Path) {}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn idle() -> WorkerCommand {
        WorkerCommand { program: "/bin/sh".into(), arguments: ["-c", "cat"].map(str::to_owned).to_vec() }
    }

    fn names(parent: &Path) -> usize {
        fs::read_dir(parent).expect("the folder is there").count()
    }

    #[test]
    fn a_folder_goes_with_its_owner() {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().expect("a temporary folder");
        let folder = GuardedFolder::new(parent.path(), &idle()).expect("a folder");
        assert_eq!(fs::metadata(&folder.path).expect("it is there").permissions().mode() & 0o777, 0o700);
        let sealed = folder.path.join("tree/sealed");
        fs::create_dir_all(&sealed).expect("a folder");
        fs::write(sealed.join("file"), "").expect("a file");
        fs::set_permissions(&sealed, fs::Permissions::from_mode(0o500)).expect("it is ours");
        drop(folder);
        assert_eq!(names(parent.path()), 0);
    }

    #[test]
    fn the_keeper_removes_no_folder_but_its_own() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let (ours, theirs) = (parent.path().join("sprag-commit-a"), parent.path().join("theirs"));
        for folder in [&ours, &theirs] {
            fs::create_dir(folder).expect("a folder");
        }
        keep(io::empty(), &ours).expect("it can be removed");
        assert!(keep(io::empty(), &theirs).is_err());
        assert!(!ours.exists() && theirs.exists());
        keep(io::empty(), &ours).expect("it is gone already");
    }

    #[test]
    fn only_folders_of_dead_processes_are_swept() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let folder = GuardedFolder::new(parent.path(), &idle()).expect("a folder");
        let [dead, other, unlocked] =
            ["sprag-commit-dead", "sprag-other", "sprag-commit-making"].map(|name| parent.path().join(name));
        for folder in [&dead, &other, &unlocked] {
            fs::create_dir_all(folder).expect("a folder");
        }
        fs::write(dead.join(LOCK), "").expect("a file");
        sweep(parent.path());
        assert!(!dead.exists() && folder.path.exists());
        assert_eq!(names(parent.path()), 3);
        sweep(&parent.path().join("nowhere"));
    }
}
