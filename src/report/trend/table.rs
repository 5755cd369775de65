//! A trend for a terminal: plain text without colour, a hundred columns wide where names allow it.
//!
//! Minus signs and narrow blanks of figures are those that people type and search for. No line begins as a command of a log of
//! GitHub does, whatever a name holds.

use super::document::{Block, Document, Grid, Room, Section};
use super::tables;
use crate::number::NARROW;
use crate::phrase::{Part, Phrase};
use crate::terminal;
use crate::text::visible;
use sprag_model::trend::Trend;

/// The columns of a line.
const WIDTH: usize = 100;

/// How far what stands under a title is moved in, and how far the answer to a label.
const INDENT: usize = 2;
const LABEL: usize = 12;

/// The members of an event that are listed.
const MOST_MEMBERS: usize = 6;

/// The trend as text; `all` lists events that may be chance or were taken back, too.
pub fn table(trend: &Trend, all: bool) -> String {
    let Document { headline, lines, events, hidden, sections } =
        tables::document(trend, all, &Room { members: MOST_MEMBERS });
    let mut text = String::new();
    for line in std::iter::once(&headline).chain(&lines) {
        wrap(&mut text, "", 0, line);
    }
    for event in &events {
        section(&mut text, event);
    }
    if let Some(hidden) = &hidden {
        text.push('\n');
        wrap(&mut text, "", 0, hidden);
    }
    for one in &sections {
        section(&mut text, one);
    }
    text
}

fn section(text: &mut String, section: &Section) {
    text.push('\n');
    wrap(text, "", INDENT, &section.title);
    let mut last = "";
    for block in &section.blocks {
        match block {
            Block::Line(line) => wrap(text, &" ".repeat(INDENT), INDENT, line),
            Block::Fact(label, words) => {
                wrap(text, &labelled(if *label == last { "" } else { label }), LABEL, words);
                last = label;
            }
            Block::Command(line) => text.push_str(&format!("{}{line}\n", " ".repeat(LABEL))),
            Block::Grid(grid) => self::grid(text, grid),
        }
    }
}

fn labelled(label: &str) -> String {
    let label = format!("{}{label}", " ".repeat(INDENT));
    format!("{label:LABEL$}")
}

fn grid(text: &mut String, grid: &Grid) {
    let is_labelled = !grid.label.is_empty();
    let heads = grid.heads.iter().map(|(head, _)| (*head).to_owned()).collect();
    let cells = grid.rows.iter().map(|row| row.iter().map(|cell| words(cell).join(" ")).collect());
    let rows: Vec<Vec<String>> = (!is_labelled).then_some(heads).into_iter().chain(cells).collect();
    let right: Vec<usize> = (0..grid.heads.len()).filter(|column| grid.heads[*column].1).collect();
    let indent = if is_labelled { LABEL } else { INDENT };
    for (place, line) in terminal::columns(&rows, &right).lines().enumerate() {
        let prefix = if place == 0 && is_labelled { labelled(grid.label) } else { " ".repeat(indent) };
        text.push_str(format!("{prefix}{line}").trim_end());
        text.push('\n');
    }
    if let Some(more) = &grid.more {
        wrap(text, &" ".repeat(indent), indent, more);
    }
}

/// A sentence behind a prefix; further lines are moved in by `indent`.
fn wrap(text: &mut String, prefix: &str, indent: usize, sentence: &Phrase) {
    let mut line = prefix.to_owned();
    let mut is_empty = true;
    for word in words(sentence) {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&word);
        is_empty = false;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// What a line may not be broken within: words, and whole names.
fn words(sentence: &Phrase) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for part in &sentence.parts {
        let mut add = |piece: &str, is_open: bool| match words.last_mut().filter(|_| is_open) {
            Some(last) => last.push_str(&seen(piece)),
            None => words.push(begun(&seen(piece))),
        };
        match part {
            Part::Text(text) | Part::Strong(text) => {
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

/// Text of others without what acts unseen, or within a line of a log.
fn seen(text: &str) -> String {
    visible(text).replace("##[", "# #[")
}

/// A word that may begin a line.
fn begun(word: &str) -> String {
    if word.starts_with("::") { format!("`{word}`") } else { word.to_owned() }
}

/// Figures with the signs that a keyboard has; a comma stands between thousands, so that a number is one word.
fn typed(text: &str) -> String {
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
    use super::*;

    #[test]
    fn lines_break_between_words_and_never_within_a_name() {
        let name = "a b ".repeat(20);
        let sentence =
            Phrase::plain(format!("{} ", "word ".repeat(18))).id(name.as_str()).text(", end \u{2212}1\u{202f}%");
        let mut text = String::new();
        wrap(&mut text, "  x ", 4, &sentence);
        let expected = format!("  x {}\n    {name}, end -1 %\n", "word ".repeat(18).trim_end());
        assert_eq!(text, expected);
    }

    #[test]
    fn figures_can_be_typed() {
        let check = |text: &str, expected: &str| assert_eq!(typed(text), expected);
        check("\u{2212}12.4\u{202f}%", "-12.4 %");
        check("61\u{202f}200\u{202f}points, 1\u{202f}Nov", "61,200 points, 1 Nov");
    }

    #[test]
    fn no_word_begins_or_holds_a_command_of_a_log() {
        let sentence =
            Phrase::plain("a ::error::b").id("::warning::c").text(" ").id("::d").text(" ##[error]e\u{1b}[1m");
        assert_eq!(words(&sentence), ["a", "`::error::b`::warning::c", "`::d`", "# #[error]e\u{fffd}[1m"]);
    }
}
