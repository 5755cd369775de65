//! What a worker process is told, and what it tells back: JSON over pipes, with a version on both.

use serde::{Deserialize, Serialize};

use crate::model::benchmark::Parity;

/// The version of plan and report. Parent and worker are the same binary; the check finds a mixed installation.
pub const PLAN_VERSION: u32 = 1;

/// How long and how often to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// Worker processes.
    pub processes: u32,
    /// Rounds a worker makes; each times one block of every benchmark.
    pub rounds: u32,
    /// Samples in a block.
    pub block_samples: u32,
    /// The shortest sample, in seconds: fast calls are repeated to fill it.
    pub sample_seconds: f64,
    /// The time one worker may spend timing one benchmark, in seconds; slow calls get fewer samples.
    pub series_seconds: f64,
    /// The seed of inputs and order.
    pub seed: u64,
}

impl Protocol {
    /// The default: five workers, so that the interval over them means something.
    pub fn ordinary(processes: u32) -> Protocol {
        Protocol {
            processes,
            rounds: 12,
            block_samples: 14,
            // Far above the 20 ns of the clock, far below the 4 ms of a scheduler slice.
            sample_seconds: 100e-6,
            series_seconds: 0.5,
            seed: 123,
        }
    }

    /// One worker and fewer samples: an answer in seconds, without an interval.
    pub fn quick() -> Protocol {
        Protocol { rounds: 9, series_seconds: 0.25, ..Protocol::ordinary(1) }
    }
}

/// What a worker is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Must be [`PLAN_VERSION`].
    pub version: u32,
    /// The suite that the benchmarks are named under.
    pub suite: String,
    /// The ids of the benchmarks to time, in the order of the suite.
    pub benchmarks: Vec<String>,
    /// How to measure.
    pub protocol: Protocol,
    /// Which worker this is, from 0: it orders the benchmarks differently from the others.
    pub worker: u32,
}

/// What a worker tells back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerReport {
    /// Must be [`PLAN_VERSION`].
    pub version: u32,
    /// One entry a benchmark, in the order of the suite.
    pub series: Vec<WorkerSeries>,
}

/// What a worker found for one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSeries {
    /// The benchmark's id.
    pub id: String,
    /// Whether its result was right.
    pub parity: Parity,
    /// Why it was not timed.
    pub failure: Option<String>,
    /// Calls in a sample.
    pub calls: u32,
    /// The median of each block, in seconds a call.
    pub blocks: Vec<f64>,
    /// All kept samples, in seconds a call.
    pub samples: Vec<f64>,
}
