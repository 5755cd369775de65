//! For the tests of other crates: measure in a test, hold what came of it against a ground truth, fail with the messages.
//!
//! ```no_run
//! use std::path::Path;
//! use sprag_pipeline::testing::{Cases, Measurer, RANK, compare_with_file};
//!
//! # fn sum(values: &[f64]) -> f64 { values.iter().sum() }
//! #[test]
//! fn sums_are_as_fast_as_they_were() -> Result<(), sprag_pipeline::testing::TestingError> {
//!     let values = vec![1.0; 4096];
//!     let mut cases = Cases::new();
//!     cases.add("sum", "plain", || sum(&values));
//!     let measured = Measurer::default().measure(cases)?;
//!     compare_with_file(Path::new("tests/ground-truth.json"), &measured, &RANK)?.assert_pass();
//!     Ok(())
//! }
//! ```
//!
//! A test is one process, and its memory layout and its luck count as one, however many samples it takes: what is measured
//! so says that in [`PerformanceData::quality`]. [`in_processes`] measures in several, which the rule `interval` asks for.
//! Nothing passes by accident: what is missing, empty, no number or undecided fails. `docs/LIBRARY.md` has the whole.

mod data;
mod measurer;
mod processes;
mod compare;
mod report;
mod samples;
mod accept;

pub use std::hint::black_box;

pub use sprag_analysis::rules::{bands::DEFAULT as BANDS, rank::DEFAULT as RANK};
pub use sprag_model::metric::Better;
pub use sprag_model::rule::Rule;
pub use sprag_model::unit::Unit;
pub use sprag_model::verdict::{Comparison, Effect, Verdict};

pub use accept::compare_with_file;
pub use compare::{INTERVAL, Judge, compare, compare_sections};
pub use data::PerformanceData;
pub use measurer::{Cases, Measurer};
pub use processes::in_processes;
pub use report::{ACCEPT_VARIABLE, Report};

/// Why nothing could be measured, read, written or held against anything.
///
/// `{:?}` gives the same sentence as `{}`: it is what the test runner shows of a test that ends with an error.
#[derive(thiserror::Error)]
pub enum TestingError {
    /// A file cannot be read.
    #[error("cannot read `{}`: {error}{}", .path.display(), hint_of_reading(.error))]
    Read { path: std::path::PathBuf, error: std::io::Error },
    /// A file cannot be written; what was there stands.
    #[error("cannot write `{}`: {error}", .path.display())]
    Write { path: std::path::PathBuf, error: std::io::Error },
    /// A file holds no performance data.
    #[error("`{}` holds no performance data: {fault}", .path.display())]
    File {
        path: std::path::PathBuf,
        /// What is wrong with which section and subsection.
        fault: String,
    },
    /// Something is no performance data; says what is wrong with which section and subsection.
    #[error("no performance data: {0}")]
    Data(String),
    /// Nothing could be measured.
    #[error("cannot measure: {0}")]
    Measure(String),
    /// A process of its own gave no result.
    #[error("process {number} of {count} of the test `{test}` gave no result: {reason}")]
    Process {
        number: usize,
        /// How many there should be.
        count: usize,
        test: String,
        /// Why, with the end of what it said.
        reason: String,
    },
    /// What was measured is not made the ground truth.
    #[error("nothing is accepted: {0}")]
    Accept(String),
}

impl std::fmt::Debug for TestingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// What to do about a file that is not there.
fn hint_of_reading(error: &std::io::Error) -> String {
    if error.kind() != std::io::ErrorKind::NotFound {
        return String::new();
    }
    format!(" (hint: where it is to be made of what is measured, run the test once with {ACCEPT_VARIABLE}=1)")
}
