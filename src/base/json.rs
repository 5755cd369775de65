//! JSON, written canonically and read strictly.
//!
//! Canonical: no white space, keys sorted by code point at every level, ASCII only (`\uXXXX` in lower case, astral
//! characters as surrogate pairs), integers in decimal, floats as the shortest text that reads back to the same bits:
//! positional for decimal exponents from -4 to 15, else with an exponent of at least two digits; `null` for infinities and
//! NaN. Python's `json.dumps(value, sort_keys=True, separators=(",", ":"))` gives the same text, so that others can check our
//! digests without our code.
//!
//! Strict: no object has a key twice, of which readers would take different values; and the number of values is limited, as a
//! value of two bytes takes some seventy in memory.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::{self, Write};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use serde_json::{Map, Number, Value};

/// The canonical text of `value`.
///
/// ```
/// let value = serde_json::json!({"b": 1e-5, "a": [1, true, "\u{e9}"]});
/// assert_eq!(sprag_base::json::to_canonical(&value), r#"{"a":[1,true,"\u00e9"],"b":1e-05}"#);
/// ```
pub fn to_canonical<T: Serialize + ?Sized>(value: &T) -> String {
    let bytes = RefCell::new(Vec::new());
    let layout = Python(Sorting { bytes: &bytes, entries: Vec::new(), objects: Vec::new() });
    let mut serializer = Serializer::with_formatter(Shared(&bytes), layout);
    value.serialize(&mut serializer).expect("our values have keys of text, and a vector takes all bytes");
    drop(serializer);
    String::from_utf8(bytes.into_inner()).expect("all but ASCII is escaped")
}

/// The text of Python's `json.dumps(value, sort_keys=True, indent=2)`, and a line feed.
pub fn to_pretty<T: Serialize + ?Sized>(value: &T) -> String {
    let mut value = serde_json::to_value(value).expect("our values have keys of text, and nothing else fails");
    value.sort_all_objects();
    to_indented(&value) + "\n"
}

/// The text of Python's `json.dumps(value, indent=2)`.
pub fn to_indented<T: Serialize + ?Sized>(value: &T) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Python(PrettyFormatter::new()));
    value.serialize(&mut serializer).expect("our values have keys of text, and a vector takes all bytes");
    String::from_utf8(bytes).expect("all but ASCII is escaped")
}

/// A finite float as canonical JSON writes it.
pub fn float_text(value: f64) -> String {
    let mut text = Vec::new();
    write_float(&mut text, value).expect("a vector takes all bytes");
    String::from_utf8(text).expect("a float is written in ASCII")
}

/// Writes digits as serde_json does, since the standard library chooses others of two equally short and near texts than Python.
/// Python has an exponent below 1e-4, and two digits in it.
fn write_float<W: ?Sized + Write>(writer: &mut W, value: f64) -> io::Result<()> {
    if !value.is_finite() {
        return writer.write_all(b"null");
    }
    let mut buffer = [0; 32];
    let mut rest = &mut buffer[..];
    CompactFormatter.write_f64(&mut rest, value)?;
    let left = rest.len();
    let written = std::str::from_utf8(&buffer[..buffer.len() - left]).expect("a float is written in ASCII");
    let unsigned = written.trim_start_matches('-');
    if let Some((mantissa, power)) = written.split_once('e') {
        let (sign, digits) =
            power.strip_prefix('-').map_or(('+', power.trim_start_matches('+')), |digits| ('-', digits));
        write!(writer, "{mantissa}e{sign}{digits:0>2}")
    } else if let Some(small) = unsigned.strip_prefix("0.0000") {
        let sign = &written[..written.len() - unsigned.len()];
        let digits = small.trim_start_matches('0');
        let (first, others) = digits.split_at(1);
        let point = if others.is_empty() { "" } else { "." };
        write!(writer, "{sign}{first}{point}{others}e-{:02}", 5 + small.len() - digits.len())
    } else {
        writer.write_all(written.as_bytes())
    }
}

/// Compact, with the entries of each object by their keys. They are sorted as text: a tree of a record takes six times as long.
struct Sorting<'a> {
    bytes: &'a RefCell<Vec<u8>>,
    /// Where each entry of the open objects begins, and where its key ends.
    entries: Vec<[usize; 2]>,
    /// How many entries there were when each of the open objects began.
    objects: Vec<usize>,
}

impl Formatter for Sorting<'_> {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.objects.push(self.entries.len());
        CompactFormatter.begin_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, is_first: bool) -> io::Result<()> {
        CompactFormatter.begin_object_key(writer, is_first)?;
        self.entries.push([self.bytes.borrow().len(); 2]);
        Ok(())
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.entries.last_mut().expect("an entry is open")[1] = self.bytes.borrow().len();
        CompactFormatter.begin_object_value(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let first = self.objects.pop().expect("an object is open");
        sort_entries(&mut self.bytes.borrow_mut(), &self.entries[first..]);
        self.entries.truncate(first);
        CompactFormatter.end_object(writer)
    }
}

