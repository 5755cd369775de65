//! Checks out and builds a commit in a temporary folder. The user's working tree, index and branches stay untouched.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::builds::cache::size;
use crate::config::{Suite, SuiteKind};
use crate::error::{Cause, WithContext as _};
use crate::project::{self, Project};
use crate::text::{self, note, warn};
use crate::{Advice, refuse};
use sprag_history::{self as history, HistoryError};
use sprag_measure::command::CHECKOUT_WITHOUT;
use sprag_measure::command::cargo::{self, CargoBuild};
use sprag_measure::command::keeper::{GuardedFolder, sweep};
use sprag_measure::process::WorkerCommand;
use sprag_measure::suite::{CommitProgram, Observer, is_ours};
use sprag_model::Commit;

#[derive(Debug)]
pub struct Worktree {
    pub root: PathBuf,
    folder: GuardedFolder,
}

impl Worktree {
    pub fn check_out(project: &Project, commit: &Commit, lacking: &Lacking) -> crate::Result<Worktree> {
        let temporary = std::env::temp_dir();
        let parent = fs::canonicalize(&temporary)
            .with_context(|| format!("cannot enter the folder for temporary files, `{}`", temporary.display()))?;
        if parent.starts_with(&project.root) {
            return refuse(
                format!(
                    "the folder for temporary files, `{}`, is inside the project, whose files could affect the build",
                    parent.display()
                ),
                "set TMPDIR to a folder outside of it",
            );
        }
        sweep(&parent);
        let keeper = WorkerCommand::for_this_program(&["guard", "--remove"])?;
        let folder = GuardedFolder::new(&parent, &keeper)
            .with_context(|| format!("cannot make a folder in `{}`", parent.display()))?;
        let root = folder.path.join("tree");
        check_out_files(project, commit, &root, lacking)?;
        Ok(Worktree { root, folder })
    }

    pub fn companion(&self, name: &str) -> PathBuf {
        self.folder.path.join(name)
    }
}

/// What checkouts lack, each warned of once: mostly all commits lack the same.
pub type Lacking = RefCell<BTreeSet<Vec<String>>>;

/// Writes the files of a commit to `root`, which is absent, and warns of those that it lacks.
pub fn check_out_files(project: &Project, commit: &Commit, root: &Path, noted: &Lacking) -> crate::Result<()> {
    let lacking = history::check_out_copy(project.store()?, &commit.sha, root)?;
    let short = commit.short();
    let is_new = |names: &Vec<String>| !names.is_empty() && noted.borrow_mut().insert(names.clone());
    if is_new(&lacking.submodules) {
        let count = text::count(lacking.submodules.len(), "submodule");
        warn(&format!("{count} of {short} not checked out: `{}`", lacking.submodules.join("`, `")));
    }
    if is_new(&lacking.filters) {
        let filters = lacking.filters.join("`, `");
        warn(&format!("files of {short} behind `{filters}` are as git stores them: no filter is run"));
    }
    Ok(())
}

pub const NAME: &str = "sprag";

/// Facts that the build script of Sprag prints, by their variables.
const FACTS: [(&str, &str); 2] = [("compiler", "SPRAG_COMPILER"), ("flags", "SPRAG_FLAGS")];

/// A larger build folder is emptied first: every commit may leave its own dependencies there.
const MOST_BYTES: u64 = 4 << 30;

pub struct CommitBuild {
    pub program: CommitProgram,
    _worktree: Worktree,
}

