//! The machine and the circumstances of a run: facts by allow-list, never a host, user or path name.
//!
//! Each module reads one corner of the system and parses what it finds with pure functions on text. What cannot be
//! read is absent, never a guess. [`pressure`] tells what moves while a run is under way.

mod cpu;
pub mod redact;
mod facts;
pub mod pressure;

pub use facts::{FACT_NAMES, MACHINE_VARIABLE, environment, machine, platform};
