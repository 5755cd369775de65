//! The three suites of the seed, told apart by the name that their reports bear.

use super::{cpu_report, gpu_report, trt_report};

/// A suite of the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedSuite {
    /// Kernels and the small model on the CPU.
    Cpu,
    Gpu,
    /// The sweep of a TensorRT engine over shapes.
    Trt,
}

impl SeedSuite {
    pub const ALL: [SeedSuite; 3] = [SeedSuite::Cpu, SeedSuite::Gpu, SeedSuite::Trt];

    /// The name that its reports and baselines bear.
    pub fn name(self) -> &'static str {
        match self {
            SeedSuite::Cpu => cpu_report::SUITE,
            SeedSuite::Gpu => gpu_report::SUITE,
            SeedSuite::Trt => trt_report::SUITE,
        }
    }

    pub fn from_name(name: &str) -> Option<SeedSuite> {
        SeedSuite::ALL.into_iter().find(|suite| suite.name() == name)
    }

    /// What the lines begin with that the seed's tool prints for it.
    pub fn prefix(self) -> &'static str {
        match self {
            SeedSuite::Cpu => "perf",
            SeedSuite::Gpu => "perf_gpu",
            SeedSuite::Trt => "perf_trt",
        }
    }

    /// Whether its reports have a status, which a baseline can require.
    pub fn has_status(self) -> bool {
        self != SeedSuite::Cpu
    }
}
