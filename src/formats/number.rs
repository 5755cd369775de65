//! Numbers that JSON cannot hold and programs print nevertheless, and which numbers a unit can have.

use crate::model::metric::{Metric, RATIO};
use crate::model::unit::Unit;

/// `text` with every number that is not finite, such as `NaN`, `-inf` or `1e999`, put in quotes, so that one such number
/// does not make the whole unreadable. Text in quotes stays as it is, and so does what is no number.
pub(super) fn quote_not_finite(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            c if is_part(c) => rest.find(|c: char| !is_part(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        if token.parse::<f64>().is_ok_and(|number| !number.is_finite()) {
            quoted.extend(["\"", token, "\""]);
        } else {
            quoted.push_str(token);
        }
        rest = after;
    }
    quoted
}

/// Whether a number, or a word such as `true`, may hold the character.
fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')
}

/// The length of the JSON string that `text` begins with, quotes included; all of it where the string does not end.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().enumerate().skip(1).find(|(_, byte)| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(index, _)| index + 1)
}

/// The largest magnitude that is taken, and the inverse of the smallest time or rate: no machine comes near it, and
/// medians, spreads and ratios of numbers within it are finite.
pub(super) const LARGEST: f64 = 1e30;

/// Why the metric cannot have the value, if it cannot.
pub(super) fn fault(metric: &Metric, value: f64) -> Option<String> {
    let unit = metric.unit;
    let is_ratio = metric.name == RATIO;
    match unit {
        _ if !value.is_finite() => Some(format!("{value}, which is no number")),
        _ if value.abs() > LARGEST => Some(format!("{value:e} {unit}, which is beyond {LARGEST:e}")),
        Unit::Second | Unit::PerSecond if value <= 0.0 => {
            Some(format!("{value} {unit}, where more than zero is needed"))
        }
        Unit::One if is_ratio && value <= 0.0 => Some(format!("{value}, where more than zero is needed")),
        Unit::Second | Unit::PerSecond if value < 1.0 / LARGEST => {
            Some(format!("{value:e} {unit}, which is too little"))
        }
        Unit::Byte if value < 0.0 => Some(format!("{value} {unit}, where zero or more is needed")),
        Unit::Second | Unit::PerSecond | Unit::Byte | Unit::One => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::metric::Better;

    #[test]
    fn numbers_that_json_lacks_are_quoted_outside_of_strings() {
        let check = |text: &str, expected: &str| assert_eq!(quote_not_finite(text), expected);
        check(r#"{"a": NaN, "b": -Infinity}"#, r#"{"a": "NaN", "b": "-Infinity"}"#);
        check("[nan,-nan,inf,+inf,1e999]", r#"["nan","-nan","inf","+inf","1e999"]"#);
        check(r#"["NaN", "a \" NaN", "\\", NaN]"#, r#"["NaN", "a \" NaN", "\\", "NaN"]"#);
        check("[1.5e-3, -2, true, null, nanometer, é]", "[1.5e-3, -2, true, null, nanometer, é]");
        check("\"does not end NaN", "\"does not end NaN");
        check("", "");
    }

    #[test]
    fn a_unit_decides_which_numbers_can_be() {
        let check = |unit: Unit, value: f64, fine: bool| {
            let metric = Metric { name: "m".to_owned(), unit, better: Better::Lower };
            assert_eq!(fault(&metric, value).is_none(), fine, "{value} {unit}");
        };
        check(Unit::Second, 1e-9, true);
        check(Unit::Second, 0.0, false);
        check(Unit::Second, -1.0, false);
        check(Unit::Second, 1e-31, false);
        check(Unit::PerSecond, 0.0, false);
        check(Unit::Byte, 0.0, true);
        check(Unit::Byte, -1.0, false);
        check(Unit::One, -1.0, true);
        check(Unit::One, 1e31, false);
        check(Unit::One, f64::NAN, false);
        check(Unit::One, f64::INFINITY, false);
        assert!(fault(&Metric::ratio(), 0.0).is_some());
    }
}
