//! The interval of a median between two order statistics, for any distribution: the inverse of the sign test (Conover,
//! "Practical Nonparametric Statistics", 3rd edition, 1999, section 3.2).
//!
//! Each of `n` values lies below the median with a chance of a half. The median thus lies outside of the `k`-th values from
//! either end with twice the chance that fewer than `k` of `n` coin tosses show heads; `k` is the largest with no more than the
//! allowed chance. The coverage is at least the confidence; the interpolated interval of [`super::bootstrap`] is narrower.

use super::describe;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignInterval {
    /// The place of its ends among the sorted values, from 1, from either end.
    pub rank: usize,
    pub low: f64,
    pub high: f64,
    /// The actual confidence.
    pub coverage: f64,
}

/// The interval of the median with at least this `confidence`, a number between 0 and 1; `None` for too few values.
pub fn of_median(values: &[f64], confidence: f64) -> Option<SignInterval> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let allowed = (1.0 - confidence) / 2.0;
    let n = values.len();
    // The number of ways to toss that many heads relative to the middle, which avoids overflow.
    let mut ways = vec![1.0; n / 2 + 1];
    for heads in (0..n / 2).rev() {
        ways[heads] = ways[heads + 1] * (heads + 1) as f64 / (n - heads) as f64;
    }
    let lower: f64 = ways.iter().sum();
    let all = if n.is_multiple_of(2) { 2.0 * lower - 1.0 } else { 2.0 * lower };
    let (mut rank, mut outside) = (0_usize, 0.0);
    for share in ways.iter().map(|ways| ways / all) {
        if outside + share > allowed {
            break;
        }
        outside += share;
        rank += 1;
    }
    let place = rank.checked_sub(1)?;
    let sorted = describe::sorted(values);
    Some(SignInterval { rank, low: sorted[place], high: sorted[n - rank], coverage: 1.0 - 2.0 * outside })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_agree_with_published_tables() {
        // As in Nair, "Table of confidence interval for the median", Sankhya 4, 1940, for at least 95 %.
        let check = |n: usize, rank: Option<usize>| {
            let values: Vec<f64> = (1..=n).map(|value| value as f64).collect();
            let interval = of_median(&values, 0.95);
            assert_eq!(interval.map(|interval| interval.rank), rank, "{n}");
            let ends = rank.map(|rank| (rank as f64, (n + 1 - rank) as f64));
            assert_eq!(interval.map(|interval| (interval.low, interval.high)), ends, "{n}");
            assert!(interval.is_none_or(|interval| interval.coverage >= 0.95));
        };
        for (n, rank) in [
            (0, None),
            (5, None),
            (6, Some(1)),
            (8, Some(1)),
            (9, Some(2)),
            (20, Some(6)),
            (25, Some(8)),
            (50, Some(18)),
        ] {
            check(n, rank);
        }
        // Two in 64 series of six tosses show one side only.
        assert_eq!(of_median(&[1.0; 6], 0.95).map(|interval| interval.coverage), Some(1.0 - 2.0 / 64.0));
        assert!(of_median(&vec![1.0; 3000], 0.95).is_some_and(|interval| interval.coverage < 0.955));
        assert_eq!([of_median(&[1.0; 9], 0.0), of_median(&[1.0; 9], 1.0), of_median(&[1.0; 9], f64::NAN)], [None; 3]);
        // A low confidence.
        assert_eq!(of_median(&[1.0, 2.0], 0.4).map(|interval| interval.rank), Some(1));
        assert_eq!(of_median(&[3.0], 1e-9), None);
    }
}
