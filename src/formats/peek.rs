//! The beginning of an output, by which its format is recognised without reading it all.

use std::collections::BTreeSet;

use sprag_model::foreign::Output;

pub(super) fn file_name(output: &Output) -> &str {
    output.name.rsplit('/').next().unwrap_or_default()
}

/// Steps over the JSON tokens that a text begins with. In `tokens`, `"` matches any string, which is passed to
/// `strings`, and every other character matches itself. White space does not count. `None` where the text begins
/// otherwise.
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

/// The bytes that are searched: the first entries show the format.
const WINDOW: usize = 64 << 10;

const DEEPEST: usize = 16;

const LONGEST_KEY: usize = 64;

/// The keys at the beginning of a JSON text, as paths such as `benchmarks.runs.values`. An array counts for its items.
pub(super) fn key_paths(output: &Output) -> BTreeSet<String> {
    paths(output.bytes.get(..WINDOW).unwrap_or(&output.bytes))
}

struct Open {
    is_object: bool,
    key: String,
}

pub(super) fn paths(bytes: &[u8]) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let mut open: Vec<Open> = Vec::new();
    let mut place = 0;
    while let Some(byte) = bytes.get(place) {
        place += 1;
        match byte {
            b'{' | b'[' if open.len() >= DEEPEST => break,
            b'{' | b'[' => open.push(Open { is_object: *byte == b'{', key: String::new() }),
            b'}' | b']' => drop(open.pop()),
            b'"' => {
                let Some(length) = string_length(&bytes[place..]) else { break };
                let string = &bytes[place..place + length];
                place += length + 1;
                let is_key = bytes[place.min(bytes.len())..].iter().find(|byte| !byte.is_ascii_whitespace());
                let Some(top) = open.last_mut().filter(|top| top.is_object && is_key == Some(&b':')) else { continue };
                top.key = String::from_utf8_lossy(&string[..length.min(LONGEST_KEY)]).into_owned();
                let keys: Vec<&str> = open.iter().filter(|one| one.is_object).map(|one| one.key.as_str()).collect();
                paths.insert(keys.join("."));
            }
            _ => {}
        }
    }
    paths
}

/// The length of a string after its opening quote, where it ends.
pub(super) fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut escaped = false;
    bytes.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_stepped_over() {
        let check = |text: &str, tokens: &str, expected: Option<&str>, strings: &[&str]| {
            let mut result = Vec::new();
            assert_eq!(skip(text, tokens, |string| result.push(string)), expected, "{text}");
            assert_eq!(result, strings, "{text}");
        };
        check(" { \"a\\\"b\" : {\"c\":1}}", "{\":{\":", Some("1}}"), &["a\\\"b", "c"]);
        check("[1]", "[{", None, &[]);
        check("{\"open", "{\"", None, &[]);
    }

    #[test]
    fn keys_are_listed_with_their_paths() {
        let check = |text: &str, expected: &[&str]| {
            let result: Vec<String> = paths(text.as_bytes()).into_iter().collect();
            assert_eq!(result, expected, "{text}");
        };
        check(r#"{"a": 1, "b": [{"c": "d", "e": {"f": []}}, {"c": 2}]}"#, &["a", "b", "b.c", "b.e", "b.e.f"]);
        check(r#"{"a\"b" : "c:", "d": "x"#, &["a\\\"b", "d"]);
        check(r#"["a", {"b": 1"#, &["b"]);
        check("", &[]);
        check("}}]{\"a\"", &[]);
        check("\"a\": 1", &[]);
        check(&"[".repeat(1000), &[]);
    }
}
