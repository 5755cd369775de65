//! JSON of others, read strictly: no key twice, no nesting without end, nothing that is not UTF-8. Numbers that JSON cannot
//! hold and programs print nevertheless are quoted first.

use serde_json::Value;

use super::FormatError;
use super::peek::string_length;
use sprag_base::json;
use sprag_model::foreign::Output;

/// The fault of an output that is not of its format.
pub(super) fn schema(output: &Output, reason: impl Into<String>) -> FormatError {
    FormatError::Schema { name: output.name.clone(), reason: reason.into() }
}

/// The text of an output, without a byte order mark.
pub(super) fn text(output: &Output) -> Result<&str, FormatError> {
    let text = std::str::from_utf8(&output.bytes)
        .map_err(|error| schema(output, format!("is not UTF-8 at byte {}", error.valid_up_to())))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() { Err(FormatError::Empty(output.name.clone())) } else { Ok(text) }
}

/// The one JSON value that an output holds. `NaN`, `Infinity` and numbers beyond a double are refused with their line.
pub(super) fn parse(output: &Output) -> Result<Value, FormatError> {
    parse_text(&output.name, text(output)?)
}

/// As [`parse`], where the format writes `NaN` and its like: each such number becomes a string of its spelling.
pub(super) fn parse_with_not_finite(output: &Output) -> Result<Value, FormatError> {
    parse_text(&output.name, &quote_not_finite(text(output)?))
}

/// The list that a document needs under a key.
pub(super) fn list<'a>(
    output: &Output,
    document: &'a Value,
    key: &str,
    what: &str,
) -> Result<&'a [Value], FormatError> {
    match document.get(key) {
        Some(Value::Array(list)) => Ok(list),
        _ => Err(schema(output, format!("is not a {what}: it has no list `{key}`"))),
    }
}

/// Refuses a text of very many values, for readers that do not go through [`parse_text`].
pub(super) fn check_size(name: &str, text: &str) -> Result<(), FormatError> {
    json::check_size(text.as_bytes()).map_err(|error| FormatError::Json { name: name.to_owned(), error })
}

pub(super) fn parse_text(name: &str, text: &str) -> Result<Value, FormatError> {
    json::parse(text.as_bytes()).map_err(|error| FormatError::Json { name: name.to_owned(), error })
}

/// `text` with every number that is not finite, such as `NaN`, `-inf` or `1e999`, put in quotes, so that one such number
/// does not make all of it unreadable.
pub(super) fn quote_not_finite(text: &str) -> String {
    quote_tokens(text, "", |token| token.parse::<f64>().is_ok_and(|number| !number.is_finite()))
}

/// `text` with some of its numbers and words put in quotes, behind a mark.
pub(super) fn quote_tokens(text: &str, mark: &str, is_quoted: impl Fn(&str) -> bool) -> String {
    let mut quoted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            // All of it where the string does not end.
            '"' => string_length(&rest.as_bytes()[1..]).map_or(rest.len(), |length| length + 2),
            c if is_part(c) => rest.find(|c: char| !is_part(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        if is_part(first) && is_quoted(token) {
            quoted.extend(["\"", mark, token, "\""]);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::golden::output;

    #[test]
    fn json_is_read_strictly() {
        let output = |bytes: &[u8]| output("f.json", bytes);
        let text = "\u{feff}{\"b\": [1, -2, 2.5, null, true, \"é\"], \"a\": {}}";
        let value = parse(&output(text.as_bytes())).expect("it is JSON");
        assert_eq!(value, json!({"b": [1, -2, 2.5, null, true, "é"], "a": {}}));
        assert_eq!(parse_with_not_finite(&output(b"[NaN, 1]")).expect("it is read"), json!(["NaN", 1]));
        let check = |bytes: &[u8], words: &str| {
            let error = parse(&output(bytes)).expect_err("it is refused").to_string();
            assert!(error.contains("f.json") && error.contains(words), "{error}");
        };
        check(b" \n", "is empty");
        check(b"{\"a\":\"\xff\"}", "is not UTF-8 at byte 6");
        check(b"{\"a\":1,\n\"b\":{\"c\":1,\"c\":2}}", "the key `c` occurs twice in one object at line 2");
        check(b"[1,\nNaN]", "line 2");
        check(b"[1e999]", "out of range");
        check(b"[1] []", "trailing");
        check(format!("{}{}", "[".repeat(5000), "]".repeat(5000)).as_bytes(), "recursion limit");
    }

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
}
