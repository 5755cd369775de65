//! Text that others wrote, made harmless to show.
//!
//! Names, subjects, branches and reasons come from commits, records and command output, so they may hold anything.
//! Control characters and those that silently reorder or hide text are made visible here; what a language gives
//! a meaning to is escaped by that language's own escaper, which calls [`visible`] first.

use std::borrow::Cow;

/// `text` with every character that acts without being seen replaced by one that is seen: line feeds and tabs by
/// arrows, all others by U+FFFD.
pub fn visible(text: &str) -> Cow<'_, str> {
    // Most texts are plain, which is seen by their bytes.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.chars().any(acts_unseen) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(picture).collect())
}

/// At most `length` characters of `text`; what is cut off is marked by an ellipsis.
pub fn shortened(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(length.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// `text` for the inside of an XML element or a quoted attribute.
pub fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// JSON for the inside of a script: what would end the script or a line of it is escaped, which JSON reads alike.
pub fn script(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(place) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        let (before, from) = rest.split_at(place);
        let mut characters = from.chars();
        escaped.push_str(before);
        escaped.extend(characters.next().map(|character| format!("\\u{:04x}", character as u32)));
        rest = characters.as_str();
    }
    escaped.push_str(rest);
    escaped
}

fn acts_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'
                | '\u{ffff}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

fn picture(character: char) -> char {
    match character {
        '\n' => '↵',
        '\t' => '⇥',
        other if acts_unseen(other) => '\u{fffd}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_unseen_is_shown() {
        let check = |text: &str, expected: &str| assert_eq!(visible(text), expected);
        check("tile_pack{n=4096} @fast", "tile_pack{n=4096} @fast");
        check("a\nb\tc\u{0}d\u{7f}e", "a↵b⇥c\u{fffd}d\u{fffd}e");
        check("ab\u{202e}dc\u{2066}\u{200b}\u{85}", "ab\u{fffd}dc\u{fffd}\u{fffd}\u{fffd}");
        check("1\u{202f}204 µs, שלום, 日本", "1\u{202f}204 µs, שלום, 日本");
    }

    #[test]
    fn xml_gives_no_character_a_meaning() {
        assert_eq!(xml("<a b=\"c\" d='e'>&\u{1b}"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\u{fffd}");
    }

    #[test]
    fn json_cannot_leave_its_script() {
        assert_eq!(script("[\"</script><!--&\u{2028}\"]"), "[\"\\u003c/script\\u003e\\u003c!--\\u0026\\u2028\"]");
    }

    #[test]
    fn long_text_ends_in_an_ellipsis() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("äbcd", 3), "äb…");
    }
}
