//! What Google Benchmark writes: JSON of version 1.0 to 1.9, and CSV.
//!
//! A repetition is one observation: it is the mean over its iterations already. Repetitions of one benchmark make one
//! entry; where a file has aggregates alone, their median counts. Fits of complexity are no measurements. With several
//! threads the real time means something else in some versions of the library, which is why `threads` is kept.

mod csv;
mod json;
mod repetition;
mod report;

pub(super) use report::FORMAT;
