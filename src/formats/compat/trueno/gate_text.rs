//! A text of benchmarks as Trueno's own check reads it, with all that it passes over; [`super::import`] reads what is
//! there.
//!
//! A benchmark is a line that begins with a name without blanks, `time:`, and three times in brackets, of which the one in
//! the middle counts. Times are digits and points with `ns`, `µs` (U+00B5 alone), `us`, `ms` or `s`. Any other line says
//! nothing: also one whose name stands on the line before or holds a blank, one with colours, and one with `ps`. Of a name
//! that comes twice the last time counts, in the place of the first.

use std::collections::BTreeMap;

use crate::compat::python;

/// Why the original breaks down on a text, in the last line of what it then says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateTextError {
    /// Bytes that are no text.
    #[error("UnicodeDecodeError: {0}")]
    Encoding(String),
    /// Digits and points that are no number.
    #[error("ValueError: could not convert string to float: '{0}'")]
    Number(String),
}

/// The units, and how many nanoseconds each is.
const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("µs", 1e3), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// The text of a file.
///
/// # Errors
/// When it is not UTF-8.
pub fn decode(bytes: &[u8]) -> Result<&str, GateTextError> {
    python::decode(bytes).map_err(GateTextError::Encoding)
}

/// The benchmarks of a text with their nanoseconds, in the order of their names' first lines.
///
/// # Errors
/// When a time in the middle is no number.
pub fn read(text: &str) -> Result<Vec<(String, f64)>, GateTextError> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found: Vec<(String, f64)> = Vec::new();
    for line in text.split(['\n', '\r']) {
        let Some((name, digits, factor)) = benchmark(line.trim_matches(is_blank)) else { continue };
        let number: f64 = digits.parse().map_err(|_| GateTextError::Number(digits.to_owned()))?;
        let nanos = number * factor;
        match places.get(name) {
            Some(place) => found[*place].1 = nanos,
            None => {
                places.insert(name, found.len());
                found.push((name.to_owned(), nanos));
            }
        }
    }
    Ok(found)
}

/// The name, the time in the middle as digits, and its factor, where the line is one of a benchmark.
fn benchmark(line: &str) -> Option<(&str, &str, f64)> {
    let (name, rest) = line.split_at(line.find(is_blank)?);
    let rest = past_blanks(past_blanks(rest)?.strip_prefix("time:")?)?.strip_prefix('[')?;
    let (_, rest) = quantity(rest)?;
    let (middle, rest) = quantity(past_blanks(rest)?)?;
    let (_, rest) = quantity(past_blanks(rest)?)?;
    rest.starts_with(']').then_some((name, middle.0, middle.1))
}

/// The digits and the factor that the text begins with, and what comes after them.
fn quantity(text: &str) -> Option<((&str, f64), &str)> {
    let (digits, rest) = text.split_at(text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?);
    let rest = rest.trim_start_matches(is_blank);
    let (unit, factor) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit)).filter(|_| !digits.is_empty())?;
    Some(((digits, *factor), &rest[unit.len()..]))
}

/// What comes after the blanks that the text begins with, one at least.
fn past_blanks(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(is_blank);
    (rest.len() < text.len()).then_some(rest)
}

/// White space as Python has it, which the four separators of ASCII are, too.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, words in "(a|time:|\\[|\\]|1|\\.|µs|ns| |\n|\t){0,30}") {
            let _ = decode(&bytes).map(read);
            let _ = read(&words);
        }
    }

    #[test]
    fn a_line_is_read_as_the_original_reads_it() {
        let check = |line: &str, expected: &[(&str, f64)]| {
            let found = read(line).expect("it has numbers");
            let found: Vec<(&str, f64)> = found.iter().map(|(name, nanos)| (name.as_str(), *nanos)).collect();
            assert_eq!(found, expected, "{line}");
        };
        check("a time: [1 ns 2 ns 3 ns]", &[("a", 2.0)]);
        check("  a/b\ttime:\t[1.5ns\t2.5ns\u{1f}3.5ns] and more", &[("a/b", 2.5)]);
        check("a time: [900 ns 1.5 µs 2 us]", &[("a", 1500.0)]);
        check("a time: [1 ms 2. s .3 s]", &[("a", 2e9)]);
        check(
            "a time: [1 ns 2 ns 3 ns]\rb time: [1 ns 4 ns 3 ns]\r\na time: [1 ns 8 ns 9 ns]",
            &[("a", 8.0), ("b", 4.0)],
        );
        check("time: time: [1 ns 2 ns 3 ns]", &[("time:", 2.0)]);
        check("\u{feff}a time: [1 ns 2 ns 3 ns]", &[("\u{feff}a", 2.0)]);
        check("a time: [. ns 2 ns . ns]", &[("a", 2.0)]);
        for passed_over in [
            "",
            "                        time:   [1 ns 2 ns 3 ns]",
            "a b time: [1 ns 2 ns 3 ns]",
            "a time:[1 ns 2 ns 3 ns]",
            "a time: [ 1 ns 2 ns 3 ns]",
            "a time: [1 ns 2 ns 3 ns ]",
            "a time: [1 ns 2 ns]",
            "a time: [1 ns2 ns 3 ns]",
            "a time: [1 ps 2 ns 3 ns]",
            "a time: [1 μs 2 μs 3 μs]",
            "a time: [-1 ns 2 ns 3 ns]",
            "a time: [1e3 ns 2 ns 3 ns]",
            "a time: [1 m 2 m 3 m]",
            "a time: [\u{1b}[1m2 ns 2 ns 3 ns]",
            "a thrpt: [1 ns 2 ns 3 ns]",
            "a time: [ns ns ns]",
            "a time: 1",
        ] {
            check(passed_over, &[]);
        }
    }

    #[test]
    fn what_it_breaks_down_on_is_told_in_its_words() {
        let number = |line: &str| read(line).expect_err("it breaks down").to_string();
        assert_eq!(number("a time: [1 ns 1.2.3 ns 3 ns]"), "ValueError: could not convert string to float: '1.2.3'");
        assert_eq!(number("a time: [1 ns . ns 3 ns]"), "ValueError: could not convert string to float: '.'");
        let error = decode(b"ab\xff").expect_err("it is no text").to_string();
        assert_eq!(error, "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 2: invalid start byte");
        assert_eq!(decode("é".as_bytes()), Ok("é"));
    }
}
