//! What was computed from samples (`Estimate`), and all of it for one benchmark (`Measurement`).

use super::benchmark::{Attributes, Benchmark, Parity};
use super::metric::{Metric, RATIO, TIME};

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
    /// The one estimate that a gate looks at: `ratio` where the benchmark was timed beside a calibration kernel, else
    /// `time`, else the first.
    pub fn judged(&self) -> Option<&Estimate> {
        self.estimate(RATIO).or_else(|| self.estimate(TIME)).or_else(|| self.estimates.first())
    }

    /// The estimate of the named metric.
    pub fn estimate(&self, metric: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|estimate| estimate.metric.name == metric)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::benchmark::ParityStatus;
    use crate::model::metric::Better;
    use crate::model::unit::Unit;

    #[test]
    fn a_calibrated_benchmark_is_judged_by_its_ratio() {
        let estimate = |name: &str| Estimate {
            metric: Metric { name: name.to_owned(), unit: Unit::One, better: Better::Lower },
            value: 1.0,
            workers: Vec::new(),
            p50: None,
            p95: None,
            interval: None,
            n: 1,
        };
        let check = |names: &[&str], expected: Option<&str>| {
            let measurement = Measurement {
                benchmark: Benchmark::new("cpu", "x", &[], "fast").expect("the name is a word"),
                attributes: BTreeMap::new(),
                parity: Parity { status: ParityStatus::Exact, max_abs_error: None, tolerance: None },
                estimates: names.iter().map(|name| estimate(name)).collect(),
                failure: None,
            };
            assert_eq!(measurement.judged().map(|one| one.metric.name.as_str()), expected);
        };
        check(&["rate", "time", "ratio"], Some("ratio"));
        check(&["rate", "time"], Some("time"));
        check(&["rate", "bytes"], Some("rate"));
        check(&[], None);
    }
}
