//! Trueno's gate: its baselines as runs, and what its own check reads of two texts and reports.

pub mod import;
pub mod gate;
