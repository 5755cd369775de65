//! Sprag runs benchmarks, records every result in git, and finds what got slower.
//!
//! It measures kernel suites, records every result in git, finds what got slower and since which commit, and
//! renders a site that others can check. One straight line: measure, run, history, frame, analysis, pages; every
//! stage is a function from plain values to plain values, and only the commands join two stages.

pub use sprag_pipeline::{config, testing};

pub mod cli;
pub mod commands;
