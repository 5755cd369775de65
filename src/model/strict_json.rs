//! JSON of which no object has a key twice: of two values under one key, readers would take different ones. And JSON
//! that does not fill the memory: a value of two bytes takes some seventy once it is read.

use std::cell::Cell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The most values that one text may hold, objects and lists included: several times what the largest known history
/// of any tool has, and about a gigabyte once they are read.
pub const MOST_VALUES: usize = 1 << 22;

/// Reads one JSON value of which no object has a key twice, that has no more than [`MOST_VALUES`], and that nests no
/// deeper than serde_json allows.
///
/// # Errors
/// When it is no JSON, has a key twice or too many values; the line and column are told.
pub fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes).map(|Strict(value)| value)
}

/// Checks that a text, which need not be JSON, holds no more than [`MOST_VALUES`]: before it is read otherwise.
///
/// # Errors
/// When it holds more; the line is told.
pub fn check_size(bytes: &[u8]) -> Result<(), serde_json::Error> {
    match overflow(bytes, MOST_VALUES) {
        Some(line) => Err(serde_json::Error::custom(format!("more than {MOST_VALUES} values by line {line}"))),
        None => Ok(()),
    }
}

/// The line of the first whole number that neither an `i64` nor a `u64` holds, if there is one: whoever reads it as a float
/// has another number. The text need not be JSON.
pub fn long_integer(bytes: &[u8]) -> Option<usize> {
    let (mut line, mut place) = (1, 0);
    while let Some(byte) = bytes.get(place) {
        match byte {
            b'\n' => line += 1,
            b'"' => {
                // To the end of the string.
                place += 1;
                while let Some(byte) = bytes.get(place).filter(|byte| **byte != b'"') {
                    line += usize::from(*byte == b'\n');
                    place += if *byte == b'\\' { 2 } else { 1 };
                }
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let length = bytes[place..].iter().take_while(is_part).count();
                let token = std::str::from_utf8(&bytes[place..place + length]).unwrap_or_default();
                let is_whole = !token.contains(['.', 'e', 'E']);
                if is_whole && length > 18 && token.parse::<i64>().is_err() && token.parse::<u64>().is_err() {
                    return Some(line);
                }
                place += length - 1;
            }
            _ => {}
        }
        place += 1;
    }
    None
}

/// The line on which a text comes to hold more than `most` values, if it does.
fn overflow(bytes: &[u8], most: usize) -> Option<usize> {
    // What begins a list or an object, or parts two values of one, begins a value at most.
    let begins = |byte: &u8| matches!(byte, b',' | b'[' | b'{');
    if bytes.len() < most || bytes.iter().filter(|byte| begins(byte)).count() < most {
        return None;
    }
    // That may have been text in quotes.
    let (mut values, mut line) = (1, 1);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for byte in bytes {
        match byte {
            b'\n' => line += 1,
            b'"' if !is_escaped => is_quoted = !is_quoted,
            byte if !is_quoted && begins(byte) => values += 1,
            _ => {}
        }
        is_escaped = is_quoted && *byte == b'\\' && !is_escaped;
        if values > most {
            return Some(line);
        }
    }
    None
}

/// A value of which no object has a key twice, and that has no more than [`MOST_VALUES`].
#[derive(Clone, Debug, PartialEq)]
pub struct Strict(pub Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        Seed { left: &Cell::new(MOST_VALUES) }.deserialize(deserializer).map(Strict)
    }
}

#[derive(Clone, Copy)]
struct Seed<'a> {
    /// How many values may still come.
    left: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.ok_or_else(|| D::Error::custom(format!("more than {MOST_VALUES} values")))?);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{}` stands twice in one object", key.escape_debug())));
            }
            object.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_very_many_values_is_refused_with_its_line() {
        let check = |text: &str, expected: Option<usize>| assert_eq!(overflow(text.as_bytes(), 4), expected, "{text}");
        check("[1,\n2,3]", None);
        check("[1,\n2,3,\n4]", Some(2));
        check("[1,\n2,\n{\"a\": []}]", Some(3));
        check(r#"["1,2,3,4,5,[,{", "\\"]"#, None);
        check(r#"["\",,,,,", 1]"#, None);
        check("1,2,3,4,5", Some(1));
        let many = format!("[\n{}0]", "0,".repeat(MOST_VALUES));
        let check = |found: Result<(), serde_json::Error>, words: &str| {
            let error = found.expect_err("it is refused").to_string();
            assert!(error.starts_with(words), "{error}");
        };
        check(check_size(many.as_bytes()), "more than 4194304 values by line 2");
        check(parse(many.as_bytes()).map(drop), "more than 4194304 values at line 2");
    }

    #[test]
    fn a_whole_number_beyond_64_bits_is_found() {
        let check = |text: &str, expected: Option<usize>| {
            assert_eq!(long_integer(text.as_bytes()), expected, "{text}");
        };
        check("[18446744073709551615, -9223372036854775808, 1e400, 123456789012345678901.0]", None);
        check("[1,\n\"\n99999999999999999999\", \"\\\"\", 18446744073709551616]", Some(3));
        check("-9223372036854775809", Some(1));
        check("\"99999999999999999999", None);
    }

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        let check = |text: &str, fine: bool| assert_eq!(parse(text.as_bytes()).is_ok(), fine, "{text}");
        check(r#"{"a": {"b": 1}, "b": [{"a": 1}, {"a": 2}]}"#, true);
        check(r#"{"a": {"b": 1, "b": 1}}"#, false);
        check(r#"{"a": 1, "\u0061": 1}"#, false);
    }
}
