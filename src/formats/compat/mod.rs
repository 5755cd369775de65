//! The files of the systems that went before: reports, baselines, gates and texts of Apex-X, Trueno and tt-metal.
//!
//! Golden files pin what the originals read and write byte for byte, oddities included: Python's words for errors, its
//! numbers that JSON lacks, its ways of writing floats.

pub mod json;
mod python;

/// The files of the seed, Apex-X: its reports, so that its own tools can read what we measure, and its baselines, so that
/// what was measured there can be held against them here.
pub mod apex_x {
    pub mod gate;
    pub mod cpu_report;
    pub mod gpu_report;
    pub mod gpu_launches;
    pub mod trt_report;
    pub mod report_parts;
    pub mod markdown;
    pub mod attestation;
    pub mod import;
    pub mod schema;
}

/// Trueno's baselines as runs, and what its own check reads of two texts and reports.
pub mod trueno {
    pub mod import;
    pub mod gate;
}

/// tt-metal's ground truth as runs, and what its own check reads of two of them and reports.
pub mod tt_metal {
    pub mod import;
    pub mod ground_truth;
    pub mod gate;
}