/// Cargo's build folder stays, so that dependencies compile once.
pub fn build(
    project: &Project,
    suite: &Suite,
    commit: &Commit,
    lacking: &Lacking,
    observer: &dyn Observer,
) -> crate::Result<CommitBuild> {
    let worktree = Worktree::check_out(project, commit, lacking)?;
    let short = commit.short();
    if !is_ours(&worktree.root) {
        let advice = Advice::new(
            format!(
                "{short} holds no sources of Sprag, and suites of the kind `{}` time kernels of Sprag itself",
                suite.kind.word()
            ),
            "name a suite of the kind `command` with `--suite`, or compare two `sprag` programs by their paths",
        );
        return Err(advice.because(Cause::CannotBuild).into());
    }
    let folder = project.private_folder()?.join("build");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    // Another build must not replace the program before it is copied.
    let waits = || observer.begin("waiting for another sprag, which builds here", 1);
    let _lock = project::locked(&folder.join("lock"), &waits)?;
    clear_full(&folder.join("target"), MOST_BYTES)?;
    observer.begin(&format!("building `{NAME}` of {short}"), 1);
    let guard = WorkerCommand::for_this_program(&["guard"])?;
    let built = cargo::build(&CargoBuild {
        folder: &worktree.root,
        program: NAME,
        target: &folder.join("target"),
        time_out: suite.limited(suite.build_timeout_seconds()),
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

pub fn failed(commit: &Commit, why: &str) -> Advice {
    let message = format!("cannot build {} ({}): {why}", commit.short(), commit.subject);
    let hint = format!("`git worktree add --detach <folder> {}` makes a checkout to look at", commit.short());
    Advice::new(message, hint).because(Cause::CannotBuild)
}

fn clear_full(folder: &Path, most: u64) -> crate::Result<()> {
    if size(folder) > most {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty `{}`", folder.display()))?;
    }
    Ok(())
}

/// For a commit that only adds records, the commit they are of.
pub fn commit(project: &Project, named: &str) -> crate::Result<Commit> {
    let store = project.store()?;
    let commit = match history::commit_at(store, named) {
        Ok(commit) => commit,
        Err(error @ HistoryError::Revision { .. }) if history::facts(store)?.shallow => {
            let hint =
                "this clone is shallow: run `git fetch --unshallow`, in a workflow set `fetch-depth: 0`".to_owned();
            return refuse(error.to_string(), hint);
        }
        Err(error) => return Err(error.into()),
    };
    let Some(commit) = commit else {
        let message = format!("`{}` holds records alone, so there is nothing to measure", named.escape_debug());
        return refuse(message, "name a commit that holds code");
    };
    // An unreadable working tree cannot be confused with the commit, nor whoever names its id.
    let here = history::measured_commit(store).ok().flatten();
    let is_meant = named == commit.sha;
    if here.is_some_and(|here| here.dirty && here.sha == commit.sha && !is_meant) {
        note(&format!("tracked files differ from {0}; {0} is measured, without them", commit.short()));
    }
    Ok(commit)
}

/// The commit of that id.
pub fn by_id(project: &Project, sha: &str) -> crate::Result<Commit> {
    let commit = history::find_commit(project.store()?, sha)?;
    commit.with_context(|| format!("the commit {sha} is not in this repository"))
}

/// Whether commits can be built for the suite. The CUDA kernels of Sprag change with its own commits alone.
pub fn can_be_built(project: &Project, suite: &Suite) -> bool {
    suite.kind.can_be_built() || suite.kind == SuiteKind::Gpu && is_ours(&project.root)
}

/// The suites that can be measured at a commit; notes the others.
pub fn measurable<'a>(
    project: &Project,
    asked: &[(&'a str, &'a Suite)],
    are_named: bool,
) -> crate::Result<Vec<(&'a str, &'a Suite)>> {
    let (able, others): (Vec<_>, Vec<_>) = asked.iter().partition(|(_, suite)| can_be_built(project, suite));
    if let Some((name, suite)) = others.first().filter(|_| are_named || able.is_empty()) {
        return refuse(
            format!("the suite `{name}` is of the kind `{}`, for which commits cannot be built", suite.kind.word()),
            "name a suite of the kind `cpu` or `command` with `--suite`",
        );
    }
    for (name, suite) in &others {
        note(&format!("the suite `{name}` is left out: no commit is built for the kind `{}`", suite.kind.word()));
    }
    Ok(able)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_build_folder_is_emptied() {
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
