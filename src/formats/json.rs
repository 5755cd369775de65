//! JSON of others, read strictly: no key twice, no nesting without end, nothing that is not UTF-8.

use serde_json::Value;

use super::{FormatError, number};
use sprag_base::json;
use sprag_model::foreign::Output;

/// The text of an output, without the mark of byte order that some programs begin with.
pub(super) fn text(output: &Output) -> Result<&str, FormatError> {
    let text = std::str::from_utf8(&output.bytes).map_err(|error| FormatError::Schema {
        name: output.name.clone(),
        reason: format!("is not UTF-8 at byte {}", error.valid_up_to()),
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() { Err(FormatError::Empty(output.name.clone())) } else { Ok(text) }
}

/// The one JSON value that an output holds. `NaN`, `Infinity` and numbers beyond a double are refused with their line.
pub(super) fn parse(output: &Output) -> Result<Value, FormatError> {
    parse_text(&output.name, text(output)?)
}

/// As [`parse`], where the format writes `NaN` and its like: each such number becomes a string of its spelling.
pub(super) fn parse_with_not_finite(output: &Output) -> Result<Value, FormatError> {
    parse_text(&output.name, &number::quote_not_finite(text(output)?))
}

/// Checks that a text is not of very many values: for readers that do not go through [`parse_text`].
pub(super) fn check_size(name: &str, text: &str) -> Result<(), FormatError> {
    json::check_size(text.as_bytes()).map_err(|error| FormatError::Json { name: name.to_owned(), error })
}

/// The JSON value of a text that stands in the output of that name.
pub(super) fn parse_text(name: &str, text: &str) -> Result<Value, FormatError> {
    json::parse(text.as_bytes()).map_err(|error| FormatError::Json { name: name.to_owned(), error })
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
