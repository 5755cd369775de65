//! Numbers with as many digits as count, and as whole ones.

/// The significant digits of what was fitted, one more than pages show, as more is computed from it.
const DIGITS: i32 = 5;

/// Those of a value that was measured, which is only shown.
const SHOWN: i32 = 4;

/// The most digits of a whole number, so that every language holds it exactly.
const MOST_DIGITS: i32 = 15;

/// What was fitted, with as many digits as count.
pub(crate) fn rounded(value: f64) -> f64 {
    rounded_to(value, DIGITS)
}

/// What was measured, with as many digits as are shown.
pub(super) fn measured(value: f64) -> f64 {
    rounded_to(value, SHOWN)
}

fn rounded_to(value: f64, digits: i32) -> f64 {
    let slowly = || format!("{value:.decimals$e}", decimals = digits as usize - 1).parse().unwrap_or(value);
    quickly_rounded(value, digits).unwrap_or_else(slowly)
}

/// The same where plain arithmetic is sure of it: a whole number times or over a power of ten that is exact is rounded once, as
/// a text is that is read. None near a tie, and where the power is too large.
fn quickly_rounded(value: f64, digits: i32) -> Option<f64> {
    if !value.is_normal() {
        return None;
    }
    let power = |places: i32| EXACT.get(places.unsigned_abs() as usize).copied();
    let scaled = |places: i32| Some(if places < 0 { value / power(places)? } else { value * power(places)? });
    // The logarithm to base ten by that to base two, which may be one too small.
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let near = digits - 1 - ((exponent * 1233) >> 12);
    let (least, most) = (power(digits - 1)?, power(digits)?);
    let places = if scaled(near)?.abs() < most { near } else { near - 1 };
    let scaled = scaled(places)?;
    let sure = (least..most).contains(&scaled.abs());
    let from_tie = (scaled.abs().fract() - 0.5).abs();
    let power = power(places)?;
    (sure && from_tie > 1e-6).then(|| if places < 0 { scaled.round() * power } else { scaled.round() / power })
}

/// The powers of ten that are exact.
const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Measured numbers as whole ones times a common power of ten, which is the first of the two.
pub(super) fn scaled(values: &[f64]) -> (i32, Vec<i64>) {
    scaled_to(values, SHOWN)
}

/// The same with as many digits as what was fitted has: what is drawn from them may be looked at closely.
pub(crate) fn finely_scaled(values: &[f64]) -> (i32, Vec<i64>) {
    scaled_to(values, DIGITS)
}

fn scaled_to(values: &[f64], digits: i32) -> (i32, Vec<i64>) {
    let sizes = || values.iter().map(|value| value.abs()).filter(|size| *size > 0.0);
    let magnitude = |size: f64| size.log10().floor() as i32;
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    if most == 0.0 {
        return (0, vec![0; values.len()]);
    }
    let power = (magnitude(least) - digits + 1).max(magnitude(most) - MOST_DIGITS + 1);
    let unit = 10f64.powi(power);
    (power, values.iter().map(|value| (value / unit).round() as i64).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_rounding_is_rounding() {
        let mut random = sprag_base::stats::random::SplitMix64::new(7);
        let mut quick = 0;
        for at in 0..200_000 {
            let size = 10f64.powf(60.0 * random.uniform() - 30.0);
            let value = match at % 4 {
                0 => size,
                1 => -size,
                2 => (random.uniform() * 1e6).round() / 10.0 * 10f64.powi(at % 7 - 3),
                _ => 10f64.powi(at % 40 - 20) * (1.0 + random.uniform() * 1e-14),
            };
            let digits = if at % 3 == 0 { DIGITS } else { SHOWN };
            let slow: f64 = format!("{value:.decimals$e}", decimals = digits as usize - 1).parse().unwrap();
            let fast = quickly_rounded(value, digits);
            assert!(fast.is_none_or(|fast| fast.to_bits() == slow.to_bits()), "{value:e}: {fast:?}, {slow:e}");
            quick += usize::from(fast.is_some());
        }
        assert!(quick > 100_000, "{quick}");
        for odd in [0.0, -0.0, f64::NAN, f64::INFINITY] {
            assert_eq!(quickly_rounded(odd, DIGITS), None);
        }
    }
}
