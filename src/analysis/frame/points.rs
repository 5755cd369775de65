//! The points of series as rows, which engines spread over machines: written as Parquet, read as Parquet or as a stream of
//! Arrow. An engine may have turned text into any of Arrow's kinds of it.

use std::io::Read;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, LargeStringArray, RecordBatch, StringArray,
    StringViewArray, TimestampMicrosecondArray,
};
use arrow_ipc::reader::StreamReader;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression::{self, SNAPPY, UNCOMPRESSED, ZSTD};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::parquet::{ParquetError, file_of};
use sprag_model::Point;

const BATCH_ROWS: usize = 1 << 16;

/// A point of a series.
pub struct PointRow<'a> {
    pub series: &'a str,
    pub run: &'a str,
    pub value: f64,
    pub workers: &'a [f64],
}

/// Why rows cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    #[error(transparent)]
    Arrow(#[from] arrow_schema::ArrowError),
    #[error("there is no column `{0}` of {1} without gaps")]
    Column(&'static str, &'static str),
    #[error("its footer has more than {0} bytes")]
    Footer(u32),
    #[error("it is compressed with {0}")]
    Codec(Compression),
}

/// A file of series, each with those of its points that belong in it.
pub fn points_file(series: &[(&str, Vec<&Point>)]) -> Result<Vec<u8>, ParquetError> {
    let points = || series.iter().flat_map(|(_, points)| points.iter().copied());
    let rows = points().count();
    let (mut of_series, mut of_runs) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let (mut runs, mut numbers): (Vec<&Point>, Vec<Option<i32>>) = (Vec::new(), Vec::new());
    let first = points().map(|point| point.rank).min().unwrap_or_default();
    for ((_, points), number) in series.iter().zip(0_i32..) {
        for point in points {
            let place = point.rank - first;
            numbers.resize(numbers.len().max(place + 1), None);
            let of_run = *numbers[place].get_or_insert_with(|| {
                runs.push(point);
                i32::try_from(runs.len() - 1).unwrap_or(i32::MAX)
            });
            of_series.push(number);
            of_runs.push(of_run);
        }
    }
    let mut workers = ListBuilder::new(Float64Builder::with_capacity(rows));
    for point in points() {
        workers.values().append_slice(&point.workers);
        workers.append(true);
    }
    let words = |keys: Vec<i32>, words: StringArray| -> Result<ArrayRef, arrow_schema::ArrowError> {
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), Arc::new(words))?))
    };
    let of_run = |text: fn(&Point) -> &str| StringArray::from_iter_values(runs.iter().map(|point| text(point)));
    let times = TimestampMicrosecondArray::from_iter_values(points().map(|point| point.time.timestamp_micros()));
    let columns: [(&str, ArrayRef); 7] = [
        ("series", words(of_series, StringArray::from_iter_values(series.iter().map(|one| one.0)))?),
        ("run", words(of_runs.clone(), of_run(|point| &point.run))?),
        ("commit", words(of_runs.clone(), of_run(|point| &point.commit))?),
        ("environment_key", words(of_runs, of_run(|point| &point.environment_key))?),
        ("run_time", Arc::new(times.with_timezone("UTC"))),
        ("value", Arc::new(Float64Array::from_iter_values(points().map(|point| point.value)))),
        ("workers", Arc::new(workers.finish())),
    ];
    file_of("points", &RecordBatch::try_from_iter(columns)?, &["series", "run", "commit", "environment_key"])
}

/// Reads the rows of a file of points.
pub fn read_points(file: Vec<u8>, take: &mut dyn FnMut(PointRow<'_>)) -> Result<(), RowsError> {
    parquet_batches(file)?.try_for_each(|batch| each_row(&batch?, take))
}

pub(super) fn parquet_batches(file: Vec<u8>) -> Result<ParquetRecordBatchReader, RowsError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file))?;
    let columns = builder.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
    let is_read = |codec: &Compression| matches!(codec, UNCOMPRESSED | SNAPPY | ZSTD(_));
    match columns.map(ColumnChunkMetaData::compression).find(|codec| !is_read(codec)) {
        Some(codec) => Err(RowsError::Codec(codec)),
        None => Ok(builder.with_batch_size(BATCH_ROWS).build()?),
    }
}

