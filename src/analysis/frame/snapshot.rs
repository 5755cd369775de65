//! Snapshots of archived runs: whole records, and what they are about, by path.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{Array as _, ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue};
use parquet::file::properties::WriterProperties;

use super::pages;
use super::parquet::ParquetError;
use super::points::{RowsError, Texts};
use sprag_model::RecordedRun;

/// A group is read as a whole for one run of it.
const GROUP_ROWS: usize = 1024;

const GROUP_BYTES: usize = 4 << 20;

/// Slower levels win a few percent.
const LEVEL: i32 = 6;

/// So many runs are in a snapshot at most, since a list of all of them is in memory.
pub const MOST_RUNS: u64 = 2_000_000;

/// So many bytes are in a snapshot at most, which is in memory while it is read.
pub const MOST_BYTES: usize = 1 << 30;

/// A group has at most so many bytes once it is unpacked: more than [`GROUP_BYTES`], one record and the other columns.
const MOST_GROUP_BYTES: i64 = 64 << 20;

/// A snapshot has at most so many bytes once it is unpacked, of which one group at a time is in memory.
const MOST_UNPACKED: i64 = 64 << 30;

/// The footer has at most so many bytes: a kibibyte or two for each group of a snapshot that has [`MOST_UNPACKED`].
const MOST_FOOTER: u32 = 64 << 20;

/// The end of a file: the size of its footer, and a mark.
const END: usize = 8;

const COLUMNS: [&str; 9] = ["path", "blob", "sha256", "entry", "suite", "machine", "commit", "run_time", "record"];

/// Columns whose values may be numbers of a dictionary.
const NUMBERED: [&str; 3] = ["suite", "machine", "commit"];

/// A run of a snapshot.
pub struct SnapshotRow<'a> {
    pub run: &'a RecordedRun,
    /// The id of its record in git.
    pub blob: &'a str,
    /// The digest of its canonical JSON.
    pub sha256: &'a str,
    /// Its place in the list of all runs, from 0 on, as in a proof.
    pub entry: usize,
    pub record: &'a str,
}

/// A run as it is in the file.
pub struct StoredRow<'a> {
    pub path: &'a str,
    pub blob: &'a str,
    pub sha256: &'a str,
    pub entry: i64,
    pub suite: &'a str,
    pub machine: &'a str,
    pub commit: Option<&'a str>,
    /// In microseconds since 1970.
    pub time: i64,
    pub record: &'a str,
}

#[derive(Default)]
struct Group {
    paths: Vec<String>,
    blobs: Vec<String>,
    digests: Vec<String>,
    entries: Vec<i64>,
    suites: Vec<String>,
    machines: Vec<String>,
    commits: Vec<Option<String>>,
    times: Vec<i64>,
    records: Vec<String>,
    bytes: usize,
}

impl Group {
    fn into_rows(self) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let texts = |texts: Vec<String>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
        let times = TimestampMicrosecondArray::from(self.times).with_timezone("UTC");
        let columns: [ArrayRef; 9] = [
            texts(self.paths),
            texts(self.blobs),
            texts(self.digests),
            Arc::new(Int64Array::from(self.entries)),
            texts(self.suites),
            texts(self.machines),
            Arc::new(StringArray::from(self.commits)),
            Arc::new(times),
            texts(self.records),
        ];
        let columns = COLUMNS.into_iter().zip(columns).map(|(name, column)| (name, column, name == "commit"));
        RecordBatch::try_from_iter_with_nullable(columns)
    }
}

/// Writes a snapshot, a group of runs at a time. Equal runs give equal bytes.
pub struct SnapshotWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    group: Group,
}

