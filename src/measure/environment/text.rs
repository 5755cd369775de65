//! The small text formats under `/proc` and `/sys`.

/// The text of a file without the blanks around it; absent where it cannot be read or is empty.
pub(super) fn read(path: impl AsRef<std::path::Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The value of the first `name : value` line.
pub(super) fn named_value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// The chosen word of a kernel setting such as `always [madvise] never`.
pub(super) fn bracketed(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

/// How many numbers a list such as `0-3,8` names; absent where it is no list.
pub(super) fn list_length(text: &str) -> Option<usize> {
    let mut length = 0_usize;
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        length = length.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(length)
}

/// Bytes out of `32K`, `1024 kB` or `2M`; absent where it is no size.
pub(super) fn byte_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor = match unit.trim() {
        "" => 1,
        "K" | "kB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name() {
        let text = "processor\t: 0\nmicrocode\t: 0x1000065\nmodel name\t: A: B\n";
        assert_eq!(named_value(text, "microcode"), Some("0x1000065"));
        assert_eq!(named_value(text, "model name"), Some("A: B"));
        assert_eq!(named_value(text, "code"), None);
        assert_eq!(named_value("no colon", "no colon"), None);
        assert_eq!(read("/nonexistent/file"), None);
    }

    #[test]
    fn the_chosen_word_of_a_setting_is_found() {
        assert_eq!(bracketed("always [madvise] never"), Some("madvise"));
        assert_eq!(bracketed("none"), None);
        assert_eq!(bracketed("[open"), None);
    }

    #[test]
    fn lists_are_counted() {
        let check = |text: &str, expected: Option<usize>| assert_eq!(list_length(text), expected, "{text}");
        check("0", Some(1));
        check("0-3,8\n", Some(5));
        check("0,64", Some(2));
        check("", None);
        check("3-1", None);
        check("a-b", None);
        check("0-18446744073709551615", None);
    }

    #[test]
    fn sizes_are_bytes() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(byte_size(text), expected, "{text}");
        check("32K", Some(32 << 10));
        check("4 kB", Some(4096));
        check("2M", Some(2 << 20));
        check("512", Some(512));
        check("1G", Some(1 << 30));
        check("", None);
        check("K", None);
        check("3 cows", None);
        check("99999999999999999G", None);
    }
}
