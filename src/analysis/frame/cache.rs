//! Decoded runs as bytes, to be kept between two commands.
//!
//! A line of text names the format and the versions that decide what decoding gives. Five Parquet tables follow (runs, what
//! runs have in common, cells, values, medians of workers), then their lengths, and the SHA-256 of all that. Whatever differs
//! in one bit, is cut short or is of another version is not read, and whoever asked decodes the records again. So nothing in
//! here needs to be trusted, and nothing is lost with it. The digest does not keep out those who mean harm: whoever can write
//! to the cache of a project can write to the project.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Write};

use polars::prelude::*;
use serde::{Deserialize, Serialize};

use super::cells::{Cells, FrameError, json, texts};
use super::decoded::{Cell, DecodedRuns};
use super::{heads, values};
use sprag_base::digest::{self, RunningHash};
use sprag_model::benchmark::Benchmark;
use sprag_model::metric::Metric;
use sprag_model::record::SCHEMA_VERSION;
use sprag_model::sample::Role;

/// Counts up with each change of what is written here, or of what decoding a record gives.
const FORMAT: u32 = 4;

/// How many tables follow the line.
const TABLES: usize = 5;

/// How many bytes their lengths take, which follow them.
const LENGTHS: usize = 8 * TABLES;

/// How many digits a digest has.
const DIGITS: usize = 64;

/// A cell as the cache holds it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CellRecord {
    suite: String,
    name: String,
    params: BTreeMap<String, String>,
    variant: String,
    version: u32,
    role: Role,
    metric: Metric,
}

impl DecodedRuns {
    /// Writes the bytes to keep, as they come to be: as a whole they would take as much memory as the runs. Gives the
    /// digest that they end with.
    ///
    /// # Errors
    /// When a table cannot be made or written.
    pub fn write(&self, out: &mut dyn Write) -> Result<String, FrameError> {
        let cells = self.cells.iter().map(|cell| {
            let Benchmark { suite, name, params, variant, version } = (*cell.benchmark).clone();
            json(&CellRecord { suite, name, params, variant, version, role: cell.role, metric: cell.metric.clone() })
        });
        let (runs, parts_of_runs) = heads::to_tables(&self.heads, &self.blobs)?;
        let cells = DataFrame::new(self.cells.len(), vec![texts("cell", cells)])?;
        let (values, medians) = values::without_lists(&self.values)?;
        let mut out = Hashed { out, hash: RunningHash::default(), bytes: 0 };
        out.write_all(first_line().as_bytes()).map_err(PolarsError::from)?;
        let mut lengths = Vec::with_capacity(TABLES);
        for (mut table, compression) in [
            (runs, ParquetCompression::Zstd(None)),
            (parts_of_runs, ParquetCompression::Zstd(None)),
            (cells, ParquetCompression::Zstd(None)),
            // Measured numbers hardly compress, and every load would pay for the attempt.
            (values, ParquetCompression::Uncompressed),
            (medians, ParquetCompression::Uncompressed),
        ] {
            let before = out.bytes;
            ParquetWriter::new(&mut out)
                .with_compression(compression)
                .with_statistics(StatisticsOptions::empty())
                .with_row_group_size(Some(table.height().max(1)))
                // Else all columns are held as bytes before the first is written.
                .set_parallel(false)
                .finish(&mut table)?;
            lengths.push(out.bytes - before);
        }
        for length in lengths {
            out.write_all(&length.to_le_bytes()).map_err(PolarsError::from)?;
        }
        let digest = out.hash.hex();
        out.out.write_all(digest.as_bytes()).map_err(PolarsError::from)?;
        Ok(digest)
    }

    /// The runs that were kept; absent where the bytes are not exactly what this version of Sprag wrote.
    pub fn from_bytes(bytes: &[u8]) -> Option<DecodedRuns> {
        let (body, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGITS)?)?;
        let tables = body.strip_prefix(first_line().as_bytes())?;
        if digest != digest::sha256_hex(body).as_bytes() {
            return None;
        }
        let (mut rest, lengths) = tables.split_at_checked(tables.len().checked_sub(LENGTHS)?)?;
        let mut tables = Vec::with_capacity(TABLES);
        for length in lengths.as_chunks::<8>().0 {
            let (table, after) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            tables.push(table);
            rest = after;
        }
        let tables = tables.try_into().ok()?;
        rest.is_empty().then(|| read(tables).ok())?
    }
}

