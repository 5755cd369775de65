//! Removes paths and secrets from the facts and reasons of a record, whoever wrote them.

const PATH: &str = "<path>";

const SECRET: &str = "<redacted>";

/// The length from which a run of letters and digits looks like a key; words of compilers and kernels are shorter.
const SECRET_LENGTH: usize = 30;

/// The start of the keys of common services.
const SECRET_STARTS: [&str; 9] = ["ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "sk-"];

/// Shorter words with such a start are not keys.
const SHORTEST_KEY: usize = 16;

const SECRET_NAMES: [&str; 6] = ["token", "password", "passwd", "secret", "api-key", "apikey"];

/// `value` as words separated by single blanks, without paths and secrets.
pub fn redacted(value: &str) -> String {
    cleaned(value, word)
}

/// The same for names that look like paths: only secrets are removed.
pub fn without_secrets(value: &str) -> String {
    cleaned(value, word_without_secret)
}

fn cleaned(value: &str, word: fn(&str) -> String) -> String {
    let mut is_secret = false;
    let mut clean = |text: &str| {
        let shown = if is_secret { SECRET.to_owned() } else { word(text) };
        is_secret = names_secret(text) && !text.contains('=');
        shown
    };
    value.split_whitespace().map(&mut clean).collect::<Vec<_>>().join(" ")
}

/// Redacts each argument, and the one after an option such as `--token`.
pub fn redacted_arguments(arguments: &[&str]) -> Vec<String> {
    let follows_secret =
        |place: usize| place > 0 && names_secret(arguments[place - 1]) && !arguments[place - 1].contains('=');
    let clean = |(place, text): (usize, &&str)| if follows_secret(place) { SECRET.to_owned() } else { redacted(text) };
    arguments.iter().enumerate().map(clean).collect()
}

/// Whether a word is an option such as `--token`.
fn names_secret(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default().to_lowercase();
    name.starts_with('-') && !name.contains('/') && SECRET_NAMES.iter().any(|secret| name.contains(secret))
}

/// Replaces a path and all after it: `--remap-path-prefix=/home/x=y` loses its value.
fn word(word: &str) -> String {
    match path_start(word) {
        Some(start) if !(names_secret(word) && word.contains('=')) => format!("{}{PATH}", &word[..start]),
        _ => word_without_secret(word),
    }
}

fn word_without_secret(word: &str) -> String {
    if names_secret(word)
        && let Some((name, _)) = word.split_once('=')
    {
        return format!("{name}={SECRET}");
    }
    let has_start = SECRET_STARTS.iter().any(|start| {
        word.find(start)
            .is_some_and(|at| !word[..at].ends_with(|c: char| c.is_alphanumeric()) && word.len() >= at + SHORTEST_KEY)
    });
    if has_start || word.split(|c: char| !c.is_ascii_alphanumeric()).any(may_be_secret) {
        return SECRET.to_owned();
    }
    word.to_owned()
}

/// The start of an absolute path, or one below a home or on a drive. `GNU/Linux` and `-L/opt/x` have none.
fn path_start(word: &str) -> Option<usize> {
    let begins = |at: usize| {
        word.starts_with("-L")
            || word.starts_with("-I")
            || word[..at].chars().next_back().is_none_or(|before| !(before.is_alphanumeric() || before == '.'))
    };
    // The slashes of a URL start no local path.
    if word.contains("://") && !word.contains("file://") {
        return None;
    }
    let slash = word.match_indices('/').map(|(at, _)| at).find(|at| begins(*at) && word.len() > at + 1);
    let home = word.find("~/");
    let drive = word.match_indices(":\\").map(|(at, _)| at.saturating_sub(1)).next();
    let share = word.find("\\\\");
    [slash, home, drive, share].into_iter().flatten().min()
}

fn may_be_secret(part: &str) -> bool {
    let has = |class: fn(&char) -> bool| part.chars().any(|c| class(&c));
    part.len() >= SECRET_LENGTH && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_secrets_are_taken_out_and_words_stay() {
        for row in include_str!("redacted.txt").lines() {
            let (value, expected) = row.split_once(" => ").expect("two values");
            assert_eq!(redacted(value), expected);
        }
        assert_eq!([redacted(""), redacted("AMD EPYC \n 9R14 (family 25)")], ["", "AMD EPYC 9R14 (family 25)"]);
        assert_eq!(redacted_arguments(&["./bench", "--token", "x", "a"]), ["./bench", "--token", "<redacted>", "a"]);
        let check = |value: &str, expected: &str| assert_eq!(without_secrets(value), expected);
        check("/stem/Conv +  /stem/Relu", "/stem/Conv + /stem/Relu");
        check("/stem/Conv ghp_0123456789abcdefghijABCDEFGHIJ012345", "/stem/Conv <redacted>");
        check("--token=/home/jo/x", "--token=<redacted>");
    }
}
