//! What was observed (`Sample`), what was computed from it (`Estimate`), and both for one benchmark (`Measurement`).

use serde::{Deserialize, Serialize};

use super::benchmark::{Attributes, Benchmark, Parity};
use super::metric::Metric;

/// One observation: the time of `calls` calls, in seconds a call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Wall-clock seconds for one call: the observed interval divided by `calls`.
    pub seconds: f64,
    /// How many calls the observed interval held.
    pub calls: u32,
}

/// What was computed from the samples of one metric, in base units of the metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// What was measured.
    pub metric: Metric,
    /// The tracked number: the median over worker processes of their medians.
    pub value: f64,
    /// One median a worker process, in the order in which they ran.
    pub workers: Vec<f64>,
    /// The median of all samples.
    pub p50: Option<f64>,
    /// The 95th percentile of all samples; absent below 100 samples.
    pub p95: Option<f64>,
    /// The 95 % interval of `value` over worker processes; absent below three of them.
    pub interval: Option<(f64, f64)>,
    /// How many samples stand behind the estimate.
    pub n: u64,
}

/// One benchmark of a run: its identity, whether its result was right, and its estimates or why there are none.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// What was measured.
    pub benchmark: Benchmark,
    /// How it ran, beyond its identity.
    pub attributes: Attributes,
    /// Whether its result was checked, and how it came out.
    pub parity: Parity,
    /// The estimates, `time` first; empty where it failed.
    pub estimates: Vec<Estimate>,
    /// Why there are no estimates.
    pub failure: Option<String>,
}

impl Measurement {
    /// The estimate of the named metric.
    pub fn estimate(&self, metric: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|estimate| estimate.metric.name == metric)
    }
}
