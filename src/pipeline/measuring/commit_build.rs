//! A commit checked out aside and built, for as long as it is measured. Nothing of the user's working tree, index or
//! branches is touched, and whatever way this process ends, the folder goes.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::MeasureHost;
use crate::config::Suite;
use crate::error::Context as _;
use crate::notices::warn;
use crate::project::Project;
use crate::{Advice, Trouble, text};
use sprag_history as history;
use sprag_measure::command::CHECKOUT_WITHOUT;
use sprag_measure::command::cargo::{self, CargoBuild};
use sprag_measure::command::keeper::{GuardedFolder, sweep};
use sprag_measure::process::WorkerCommand;
use sprag_measure::suite::{CommitProgram, is_ours};
use sprag_model::commit::Commit;

/// The files of one commit. Dropping it removes them.
#[derive(Debug)]
pub struct Worktree {
    pub root: PathBuf,
    folder: GuardedFolder,
}

impl Worktree {
    /// Checks a commit out, and tells what of it cannot be.
    pub fn check_out(project: &Project, commit: &Commit) -> crate::Result<Worktree> {
        let temporary = std::env::temp_dir();
        let parent = fs::canonicalize(&temporary)
            .with_context(|| format!("cannot enter the folder for temporary files, `{}`", temporary.display()))?;
        if parent.starts_with(&project.root) {
            return Err(Advice {
                message: format!(
                    "the folder for temporary files, `{}`, lies in the project, where a checkout would be seen",
                    parent.display()
                ),
                hint: "set TMPDIR to a folder outside of it".to_owned(),
            }
            .into());
        }
        sweep(&parent);
        let keeper = WorkerCommand::for_this_program(&["guard", "--remove"])?;
        let folder = GuardedFolder::new(&parent, &keeper)
            .with_context(|| format!("cannot make a folder in `{}`", parent.display()))?;
        let root = folder.path.join("tree");
        let lacking = history::check_out_copy(project.store()?, &commit.sha, &root)?;
        let short = commit.short();
        if !lacking.submodules.is_empty() {
            let count = text::count(lacking.submodules.len(), "submodule");
            warn(&format!("{count} of {short} not checked out: `{}`", lacking.submodules.join("`, `")));
        }
        if !lacking.filters.is_empty() {
            let filters = lacking.filters.join("`, `");
            warn(&format!("files of {short} behind `{filters}` are as git stores them: no filter is run"));
        }
        Ok(Worktree { root, folder })
    }

    /// A place beside the files that goes with them, for what is made of them.
    pub fn companion(&self, name: &str) -> PathBuf {
        self.folder.path.join(name)
    }
}

/// The name of the program and of its package.
const NAME: &str = "sprag";

/// What the build script of Sprag says, by the fact of the environment that it is.
const FACTS: [(&str, &str); 2] = [("compiler", "SPRAG_COMPILER"), ("flags", "SPRAG_FLAGS")];

/// From this size on the folder that Cargo builds in is emptied before the next build: each commit may leave dependencies
/// of its own there, and nothing else would ever remove them.
const MOST_BYTES: u64 = 4 << 30;

/// A program that was built from a commit. It lies beside its sources, and goes with them.
pub struct CommitBuild {
    pub program: CommitProgram,
    _worktree: Worktree,
}

/// Builds the program of a commit.
///
/// The folder that Cargo builds in stays, so that dependencies are compiled once. Programs are not kept: what one would
/// be the build of, beside its commit, compiler, flags and settings of Cargo, is more than its name could tell.
pub fn build(project: &Project, suite: &Suite, commit: &Commit, host: MeasureHost<'_>) -> crate::Result<CommitBuild> {
    let worktree = Worktree::check_out(project, commit)?;
    let short = commit.short();
    if !is_ours(&worktree.root) {
        return Err(Advice {
            message: format!(
                "{short} holds no sources of Sprag, and suites of the kind `cpu` time kernels of Sprag itself"
            ),
            hint: "name a suite of the kind `command` with `--suite`, or compare two `sprag` programs by their paths"
                .to_owned(),
        }
        .into());
    }
    let folder = project.private_folder()?.join("build");
    let _lock = locked(&folder, host)?;
    clear_full(&folder.join("target"), MOST_BYTES)?;
    host.observer.begin(&format!("building `{NAME}` of {short}"), 1);
    let guard = WorkerCommand::for_this_program(&["guard"])?;
    let built = cargo::build(&CargoBuild {
        folder: &worktree.root,
        program: NAME,
        target: &folder.join("target"),
        time_out: Duration::from_secs(suite.build_timeout_seconds()),
        without: &CHECKOUT_WITHOUT,
        guard: Some(&guard),
    });
    let built = built.map_err(|error| failed(commit, &error.to_string()))?;
    let path = worktree.companion("program").join(NAME);
    let copy = || {
        fs::create_dir_all(worktree.companion("program"))?;
        fs::copy(&built.program, &path)
    };
    copy().with_context(|| format!("cannot copy `{}`", built.program.display()))?;
    let fact = |(fact, variable): (&str, &str)| {
        let value = built.variables.get(variable).map_or("unknown", String::as_str);
        (fact.to_owned(), value.to_owned())
    };
    let program = CommitProgram { path, facts: FACTS.map(fact).into() };
    Ok(CommitBuild { program, _worktree: worktree })
}

/// That a commit cannot be built, and why.
pub fn failed(commit: &Commit, why: &str) -> Trouble {
    Trouble::CannotBuild(Advice {
        message: format!("cannot build {} ({}): {why}", commit.short(), commit.subject),
        hint: format!("`git worktree add --detach <folder> {}` makes a checkout to look at", commit.short()),
    })
}

/// Removes a folder whose files come to more than so many bytes.
fn clear_full(folder: &Path, most: u64) -> crate::Result<()> {
    if size(folder) > most {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty `{}`", folder.display()))?;
    }
    Ok(())
}

/// The bytes of the files below a folder; what cannot be looked at counts as nothing.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let of_entry = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.flatten().map(of_entry).sum()
}

/// The lock of the folder of builds: a program is copied out of it before another build replaces it.
fn locked(folder: &Path, host: MeasureHost<'_>) -> crate::Result<File> {
    let path = folder.join("lock");
    let take = || -> std::io::Result<File> {
        fs::create_dir_all(folder)?;
        let file = File::create(&path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                host.observer.begin("waiting for another sprag, which builds here", 1);
                file.lock()?;
            }
            // A file system without locks costs the protection.
            Err(TryLockError::Error(error)) if error.kind() != std::io::ErrorKind::Unsupported => return Err(error),
            _ => {}
        }
        Ok(file)
    };
    take().with_context(|| format!("cannot lock `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_builds_that_is_full_is_emptied() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("target");
        fs::create_dir_all(target.join("debug/deps")).expect("folders");
        fs::write(target.join("debug/deps/one"), [0; 60]).expect("a file");
        fs::write(target.join("two"), [0; 40]).expect("a file");
        clear_full(&target, 100).expect("it can be read");
        assert_eq!(size(&target), 100);
        clear_full(&target, 99).expect("it can be emptied");
        assert!(!target.exists() && size(&target) == 0);
        clear_full(&target, 0).expect("what is not there is empty");
    }
}
