//! Groups of equal values, which tests by rank must know: their variance is less for each.

/// How many values each group of two or more equal ones has. Zero equals itself with the other sign.
pub(super) fn groups(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).filter(|size| *size > 1).collect()
}

/// The variance of Kendall's score of `n` pairs in any order, less what the groups of equal values take from it:
/// `(n (n - 1) (2 n + 5) - sum of g (g - 1) (2 g + 5)) / 18` (Kendall, "Rank Correlation Methods", 4th edition,
/// 1970).
pub(super) fn score_variance(n: usize, groups: impl Iterator<Item = usize>) -> f64 {
    let term = |size: usize| {
        let size = size as f64;
        size * (size - 1.0) * (2.0 * size + 5.0)
    };
    ((term(n) - groups.map(term).sum::<f64>()) / 18.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_go_by_equality() {
        let check = |values: &[f64], expected: &[usize]| assert_eq!(groups(values), expected);
        check(&[], &[]);
        check(&[3.0, 1.0, 2.0], &[]);
        check(&[2.0, 1.0, 2.0, 2.0, 1.0, 5.0], &[2, 3]);
        check(&[0.0, 1.0, -0.0], &[2]);
    }

    #[test]
    fn variances_are_those_of_hand() {
        assert_eq!(score_variance(5, [].into_iter()), 300.0 / 18.0);
        assert_eq!(score_variance(5, [2, 3].into_iter()), (300.0 - 18.0 - 66.0) / 18.0);
        assert_eq!(score_variance(4, [4, 4].into_iter()), 0.0);
    }
}
