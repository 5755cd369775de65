//! The plain interval of a median between two of the values themselves, whatever they were drawn from.
//!
//! Each of `n` values lies below the median of what it was drawn from with a chance of a half. So the median lies
//! outside of the `k`-th value from either end with the chance that of `n` throws of a coin fewer than `k` show one
//! side, twice; `k` is the largest whose chance is no more than is allowed. This is the sign test turned around (Conover,
//! "Practical Nonparametric Statistics", 3rd edition, 1999, section 3.2). It covers more than it is asked to; the
//! interpolated interval of [`super::bootstrap`] is the narrower one.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignInterval {
    /// Which values bound it, counted from one, from the least and from the largest.
    pub rank: usize,
    pub low: f64,
    pub high: f64,
    /// How often such an interval holds the median.
    pub coverage: f64,
}

/// The interval of the median of `values` that holds it with at least this `confidence`; `None` where the values are so
/// few that the whole of them does not, and unless `confidence` lies between 0 and 1, both excluded.
pub fn of_median(values: &[f64], confidence: f64) -> Option<SignInterval> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let allowed = (1.0 - confidence) / 2.0;
    let n = values.len();
    // Ways to throw so many heads as a share of those for the middle, which neither overflow nor underflow where it counts.
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
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(SignInterval { rank, low: sorted[place], high: sorted[n - rank], coverage: 1.0 - 2.0 * outside })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // As in Nair, "Table of confidence interval for the median", Sankhya 4, 1940, for at least 95 %.
        let check = |n: usize, rank: Option<usize>| {
            let values: Vec<f64> = (1..=n).map(|value| value as f64).collect();
            let found = of_median(&values, 0.95);
            assert_eq!(found.map(|found| found.rank), rank, "{n}");
            let ends = rank.map(|rank| (rank as f64, (n + 1 - rank) as f64));
            assert_eq!(found.map(|found| (found.low, found.high)), ends, "{n}");
            assert!(found.is_none_or(|found| found.coverage >= 0.95));
        };
        [(0, None), (5, None), (6, Some(1)), (8, Some(1)), (9, Some(2)), (20, Some(6)), (25, Some(8)), (50, Some(18))]
            .into_iter()
            .for_each(|(n, rank)| check(n, rank));
        // Of six values, two in 64 throws show one side only.
        assert_eq!(of_median(&[1.0; 6], 0.95).map(|found| found.coverage), Some(1.0 - 2.0 / 64.0));
        assert!(of_median(&vec![1.0; 3000], 0.95).is_some_and(|found| found.coverage < 0.955));
        assert_eq!([of_median(&[1.0; 9], 0.0), of_median(&[1.0; 9], 1.0), of_median(&[1.0; 9], f64::NAN)], [None; 3]);
        // So little is asked for that the two middle values, or the one, do.
        assert_eq!(of_median(&[1.0, 2.0], 0.4).map(|found| found.rank), Some(1));
        assert_eq!(of_median(&[3.0], 1e-9), None);
    }
}
