//! A report of facts, sentences and tables, as a page and as Markdown: made once, so that both say the same.

use std::borrow::Cow;

use super::markdown::{Lines, phrase};
use super::phrase::Phrase;
use crate::phrase::Fact;

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sheet {
    /// The way from the list of such reports to this one.
    pub(super) crumb: Phrase,
    pub(super) headline: Phrase,
    /// What else belongs on top.
    pub(super) lede: Phrase,
    /// Questions with their answers.
    pub(super) facts: Vec<Fact>,
    /// The rest, most important first.
    pub(super) sections: Vec<Section>,
}

/// A part of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) heading: String,
    /// What its figures are, or what stands in their place where there are none.
    pub(super) note: Phrase,
    pub(super) list: Vec<Phrase>,
    /// The table; never an empty one.
    pub(super) table: Option<Table>,
    /// What is left out.
    pub(super) rest: Phrase,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    pub(super) caption: String,
    /// Its columns; the first has the name of a row.
    pub(super) columns: Vec<Column>,
    /// Its rows, a cell a column.
    pub(super) rows: Vec<Row>,
    /// Whether its figures mean nothing without their heads, so that a narrow window scrolls it.
    pub(super) is_wide: bool,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) head: Cow<'static, str>,
    /// The classes of its cells.
    pub(super) class: &'static str,
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    /// Whether it deserves a tint.
    pub(super) bad: bool,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Words(Phrase),
    /// A picture, which only pages show.
    Drawn(String),
}

impl Section {
    /// A section of a table, or of a sentence where that has no row.
    pub(super) fn of_table(
        (id, heading, note, nothing): (&'static str, &str, Phrase, &str),
        (caption, columns): (&str, &[(&'static str, &'static str)]),
        rows: Vec<Row>,
    ) -> Section {
        let section = Section { id, heading: heading.to_owned(), ..Section::default() };
        if rows.is_empty() {
            return Section { note: Phrase::plain(nothing), ..section };
        }
        let columns = columns.iter().map(|(head, class)| Column { head: Cow::Borrowed(head), class }).collect();
        Section { note, table: Some(Table { caption: caption.to_owned(), columns, rows, is_wide: false }), ..section }
    }

    /// The section with a table that keeps its heads in a narrow window.
    pub(super) fn wide(mut self) -> Section {
        if let Some(table) = &mut self.table {
            table.is_wide = true;
        }
        self
    }

    /// The section without those of the named columns that hold the same in all rows: a sentence tells it once.
    pub(super) fn note_equal_columns(mut self, heads: &[&str]) -> Section {
        let Some(table) = self.table.as_mut().filter(|table| table.rows.len() > 1) else { return self };
        let mut result = Phrase::default();
        for head in heads {
            let Some(place) = table.columns.iter().position(|column| column.head == *head) else { continue };
            let first = table.rows[0].cells[place].clone();
            let Cell::Words(words) = first.clone() else { continue };
            if table.rows.iter().any(|row| row.cells[place] != first) {
                continue;
            }
            let column = table.columns.remove(place);
            table.rows.iter_mut().for_each(|row| drop(row.cells.remove(place)));
            let before = if result.parts.is_empty() { "In each row: " } else { ", " };
            result = result.text(format!("{before}{} ", column.head.to_lowercase())).join(words);
        }
        if !result.parts.is_empty() {
            self.note = self.note.then(result.text("."));
        }
        self
    }

    /// The section with only its first rows, and a sentence on how many there are beyond.
    pub(super) fn cut(mut self, most: usize) -> Section {
        if let Some(table) = self.table.as_mut().filter(|table| table.rows.len() > most) {
            let more = super::number::counted(table.rows.len() - most, "more row is", "more rows are");
            table.rows.truncate(most);
            self.rest = Phrase::plain(format!("{more} not listed here."));
        }
        self
    }
}

/// What a table says once of a column by its place, for the style sheet; other classes stand on each cell.
const PLACED: [&str; 9] = ["n", "nb", "any", "place", "full", "opt", "opt2", "from", "push"];

impl Table {
    pub(super) fn cells<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = (&'a Column, &'a Cell)> {
        self.columns.iter().zip(&row.cells)
    }

