//! tt-metal's check as it stands, from the bytes of two files to what it finds.

use super::gate_report;
use super::ground_truth::{self, GroundTruthError};
use sprag_model::sample_gate::{GroundTruth, RankFigures, SampleMismatch, Section};

/// Why the original ends without a result, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleGateError {
    /// The baseline is no ground truth.
    #[error(transparent)]
    Baseline(GroundTruthError),
    /// What is judged is none.
    #[error(transparent)]
    Current(GroundTruthError),
    /// They do not match.
    #[error("{}", gate_report::mismatch(.0))]
    Mismatch(SampleMismatch),
}

impl SampleGateError {
    /// What Python calls such an error.
    pub fn kind(&self) -> &'static str {
        match self {
            SampleGateError::Baseline(error) | SampleGateError::Current(error) => error.kind(),
            SampleGateError::Mismatch(fault) => gate_report::mismatch_kind(fault),
        }
    }
}

/// What the check found of each benchmark, section by section.
pub type Found = Vec<Section<RankFigures>>;

/// Holds one ground truth against the other by the rule; what the original warns of goes to `warnings`.
///
/// # Errors
/// Where the original finds nothing.
pub fn judge(
    baseline: &[u8],
    current: &[u8],
    warnings: &mut Vec<String>,
    rule: impl FnOnce(&GroundTruth, &GroundTruth) -> Result<Found, SampleMismatch>,
) -> Result<Found, SampleGateError> {
    let baseline = ground_truth::read(baseline, warnings).map_err(SampleGateError::Baseline)?;
    let current = ground_truth::read(current, warnings).map_err(SampleGateError::Current)?;
    rule(&baseline, &current).map_err(SampleGateError::Mismatch)
}
