//! Canonical JSON: the one text of a value that digests are taken of.
//!
//! No white space, keys sorted by code point at every level, ASCII only (`\uXXXX` in lower case, astral
//! characters as surrogate pairs), integers in decimal, floats as the shortest text that reads back to the
//! same bits: positional for decimal exponents from -4 to 15, else with an exponent of at least two digits.
//! This is the text that Python's `json.dumps(value, sort_keys=True, separators=(",", ":"))` gives, so that
//! others can re-check our digests without our code. NaN and infinities have no JSON text and cannot occur:
//! `serde_json` numbers are finite.

mod writer;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use self::writer::Writer;

/// The canonical text of `value`.
///
/// ```
/// let value = serde_json::json!({"b": 1e-5, "a": [1, true, "\u{e9}"]});
/// assert_eq!(sprag_model::canonical::to_string(&value), r#"{"a":[1,true,"\u00e9"],"b":1e-05}"#);
/// ```
pub fn to_string<T: Serialize>(value: &T) -> String {
    let mut writer = Writer::default();
    value.serialize(&mut writer).expect("our values are made of objects, lists, texts, numbers and flags");
    writer.text
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
    let mut text = String::new();
    write_float(&mut text, value);
    text
}

fn write_float(text: &mut String, value: f64) {
    if value == 0.0 {
        return text.push_str(if value.is_sign_negative() { "-0.0" } else { "0.0" });
    }
    // The digits of `serde_json`, which are several times as quick as those of `{:e}`.
    let mut written = [0; 32];
    let mut rest = &mut written[..];
    serde_json::to_writer(&mut rest, &value).expect("the shortest text of a float has at most 25 bytes");
    let unused = rest.len();
    let written = &written[..written.len() - unused];
    let written = std::str::from_utf8(written).expect("a number is ASCII");
    let (sign, shortest) = written.strip_prefix('-').map_or(("", written), |shortest| ("-", shortest));
    text.push_str(sign);
    let (mantissa, power) = shortest.split_once(['e', 'E']).unwrap_or((shortest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // Where it puts the point is its own affair, but mostly the same as here.
    let is_positional = mantissa.len() == shortest.len() && !fraction.is_empty();
    if is_positional && whole.len() <= 16 && !mantissa.starts_with("0.0000") {
        return text.push_str(shortest);
    }
    let power: i32 = power.parse().expect("the exponent of a float is a small integer");
    let mut digits = [0; 32];
    let mut count = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        digits[count] = byte;
        count += 1;
    }
    let zeros = digits[..count].iter().take_while(|&&digit| digit == b'0').count();
    let trailing = digits[..count].iter().rev().take_while(|&&digit| digit == b'0').count();
    let digits = std::str::from_utf8(&digits[zeros..count - trailing]).expect("digits are ASCII");
    write_digits(text, digits, power + whole.len() as i32 - 1 - zeros as i32);
}

/// Writes a number of these digits, the point behind the first of them, times a power of ten.
fn write_digits(text: &mut String, digits: &str, exponent: i32) {
    let zeros = |text: &mut String, count: usize| text.push_str(&"0000000000000000"[..count]);
    let places = exponent.unsigned_abs() as usize;
    match exponent {
        -4..=-1 => {
            text.push_str("0.");
            zeros(text, places - 1);
            text.push_str(digits);
        }
        0..=15 => {
            let (whole, after) = digits.split_at((places + 1).min(digits.len()));
            text.push_str(whole);
            zeros(text, places + 1 - whole.len());
            text.push('.');
            text.push_str(if after.is_empty() { "0" } else { after });
        }
        _ => {
            text.push_str(&digits[..1]);
            if digits.len() > 1 {
                text.push('.');
                text.push_str(&digits[1..]);
            }
            text.push_str(if exponent < 0 { "e-" } else { "e+" });
            for (place, unit) in [100, 10, 1].into_iter().enumerate() {
                if place > 0 || places >= unit {
                    text.push(char::from(b"0123456789"[places / unit % 10]));
                }
            }
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
        single => text.push_str(&to_string(single)),
    }
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    // Most texts need no escape.
    if string.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        text.push_str(string);
        return text.push('"');
    }
    let mut rest = string;
    while let Some(plain) = rest.find(|c: char| !matches!(c, ' '..='~') || matches!(c, '"' | '\\')) {
        text.push_str(&rest[..plain]);
        let character = rest[plain..].chars().next().expect("one was found there");
        rest = &rest[plain + character.len_utf8()..];
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    text.push_str(rest);
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
        // Two texts are as short and as near; the one with the even digit counts.
        check(5_884_456_279_293_289.0 / 4.0, "1471114069823322.2");
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

    /// As [`float_text`], by another way.
    fn plain_float_text(value: f64) -> String {
        let shortest = format!("{value:e}");
        let (mantissa, exponent) = shortest.split_once('e').expect("`{:e}` always writes an exponent");
        let exponent: i32 = exponent.parse().expect("the exponent of `{:e}` is a small integer");
        if value == 0.0 || (-4..16).contains(&exponent) {
            let positional = format!("{value}");
            return if positional.contains('.') { positional } else { format!("{positional}.0") };
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
    }

    #[test]
    fn fields_are_sorted_whatever_order_they_come_in() {
        #[derive(serde::Serialize)]
        struct Mixed {
            z: Option<u8>,
            b: BTreeMap<String, (f64, bool)>,
            a: Vec<Value>,
        }
        let b = BTreeMap::from([("é".to_owned(), (1.0, true)), ("\"".to_owned(), (f64::NAN, false))]);
        let mixed = Mixed { z: None, b, a: vec![json!({"d": -1, "c": {}}), json!([])] };
        let expected = r#"{"a":[{"c":{},"d":-1},[]],"b":{"\"":[null,false],"\u00e9":[1.0,true]},"z":null}"#;
        assert_eq!(to_string(&mixed), expected);
        assert_eq!(to_string(&serde_json::to_value(&mixed).expect("it is JSON")), expected);
    }

    proptest::proptest! {
        #[test]
        fn a_float_has_one_text(value in proptest::num::f64::ANY, places in 0..22_i32) {
            for value in [value, (value % 1e9).round() / 10_f64.powi(places), (value % 1e9).round() * 10_f64.powi(places)] {
                if value.is_finite() {
                    let (text, plain) = (float_text(value), plain_float_text(value));
                    // Where two texts are as short and as near, the standard library takes another one.
                    let is_tie = text.len() == plain.len() && text.parse() == Ok(value);
                    proptest::prop_assert!(text == plain || is_tie, "{} {}", text, plain);
                }
            }
        }

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
