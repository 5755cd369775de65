//! The machine and the circumstances of a run: facts by allow-list, never a host, user or path name.
//!
//! Each module reads one corner of the system and parses what it finds with pure functions on text. What cannot be
//! read is absent, never a guess. [`pressure`] tells what moves while a run is under way.

mod text;
mod cpu;
mod memory;
mod kernel;
mod cgroup;
mod container;
mod counters;
pub mod redact;
mod machine;
mod facts;
pub mod pressure;

pub use facts::{FACT_NAMES, environment};
pub use machine::{MACHINE_VARIABLE, machine, platform};
