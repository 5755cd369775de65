//! `sprag import`: what other tools measured, as records of the history.
//!
//! `source` reads files and folders within bounds, `word` turns names of others into words that records may hold,
//! `convert` makes runs of what a reader found, `command` does the rest.

mod command;
mod convert;
pub(super) mod source;
mod word;

pub(super) use command::run;
