//! Two builds measured against each other, interleaved.

use schemars::JsonSchema;
use serde::Serialize;

use super::metric::Metric;
use super::sample::Role;
use sprag_base::stats::{describe, pair_ratio};

/// The confidence of the interval of an effect. One per cent on either side, so that one of a hundred unchanged kernels is
/// called slower. Where each run has its own level (deviation 5 %), less than half of one is at a tolerance of 1 %
/// (`docs/FIGURES.md`, "False alarms").
pub const CONFIDENCE: f64 = 0.98;

/// One metric of one benchmark of two interleaved builds, in pairs of processes.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Paired {
    pub benchmark: String,
    pub metric: Metric,
    /// What limits it: `compute`, `cache` or `dram`; absent where that is unknown.
    pub class: Option<String>,
    /// One entry a pair of processes, in the order of execution.
    pub pairs: Vec<Pair>,
    /// Why it could not be measured on both sides.
    pub failure: Option<String>,
    /// Why the two sides are not comparable, though both were measured.
    pub incomparable: Option<String>,
}

/// A benchmark of the other build that the base lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct New {
    pub benchmark: String,
    pub metric: Metric,
    /// Absent where it was not measured, as there is no value to compare it with.
    pub value: Option<f64>,
    pub failure: Option<String>,
}

/// The values of a pair of processes.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Pair {
    /// The value of the base, in the unit of the metric: the median of its samples, or of the medians of its blocks.
    pub base: f64,
    pub other: f64,
    /// Other over base: the median of the ratios of rounds where the two were interleaved in blocks, else of the ratios of each
    /// sample of the one to each of the other. Unlike the ratio of medians, it does not jump between two modes.
    pub ratio: f64,
}

impl Paired {
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

    pub fn ratios(&self) -> Vec<f64> {
        self.pairs.iter().map(|pair| pair.ratio).collect()
    }
}

impl New {
    pub fn untimed(benchmark: &str) -> New {
        New { benchmark: benchmark.to_owned(), metric: Metric::time(), value: None, failure: None }
    }
}

impl Pair {
    /// Absent where the medians have no ratio. Equal sides have one, even where both are zero.
    pub fn new(base_samples: &[f64], other_samples: &[f64]) -> Option<Pair> {
        let (base, other) = (describe::median(base_samples)?, describe::median(other_samples)?);
        let is_equal = describe::sorted(base_samples) == describe::sorted(other_samples);
        let ratio = match pair_ratio::of_processes(base_samples, other_samples) {
            _ if is_equal => 1.0,
            Some(ratio) => ratio,
            // A sample of zero has no ratio, but the medians may have one.
            None => ratio_of_values(base, other)?,
        };
        Some(Pair { base, other, ratio })
    }
}

fn ratio_of_values(base: f64, other: f64) -> Option<f64> {
    if base == other {
        return Some(1.0);
    }
    let is_positive = base > 0.0 && other > 0.0;
    Some(other / base).filter(|ratio| is_positive && ratio.is_finite() && *ratio > 0.0)
}

/// The index of the judged metric among those of a benchmark of a command.
pub fn judged<'m>(metrics: impl Iterator<Item = &'m Metric> + Clone) -> Option<usize> {
    Role::Tracked.judged(metrics.map(|metric| metric.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_a_positive_number_or_absent() {
        let check = |base: &[f64], other: &[f64], expected: Option<f64>| {
            assert_eq!(Pair::new(base, other).map(|pair| pair.ratio), expected, "{base:?} {other:?}");
        };
        check(&[2.0], &[3.0], Some(1.5));
        check(&[0.0], &[0.0], Some(1.0));
        check(&[0.0], &[3.0], None);
        check(&[3.0], &[0.0], None);
        check(&[-1.0], &[2.0], None);
        check(&[1e-300], &[1e300], None);
        check(&[], &[], None);
        // Samples of zero leave the medians comparable.
        check(&[0.0, 3.0, 3.0], &[3.0, 3.0, 0.0], Some(1.0));
        check(&[0.0, 3.0, 3.0], &[6.0, 0.0, 6.0], Some(2.0));
        check(&[3.0, 3.0], &[3.0, 0.0], Some(0.5));
        check(&[0.0, 0.0, 3.0], &[0.0, 4.0, 0.0], Some(1.0));
        check(&[0.0, 0.0], &[-0.0, 0.0], Some(1.0));
        check(&[0.0, 0.0, 3.0], &[4.0, 4.0, 0.0], None);
        check(&[4.0, 4.0, 0.0], &[0.0, 0.0, 3.0], None);
        check(&[-1.0, -1.0], &[-2.0, -2.0], None);
        check(&[], &[1.0], None);
        check(&[f64::NAN, 1.0], &[1.0, 1.0], None);
        // The ratio is the median of ratios, not the ratio of the medians.
        let pair = Pair::new(&[1.0, 1.0, 1.0, 1.5, 1.5], &[1.0, 1.0, 1.5, 1.5, 1.5]);
        assert_eq!(pair, Some(Pair { base: 1.0, other: 1.5, ratio: 1.0 }));
    }
}
