//! Foreign formats, one a file: bytes that another program wrote, read as benchmarks, and values written as bytes that
//! another program reads. No file is opened here.
//!
//! A reader refuses the whole where it cannot tell what it reads. A benchmark that is at fault alone fails alone, with
//! its reason, and the others stand.

pub mod registry;
pub mod rows;

pub mod custom;
/// What a bench of Criterion leaves and prints: its folder, read for a suite and to import it, and its text.
pub mod criterion {
    pub mod folder;
    pub mod text;

    pub use folder::{FILES, read};
}
mod divan;
mod tango;
mod google_benchmark;
mod nvbench;
mod hyperfine;
mod pyperf;
mod pytest_benchmark;
mod gungraun;
mod callgrind;
mod trtexec;
pub mod compat;
mod asv;
mod asv_result;
mod github_action;
mod bencher;
mod long_csv;

pub mod series_table;

pub mod table_csv;
pub mod values_csv;
pub mod json_lines;
pub mod openmetrics;

mod console;
mod field;
mod frame;
mod json;
mod outputs;
mod peek;
mod provenance;
mod quantity;
mod table;

#[cfg(test)]
mod golden;

pub use frame::Format;

/// The most benchmarks that one report may hold: a record of more would be beyond what a record may be.
pub const MOST_BENCHMARKS: usize = 5_000;

/// The most runs that one file may hold: ten times what years of a history have.
pub const MOST_RUNS: usize = 100_000;

/// The longest text that the names of many benchmarks may have in common, in bytes: a small file with a long one would
/// fill the memory.
pub const LONGEST_PREFIX: usize = 4096;

/// Why the output of a program cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error("{0} is empty, where a report was expected")]
    Empty(String),
    /// Not JSON, cut short, or nested too deep.
    #[error("{name} is not JSON: {error}")]
    Json { name: String, error: serde_json::Error },
    /// JSON that is no report of this format.
    #[error("{name} {reason}")]
    Schema {
        name: String,
        /// What is wrong, and how to mend it.
        reason: String,
    },
    #[error("{0} lists no benchmark")]
    Nothing(String),
    /// More than [`MOST_BENCHMARKS`].
    #[error("{name} lists {count} benchmarks, at most {MOST_BENCHMARKS} are read")]
    Many { name: String, count: usize },
    /// More than [`MOST_RUNS`].
    #[error("{0} holds more than {MOST_RUNS} runs; split it")]
    ManyRuns(String),
}