    /// The classes of the table: `n-3` has figures in the third column.
    pub(super) fn class(&self) -> String {
        let mut class = if self.is_wide { "mid".to_owned() } else { "mid cards".to_owned() };
        for (place, column) in self.columns.iter().enumerate() {
            for one in column.classes().filter(|one| PLACED.contains(one)) {
                class += &format!(" {one}-{}", place + 1);
            }
        }
        class
    }
}

impl Column {
    /// Whether its cells are pictures.
    pub(super) fn is_drawn(&self) -> bool {
        self.has("g")
    }

    /// Whether its cells are figures, by which the script sorts.
    pub(super) fn is_figures(&self) -> bool {
        self.has("n")
    }

    /// The classes of each of its cells.
    pub(super) fn cell_class(&self) -> String {
        self.classes().filter(|one| !PLACED.contains(one)).collect::<Vec<&str>>().join(" ")
    }

    fn has(&self, class: &str) -> bool {
        self.classes().any(|one| one == class)
    }

    fn classes(&self) -> impl Iterator<Item = &'static str> {
        self.class.split(' ').filter(|class| !class.is_empty())
    }
}

impl Row {
    /// A row of words.
    pub(super) fn new(cells: impl IntoIterator<Item = Phrase>) -> Row {
        Row { cells: cells.into_iter().map(Cell::Words).collect(), bad: false }
    }
}

impl Sheet {
    pub(super) fn markdown(&self) -> String {
        let mut out = Lines::default();
        out.paragraph(&format!("# {}", phrase(&self.headline)));
        if !self.lede.parts.is_empty() {
            out.paragraph(&phrase(&self.lede));
        }
        for fact in &self.facts {
            out.line(&format!("- **{}** {}. {}", fact.question, phrase(&fact.answer), phrase(&fact.note)));
        }
        out.blank();
        for section in &self.sections {
            out.paragraph(&format!("## {}", phrase(&Phrase::plain(section.heading.clone()))));
            if !section.note.parts.is_empty() {
                out.paragraph(&phrase(&section.note));
            }
            for sentence in &section.list {
                out.line(&format!("- {}", phrase(sentence)));
            }
            out.blank();
            if let Some(table) = &section.table {
                rows(&mut out, table);
            }
            if !section.rest.parts.is_empty() {
                out.paragraph(&phrase(&section.rest));
            }
        }
        out.text.truncate(out.text.trim_end().len());
        out.text.push('\n');
        out.text
    }
}

fn rows(out: &mut Lines, table: &Table) {
    let shown = || table.columns.iter().filter(|column| !column.is_drawn());
    let heads: Vec<&str> = shown().map(|column| &*column.head).collect();
    let right: Vec<bool> = shown().map(|column| column.has("n")).collect();
    out.head(&heads, &right);
    for row in &table.rows {
        let words = row.cells.iter().filter_map(|cell| match cell {
            Cell::Words(words) => Some(phrase(words)),
            Cell::Drawn(_) => None,
        });
        out.row(&words.collect::<Vec<String>>());
    }
    out.blank();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(columns: &[(&'static str, &'static str)], rows: &[&[&str]]) -> Section {
        let rows = rows.iter().map(|cells| Row::new(cells.iter().map(|words| Phrase::plain(*words)))).collect();
        Section::of_table(("id", "Heading", Phrase::plain("Newest first."), ""), ("Rows", columns), rows)
    }

    #[test]
    fn what_all_rows_have_in_common_is_note_equal_columns() {
        let columns = [("Suite", ""), ("Machine", "place"), ("Runs", "n opt2"), ("Change", "n push")];
        let result = section(&columns, &[&["a", "bench", "28", "1"], &["b", "bench", "28", "2"]]);
        let result = result.note_equal_columns(&["Machine", "Runs", "Change", "Nothing of it"]);
        let table = result.table.expect("it has rows");
        assert_eq!(result.note.words(), "Newest first. In each row: machine bench, runs 28.");
        assert_eq!((table.class().as_str(), table.rows[1].cells.len()), ("mid cards n-2 push-2", 2));
        let single = section(&columns, &[&["a", "bench", "28", "1"]]);
        assert_eq!(single.clone().note_equal_columns(&["Machine"]), single);
    }

    #[test]
    fn the_style_sheet_knows_every_place_that_a_table_may_name() {
        let style = include_str!("../../site/style.css");
        for (class, places) in
            [("n", 2..=10), ("push", 2..=8), ("opt", 2..=10), ("opt2", 2..=10), ("nb", 1..=7), ("any", 1..=7)]
        {
            for place in places {
                let result = format!(".{class}-{place} ");
                assert!(style.contains(&result), "{result}");
            }
        }
    }
}
