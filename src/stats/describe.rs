//! Order statistics and means.
//!
//! Quantiles interpolate linearly between order statistics at `p * (n - 1)`, the definition 7 of Hyndman and
//! Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996).

/// The middle value, or the mean of the two middle values; `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile at `p` in 0..=1, interpolated linearly; `None` for no values.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = p.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64))
}

/// The order statistic at the floor of `p * (n - 1)`, not interpolated, so it never lies above [`quantile`]; `None`
/// for no values. The seed, Apex-X, takes its 95th percentiles so.
pub fn floor_quantile(values: &[f64], p: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[(p.clamp(0.0, 1.0) * last as f64).floor() as usize])
}

/// The geometric mean, by logarithms; `None` for no values or one that is not above zero.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    Some((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// The interquartile range as a share of the median: spread that single outliers do not move; `None` for no values or
/// a median of zero.
pub fn relative_quartile_range(values: &[f64]) -> Option<f64> {
    let median = median(values).filter(|median| *median != 0.0)?;
    Some((quantile(values, 0.75)? - quantile(values, 0.25)?) / median.abs())
}

/// The coefficient of variation: the sample standard deviation as a share of the mean; `None` below two values or for
/// a mean of zero.
pub fn variation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean != 0.0).then(|| (squares / (values.len() - 1) as f64).sqrt() / mean.abs())
}

/// `value` to `digits` significant decimal digits, as the nearest double to that decimal.
pub fn round_significant(value: f64, digits: usize) -> f64 {
    let precision = digits.saturating_sub(1);
    format!("{value:.precision$e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        let check = |values: &[f64], p: f64, expected: Option<f64>| assert_eq!(quantile(values, p), expected);
        check(&[], 0.5, None);
        check(&[3.0], 0.95, Some(3.0));
        check(&[4.0, 1.0, 3.0, 2.0], 0.5, Some(2.5));
        check(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.25, Some(2.0));
        check(&[1.0, 2.0], 0.75, Some(1.75));
        assert_eq!(median(&[5.0, 1.0, 3.0]), Some(3.0));
    }

    #[test]
    fn spreads_are_shares() {
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squares 32, so the sample variance is 32 / 7.
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let variation_of = variation(&values).expect("there are values");
        assert!((variation_of - (32.0_f64 / 7.0).sqrt() / 5.0).abs() < 1e-12, "{variation_of}");
        assert_eq!(relative_quartile_range(&values), Some(1.5 / 4.5));
        assert_eq!((variation(&[1.0]), variation(&[-1.0, 1.0])), (None, None));
        assert_eq!((relative_quartile_range(&[]), relative_quartile_range(&[0.0])), (None, None));
    }

    #[test]
    fn a_floor_quantile_is_one_of_the_values() {
        let check = |values: &[f64], p: f64, expected: Option<f64>| assert_eq!(floor_quantile(values, p), expected);
        check(&[], 0.95, None);
        check(&[2.0, 1.0], 0.95, Some(1.0));
        check(&[3.0, 1.0, 2.0], 0.5, Some(2.0));
        check(&[3.0, 1.0, 2.0], 1.0, Some(3.0));
    }

    #[test]
    fn geometric_means_need_positive_values() {
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        let mean = geometric_mean(&[1e-300, 1e300]).expect("positive values have a mean");
        assert!((mean - 1.0).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn rounding_keeps_significant_digits() {
        assert_eq!(round_significant(1.234567891e-5, 7), 1.234568e-5);
        assert_eq!(round_significant(0.0, 7), 0.0);
        assert_eq!(round_significant(-98765.4321, 3), -98800.0);
    }
}
