//! Numbers rounded to significant digits, and as integers.

use serde_json::{Value, json};

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
    packed_in(power(values.iter().flatten().copied(), DIGITS), values)
}

/// The same for a chart: four digits suffice where the values lie a thousand units or more apart.
pub(crate) fn packed_line(values: &[Option<f64>]) -> (i32, String) {
    packed_in(power_of_line(values.iter().flatten().copied()), values)
}

fn power_of_line(values: impl Iterator<Item = f64> + Clone) -> i32 {
    let (least, most) =
        (values.clone().fold(f64::INFINITY, f64::min), values.clone().fold(f64::NEG_INFINITY, f64::max));
    let drawn = if most > least { magnitude(most - least) - 3 } else { i32::MIN };
    power(values.clone(), SHOWN).min(drawn).max(power(values, DIGITS))
}

/// The values of a chart with the ends of their spreads: a power of ten, the values in units of it, the units of a step, and how
/// many steps the spreads reach down and up, each packed.
pub(crate) fn packed_spreads(values: &[(f64, Option<(f64, f64)>)]) -> Value {
    let power = power_of_line(values.iter().map(|one| one.0));
    let reaches = || values.iter().map(|(value, ends)| ends.map(|(low, high)| [value - low, high - value]));
    let step = spread_step(reaches().flatten().flatten().map(|reach| in_units(reach, power)));
    let steps = |side: usize| {
        let steps = move |reach: [f64; 2]| (in_units(reach[side], power) as f64 / step as f64).round() as i64;
        packed(reaches().map(move |reach| reach.map(steps)))
    };
    let medians = packed(values.iter().map(|one| Some(in_units(one.0, power))));
    json!([power, medians, step, steps(0), steps(1)])
}

fn packed_in(power: i32, values: &[Option<f64>]) -> (i32, String) {
    (power, packed(values.iter().map(|value| value.map(|value| in_units(value, power)))))
}

/// The power of ten in units of which the measured numbers are integers.
pub(super) fn power_as_shown(values: impl Iterator<Item = f64> + Clone) -> i32 {
    power(values, SHOWN)
}

/// The step, of 1, 2, 5, 10, 20 and so on, that the usual one of these reaches holds eight times or more; else 1.
pub(super) fn spread_step(reaches: impl Iterator<Item = i64>) -> i64 {
    let mut reaches: Vec<i64> = reaches.filter(|reach| *reach > 0).collect();
    reaches.sort_unstable();
    let most = reaches.get(reaches.len() / 2).map_or(1, |usual| usual / 8);
    let decade = 10i64.pow(most.max(1).ilog10());
    [5, 2, 1].map(|digit| digit * decade).into_iter().find(|step| *step <= most).unwrap_or(1)
}

/// The integer of a number in units of a power of ten.
pub(super) fn in_units(value: f64, power: i32) -> i64 {
    (value / 10f64.powi(power)).round() as i64
}

/// The number that so many units of a power of ten are read as.
pub(super) fn of_units(integer: i64, power: i32) -> f64 {
    let unit = 10f64.powi(power.abs());
    if power < 0 { integer as f64 / unit } else { integer as f64 * unit }
}

fn magnitude(size: f64) -> i32 {
    size.log10().floor() as i32
}

fn power(values: impl Iterator<Item = f64> + Clone, digits: i32) -> i32 {
    let sizes = || values.clone().map(f64::abs).filter(|size| *size > 0.0);
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    if most == 0.0 { 0 } else { (magnitude(least) - digits + 1).max(magnitude(most) - MOST_DIGITS + 1) }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Integers as text, in the Base64 VLQ of source maps: their middle, and the distance of each, which halves noise; `-` for none.
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
        for (other, power) in [(1.0002, -4), (2.5, -3), (1.0, -4)] {
            assert_eq!(packed_line(&[Some(1.0), None, Some(other)]).0, power, "{other}");
        }
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
        assert_eq!(power_as_shown([1.5e-3, 2e-3, 0.0].into_iter()), -6);
        assert_eq!(power_as_shown([0.0].into_iter()), 0);
        assert_eq!((in_units(1.5e-3, -6), of_units(1500, -6), of_units(15, 2)), (1500, 1.5e-3, 1500.0));
    }

    #[test]
    fn a_spread_has_eight_steps_or_more() {
        for (reaches, step) in
            [(&[][..], 1), (&[0, 3], 1), (&[15], 1), (&[0, 16, 900, 1], 2), (&[39, 40], 5), (&[1700], 200)]
        {
            assert_eq!(spread_step(reaches.iter().copied()), step, "{reaches:?}");
        }
    }
}
