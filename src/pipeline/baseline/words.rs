//! Sizes and hints in words, for a terminal.

use crate::text;
use sprag_model::baseline::Baseline;

/// `12 metrics of cpu`.
pub(super) fn count(baseline: &Baseline) -> String {
    format!("{} of {}", text::count(baseline.metrics.len(), "metric"), baseline.suite)
}

/// What to do with a file that was written, and with the one that went to the archive for it.
pub(super) fn to_commit(path: &str, archived: Option<&str>) -> String {
    let archived = archived.map_or(String::new(), |archived| format!(" {archived}"));
    format!("commit it, so that others compare with it: git add {path}{archived}")
}
