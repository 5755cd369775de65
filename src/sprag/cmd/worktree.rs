//! A commit checked out aside, for as long as it is built and measured: nothing of the user's working tree, index or
//! branches is touched, and whatever way this process ends, the folder goes.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;

use super::project::Project;
use super::{Advice, kernel_suite, text};
use sprag_history as history;
use sprag_measure::command::keeper::{KeptFolder, sweep};
use sprag_model::commit::Commit;

/// Variables that what is built aside does not get by itself. Those of git turn it to another repository than the one it
/// is started in, as hooks and `git rebase --exec` do. Those of Cargo name a folder that several commits would share, in
/// which the programs of one replace those of the other.
pub(super) const ELSEWHERE: [&str; 11] = [
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_TARGET_DIR",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
];

/// The files of one commit. Dropping it removes them.
#[derive(Debug)]
pub(super) struct Worktree {
    pub(super) root: PathBuf,
    kept: KeptFolder,
}

impl Worktree {
    /// Checks a commit out, and tells what of it cannot be.
    ///
    /// # Errors
    /// When there is no place for it, or its files are not all here.
    pub(super) fn of(project: &Project, commit: &Commit) -> anyhow::Result<Worktree> {
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
        let keeper = kernel_suite::own_command(&["guard", "--remove"])?;
        let kept = KeptFolder::new(&parent, &keeper)
            .with_context(|| format!("cannot make a folder in `{}`", parent.display()))?;
        let root = kept.path.join("tree");
        let lacking = history::check_out_aside(project.store()?, &commit.sha, &root)?;
        let short = commit.short();
        if !lacking.submodules.is_empty() {
            let count = text::count(lacking.submodules.len(), "submodule");
            super::warn(&format!("{count} of {short} not checked out: `{}`", lacking.submodules.join("`, `")));
        }
        if !lacking.filters.is_empty() {
            let filters = lacking.filters.join("`, `");
            super::warn(&format!("files of {short} behind `{filters}` are as git stores them: no filter is run"));
        }
        Ok(Worktree { root, kept })
    }

    /// A place beside the files that goes with them, for what is made of them.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.kept.path.join(name)
    }
}
