//! From the suites of a project to runs: commits checked out and built, settings joined with options, reports of Apex-X.

pub mod commit_build;
pub mod trt;
pub mod suites;
pub mod apex_x_report;
pub mod run_text;

use sprag_measure::suite::Observer;

/// What measuring needs of the program that asks for it.
#[derive(Clone, Copy)]
pub struct MeasureHost<'a> {
    /// Hears how far it is.
    pub observer: &'a dyn Observer,
    /// The digest of the sources that the program was built from; empty where they were not at hand.
    pub built_from: &'a str,
}
