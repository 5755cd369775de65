//! Foreign formats, one a file: what another program wrote is read as benchmarks, and values are written for other programs.
//! No file is opened here.
//!
//! A reader refuses what it does not understand. A single benchmark with a fault fails with its reason, and the others are read.

pub mod registry;
pub mod rows;

pub mod custom;
/// The folder that a bench of Criterion leaves, read for a suite and to import it, and the text that it prints.
pub mod criterion {
    pub mod folder;
    pub mod text;

    pub use folder::read;
}
mod divan;
mod tango;
mod google_benchmark;
mod nvbench;
pub mod npy;
mod hyperfine;
mod pyperf;
mod pytest_benchmark;
mod gungraun;
mod callgrind;
pub mod trtexec;
/// The files of the systems that went before: reports, baselines, gates and texts of Apex-X, Trueno and tt-metal.
///
/// Golden files fix what the originals read and write byte for byte: Python's words for errors, its numbers that JSON lacks,
/// its ways of writing floats.
pub mod compat {
    pub mod json;
    mod python;

    /// The files of Apex-X, Apex-X: its reports, so that its own tools read what we measure, and its baselines, so that our
    /// measurements can be compared with them.
    pub mod apex_x {
        pub mod gate;
        pub mod cpu_report;
        pub mod autotune;
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
}
mod asv;
mod asv_result;
mod github_action;
mod bencher;
mod go;
mod libtest;
mod jmh;
mod catch2;
mod benchmark_tools;
mod long_csv;

pub mod series_table;
pub mod table_csv;
pub mod values_csv;
pub mod json_lines;
pub mod openmetrics;

pub mod recordable;
pub mod word;

mod console;
mod field;
mod frame;
mod json;
mod output_format;
mod outputs;
mod peek;
mod provenance;
mod quantity;
mod table;

#[cfg(test)]
mod golden;

pub use frame::Format;
pub use output_format::OutputFormat;

/// nvbench leaves the samples of a file in a folder that is named after the file and ends so.
pub const SIDECAR: &str = "-bin";

/// The most benchmarks of one report: more would be beyond the size of a record. Among published histories the largest has
/// 7,500.
pub const MOST_BENCHMARKS: usize = 20_000;

/// The most runs of one file: ten times what years of a history have.
pub const MOST_RUNS: usize = 100_000;

/// The longest text that the names of many benchmarks may have in common, in bytes, so that a small file cannot fill the
/// memory.
pub const LONGEST_PREFIX: usize = 4096;

#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error("{0} is empty, where a report was expected")]
    Empty(String),
    #[error("{name} is not JSON: {error}")]
    Json { name: String, error: serde_json::Error },
    #[error("{name} {reason}")]
    Schema { name: String, reason: String },
    #[error("{0} lists no benchmark")]
    Nothing(String),
    #[error("{name} lists {count} benchmarks, at most {MOST_BENCHMARKS} are read")]
    Many { name: String, count: usize },
    #[error("{0} holds more than {MOST_RUNS} runs; split it")]
    ManyRuns(String),
}
