//! Percentile bootstrap of the median, and what its spread says about changes that could be seen.
//!
//! Resamples with replacement, takes the median of each resample, and reads the interval off the quantiles of
//! those medians (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13). The unit that is
//! resampled must be independent: worker processes, never samples of one process.

use super::describe;
use super::random::SplitMix64;

/// Resamples drawn. The quantiles at 2.5 % and 97.5 % of 2,000 medians vary by well under the width itself.
const RESAMPLES: usize = 2_000;

/// Below this number of values there is no interval: two values say nothing about spread.
pub const FEWEST_VALUES: usize = 3;

/// Quantile of the standard normal distribution at 97.5 %: a two-sided test at 5 %.
const Z_SIGNIFICANCE: f64 = 1.959_963_984_540_054;

/// Quantile of the standard normal distribution at 80 %: the power that is asked for.
const Z_POWER: f64 = 0.841_621_233_572_914_3;

/// The `confidence` interval (0..1) of the median of `values`; `None` below [`FEWEST_VALUES`].
pub fn median_interval(values: &[f64], confidence: f64, seed: u64) -> Option<(f64, f64)> {
    if values.len() < FEWEST_VALUES {
        return None;
    }
    let medians = medians_of_resamples(values, seed);
    let tail = (1.0 - confidence) / 2.0;
    Some((describe::quantile(&medians, tail)?, describe::quantile(&medians, 1.0 - tail)?))
}

/// The minimum detectable effect: the smallest relative difference between the medians of two sets of values like
/// this one that a two-sided test at 5 % finds with a power of 80 %; `None` below [`FEWEST_VALUES`] or around zero.
///
/// `(z_0.975 + z_0.8) * sqrt(2) * se / |median|`, with the bootstrap's standard error of the median (Bloom, "Minimum
/// detectable effects", Evaluation Review 19, 1995).
pub fn detectable_effect(values: &[f64], seed: u64) -> Option<f64> {
    let median = describe::median(values).filter(|median| *median != 0.0)?;
    if values.len() < FEWEST_VALUES {
        return None;
    }
    let medians = medians_of_resamples(values, seed);
    let mean = medians.iter().sum::<f64>() / medians.len() as f64;
    let variance = medians.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (medians.len() - 1) as f64;
    Some((Z_SIGNIFICANCE + Z_POWER) * (2.0 * variance).sqrt() / median.abs())
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
    fn the_interval_holds_the_median_and_is_seeded() {
        let values = [1.0, 1.1, 0.9, 1.05, 0.95];
        let interval = median_interval(&values, 0.95, 1).expect("five values give an interval");
        assert!(interval.0 <= 1.0 && 1.0 <= interval.1 && interval.0 >= 0.9 && interval.1 <= 1.1, "{interval:?}");
        assert_eq!(median_interval(&values, 0.95, 1), Some(interval));
        assert_eq!(median_interval(&values[..2], 0.95, 1), None);
    }

    #[test]
    fn the_detectable_effect_is_one_that_is_detected_in_four_cases_of_five() {
        // With 31 values of spread 0.01 around 1, the standard error of a median is about 1.2533 * 0.01 / sqrt(31).
        let mut random = SplitMix64::new(5);
        let mut draw = |shift: f64| (0..31).map(|_| 1.0 + shift + 0.01 * random.normal()).collect::<Vec<f64>>();
        let effects: Vec<f64> = (0..40).filter_map(|seed| detectable_effect(&draw(0.0), seed)).collect();
        let typical = describe::median(&effects).expect("every draw has an effect");
        let theory = (Z_SIGNIFICANCE + Z_POWER) * 2f64.sqrt() * 1.2533 * 0.01 / 31f64.sqrt();
        assert!((typical / theory - 1.0).abs() < 0.2, "{typical} and {theory}");
        assert_eq!(detectable_effect(&[1.0, 2.0], 1), None);
        assert_eq!(detectable_effect(&[0.0, 0.0, 0.0], 1), None);
        assert_eq!(detectable_effect(&[2.0, 2.0, 2.0], 1), Some(0.0));
    }

    #[test]
    fn it_covers_the_true_median_about_as_often_as_it_says() {
        let mut random = SplitMix64::new(11);
        let covered = (0..300)
            .filter(|trial| {
                let values: Vec<f64> = (0..15).map(|_| 5.0 + random.normal()).collect();
                let (low, high) = median_interval(&values, 0.95, *trial).expect("fifteen values give an interval");
                low <= 5.0 && 5.0 <= high
            })
            .count();
        assert!((270..=298).contains(&covered), "{covered} of 300");
    }
}
