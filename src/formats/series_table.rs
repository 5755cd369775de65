//! Histories in a table, one row a point: `series,index,commit,time,value`.
//!
//! `series` is any text; `index` is a whole number that tells the order, not of lines but of points; `commit` and `time` may be
//! empty. Rows of a series may stand anywhere and in any order. Points of one index are several values of one commit: their
//! median counts. A value that is empty, `NaN` or infinite is left out and counted.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use csv::{ByteRecord, ReaderBuilder};

use sprag_base::stats::describe;

/// The header, whose columns may stand in any order; others are passed over.
pub const COLUMNS: [&str; 5] = ["series", "index", "commit", "time", "value"];

/// How many indices must have several rows that do not differ for a series to be exact.
const TELLING: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum SeriesTableError {
    #[error("line {line}: {reason}")]
    Row { line: u64, reason: String },
    /// A column that must be there is not.
    #[error("line 1 has no column `{0}`")]
    Column(&'static str),
    /// A column that is there more than once: which of them counts, nobody says.
    #[error("line 1 has the column `{0}` more than once")]
    Twice(&'static str),
    #[error("it holds no point")]
    Nothing,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableSeries {
    pub name: String,
    /// What the table calls each point, in order.
    pub indices: Vec<u64>,
    pub values: Vec<f64>,
    /// How many of the first points tell that they are a count, without noise: in them the rows of one index never differ, and
    /// several rows have one often enough. What comes behind a point decides nothing about those up to it.
    pub exact: RangeInclusive<usize>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesTable {
    /// The series, in the order of their first rows.
    pub series: Vec<TableSeries>,
    pub without_value: usize,
    /// How many rows share their index with another one of their series.
    pub pooled: usize,
    /// How many series had rows out of order.
    pub unordered: usize,
}

/// Reads a table.
///
/// # Errors
/// Names the line and what is wrong with it.
pub fn read(bytes: &[u8]) -> Result<SeriesTable, SeriesTableError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = ReaderBuilder::new().has_headers(true).from_reader(bytes);
    let row_fault = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        let reason = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("it has {len} cells where the header has {expected_len}")
            }
            _ => error.to_string(),
        };
        SeriesTableError::Row { line, reason }
    };
    let header = reader.byte_headers().map_err(row_fault)?.clone();
    let places = |name: &'static str| {
        let named = header.iter().enumerate().filter(move |(_, cell)| cell.trim_ascii() == name.as_bytes());
        named.map(|(place, _)| place)
    };
    if let Some(twice) = COLUMNS.into_iter().find(|name| places(name).count() > 1) {
        return Err(SeriesTableError::Twice(twice));
    }
    let place = |name: &'static str| places(name).next().ok_or(SeriesTableError::Column(name));
    let (series, index, value) = (place("series")?, place("index")?, place("value")?);
    let mut table = SeriesTable::default();
    let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut rows: Vec<(String, Vec<(u64, f64)>)> = Vec::new();
    let mut record = ByteRecord::new();
    // Rows of a series mostly stand together.
    let mut last: Option<usize> = None;
    while reader.read_byte_record(&mut record).map_err(row_fault)? {
        let line = record.position().map_or(0, csv::Position::line);
        let fault = |reason: String| SeriesTableError::Row { line, reason };
        // A name is taken as it stands: what is found is told under it.
        let cell = |place: usize| {
            let cell = record.get(place).unwrap_or_default();
            if place == series { cell } else { cell.trim_ascii() }
        };
        let text = |place: usize| {
            let shown = || String::from_utf8_lossy(cell(place)).escape_debug().to_string();
            std::str::from_utf8(cell(place)).map_err(|_| fault(format!("`{}` is no text", shown())))
        };
        let name = cell(series);
        let row = match last.filter(|last| rows[*last].0.as_bytes() == name) {
            Some(row) => row,
            None => match places.get(name) {
                Some(row) => *row,
                None => {
                    let shown = text(series)?.to_owned();
                    if shown.trim().is_empty() {
                        return Err(fault("its series has no name".to_owned()));
                    }
                    places.insert(name.to_vec(), rows.len());
                    rows.push((shown, Vec::new()));
                    rows.len() - 1
                }
            },
        };
        last = Some(row);
        let number = text(index)?;
        let number: u64 = number.parse().map_err(|_| {
            fault(format!("its index `{}` is no whole number from 0 to 2^64 - 1", number.escape_debug()))
        })?;
        let shown = text(value)?;
        let result: f64 = match shown {
            "" => f64::NAN,
            shown => shown.parse().map_err(|_| fault(format!("its value `{}` is no number", shown.escape_debug())))?,
        };
        if result.is_finite() {
            rows[row].1.push((number, result));
        } else {
            table.without_value += 1;
        }
    }
    if rows.is_empty() {
        return Err(SeriesTableError::Nothing);
    }
    for (name, points) in rows {
        let (series, is_ordered, pooled) = ordered(name, points);
        table.series.push(series);
        table.unordered += usize::from(!is_ordered);
        table.pooled += pooled;
    }
    Ok(table)
}

