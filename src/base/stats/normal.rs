//! The standard normal distribution.
//!
//! Near the middle the distribution function is a half plus the density times a series of positive terms, and further
//! out the survival function is the density times the continued fraction of Laplace for Mills' ratio (Abramowitz and
//! Stegun, "Handbook of Mathematical Functions", 1964, 26.2.11 and 26.2.14): what lies far out in the tail keeps as many
//! digits as what lies near the middle. The quantile is the inverse error function, corrected by one step of Halley's
//! method.

use std::f64::consts::{SQRT_2, TAU};

use statrs::function::erf::erfc_inv;

/// From here on the continued fraction takes the place of the series, which loses digits as the tail gets small.
const TAIL: f64 = 1.5;

/// Terms of the continued fraction: at [`TAIL`], where it converges slowest, half of them reach the last bit.
const TERMS: u32 = 150;

/// Beyond this the density is less than the least number.
const LAST: f64 = 40.0;

/// The chance of a value of at most `z`; an infinite `z` gives 0 or 1.
pub fn cdf(z: f64) -> f64 {
    sf(-z)
}

/// The chance of a value above `z`, to thirteen digits down to the least number; an infinite `z` gives 1 or 0.
pub fn sf(z: f64) -> f64 {
    if z >= TAIL {
        density(z) * mills_ratio(z)
    } else if z > -TAIL {
        0.5 - from_zero(z)
    } else {
        1.0 - density(z) * mills_ratio(-z)
    }
}

/// The value that a share `p` of the distribution lies below; `None` unless `p` lies between 0 and 1, both excluded.
pub fn quantile(p: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    // In the upper half `1 - p` is exact, and the lower half has the same values with the other sign.
    let (share, sign) = if p > 0.5 { (1.0 - p, 1.0) } else { (p, -1.0) };
    let z = SQRT_2 * erfc_inv(2.0 * share);
    let density = density(z);
    if density == 0.0 {
        return Some(sign * z);
    }
    let step = (sf(z) - share) / density;
    Some(sign * (z + step / (1.0 + z * step / 2.0)))
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

/// What the survival function is of the density, for `z` from [`TAIL`] on.
fn mills_ratio(z: f64) -> f64 {
    (1..=TERMS).rev().fold(z, |below, term| z + f64::from(term) / below).recip()
}
