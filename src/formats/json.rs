//! JSON of others, read strictly: no key twice, no nesting without end, nothing that is not UTF-8.

use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

use super::{FormatError, number};
use crate::model::foreign::Output;

/// The text of an output, without the mark of byte order that some programs begin with.
///
/// # Errors
/// When it is empty or not UTF-8; the position is told.
pub(super) fn text(output: &Output) -> Result<&str, FormatError> {
    let text = std::str::from_utf8(&output.bytes).map_err(|error| FormatError::Schema {
        name: output.name.clone(),
        reason: format!("is not UTF-8 at byte {}", error.valid_up_to()),
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() { Err(FormatError::Empty(output.name.clone())) } else { Ok(text) }
}

/// The one JSON value that an output holds. `NaN`, `Infinity` and numbers beyond a double are refused with their line.
///
/// # Errors
/// When it is no JSON, or has a key twice.
pub(super) fn parse(output: &Output) -> Result<Value, FormatError> {
    parse_text(&output.name, text(output)?)
}

/// As [`parse`], where the format writes `NaN` and its like: each such number becomes a string of its spelling.
///
/// # Errors
/// As [`parse`].
pub(super) fn parse_with_not_finite(output: &Output) -> Result<Value, FormatError> {
    parse_text(&output.name, &number::quote_not_finite(text(output)?))
}

/// The JSON value of a text that stands in the output of that name.
///
/// # Errors
/// As [`parse`].
pub(super) fn parse_text(name: &str, text: &str) -> Result<Value, FormatError> {
    let Strict(value) =
        serde_json::from_str(text).map_err(|error| FormatError::Json { name: name.to_owned(), error })?;
    Ok(value)
}

/// A value of which no object has a key twice.
pub(super) struct Strict(pub(super) Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        StrictSeed.deserialize(deserializer).map(Strict)
    }
}

struct StrictSeed;

impl<'de> DeserializeSeed<'de> for StrictSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictSeed {
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
        while let Some(item) = items.next_element_seed(StrictSeed)? {
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
            let value = entries.next_value_seed(StrictSeed)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn output(bytes: &[u8]) -> Output {
        Output { name: "f.json".to_owned(), bytes: bytes.to_vec() }
    }

    #[test]
    fn what_is_strict_json_reads_as_it_is() {
        let text = "\u{feff}{\"b\": [1, -2, 2.5, null, true, \"é\"], \"a\": {}}";
        let value = parse(&output(text.as_bytes())).expect("it is JSON");
        assert_eq!(value, json!({"b": [1, -2, 2.5, null, true, "é"], "a": {}}));
        assert_eq!(parse_with_not_finite(&output(b"[NaN, 1]")).expect("it is read"), json!(["NaN", 1]));
    }

    #[test]
    fn what_is_not_names_the_place() {
        let check = |bytes: &[u8], words: &str| {
            let error = parse(&output(bytes)).expect_err("it is refused").to_string();
            assert!(error.contains("f.json") && error.contains(words), "{error}");
        };
        check(b" \n", "is empty");
        check(b"{\"a\":\"\xff\"}", "is not UTF-8 at byte 6");
        check(b"{\"a\":1,\n\"b\":{\"c\":1,\"c\":2}}", "the key `c` stands twice in one object at line 2");
        check(b"[1,\nNaN]", "line 2");
        check(b"[1e999]", "out of range");
        check(b"[1] []", "trailing");
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        check(deep.as_bytes(), "recursion limit");
    }
}