/// A series in the order of its indices, one point each; whether it was in order, and how many points were pooled.
fn ordered(name: String, mut points: Vec<(u64, f64)>) -> (TableSeries, bool, usize) {
    let is_ordered = points.is_sorted_by_key(|point| point.0);
    points.sort_by_key(|point| point.0);
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    let (mut pooled, mut repeated) = (0, 0);
    let (mut first, mut last) = (usize::MAX, usize::MAX);
    for group in points.chunk_by(|a, b| a.0 == b.0) {
        if last == usize::MAX && group.iter().any(|point| point.1 != group[0].1) {
            last = indices.len();
        }
        indices.push(group[0].0);
        let result: Vec<f64> = group.iter().map(|point| point.1).collect();
        values.push(if result.len() == 1 { result[0] } else { describe::median(&result).unwrap_or(result[0]) });
        pooled += group.len() - 1;
        repeated += usize::from(group.len() > 1);
        if repeated >= TELLING {
            first = first.min(indices.len());
        }
    }
    let exact = first..=last.min(indices.len());
    (TableSeries { name, indices, values, exact }, is_ordered, pooled)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(name: &str, indices: &[u64], values: &[f64]) -> TableSeries {
        let exact = usize::MAX..=values.len();
        TableSeries { name: name.to_owned(), indices: indices.to_vec(), values: values.to_vec(), exact }
    }

    #[test]
    fn rows_that_repeat_themselves_are_exact() {
        let check = |last: &str, exact: [bool; 3]| {
            let rows: String =
                (0..5).map(|index| format!("a,{index},,,{}\na,{index},,,{}\n", 140 + index, 140 + index)).collect();
            let text = format!("series,index,commit,time,value\n{rows}{last}");
            let result = read(text.as_bytes()).expect("it is a table").series;
            assert_eq!([4, 5, 6].map(|count| result[0].exact.contains(&count)), exact, "{last}");
        };
        check("", [false, true, false]);
        check("a,6,,,3\n", [false, true, true]);
        check("a,4,,,144.5\n", [false, false, false]);
        // What differs later tells nothing of what stood before it.
        check("a,6,,,3\na,6,,,4\n", [false, true, false]);
    }

    #[test]
    fn a_table_is_read_in_the_order_of_its_indices() {
        let text = "series,index,commit,time,value\na,0,f0,1,1.5\nb,2,,,4\na,2,f2,3,2.5\na,1,f1,2,2\nb,2,,,8\nb,3,,,NaN\nb,4,,,\n";
        let result = read(text.as_bytes()).expect("it is a table");
        let differing = TableSeries { exact: RangeInclusive::new(usize::MAX, 0), ..series("b", &[2], &[6.0]) };
        assert_eq!(result.series, [series("a", &[0, 1, 2], &[1.5, 2.0, 2.5]), differing]);
        assert_eq!((result.without_value, result.pooled, result.unordered), (2, 1, 1));
        let other = "value,index,series,more\n1e-9,7,\"a, b\",x\n";
        assert_eq!(read(other.as_bytes()).expect("it is a table").series, [series("a, b", &[7], &[1e-9])]);
        // Numbers may have blanks beside them; a name is another name with them.
        let blanks = "index, value, series\n 7 , 1 ,a\n8, 2, a\n";
        let result = read(blanks.as_bytes()).expect("it is a table").series;
        assert_eq!(result, [series("a", &[7], &[1.0]), series(" a", &[8], &[2.0])]);
    }

    #[test]
    fn what_is_no_table_is_named_with_its_line() {
        let check = |text: &str, words: &str| {
            assert_eq!(read(text.as_bytes()).expect_err("it is none").to_string(), words, "{text}");
        };
        let head = "series,index,commit,time,value";
        check("", "line 1 has no column `series`");
        check("series,index,value_of\n", "line 1 has no column `value`");
        check("series,index,value,series\na,0,1,b\n", "line 1 has the column `series` more than once");
        check(&format!("{head}, time\na,0,,,1,\n"), "line 1 has the column `time` more than once");
        check(&format!("{head}\n"), "it holds no point");
        check(&format!("{head}\na,0,,,1\na,1,,\n"), "line 3: it has 4 cells where the header has 5");
        check(&format!("{head}\na,x,,,1\n"), "line 2: its index `x` is no whole number from 0 to 2^64 - 1");
        check(&format!("{head}\na,-1,,,1\n"), "line 2: its index `-1` is no whole number from 0 to 2^64 - 1");
        check(&format!("{head}\na,0,,,1 ms\n"), "line 2: its value `1 ms` is no number");
        for unnamed in ["", " "] {
            check(&format!("{head}\n{unnamed},0,,,1\n"), "line 2: its series has no name");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text in "(series|index|value|commit|time|,|\n|\"|[0-9a-z.-]){0,60}") {
            let _ = read(text.as_bytes());
            let _ = read(format!("series,index,commit,time,value\n{text}").as_bytes());
        }
    }
}
