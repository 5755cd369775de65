//! Foreign formats, one a file: bytes that another program wrote, read as benchmarks, and values written as bytes that
//! another program reads. No file is opened here.
//!
//! A reader refuses the whole where it cannot tell what it reads. A benchmark that is at fault alone fails alone, with
//! its reason, and the others stand.

pub mod custom;
pub mod criterion;
pub mod apex_x;
mod number;
mod unique;

/// The most benchmarks that one report may hold: a record of more would be beyond what a record may be.
pub const MOST_BENCHMARKS: usize = 5_000;

/// Why the output of a program cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// Nothing was written.
    #[error("{0} is empty, where a report was expected")]
    Empty(String),
    /// Not JSON, cut short, or nested too deep.
    #[error("{name} is not JSON: {error}")]
    Json {
        /// Which output.
        name: String,
        /// Where and why.
        error: serde_json::Error,
    },
    /// JSON that is no report of this format.
    #[error("{name} {reason}")]
    Schema {
        /// Which output.
        name: String,
        /// What is wrong, and how to mend it.
        reason: String,
    },
    /// A report without a benchmark.
    #[error("{0} lists no benchmark")]
    Nothing(String),
    /// More than [`MOST_BENCHMARKS`].
    #[error("{name} lists {count} benchmarks, at most {MOST_BENCHMARKS} are read")]
    Many {
        /// Which output.
        name: String,
        /// How many it lists.
        count: usize,
    },
}