/// Takes the digest of what it passes on.
struct Hashed<'a> {
    out: &'a mut dyn Write,
    hash: RunningHash,
    bytes: u64,
}

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.add(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The line before the tables.
fn first_line() -> String {
    format!("sprag decoded runs {FORMAT}, sprag {}, records {SCHEMA_VERSION}\n", env!("CARGO_PKG_VERSION"))
}

fn read([runs, parts, cells, values, medians]: [&[u8]; TABLES]) -> Result<DecodedRuns, FrameError> {
    let table = |bytes: &[u8]| ParquetReader::new(Cursor::new(bytes)).finish();
    let (heads, blobs) = heads::from_tables(&table(runs)?, &table(parts)?)?;
    let cells = table(cells)?;
    let cell = |text: &str| {
        let CellRecord { suite, name, params, variant, version, role, metric } =
            serde_json::from_str(text).map_err(|_| FrameError::Gap("cell"))?;
        Ok(Cell { benchmark: Benchmark { suite, name, params, variant, version }.into(), role, metric })
    };
    let cells = Cells(&cells).texts("cell")?.into_iter().map(cell).collect::<Result<_, FrameError>>()?;
    let values = values::with_lists(table(values)?, &table(medians)?)?;
    Ok(DecodedRuns { heads, blobs, cells, values })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::fixture::{History, histories, measurement, run};
    use crate::frame::{Decoder, Frame};
    use sprag_model::run::RecordedRun;

    fn decoded(runs: &[RecordedRun]) -> DecodedRuns {
        let mut decoder = Decoder::default();
        runs.iter().for_each(|run| decoder.add(&format!("blob of {}", run.id), run).unwrap());
        decoder.finish()
    }

    fn small() -> DecodedRuns {
        let mut one = run("1", 1, &[measurement("pack", &[("time", 1.0), ("ratio", 2.0)])]);
        one.run.measurements[0].estimates[0].workers = vec![0.5, 1.0, 2.0];
        decoded(&[one, run("2", 2, &[measurement("pack", &[("time", 3.0)])]), run("3", 3, &[])])
    }

    fn bytes(runs: &DecodedRuns) -> Vec<u8> {
        let mut bytes = Vec::new();
        let digest = runs.write(&mut bytes).unwrap();
        assert!(bytes.ends_with(digest.as_bytes()));
        bytes
    }

    #[test]
    fn one_wrong_bit_anywhere_is_seen() {
        let whole = bytes(&small());
        assert!(DecodedRuns::from_bytes(&whole).is_some());
        let line = first_line().len();
        // All of the first line and of the end; of the tables a byte here and there, as the digest covers them.
        let end = whole.len() - LENGTHS - DIGITS;
        for place in (0..line + 40).chain((line..end).step_by(41)).chain(end..whole.len()) {
            let mut damaged = whole.clone();
            damaged[place] ^= 1 << (place % 8);
            assert!(DecodedRuns::from_bytes(&damaged).is_none(), "byte {place}");
        }
    }

    #[test]
    fn what_is_not_exactly_ours_is_not_read() {
        let whole = bytes(&small());
        for length in [0, 1, 40, 100, whole.len() / 2, whole.len() - 1] {
            assert!(DecodedRuns::from_bytes(&whole[..length]).is_none(), "{length}");
        }
        assert!(DecodedRuns::from_bytes(&[&whole[..], b"\n"].concat()).is_none());
        assert!(DecodedRuns::from_bytes(b"PAR1 and what others write").is_none());
        let check = |from: &str, to: &str| {
            let text = whole.iter().map(|&byte| char::from(byte)).collect::<String>();
            assert!(text.contains(from), "{from}");
            let changed: Vec<u8> = text.replacen(from, to, 1).chars().map(|c| c as u8).collect();
            assert!(DecodedRuns::from_bytes(&changed).is_none(), "{to}");
        };
        check("runs 4,", "runs 3,");
        check(concat!("sprag ", env!("CARGO_PKG_VERSION")), "sprag 0.0.9");
        check("records 2", "records 3");
    }

    #[test]
    fn a_table_of_other_columns_is_not_read() {
        // The digest is right, as of a format that somebody forgot to count up.
        let body = [first_line().as_bytes(), &[0; LENGTHS]].concat();
        let whole = [&body, digest::sha256_hex(&body).as_bytes()].concat();
        assert!(DecodedRuns::from_bytes(&whole).is_none());
    }

    #[test]
    fn no_runs_are_kept_and_found() {
        let none = DecodedRuns::from_bytes(&bytes(&DecodedRuns::none())).unwrap();
        assert_eq!((none.heads().len(), none.n_values()), (0, 0));
        let mut some = none.clone();
        some.append(small()).unwrap();
        some.append(none).unwrap();
        assert_eq!((some.heads().len(), some.n_values()), (3, 3));
        let records: Vec<&str> = some.records().map(|(_, blob)| blob).collect();
        assert_eq!(records, ["blob of 1", "blob of 2", "blob of 3"]);
    }

    /// Holds all that a frame gives against that of the runs themselves.
    fn check(history: &History, runs: &[RecordedRun], decoded: &DecodedRuns) -> Result<(), TestCaseError> {
        let expected = Frame::from_runs(runs, &history.line).unwrap();
        let frame = Frame::from_decoded(decoded, &history.line).unwrap();
        prop_assert_eq!(frame.series().unwrap(), expected.series().unwrap());
        prop_assert_eq!(frame.judged().unwrap(), expected.judged().unwrap());
        prop_assert_eq!(frame.latest(&history.baselines).unwrap(), expected.latest(&history.baselines).unwrap());
        prop_assert_eq!(frame.weeks().unwrap(), expected.weeks().unwrap());
        prop_assert_eq!(frame.suites(&history.baselines).unwrap(), expected.suites(&history.baselines).unwrap());
        prop_assert_eq!(decoded.heads().len(), runs.len());
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn cached_runs_make_the_same_frame(history in histories(), cut in any::<prop::sample::Index>(), kept in any::<u64>()) {
            let cut = cut.index(history.runs.len() + 1);
            let (before, after) = history.runs.split_at(cut);
            let kept_and_read = |runs| DecodedRuns::from_bytes(&bytes(&decoded(runs))).unwrap();
            // What was kept in two files, or in one of them and read anew.
            let mut both = kept_and_read(after);
            both.append(kept_and_read(before)).unwrap();
            check(&history, &history.runs, &both)?;
            let mut half = decoded(before);
            half.append(kept_and_read(after)).unwrap();
            check(&history, &history.runs, &half)?;
            // Some of the runs are gone.
            let is_kept = |place: usize| kept >> (place % 64) & 1 == 1;
            let mut place = 0;
            let some = half.select(|_, _| { place += 1; is_kept(place - 1) }).unwrap();
            let runs: Vec<RecordedRun> =
                history.runs.iter().enumerate().filter(|(place, _)| is_kept(*place)).map(|(_, run)| run.clone()).collect();
            check(&history, &runs, &some)?;
            check(&history, &runs, &DecodedRuns::from_bytes(&bytes(&some)).unwrap())?;
        }
    }
}
