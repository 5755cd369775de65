//! Trueno's check as it stands, from the bytes of two files to its report.

use super::gate_text::{self, GateTextError};
use sprag_model::bands::BandReport;

/// Why the original ends without a report, in the last line of what it then says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextGateError {
    /// A text breaks it down.
    #[error(transparent)]
    Text(#[from] GateTextError),
    /// A side without a benchmark that it reads.
    #[error("Error: No benchmarks found in {0}")]
    Nothing(&'static str),
    /// A base of zero.
    #[error("ZeroDivisionError: float division by zero")]
    ZeroBase,
}

/// Names with their nanoseconds.
pub type Times = [(String, f64)];

/// Holds one text against the other by the rule, which fails where a base is zero.
///
/// # Errors
/// Where the original reports nothing.
pub fn judge<E>(
    baseline: &[u8],
    current: &[u8],
    rule: impl FnOnce(&Times, &Times) -> Result<BandReport, E>,
) -> Result<BandReport, TextGateError> {
    let [baseline, current] = [gate_text::decode(baseline)?, gate_text::decode(current)?];
    let [baseline, current] = [gate_text::read(baseline)?, gate_text::read(current)?];
    for (side, name) in [(&baseline, "baseline"), (&current, "current")] {
        if side.is_empty() {
            return Err(TextGateError::Nothing(name));
        }
    }
    rule(&baseline, &current).map_err(|_| TextGateError::ZeroBase)
}
