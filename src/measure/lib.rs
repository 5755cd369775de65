//! Measuring: everything that touches a clock, a device or another process, and ends in measurements.
//!
//! A parent plans and spawns fresh worker processes; each worker prepares every benchmark, checks its result, and
//! times it in blocks; the parent takes the median over workers. What cannot be measured is a value with a reason.

pub mod clock;
pub mod memory;
pub mod pinning;
pub mod calibration_kernels;
pub mod parity;
pub mod workload;
pub mod block;
pub mod plan;
pub mod worker;
pub mod process;
pub mod task;
pub mod campaign;
pub mod pool;
pub mod protocol;
pub mod tune;
pub mod paired;
pub mod noise;
pub mod sources;
pub mod environment;
pub mod gpu;
pub mod cpu;
pub mod command;
pub mod tensorrt;
pub mod instructions;
pub mod interrupt;
pub mod suite;

/// The reports that the tools of Apex-X read.
pub mod apex_x_report {
    pub mod calls;
    pub mod cpu;
    mod gpu;

    pub use self::cpu::cpu_report;
    pub use self::gpu::{GpuReportOptions, gpu_report};
}

pub mod doctor;

/// Why a suite could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    #[error("cannot find the path of this program")]
    OwnProgram(#[source] std::io::Error),
    #[error("cannot start a worker process with `{}`: {error}", .program.display())]
    Spawn { program: std::path::PathBuf, error: std::io::Error },
    #[error("no worker process finished: {0}")]
    Workers(String),
    #[error("the build step failed: {0}")]
    Build(String),
    #[error("the command gave no result: {0}")]
    Command(String),
    /// A command that cannot be started at all.
    #[error("{0}")]
    Start(String),
    /// As `Command`, for the other of two commands that take turns.
    #[error("the command gave no result: {0}")]
    Other(String),
    #[error("cannot follow the plan: {0}")]
    Plan(String),
    /// Nobody reads the messages of a worker any more.
    #[error("cannot identify what was measured: {0}")]
    Send(std::io::Error),
    #[error("cannot time single calls: {0}")]
    SingleCalls(String),
    #[error(transparent)]
    Benchmark(#[from] sprag_model::benchmark::BenchmarkError),
}
