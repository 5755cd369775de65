//! `sprag import`: what other tools measured, as records of the history.
//!
//! `plan` says which runs are new and where each belongs, `converted` makes runs of them on all processors, `command` does
//! the rest.

mod command;
mod converted;
mod plan;

pub(super) use command::run;
