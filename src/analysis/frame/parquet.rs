//! Flat rows as Parquet.
//!
//! Moments are microseconds in UTC, since some readers know no finer ones; whole numbers are signed. Text is encoded by
//! a dictionary, pages are compressed by Zstandard, rows lie by benchmark and then in the order of commits, and a row
//! group holds about a million of them. Equal rows give equal bytes.

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListBuilder, StringDictionaryBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, TimestampMicrosecondType};
use arrow_array::{Array as _, ArrayRef, RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

use sprag_model::flat;
use sprag_model::flat::{Cell, ColumnKind, Row, Table};

const GROUP_ROWS: usize = 1 << 20;

/// The columns that decide where a row lies, as far as a table has them.
const ORDER: [&str; 6] = ["series", "commit_time", "run_time", "run_id", "version", "metric"];

/// Why rows cannot be written as Parquet.
#[derive(Debug, thiserror::Error)]
#[error("write rows as Parquet")]
pub struct ParquetError(#[from] parquet::errors::ParquetError);

impl From<arrow_schema::ArrowError> for ParquetError {
    fn from(error: arrow_schema::ArrowError) -> ParquetError {
        ParquetError(error.into())
    }
}

pub struct ParquetFile {
    table: Table,
    columns: Vec<(&'static flat::Column, Cells)>,
    rows: usize,
}

enum Cells {
    Text(StringDictionaryBuilder<Int32Type>),
    Small(Int32Builder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Time(TimestampMicrosecondBuilder),
    Flag(BooleanBuilder),
    Numbers(ListBuilder<Float64Builder>),
}

impl ParquetFile {
    /// A file of that table; columns named in `without` are left to the names of folders.
    pub fn new(table: Table, without: &[&str]) -> ParquetFile {
        let columns = table.columns().filter(|column| !without.contains(&column.name));
        let columns = columns.map(|column| (column, Cells::new(column.kind))).collect();
        ParquetFile { table, columns, rows: 0 }
    }

    pub fn push(&mut self, row: &Row<'_>) {
        for (column, cells) in &mut self.columns {
            cells.push((column.cell)(row));
        }
        self.rows += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The bytes of the file.
    pub fn into_bytes(self) -> Result<Vec<u8>, ParquetError> {
        let columns = self.columns.into_iter().map(|(column, mut cells)| (column.name, cells.finish(), true));
        let rows = in_order(&RecordBatch::try_from_iter_with_nullable(columns)?)?;
        file_of(self.table.name, &rows, &[])
    }
}

/// Rows as a file of that table. Where `repeated` names columns, a dictionary is for these alone.
pub(super) fn file_of(table: &str, rows: &RecordBatch, repeated: &[&str]) -> Result<Vec<u8>, ParquetError> {
    let about = [("sprag.table", table.to_owned()), ("sprag.schema_version", flat::SCHEMA_VERSION.to_string())];
    let about = about.into_iter().map(|(name, value)| KeyValue::new(name.to_owned(), value)).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(repeated.is_empty())
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(about));
    let with_dictionary = |properties: WriterPropertiesBuilder, name: &&str| {
        properties.set_column_dictionary_enabled((*name).into(), true)
    };
    let properties = repeated.iter().fold(properties, with_dictionary).build();
    // Readers would take text for categories by Arrow's own metadata.
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, rows.schema(), options)?;
    writer.write(rows)?;
    writer.close()?;
    Ok(bytes)
}

/// Rows that agree in every column of [`ORDER`] stay in the order of their pushes; what is absent comes first.
fn in_order(rows: &RecordBatch) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let count = u32::try_from(rows.num_rows()).map_err(|_| too_many_rows())?;
    let columns = ORDER.into_iter().filter_map(|name| rows.column_by_name(name));
    let ranks: Vec<Vec<Option<i64>>> = columns.map(ranks).collect();
    let mut order: Vec<u32> = (0..count).collect();
    order.sort_by(|a, b| {
        let [a, b] = [a, b].map(|place| ranks.iter().map(|ranks| ranks[*place as usize]));
        a.cmp(b)
    });
    take_record_batch(rows, &UInt32Array::from(order))
}

/// Numbers in the order of the values of the column, which has text, moments or small integers.
fn ranks(column: &ArrayRef) -> Vec<Option<i64>> {
    if let Some(moments) = column.as_primitive_opt::<TimestampMicrosecondType>() {
        return moments.iter().collect();
    }
    let Some(text) = column.as_dictionary_opt::<Int32Type>() else {
        return column.as_primitive::<Int32Type>().iter().map(|number| number.map(i64::from)).collect();
    };
    let words = text.values().as_string::<i32>();
    let mut sorted: Vec<usize> = (0..words.len()).collect();
    sorted.sort_by_key(|place| words.value(*place));
    let mut of_word = vec![0; words.len()];
    sorted.into_iter().zip(0..).for_each(|(place, rank)| of_word[place] = rank);
    text.keys().iter().map(|key| Some(of_word[usize::try_from(key?).ok()?])).collect()
}

fn too_many_rows() -> arrow_schema::ArrowError {
    arrow_schema::ArrowError::InvalidArgumentError("a file takes at most 4,294,967,295 rows".to_owned())
}

impl Cells {
    fn new(kind: ColumnKind) -> Cells {
        match kind {
            ColumnKind::Text => Cells::Text(StringDictionaryBuilder::new()),
            ColumnKind::Small => Cells::Small(Int32Builder::new()),
            ColumnKind::Integer => Cells::Integer(Int64Builder::new()),
            ColumnKind::Number => Cells::Number(Float64Builder::new()),
            ColumnKind::Time => Cells::Time(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
            ColumnKind::Flag => Cells::Flag(BooleanBuilder::new()),
            ColumnKind::Numbers => Cells::Numbers(ListBuilder::new(Float64Builder::new())),
        }
    }

    /// Takes a cell. One that does not fit its column is left empty: the table's tests see to it that none comes.
    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Cells::Text(cells), Cell::Text(text)) => cells.append_value(text),
            (Cells::Text(cells), _) => cells.append_null(),
            (Cells::Small(cells), Cell::Integer(number)) => cells.append_option(i32::try_from(number).ok()),
            (Cells::Small(cells), _) => cells.append_null(),
            (Cells::Integer(cells), Cell::Integer(number)) => cells.append_value(number),
            (Cells::Integer(cells), _) => cells.append_null(),
            (Cells::Number(cells), Cell::Number(number)) => cells.append_value(number),
            (Cells::Number(cells), _) => cells.append_null(),
            (Cells::Time(cells), Cell::Time(time)) => cells.append_value(time.timestamp_micros()),
            (Cells::Time(cells), _) => cells.append_null(),
            (Cells::Flag(cells), Cell::Flag(flag)) => cells.append_value(flag),
            (Cells::Flag(cells), _) => cells.append_null(),
            (Cells::Numbers(cells), Cell::Numbers(numbers)) => {
                cells.values().append_slice(numbers);
                cells.append(true);
            }
            (Cells::Numbers(cells), _) => cells.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        let cells: &mut dyn ArrayBuilder = match self {
            Cells::Text(cells) => cells,
            Cells::Small(cells) => cells,
            Cells::Integer(cells) => cells,
            Cells::Number(cells) => cells,
            Cells::Time(cells) => cells,
            Cells::Flag(cells) => cells,
            Cells::Numbers(cells) => cells,
        };
        cells.finish()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Float64Type;
    use arrow_schema::{DataType, TimeUnit};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

    use super::*;
    use sprag_model::RecordedRun;
    use sprag_model::flat::example::{recorded, skipped};
    use sprag_model::flat::{BENCHMARKS, SAMPLES, benchmark_rows, value_rows};

    fn bytes(table: Table, runs: &[&RecordedRun]) -> Vec<u8> {
        let mut file = ParquetFile::new(table, &["suite"]);
        for run in runs {
            let rows = if table.name == SAMPLES.name { value_rows(run) } else { benchmark_rows(run) };
            rows.iter().for_each(|row| file.push(row));
        }
        file.into_bytes().expect("the rows are plain")
    }

    fn read(bytes: Vec<u8>) -> RecordBatch {
        let mut batches = ParquetRecordBatchReader::try_new(bytes::Bytes::from(bytes), 1024).expect("it is Parquet");
        batches.next().expect("there are rows").expect("they can be read")
    }

    #[test]
    fn what_is_written_reads_back() {
        let (recorded, skipped) = (recorded(), skipped());
        let rows = read(bytes(BENCHMARKS, &[&recorded, &skipped]));
        assert_eq!(rows.num_rows(), 4);
        let column = |name: &str| rows.column_by_name(name).expect("the column is there");
        // By series, those without one first.
        let kernels: Vec<_> = column("kernel").as_string::<i32>().iter().collect();
        assert_eq!(kernels, [None, Some("merge"), Some("sort"), Some("tile_pack")]);
        let times: Vec<_> = column("time_s").as_primitive::<Float64Type>().iter().collect();
        assert_eq!(times, [None, None, Some(2.0), Some(0.25)]);
        let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        assert_eq!(column("run_time").data_type(), &micros);
        assert_eq!(column("peak_bytes").data_type(), &DataType::Int64);
        assert_eq!(column("c").data_type(), &DataType::Int32);
        assert!(rows.column_by_name("suite").is_none(), "the folders name the suite");
        let rows = read(bytes(SAMPLES, &[&recorded]));
        let samples = rows.column_by_name("samples").expect("the column is there").as_list::<i32>();
        let list = |one: ArrayRef| one.as_primitive::<Float64Type>().values().to_vec();
        let lists: Vec<Option<Vec<f64>>> = samples.iter().map(|one| one.map(list)).collect();
        assert!(lists.contains(&Some(vec![0.2, 0.25, 0.3])) && lists.contains(&Some(Vec::new())), "{lists:?}");
    }

    #[test]
    fn equal_rows_in_any_order_give_equal_bytes() {
        let (recorded, skipped) = (recorded(), skipped());
        for table in [BENCHMARKS, SAMPLES] {
            assert_eq!(bytes(table, &[&recorded, &skipped]), bytes(table, &[&skipped, &recorded]), "{}", table.name);
        }
    }
}