/// Reads the rows of a stream of Arrow.
pub fn read_points_stream(input: impl Read, take: &mut dyn FnMut(PointRow<'_>)) -> Result<(), RowsError> {
    StreamReader::try_new_buffered(input, None)?.try_for_each(|batch| each_row(&batch?, take))
}

fn each_row(batch: &RecordBatch, take: &mut dyn FnMut(PointRow<'_>)) -> Result<(), RowsError> {
    let (series, run) = (Texts::column(batch, "series")?, Texts::column(batch, "run")?);
    let missing = |name, kind| RowsError::Column(name, kind);
    let column = |name, kind| {
        let column = batch.column_by_name(name).filter(|column| column.null_count() == 0);
        column.ok_or(missing(name, kind))
    };
    let numbers = |of: &'_ ArrayRef| of.as_primitive_opt::<Float64Type>().map(|numbers| numbers.values().clone());
    let values = numbers(column("value", "numbers")?).ok_or(missing("value", "numbers"))?;
    let list = column("workers", "lists of numbers")?;
    let ends = |offsets: &[i64]| offsets.iter().map(|end| usize::try_from(*end).unwrap_or_default()).collect();
    let (offsets, workers): (Vec<usize>, _) = if let Some(list) = list.as_list_opt::<i32>() {
        (ends(&list.value_offsets().iter().map(|end| i64::from(*end)).collect::<Vec<_>>()), list.values())
    } else {
        let list = list.as_list_opt::<i64>().ok_or(missing("workers", "lists of numbers"))?;
        (ends(list.value_offsets()), list.values())
    };
    let workers = numbers(workers).ok_or(missing("workers", "lists of numbers"))?;
    for (place, value) in values.iter().enumerate() {
        let workers = &workers[offsets[place]..offsets[place + 1]];
        take(PointRow { series: series.get(place), run: run.get(place), value: *value, workers });
    }
    Ok(())
}

pub(super) enum Texts<'a> {
    Plain(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
    Numbered(&'a [i32], &'a StringArray),
}

impl<'a> Texts<'a> {
    pub(super) fn column(batch: &'a RecordBatch, name: &'static str) -> Result<Texts<'a>, RowsError> {
        let column = batch.column_by_name(name).filter(|column| column.null_count() == 0);
        let texts = column.and_then(|column| {
            let plain = || column.as_string_opt::<i32>().map(Texts::Plain);
            let large = || column.as_string_opt::<i64>().map(Texts::Large);
            let view = || column.as_string_view_opt().map(Texts::View);
            let numbered = || {
                let words = column.as_dictionary_opt::<Int32Type>()?;
                Some(Texts::Numbered(words.keys().values(), words.values().as_string_opt()?))
            };
            plain().or_else(large).or_else(view).or_else(numbered)
        });
        texts.ok_or(RowsError::Column(name, "text"))
    }

    pub(super) fn get(&self, place: usize) -> &'a str {
        match self {
            Texts::Plain(texts) => texts.value(place),
            Texts::Large(texts) => texts.value(place),
            Texts::View(texts) => texts.value(place),
            Texts::Numbered(keys, words) => words.value(usize::try_from(keys[place]).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::fixture::{frame, runs_of};
    use crate::frame::{PartialRow, partials_file, read_partials, write_partials_stream};
    use arrow_array::builder::LargeListBuilder;
    use arrow_ipc::writer::{FileWriter, StreamWriter};
    use parquet::arrow::arrow_reader::ArrowReaderMetadata;
    use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataWriter};

    type Read = Vec<(String, String, f64, Vec<f64>)>;

    fn read(read: impl FnOnce(&mut dyn FnMut(PointRow<'_>)) -> Result<(), RowsError>) -> Result<Read, RowsError> {
        let mut rows = Vec::new();
        let mut take = |row: PointRow<'_>| {
            rows.push((row.series.to_owned(), row.run.to_owned(), row.value, row.workers.to_vec()));
        };
        read(&mut take).map(|()| rows)
    }

    #[test]
    fn points_read_back_from_a_file() {
        let mut series = frame(&runs_of(&[("a", "time", 1, 1.0), ("a", "time", 2, 2.0), ("b", "time", 2, 3.0)])).series;
        series[0].points[1].workers = [1.5, 2.5].into();
        let all: Vec<(&str, Vec<&Point>)> =
            series.iter().map(|one| (one.id.as_str(), one.points.iter().collect())).collect();
        let file = points_file(&all).expect("plain rows");
        let row = |one: usize, run: &str, value: f64, workers: &[f64]| {
            (series[one].id.clone(), run.to_owned(), value, workers.to_vec())
        };
        let expected = [row(0, "r0", 1.0, &[]), row(0, "r1", 2.0, &[1.5, 2.5]), row(1, "r2", 3.0, &[])];
        assert_eq!(read(|take| read_points(file.clone(), take)).expect("it was just written"), expected);
        let length = file.len();
        assert!(
            [0, 7, length / 2, length - 1].iter().all(|end| read_points(file[..*end].to_vec(), &mut |_| ()).is_err())
        );
        let row = PartialRow { series: "a".to_owned(), detection: vec![1, 2], ..PartialRow::default() };
        let partials = partials_file(std::slice::from_ref(&row)).expect("plain rows");
        let mut stream = Vec::new();
        write_partials_stream(std::slice::from_ref(&row), &mut stream).expect("plain rows");
        let [batch] = &StreamReader::try_new(stream.as_slice(), None)
            .expect("it was just written")
            .collect::<Result<Vec<_>, _>>()
            .expect("batches")[..]
        else {
            panic!("one batch")
        };
        let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).expect("a file");
        file.write(batch).expect("a batch");
        for written in [partials.clone(), file.into_inner().expect("a file"), stream] {
            assert_eq!(read_partials(written).expect("it was just written"), std::slice::from_ref(&row));
        }
        assert!(read_points(partials, &mut |_| ()).is_err_and(|error| error.to_string().contains("no column `run`")));
    }

    #[test]
    fn a_file_in_another_compression_is_refused_by_its_metadata() {
        let mut file = partials_file(&[PartialRow::default()]).expect("plain rows");
        let footer = ArrowReaderMetadata::load(&Bytes::from(file.clone()), Default::default()).expect("a footer");
        let gzip = Compression::GZIP(Default::default());
        let changed = |column: &ColumnChunkMetaData| column.clone().into_builder().set_compression(gzip).build();
        let group = footer.metadata().row_group(0);
        let columns = group.columns().iter().map(changed).collect::<Result<_, _>>().expect("columns");
        let group = group.clone().into_builder().set_column_metadata(columns).build().expect("a group");
        let footer = ParquetMetaData::clone(footer.metadata()).into_builder().set_row_groups(vec![group]).build();
        ParquetMetaDataWriter::new(&mut file, &footer).finish().expect("it is written");
        assert!(matches!(read_partials(file.clone()), Err(RowsError::Codec(codec)) if codec == gzip));
        assert!(matches!(read_points(file, &mut |_| ()), Err(RowsError::Codec(_))));
    }

    #[test]
    fn engines_may_write_texts_and_lists_of_other_kinds() {
        let mut workers = LargeListBuilder::new(Float64Builder::new());
        workers.append_value([Some(1.0), Some(2.0)]);
        workers.append_value([]);
        let columns: [(&str, ArrayRef); 5] = [
            ("bucket", Arc::new(Int32Array::from(vec![1, 1]))),
            ("series", Arc::new(LargeStringArray::from(vec!["a", "b"]))),
            ("run", Arc::new(StringViewArray::from(vec!["r", "s"]))),
            ("value", Arc::new(Float64Array::from(vec![1.5, 3.0]))),
            ("workers", Arc::new(workers.finish())),
        ];
        let batch = RecordBatch::try_from_iter(columns).expect("columns of two rows");
        let stream = |batch: &RecordBatch| {
            let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a stream");
            writer.write(batch).expect("a batch");
            writer.into_inner().expect("a stream")
        };
        let of = |bytes: &[u8]| read(|take| read_points_stream(bytes, take));
        let expected = [("a".into(), "r".into(), 1.5, vec![1.0, 2.0]), ("b".into(), "s".into(), 3.0, Vec::new())];
        assert_eq!(of(&stream(&batch)).expect("a stream"), expected);
        let without = |column: usize| {
            let mut batch = batch.clone();
            batch.remove_column(column);
            of(&stream(&batch)).expect_err("it lacks a column").to_string()
        };
        assert_eq!(without(1), "there is no column `series` of text without gaps");
        assert_eq!(without(3), "there is no column `value` of numbers without gaps");
        assert!(of(b"").is_err() && of(b"series,run\n").is_err());
    }
}
