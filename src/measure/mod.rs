//! Measuring: everything that touches a clock, a device or another process, and ends in measurements.
//!
//! A parent plans and spawns fresh worker processes; each worker prepares every benchmark, checks its result, and
//! times it in blocks; the parent takes the median over workers. What cannot be measured is a value with a reason.

pub mod clock;
pub mod environment;
pub mod gpu;
pub mod estimate;
pub mod plan;
pub mod protocol;
pub mod worker;
pub mod workload;
pub mod cpu;

/// Why a suite could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A worker process could not be started.
    #[error("cannot start a worker process: {0}")]
    Spawn(std::io::Error),
    /// No worker process gave a result.
    #[error("no worker process finished: {0}")]
    Workers(String),
    /// A plan that this build cannot follow.
    #[error("cannot read the plan: {0}")]
    Plan(String),
    /// A benchmark that cannot be named.
    #[error(transparent)]
    Benchmark(#[from] crate::model::benchmark::BenchmarkError),
}
