//! Commits as other programs name them.

/// The fewest digits of a shortened id: what git prints.
const FEWEST_DIGITS: usize = 7;

/// The digits of SHA-256, the longest id that git knows.
const MOST_DIGITS: usize = 64;

/// The id of a commit in lower case, where the text is one: hexadecimal, seven digits or more.
pub(super) fn commit_id(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = (FEWEST_DIGITS..=MOST_DIGITS).contains(&text.len());
    (fits && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_hexadecimal() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(commit_id(text).as_deref(), expected, "{text}");
        check(" 6A580D9 ", Some("6a580d9"));
        check("6a580d", None);
        check("v1.2.3-4", None);
        check("-a580d9da", None);
        check("unversioned", None);
        check(&"a".repeat(64), Some(&"a".repeat(64)));
        check(&"a".repeat(65), None);
        check("", None);
    }
}
