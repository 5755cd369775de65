//! The characters of foreign texts that are unsafe to show.
//!
//! Names, subjects, branches and reasons come from commits, records and command output, and may contain anything. Writers of
//! HTML and Markdown escape the marks of their languages; only this module decides which characters are unsafe everywhere.

use std::borrow::Cow;

/// Whether a character controls its display, or is invisible and changes how others are read: control characters, line and
/// paragraph separators, marks of direction, joiners and spaces without width, variation selectors, tags, interlinear
/// annotations, the byte order mark and noncharacters.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || is_variation_selector(character)
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'
                | '\u{ffff}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// As [`is_unsafe`], of a name that is an identity: variation selectors are part of the spelling of emoji and Han names.
pub fn is_unsafe_in_name(character: char) -> bool {
    is_unsafe(character) && !is_variation_selector(character)
}

fn is_variation_selector(character: char) -> bool {
    matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// A name as its source spells it: records hold reserved characters as `%` and two digits. What is unsafe stays encoded.
pub fn decoded(name: &str) -> Cow<'_, str> {
    const RESERVED: [(&str, char); 9] = [
        ("%7b", '{'),
        ("%7d", '}'),
        ("%40", '@'),
        ("%25", '%'),
        ("%3d", '='),
        ("%2c", ','),
        ("%2f", '/'),
        ("%2d", '-'),
        ("%2e", '.'),
    ];
    if !name.contains('%') {
        return Cow::Borrowed(name);
    }
    let (mut text, mut rest) = (String::with_capacity(name.len()), name);
    while let Some(place) = rest.find('%') {
        text.push_str(&rest[..place]);
        rest = &rest[place..];
        match RESERVED.iter().find_map(|(code, character)| Some((rest.strip_prefix(code)?, character))) {
            Some((after, character)) => {
                text.push(*character);
                rest = after;
            }
            None => {
                text.push('%');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// `text` for a terminal: unsafe characters are written as `\u{…}`.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) {
            safe.extend(character.escape_unicode());
        } else {
            safe.push(character);
        }
    }
    safe
}

/// `text` on one line: without unsafe characters, and with one blank for each row of whitespace.
pub fn one_line(text: &str) -> String {
    let blank = |character: char| if character.is_control() { ' ' } else { character };
    let safe: String = text.chars().map(blank).filter(|one| one.is_whitespace() || !is_unsafe(*one)).collect();
    safe.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `text` for a page: line feeds and tabs become arrows, other unsafe characters U+FFFD.
pub fn visible(text: &str) -> Cow<'_, str> {
    // A fast path for most texts.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let picture = |character| match character {
        '\n' => '↵',
        '\t' => '⇥',
        other if is_unsafe(other) => '\u{fffd}',
        other => other,
    };
    Cow::Owned(text.chars().map(picture).collect())
}

/// At most `length` characters of `text`; an ellipsis marks what is cut off.
pub fn shortened(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    text.chars().take(length.saturating_sub(1)).chain(['…']).collect()
}

/// The word of `words` closest to `word`, where it is close enough for a suggestion.
pub fn nearest<'a>(word: &str, words: &[&'a str]) -> Option<&'a str> {
    let distance = |candidate: &str| strsim::damerau_levenshtein(&word.to_lowercase(), candidate);
    let near = words.iter().copied().min_by_key(|candidate| distance(candidate)).filter(|near| {
        let longest = word.chars().count().max(near.chars().count());
        distance(near) * 3 <= longest + 1
    });
    // Such as `timeout`, also misspelt, for `timeout_seconds`.
    let begins = |candidate: &str| {
        let mut parts = candidate.match_indices('_').map(|(end, _)| &candidate[..end]);
        candidate.starts_with(word) || parts.any(|part| distance(part) * 3 <= part.chars().count())
    };
    near.or_else(|| words.iter().copied().find(|candidate| word.len() > 3 && begins(candidate)))
}

/// A hint for an unknown word: the closest one, and all there are.
pub fn suggestion(word: &str, words: &[&str]) -> String {
    let near = nearest(word, words).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    format!("{near}there are: {}", if words.is_empty() { "none".to_owned() } else { words.join(", ") })
}

/// `1 run`, `2 runs`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The fixed word of each value of an enum, by which records, options and people name it.
#[macro_export]
macro_rules! words {
    ($type:ident { $($variant:ident: $word:literal),+ $(,)? }) => {
        impl $type {
            pub fn word(self) -> &'static str {
                match self {
                    $($type::$variant => $word),+
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNSAFE: &str = "\0\u{1b}\n\t\u{7f}\u{85}\u{9b}\u{ad}\u{61c}\u{180e}\u{200b}\u{200d}\u{200e}\u{200f}\u{2028}\
        \u{2029}\u{202a}\u{202e}\u{2060}\u{2064}\u{2066}\u{2069}\u{206f}\u{fe0f}\u{feff}\u{fff9}\u{fffe}\u{ffff}\
        \u{e0001}\u{e0020}\u{e0100}";

    #[test]
    fn the_nearest_word_is_one_that_could_be_meant() {
        let check = |word: &str, expected: Option<&str>| {
            assert_eq!(nearest(word, &["kind", "timeout_seconds", "max_output_bytes"]), expected, "{word}");
        };
        check("knd", Some("kind"));
        check("timeout", Some("timeout_seconds"));
        check("timout", Some("timeout_seconds"));
        check("max_output", Some("max_output_bytes"));
        check("tim", None);
        check("colour", None);
    }

    #[test]
    fn names_are_shown_as_their_source_spells_them() {
        let check = |name: &str, expected: &str| assert_eq!(decoded(name), expected);
        check("f(8)/3", "f(8)/3");
        check("a%7bb%7d%40c 5%25", "a{b}@c 5%");
        check("a%257bb", "a%7bb");
        check("red%1b[31m%e2%80%ae%", "red%1b[31m%e2%80%ae%");
    }

    #[test]
    fn no_unsafe_character_is_shown() {
        for character in UNSAFE.chars() {
            assert!(is_unsafe(character), "{}", character.escape_unicode());
            let text = format!("a{character}b");
            assert_eq!(printable(&text), format!("a{}b", character.escape_unicode()));
            assert!(!visible(&text).contains(character));
        }
        for character in "tile_pack{n=4096} @fast\u{202f}µs\u{a0}שלום 日本 é e\u{301} ✓\u{fffd}".chars() {
            assert!(!is_unsafe(character), "{}", character.escape_unicode());
        }
    }

    #[test]
    fn unsafe_characters_are_escaped_or_replaced() {
        assert_eq!(printable("a\u{1b}[31mb\n\u{202e}c µs é"), "a\\u{1b}[31mb\\u{a}\\u{202e}c µs é");
        assert_eq!(visible("a\nb\tc\u{0}d\u{7f}e"), "a↵b⇥c\u{fffd}d\u{fffd}e");
        assert!(matches!(visible("1\u{202f}204 µs"), Cow::Borrowed(_)));
        assert_eq!(one_line(" a\n\u{202e}b \u{7}c\u{1b}d\u{2028} "), "a b c d");
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("äbcd", 3), "äb…");
    }
}
