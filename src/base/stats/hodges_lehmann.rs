//! The estimate of Hodges and Lehmann: by how much, or by what factor, one set lies above another.
//!
//! The shift is the median of the differences `y - x` of all `m n` pairs, and its interval lies between the `k`-th of them
//! from either end (Hodges and Lehmann, "Estimates of location based on rank tests", Annals of Mathematical Statistics 34,
//! 1963; Lehmann, "Nonparametrics", 1975, chapter 2). *Exact*, for sets of fewer than 50 values without equal ones: `k` is the
//! quantile of the `U` of Mann and Whitney, and at least one, as in R's `wilcox.test`. *Normal*: `k` is
//! `m n / 2 - z sqrt(m n (m + n + 1) / 12)`, rounded down, and at least one. A factor is the shift of the logarithms. It takes
//! memory for each pair.

use super::mann_whitney::Counts;
use super::{describe, normal};

/// From this size of a set on there is no exact interval, as in R.
const EXACT_BELOW: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Location {
    pub estimate: f64,
    /// Absent for large sets and equal values.
    pub exact: Option<Exact>,
    pub normal: Normal,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact {
    /// The place of its ends among the sorted pairs, from 1, from either end.
    pub rank: usize,
    pub low: f64,
    pub high: f64,
    /// The actual confidence, which is less than requested for small sets.
    pub coverage: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normal {
    /// As [`Exact::rank`].
    pub rank: usize,
    pub low: f64,
    pub high: f64,
    pub unrounded_rank: f64,
}

impl Location {
    pub fn interval(&self) -> (f64, f64) {
        self.exact.map_or((self.normal.low, self.normal.high), |exact| (exact.low, exact.high))
    }

    fn map(self, change: impl Fn(f64) -> f64) -> Location {
        let (exact, normal) = (self.exact, self.normal);
        Location {
            estimate: change(self.estimate),
            exact: exact.map(|exact| Exact { low: change(exact.low), high: change(exact.high), ..exact }),
            normal: Normal { low: change(normal.low), high: change(normal.high), ..normal },
        }
    }
}

/// By how much `second` lies above `first`, with intervals of this `confidence`. `None` where a set is empty, where a
/// difference exceeds a double, and unless `confidence` lies between 0 and 1.
pub fn shift(first: &[f64], second: &[f64], confidence: f64) -> Option<Location> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let mut differences: Vec<f64> = second.iter().flat_map(|y| first.iter().map(move |x| y - x)).collect();
    differences.sort_unstable_by(f64::total_cmp);
    if !(differences.first()?.is_finite() && differences.last()?.is_finite()) {
        return None;
    }
    let ends = |rank: usize| (differences[rank - 1], differences[differences.len() - rank]);
    let is_small = first.len() < EXACT_BELOW && second.len() < EXACT_BELOW;
    let exact = if is_small && describe::groups(&[first, second].concat()).is_empty() {
        let counts = Counts::new(first.len(), second.len())?;
        let rank = counts.lower_quantile((1.0 - confidence) / 2.0).max(1);
        let (low, high) = ends(rank);
        Some(Exact { rank, low, high, coverage: 1.0 - 2.0 * counts.at_most(rank - 1) })
    } else {
        None
    };
    let (m, n) = (first.len() as f64, second.len() as f64);
    let spread = (m * n * (m + n + 1.0) / 12.0).sqrt();
    let unrounded_rank = m * n / 2.0 - normal::quantile(0.5 + confidence / 2.0)? * spread;
    let rank = unrounded_rank.floor().max(1.0) as usize;
    let (low, high) = ends(rank);
    let normal = Normal { rank, low, high, unrounded_rank };
    Some(Location { estimate: describe::median(&differences)?, exact, normal })
}

/// The factor by which `second` lies above `first`, as [`shift`]; `None` also where a value is not above zero.
pub fn ratio(first: &[f64], second: &[f64], confidence: f64) -> Option<Location> {
    let logarithms = |values: &[f64]| -> Option<Vec<f64>> {
        values.iter().map(|value| (*value > 0.0).then(|| value.ln())).collect()
    };
    let factors = shift(&logarithms(first)?, &logarithms(second)?, confidence)?.map(f64::exp);
    let (low, high) = (factors.normal.low, factors.normal.high);
    (low > 0.0 && high.is_finite()).then_some(factors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sets_and_invalid_input() {
        assert_eq!([shift(&[], &[1.0], 0.95), shift(&[1.0], &[], 0.95), shift(&[1.0], &[2.0], 1.0)], [None; 3]);
        assert_eq!([shift(&[-f64::MAX], &[f64::MAX], 0.95), ratio(&[0.0], &[1.0], 0.95)], [None; 2]);
        assert_eq!(ratio(&[f64::MIN_POSITIVE], &[f64::MAX], 0.95), None);
        let one = shift(&[1.0], &[3.0], 0.95).expect("there is a pair");
        let exact = one.exact.expect("the values differ");
        assert_eq!((one.estimate, exact.low, exact.high, exact.coverage), (2.0, 2.0, 2.0, 0.0));
        // Two against two: each end is one of six orders, so the whole range holds the shift in four of six.
        let two = shift(&[1.0, 2.0], &[4.0, 6.0], 0.95).expect("there are pairs");
        let exact = two.exact.expect("the values differ");
        assert_eq!((exact.rank, exact.low, exact.high), (1, 2.0, 5.0));
        assert!((exact.coverage - 4.0 / 6.0).abs() < 1e-15);
        // Three against three at 90 %: an end is exactly one of twenty orders, and a twentieth may be missed.
        let exact = shift(&[1.0, 2.0, 3.0], &[1.5, 2.7, 9.1], 0.9).and_then(|shift| shift.exact);
        assert_eq!(exact.map(|exact| exact.rank), Some(1));
        let equal = shift(&[2.0; 8], &[2.0; 9], 0.95).map(|shift| (shift.exact, shift.interval()));
        assert_eq!(equal, Some((None, (0.0, 0.0))));
        assert_eq!(shift(&[2.0], &[3.0; EXACT_BELOW], 0.95).and_then(|shift| shift.exact), None);
    }
}
