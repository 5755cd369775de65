//! A report as Markdown, in GitHub's dialect. Cells hold text of others, which must not end the cell, open HTML or mention anyone.

use super::{Block, Cell, Item, Section, Sheet, Table};
use crate::mark::Mark;
use crate::number::counted;
use crate::phrase::{Part, Phrase};
use crate::text::visible;

/// From so many bytes on a comment leaves out tables: GitHub takes 65,536 characters.
pub(crate) const COMMENT: usize = 56_000;

/// The further bytes that sections without tables may take.
const RESERVE: usize = 4_000;

impl Sheet {
    pub(crate) fn markdown(&self) -> String {
        write(self, 1, usize::MAX)
    }
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn line(&mut self, line: &str) {
        self.0.push_str(line.trim_end());
        self.0.push('\n');
    }

    fn blank(&mut self) {
        if !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
    }

    fn paragraph(&mut self, line: &str) {
        if !line.is_empty() {
            self.line(line);
            self.blank();
        }
    }
}

/// The report with a headline of that level; beyond `limit` bytes tables are left out and counted.
pub(crate) fn write(sheet: &Sheet, level: usize, limit: usize) -> String {
    let mut out = Lines::default();
    out.paragraph(&format!("{} {}", "#".repeat(level), phrase(&sheet.headline)));
    out.paragraph(&phrase(&sheet.lede));
    for fact in &sheet.facts {
        let answer = phrase(&fact.answer);
        out.line(&format!("- **{}** {}. {}", fact.question, answer.trim_end_matches('.'), phrase(&fact.note)));
    }
    out.blank();
    let mut left_out = 0;
    for one in &sheet.sections {
        let most = if one.table().is_some() { limit } else { limit.saturating_add(RESERVE) };
        if out.0.len() > most {
            left_out += 1;
        } else {
            section(&mut out, one, level + 1, limit);
        }
    }
    if left_out > 0 {
        out.paragraph(&beyond(left_out, "section is", "sections are"));
    }
    out.0.truncate(out.0.trim_end().len());
    out.0.push('\n');
    out.0
}

fn beyond(count: usize, one: &str, many: &str) -> String {
    let rest = counted(count, &format!("more {one}"), &format!("more {many}"));
    format!("{rest} left out; the JSON report has everything.")
}

fn section(out: &mut Lines, section: &Section, level: usize, limit: usize) {
    if !section.heading.parts.is_empty() {
        out.paragraph(&format!("{} {}", "#".repeat(level), phrase(&section.heading)));
    }
    for block in &section.blocks {
        match block {
            Block::Paragraph(words) => out.paragraph(&phrase(words)),
            Block::List(items) => list(out, items, limit),
            Block::Table(one) => table(out, one, limit),
            Block::Commands(lines) => out.paragraph(&format!("```sh\n{}\n```", lines.join("\n"))),
            Block::Facts(_) | Block::Drawn(_) => {}
        }
    }
}

fn list(out: &mut Lines, items: &[Item], limit: usize) {
    for (place, Item { label, words }) in items.iter().enumerate() {
        if out.0.len() > limit {
            out.line(&format!("- … {}", counted(items.len() - place, "more", "more")));
            break;
        }
        let label = if label.is_empty() { String::new() } else { format!("**{label}** ") };
        out.line(&format!("- {label}{}", phrase(words)));
    }
    out.blank();
}

fn table(out: &mut Lines, table: &Table, limit: usize) {
    if let Some(summary) = &table.folded {
        out.paragraph(&format!("<details><summary>{}</summary>", plain(summary)));
    }
    let shown = || table.columns.iter().filter(|column| !column.is_drawn());
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    out.line(&row(shown().map(|column| plain(&column.head)).collect()));
    out.line(&row(shown().map(|column| if column.is_figures() { "--:" } else { "---" }.to_owned()).collect()));
    let mut rows = table.rows.iter();
    while out.0.len() <= limit
        && let Some(one) = rows.next()
    {
        let words = one.cells.iter().filter_map(|cell| match cell {
            Cell::Words(words) => Some(phrase(words)),
            Cell::Noted(words, note) => Some(format!("{}; {}", phrase(words), phrase(note))),
            Cell::Drawn(_) => None,
        });
        if let Some([heading, _]) = &one.group {
            let blank = shown().skip(1).map(|_| String::new());
            out.line(&row(std::iter::once(format!("**{}**", plain(heading))).chain(blank).collect()));
        }
        out.line(&row(words.collect()));
    }
    out.blank();
    if rows.len() > 0 {
        out.paragraph(&beyond(rows.len(), "row is", "rows are"));
    }
    if table.folded.is_some() {
        out.paragraph("</details>");
    }
}

/// Names are in fixed width; nothing else has a meaning.
fn phrase(sentence: &Phrase) -> String {
    let part = |part: &Part| match part {
        Part::Text(words) | Part::Outside { words, .. } => plain(words),
        Part::Strong(words) => format!("**{}**", plain(words)),
        Part::Link { words, is_name: false, .. } => plain(words),
        Part::Id(name) | Part::Link { words: name, .. } => code(name),
        Part::Mark(state) => mark(state),
    };
    sentence.parts.iter().map(part).collect()
}

fn mark(mark: &Mark) -> String {
    [mark.glyph, &plain(&mark.word)].join(" ").trim().to_owned()
}

/// Words without a meaning to Markdown, or to GitHub, which finds people and issues unless a character stops it.
pub fn plain(words: &str) -> String {
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
            // Nor is a URL a link.
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

/// A name in fixed width. What ends a cell or a code span is written as HTML, because dialects escape it differently in a span.
pub fn code(name: &str) -> String {
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
