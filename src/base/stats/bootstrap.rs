//! The interval of a median over few independent values, and its minimum detectable effect.
//!
//! The interval lies between order statistics, whose coverage is known for any distribution, interpolated to 95 %
//! (Hettmansperger and Sheather, "Confidence intervals based on interpolated order statistics", Statistics and Probability
//! Letters 4, 1986). Five values reach 93.75 % at most, three and four far less; for these Student's t takes its place. The
//! standard error of a median is that of bootstrapped medians (Efron and Tibshirani, "An Introduction to the Bootstrap",
//! 1993, chapter 6). The resampled unit must be independent: worker processes, never samples of one process.

use super::random::SplitMix64;
use super::{describe, student};

/// Resamples drawn. The quantiles at 2.5 % and 97.5 % of 2,000 medians vary by well under the width itself.
const RESAMPLES: usize = 2_000;

/// Below this number of values there is no interval: two values say nothing about spread.
pub const FEWEST_VALUES: usize = 3;

/// From this number of values on, the interval needs no assumption on their distribution.
pub const FEWEST_FOR_ORDER_STATISTICS: usize = 5;

pub const CONFIDENCE: f64 = 0.95;

/// The standard error of a median over that of a mean, for three and for four normal values (Maritz and Jarrett, "A
/// note on estimating the variance of the sample median", Journal of the American Statistical Association 73, 1978).
const MEDIAN_OVER_MEAN: [f64; 2] = [1.160, 1.092];

/// The 95 % interval of the median of `values`; `None` below [`FEWEST_VALUES`].
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < FEWEST_VALUES {
        return None;
    }
    if values.len() >= FEWEST_FOR_ORDER_STATISTICS {
        return Some(between_order_statistics(values));
    }
    // Times and ratios spread by factors, and their interval must stay above zero.
    let is_positive = values.iter().all(|value| *value > 0.0);
    let scaled: Vec<f64> = if is_positive { values.iter().map(|value| value.ln()).collect() } else { values.to_vec() };
    let half = student::two_sided_95(values.len() - 1) * standard_error(&scaled, 0)?;
    let middle = describe::median(&scaled)?;
    let back = |value: f64| if is_positive { value.exp() } else { value };
    Some((back(middle - half), back(middle + half)))
}

/// The interval between the `d`-th values from either end, interpolated, with the largest `d` of sufficient coverage.
fn between_order_statistics(values: &[f64]) -> (f64, f64) {
    let sorted = describe::sorted(values);
    let n = sorted.len();
    // The median lies outside the d-th values when fewer than d of n values fall on one of its sides.
    let (mut d, mut outside, mut chance) = (1, 0.5_f64.powi(n as i32), n as f64 * 0.5_f64.powi(n as i32));
    let confidence = |outside: f64| 1.0 - 2.0 * outside;
    while d < n / 2 && confidence(outside + chance) >= CONFIDENCE {
        outside += chance;
        chance *= (n - d - 1) as f64 / (d + 1) as f64;
        d += 1;
    }
    let (wide, narrow) = (confidence(outside), confidence(outside + chance));
    let share = ((wide - CONFIDENCE) / (wide - narrow)).clamp(0.0, 1.0);
    let (n_f, d_f) = (n as f64, d as f64);
    let inwards = (n_f - d_f) * share / (d_f + (n_f - 2.0 * d_f) * share);
    let low = sorted[d - 1] + inwards * (sorted[d] - sorted[d - 1]);
    let high = sorted[n - d] - inwards * (sorted[n - d] - sorted[n - d - 1]);
    (low, high)
}

/// The minimum detectable effect: the smallest relative difference between the medians of two sets of values like this one
/// that a two-sided test at 5 % detects with a power of 80 %; `None` below [`FEWEST_VALUES`] or for a median of zero.
///
/// It is `(t_0.975 + t_0.8) * sqrt(2) * se / |median|`, with Student's quantiles for the values of both sets (Bloom, "Minimum
/// detectable effects", Evaluation Review 19, 1995).
pub fn detectable_effect(values: &[f64], seed: u64) -> Option<f64> {
    let median = describe::median(values).filter(|median| *median != 0.0)?;
    let freedom = 2 * values.len().checked_sub(1)?;
    let quantiles = student::two_sided_95(freedom) + student::power_80(freedom);
    Some(quantiles * std::f64::consts::SQRT_2 * standard_error(values, seed)? / median.abs())
}