impl<W: Write + Send> SnapshotWriter<W> {
    /// # Errors When the beginning cannot be written.
    pub fn new(out: W) -> Result<SnapshotWriter<W>, ParquetError> {
        let about = KeyValue::new("sprag.table".to_owned(), "archived_runs".to_owned());
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
            .set_dictionary_enabled(false)
            .set_key_value_metadata(Some(vec![about]));
        for name in NUMBERED {
            properties = properties.set_column_dictionary_enabled(name.into(), true);
        }
        let options = ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true);
        let schema = Group::default().into_rows()?.schema();
        Ok(SnapshotWriter { writer: ArrowWriter::try_new_with_options(out, schema, options)?, group: Group::default() })
    }

    /// # Errors When a group cannot be written.
    pub fn push(&mut self, row: &SnapshotRow<'_>) -> Result<(), ParquetError> {
        let (group, run) = (&mut self.group, &row.run.run);
        group.paths.push(row.run.path.clone());
        group.blobs.push(row.blob.to_owned());
        group.digests.push(row.sha256.to_owned());
        group.entries.push(i64::try_from(row.entry).unwrap_or(i64::MAX));
        group.suites.push(run.suite.clone());
        group.machines.push(run.machine.id.clone());
        group.commits.push(run.commit.as_ref().map(|commit| commit.sha.clone()));
        group.times.push(run.timestamp.timestamp_micros());
        group.records.push(row.record.to_owned());
        group.bytes += row.record.len();
        if group.paths.len() < GROUP_ROWS && group.bytes < GROUP_BYTES { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        self.writer.write(&std::mem::take(&mut self.group).into_rows()?)?;
        Ok(self.writer.flush()?)
    }

    /// # Errors When the rest cannot be written.
    pub fn finish(mut self) -> Result<W, ParquetError> {
        self.flush()?;
        Ok(self.writer.into_inner()?)
    }
}

pub struct Snapshot {
    file: Bytes,
    metadata: ArrowReaderMetadata,
}

impl Snapshot {
    /// # Errors When it is not Parquet, or says far too much about itself.
    pub fn open(file: Vec<u8>) -> Result<Snapshot, RowsError> {
        let end = file.len().checked_sub(END).and_then(|end| file[end..].first_chunk());
        if end.is_some_and(|size| u32::from_le_bytes(*size) > MOST_FOOTER) {
            return Err(RowsError::Footer(MOST_FOOTER));
        }
        let file = Bytes::from(file);
        let metadata = ArrowReaderMetadata::load(&file, Default::default())?;
        Ok(Snapshot { file, metadata })
    }

