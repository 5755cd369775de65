//! The messages between a worker process and its parent: JSON over pipes, a line a message, each side with a version.

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::gpu::throttle::BlockState;
use crate::parity;
use crate::workload::Calibrator;
use sprag_model::Parity;

/// The version of plans and messages. Two builds that are compared must agree on it.
pub const PLAN_VERSION: u32 = 4;

/// What a worker reports of a benchmark that its build does not have; a comparison recognises new ones by it.
pub const NO_SUCH_BENCHMARK: &str = "this build has no such benchmark";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// Worker processes, at most.
    pub processes: u32,
    /// Each round times one block of every benchmark.
    pub rounds: u32,
    pub block_samples: u32,
    /// Fast calls are repeated to fill a sample of this length.
    pub sample_seconds: f64,
    /// The time in which one worker times one benchmark; slow calls get fewer samples.
    pub series_seconds: f64,
    pub seed: u64,
    /// The time for all workers together.
    pub budget_seconds: Option<f64>,
    /// No further worker is started once the interval of every judged number is at most this share to either side.
    pub precision: Option<f64>,
    /// A worker that sends nothing for so long is stopped.
    pub patience_seconds: f64,
    /// The processor of the workers; absent where the system chooses.
    pub pin: Option<u32>,
}

impl Protocol {
    /// Five workers by default, so that there is an interval over them.
    pub fn ordinary(processes: u32) -> Protocol {
        Protocol {
            processes,
            rounds: 12,
            block_samples: 14,
            // Far above the 20 ns of the clock, far below the 4 ms of a scheduler slice.
            sample_seconds: 100e-6,
            series_seconds: 0.4,
            seed: 123,
            budget_seconds: None,
            precision: None,
            patience_seconds: 120.0,
            pin: None,
        }
    }

    /// One worker: an answer in seconds, without an interval.
    pub fn quick() -> Protocol {
        Protocol { series_seconds: 0.2, ..Protocol::ordinary(1) }
    }

    /// Enough workers to show a change of a few percent.
    pub fn rigorous() -> Protocol {
        Protocol::ordinary(15)
    }

    /// As many workers as fit the time, until the interval is narrow.
    pub fn within(budget_seconds: f64) -> Protocol {
        Protocol {
            budget_seconds: Some(budget_seconds),
            precision: Some(PRECISION),
            ..Protocol::ordinary(MOST_PROCESSES)
        }
    }
}

/// The half width of an interval, as a share, at which a run under a budget stops.
pub const PRECISION: f64 = 0.01;

pub const MOST_PROCESSES: u32 = 100;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    pub id: String,
    /// That of an untuned benchmark where absent.
    pub configuration: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Must be [`PLAN_VERSION`].
    pub version: u32,
    pub suite: String,
    /// In the order of the suite.
    pub benchmarks: Vec<Planned>,
    pub protocol: Protocol,
    /// From 0; it decides the order of the benchmarks.
    pub worker: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Message {
    /// The first message: the version of its messages.
    Hello(u32),
    /// It starts on the benchmark of that number in the plan; a later crash or silence is attributed to it.
    Begin(usize),
    /// All benchmarks are ready or have failed; blocks can be requested.
    Ready(Vec<Readiness>),
    Block {
        block: Block,
        /// Whether the system permitted the requested processor; absent where none was requested.
        pinned: Option<bool>,
    },
    Report(WorkerReport),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readiness {
    pub id: String,
    pub failure: Option<String>,
    pub rounds: u32,
}

/// Requests one block from a worker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub benchmark: usize,
    /// Absent where the system chooses.
    pub processor: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerReport {
    /// One entry a planned benchmark, in their order.
    pub series: Vec<WorkerSeries>,
    /// Whether the system permitted the processor of the protocol; absent where none was requested.
    pub pinned: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSeries {
    pub id: String,
    pub parity: Parity,
    pub failure: Option<String>,
    pub calls: u32,
    /// The most bytes in use at one time.
    pub peak_bytes: Option<u64>,
    /// The most bytes that the memory pool of a device had handed out to the process when it was ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_bytes: Option<u64>,
    pub turns: Vec<Turn>,
}

impl WorkerSeries {
    pub fn untimed(id: &str) -> WorkerSeries {
        WorkerSeries {
            id: id.to_owned(),
            parity: parity::unchecked(),
            failure: None,
            calls: 1,
            peak_bytes: None,
            pool_bytes: None,
            turns: Vec::new(),
        }
    }
}

/// A block of a benchmark and those timed next to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    pub own: Block,
    /// The same work on other memory, for a control.
    pub twin: Option<Block>,
    /// Those of calibration kernels, the one that it is divided by first.
    pub calibrations: Vec<(Calibrator, Block)>,
}

impl Turn {
    /// The state of the device in every block: throttling in any of them spoils the ratio.
    pub fn device_states(&self) -> impl Iterator<Item = &BlockState> {
        let neighbours = self.twin.iter().chain(self.calibrations.iter().map(|(_, block)| block));
        std::iter::once(&self.own).chain(neighbours).filter_map(|block| block.device.as_ref())
    }
}
