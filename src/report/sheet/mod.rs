//! The document model: a report is built once as a `Sheet` and written as a page, as Markdown and for a terminal.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::mark::Tone;
use crate::number::{count, counted};
use crate::phrase::{Fact, Phrase};

pub mod markdown;
pub mod terminal;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sheet {
    pub(crate) crumb: Phrase,
    pub(crate) headline: Phrase,
    pub(crate) lede: Phrase,
    pub(crate) banners: Vec<Banner>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) note: Phrase,
    pub(crate) filter: Option<Filter>,
    pub(crate) sections: Vec<Section>,
}

/// By what the script filters the rows of the tables of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Filter {
    /// The file with the rows of all pages of a list; empty where this page has them all.
    pub(crate) rows: String,
    /// Name, label and choices, which the script finds where there are none.
    pub(crate) choices: Vec<(&'static str, &'static str, BTreeSet<String>)>,
    pub(crate) has_size: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Banner {
    pub(crate) tone: Tone,
    pub(crate) words: Phrase,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Section {
    pub(crate) id: Cow<'static, str>,
    /// Empty where the section continues the one above it.
    pub(crate) heading: Phrase,
    pub(crate) blocks: Vec<Block>,
    /// Whether a page shows it next to the next such section.
    pub(crate) is_half: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    Paragraph(Phrase),
    List(Vec<Item>),
    /// Never an empty one.
    Table(Table),
    Commands(Vec<String>),
    /// Facts and markup that only pages show.
    Facts(Vec<Fact>),
    Drawn(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) label: Cow<'static, str>,
    pub(crate) words: Phrase,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    pub(crate) caption: String,
    /// The first has the name of a row.
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// Whether a narrow window scrolls it, because its figures need their heads.
    pub(crate) is_wide: bool,
    /// On a terminal, the word in front of its first row, instead of heads.
    pub(crate) label: &'static str,
    /// In Markdown and on a page, the line that a reader opens to see it.
    pub(crate) folded: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) head: Cow<'static, str>,
    pub(crate) class: &'static str,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    pub(crate) bad: bool,
    /// The heading of the group that begins with it, and how many rows that has.
    pub(crate) group: Option<[String; 2]>,
    /// What a filter takes it for that no column says: `suite` or `verdict`.
    pub(crate) facets: Vec<(&'static str, String)>,
    /// Whether a list of several pages leaves it to the script.
    pub(crate) is_for_script: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Words(Phrase),
    Noted(Phrase, Phrase),
    Drawn(String),
}

impl Section {
    pub(crate) fn new(id: impl Into<Cow<'static, str>>, heading: impl Into<Phrase>) -> Section {
        Section { id: id.into(), heading: heading.into(), ..Section::default() }
    }

    pub(crate) fn half(self) -> Section {
        Section { is_half: true, ..self }
    }

    pub(crate) fn drawn(mut self, markup: String) -> Section {
        if !markup.is_empty() {
            self.blocks.push(Block::Drawn(markup));
        }
        self
    }

    /// Adds a paragraph unless it is empty.
    pub(crate) fn paragraph(mut self, words: impl Into<Phrase>) -> Section {
        let words = words.into();
        if !words.parts.is_empty() {
            self.blocks.push(Block::Paragraph(words));
        }
        self
    }

    pub(crate) fn item(mut self, label: impl Into<Cow<'static, str>>, words: impl Into<Phrase>) -> Section {
        let item = Item { label: label.into(), words: words.into() };
        match self.blocks.last_mut() {
            Some(Block::List(items)) => items.push(item),
            _ => self.blocks.push(Block::List(vec![item])),
        }
        self
    }

    pub(crate) fn items(self, all: impl IntoIterator<Item = Phrase>) -> Section {
        all.into_iter().fold(self, |section, words| section.item("", words))
    }

    /// Adds a table unless it has no row.
    pub(crate) fn with(mut self, table: Table) -> Section {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
        self
    }

    /// Adds a table, and how many rows it leaves out.
    pub(crate) fn rows<T>(self, rows: Rows<T>) -> Section {
        let more = counted(rows.left_out, "more row is", "more rows are");
        let section = self.with(rows.table);
        if rows.left_out > 0 { section.paragraph(format!("{more} not listed here.")) } else { section }
    }

    pub(crate) fn facts(mut self, facts: Vec<Fact>) -> Section {
        self.blocks.push(Block::Facts(facts));
        self
    }

    pub(crate) fn commands(mut self, lines: Vec<String>) -> Section {
        self.blocks.push(Block::Commands(lines));
        self
    }

    pub(crate) fn table(&self) -> Option<&Table> {
        self.blocks.iter().find_map(|block| if let Block::Table(table) = block { Some(table) } else { None })
    }

    pub(crate) fn table_mut(&mut self) -> Option<&mut Table> {
        self.blocks.iter_mut().find_map(|block| if let Block::Table(table) = block { Some(table) } else { None })
    }

    #[cfg(test)]
    pub(crate) fn prose(&self) -> String {
        let words = |block: &Block| if let Block::Paragraph(words) = block { Some(words.words()) } else { None };
        self.blocks.iter().filter_map(words).collect::<Vec<String>>().join(" ")
    }

    pub(crate) fn unless_empty(self) -> Option<Section> {
        self.table().is_some().then_some(self)
    }

    /// Lets a narrow window scroll the table.
    pub(crate) fn wide(mut self) -> Section {
        if let Some(table) = self.table_mut() {
            table.is_wide = true;
        }
        self
    }

    /// Removes those of the named columns that are equal in all rows: the first paragraph has their value.
    pub(crate) fn note_equal_columns(mut self, heads: &[&str]) -> Section {
        let Some(table) = self.table_mut().filter(|table| table.rows.len() > 1) else { return self };
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
        if result.parts.is_empty() {
            return self;
        }
        match self.blocks.first_mut() {
            Some(Block::Paragraph(note)) => *note = std::mem::take(note).then(result.text(".")),
            _ => self.blocks.insert(0, Block::Paragraph(result.text("."))),
        }
        self
    }
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, &'static str)], rows: Vec<Row>) -> Table {
        let columns = columns.iter().map(|(head, class)| Column { head: Cow::Borrowed(head), class }).collect();
        Table { columns, rows, ..Table::default() }
    }

    pub(crate) fn has_heads(&self) -> bool {
        self.columns.iter().any(|column| !column.head.is_empty())
    }

    pub(crate) fn cells<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = (&'a Column, &'a Cell)> {
        self.columns.iter().zip(&row.cells)
    }
}