    pub fn groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    /// What is a problem with its size or its form, by its footer and the headers of its pages, before anything of it is
    /// unpacked.
    pub fn fault(&self, runs: u64) -> Option<String> {
        if runs > MOST_RUNS {
            return Some(format!("has {runs} runs, more than the {MOST_RUNS} that can be read"));
        }
        let groups = self.metadata.metadata().row_groups();
        let rows = groups.iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(u64::MAX));
        let rows = rows.fold(0, u64::saturating_add);
        if rows != runs {
            return Some(format!("has {rows} runs, and {runs} by its note"));
        }
        let mut total = 0;
        for (number, group) in groups.iter().enumerate() {
            if group.num_rows() <= 0 {
                return Some(format!("has a group {number} without runs"));
            }
            let mut unpacked = 0;
            for column in group.columns() {
                match self.unpacked(column) {
                    Ok(bytes) => unpacked += bytes,
                    Err(what) => {
                        let name = column.column_path().string();
                        return Some(format!("has {what} for `{}` in group {number}", name.escape_debug()));
                    }
                }
            }
            if unpacked > MOST_GROUP_BYTES {
                return Some(format!("unpacks to more than {MOST_GROUP_BYTES} bytes in group {number}"));
            }
            total += unpacked;
        }
        (total > MOST_UNPACKED).then(|| format!("unpacks to more than {MOST_UNPACKED} bytes"))
    }

    fn unpacked(&self, column: &ColumnChunkMetaData) -> Result<i64, &'static str> {
        if column.column_descr().max_rep_level() > 0 {
            return Err("lists");
        }
        let begin = usize::try_from(column.dictionary_page_offset().unwrap_or(column.data_page_offset()));
        let pages = begin.ok().zip(usize::try_from(column.compressed_size()).ok());
        let pages = pages.and_then(|(begin, size)| self.file.get(begin..begin.checked_add(size)?));
        let name = column.column_path().string();
        pages::unpacked(pages.ok_or("pages outside the file")?, NUMBERED.contains(&name.as_str()))
    }

    fn batches(
        &self,
        group: usize,
        columns: &[&str],
        take: &mut dyn FnMut(&RecordBatch) -> Result<(), RowsError>,
    ) -> Result<(), RowsError> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone());
        let wanted = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        let builder = builder.with_projection(wanted).with_batch_size(GROUP_ROWS);
        builder.with_row_groups(vec![group]).build()?.try_for_each(|batch| take(&batch?))
    }

    /// Calls `take` with each run of a group.
    pub fn rows(&self, group: usize, take: &mut dyn FnMut(StoredRow<'_>)) -> Result<(), RowsError> {
        self.batches(group, &COLUMNS, &mut |batch| {
            let text = |name| Texts::column(batch, name);
            let column = |name, kind| batch.column_by_name(name).ok_or(RowsError::Column(name, kind));
            let texts = [text("path")?, text("blob")?, text("sha256")?, text("suite")?, text("machine")?];
            let (records, no_commits) = (text("record")?, || RowsError::Column("commit", "text"));
            let commits = column("commit", "text")?.as_string_opt::<i32>().ok_or_else(no_commits)?;
            let entries = column("entry", "integers")?.as_primitive_opt::<Int64Type>();
            let entries = entries.ok_or(RowsError::Column("entry", "integers"))?.values();
            let times = column("run_time", "moments")?.as_primitive_opt::<TimestampMicrosecondType>();
            let times = times.ok_or(RowsError::Column("run_time", "moments"))?.values();
            for row in 0..batch.num_rows() {
                let [path, blob, sha256, suite, machine] = std::array::from_fn(|column| texts[column].get(row));
                let commit = (!commits.is_null(row)).then(|| commits.value(row));
                let (entry, time, record) = (entries[row], times[row], records.get(row));
                take(StoredRow { path, blob, sha256, entry, suite, machine, commit, time, record });
            }
            Ok(())
        })
    }

    /// Calls `take` with these columns of each run of a group.
    pub fn each<const N: usize>(
        &self,
        group: usize,
        columns: [&'static str; N],
        take: &mut dyn FnMut([&str; N]),
    ) -> Result<(), RowsError> {
        self.batches(group, &columns, &mut |batch| {
            let texts = columns.map(|name| Texts::column(batch, name));
            if let Some(place) = texts.iter().position(Result::is_err) {
                return Err(RowsError::Column(columns[place], "text"));
            }
            let texts: Vec<Texts<'_>> = texts.into_iter().flatten().collect();
            for row in 0..batch.num_rows() {
                take(std::array::from_fn(|column| texts[column].get(row)));
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::ListArray;
    use parquet::basic::Encoding;
    use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataWriter};
    use parquet::file::properties::WriterPropertiesBuilder;

    use crate::frame::fixture::{measurement, run};

    fn file(count: usize) -> Vec<u8> {
        let mut writer = SnapshotWriter::new(Vec::new()).expect("a writer");
        for number in 0..count {
            let run = run(&format!("{number:04}"), 1, &[measurement("pack", &[("time", 1.0)])]);
            let record = format!("{{\"number\": {number}}}\n");
            let row = SnapshotRow { run: &run, blob: "b", sha256: "s", entry: number + 7, record: &record };
            writer.push(&row).expect("it is written");
        }
        writer.finish().expect("it is written")
    }

    #[test]
    fn a_snapshot_reads_back_by_group() {
        let count = GROUP_ROWS + 3;
        let bytes = file(count);
        assert_eq!(bytes, file(count));
        let snapshot = Snapshot::open(bytes.clone()).expect("it was just written");
        assert_eq!(snapshot.groups(), 2);
        let (mut read, mut paths) = (Vec::new(), Vec::new());
        for group in 0..2 {
            snapshot.each(group, ["record"], &mut |[record]| read.push(record.to_owned())).expect("records");
            snapshot
                .each(group, ["blob", "path"], &mut |[blob, path]| paths.push(format!("{blob} {path}")))
                .expect("paths");
        }
        assert!(read.iter().enumerate().all(|(number, record)| *record == format!("{{\"number\": {number}}}\n")));
        assert_eq!((read.len(), paths.len()), (count, count));
        assert!(paths[5].starts_with("b ") && paths[5].contains("0005"), "{}", paths[5]);
        assert!(snapshot.each(0, ["nothing"], &mut |_| ()).is_err_and(|error| error.to_string().contains("`nothing`")));
        assert!(
            [0, 7, bytes.len() / 2, bytes.len() - 1].iter().all(|end| Snapshot::open(bytes[..*end].to_vec()).is_err())
        );
        assert_eq!(Snapshot::open(file(0)).expect("an empty one").groups(), 0);
    }

    #[test]
    fn the_headers_of_pages_bound_what_is_unpacked() {
        let valid = Snapshot::open(file(GROUP_ROWS + 3)).expect("it was just written");
        assert_eq!(valid.fault(GROUP_ROWS as u64 + 3), None);
        assert_eq!(valid.fault(1028).as_deref(), Some("has 1027 runs, and 1028 by its note"));
        let check = |record: &str, has_dictionary: bool, words: &str| {
            let run = run("0001", 1, &[measurement("pack", &[("time", 1.0)])]);
            let mut writer = SnapshotWriter::new(Vec::new()).expect("a writer");
            writer.push(&SnapshotRow { run: &run, blob: "b", sha256: "s", entry: 0, record }).expect("it is written");
            let rows = std::mem::take(&mut writer.group);
            let bytes = match has_dictionary {
                false => writer.finish().expect("it is written"),
                true => {
                    let mut bytes = Vec::new();
                    let rows = rows.into_rows().expect("rows");
                    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), None).expect("a writer");
                    writer.write(&rows).and_then(|()| writer.close()).expect("it is written");
                    bytes
                }
            };
            let fault = Snapshot::open(bytes).expect("it is Parquet").fault(1).expect(words);
            assert!(fault.contains(words), "{fault}");
        };
        check("{}", true, "has a dictionary for `path` in group 0");
        check(&"x".repeat(65 << 20), false, "unpacks to more than 67108864 bytes in group 0");
    }

    /// Files of another writer, whose columns unpack to more than their pages, and one whose footer lies.
    #[test]
    fn columns_that_unpack_to_more_than_their_pages_are_refused() {
        let mut writer = SnapshotWriter::new(Vec::new()).expect("a writer");
        for number in 0..9 {
            let run = run(&format!("{number:04}"), 1, &[measurement("pack", &[("time", 1.0)])]);
            let row = SnapshotRow { run: &run, blob: "b", sha256: "s", entry: number, record: "{}\n" };
            writer.push(&row).expect("it is written");
        }
        let valid = std::mem::take(&mut writer.group).into_rows().expect("rows");
        let written = |rows: &RecordBatch, properties: WriterPropertiesBuilder| {
            let mut bytes = Vec::new();
            let mut writer =
                ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties.build())).expect("a writer");
            writer.write(rows).and_then(|()| writer.close()).expect("it is written");
            bytes
        };
        let check = |bytes: Vec<u8>, words: &str| {
            let fault = Snapshot::open(bytes).expect("it is Parquet").fault(9);
            assert_eq!(fault.as_deref().unwrap_or_default(), words);
        };
        let plain = || WriterProperties::builder().set_dictionary_enabled(false);
        check(written(&valid, plain()), "");
        let prefixed = plain().set_column_encoding("path".into(), Encoding::DELTA_BYTE_ARRAY);
        check(written(&valid, prefixed), "has a page in another encoding for `path` in group 0");
        let with = |place: usize, column: ArrayRef| {
            let mut columns = valid.columns().to_vec();
            columns[place] = column;
            let columns = COLUMNS.into_iter().zip(columns).map(|(name, column)| (name, column, true));
            RecordBatch::try_from_iter_with_nullable(columns).expect("rows")
        };
        let long = with(4, Arc::new(StringArray::from(vec!["x".repeat(300 << 10); 9])));
        let numbered = plain().set_column_dictionary_enabled("suite".into(), true);
        check(written(&long, numbered), "has a dictionary that is too large for `suite` in group 0");
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>((0..9).map(|_| Some(vec![Some(1); 9])));
        check(written(&with(3, Arc::new(lists)), plain()), "has lists for `entry.list.item` in group 0");

        let properties = plain().set_compression(Compression::ZSTD(ZstdLevel::default()));
        let mut bytes = written(&with(8, Arc::new(StringArray::from(vec!["x".repeat(8 << 20); 9]))), properties);
        assert!(bytes.len() < 1 << 20, "it was packed");
        let footer = ArrowReaderMetadata::load(&Bytes::from(bytes.clone()), Default::default()).expect("a footer");
        let lie = |column: &ColumnChunkMetaData| column.clone().into_builder().set_total_uncompressed_size(9).build();
        let group = footer.metadata().row_group(0);
        let columns = group.columns().iter().map(lie).collect::<Result<_, _>>().expect("columns");
        let group = group.clone().into_builder().set_column_metadata(columns).set_total_byte_size(9).build();
        let footer = ParquetMetaData::clone(footer.metadata()).into_builder();
        let footer = footer.set_row_groups(vec![group.expect("a group")]).build();
        ParquetMetaDataWriter::new(&mut bytes, &footer).finish().expect("it is written");
        check(bytes.clone(), "unpacks to more than 67108864 bytes in group 0");

        let end = bytes.len() - END;
        bytes[end..end + 4].copy_from_slice(&(MOST_FOOTER + 1).to_le_bytes());
        assert!(
            Snapshot::open(bytes).is_err_and(|error| error.to_string() == "its footer has more than 67108864 bytes")
        );
    }
}
