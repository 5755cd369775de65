//! Histories in a table, one row a point: `series,index,commit,time,value`.
//!
//! `series` is any text; `index` is a whole number by which points are ordered; `commit` and `time` may be empty. Rows may
//! come in any order. Points of one index are several values of one commit: their median counts. A value that is empty,
//! `NaN` or infinite is left out and counted.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use csv::{ByteRecord, ReaderBuilder};

use sprag_base::stats::describe;

/// In any order; other columns are passed over.
pub const COLUMNS: [&str; 5] = ["series", "index", "commit", "time", "value"];

/// How many indices must have several rows that do not differ for a series to be exact.
const TELLING: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum SeriesTableError {
    #[error("line {line}: {reason}")]
    Row { line: u64, reason: String },
    #[error("line 1 has no column `{0}`")]
    Column(&'static str),
    #[error("line 1 has the column `{0}` more than once")]
    Twice(&'static str),
    #[error("it holds no point")]
    Nothing,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableSeries {
    pub name: String,
    /// The index of each point, in order.
    pub indices: Vec<u64>,
    pub values: Vec<f64>,
    /// The numbers of first points that are a count without noise: rows of one index never differ, and enough indices have
    /// several rows.
    pub exact: RangeInclusive<usize>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesTable {
    /// In the order of their first rows.
    pub series: Vec<TableSeries>,
    pub without_value: usize,
    /// How many rows share their index with another one of their series.
    pub pooled: usize,
    /// How many series had rows out of order.
    pub unordered: usize,
}

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
    // Rows of a series are mostly next to each other.
    let mut last: Option<usize> = None;
    while reader.read_byte_record(&mut record).map_err(row_fault)? {
        let line = record.position().map_or(0, csv::Position::line);
        let fault = |reason: String| SeriesTableError::Row { line, reason };
        // The name of a series is not trimmed.
        let cell = |place: usize| {
            let cell = record.get(place).unwrap_or_default();
            if place == series { cell } else { cell.trim_ascii() }
        };
        let text = |place: usize| {
            let shown = || String::from_utf8_lossy(cell(place)).escape_debug().to_string();
            std::str::from_utf8(cell(place)).map_err(|_| fault(format!("`{}` is not text", shown())))
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
            fault(format!("its index `{}` is not a whole number from 0 to 2^64 - 1", number.escape_debug()))
        })?;
        let shown = text(value)?;
        let result: f64 = match shown {
            "" => f64::NAN,
            shown => {
                shown.parse().map_err(|_| fault(format!("its value `{}` is not a number", shown.escape_debug())))?
            }
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
    use crate::golden::check_cases;

    #[test]
    fn cases_read_as_they_say() {
        check_cases("series-table", |outputs| {
            let table = read(&outputs[0].bytes).map_err(|error| error.to_string())?;
            let counts = [table.without_value, table.pooled, table.unordered];
            let series = table.series.iter().map(|one| {
                let points: Vec<_> = one.indices.iter().zip(&one.values).collect();
                let exact: Vec<usize> = (0..=one.values.len()).filter(|count| one.exact.contains(count)).collect();
                format!("{:?} {points:?}, exact in the first {exact:?}\n", one.name)
            });
            Ok(format!("{}without value, pooled, unordered: {counts:?}", series.collect::<String>()))
        });
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text in "(series|index|value|commit|time|,|\n|\"|[0-9a-z.-]){0,60}") {
            let _ = read(text.as_bytes());
            let _ = read(format!("series,index,commit,time,value\n{text}").as_bytes());
        }
    }
}
