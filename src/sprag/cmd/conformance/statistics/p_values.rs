//! Cases of p-values of many tests.

use anyhow::{Context as _, Result};

use super::recorded::{Got, compare};
use crate::cmd::conformance::case::Fields;
use crate::cmd::conformance::expected::Tolerance;
use sprag_base::stats::multiplicity::{benjamini_hochberg, benjamini_yekutieli, holm};

const TOLERANCE: Tolerance = Tolerance::new(1e-14, 0.0);

pub(super) fn run(case: &Fields<'_>) -> Result<()> {
    let p_values = case.numbers("p")?;
    let adjusted = |adjust: fn(&[f64]) -> Option<Vec<f64>>| {
        adjust(&p_values).map(Got::Numbers).context("`p` holds a number that is no p-value")
    };
    let results =
        [("bh", adjusted(benjamini_hochberg)?), ("by", adjusted(benjamini_yekutieli)?), ("holm", adjusted(holm)?)];
    compare(case, &["p"], &results, TOLERANCE)
}
