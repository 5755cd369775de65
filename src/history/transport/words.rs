//! What git and the remote said, made fit to be shown.

use sprag_base::text;

/// The most lines that are quoted: the last ones, which hold the reason.
const MOST_LINES: usize = 8;

/// The longest line that is quoted, in characters.
const MOST_CHARACTERS: usize = 300;

/// The last lines of what a program said, in one line, with nothing in it that acts on a terminal and without the
/// password of a URL.
pub(super) fn words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // Progress ends in a carriage return.
    let lines: Vec<&str> = text.split(['\n', '\r']).map(str::trim).filter(|line| says_something(line)).collect();
    let last = &lines[lines.len().saturating_sub(MOST_LINES)..];
    let shown: Vec<String> = last.iter().map(|line| without_password(&printable(line))).collect();
    shown.join("; ")
}

/// `text` for a terminal, cut where it is long.
pub(crate) fn printable(text: &str) -> String {
    text::printable(&text::shortened(text, MOST_CHARACTERS))
}

/// Whether a line is more than the advice that git puts under each failure of a remote.
fn says_something(line: &str) -> bool {
    const ADVICE: [&str; 2] = ["Please make sure you have the correct access rights", "and the repository exists."];
    !line.is_empty() && !line.starts_with("hint: ") && !ADVICE.contains(&line)
}

/// Takes `user:password@` out of the URLs of a line.
fn without_password(line: &str) -> String {
    let mut clean = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + 3);
        clean.push_str(before);
        let end = after.find(['/', ' ', '\'', '"', '`']).unwrap_or(after.len());
        let place = after[..end].rfind('@').map_or(0, |at| at + 1);
        rest = &after[place..];
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_last_lines_made_safe() {
        let check = |said: &str, expected: &str| assert_eq!(words(said.as_bytes()), expected, "{said:?}");
        check("", "");
        check("fatal: no\n", "fatal: no");
        check("remote: one        \nerror: two\n", "remote: one; error: two");
        check("10%\r20%\rdone\n\n", "10%; 20%; done");
        check("hint: do this\nfatal: x\n\nPlease make sure you have the correct access rights\n", "fatal: x");
        check("remote: \u{1b}[31mred\u{1b}]0;x\u{7}", "remote: \\u{1b}[31mred\\u{1b}]0;x\\u{7}");
        check("a\u{202e}b\u{200b}c\u{9b}d", "a\\u{202e}b\\u{200b}c\\u{9b}d");
        check("at 'https://ada:secret@example.org/x'", "at 'https://example.org/x'");
        check("https://a@b/c ssh://u:p@h:22/d x@y", "https://b/c ssh://h:22/d x@y");
        let many: String = (0..20).map(|line| format!("{line}\n")).collect();
        check(&many, "12; 13; 14; 15; 16; 17; 18; 19");
        assert_eq!(words("é".repeat(400).as_bytes()).chars().count(), MOST_CHARACTERS);
        assert_eq!(words(b"a\xffb"), "a\u{fffd}b");
    }
}
