//! Numbers in order of size, and groups of equal ones: the variance of tests by rank is less for each.

/// Sorts as by [`f64::total_cmp`]: that order is the one of the bits as whole numbers once those of negative numbers are
/// turned, and whole numbers are sorted in half of the time.
pub fn sort(values: &mut [f64]) {
    let mut keys: Vec<i64> = values.iter().map(|value| turned(value.to_bits() as i64)).collect();
    keys.sort_unstable();
    for (value, key) in values.iter_mut().zip(keys) {
        *value = f64::from_bits(turned(key) as u64);
    }
}

/// All bits but the highest turned over, where that is set.
fn turned(bits: i64) -> i64 {
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

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

    proptest::proptest! {
        #[test]
        fn the_order_is_that_of_the_standard(values in proptest::collection::vec(proptest::num::f64::ANY, 0..60)) {
            let (mut sorted, mut expected) = (values.clone(), values);
            sort(&mut sorted);
            expected.sort_by(f64::total_cmp);
            let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            proptest::prop_assert_eq!(bits(&sorted), bits(&expected));
        }
    }

    #[test]
    fn zeros_of_both_signs_keep_their_order() {
        let mut values = [0.0, -1.0, -0.0, f64::INFINITY, 0.0, -f64::INFINITY, 5e-324];
        sort(&mut values);
        let expected = [-f64::INFINITY, -1.0, -0.0, 0.0, 0.0, 5e-324, f64::INFINITY];
        assert_eq!(values.map(f64::to_bits), expected.map(f64::to_bits));
    }
}
