//! The standard normal distribution, with the same precision far out in the tails as near the middle, which `statrs` lacks.
//!
//! Near the middle the distribution function is a half plus the density times a series of positive terms, and further
//! out the survival function is the density times the continued fraction of Laplace for Mills' ratio (Abramowitz and
//! Stegun, "Handbook of Mathematical Functions", 1964, 26.2.11 and 26.2.14). The quantile is the inverse error function,
//! corrected by one step of Halley's method.

use std::f64::consts::{SQRT_2, TAU};

use statrs::function::erf::erfc_inv;

/// From here on the continued fraction replaces the series, which loses precision in the tail.
const TAIL: f64 = 1.5;

/// Terms of the continued fraction: at [`TAIL`], where it converges slowest, half of them are enough.
const TERMS: u32 = 150;

/// Beyond this the density is zero as a double.
const LAST: f64 = 40.0;

pub fn cdf(z: f64) -> f64 {
    sf(-z)
}

/// The survival function, to thirteen digits even where it is tiny.
pub fn sf(z: f64) -> f64 {
    if z >= TAIL {
        density(z) * mills_ratio(z)
    } else if z > -TAIL {
        0.5 - from_zero(z)
    } else {
        1.0 - density(z) * mills_ratio(-z)
    }
}

/// `None` unless `p` lies between 0 and 1, both excluded.
pub fn quantile(p: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    // In the upper half `1 - p` is exact; the lower half is its mirror.
    let (share, sign) = if p > 0.5 { (1.0 - p, 1.0) } else { (p, -1.0) };
    let z = SQRT_2 * erfc_inv(2.0 * share);
    let density = density(z);
    if density == 0.0 {
        return Some(sign * z);
    }
    let step = (sf(z) - share) / density;
    Some(sign * (z + step / (1.0 + z * step / 2.0)))
}

/// Wilson's interval of a share, which is meaningful even where no trial or every trial succeeded.
///
/// With `k` successes of `n` trials it is `(k + z²/2 ± z sqrt(k (n - k) / n + z²/4)) / (n + z²)` (Wilson, "Probable inference,
/// the law of succession, and statistical inference", Journal of the American Statistical Association 22, 1927; recommended
/// by Brown, Cai and DasGupta, "Interval estimation for a binomial proportion", Statistical Science 16, 2001).
///
/// `None` without trials, with more successes than trials, and unless `confidence` lies between 0 and 1.
pub fn share_interval(successes: usize, trials: usize, confidence: f64) -> Option<(f64, f64)> {
    if trials == 0 || successes > trials {
        return None;
    }
    let z = quantile(0.5 + confidence / 2.0).filter(|z| z.is_finite() && *z > 0.0)?;
    let (k, n, squared) = (successes as f64, trials as f64, z * z);
    let half = z * (k * (n - k) / n + squared / 4.0).sqrt();
    let end = |sign: f64| ((k + squared / 2.0 + sign * half) / (n + squared)).clamp(0.0, 1.0);
    // These ends are exact, despite rounding.
    let low = if successes == 0 { 0.0 } else { end(-1.0) };
    let high = if successes == trials { 1.0 } else { end(1.0) };
    Some((low, high))
}

/// The density at `z`, with the square of `z` to twice the precision.
fn density(z: f64) -> f64 {
    if z.abs() > LAST {
        return 0.0;
    }
    let square = z * z;
    let rest = z.mul_add(z, -square);
    (-0.5 * square).exp() * (-0.5 * rest).exp() / TAU.sqrt()
}

/// The chance of a value between zero and `z`, negative below zero; for `z` within [`TAIL`] of zero.
pub(super) fn from_zero(z: f64) -> f64 {
    let square = z * z;
    let (mut term, mut sum, mut odd) = (z, z, 1.0);
    while term.abs() > f64::EPSILON * sum.abs() / 4.0 {
        odd += 2.0;
        term *= square / odd;
        sum += term;
    }
    density(z) * sum
}

/// The survival function over the density, for `z` from [`TAIL`] on.
fn mills_ratio(z: f64) -> f64 {
    (1..=TERMS).rev().fold(z, |below, term| z + f64::from(term) / below).recip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_intervals() {
        // Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, 1998, table I.3.
        let check = |successes: usize, trials: usize, expected: (f64, f64)| {
            let (low, high) = share_interval(successes, trials, 0.95).expect("there are trials");
            assert!((low - expected.0).abs() < 5e-5 && (high - expected.1).abs() < 5e-5, "{low} {high}");
        };
        check(81, 263, (0.2553, 0.3662));
        check(15, 148, (0.0624, 0.1605));
        check(0, 20, (0.0, 0.1611));
        check(1, 29, (0.0061, 0.1718));
        check(20, 20, (0.8389, 1.0));
        assert_eq!(share_interval(0, 0, 0.95), None);
        assert_eq!(share_interval(3, 2, 0.95), None);
        assert_eq!(share_interval(1, 2, 1.0), None);
        assert_eq!(share_interval(1, 2, f64::NAN), None);
    }
}
