//! The frame: recorded runs as a dataframe, and everything that is read off it. The only door to polars.
//!
//! Runs go in once ([`Frame::from_runs`]); out come the series in commit order ([`Frame::series`]) and the tables
//! of the digest: the newest values ([`Frame::latest`]), the weeks ([`Frame::weeks`]) and the suites
//! ([`Frame::suites`]); and those of what moved lately: single series ([`Frame::movers`], week by week
//! [`Frame::week_movers`]), suites by element type ([`Frame::geomeans`]) and how restless all are ([`Frame::noise`],
//! [`Frame::suite_noise`]). All are dataframe operations over one row a run, benchmark and metric. Equal runs in any order
//! give equal output. Beside it stands [`ParquetFile`], which writes flat rows.

mod order;

mod values;
mod decoded;
mod catalogue;

mod table;

mod cells;
mod heads;
mod change;

mod latest;
mod series;
mod suites;
mod weeks;

mod geomeans;
mod movers;
mod noise;
mod week_movers;

mod parquet;
mod cache;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod plain;
#[cfg(test)]
mod plain_movers;

pub use decoded::{DecodedRuns, Decoder};
pub use parquet::ParquetFile;
pub use table::Frame;

/// Why the runs cannot be put into a frame or read off it.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A number that is none. Records cannot hold one, so it comes from a run that was never recorded.
    #[error("put run `{run}` into a frame: {field} of `{benchmark} {metric}` is not a finite number")]
    NotFinite {
        run: String,
        /// The written identity of the benchmark.
        benchmark: String,
        metric: String,
        /// Which number of the estimate.
        field: &'static str,
    },
    /// A column that has no gaps by construction has one.
    #[error("read the column `{0}` of a frame: it has a gap")]
    Gap(&'static str),
    /// A dataframe operation failed.
    #[error("compute over a frame")]
    Dataframe(#[from] polars::error::PolarsError),
}
