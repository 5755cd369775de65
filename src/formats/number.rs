//! Numbers that JSON cannot hold and programs print nevertheless.

use super::peek::string_length;

/// `text` with every number that is not finite, such as `NaN`, `-inf` or `1e999`, put in quotes, so that one such number
/// does not make the whole unreadable. Text in quotes stays as it is, and so does what is no number.
pub(super) fn quote_not_finite(text: &str) -> String {
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
        if token.parse::<f64>().is_ok_and(|number| !number.is_finite()) {
            quoted.extend(["\"", token, "\""]);
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
    use super::*;

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
