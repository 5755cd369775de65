//! A report for a terminal: plain text without colour, its tables without borders. Sentences are at most a hundred columns wide;
//! tables shrink to the width of the terminal. No line begins like a command of a log of GitHub.

use comfy_table::{CellAlignment, ContentArrangement, presets};
use unicode_width::UnicodeWidthStr as _;

use super::{Block, Cell, Item, Section, Sheet, Table};
use crate::number::{self, NARROW};
use crate::phrase::{Part, Phrase};
use crate::text::visible;

const WIDTH: usize = 100;

/// The indent below a title, that of the answer to a label, and the gap between columns.
const INDENT: usize = 2;
const LABEL: usize = 12;
const GAP: usize = 2;

/// Rows as columns, those listed in `right` aligned to the right. Where they do not fit into `width`, cells beyond those of the
/// first row move below their row, names break between their parts, and the last figures, then other columns, are left out,
/// which a line says. A figure never breaks. Gives the lines of each row, and at last what is below them.
pub fn columns(rows: &[Vec<String>], right: &[usize], width: Option<usize>) -> Vec<String> {
    let Some(first) = rows.first() else { return Vec::new() };
    let most = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width_of = |place: usize, part: fn(&str) -> usize| {
        rows.iter().filter_map(|row| row.get(place)).map(|cell| part(cell)).max().unwrap_or(0) + GAP
    };
    let widest: Vec<usize> = (0..most).map(|place| width_of(place, |cell| cell.width())).collect();
    let Some(room) = width.map(|width| width + GAP).filter(|room| widest.iter().sum::<usize>() > *room) else {
        return aligned(rows, right).split_inclusive('\n').map(str::to_owned).collect();
    };
    let longest_piece = |cell: &str| pieces(cell).iter().map(|piece| piece.trim_end().width()).max().unwrap_or(0);
    let narrowest = |place: usize| if right.contains(&place) { widest[place] } else { width_of(place, longest_piece) };
    let least: Vec<usize> = (0..first.len()).map(narrowest).collect();
    let mut shown: Vec<usize> = (0..first.len()).collect();
    while shown.iter().map(|place| least[*place]).sum::<usize>() > room {
        let figures = shown.iter().rposition(|place| right.contains(place));
        let Some(last) = figures.or((shown.len() > 2).then(|| shown.len() - 1)) else { break };
        shown.remove(last);
    }
    let mut widths: Vec<usize> = shown.iter().map(|place| widest[*place]).collect();
    while widths.iter().sum::<usize>() > room {
        let can_shrink = |at: &usize| widths[*at] > least[shown[*at]];
        let Some(at) = (0..shown.len()).filter(can_shrink).max_by_key(|at| widths[*at]) else { break };
        widths[at] -= 1;
    }
    let fitted: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let cell = |(place, width): (&usize, &usize)| {
                row.get(*place).map_or(String::new(), |cell| broken(cell, width - GAP))
            };
            shown.iter().zip(&widths).map(cell).collect()
        })
        .collect();
    let right: Vec<usize> = (0..shown.len()).filter(|at| right.contains(&shown[*at])).collect();
    let text = aligned(&fitted, &right);
    let mut lines = text.split_inclusive('\n');
    let mut out = Vec::new();
    for (row, cells) in rows.iter().zip(&fitted) {
        let height = cells.iter().map(|cell| cell.lines().count()).max().unwrap_or(0).max(1);
        let mut text: String = lines.by_ref().take(height).collect();
        if row.len() > first.len() {
            let words = row[first.len()..].iter().flat_map(|cell| cell.split_whitespace()).map(str::to_owned);
            text.push_str(&wrapped("    ", 4, words, room - GAP));
        }
        out.push(text);
    }
    if shown.len() < first.len() {
        let left_out = first.len() - shown.len();
        out.push(paragraph(
            &format!("({} left out: the terminal is narrow)", number::counted(left_out, "column", "columns")),
            width,
        ));
    }
    out
}

/// A sentence in lines of at most `width` columns; further lines are indented.
pub fn paragraph(sentence: &str, width: Option<usize>) -> String {
    wrapped("", INDENT, sentence.split_whitespace().map(str::to_owned), width.unwrap_or(usize::MAX))
}

fn aligned(rows: &[Vec<String>], right: &[usize]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).add_rows(rows);
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, GAP as u16));
        if right.contains(&place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt() + "\n"
}

