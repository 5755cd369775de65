//! tt-metal's gate: its ground truth as runs, and what its own check reads of two of them and reports.

pub mod import;
pub mod ground_truth;
pub mod gate;