impl Column {
    pub(crate) fn is_drawn(&self) -> bool {
        self.has("g")
    }

    /// What is in front of its cells in a narrow window without heads.
    pub(crate) fn prefix(&self) -> Option<String> {
        let name = self.has("machine").then(|| self.head.clone().into_owned());
        name.or_else(|| self.has("named").then(|| self.head.to_lowercase()))
    }

    pub(crate) fn is_figures(&self) -> bool {
        self.has("n")
    }

    pub(crate) fn class(&self) -> String {
        let is_shown = |one: &&str| !["named", "machine", "grouped"].contains(one) && !one.starts_with("by-");
        self.classes().filter(is_shown).collect::<Vec<&str>>().join(" ")
    }

    /// What a filter takes its cells for: `suite`, `machine`, `verdict` or `size`.
    pub(crate) fn by(&self) -> Option<&'static str> {
        self.classes().find_map(|class| class.strip_prefix("by-"))
    }

    /// Whether its figures are comparable within a group only.
    pub(crate) fn is_grouped(&self) -> bool {
        self.has("grouped")
    }

    fn has(&self, class: &str) -> bool {
        self.classes().any(|one| one == class)
    }

    fn classes(&self) -> impl Iterator<Item = &'static str> {
        self.class.split(' ').filter(|class| !class.is_empty())
    }
}

impl Cell {
    pub(crate) fn noted(words: impl Into<Phrase>, note: Phrase) -> Cell {
        if note.parts.is_empty() { Cell::Words(words.into()) } else { Cell::Noted(words.into(), note) }
    }
}

impl<T: Into<Phrase>> From<T> for Cell {
    fn from(words: T) -> Cell {
        Cell::Words(words.into())
    }
}

impl Row {
    pub(crate) fn new(cells: impl IntoIterator<Item = impl Into<Phrase>>) -> Row {
        Row { cells: cells.into_iter().map(|words| Cell::Words(words.into())).collect(), ..Row::default() }
    }
}