/// The parts of a name or sentence, between which a line may break.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, character) in text.char_indices() {
        let end = match character {
            ' ' | '/' | ',' | ':' => at + character.len_utf8(),
            '{' | '@' | '(' => at,
            _ => continue,
        };
        // A figure and its unit, the parts of a date, or the commas of a figure, stay together.
        let is_figure = |side: Option<char>| side.is_some_and(|c| c.is_ascii_digit());
        let is_letter = |side: Option<char>| side.is_some_and(char::is_alphabetic);
        let (before, after) = (text[..at].chars().next_back(), text[end..].chars().next());
        let is_within = match character {
            ' ' => is_figure(before) && is_letter(after) || is_letter(before) && is_figure(after),
            ',' | ':' => is_figure(after),
            _ => false,
        };
        if end > start && !is_within {
            pieces.push(&text[start..end]);
            start = end;
        }
    }
    pieces.push(&text[start..]);
    pieces
}

fn broken(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for piece in pieces(text) {
        match lines.last_mut() {
            Some(line) if line.is_empty() || line.width() + piece.trim_end().width() <= width => line.push_str(piece),
            _ => lines.push(piece.to_owned()),
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<&str>>().join("\n")
}

/// Words behind a prefix, in lines of at most `width` columns; further lines are indented.
fn wrapped(prefix: &str, indent: usize, words: impl Iterator<Item = String>, width: usize) -> String {
    let mut text = String::new();
    let mut line = prefix.to_owned();
    let mut is_empty = true;
    for word in words {
        if !is_empty && line.width() + 1 + word.width() > width {
            text.push_str(&format!("{}\n", line.trim_end()));
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&word);
        is_empty = false;
    }
    text + line.trim_end() + "\n"
}

pub(crate) fn write(sheet: &Sheet, width: Option<usize>) -> String {
    let mut out = Lines { text: String::new(), width };
    out.sentence("", 0, &sheet.headline);
    if !sheet.lede.parts.is_empty() {
        out.sentence("", 0, &sheet.lede);
    }
    for fact in &sheet.facts {
        let sentence = Phrase::plain(fact.question).text(" ").join(fact.answer.clone()).text(". ");
        out.sentence("  ", 4, &sentence.join(fact.note.clone()));
    }
    for section in &sheet.sections {
        out.section(section);
    }
    out.text
}

struct Lines {
    text: String,
    width: Option<usize>,
}

impl Lines {
    /// Without a heading, a section is not indented, and its list continues what is above.
    fn section(&mut self, section: &Section) {
        let is_headed = !section.heading.parts.is_empty();
        if is_headed || !matches!(section.blocks.first(), Some(Block::List(_))) {
            self.text.push('\n');
        }
        if is_headed {
            self.sentence("", INDENT, &section.heading);
        }
        let indent = if is_headed { INDENT } else { 0 };
        let mut is_labelled = false;
        for block in &section.blocks {
            match block {
                Block::Paragraph(words) => {
                    let indent = if is_labelled { LABEL } else { indent };
                    self.sentence(&" ".repeat(indent), indent, words);
                }
                Block::List(items) => self.list(items, indent),
                Block::Commands(lines) => {
                    lines.iter().for_each(|line| self.text.push_str(&format!("{}{line}\n", " ".repeat(LABEL))));
                }
                Block::Table(table) => self.table(table, indent),
                Block::Facts(_) | Block::Drawn(_) => {}
            }
            is_labelled = matches!(block, Block::Table(table) if !table.label.is_empty());
        }
    }

    fn list(&mut self, items: &[Item], indent: usize) {
        let is_labelled = items.iter().any(|item| !item.label.is_empty());
        let mut last = "";
        for Item { label, words } in items {
            match (is_labelled, indent) {
                (true, _) => self.sentence(&labelled(if *label == last { "" } else { label }), LABEL, words),
                (false, 0) => self.sentence("", 0, words),
                (false, _) => self.sentence(&format!("{}- ", " ".repeat(indent)), indent + 2, words),
            }
            last = label;
        }
    }

    fn table(&mut self, table: &Table, indent: usize) {
        let is_labelled = !table.label.is_empty();
        let indent = if is_labelled { LABEL } else { indent };
        let shown: Vec<_> = table.columns.iter().filter(|column| !column.is_drawn()).collect();
        let heads = shown.iter().map(|column| typed(&column.head)).collect();
        // The note of the last column is a cell beyond the heads.
        let cells = table.rows.iter().map(|row| {
            let mut beyond = Vec::new();
            let mut joined: Vec<String> = Vec::new();
            for cell in &row.cells {
                joined.push(match cell {
                    Cell::Words(cell) => words(cell).join(" "),
                    Cell::Noted(cell, note) if !is_labelled && joined.len() + 1 == shown.len() => {
                        beyond = words(note);
                        words(cell).join(" ")
                    }
                    Cell::Noted(cell, note) => [words(cell), words(note)].concat().join(" "),
                    Cell::Drawn(_) => continue,
                });
            }
            joined.extend((!beyond.is_empty()).then(|| beyond.join(" ")));
            joined
        });
        let rows: Vec<Vec<String>> = (!is_labelled).then_some(heads).into_iter().chain(cells).collect();
        let right: Vec<usize> = (0..shown.len()).filter(|place| shown[*place].is_figures()).collect();
        let width = self.width.map(|width| width.saturating_sub(indent));
        let mut lines = columns(&rows, &right, width);
        let heads = usize::from(!is_labelled);
        for (line, row) in lines.iter_mut().skip(heads).zip(&table.rows) {
            if let Some([heading, _]) = &row.group {
                line.insert_str(0, &format!("{}\n", begun(&seen(&typed(heading)))));
            }
        }
        for (place, line) in lines.concat().lines().enumerate() {
            let prefix = if place == 0 && is_labelled { labelled(table.label) } else { " ".repeat(indent) };
            self.text.push_str(format!("{prefix}{line}").trim_end());
            self.text.push('\n');
        }
    }

    /// A sentence behind a prefix; further lines are indented.
    fn sentence(&mut self, prefix: &str, indent: usize, sentence: &Phrase) {
        let width = self.width.unwrap_or(WIDTH).min(WIDTH);
        self.text.push_str(&wrapped(prefix, indent, words(sentence).into_iter(), width));
    }
}

fn labelled(label: &str) -> String {
    let label = format!("{}{label}", " ".repeat(INDENT));
    format!("{label:LABEL$}")
}

/// The words and whole names, within which no line is broken.
fn words(sentence: &Phrase) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for part in &sentence.parts {
        let mut add = |piece: &str, is_open: bool| match words.last_mut().filter(|_| is_open) {
            Some(last) => last.push_str(&seen(piece)),
            None => words.push(begun(&seen(piece))),
        };
        match part {
            Part::Text(text) | Part::Strong(text) | Part::Outside { words: text, .. } => {
                for (place, piece) in text.split(' ').enumerate() {
                    is_open &= place == 0;
                    if !piece.is_empty() {
                        add(&typed(piece), is_open);
                        is_open = true;
                    }
                }
            }
            Part::Id(name) | Part::Link { words: name, .. } => {
                add(name, is_open);
                is_open = true;
            }
            Part::Mark(mark) => {
                add(&format!("{} {}", mark.glyph, typed(&mark.word)), is_open);
                is_open = true;
            }
        }
    }
    words
}

/// Text of others without invisible characters, and without commands of a log.
fn seen(text: &str) -> String {
    visible(text).replace("##[", "# #[")
}

fn begun(word: &str) -> String {
    if word.starts_with("::") { format!("`{word}`") } else { word.to_owned() }
}

/// Figures with the signs of a keyboard; a comma is between thousands.
pub fn typed(text: &str) -> String {
    let mut typed = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let within_number =
            typed.ends_with(|c: char| c.is_ascii_digit()) && rest.peek().is_some_and(char::is_ascii_digit);
        typed.push(match character {
            NARROW if within_number => ',',
            NARROW => ' ',
            '\u{2212}' => '-',
            other => other,
        });
    }
    typed
}

