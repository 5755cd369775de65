//! The logistic function by a polynomial, in single precision and without a call, so that it runs in vectors.
//!
//! `e^x = 2^n e^r` with `n = round(x / ln 2)` and `r = x - n ln 2`, where `ln 2` is taken in two parts so that `r` is
//! exact; `e^r` on `[-ln(2)/2, ln(2)/2]` is the polynomial of S. Moshier's Cephes library (`expf`), whose relative
//! error is below 2e-7. `x` is kept within what a normal `2^n` can scale; NaN stays NaN.

/// Beyond this, `1 / (1 + e^x)` is 0 or 1 to 1e-37.
const LIMIT: f32 = 87.0;

/// Adding it to a small number leaves the nearest integer in the low bits of the sum: 1.5 * 2^23.
const ROUNDING: f32 = 12_582_912.0;

/// ln 2 in two parts, the first with few digits.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// From the highest power to the square.
const POLYNOMIAL: [f32; 6] = [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];

/// Bits of a fraction and the offset of an exponent in binary32.
const FRACTION_BITS: u32 = 23;
const EXPONENT_OFFSET: u32 = 127;

/// `1 / (1 + e^-z)` to about 2e-7.
#[inline(always)]
pub(super) fn logistic(z: f32) -> f32 {
    1.0 / (1.0 + exponential(-z))
}

/// `e^x` for `x` within the limit, else at the limit.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    let x = if x > LIMIT { LIMIT } else { x };
    let x = if x < -LIMIT { -LIMIT } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUNDING;
    let n = shifted - ROUNDING;
    let r = x - n * LN_2[0] - n * LN_2[1];
    let polynomial = POLYNOMIAL[1..].iter().fold(POLYNOMIAL[0], |sum, factor| sum * r + factor);
    let scale = f32::from_bits(shifted.to_bits().wrapping_add(EXPONENT_OFFSET) << FRACTION_BITS);
    (polynomial * (r * r) + r + 1.0) * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_near_that_of_double_precision() {
        let check = |x: f32| {
            let expected = f64::from(x).exp();
            let error = (f64::from(exponential(x)) - expected).abs() / expected;
            assert!(error < 2e-7, "e^{x} is off by {error:e}");
        };
        for step in -8700..=8700i16 {
            check(f32::from(step) * 0.01);
        }
        [0.0, -0.0, 1e-30, 0.346_573_6, -0.346_573_6].into_iter().for_each(check);
    }

    #[test]
    fn the_logistic_saturates_and_keeps_nan() {
        assert_eq!(logistic(0.0), 0.5);
        assert_eq!(logistic(f32::INFINITY), 1.0);
        assert!(logistic(f32::NEG_INFINITY) < 1e-37 && logistic(-1e30) >= 0.0);
        assert!(logistic(f32::NAN).is_nan());
    }
}
