//! What a worker process is told, and what it tells back: JSON over pipes, a line a message, with a version on both.

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::gpu::throttle::BlockState;
use crate::parity;
use crate::workload::Calibration;
use sprag_model::benchmark::Parity;

/// The version of plans and messages. Two builds that are compared must agree on it.
pub const PLAN_VERSION: u32 = 4;

/// What a worker says of a benchmark that its build does not have; a comparison knows new ones by it.
pub const NO_SUCH_BENCHMARK: &str = "this build has no such benchmark";

/// How long and how often to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// Worker processes, at most.
    pub processes: u32,
    /// Rounds a worker makes; each times one block of every benchmark.
    pub rounds: u32,
    pub block_samples: u32,
    /// The length of a sample, in seconds: fast calls are repeated to fill it.
    pub sample_seconds: f64,
    /// The time one worker may spend timing one benchmark, in seconds; slow calls get fewer samples.
    pub series_seconds: f64,
    pub seed: u64,
    /// The time that all workers together may take, in seconds.
    pub budget_seconds: Option<f64>,
    /// No further worker is started once the interval of every judged number is at most this share to either side.
    pub precision: Option<f64>,
    /// A worker that says nothing for so long, in seconds, is taken for hung and ended.
    pub patience_seconds: f64,
    /// The processor that workers are kept on; where the system chooses, absent.
    pub pin: Option<u32>,
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

    /// Fifteen workers: for a change of a few percent that must be seen.
    pub fn rigorous() -> Protocol {
        Protocol::ordinary(15)
    }

    /// As many workers as the time allows, up to the precision that more would not better much.
    pub fn within(budget_seconds: f64) -> Protocol {
        Protocol {
            budget_seconds: Some(budget_seconds),
            precision: Some(PRECISION),
            ..Protocol::ordinary(MOST_PROCESSES)
        }
    }
}

/// The half width of an interval, as a share, at which a run under a budget is content.
pub const PRECISION: f64 = 0.01;

/// The most worker processes of a run.
pub const MOST_PROCESSES: u32 = 100;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    pub id: String,
    /// The configuration to use; that of an untuned benchmark where absent.
    pub configuration: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Must be [`PLAN_VERSION`].
    pub version: u32,
    pub suite: String,
    /// The benchmarks to time, in the order of the suite.
    pub benchmarks: Vec<Planned>,
    pub protocol: Protocol,
    /// Which worker this is, from 0: it orders the benchmarks differently from the others.
    pub worker: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Message {
    /// The first: the version of its messages.
    Hello(u32),
    /// It turns to the benchmark of that number in the plan; a crash or silence after that is its fault.
    Begin(usize),
    /// All benchmarks are ready, or have failed; blocks can be asked for.
    Ready(Vec<Readiness>),
    Block {
        block: Block,
        /// Whether the system permitted the processor that was asked for; absent where none was.
        pinned: Option<bool>,
    },
    /// All that was measured: the last message.
    Report(WorkerReport),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readiness {
    pub id: String,
    pub failure: Option<String>,
    pub rounds: u32,
}

/// One line to a worker that takes blocks on demand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub benchmark: usize,
    /// The processor to run on; where the system chooses, absent.
    pub processor: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerReport {
    /// One entry a planned benchmark, in their order.
    pub series: Vec<WorkerSeries>,
    /// Whether it could be kept on the processor of the protocol; absent where none was asked for.
    pub pinned: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSeries {
    pub id: String,
    pub parity: Parity,
    pub failure: Option<String>,
    pub calls: u32,
    /// The most bytes that it held at one time.
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

/// A block of a benchmark and those taken right beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    pub own: Block,
    /// Of the same work on other memory, for a control.
    pub twin: Option<Block>,
    /// Of calibration kernels, the one that it is divided by first.
    pub calibrations: Vec<(Calibration, Block)>,
}

impl Turn {
    /// How the device was in every block of it: one that was held back anywhere spoils the ratio.
    pub fn device_states(&self) -> impl Iterator<Item = &BlockState> {
        let neighbours = self.twin.iter().chain(self.calibrations.iter().map(|(_, block)| block));
        std::iter::once(&self.own).chain(neighbours).filter_map(|block| block.device.as_ref())
    }
}
