//! Comma-separated tables with a header: every row is as wide as it, lines are bounded, and a fault has its line.

use csv::{ReaderBuilder, StringRecord};
use serde_json::{Number, Value};

use super::outputs::schema;
use super::{FormatError, MOST_BENCHMARKS, json};
use sprag_model::foreign::Output;

/// In bytes: no tool writes such a line.
const LONGEST_LINE: usize = 1 << 20;

/// How far the header may be from the beginning: some tools print the context above it.
const FARTHEST_HEADER: usize = 64 << 10;

const MOST_COLUMNS: usize = 1_000;

const MOST_ROWS: usize = 3 * MOST_BENCHMARKS;

#[derive(Debug)]
pub(super) struct Row {
    /// The line of the file on which it begins, from one.
    pub(super) line: u64,
    /// The cells that are not empty, by their columns.
    pub(super) cells: Value,
}

/// Whether a line near the beginning begins with `header`.
pub(super) fn begins(output: &Output, header: &str) -> bool {
    let start = output.bytes.get(..FARTHEST_HEADER).unwrap_or(&output.bytes);
    start.split(|byte| *byte == b'\n').any(|line| without_mark(line).starts_with(header.as_bytes()))
}

/// Reads the rows of the table that begins with the line that begins with `header`. In columns other than those of text,
/// a number becomes one, and so does `true`.
pub(super) fn rows(output: &Output, header: &str, is_text: impl Fn(&str) -> bool) -> Result<Vec<Row>, FormatError> {
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
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(|error| schema(output, format!("is not a table: {error}")))?;
        let line = skipped + record.position().map_or(1, |position| position.line());
        if columns.is_empty() {
            columns = header_of(output, &record)?;
        } else if rows.len() == MOST_ROWS {
            return Err(schema(output, format!("has a row in line {line} beyond the {MOST_ROWS} that are read")));
        } else if record.len() != columns.len() {
            let (cells, columns) = (record.len(), columns.len());
            return Err(schema(output, format!("has {cells} cells in line {line}, its header has {columns}")));
        } else {
            let cells = columns.iter().zip(record.iter().map(str::trim)).filter(|(_, cell)| !cell.is_empty());
            let value = |column: &String, cell: &str| match cell.parse().ok().and_then(Number::from_f64) {
                _ if is_text(column) => Value::from(cell),
                Some(number) => Value::Number(number),
                None if cell == "true" => Value::Bool(true),
                None => Value::from(cell),
            };
            rows.push(Row { line, cells: cells.map(|(column, cell)| (column.clone(), value(column, cell))).collect() });
        }
    }
    Ok(rows)
}

fn header_of(output: &Output, record: &StringRecord) -> Result<Vec<String>, FormatError> {
    if record.len() > MOST_COLUMNS {
        return Err(schema(output, format!("has {} columns, at most {MOST_COLUMNS} are read", record.len())));
    }
    let columns: Vec<String> = record.iter().map(|column| column.trim().to_owned()).collect();
    match columns.iter().enumerate().find(|(place, column)| columns[..*place].contains(column)) {
        Some((_, twice)) => Err(schema(output, format!("has the column `{}` twice", twice.escape_debug()))),
        None => Ok(columns),
    }
}

fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table(text: &str) -> Result<Vec<Row>, String> {
        let output = Output { name: "t.csv".to_owned(), bytes: text.as_bytes().to_vec() };
        let read = rows(&output, "a,b", |column| column == "a").map_err(|error| error.to_string());
        assert_eq!(begins(&output, "a,b"), read.is_ok() || text.contains("a,b"), "{text:?}");
        read
    }

    #[test]
    fn cells_are_under_their_columns() {
        let rows = table("\u{feff}a,b\n1,\" x\"\"\ny \"\n,2\nnan,inf\r\n").expect("it is a table");
        let rows: Vec<(u64, &Value)> = rows.iter().map(|row| (row.line, &row.cells)).collect();
        let expected = [json!({"a": "1", "b": "x\"\ny"}), json!({"b": 2.0}), json!({"a": "nan", "b": "inf"})];
        assert_eq!(rows, [(2, &expected[0]), (4, &expected[1]), (5, &expected[2])]);
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
        check(&format!("a,b\n{}", ",\n".repeat(MOST_ROWS + 1)), "line 60002 beyond the 60000");
    }
}
