//! The test of Mann and Kendall: whether a series goes up or down over time, by whatever course.
//!
//! The score counts the pairs whose later value is the larger, less those whose later value is the smaller. Where there is
//! no trend it is nearly normal around zero, with a variance that is less for each group of equal values; one is taken
//! from its size for continuity (Mann, "Nonparametric tests against trend", Econometrica 13, 1945; Kendall, "Rank
//! Correlation Methods", 4th edition, 1970). The values must be independent: a series with memory is called a trend too
//! often. It takes time for each pair.

use super::{normal, order};

/// What the test finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Rising pairs less falling pairs.
    pub score: i64,
    /// The variance of the score where there is no trend.
    pub variance: f64,
    /// The score in standard deviations, one nearer to zero for continuity; zero where all values are equal.
    pub z: f64,
    /// The chance of a score as far from zero as this, on either side, where there is no trend.
    pub two_sided: f64,
    /// Kendall's tau a: the score as a share of all pairs.
    pub tau_a: f64,
    /// Kendall's tau b: the score as a share of what it could be with these equal values; `None` where all are equal.
    pub tau_b: Option<f64>,
}

/// Tests values in the order of time; `None` below two of them.
pub fn test(values: &[f64]) -> Option<Trend> {
    if values.len() < 2 {
        return None;
    }
    let later = |place: usize| values[place + 1..].iter().map(move |later| sign(values[place], *later));
    let score: i64 = (0..values.len()).flat_map(later).sum();
    let groups = order::groups(values);
    let variance = order::score_variance(values.len(), groups.iter().copied());
    let towards_zero = (score - score.signum()) as f64;
    let z = if variance > 0.0 { towards_zero / variance.sqrt() } else { 0.0 };
    let pairs = |size: usize| (size * (size - 1) / 2) as f64;
    let all = pairs(values.len());
    let unequal = all - groups.iter().copied().map(pairs).sum::<f64>();
    Some(Trend {
        score,
        variance,
        z,
        two_sided: 2.0 * normal::sf(z.abs()),
        tau_a: score as f64 / all,
        tau_b: (unequal > 0.0).then(|| score as f64 / (all.sqrt() * unequal.sqrt())),
    })
}

fn sign(earlier: f64, later: f64) -> i64 {
    i64::from(later > earlier) - i64::from(later < earlier)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn scores_are_those_of_hand() {
        let found = test(&[5.0, 6.0, 11.0, 8.0, 10.0]).expect("there are five values");
        assert_eq!((found.score, found.variance), (6, 300.0 / 18.0));
        // Gilbert, "Statistical Methods for Environmental Pollution Monitoring", 1987, section 16.4.1.
        assert_eq!(test(&[10.0, 15.0, 14.0, 20.0]).map(|found| found.score), Some(4));
        assert!((found.z - 5.0 / (300.0_f64 / 18.0).sqrt()).abs() < 1e-15);
        assert!((found.tau_a - 0.6).abs() < 1e-15 && found.tau_b.is_some_and(|tau| (tau - 0.6).abs() < 1e-15));
        // Two equal values: of six pairs one is neither, five rise.
        let found = test(&[1.0, 2.0, 2.0, 3.0]).expect("there are four values");
        assert_eq!((found.score, found.variance), (5, (156.0 - 18.0) / 18.0));
        assert!(found.tau_b.is_some_and(|tau| (tau - 5.0 / 30.0_f64.sqrt()).abs() < 1e-15));
        let found = test(&[7.0; 9]).expect("there are nine values");
        assert_eq!((found.score, found.z, found.two_sided, found.tau_b), (0, 0.0, 1.0, None));
        assert_eq!((test(&[]), test(&[1.0])), (None, None));
    }

    proptest! {
        #[test]
        fn only_order_counts_and_the_reverse_is_the_opposite(values in prop::collection::vec(-20..20_i32, 2..40)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let found = test(&values).expect("there are two values or more");
            let curved: Vec<f64> = values.iter().map(|value| (value / 9.0).exp()).collect();
            prop_assert_eq!(test(&curved), Some(found));
            let reversed: Vec<f64> = values.iter().rev().copied().collect();
            let reversed = test(&reversed).expect("there are two values or more");
            prop_assert_eq!((reversed.score, reversed.two_sided), (-found.score, found.two_sided));
            prop_assert!(found.two_sided <= 1.0 && found.tau_b.is_none_or(|tau| tau.abs() <= 1.0 + 1e-15));
        }
    }
}