/// Sorts the entries of an object, which are the end of the text.
fn sort_entries(text: &mut Vec<u8>, entries: &[[usize; 2]]) {
    let keys = || entries.iter().map(|&[begin, end]| &text[begin + 1..end - 1]);
    // Escaped characters have another order.
    if keys().is_sorted() && !keys().any(|key| key.contains(&b'\\')) {
        return;
    }
    let ends = entries.iter().skip(1).map(|next| next[0] - 1).chain([text.len()]);
    let key = |&[begin, end]: &[usize; 2]| match &text[begin + 1..end - 1] {
        plain if !plain.contains(&b'\\') => Cow::Borrowed(plain),
        _ => {
            let decoded: String = serde_json::from_slice(&text[begin..end]).expect("a key was written there");
            Cow::Owned(decoded.into_bytes())
        }
    };
    let mut sorted: Vec<(Cow<'_, [u8]>, &[u8])> =
        entries.iter().zip(ends).map(|(entry, end)| (key(entry), &text[entry[0]..end])).collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let mut joined = Vec::with_capacity(text.len() - entries[0][0]);
    for (place, (_, entry)) in sorted.into_iter().enumerate() {
        joined.extend_from_slice(&b","[..usize::from(place > 0)]);
        joined.extend_from_slice(entry);
    }
    text.truncate(entries[0][0]);
    text.extend_from_slice(&joined);
}

/// Writes to bytes that the formatter reads meanwhile.
struct Shared<'a>(&'a RefCell<Vec<u8>>);

impl Write for Shared<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Floats and texts as Python writes them, laid out by another formatter.
struct Python<F>(F);

impl<F: Formatter> Formatter for Python<F> {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write_float(writer, value)
    }

    fn write_f32<W: ?Sized + Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        self.write_f64(writer, value.into())
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        if fragment.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut rest = fragment;
        while let Some(place) = rest.find(|c: char| !matches!(c, ' '..='~')) {
            writer.write_all(&rest.as_bytes()[..place])?;
            let mut characters = rest[place..].chars();
            let character = characters.next().expect("one was found there");
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = characters.as_str();
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, is_first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, is_first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, is_first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, is_first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

/// The most values of a text, objects and lists included: several times those of the largest known history of any tool, and
/// about a gigabyte in memory.
const MOST_VALUES: usize = 1 << 22;

/// The most values of a text that is read without a tree, which takes a quarter of the memory.
const MOST_TYPED_VALUES: usize = 4 * MOST_VALUES;

/// Reads one JSON value strictly.
pub fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes).map(|Strict(value)| value)
}

/// Checks the number of values of a text, which need not be JSON, for readers other than [`parse`].
pub fn check_size(bytes: &[u8]) -> Result<(), serde_json::Error> {
    match overflow(bytes, MOST_TYPED_VALUES) {
        Some(line) => Err(serde_json::Error::custom(format!("more than {MOST_TYPED_VALUES} values by line {line}"))),
        None => Ok(()),
    }
}

/// Whether arrays and objects are nested at most so deep.
pub fn is_shallow(value: &Value, most: usize) -> bool {
    match (value, most.checked_sub(1)) {
        (Value::Array(items), Some(most)) => items.iter().all(|item| is_shallow(item, most)),
        (Value::Object(items), Some(most)) => items.values().all(|item| is_shallow(item, most)),
        (Value::Array(_) | Value::Object(_), None) => false,
        _ => true,
    }
}

