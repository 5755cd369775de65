//! For the tests of other crates: measure in a test, compare the result with a ground truth, fail with the messages.
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
//! A test is one process with one memory layout, so it is one observation, however many samples it takes.
//! [`PerformanceData::quality`] of such a measurement says so. [`in_processes`] measures in several, which the rule
//! `interval` asks for. Nothing passes by accident: what is missing, empty, no number or undecided fails.
//! `docs/LIBRARY.md` has the whole.

mod data;
mod measurer;
mod report;

pub use data::{ACCEPT_VARIABLE, PerformanceData};
pub use measurer::{Cases, Measurer, in_processes};
pub use report::{INTERVAL, Report, TestRule, compare, compare_sections, compare_with_file};
pub use sprag_analysis::rules::bands::DEFAULT as BANDS;
pub use sprag_analysis::rules::rank::DEFAULT as RANK;
pub use sprag_model::metric::Better;
pub use sprag_model::rule::Rule;
pub use sprag_model::unit::Unit;
pub use sprag_model::verdict::{Comparison, Effect, Verdict};
pub use std::hint::black_box;

/// Why data could not be measured, read, written or compared. The test runner shows `{:?}`, so that gives the sentence too.
#[derive(thiserror::Error)]
#[error("{0}")]
pub struct TestingError(String);

impl std::fmt::Debug for TestingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TestingError {
    pub(crate) fn data(fault: impl std::fmt::Display) -> TestingError {
        TestingError(format!("no performance data: {fault}"))
    }

    pub(crate) fn measure(fault: impl std::fmt::Display) -> TestingError {
        TestingError(format!("cannot measure: {fault}"))
    }

    pub(crate) fn accept(fault: impl std::fmt::Display) -> TestingError {
        TestingError(format!("nothing is accepted: {fault}"))
    }
}

impl From<sprag_base::files::WriteError> for TestingError {
    fn from(error: sprag_base::files::WriteError) -> TestingError {
        TestingError(error.to_string())
    }
}
