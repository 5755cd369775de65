//! Recorded runs as series, and flat rows as Parquet. The only door to Arrow and Parquet.
//!
//! Runs are decoded once ([`DecodedRuns`]), which is what the cache holds, and become a [`Frame`]: all series, each with
//! its points in commit order. Equal runs in any order give an equal frame. [`ParquetFile`] writes flat
//! rows; points of series, and what is found in these, have files of their own for engines that spread an analysis.

mod order;
mod decoded;
mod series;
mod parquet;
mod pages;
mod points;
mod partials;
mod snapshot;

#[cfg(test)]
pub(crate) mod fixture;

pub use decoded::DecodedRuns;
pub use order::{RunOrder, RunPlace};
pub use parquet::{ParquetError, ParquetFile};
pub use partials::{PartialRow, partials_file, read_partials, write_partials_stream};
pub use points::{PointRow, RowsError, points_file, read_points, read_points_stream};
pub use series::Frame;
pub use snapshot::{MOST_BYTES, MOST_RUNS, Snapshot, SnapshotRow, SnapshotWriter, StoredRow};