/// The line of the first integer outside the range of `i64` and `u64`, which a float would change. The text need not be JSON.
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
                let is_integer = !token.contains(['.', 'e', 'E']);
                if is_integer && length > 18 && token.parse::<i64>().is_err() && token.parse::<u64>().is_err() {
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

/// The line on which a text has more than `most` values.
fn overflow(bytes: &[u8], most: usize) -> Option<usize> {
    // Each of these bytes begins at most one value.
    let begins = |byte: &u8| matches!(byte, b',' | b'[' | b'{');
    if bytes.len() < most || bytes.iter().filter(|byte| begins(byte)).count() < most {
        return None;
    }
    // Some of the bytes may be in strings.
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

/// A value that is read strictly.
#[derive(Clone, Debug, PartialEq)]
pub struct Strict(pub Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        Seed { left: &Cell::new(MOST_VALUES) }.deserialize(deserializer).map(Strict)
    }
}

#[derive(Clone, Copy)]
struct Seed<'a> {
    /// The number of values still allowed.
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
                return Err(A::Error::custom(format!("the key `{}` occurs twice in one object", key.escape_debug())));
            }
            object.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use serde_json::json;

    use super::*;

    #[test]
    fn floats_are_written_as_in_python() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (5e-324, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (123456.789, "123456.789"),
            // Of two equally short and near texts the one with the even digit counts.
            (5_884_456_279_293_289.0 / 4.0, "1471114069823322.2"),
        ] {
            assert_eq!(float_text(value), expected);
        }
    }

    #[test]
    fn the_indented_text_is_that_of_apex_x() {
        let golden = include_str!("../../fixtures/golden/apex-x/perf_compare.json");
        let golden: Value = serde_json::from_str(golden).expect("the golden cases are JSON");
        let mut seen = 0;
        for case in golden["cases"].as_array().expect("there are cases") {
            for name in ["summary_json_text", "trend_json_text"] {
                let Some(text) = case["expected"][name].as_str() else { continue };
                // A few hold NaN, which no strict reader takes.
                let Ok(value) = serde_json::from_str::<Value>(text) else { continue };
                assert_eq!(to_pretty(&value), text, "{}", case["name"]);
                seen += 1;
            }
        }
        assert!(seen > 20, "only {seen} texts were compared");
        let value = serde_json::json!({"b": [], "a": {}});
        assert_eq!(to_pretty(&value), "{\n  \"a\": {},\n  \"b\": []\n}\n");
        assert_eq!(to_indented(&value), "{\n  \"b\": [],\n  \"a\": {}\n}");
    }

    #[test]
    fn keys_are_sorted_and_text_is_ascii() {
        #[derive(serde::Serialize)]
        struct Mixed {
            z: Option<u8>,
            b: BTreeMap<String, (f64, bool)>,
            a: Vec<Value>,
        }
        let b = BTreeMap::from([("é".to_owned(), (1.0, true)), ("\"".to_owned(), (f64::NAN, false))]);
        let mixed = Mixed { z: None, b, a: vec![json!({"d": -1, "c": {}}), json!("\u{1F600}\\/\n\u{7f}")] };
        let expected =
            r#"{"a":[{"c":{},"d":-1},"\ud83d\ude00\\/\n\u007f"],"b":{"\"":[null,false],"\u00e9":[1.0,true]},"z":null}"#;
        assert_eq!(to_canonical(&mixed), expected);
        assert_eq!(to_canonical(&serde_json::to_value(&mixed).expect("it is JSON")), expected);
        let value = json!({"b": [1, 2.0, null, true], "a": "é\u{1F600}\"\\/\n\u{7f}", "": {}});
        assert_eq!(to_canonical(&value), r#"{"":{},"a":"\u00e9\ud83d\ude00\"\\/\n\u007f","b":[1,2.0,null,true]}"#);
    }

    #[test]
    fn a_text_of_too_many_values_is_refused_with_its_line() {
        let check = |text: &str, expected: Option<usize>| assert_eq!(overflow(text.as_bytes(), 4), expected, "{text}");
        check("[1,\n2,3]", None);
        check("[1,\n2,3,\n4]", Some(2));
        check("[1,\n2,\n{\"a\": []}]", Some(3));
        check(r#"["1,2,3,4,5,[,{", "\\"]"#, None);
        check(r#"["\",,,,,", 1]"#, None);
        check("1,2,3,4,5", Some(1));
        let many = format!("[\n{}0]", "0,".repeat(MOST_VALUES));
        let error = |result: Result<(), serde_json::Error>| result.expect_err("it is refused").to_string();
        let more = format!("[\n{}0]", "0,".repeat(MOST_TYPED_VALUES));
        assert!(check_size(many.as_bytes()).is_ok());
        assert!(error(check_size(more.as_bytes())).starts_with("more than 16777216 values by line 2"));
        assert!(error(parse(many.as_bytes()).map(drop)).starts_with("more than 4194304 values at line 2"));
    }

    #[test]
    fn an_integer_beyond_64_bits_is_located() {
        let check = |text: &str, expected: Option<usize>| assert_eq!(long_integer(text.as_bytes()), expected, "{text}");
        check("[18446744073709551615, -9223372036854775808, 1e400, 123456789012345678901.0]", None);
        check("[1,\n\"\n99999999999999999999\", \"\\\"\", 18446744073709551616]", Some(3));
        check("-9223372036854775809", Some(1));
        check("\"99999999999999999999", None);
    }

    #[test]
    fn a_repeated_key_is_refused() {
        let check = |text: &str, fine: bool| assert_eq!(parse(text.as_bytes()).is_ok(), fine, "{text}");
        check(r#"{"a": {"b": 1}, "b": [{"a": 1}, {"a": 2}]}"#, true);
        check(r#"{"a": {"b": 1, "b": 1}}"#, false);
        check(r#"{"a": 1, "\u0061": 1}"#, false);
    }

    proptest::proptest! {
        #[test]
        fn keys_are_sorted_at_every_level(entries in vec((".{0,3}", vec((".{0,3}", proptest::num::f64::ANY), 0..4)), 0..6)) {
            let map = |(key, of): (String, Vec<(String, f64)>)| (key, of.into_iter().map(|(k, v)| (k, json!(v))).collect());
            let value = Value::Object(entries.into_iter().map(map).collect());
            let read: Value = serde_json::from_str(&to_canonical(&value)).expect("it is JSON");
            let mut sorted = value;
            sorted.sort_all_objects();
            // With the order of keys, which `==` does not compare.
            proptest::prop_assert_eq!(to_indented(&read), to_indented(&sorted));
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
