//! tt-metal's check as it stands, from the bytes of two files to what it finds.

use sprag_analysis::rules::rank::Parameters;
use sprag_analysis::sample_gate;
use sprag_formats::compat::tt_metal::gate_report;
use sprag_formats::compat::tt_metal::ground_truth::{self, GroundTruthError};
use sprag_model::sample_gate::{RankFigures, SampleMismatch, Section};

/// Why the original ends without a result, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::cmd) enum SampleGateError {
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
    pub(in crate::cmd) fn kind(&self) -> &'static str {
        match self {
            SampleGateError::Baseline(error) | SampleGateError::Current(error) => error.kind(),
            SampleGateError::Mismatch(fault) => gate_report::mismatch_kind(fault),
        }
    }
}

/// Holds one ground truth against the other; what the original warns of goes to `warnings`.
///
/// # Errors
/// Where the original finds nothing.
pub(in crate::cmd) fn judge(
    baseline: &[u8],
    current: &[u8],
    parameters: &Parameters,
    warnings: &mut Vec<String>,
) -> Result<Vec<Section<RankFigures>>, SampleGateError> {
    let baseline = ground_truth::read(baseline, warnings).map_err(SampleGateError::Baseline)?;
    let current = ground_truth::read(current, warnings).map_err(SampleGateError::Current)?;
    sample_gate::check(&baseline, &current, parameters).map_err(SampleGateError::Mismatch)
}
