//! The files of the seed, Apex-X: its reports, so that its own tools can read what we measure.

pub mod single_calls;
pub mod cpu_report;
pub mod gpu_report;