#[cfg(test)]
mod tests {
    use super::super::Rows;
    use super::*;

    #[test]
    fn columns_line_up_and_fit_the_terminal() {
        for (rows, right, expected) in [
            (&[&["a", "10"][..], &["bcd", "9"]][..], &[1][..], "a    10\nbcd   9\n"),
            (&[&["a", ""], &["bcd", "x"]], &[], "a\nbcd  x\n"),
            (&[&["a"], &["b", "c"]], &[], "a\nb  c\n"),
            (&[], &[], ""),
            // A wide character takes two places.
            (&[&["核", "1"], &["ab", "2"], &["e\u{301}", "3"]], &[], "核  1\nab  2\ne\u{301}   3\n"),
        ] {
            let row = |row: &&[&str]| row.iter().map(|&cell| cell.to_owned()).collect();
            assert_eq!(columns(&rows.iter().map(row).collect::<Vec<_>>(), right, None).concat(), expected);
        }
        let table = [
            vec!["verdict", "benchmark", "now", "change", "allowed"],
            vec!["regressed", "cpu/tile_pack{c=64,t=8} @fast", "1,234.5 µs", "+14.2 %", "554.0 µs"],
            vec!["inconclusive", "cpu/infer @fast", "14.51 ms", "+2.1 %", "14.78 ms", "2 more runs decide it"],
        ];
        let table = table.map(|row| row.into_iter().map(str::to_owned).collect::<Vec<_>>());
        let expected = "verdict       benchmark             now   change\nregressed     cpu/tile_pack  1,234.5 µs  +14.2 %\n\
            \u{20}             {c=64,t=8}\n              @fast\ninconclusive  cpu/infer        14.51 ms   +2.1 %\n\
            \u{20}             @fast\n    2 more runs decide it\n(1 column left out: the terminal is narrow)\n";
        assert_eq!(columns(&table, &[2, 3, 4], Some(48)).concat(), expected);
        let dated =
            [["week", "machine"], ["23 Nov 2026", "AMD EPYC, 2 cores"]].map(|row| row.map(str::to_owned).to_vec());
        let expected = "week         machine\n23 Nov 2026  AMD EPYC,\n             2 cores\n";
        assert_eq!(columns(&dated, &[], Some(28)).concat(), expected);
        let expected = "week         machine\n23 Nov 2026  AMD EPYC, 2 cores\n\
            (1 column left out: the\n  terminal is narrow)\n";
        let wide = dated.map(|row| [row, vec!["unbreakable".to_owned()]].concat());
        assert_eq!(columns(&wide, &[], Some(30)).concat(), expected);
        let rows = [vec!["cpu/infer @fast".to_owned(), "a reason of many words that goes on".to_owned()]];
        let text = columns(&rows, &[], Some(30)).concat();
        assert!(text.lines().count() > 1 && text.lines().all(|line| line.chars().count() <= 30), "{text}");
    }

