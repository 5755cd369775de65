//! Tables made column by column: each column says its head, its class and what its cells hold of a row.

use std::borrow::Cow;

use super::{Cell, Column, Row, Section, Table};
use crate::number::{count, counted};
use crate::phrase::Phrase;

/// A table in the making.
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

    /// Groups of rows, each below its heading.
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

    /// Only the first rows; a sentence below the table says how many there are beyond.
    pub(crate) fn first(mut self, most: usize) -> Rows<T> {
        self.left_out += self.items.len().saturating_sub(most);
        self.items.truncate(most);
        self.table.rows.truncate(most);
        self
    }

    /// A column: its head, the classes of its cells, and what these hold.
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

    /// Tints the rows that are bad.
    pub(crate) fn tint(mut self, is_bad: impl Fn(&T) -> bool) -> Rows<T> {
        for (row, item) in self.table.rows.iter_mut().zip(&self.items) {
            row.bad = is_bad(item);
        }
        self
    }

    /// A section of the table and the note above it, or of a sentence where there is no row.
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

impl Section {
    /// The section with a table at its end, and how many rows that leaves out.
    pub(crate) fn rows<T>(self, rows: Rows<T>) -> Section {
        let more = counted(rows.left_out, "more row is", "more rows are");
        let section = self.with(rows.table);
        if rows.left_out > 0 { section.paragraph(format!("{more} not listed here.")) } else { section }
    }
}
