//! Comma-separated tables with a header: every row as wide as it, no line without end, the line of a fault told.

use std::collections::BTreeMap;

use csv::{ReaderBuilder, StringRecord};

use super::outputs::schema;
use super::{FormatError, MOST_BENCHMARKS, json};
use sprag_model::foreign::Output;

/// The longest line, in bytes: none that a tool writes comes near it.
const LONGEST_LINE: usize = 1 << 20;

/// How far the header may lie from the beginning: the context that some tools print above it.
const FARTHEST_HEADER: usize = 64 << 10;

const MOST_COLUMNS: usize = 1_000;

/// The most rows: many times what a tool writes, as each is a benchmark.
const MOST_ROWS: usize = 10 * MOST_BENCHMARKS;

#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<String>,
    places: BTreeMap<String, usize>,
    rows: Vec<Row>,
}

#[derive(Debug)]
pub(super) struct Row {
    /// The line of the file that it begins in, counted from one.
    pub(super) line: u64,
    record: StringRecord,
}

impl Table {
    /// The rows, in the order of the file.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }

    /// What stands in a column of that name, without white space around it; nothing where there is no such column or
    /// the cell is empty.
    pub(super) fn cell<'a>(&self, row: &'a Row, column: &str) -> Option<&'a str> {
        row.record.get(*self.places.get(column)?).map(str::trim).filter(|cell| !cell.is_empty())
    }

    /// The cells of a row, each with the name of its column.
    pub(super) fn cells<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.columns.iter().map(String::as_str).zip(row.record.iter().map(str::trim))
    }
}

/// Whether a line near the beginning begins with `header`.
pub(super) fn begins(output: &Output, header: &str) -> bool {
    let start = output.bytes.get(..FARTHEST_HEADER).unwrap_or(&output.bytes);
    start.split(|byte| *byte == b'\n').any(|line| without_mark(line).starts_with(header.as_bytes()))
}

/// Reads the table that begins with the line that begins with `header`.
pub(super) fn read(output: &Output, header: &str) -> Result<Table, FormatError> {
    let text = json::text(output)?;
    let mut skipped = 0;
    let mut start = None;
    let mut place = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.len() > LONGEST_LINE {
            let reason = format!("has {} bytes in line {}, at most {LONGEST_LINE} are read", line.len(), number + 1);
            return Err(schema(output, reason));
        }
        if start.is_none() && place <= FARTHEST_HEADER && line.starts_with(header) {
            (start, skipped) = (Some(place), number as u64);
        }
        place += line.len();
    }
    let start = start.ok_or_else(|| schema(output, format!("has no header that begins with `{header}`")))?;
    let mut reader = ReaderBuilder::new().flexible(true).has_headers(false).from_reader(&text.as_bytes()[start..]);
    let mut table = Table { columns: Vec::new(), places: BTreeMap::new(), rows: Vec::new() };
    for record in reader.records() {
        let record = record.map_err(|error| schema(output, format!("is no table: {error}")))?;
        let line = skipped + record.position().map_or(1, |position| position.line());
        if table.columns.is_empty() {
            table.set_columns(output, &record)?;
        } else if table.rows.len() == MOST_ROWS {
            return Err(schema(output, format!("has a row in line {line} beyond the {MOST_ROWS} that are read")));
        } else if record.len() == table.columns.len() {
            table.rows.push(Row { line, record });
        } else {
            let (cells, columns) = (record.len(), table.columns.len());
            return Err(schema(output, format!("has {cells} cells in line {line}, its header has {columns}")));
        }
    }
    Ok(table)
}

impl Table {
    fn set_columns(&mut self, output: &Output, record: &StringRecord) -> Result<(), FormatError> {
        if record.len() > MOST_COLUMNS {
            return Err(schema(output, format!("has {} columns, at most {MOST_COLUMNS} are read", record.len())));
        }
        for (place, column) in record.iter().map(str::trim).enumerate() {
            if self.places.insert(column.to_owned(), place).is_some() {
                return Err(schema(output, format!("has the column `{}` twice", column.escape_debug())));
            }
            self.columns.push(column.to_owned());
        }
        Ok(())
    }
}

fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<Table, String> {
        let output = Output { name: "t.csv".to_owned(), bytes: text.as_bytes().to_vec() };
        assert_eq!(begins(&output, "a,b"), read(&output, "a,b").is_ok() || text.contains("a,b"), "{text:?}");
        read(&output, "a,b").map_err(|error| error.to_string())
    }

    #[test]
    fn cells_are_found_by_their_column() {
        let table = table("\u{feff}a,b\n1,\" x\"\"\ny \"\n,2\r\n").expect("it is a table");
        let rows: Vec<&Row> = table.rows().collect();
        let check = |row: usize, line: u64, a: Option<&str>, b: Option<&str>| {
            assert_eq!((rows[row].line, table.cell(rows[row], "a"), table.cell(rows[row], "b")), (line, a, b));
        };
        check(0, 2, Some("1"), Some("x\"\ny"));
        check(1, 4, None, Some("2"));
        assert_eq!(table.cell(rows[0], "c"), None);
        assert_eq!(table.cells(rows[1]).collect::<Vec<_>>(), [("a", ""), ("b", "2")]);
    }

    #[test]
    fn what_is_no_table_names_its_line() {
        let check = |text: &str, words: &str| {
            let error = table(text).expect_err("it is refused");
            assert!(error.starts_with("t.csv ") && error.contains(words), "{error}");
        };
        check("x,y\n1,2\n", "no header that begins with `a,b`");
        check("# context\na,b\n1,2\n1,2,3\n", "3 cells in line 4, its header has 2");
        check("a,b,a\n", "the column `a` twice");
        check(&format!("a,b\n{}", "x".repeat(LONGEST_LINE + 1)), "1048577 bytes in line 2");
        check("", "is empty");
        check(&format!("a,b\n{}", ",\n".repeat(MOST_ROWS + 1)), "line 50002 beyond the 50000");
    }
}
