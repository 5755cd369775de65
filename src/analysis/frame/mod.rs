//! Recorded runs as series, and flat rows as Parquet. The only door to Arrow and Parquet.
//!
//! Runs are decoded once ([`DecodedRuns`]), which is what the cache holds, and become a [`Frame`]: all series, each with
//! its points in commit order. Equal runs in any order give an equal frame. [`ParquetFile`] writes flat rows.

mod order;
mod decoded;
mod series;
mod parquet;

#[cfg(test)]
pub(crate) mod fixture;

pub use decoded::DecodedRuns;
pub use order::{Order, Place};
pub use parquet::{ParquetError, ParquetFile};
pub use series::Frame;
