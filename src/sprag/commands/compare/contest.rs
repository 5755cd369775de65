//! Two builds that are measured against each other.

use std::path::Path;

use crate::cli::CompareArgs;
use crate::commands::progress::Progress;
use crate::commands::project::Project;
use crate::config::Suite;
use sprag_measure::paired::PairedResult;
use sprag_measure::suite::Effort;

/// What two builds are compared by.
pub(super) struct Contest<'a> {
    pub(super) project: &'a Project,
    /// The folder that paths of programs count from.
    pub(super) folder: &'a Path,
    pub(super) name: &'a str,
    pub(super) suite: &'a Suite,
    pub(super) args: &'a CompareArgs,
    pub(super) effort: Effort,
    pub(super) progress: Progress,
}

pub(super) struct Outcome {
    pub(super) result: PairedResult,
    /// The commits that were measured, of the base and of the other; absent where a program was given by its path.
    pub(super) commits: [Option<String>; 2],
}
