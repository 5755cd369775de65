//! Canonical JSON: the one text of a value that digests are taken of.
//!
//! No white space, keys sorted by code point at every level, ASCII only (`\uXXXX` in lower case, astral
//! characters as surrogate pairs), integers in decimal, floats as the shortest text that reads back to the
//! same bits: positional for decimal exponents from -4 to 15, else with an exponent of at least two digits.
//! This is the text that Python's `json.dumps(value, sort_keys=True, separators=(",", ":"))` gives, so that
//! others can re-check our digests without our code. NaN and infinities have no JSON text and cannot occur:
//! `serde_json` numbers are finite.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Number, Value};

/// The canonical text of `value`.
///
/// ```
/// let value = serde_json::json!({"b": 1e-5, "a": [1, true, "\u{e9}"]});
/// assert_eq!(sprag::model::canonical::to_string(&value), r#"{"a":[1,true,"\u00e9"],"b":1e-05}"#);
/// ```
pub fn to_string(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

/// The same value for people to read: sorted keys, escapes and floats as in the canonical text, two spaces a level, and
/// a line feed at the end. This is the text that Python's `json.dumps(value, sort_keys=True, indent=2)` gives, and a
/// line feed.
pub fn to_pretty(value: &Value) -> String {
    let mut text = String::new();
    write_pretty(&mut text, value, 0, Keys::Sorted);
    text.push('\n');
    text
}

/// As [`to_pretty`], with the keys in the order of the value and no line feed at the end. This is the text that Python's
/// `json.dumps(value, indent=2)` gives.
pub fn to_indented(value: &Value) -> String {
    let mut text = String::new();
    write_pretty(&mut text, value, 0, Keys::AsGiven);
    text
}

/// The canonical text of a map of strings.
pub fn string_map(map: &BTreeMap<String, String>) -> String {
    let object = map.iter().map(|(key, value)| (key.clone(), Value::String(value.clone()))).collect();
    to_string(&Value::Object(object))
}

/// A finite float as canonical JSON writes it.
pub fn float_text(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0.0".to_owned() } else { "0.0".to_owned() };
    }
    let shortest = format!("{value:e}");
    let (mantissa, exponent) = shortest.split_once('e').expect("`{:e}` always writes an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent of `{:e}` is a small integer");
    if (-4..16).contains(&exponent) {
        let positional = format!("{value}");
        return if positional.contains('.') { positional } else { format!("{positional}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(number) => write_number(text, number),
        Value::String(string) => write_string(text, string),
        Value::Array(items) => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                write_value(text, item);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            // Sorting by the bytes of UTF-8 is sorting by code point.
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_unstable_by(|a, b| a.0.cmp(b.0));
            text.push('{');
            for (position, (key, item)) in sorted.into_iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                write_string(text, key);
                text.push(':');
                write_value(text, item);
            }
            text.push('}');
        }
    }
}

/// In which order the fields of an object are written.
#[derive(Clone, Copy, PartialEq)]
enum Keys {
    Sorted,
    AsGiven,
}

fn write_pretty(text: &mut String, value: &Value, level: usize, keys: Keys) {
    let line = |text: &mut String, place: usize, level: usize| {
        text.push_str(if place > 0 { ",\n" } else { "\n" });
        text.push_str(&"  ".repeat(level));
    };
    match value {
        Value::Array(items) if !items.is_empty() => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                line(text, place, level + 1);
                write_pretty(text, item, level + 1, keys);
            }
            line(text, 0, level);
            text.push(']');
        }
        Value::Object(fields) if !fields.is_empty() => {
            let mut ordered: Vec<(&String, &Value)> = fields.iter().collect();
            if keys == Keys::Sorted {
                ordered.sort_unstable_by(|a, b| a.0.cmp(b.0));
            }
            text.push('{');
            for (place, (key, item)) in ordered.into_iter().enumerate() {
                line(text, place, level + 1);
                write_string(text, key);
                text.push_str(": ");
                write_pretty(text, item, level + 1, keys);
            }
            line(text, 0, level);
            text.push('}');
        }
        single => write_value(text, single),
    }
}

fn write_number(text: &mut String, number: &Number) {
    match number.as_f64() {
        Some(float) if number.is_f64() => text.push_str(&float_text(float)),
        _ => text.push_str(&number.to_string()),
    }
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            ' '..='~' => text.push(character),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    write!(text, "\\u{unit:04x}").expect("writing to a String cannot fail");
                }
            }
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn floats_read_as_python_writes_them() {
        let check = |value: f64, expected: &str| assert_eq!(float_text(value), expected);
        check(0.0, "0.0");
        check(-0.0, "-0.0");
        check(1.0, "1.0");
        check(0.1, "0.1");
        check(1e15, "1000000000000000.0");
        check(1e16, "1e+16");
        check(0.0001, "0.0001");
        check(0.00001, "1e-05");
        check(1.5e-7, "1.5e-07");
        check(5e-324, "5e-324");
        check(1.7976931348623157e308, "1.7976931348623157e+308");
        check(123456.789, "123456.789");
    }

    #[test]
    fn keys_are_sorted_and_text_is_ascii() {
        let value = json!({"b": [1, 2.0, null, true], "a": "é\u{1F600}\"\\/\n\u{7f}", "": {}});
        assert_eq!(to_string(&value), r#"{"":{},"a":"\u00e9\ud83d\ude00\"\\/\n\u007f","b":[1,2.0,null,true]}"#);
    }

    #[test]
    fn the_text_for_people_is_that_of_the_seed() {
        let golden = include_str!("../../fixtures/golden/apex-x/perf_compare.json");
        let golden: Value = serde_json::from_str(golden).expect("the golden cases are JSON");
        let mut seen = 0;
        for case in golden["cases"].as_array().expect("there are cases") {
            for name in ["summary_json_text", "trend_json_text"] {
                let Some(text) = case["expected"][name].as_str() else { continue };
                // A few hold NaN, which no strict reader takes.
                let Ok(value) = serde_json::from_str(text) else { continue };
                assert_eq!(to_pretty(&value), text, "{}", case["name"]);
                seen += 1;
            }
        }
        assert!(seen > 20, "only {seen} texts were compared");
        let value = serde_json::json!({"b": [], "a": {}});
        assert_eq!(to_pretty(&value), "{\n  \"a\": {},\n  \"b\": []\n}\n");
        assert_eq!(to_indented(&value), "{\n  \"b\": [],\n  \"a\": {}\n}");
    }

    proptest::proptest! {
        #[test]
        fn every_finite_float_reads_back_to_the_same_bits(bits in proptest::num::u64::ANY) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                let back: f64 = float_text(value).parse().expect("canonical floats parse");
                proptest::prop_assert_eq!(back.to_bits(), value.to_bits());
            }
        }
    }
}
