//! Python's words for bytes that are not text, and for texts and numbers that it shows.

use sprag_base::json::float_text;

/// The text of bytes, or how Python says that they are none.
pub(super) fn decode(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| {
        let start = error.valid_up_to();
        // A byte that begins no character is named alone, a character that breaks off with all of its bytes.
        let begins = matches!(bytes[start], 0xc2..=0xf4);
        let (length, reason) = match error.error_len() {
            None => (bytes.len() - start, "unexpected end of data"),
            Some(length) if begins => (length, "invalid continuation byte"),
            Some(_) => (1, "invalid start byte"),
        };
        let place = match length {
            1 => format!("byte {:#04x} in position {start}", bytes[start]),
            length => format!("bytes in position {start}-{}", start + length - 1),
        };
        format!("'utf-8' codec can't decode {place}: {reason}")
    })
}

/// A text as Python shows it in a list: in quotes, with escapes for what cannot be seen.
pub(super) fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut shown = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c == quote => shown.extend(['\\', c]),
            '\'' | '"' => shown.push(c),
            c if is_printable(c) => shown.push(c),
            c if u32::from(c) <= 0xff => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if u32::from(c) <= 0xffff => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => shown.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    shown.push(quote);
    shown
}

/// Whether a character shows as itself after another one: alone, Rust escapes a combining one.
fn is_printable(c: char) -> bool {
    let pair = format!("a{c}");
    pair.escape_debug().eq(pair.chars())
}

pub(super) fn number(value: f64) -> String {
    if value.is_finite() { float_text(value) } else { fixed(value, 0) }
}

pub(super) fn fixed(value: f64, decimals: usize) -> String {
    if value.is_nan() { "nan".to_owned() } else { format!("{value:.decimals$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What CPython 3.11 says.
    #[test]
    fn bytes_that_are_no_text() {
        let check = |bytes: &[u8], expected: &str| {
            assert_eq!(decode(bytes), Err(format!("'utf-8' codec can't decode {expected}")));
        };
        check(b"ab\xff", "byte 0xff in position 2: invalid start byte");
        check(b"\x80", "byte 0x80 in position 0: invalid start byte");
        check(b"\xc0\x80", "byte 0xc0 in position 0: invalid start byte");
        check(b"a\xe2\x82", "bytes in position 1-2: unexpected end of data");
        check(b"a\xe2", "byte 0xe2 in position 1: unexpected end of data");
        check(b"\xe2\x82x", "bytes in position 0-1: invalid continuation byte");
        check(b"\xe2x", "byte 0xe2 in position 0: invalid continuation byte");
        check(b"\xe0\x80\x80", "byte 0xe0 in position 0: invalid continuation byte");
        check(b"\xf5\x80", "byte 0xf5 in position 0: invalid start byte");
        check(b"\xf0\x9f\x98", "bytes in position 0-2: unexpected end of data");
        assert_eq!(decode("é".as_bytes()), Ok("é"));
    }

    /// What CPython 3.11 shows.
    #[test]
    fn texts_in_quotes() {
        let check = |text: &str, expected: &str| assert_eq!(quoted(text), expected);
        check("plain", "'plain'");
        check("it's", "\"it's\"");
        check("it's \"so\"", "'it\\'s \"so\"'");
        check("\"so\"", "'\"so\"'");
        check("a\\b\n\t\r\u{7}\u{7f}", "'a\\\\b\\n\\t\\r\\x07\\x7f'");
        check("größe e\u{301} 日", "'größe e\u{301} 日'");
        check("\u{ad}\u{a0}\u{200b}\u{2028}\u{e000}\u{10ffff}", "'\\xad\\xa0\\u200b\\u2028\\ue000\\U0010ffff'");
    }
}
