//! Order statistics, means and measures of spread. Each is `None` for too few values, and where it exceeds a double.
//!
//! Quantiles interpolate linearly between order statistics at `p * (n - 1)`, the definition 7 of Hyndman and
//! Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996). Means and variances are taken of
//! the differences from the first value, so that a large common part costs no digits and equal values have no spread
//! (Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance", The American Statistician 37, 1983).

/// The standard deviation of normal values over their median absolute deviation: one over the normal quantile at three
/// quarters (Rousseeuw and Croux, "Alternatives to the Median Absolute Deviation", Journal of the American Statistical
/// Association 88, 1993).
pub const OF_NORMAL: f64 = 1.482_602_218_505_602;

/// Sorts as by [`f64::total_cmp`], in half of the time: by the bits as integers, with those of negative numbers inverted.
pub fn sort(values: &mut [f64]) {
    let mut keys: Vec<i64> = values.iter().map(|value| turned(value.to_bits() as i64)).collect();
    keys.sort_unstable();
    for (value, key) in values.iter_mut().zip(keys) {
        *value = f64::from_bits(turned(key) as u64);
    }
}

pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sort(&mut sorted);
    sorted
}

/// Inverts all bits but the sign, where that is set.
fn turned(bits: i64) -> i64 {
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The sizes of groups of two or more equal values. Both zeros are equal.
pub(super) fn groups(values: &[f64]) -> Vec<usize> {
    let sorted = sorted(values);
    sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).filter(|size| *size > 1).collect()
}

pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// As [`median`], of values whose order may be lost.
pub fn median_in_place(values: &mut [f64]) -> Option<f64> {
    quantile_in_place(values, 0.5)
}

/// As [`median`], of values in order.
pub fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(between(sorted[last / 2], sorted[last.div_ceil(2)], 0.5))
}

/// The quantile at `p` in 0..=1.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    quantile_in_place(&mut values.to_vec(), p)
}

fn quantile_in_place(values: &mut [f64], p: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let place = p.clamp(0.0, 1.0) * last as f64;
    let number = place.floor() as usize;
    let (_, below, larger) = values.select_nth_unstable_by(number, f64::total_cmp);
    let below = *below;
    let above = larger.iter().copied().min_by(f64::total_cmp).unwrap_or(below);
    Some(between(below, above, place - number as f64))
}

fn between(below: f64, above: f64, share: f64) -> f64 {
    let gap = above - below;
    if gap.is_finite() { below + gap * share } else { below * (1.0 - share) + above * share }
}

/// For each value the median of all others.
pub fn medians_of_others(values: &[f64]) -> Vec<Option<f64>> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|one, other| values[*one].total_cmp(&values[*other]).then(one.cmp(other)));
    let mut medians = vec![None; values.len()];
    for (rank, own) in order.iter().enumerate() {
        let of_others = |place: usize| values[order[place + usize::from(place >= rank)]];
        let Some(last) = values.len().checked_sub(2) else { break };
        let share = if last % 2 == 0 { 0.0 } else { 0.5 };
        medians[*own] = Some(between(of_others(last / 2), of_others(last.div_ceil(2)), share));
    }
    medians
}

/// The order statistic at the floor of `p * (n - 1)`, as Apex-X takes its 95th percentiles.
pub fn floor_quantile(values: &[f64], p: f64) -> Option<f64> {
    let sorted = sorted(values);
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[(p.clamp(0.0, 1.0) * last as f64).floor() as usize])
}

/// `None` also where a value is not above zero.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    Some((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

pub fn mean(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    let differences: f64 = values.iter().map(|value| value - first).sum();
    Some(first + differences / values.len() as f64).filter(|mean| mean.is_finite())
}

/// The mean without the share `cut` of the values at either end, rounded down; `None` also where `cut` is negative.
pub fn trimmed_mean(values: &[f64], cut: f64) -> Option<f64> {
    if cut.is_nan() || cut < 0.0 {
        return None;
    }
    let sorted = sorted(values);
    let dropped = (cut * sorted.len() as f64) as usize;
    mean(sorted.get(dropped..sorted.len().checked_sub(dropped)?)?)
}

pub fn population_variance(values: &[f64]) -> Option<f64> {
    squares(values).map(|squares| squares / values.len() as f64)
}

/// The sum of squares over one less than the number of values.
pub fn sample_variance(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    squares(values).map(|squares| squares / freedom as f64)
}

/// The sum of the squares of the differences from the mean.
fn squares(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares).filter(|squares| squares.is_finite())
}

/// The median of the distances from the median.
pub fn median_deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&distances).filter(|deviation| deviation.is_finite())
}

/// The median absolute deviation, scaled to the standard deviation of normal values.
pub fn scaled_median_deviation(values: &[f64]) -> Option<f64> {
    Some(OF_NORMAL * median_deviation(values)?).filter(|deviation| deviation.is_finite())
}

/// The interquartile range as a share of the median; `None` also for a median of zero.
pub fn relative_quartile_range(values: &[f64]) -> Option<f64> {
    let median = median(values).filter(|median| *median != 0.0)?;
    Some((quantile(values, 0.75)? - quantile(values, 0.25)?) / median.abs())
}

/// The coefficient of variation: the sample standard deviation as a share of the mean; `None` also for a mean of zero.
pub fn variation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean != 0.0).then(|| (squares / (values.len() - 1) as f64).sqrt() / mean.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::SplitMix64;

    #[test]
    fn statistics_without_golden_cases() {
        assert_eq!([floor_quantile(&[], 0.95), floor_quantile(&[2.0, 1.0], 0.95)], [None, Some(1.0)]);
        assert_eq!([0.5, 1.0].map(|p| floor_quantile(&[3.0, 1.0, 2.0], p)), [Some(2.0), Some(3.0)]);
        assert_eq!([geometric_mean(&[]), geometric_mean(&[1.0, 0.0])], [None; 2]);
        let mean = geometric_mean(&[1e-300, 1e300]).expect("positive values have a mean");
        assert!((mean - 1.0).abs() < 1e-9, "{mean}");
        let mut values = [0.0, -1.0, -0.0, f64::INFINITY, 0.0, -f64::INFINITY, 5e-324];
        sort(&mut values);
        let expected = [-f64::INFINITY, -1.0, -0.0, 0.0, 0.0, 5e-324, f64::INFINITY];
        assert_eq!(values.map(f64::to_bits), expected.map(f64::to_bits));
    }

    #[test]
    fn medians_of_others_agree_with_the_definition() {
        let mut random = SplitMix64::new(3);
        for count in [0, 1, 2, 3, 4, 7, 40] {
            for ties in [false, true] {
                let mut value = || if ties { (random.normal() * 2.0).round() } else { random.normal() };
                let mut values: Vec<f64> = (0..count).map(|_| value()).collect();
                values.iter_mut().skip(30).for_each(|value| *value *= f64::INFINITY);
                let others = |own: usize| -> Vec<f64> { [&values[..own], &values[own + 1..]].concat() };
                let expected = (0..count).map(|own| median(&others(own)).map(f64::to_bits));
                let actual = medians_of_others(&values).into_iter().map(|one| one.map(f64::to_bits));
                assert!(actual.eq(expected), "{values:?}");
            }
        }
    }

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
}
