//! Numbers rounded to significant digits, and as integers.

/// The significant digits of fitted values, from which more is computed, and of measured ones, which are only shown.
const DIGITS: i32 = 5;
const SHOWN: i32 = 4;

/// The most digits of an integer that a script holds exactly.
const MOST_DIGITS: i32 = 15;

pub(crate) fn rounded(value: f64) -> f64 {
    rounded_to(value, DIGITS)
}

pub(super) fn rounded_as_shown(value: f64) -> f64 {
    rounded_to(value, SHOWN)
}

fn rounded_to(value: f64, digits: i32) -> f64 {
    if !value.is_normal() {
        return value;
    }
    let places = digits - 1 - value.abs().log10().floor() as i32;
    let power = 10f64.powi(places.abs());
    // An integer over an exact power of ten is the number that its digits are read as.
    if places < 0 { (value / power).round() * power } else { (value * power).round() / power }
}

/// Numbers for the script: a power of ten, and integers in units of it that have five digits or more.
pub(crate) fn packed_values(values: &[Option<f64>]) -> (i32, String) {
    let present: Vec<f64> = values.iter().flatten().copied().collect();
    let (power, scaled) = scaled(&present, DIGITS);
    let mut scaled = scaled.into_iter();
    (power, packed(values.iter().map(|value| value.and_then(|_| scaled.next())).collect::<Vec<_>>().into_iter()))
}

/// A power of ten, and the measured numbers as integers in units of it.
pub(super) fn scaled_as_shown(values: &[f64]) -> (i32, Vec<i64>) {
    scaled(values, SHOWN)
}

fn scaled(values: &[f64], digits: i32) -> (i32, Vec<i64>) {
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

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Integers as text, in the Base64 VLQ of source maps: their middle, and how far each is from it; `-` for none. Digits of noise take
/// half the room of decimal ones.
pub(super) fn packed(values: impl Iterator<Item = Option<i64>> + Clone) -> String {
    let mut sorted: Vec<i64> = values.clone().flatten().collect();
    sorted.sort_unstable();
    let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(0);
    let mut text = String::new();
    push_packed(&mut text, middle);
    for value in values {
        match value {
            Some(value) => push_packed(&mut text, value - middle),
            None => text.push('-'),
        }
    }
    text
}

fn push_packed(text: &mut String, value: i64) {
    let mut rest = value.unsigned_abs() << 1 | u64::from(value < 0);
    while rest >= 32 {
        text.push(char::from(BASE64[(rest % 32 + 32) as usize]));
        rest >>= 5;
    }
    text.push(char::from(BASE64[rest as usize]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_packed_around_their_middle() {
        for (values, expected) in [
            (vec![], "A"),
            (vec![None], "A-"),
            (vec![Some(7484), Some(7485), None, Some(7483)], "4zOAC-D"),
            (vec![Some(0), Some(16), Some(-10_000_000_000_000)], "AAgBhgwquuimS"),
        ] {
            assert_eq!(packed(values.iter().copied()), expected, "{values:?}");
        }
        assert_eq!(packed_values(&[Some(1.0), None, Some(1.0002)]), (-4, "kxTF-A".to_owned()));
    }

    #[test]
    fn numbers_are_rounded_to_the_digits_that_count() {
        for (value, fitted, shown) in [
            (1.234567e-3, 1.2346e-3, 1.235e-3),
            (-123_456.7, -123_460.0, -123_500.0),
            (9.99996, 10.0, 10.0),
            (0.0, 0.0, 0.0),
        ] {
            assert_eq!((rounded(value), rounded_as_shown(value)), (fitted, shown));
        }
        assert!(rounded(f64::NAN).is_nan() && rounded(f64::INFINITY).is_infinite());
        assert_eq!(scaled_as_shown(&[1.5e-3, 2e-3, 0.0]), (-6, vec![1500, 2000, 0]));
        assert_eq!(scaled_as_shown(&[0.0]), (0, vec![0]));
    }
}
