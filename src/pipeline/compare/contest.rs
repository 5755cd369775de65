//! Two builds that are measured against each other.

use crate::config::Suite;
use crate::gate::CompareRequest;
use crate::measuring::MeasureHost;
use crate::project::Project;
use sprag_measure::paired::PairedResult;
use sprag_measure::suite::Effort;

/// What two builds are compared by.
pub(super) struct Contest<'a> {
    pub project: &'a Project,
    pub name: &'a str,
    pub suite: &'a Suite,
    pub request: &'a CompareRequest,
    pub effort: Effort,
    pub host: MeasureHost<'a>,
}

pub(super) struct Outcome {
    pub result: PairedResult,
    /// The commits that were measured, of the base and of the other; absent where a program was given by its path.
    pub commits: [Option<String>; 2],
}
