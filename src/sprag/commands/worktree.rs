//! A commit checked out aside, for as long as it is built and measured: nothing of the user's working tree, index or
//! branches is touched, and whatever way this process ends, the folder goes.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;

use super::project::Project;
use super::{Advice, text};
use sprag_history as history;
use sprag_measure::command::keeper::{GuardedFolder, sweep};
use sprag_measure::process::WorkerCommand;
use sprag_model::commit::Commit;

/// The files of one commit. Dropping it removes them.
#[derive(Debug)]
pub(super) struct Worktree {
    pub(super) root: PathBuf,
    kept: GuardedFolder,
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
        let keeper = WorkerCommand::for_this_program(&["guard", "--remove"])?;
        let kept = GuardedFolder::new(&parent, &keeper)
            .with_context(|| format!("cannot make a folder in `{}`", parent.display()))?;
        let root = kept.path.join("tree");
        let lacking = history::check_out_copy(project.store()?, &commit.sha, &root)?;
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
