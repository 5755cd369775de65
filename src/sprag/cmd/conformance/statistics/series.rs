//! Cases of lines and trends over time.

use anyhow::{Context as _, Result};

use super::recorded::{Got, compare};
use crate::cmd::conformance::case::Fields;
use crate::cmd::conformance::expected::Tolerance;
use sprag_base::stats::{mann_kendall, theil_sen};

const TOLERANCE: Tolerance = Tolerance::new(0.0, 1e-12);

/// The confidence that files do not state.
const CONFIDENCE: f64 = 0.95;

pub(super) fn run_theil_sen(case: &Fields<'_>) -> Result<()> {
    let line = theil_sen::fit(&case.numbers("x")?, &case.numbers("y")?, CONFIDENCE).context("there is no line")?;
    let results = [
        ("slope", Got::Number(Some(line.slope))),
        ("lo", Got::Number(Some(line.low))),
        ("hi", Got::Number(Some(line.high))),
        ("intercept_separate", Got::Number(Some(line.intercept_of_medians))),
        ("intercept_joint", Got::Number(Some(line.intercept_of_rests))),
    ];
    compare(case, &["x", "y"], &results, TOLERANCE)
}

pub(super) fn run_mann_kendall(case: &Fields<'_>) -> Result<()> {
    let trend = mann_kendall::test(&case.numbers("y")?).context("there is no trend")?;
    let results = [
        ("s", Got::Number(Some(trend.score as f64))),
        ("var_s", Got::Number(Some(trend.variance))),
        ("z", Got::Number(Some(trend.z))),
        ("p_two_sided", Got::Number(Some(trend.two_sided))),
        ("tau_a", Got::Number(Some(trend.tau_a))),
        ("kendall_tau_b", Got::Number(trend.tau_b)),
    ];
    compare(case, &["y"], &results, TOLERANCE)
}
