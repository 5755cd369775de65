//! Cases of measures of a single set of values.

use anyhow::Result;

use super::recorded::{Got, compare};
use crate::cmd::conformance::case::Fields;
use crate::cmd::conformance::expected::Tolerance;
use sprag_base::stats::{describe, sign_interval};

const TOLERANCE: Tolerance = Tolerance::new(0.0, 1e-12);

pub(super) fn run(case: &Fields<'_>) -> Result<()> {
    let (x, shares) = (case.numbers("x")?, case.numbers("percentile_q")?);
    let quantile = |percent: f64| describe::quantile(&x, percent / 100.0);
    let difference = |high: Option<f64>, low: Option<f64>| Some(high? - low?);
    let root = |variance: Option<f64>| variance.map(f64::sqrt);
    let interval = sign_interval::of_median(&x, 0.95).map(|interval| {
        vec![
            ("k", Got::Count(interval.rank as u64)),
            ("lo", Got::Number(Some(interval.low))),
            ("hi", Got::Number(Some(interval.high))),
            ("coverage", Got::Number(Some(interval.coverage))),
        ]
    });
    let results = [
        ("n", Got::Count(x.len() as u64)),
        ("mean", Got::Number(describe::mean(&x))),
        ("var_pop", Got::Number(describe::population_variance(&x))),
        ("sd_pop", Got::Number(root(describe::population_variance(&x)))),
        ("var_sample", Got::Number(describe::sample_variance(&x))),
        ("sd_sample", Got::Number(root(describe::sample_variance(&x)))),
        ("median", Got::Number(describe::median(&x))),
        ("mad_raw", Got::Number(describe::median_deviation(&x))),
        ("mad_scaled", Got::Number(describe::scaled_median_deviation(&x))),
        ("iqr", Got::Number(difference(quantile(75.0), quantile(25.0)))),
        ("min", Got::Number(quantile(0.0))),
        ("max", Got::Number(quantile(100.0))),
        ("geometric_mean", Got::Number(describe::geometric_mean(&x))),
        ("trimmed_mean_10", Got::Number(describe::trimmed_mean(&x, 0.1))),
        ("percentile_linear", Got::Numbers(shares.into_iter().filter_map(quantile).collect())),
        ("median_ci95_order_stats", Got::Fields(interval)),
    ];
    compare(case, &["x", "percentile_q"], &results, TOLERANCE)
}
