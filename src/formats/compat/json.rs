//! JSON as Python reads and writes it: with `NaN`, `Infinity` and `-Infinity` for numbers, and whole numbers of any size.
//!
//! A [`Value`] cannot hold these. [`parse`] puts each of them in quotes behind a mark, the functions here read it as the
//! number that it is, and [`to_pretty`] and [`to_indented`] take the quotes away. Of a key that comes twice the last value
//! counts.

use serde_json::Value;

use crate::json::quote_tokens;
use sprag_base::json;

/// The first character of a quoted number; Unicode reserves it, so that no text begins with it.
const MARK: &str = "\u{fdd0}";

/// How Python spells the numbers that JSON lacks.
const WORDS: [(&str, f64); 3] = [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not JSON: {reason}")]
pub struct JsonError {
    pub reason: String,
    /// The same in the words of Python, where its reader finds the same fault.
    pub in_python: String,
}

pub fn parse(text: &str) -> Result<Value, JsonError> {
    let quoted = quote_tokens(text, MARK, is_beyond_json);
    serde_json::from_str(&quoted)
        .map_err(|error| JsonError { reason: error.to_string(), in_python: in_python(&quoted, &error) })
}

fn is_beyond_json(token: &str) -> bool {
    let is_too_large = || token.parse::<f64>().is_ok_and(f64::is_infinite);
    let is_number = token.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    WORDS.iter().any(|(word, _)| *word == token) || (is_number && (is_too_large() || is_beyond_64_bits(token)))
}

fn is_beyond_64_bits(digits: &str) -> bool {
    let is_integer = digits.strip_prefix('-').unwrap_or(digits).bytes().all(|byte| byte.is_ascii_digit());
    is_integer && digits.parse::<i64>().is_err() && digits.parse::<u64>().is_err()
}

/// The reason and the place of the character in the words of Python's `json`.
fn in_python(quoted: &str, error: &serde_json::Error) -> String {
    const VALUE: &str = "Expecting value";
    const NAME: &str = "Expecting property name enclosed in double quotes";
    const COMMA: &str = "Expecting ',' delimiter";
    let line_start: usize = quoted.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let offset = if error.is_eof() { quoted.len() } else { line_start + error.column().saturating_sub(1) };
    let is_object = quoted.as_bytes().get(offset) == Some(&b'}');
    let reasons = [
        ("expected value", VALUE),
        ("EOF while parsing a value", VALUE),
        ("trailing comma", if is_object { NAME } else { VALUE }),
        ("key must be a string", NAME),
        ("expected `:`", "Expecting ':' delimiter"),
        ("expected `,`", COMMA),
        ("EOF while parsing a list", COMMA),
        ("EOF while parsing an object", COMMA),
        ("trailing characters", "Extra data"),
        ("control character", "Invalid control character at"),
    ];
    let words = error.to_string();
    let reason = reasons.into_iter().find(|(start, _)| words.starts_with(start)).map(|(_, reason)| reason);
    let (Some(reason), Some(before)) = (reason, quoted.get(..offset)) else { return words };
    // A quoted number takes three characters more than the text has.
    let count = |text: &str| text.chars().count() - 3 * text.matches(MARK).count();
    let column = count(before.rsplit('\n').next().unwrap_or_default()) + 1;
    format!("{reason}: line {} column {column} (char {})", before.matches('\n').count() + 1, count(before))
}

/// A number as Python's `isinstance(value, (int, float))` sees one: `true` is 1 and `false` is 0.
pub fn plain_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::String(text) => text.strip_prefix(MARK)?.parse().ok(),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A number as Python's `float(value)` makes one: text that reads as a number is one, too.
pub fn as_number(value: &Value) -> Option<f64> {
    plain_number(value).or_else(|| value.as_str()?.trim().parse().ok())
}

/// Whether this is an integer beyond 64 bits, which the arrays of NumPy refuse.
pub fn is_long(value: &Value) -> bool {
    value.as_str().and_then(|text| text.strip_prefix(MARK)).is_some_and(is_beyond_64_bits)
}

pub fn number(value: f64) -> Value {
    match WORDS.iter().find(|(_, word)| word.total_cmp(&value).is_eq() || (word.is_nan() && value.is_nan())) {
        Some((word, _)) => Value::String(format!("{MARK}{word}")),
        None => Value::from(value),
    }
}

/// As Python's `json.dumps(value, sort_keys=True, indent=2)`, and a line feed.
pub fn to_pretty(value: &Value) -> String {
    unquoted(json::to_pretty(value))
}

/// As Python's `json.dumps(value, indent=2)`.
pub fn to_indented(value: &Value) -> String {
    unquoted(json::to_indented(value))
}

fn unquoted(text: String) -> String {
    WORDS.iter().fold(text, |text, (word, _)| text.replace(&format!("\"\\ufdd0{word}\""), word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_that_json_lacks_are_read_and_written() {
        let text = r#"{"a": NaN, "b": [-Infinity, 1e999, "NaN", -1, true], "a": 18446744073709551616}"#;
        let value = parse(text).expect("Python reads it");
        assert!(is_long(&value["a"]) && plain_number(&value["a"]) == Some(2f64.powi(64)), "the last of a name counts");
        let numbers = value["b"].as_array().expect("a list").iter().map(plain_number);
        let expected = [Some(f64::NEG_INFINITY), Some(f64::INFINITY), None, Some(-1.0), Some(1.0)];
        assert_eq!(numbers.collect::<Vec<_>>(), expected);
        let written = json!({"b": number(f64::NAN), "a": [number(-0.5), number(f64::NEG_INFINITY), "Infinity"]});
        assert_eq!(
            to_pretty(&written).split_whitespace().collect::<String>(),
            r#"{"a":[-0.5,-Infinity,"Infinity"],"b":NaN}"#
        );
        assert!(to_indented(&written).starts_with("{\n  \"b\": NaN,\n  \"a\": [\n    -0.5,\n    -Infinity,"));
        let check = |text: &str, expected: Option<f64>| assert_eq!(as_number(&Value::from(text)), expected, "{text}");
        check(" 1.25\n", Some(1.25));
        check("+.5e1", Some(5.0));
        check("-inf", Some(f64::NEG_INFINITY));
        check("1.2.3", None);
        check("", None);
    }

    /// What CPython 3.11 says.
    #[test]
    fn faults_are_reported_in_the_words_of_python() {
        let check = |text: &str, expected: &str| {
            assert_eq!(parse(text).expect_err("it is no JSON").in_python, expected, "{text}");
        };
        check("", "Expecting value: line 1 column 1 (char 0)");
        check("[1,]", "Expecting value: line 1 column 4 (char 3)");
        check("[NaN, 1,\n é]", "Expecting value: line 2 column 2 (char 10)");
        check("{\"a\": NaN,}", "Expecting property name enclosed in double quotes: line 1 column 11 (char 10)");
        check("{a: 1}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)");
        check("{\"é\" 1}", "Expecting ':' delimiter: line 1 column 6 (char 5)");
        check("[1,2", "Expecting ',' delimiter: line 1 column 5 (char 4)");
        check("{\"a\": 1 \"b\"}", "Expecting ',' delimiter: line 1 column 9 (char 8)");
        check("1 x", "Extra data: line 1 column 3 (char 2)");
        check("[\"a\u{1}b\"]", "Invalid control character at: line 1 column 4 (char 3)");
        let deep = parse(&"[".repeat(200_000)).expect_err("it is refused");
        assert!(deep.to_string().starts_with("is not JSON: recursion limit exceeded"), "{deep}");
    }
}
