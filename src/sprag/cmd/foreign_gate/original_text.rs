//! Trueno's check as it stands, from the bytes of two files to its report.

use sprag_analysis::rules::bands;
use sprag_formats::compat::trueno::gate_text::{self, GateTextError};
use sprag_model::bands::BandReport;

/// Why the original ends without a report, in the last line of what it then says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::cmd) enum TextGateError {
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

/// Holds one text against the other, by bands of (failing, warning) change.
///
/// # Errors
/// Where the original reports nothing.
pub(in crate::cmd) fn judge(baseline: &[u8], current: &[u8], bands: (f64, f64)) -> Result<BandReport, TextGateError> {
    let [baseline, current] = [gate_text::decode(baseline)?, gate_text::decode(current)?];
    let [baseline, current] = [gate_text::read(baseline)?, gate_text::read(current)?];
    for (side, name) in [(&baseline, "baseline"), (&current, "current")] {
        if side.is_empty() {
            return Err(TextGateError::Nothing(name));
        }
    }
    bands::report(&baseline, &current, bands).map_err(|_| TextGateError::ZeroBase)
}
