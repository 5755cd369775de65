//! Text as Markdown, in GitHub's dialect: every cell holds text of others, so nothing in it may end the cell, open HTML or call
//! somebody by name.

use super::mark::Mark;
use super::phrase::{Part, Phrase};
use super::text::{shortened, visible};

/// The longest reason, in characters: a compiler's output can have pages.
const REASON: usize = 300;

#[derive(Default)]
pub(super) struct Lines {
    /// All lines so far.
    pub(super) text: String,
}

impl Lines {
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line, unless there is one.
    pub(super) fn blank(&mut self) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A line of its own.
    pub(super) fn paragraph(&mut self, line: &str) {
        self.line(line);
        self.blank();
    }

    /// A row of a table.
    pub(super) fn row(&mut self, cells: &[String]) {
        self.line(&format!("| {} |", cells.join(" | ")));
    }

    pub(super) fn head(&mut self, cells: &[&str], aligned_right: &[bool]) {
        self.line(&format!("| {} |", cells.join(" | ")));
        let rules: Vec<&str> = aligned_right.iter().map(|right| if *right { "--:" } else { "---" }).collect();
        self.line(&format!("| {} |", rules.join(" | ")));
    }
}

/// A sentence: its names in fixed width, nothing else in it with a meaning.
pub(super) fn phrase(sentence: &Phrase) -> String {
    let part = |part: &Part| match part {
        Part::Text(words) => plain(words),
        Part::Strong(words) => format!("**{}**", plain(words)),
        Part::Id(name) | Part::Link { words: name, .. } => code(name),
        Part::Mark(state) => mark(state),
    };
    sentence.parts.iter().map(part).collect()
}

/// A state: its glyph and its word.
pub(super) fn mark(mark: &Mark) -> String {
    [mark.glyph, &plain(&mark.word)].join(" ").trim().to_owned()
}

/// A reason, cut where it is very long, without a full stop; what stands in backticks is a name.
pub(super) fn cut(reason: &str) -> String {
    phrase(&Phrase::quoted(shortened(reason, REASON).trim_end_matches('.')))
}

/// Plain words: nothing in them has a meaning to Markdown, nor to GitHub, which looks for people and numbers of issues in
/// the finished text, where an escape is gone: only a character between stops it.
pub(super) fn plain(words: &str) -> String {
    let mut escaped = String::with_capacity(words.len());
    let words = visible(words);
    let mut rest = words.chars().peekable();
    let mut before = ' ';
    while let Some(character) = rest.next() {
        let within_word = before.is_alphanumeric() && rest.peek().is_some_and(|next| next.is_alphanumeric());
        before = character;
        match character {
            '_' if within_word => escaped.push('_'),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '|' => escaped.push_str("&#124;"),
            '\\' => escaped.push_str("&#92;"),
            '@' => escaped.push_str("&#64;&#8203;"),
            '#' => escaped.push_str("\\#&#8203;"),
            // Nor is anything a link that was not meant to be one.
            ':' if rest.peek() == Some(&'/') => escaped.push_str("&#58;"),
            '.' if escaped.ends_with("www") => escaped.push_str("&#46;"),
            '*' | '_' | '`' | '[' | ']' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(character);
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// A name in fixed width. One that holds what ends a cell or a code span is written as HTML with entities, for
/// the dialects differ in how those are escaped inside a span.
pub(super) fn code(name: &str) -> String {
    let name = visible(name);
    if name.trim().is_empty() {
        return "<code></code>".to_owned();
    }
    if !name.contains(['|', '`', '\\', '<', '>']) {
        return format!("`{name}`");
    }
    let mut escaped = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_ascii_punctuation() {
            escaped.push_str(&format!("&#{};", u32::from(character)));
        } else {
            escaped.push(character);
        }
    }
    format!("<code>{escaped}</code>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_cell_has_a_meaning() {
        assert_eq!(
            plain("a|b `c` <d> *e* \\f @g\n#h i_j _k"),
            "a&#124;b \\`c\\` &lt;d&gt; \\*e\\* &#92;f &#64;&#8203;g↵\\#&#8203;h i_j \\_k"
        );
        assert_eq!(plain("http://a: www.b, c.d"), "http&#58;//a: www&#46;b, c.d");
        assert_eq!(code("tile_pack{n=512} @fast"), "`tile_pack{n=512} @fast`");
        assert_eq!(code("<b>"), "<code>&#60;b&#62;</code>");
        assert_eq!(code("a|b`<c>"), "<code>a&#124;b&#96;&#60;c&#62;</code>");
        assert_eq!(code(" "), "<code></code>");
    }
}
