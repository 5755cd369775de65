//! The beginning of an output, by which its format is recognised.

use std::borrow::Cow;

use super::peek::string_length;
use sprag_model::foreign::Output;

/// How many bytes of an output are looked at to recognise it: the headers of all formats are shorter.
const HEAD_BYTES: usize = 16 << 10;

/// The first bytes of an output as text, without the mark of byte order; what is no UTF-8 is replaced.
pub(super) fn head(output: &Output) -> Cow<'_, str> {
    let bytes = output.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&output.bytes);
    String::from_utf8_lossy(bytes.get(..HEAD_BYTES).unwrap_or(bytes))
}

/// The last part of the name of an output.
pub(super) fn file_name(output: &Output) -> &str {
    output.name.rsplit('/').next().unwrap_or_default()
}

/// Steps over the JSON tokens that a text begins with: `"` stands for any string, which is handed to `strings`, the other
/// characters for themselves. White space does not count. `None` where the text begins otherwise.
pub(super) fn skip<'a>(text: &'a str, tokens: &str, mut strings: impl FnMut(&'a str)) -> Option<&'a str> {
    let mut rest = text.trim_start();
    for token in tokens.chars() {
        rest = rest.strip_prefix(token)?;
        if token == '"' {
            let end = string_length(rest.as_bytes())?;
            strings(rest.get(..end)?);
            rest = rest.get(end + 1..)?;
        }
        rest = rest.trim_start();
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_short_and_text_whatever_the_bytes() {
        let check = |bytes: &[u8], expected: &str| {
            assert_eq!(head(&Output { name: "a/b".to_owned(), bytes: bytes.to_vec() }), expected);
        };
        check(b"\xef\xbb\xbf{}", "{}");
        check(b"a\xffb", "a\u{fffd}b");
        check(b"", "");
        check(&b"x".repeat(HEAD_BYTES + 1), &"x".repeat(HEAD_BYTES));
    }

    #[test]
    fn tokens_are_stepped_over() {
        let check = |text: &str, tokens: &str, expected: Option<&str>, strings: &[&str]| {
            let mut found = Vec::new();
            assert_eq!(skip(text, tokens, |string| found.push(string)), expected, "{text}");
            assert_eq!(found, strings, "{text}");
        };
        check(" { \"a\\\"b\" : {\"c\":1}}", "{\":{\":", Some("1}}"), &["a\\\"b", "c"]);
        check("[1]", "[{", None, &[]);
        check("{\"open", "{\"", None, &[]);
    }
}