    #[test]
    fn rows_of_a_group_are_below_its_heading() {
        let groups = [("time in ms", vec!["a", "b"]), ("ratio", vec!["c"])];
        let groups = groups.map(|(heading, rows)| (heading.to_owned(), rows));
        let rows = Rows::grouped("", groups).column("Benchmark", "", |name| Phrase::plain(*name));
        let mut out = Lines { text: String::new(), width: None };
        out.table(&rows.table, 2);
        assert_eq!(out.text, "  Benchmark\n  time in ms\n  a\n  b\n  ratio\n  c\n");
    }

    #[test]
    fn a_note_of_the_last_column_moves_below_its_row() {
        let noted = |(_, note): &(&str, &str)| Cell::noted(Phrase::plain("inconclusive"), Phrase::plain(*note));
        let rows = [("a", "measure both sides in turns"), ("b", "")];
        let rows = Rows::new("", rows).column("Benchmark", "", |row| Phrase::plain(row.0)).column("Verdict", "", noted);
        let written = |width| {
            let mut out = Lines { text: String::new(), width };
            out.table(&rows.table, 0);
            out.text
        };
        let expected = "Benchmark  Verdict\na          inconclusive\n    measure both sides in\n    turns\nb          inconclusive\n";
        assert_eq!(written(Some(28)), expected);
        assert!(written(None).contains("inconclusive  measure both sides in turns\n"), "{}", written(None));
    }

    #[test]
    fn lines_break_between_words_and_never_within_a_name() {
        let name = "a b ".repeat(20);
        let sentence =
            Phrase::plain(format!("{} ", "word ".repeat(18))).id(name.as_str()).text(", end \u{2212}1\u{202f}%");
        let mut out = Lines { text: String::new(), width: None };
        out.sentence("  x ", 4, &sentence);
        let expected = format!("  x {}\n    {name}, end -1 %\n", "word ".repeat(18).trim_end());
        assert_eq!(out.text, expected);
    }

    #[test]
    fn figures_can_be_typed() {
        assert_eq!(typed("\u{2212}12.4\u{202f}%"), "-12.4 %");
        assert_eq!(typed("61\u{202f}200\u{202f}points, 1\u{202f}Nov"), "61,200 points, 1 Nov");
    }

    #[test]
    fn no_word_begins_or_holds_a_command_of_a_log() {
        let sentence =
            Phrase::plain("a ::error::b").id("::warning::c").text(" ").id("::d").text(" ##[error]e\u{1b}[1m");
        assert_eq!(words(&sentence), ["a", "`::error::b`::warning::c", "`::d`", "# #[error]e\u{fffd}[1m"]);
    }
}