/// The standard error of the median; `None` below [`FEWEST_VALUES`].
fn standard_error(values: &[f64], seed: u64) -> Option<f64> {
    if values.len() < FEWEST_VALUES {
        return None;
    }
    // Equal values have no spread, despite rounding.
    if values.iter().all(|value| *value == values[0]) {
        return Some(0.0);
    }
    match MEDIAN_OVER_MEAN.get(values.len() - FEWEST_VALUES) {
        Some(factor) => Some(factor * deviation(values) / (values.len() as f64).sqrt()),
        None => Some(deviation(&medians_of_resamples(values, seed))),
    }
}

/// The sample standard deviation of two values or more.
fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

fn medians_of_resamples(values: &[f64], seed: u64) -> Vec<f64> {
    let mut random = SplitMix64::new(seed);
    let mut resample = vec![0.0; values.len()];
    let mut medians = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for slot in &mut resample {
            *slot = values[random.below(values.len())];
        }
        medians.extend(describe::median(&resample));
    }
    medians
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_source() {
        let check = |values: &[f64], expected: (f64, f64), error: f64| {
            let (low, high) = median_interval(values).expect("there are enough values");
            assert!((low - expected.0).abs() <= error && (high - expected.1).abs() <= error, "{low} {high}");
        };
        check(&[1.0, 1.1, 0.9, 1.05, 0.95], (0.9, 1.1), 0.0);
        // Of six values: 0.357 of the way from the first to the second.
        check(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], (1.357_142_9, 5.642_857_1), 1e-6);
        // Three values: the median times exp(± 4.303 * 1.160 * sd of logarithms / sqrt(3)).
        check(&[0.99, 1.0, 1.01], (0.9716, 1.0292), 2e-4);
        check(&[2.0, 2.0, 2.0], (2.0, 2.0), 0.0);
        let (low, high) = median_interval(&[-1.0, 0.0, 1.0]).expect("three values give an interval");
        assert!(low < -1.0 && high > 1.0);
        assert_eq!(median_interval(&[1.0, 2.0]), None);
    }

    #[test]
    fn the_interval_covers_the_true_median_as_often_as_promised() {
        for count in [3, 4, 5, 6, 7, 8, 9, 11, 15, 30] {
            let mut random = SplitMix64::new(11);
            let covered = (0..1500).filter(|_| {
                let values: Vec<f64> = (0..count).map(|_| 5.0 + 0.05 * random.normal()).collect();
                let (low, high) = median_interval(&values).expect("there are enough values");
                low <= 5.0 && 5.0 <= high
            });
            let share = covered.count() as f64 / 1500.0;
            assert!((0.925..=0.98).contains(&share), "{share} of the intervals over {count} values");
        }
    }

    #[test]
    fn the_detectable_effect_agrees_with_theory() {
        // With 31 values of spread 0.01 around 1, the standard error of a median is about 1.2533 * 0.01 / sqrt(31).
        let mut random = SplitMix64::new(5);
        let mut draw = |shift: f64| (0..31).map(|_| 1.0 + shift + 0.01 * random.normal()).collect::<Vec<f64>>();
        let effects: Vec<f64> = (0..40).filter_map(|seed| detectable_effect(&draw(0.0), seed)).collect();
        let typical = describe::median(&effects).expect("every draw has an effect");
        let theory = (1.96 + 0.84) * 2f64.sqrt() * 1.2533 * 0.01 / 31f64.sqrt();
        assert!((typical / theory - 1.0).abs() < 0.2, "{typical} and {theory}");
        assert_eq!(detectable_effect(&[1.0, 2.0], 1), None);
        assert_eq!(detectable_effect(&[0.0, 0.0, 0.0], 1), None);
        assert_eq!(detectable_effect(&[2.0, 2.0, 2.0], 1), Some(0.0));
        assert_eq!(detectable_effect(&[0.1; 7], 1), Some(0.0));
    }
}
