//! `sprag import`: what other tools measured, as records of the history.
//!
//! `source` reads files and folders within bounds, `plan` says which runs are new and where each belongs, `word` turns
//! names of others into words that records may hold, `convert` makes runs of what a reader found, `converted` does so on
//! all processors, `command` does the rest; `one` reads a single file for a comparison.

mod command;
pub mod convert;
mod converted;
mod one;
mod plan;
pub(super) mod source;
pub mod word;

pub(super) use command::run;
pub(super) use one::foreign;
