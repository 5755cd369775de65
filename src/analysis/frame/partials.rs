//! What is found in series as rows, one a series: the result of a part of an analysis.

use std::io::{Cursor, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;

use super::parquet::{ParquetError, file_of};
use super::points::{RowsError, Texts, parquet_batches};

/// A series of a partial result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartialRow {
    pub series: String,
    /// What it was detected from, and by which version.
    pub dataset: String,
    pub sprag: String,
    pub points: usize,
    pub changes: usize,
    pub drifts: usize,
    /// All that is found, as only this version of the program reads it.
    pub detection: Vec<u8>,
}

fn batch(rows: &[PartialRow]) -> Result<RecordBatch, ArrowError> {
    let text =
        |of: fn(&PartialRow) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(of))) };
    let number = |of: fn(&PartialRow) -> usize| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| i64::try_from(of(row)).unwrap_or(i64::MAX))))
    };
    let detections: ArrayRef = Arc::new(BinaryArray::from_iter_values(rows.iter().map(|row| &row.detection)));
    RecordBatch::try_from_iter([
        ("series", text(|row| &row.series)),
        ("dataset", text(|row| &row.dataset)),
        ("sprag", text(|row| &row.sprag)),
        ("points", number(|row| row.points)),
        ("changes", number(|row| row.changes)),
        ("drifts", number(|row| row.drifts)),
        ("found", detections),
    ])
}

/// # Errors When the rows cannot be written.
pub fn partials_file(rows: &[PartialRow]) -> Result<Vec<u8>, ParquetError> {
    file_of("partials", &batch(rows)?, &["dataset", "sprag"])
}

/// Writes them as a stream of Arrow.
pub fn write_partials_stream(rows: &[PartialRow], out: &mut dyn Write) -> Result<(), RowsError> {
    let batch = batch(rows)?;
    let mut writer = StreamWriter::try_new(out, &batch.schema())?;
    writer.write(&batch)?;
    Ok(writer.finish()?)
}

/// Of a file of Parquet or Arrow, or of what [`write_partials_stream`] wrote.
///
/// # Errors When it is none of these, or lacks a column.
pub fn read_partials(file: Vec<u8>) -> Result<Vec<PartialRow>, RowsError> {
    let mut rows = Vec::new();
    let batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>> = match file {
        file if file.starts_with(b"PAR1") => Box::new(parquet_batches(file)?),
        file if file.starts_with(b"ARROW1") => Box::new(FileReader::try_new(Cursor::new(file), None)?),
        file => Box::new(StreamReader::try_new(Cursor::new(file), None)?),
    };
    for batch in batches {
        let batch = batch?;
        let texts = |name| Texts::column(&batch, name);
        let (series, dataset, sprag) = (texts("series")?, texts("dataset")?, texts("sprag")?);
        let column = batch.column_by_name("found").filter(|column| column.null_count() == 0);
        let bytes = |place: usize| -> Option<&[u8]> {
            let column = column?;
            let plain = || column.as_binary_opt::<i32>().map(|column| column.value(place));
            let large = || column.as_binary_opt::<i64>().map(|column| column.value(place));
            plain().or_else(large).or_else(|| column.as_binary_view_opt().map(|column| column.value(place)))
        };
        for place in 0..batch.num_rows() {
            rows.push(PartialRow {
                series: series.get(place).to_owned(),
                dataset: dataset.get(place).to_owned(),
                sprag: sprag.get(place).to_owned(),
                detection: bytes(place).ok_or(RowsError::Column("found", "bytes"))?.to_vec(),
                ..PartialRow::default()
            });
        }
    }
    Ok(rows)
}
