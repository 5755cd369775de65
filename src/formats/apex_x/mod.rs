//! The files of the seed, Apex-X: its reports, so that its own tools can read what we measure.

pub mod cpu_report;
