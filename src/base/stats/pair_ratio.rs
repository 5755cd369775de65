//! The factor between two processes: the median of ratios, never the ratio of medians.
//!
//! Where the samples of a process have two modes of about equal weight, its median lies in either mode by chance, and the
//! medians of two equal processes may differ by the distance of the modes.
//!
//! The ratios of interleaved processes are those of rounds, in which disturbances of the machine cancel. Else they are those
//! of each sample of the one to each of the other, and their median is the estimate of a factor by Hodges and Lehmann
//! ("Estimates of location based on rank tests", Annals of Mathematical Statistics 34, 1963). On recorded timings of a shared
//! machine, means of the middle half of the samples detected 5 % in 27.0 % of the windows, and this in all
//! (`docs/FIGURES.md`, "False alarms").
//!
//! The effect of several pairs is the centre of the logarithms of their ratios.

use super::centre::{self, Centre};
use super::student;

/// Below this number of pairs there is no interval.
pub const FEWEST_PAIRS: usize = 3;

/// The most samples of a process that are compared: evenly spaced quantiles, where there are more.
const MOST_SAMPLES: usize = 500;

/// The ratio of two interleaved processes by rounds of base and other; `None` without rounds, or a value not above zero.
pub fn of_rounds(rounds: &[(f64, f64)]) -> Option<f64> {
    // Two values below zero would make a ratio above it.
    if !rounds.iter().all(|(base, other)| *base > 0.0 && *other > 0.0) {
        return None;
    }
    geometric_median(rounds.iter().map(|(base, other)| other / base).collect())
}

/// The ratio of two processes, other over base; `None` where one has no samples, and where a sample is not above zero.
pub fn of_processes(base: &[f64], other: &[f64]) -> Option<f64> {
    if !base.iter().chain(other).all(|sample| *sample > 0.0) {
        return None;
    }
    let (base, other) = (few(base), few(other));
    geometric_median(base.iter().flat_map(|base| other.iter().map(move |other| other / base)).collect())
}

/// The centre of the logarithms of the ratios of pairs; `None` below [`FEWEST_PAIRS`].
pub fn centre(ratios: &[f64]) -> Option<Centre> {
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    centre::estimate(&logarithms).filter(|_| ratios.len() >= FEWEST_PAIRS)
}

/// The interval of the common ratio of pairs; `None` below [`FEWEST_PAIRS`].
pub fn interval(ratios: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let Centre { value, error, freedom, .. } = centre(ratios)?;
    let reach = student::two_sided(confidence, freedom) * error;
    Some(((value - reach).exp(), (value + reach).exp()))
}

/// At most [`MOST_SAMPLES`] of the values, with the same quantiles as all of them.
fn few(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    if values.len() <= MOST_SAMPLES {
        return values;
    }
    values.sort_unstable_by(f64::total_cmp);
    (0..MOST_SAMPLES).map(|place| values[(2 * place + 1) * values.len() / (2 * MOST_SAMPLES)]).collect()
}

/// The median on a logarithmic scale, so that swapped sides give the inverse.
fn geometric_median(mut ratios: Vec<f64>) -> Option<f64> {
    if ratios.is_empty() || ratios.iter().any(|ratio| !(ratio.is_finite() && *ratio > 0.0)) {
        return None;
    }
    let middle = ratios.len() / 2;
    let is_odd = ratios.len() % 2 == 1;
    let (below, upper, _) = ratios.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if is_odd {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(lower * (upper / lower).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::describe;
    use proptest::prelude::*;

    #[test]
    fn a_ratio_is_the_median_of_ratios() {
        assert_eq!(of_rounds(&[(2.0, 3.0)]), Some(1.5));
        assert_eq!(of_rounds(&[(1.0, 1.0), (1.0, 4.0)]), Some(2.0));
        assert_eq!(of_rounds(&[(1.0, 1.1), (2.0, 2.0), (1.0, 1000.0)]), Some(1.1));
        assert_eq!(of_processes(&[2.0, 2.0], &[3.0]), Some(1.5));
        // 1, 3, 1 / 2 and 3 / 2: in the middle 1 and 3 / 2.
        assert_eq!(of_processes(&[1.0, 2.0], &[1.0, 3.0]), Some(1.5_f64.sqrt()));
        assert_eq!(of_processes(&[0.1; 7], &[0.1; 6]), Some(1.0));
        // Eight samples of fifteen in the one mode, or seven.
        let modes = |low: usize| [vec![1.0; low], vec![1.06; 15 - low]].concat();
        let medians = describe::median(&modes(7)).zip(describe::median(&modes(8))).map(|(a, b)| a / b);
        assert_eq!(medians, Some(1.06));
        assert_eq!(of_processes(&modes(8), &modes(7)), Some(1.0));
        // Many samples are thinned.
        let many: Vec<f64> = (0..10_007).map(|place| 1.0 + f64::from(place * 7919 % 10_007) * 1e-4).collect();
        let ratio = of_processes(&many, &many.iter().map(|sample| sample * 1.1).collect::<Vec<f64>>());
        assert!(ratio.is_some_and(|ratio| (ratio - 1.1).abs() < 1e-9), "{ratio:?}");
    }

    #[test]
    fn without_positive_values_there_is_no_ratio() {
        let processes: [(&[f64], &[f64]); 8] = [
            (&[], &[1.0]),
            (&[1.0], &[]),
            (&[0.0], &[1.0]),
            (&[1.0, 1.0], &[1.0, 0.0]),
            (&[-1.0], &[1.0]),
            (&[-1.0], &[-2.0]),
            (&[1e-300], &[1e300]),
            (&[1.0], &[f64::NAN]),
        ];
        assert!(processes.iter().all(|(base, other)| of_processes(base, other).is_none()));
        let rounds: [&[(f64, f64)]; 4] = [&[], &[(0.0, 1.0)], &[(1.0, 1.0), (1.0, 0.0)], &[(-1.0, -2.0)]];
        assert!(rounds.iter().all(|rounds| of_rounds(rounds).is_none()));
    }

    #[test]
    fn pairs_have_an_interval_from_three_on() {
        assert_eq!([interval(&[], 0.98), interval(&[1.0, 1.0], 0.98)], [None; 2]);
        assert_eq!(interval(&[1.0; 3], 0.98), Some((1.0, 1.0)));
        // Logarithms of -0.01, 0 and 0.01: the error is 0.01 / sqrt(3), and t of two degrees of freedom 6.9646.
        let (low, high) = interval(&[-0.01_f64, 0.0, 0.01].map(f64::exp), 0.98).expect("there are three");
        let reach = 6.9646 * 0.01 / 3.0_f64.sqrt();
        assert!((low.ln() + reach).abs() < 1e-6 && (high.ln() - reach).abs() < 1e-6, "{low} {high}");
    }

    proptest! {
        #[test]
        fn swapped_sides_give_the_inverse(
            base in prop::collection::vec(0.5..2.0_f64, 1..20),
            other in prop::collection::vec(0.5..2.0_f64, 1..20),
        ) {
            let product = of_processes(&base, &other).zip(of_processes(&other, &base)).map(|(there, back)| there * back);
            prop_assert!(product.is_some_and(|product| (product - 1.0).abs() < 1e-12), "{:?}", product);
        }
    }
}