/// A table made column by column: each has a head, a class, and what its cells show of a row.
pub(crate) struct Rows<T> {
    items: Vec<T>,
    table: Table,
    left_out: usize,
}

impl<T> Rows<T> {
    pub(crate) fn new(caption: impl Into<String>, items: impl IntoIterator<Item = T>) -> Rows<T> {
        let items: Vec<T> = items.into_iter().collect();
        let rows = items.iter().map(|_| Row::default()).collect();
        Rows { items, table: Table { caption: caption.into(), rows, ..Table::default() }, left_out: 0 }
    }

    pub(crate) fn grouped(caption: impl Into<String>, groups: impl IntoIterator<Item = (String, Vec<T>)>) -> Rows<T> {
        let mut made = Rows::new(caption, []);
        for (heading, items) in groups.into_iter().filter(|(_, items)| !items.is_empty()) {
            let size = count(items.len());
            made.table.rows.push(Row { group: Some([heading, size]), ..Row::default() });
            made.table.rows.resize(made.items.len() + items.len(), Row::default());
            made.items.extend(items);
        }
        made
    }

    /// Leaves only the first rows; a sentence below the table counts the others.
    pub(crate) fn first(mut self, most: usize) -> Rows<T> {
        self.left_out += self.items.len().saturating_sub(most);
        self.items.truncate(most);
        self.table.rows.truncate(most);
        self
    }

    pub(crate) fn column<C: Into<Cell>>(
        mut self,
        head: impl Into<Cow<'static, str>>,
        class: &'static str,
        cell: impl Fn(&T) -> C,
    ) -> Rows<T> {
        self.table.columns.push(Column { head: head.into(), class });
        for (row, item) in self.table.rows.iter_mut().zip(&self.items) {
            row.cells.push(cell(item).into());
        }
        self
    }

    /// Behind a line that a reader opens.
    pub(crate) fn folded(mut self, summary: String) -> Rows<T> {
        self.table.folded = Some(summary);
        self
    }

    pub(crate) fn tint(mut self, is_bad: impl Fn(&T) -> bool) -> Rows<T> {
        for (row, item) in self.table.rows.iter_mut().zip(&self.items) {
            row.bad = is_bad(item);
        }
        self
    }

    pub(crate) fn for_script(mut self, is_for_script: impl Fn(&T) -> bool) -> Rows<T> {
        for (row, item) in self.table.rows.iter_mut().zip(&self.items) {
            row.is_for_script = is_for_script(item);
        }
        self
    }

    pub(crate) fn facet(mut self, name: &'static str, of: impl Fn(&T) -> String) -> Rows<T> {
        for (row, item) in self.table.rows.iter_mut().zip(&self.items) {
            row.facets.push((name, of(item)));
        }
        self
    }

    /// A section of a note and the table; without rows it says `nothing`.
    pub(crate) fn section(
        self,
        id: impl Into<Cow<'static, str>>,
        heading: impl Into<Phrase>,
        note: impl Into<Phrase>,
        nothing: &str,
    ) -> Section {
        let section = Section::new(id, heading);
        if self.items.is_empty() { section.paragraph(nothing) } else { section.paragraph(note).rows(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(columns: &[(&'static str, &'static str)], rows: &[&[&str]]) -> Section {
        let rows = rows.iter().map(|cells| Row::new(cells.iter().map(|words| Phrase::plain(*words)))).collect();
        Section::new("id", "Heading").paragraph("Newest first.").with(Table::new(columns, rows))
    }

    #[test]
    fn what_all_rows_have_in_common_is_a_note() {
        let columns = [("Suite", ""), ("Machine", "place"), ("Runs", "n opt2"), ("Change", "n push")];
        let result = section(&columns, &[&["a", "bench", "28", "1"], &["b", "bench", "28", "2"]]);
        let result = result.note_equal_columns(&["Machine", "Runs", "Change", "Nothing of it"]);
        let table = result.table().expect("it has rows");
        assert_eq!(result.prose(), "Newest first. In each row: machine bench, runs 28.");
        assert_eq!((table.columns.len(), table.rows[1].cells.len()), (2, 2));
        let single = section(&columns, &[&["a", "bench", "28", "1"]]);
        assert_eq!(single.clone().note_equal_columns(&["Machine"]), single);
    }
}
