//! Runs as flat rows: the tables that `sprag export` writes, as data.
//!
//! A [`Row`] is one benchmark of one run, or one metric of it, or a run that holds no benchmark. A [`Column`] names one
//! fact of a row, says what it means, and reads it off. The three tables ([`BENCHMARKS`], [`SAMPLES`] and [`VALUES`])
//! are lists of columns, so that Parquet, CSV, JSON Lines, their schema and their documentation cannot part ways.

mod row;
mod column;
mod facts;
mod tables;

#[doc(hidden)]
pub mod example;

pub use column::{Cell, Column, Kind};
pub use row::{Row, benchmark_rows, value_rows};
pub use tables::{BENCHMARKS, SAMPLES, SCHEMA_VERSION, Table, VALUES};
