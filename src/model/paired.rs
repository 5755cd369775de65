//! Two builds measured against each other: what was seen of one metric of one benchmark.

use schemars::JsonSchema;
use serde::Serialize;

use super::metric::Metric;
use super::sample::Role;

/// One metric of one benchmark of two builds that took turns, in pairs of processes.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Paired {
    /// The benchmark's id.
    pub benchmark: String,
    /// What was measured.
    pub metric: Metric,
    /// What limits it: `compute`, `cache` or `dram`; absent where nobody knows.
    pub class: Option<String>,
    /// One entry a pair of processes, in the order in which they ran.
    pub pairs: Vec<Pair>,
    /// Why it could not be measured on both sides.
    pub failure: Option<String>,
    /// Why the two sides must not be compared, though both were measured.
    pub incomparable: Option<String>,
}

/// What one pair of processes showed.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Pair {
    /// The value of the base, in the unit of the metric: the median of its samples, or of the medians of its blocks.
    pub base: f64,
    /// The same of the other build.
    pub other: f64,
    /// Other over base. Where the two took turns in blocks, the median over rounds, below the noise that both share.
    pub ratio: f64,
}

impl Paired {
    /// A benchmark of a class that has been timed, or has failed.
    pub fn timed(benchmark: &str, class: &str, pairs: Vec<Pair>, failure: Option<String>) -> Paired {
        Paired {
            benchmark: benchmark.to_owned(),
            metric: Metric::time(),
            class: Some(class.to_owned()),
            pairs,
            failure,
            incomparable: None,
        }
    }

    /// The ratio of every pair.
    pub fn ratios(&self) -> Vec<f64> {
        self.pairs.iter().map(|pair| pair.ratio).collect()
    }
}

impl Pair {
    /// Two values and their ratio; absent where there is none. Two values that are equal have one, also where both
    /// are zero.
    pub fn of(base: f64, other: f64) -> Option<Pair> {
        let ratio = if base == other { 1.0 } else { other / base };
        (ratio.is_finite() && ratio > 0.0).then_some(Pair { base, other, ratio })
    }
}

/// The place of the one metric that is judged among those of a benchmark of a command.
pub fn judged<'m>(metrics: impl Iterator<Item = &'m Metric> + Clone) -> Option<usize> {
    Role::Tracked.judged(metrics.map(|metric| metric.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_a_positive_number_or_absent() {
        let check = |base: f64, other: f64, ratio: Option<f64>| {
            assert_eq!(Pair::of(base, other).map(|pair| pair.ratio), ratio, "{base} {other}");
        };
        check(2.0, 3.0, Some(1.5));
        check(0.0, 0.0, Some(1.0));
        check(0.0, 3.0, None);
        check(3.0, 0.0, None);
        check(-1.0, 2.0, None);
        check(1e-300, 1e300, None);
    }
}
