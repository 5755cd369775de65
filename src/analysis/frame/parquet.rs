//! Flat rows as Parquet.
//!
//! Moments are microseconds in UTC, since some readers know no finer ones; whole numbers are signed. Text is encoded by
//! a dictionary, pages are compressed by Zstandard, rows lie by benchmark and then in the order of commits, and a row
//! group holds about a million of them. Equal rows give equal bytes.

use polars_core::prelude::*;
use polars_io::parquet::write::{KeyValueMetadata, ParquetCompression, ParquetWriter, StatisticsOptions};

use sprag_model::flat::{self, Cell, Kind, Row, Table};

const GROUP_ROWS: usize = 1 << 20;

/// The columns that decide where a row lies, as far as a table has them.
const ORDER: [&str; 6] = ["series", "commit_time", "run_time", "run_id", "version", "metric"];

/// Why rows cannot be written as Parquet.
#[derive(Debug, thiserror::Error)]
#[error("write rows as Parquet")]
pub struct ParquetError(#[from] PolarsError);

pub struct ParquetFile {
    table: Table,
    columns: Vec<(&'static flat::Column, Cells)>,
    rows: usize,
}

enum Cells {
    Text(StringChunkedBuilder),
    Small(PrimitiveChunkedBuilder<Int32Type>),
    Integer(PrimitiveChunkedBuilder<Int64Type>),
    Number(PrimitiveChunkedBuilder<Float64Type>),
    Time(PrimitiveChunkedBuilder<Int64Type>),
    Flag(BooleanChunkedBuilder),
    Numbers(ListPrimitiveChunkedBuilder<Float64Type>),
}

impl ParquetFile {
    /// A file of that table; columns named in `without` are left to the names of folders.
    pub fn new(table: Table, without: &[&str]) -> ParquetFile {
        let columns = table.columns().filter(|column| !without.contains(&column.name));
        let columns = columns.map(|column| (column, Cells::new(column.name, column.kind))).collect();
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
    ///
    /// # Errors
    /// When polars cannot sort or write the rows.
    pub fn into_bytes(self) -> Result<Vec<u8>, ParquetError> {
        let order: Vec<&str> =
            ORDER.into_iter().filter(|name| self.columns.iter().any(|(column, _)| column.name == *name)).collect();
        let columns = self.columns.into_iter().map(|(_, cells)| cells.into_column()).collect();
        let options = SortMultipleOptions::default().with_maintain_order(true);
        let mut frame = DataFrame::new(self.rows, columns)?.sort(order, options)?;
        let about =
            [("sprag.table", self.table.name.to_owned()), ("sprag.schema_version", flat::SCHEMA_VERSION.to_string())];
        let about = about.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let mut bytes = Vec::new();
        ParquetWriter::new(&mut bytes)
            .with_compression(ParquetCompression::Zstd(None))
            .with_statistics(StatisticsOptions::full())
            .with_row_group_size(Some(GROUP_ROWS))
            .with_key_value_metadata(Some(KeyValueMetadata::from_static(about)))
            .finish(&mut frame)?;
        Ok(bytes)
    }
}

impl Cells {
    fn new(name: &'static str, kind: Kind) -> Cells {
        let name = PlSmallStr::from_static(name);
        match kind {
            Kind::Text => Cells::Text(StringChunkedBuilder::new(name, 0)),
            Kind::Small => Cells::Small(PrimitiveChunkedBuilder::new(name, 0)),
            Kind::Integer => Cells::Integer(PrimitiveChunkedBuilder::new(name, 0)),
            Kind::Number => Cells::Number(PrimitiveChunkedBuilder::new(name, 0)),
            Kind::Time => Cells::Time(PrimitiveChunkedBuilder::new(name, 0)),
            Kind::Flag => Cells::Flag(BooleanChunkedBuilder::new(name, 0)),
            Kind::Numbers => Cells::Numbers(ListPrimitiveChunkedBuilder::new(name, 0, 0, DataType::Float64)),
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
            (Cells::Number(cells), Cell::Number(number)) => cells.append_value(number),
            (Cells::Number(cells), _) => cells.append_null(),
            (Cells::Time(cells), Cell::Time(time)) => cells.append_value(time.timestamp_micros()),
            (Cells::Integer(cells) | Cells::Time(cells), _) => cells.append_null(),
            (Cells::Flag(cells), Cell::Flag(flag)) => cells.append_value(flag),
            (Cells::Flag(cells), _) => cells.append_null(),
            (Cells::Numbers(cells), Cell::Numbers(numbers)) => cells.append_slice(numbers),
            (Cells::Numbers(cells), _) => cells.append_null(),
        }
    }

    fn into_column(self) -> Column {
        match self {
            Cells::Text(cells) => cells.finish().into_column(),
            Cells::Small(cells) => cells.finish().into_column(),
            Cells::Integer(cells) => cells.finish().into_column(),
            Cells::Number(cells) => cells.finish().into_column(),
            Cells::Time(cells) => {
                cells.finish().into_datetime(TimeUnit::Microseconds, Some(TimeZone::UTC)).into_column()
            }
            Cells::Flag(cells) => cells.finish().into_column(),
            Cells::Numbers(mut cells) => cells.finish().into_column(),
        }
    }
}

#[cfg(test)]
mod tests {
    use polars_io::SerReader as _;
    use polars_io::parquet::read::ParquetReader;

    use super::*;
    use sprag_model::flat::example::{recorded, skipped};
    use sprag_model::flat::{BENCHMARKS, SAMPLES, benchmark_rows, value_rows};
    use sprag_model::run::RecordedRun;

    fn bytes(table: Table, runs: &[&RecordedRun]) -> Vec<u8> {
        let mut file = ParquetFile::new(table, &["suite"]);
        for run in runs {
            let rows = if table.name == SAMPLES.name { value_rows(run) } else { benchmark_rows(run) };
            rows.iter().for_each(|row| file.push(row));
        }
        file.into_bytes().expect("the rows are plain")
    }

    fn read(bytes: Vec<u8>) -> DataFrame {
        ParquetReader::new(std::io::Cursor::new(bytes)).finish().expect("it is Parquet")
    }

    #[test]
    fn what_is_written_reads_back() {
        let (recorded, skipped) = (recorded(), skipped());
        let frame = read(bytes(BENCHMARKS, &[&recorded, &skipped]));
        assert_eq!(frame.height(), 4);
        let text = |frame: &DataFrame, name: &str| -> Vec<Option<String>> {
            let column = frame.column(name).expect("the column is there");
            column.str().expect("it is text").iter().map(|cell| cell.map(str::to_owned)).collect()
        };
        let some = |text: &str| Some(text.to_owned());
        // By series, those without one first.
        assert_eq!(text(&frame, "kernel"), [None, some("merge"), some("sort"), some("tile_pack")]);
        let times = frame.column("time_s").expect("the column is there");
        assert_eq!(times.f64().expect("numbers").iter().collect::<Vec<_>>(), [None, None, Some(2.0), Some(0.25)]);
        let micros = DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC));
        assert_eq!(frame.column("run_time").expect("the column is there").dtype(), &micros);
        assert_eq!(frame.column("peak_bytes").expect("the column is there").dtype(), &DataType::Int64);
        assert_eq!(frame.column("c").expect("the column is there").dtype(), &DataType::Int32);
        assert!(frame.column("suite").is_err(), "the folders name the suite");
        let frame = read(bytes(SAMPLES, &[&recorded]));
        let samples = frame.column("samples").expect("the column is there").list().expect("lists");
        let list = |place| {
            let one: Option<Series> = samples.get_as_series(place);
            one.map(|one| one.f64().expect("numbers").into_no_null_iter().collect())
        };
        let lists: Vec<Option<Vec<f64>>> = (0..samples.len()).map(list).collect();
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
