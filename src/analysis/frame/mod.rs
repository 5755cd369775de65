//! The frame: recorded runs as a dataframe, and everything that is read off it. The only door to polars.
//!
//! Runs go in once ([`Frame::from_runs`]); out come the series in commit order ([`Frame::series`]) and the tables
//! of the digest: the newest values ([`Frame::latest`]), the weeks ([`Frame::weeks`]) and the suites
//! ([`Frame::suites`]); and those of what moved lately: single series ([`Frame::movers`], week by week
//! [`Frame::week_movers`]), suites by element type ([`Frame::geomeans`]) and their noise ([`Frame::suite_noise`]). All are dataframe operations over one row a run, benchmark and metric. Equal runs in any order
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

pub use cells::FrameError;
pub use decoded::{DecodedRuns, Decoder};
pub use parquet::ParquetFile;
pub use table::Frame;
