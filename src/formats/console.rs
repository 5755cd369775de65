//! What programs print for people: colours, times and rates.

use std::borrow::Cow;

use super::quantity::{prefix_factor, quantity, to_base};
use sprag_model::unit::Unit;

/// The line without the sequences that colour it or move the cursor.
pub(super) fn plain(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        text.push_str(before);
        // A sequence is `[`, parameters and a final letter; anything else after the escape is one character.
        rest = match after.strip_prefix('[') {
            Some(sequence) => {
                let end = sequence.find(|c: char| ('@'..='~').contains(&c)).map_or(sequence.len(), |end| end + 1);
                sequence.get(end..).unwrap_or_default()
            }
            None => after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default(),
        };
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// The seconds of a unit of time; `m` and `d` are minutes and days here.
pub(super) fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "m" => Some(60.0),
        "d" => Some(86_400.0),
        _ => Some(quantity(unit)).filter(|result| result.unit == Unit::Second).map(|result| result.factor),
    }
}

/// The seconds of a text such as `1.952 µs`; not a number where the number cannot be read, `None` where it is not a time.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = number_and_unit(text);
    let factor = seconds_of(unit).filter(|_| !number.is_empty())?;
    Some(to_base(number.parse().unwrap_or(f64::NAN), factor))
}

/// A rate such as `4.096 Mitem/s`: the name of its metric, such as `items_per_s`, and its value a second.
pub(super) fn rate(text: &str) -> Option<(&'static str, f64)> {
    let (number, unit) = number_and_unit(text);
    let noun = unit.strip_suffix("/s").unwrap_or(unit);
    let nouns = [
        ("elem", "elements_per_s"),
        ("item", "items_per_s"),
        ("char", "chars_per_s"),
        ("Hz", "cycles_per_s"),
        ("B", "bytes_per_s"),
        ("b", "bits_per_s"),
    ];
    let (prefix, name) = nouns.iter().find_map(|(end, name)| Some((noun.strip_suffix(end)?, *name)))?;
    // Only cycles a second are without `/s`, in `Hz`.
    if (name == "cycles_per_s") == unit.ends_with("/s") {
        return None;
    }
    Some((name, number.parse().unwrap_or(f64::NAN) * prefix_factor(prefix)?))
}

/// The bytes of a text such as `1.5 KiB`.
pub(super) fn bytes(text: &str) -> Option<f64> {
    let (number, unit) = number_and_unit(text);
    let factor = prefix_factor(unit.strip_suffix('B')?)?;
    Some(to_base(number.parse().unwrap_or(f64::NAN), factor))
}

/// The two parts of a quantity, with or without a space between them.
pub(super) fn number_and_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let letters = |c: char| c.is_alphabetic() || c == '/' || c == '%';
    match text.rsplit_once(char::is_whitespace) {
        Some((number, unit)) => (number.trim(), unit),
        None => text.split_at(text.trim_end_matches(letters).len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_taken_out() {
        let check = |line: &str, expected: &str| assert_eq!(plain(line), expected);
        check("plain [1 2]", "plain [1 2]");
        check("\u{1b}[32mgreen\u{1b}[0m [\u{1b}[1m2 ns\u{1b}[0m]", "green [2 ns]");
        check("\u{1b}[2Kname\u{1b}[38;5;1mx", "namex");
        check("cut \u{1b}[12", "cut ");
        check("\u{1b}", "");
        check("a\u{1b}éb", "ab");
    }

    #[test]
    fn times_are_seconds() {
        let check = |text: &str, expected: Option<f64>| assert_eq!(seconds(text), expected, "{text}");
        check("2 s", Some(2.0));
        check(" 500 ms ", Some(0.5));
        check("2.5ns", Some(2.5 * 1e-9));
        check("1 µs", Some(1e-6));
        check("1 μs", Some(1e-6));
        check("3 m", Some(180.0));
        check("12", None);
        check("ns", None);
        check("1 KB", None);
        check("", None);
        assert!(seconds("1.2.3 ns").is_some_and(f64::is_nan));
        assert!(seconds("inf s").is_some_and(f64::is_infinite));
    }

    #[test]
    fn rates_and_sizes_are_in_base_units() {
        let check = |text: &str, expected: Option<(&str, f64)>| assert_eq!(rate(text), expected, "{text}");
        check("4 Mitem/s", Some(("items_per_s", 4e6)));
        check("35.5 GB/s", Some(("bytes_per_s", 35.5e9)));
        check("2 KiB/s", Some(("bytes_per_s", 2048.0)));
        check("1.5 Kelem/s", Some(("elements_per_s", 1500.0)));
        check("3 Gb/s", Some(("bits_per_s", 3e9)));
        check("2 KHz", Some(("cycles_per_s", 2000.0)));
        check("7 char/s", Some(("chars_per_s", 7.0)));
        check("7 item", None);
        check("7 xB/s", None);
        check("5 furlongs/s", None);
        assert_eq!(bytes("1.5 KiB"), Some(1536.0));
        assert_eq!(bytes("7 B"), Some(7.0));
        assert_eq!(bytes("7 ns"), None);
    }
}
