//! Welch's test: whether the means of two normal sets with any variances differ.
//!
//! With means `a` and `b` of `m` and `n` values and sample variances `v` and `w`, `t = (b - a) / sqrt(v / m + w / n)` is
//! nearly Student's with `(v / m + w / n)^2 / ((v / m)^2 / (m - 1) + (w / n)^2 / (n - 1))` degrees of freedom (Welch,
//! "The generalization of Student's problem when several different population variances are involved", Biometrika 34,
//! 1947). The values of a set must be independent: medians of processes, never samples of one process.

use super::{describe, student};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// The mean of the second set less that of the first.
    pub difference: f64,
    /// The interval of the difference.
    pub low: f64,
    pub high: f64,
    /// The difference in standard errors.
    pub t: f64,
    pub freedom: f64,
    pub two_sided: f64,
    /// The p-value that is small where the second set is the larger.
    pub greater: f64,
    /// The p-value that is small where the second set is the smaller.
    pub less: f64,
}

/// Tests `second` against `first`, with an interval of this `confidence`. `None` where a set has fewer than two values, where
/// neither has any spread, and unless `confidence` lies between 0 and 1.
pub fn test(first: &[f64], second: &[f64], confidence: f64) -> Option<Welch> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let squared_error = |values: &[f64]| Some(describe::sample_variance(values)? / values.len() as f64);
    let errors = [squared_error(first)?, squared_error(second)?];
    // In shares of the larger, as the square of a small variance would vanish.
    let largest = errors[0].max(errors[1]);
    if largest <= 0.0 {
        return None;
    }
    let shares = errors.map(|error| error / largest);
    let sum = shares[0] + shares[1];
    let lost = shares[0].powi(2) / (first.len() - 1) as f64 + shares[1].powi(2) / (second.len() - 1) as f64;
    let (freedom, error) = (sum * sum / lost, sum.sqrt() * largest.sqrt());
    let difference = describe::mean(second)? - describe::mean(first)?;
    let t = difference / error;
    if !(difference.is_finite() && t.is_finite()) {
        return None;
    }
    let half = student::quantile(0.5 + confidence / 2.0, freedom)? * error;
    Some(Welch {
        difference,
        low: difference - half,
        high: difference + half,
        t,
        freedom,
        two_sided: 2.0 * student::sf(t.abs(), freedom)?,
        greater: student::sf(t, freedom)?,
        less: student::cdf(t, freedom)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_input_gives_none() {
        let check = |first: &[f64], second: &[f64], confidence: f64| assert_eq!(test(first, second, confidence), None);
        check(&[], &[1.0, 2.0], 0.95);
        check(&[1.0], &[1.0, 2.0], 0.95);
        check(&[2.0, 2.0], &[3.0, 3.0], 0.95);
        check(&[1.0, 2.0], &[1.0, 2.0], 1.0);
        check(&[-f64::MAX, f64::MAX], &[1.0, 2.0], 0.95);
        let result = test(&[2.0, 2.0], &[3.0, 4.0], 0.95).expect("one set has spread");
        assert_eq!((result.t, result.freedom), (3.0, 1.0));
        assert!(test(&[1e-170, 2e-170], &[5e-170, 9e-170], 0.95).is_none_or(|result| result.freedom >= 1.0));
    }
}
