//! A command as one line that can be pasted.

use crate::text::visible;

/// The line, each word quoted where a shell would take it for more than itself; `None` where a word holds what acts unseen, or
/// what a log of GitHub takes for a command: nobody can see what such a line does.
pub(crate) fn line(words: &[String]) -> Option<String> {
    let is_seen = |word: &String| visible(word) == word.as_str() && !word.contains("##[");
    (!words.is_empty() && words.iter().all(is_seen))
        .then(|| words.iter().map(|word| quoted(word)).collect::<Vec<String>>().join(" "))
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+@%=".contains(c);
    // Some shells look up what follows an equals sign in front.
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('=') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_the_words_that_were_meant() {
        let check = |words: &[&str], expected: Option<&str>| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(line(&words).as_deref(), expected);
        };
        check(&["sprag", "run", "--commit", "1a2b3c", "--suite=cpu"], Some("sprag run --commit 1a2b3c --suite=cpu"));
        check(&["sprag", "", "a b", "=ls", "~"], Some("sprag '' 'a b' '=ls' '~'"));
        check(&["--filter", "cpu/a{n=5} @fast"], Some("--filter 'cpu/a{n=5} @fast'"));
        check(&["$(rm -r x)", "it's", "`x`;!"], Some(r"'$(rm -r x)' 'it'\''s' '`x`;!'"));
        check(&["-e", "a\\b\"c"], Some("-e 'a\\b\"c'"));
        check(&["sprag", "a\nb"], None);
        check(&["sprag", "\u{202e}a"], None);
        check(&["sprag", "##[error]a"], None);
        check(&[], None);
    }
}
