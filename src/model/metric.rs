//! What a benchmark is measured by: a name, a unit, and which way is better.

use serde::{Deserialize, Serialize};

use super::unit::Unit;

/// The metric every timed benchmark has: seconds for one call.
pub const TIME: &str = "time";

/// The metric of a benchmark that was timed beside a calibration kernel: its time over that kernel's.
pub const RATIO: &str = "ratio";

/// Which direction of change is an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Smaller values are better, as for time and memory.
    Lower,
    /// Larger values are better, as for throughput.
    Higher,
}

/// A measured quantity of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// A word without spaces, such as `time` or `tiles_per_s`.
    pub name: String,
    /// The unit its values are recorded in.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
}

impl Metric {
    /// Seconds a call, lower is better.
    pub fn time() -> Metric {
        Metric { name: TIME.to_owned(), unit: Unit::Second, better: Better::Lower }
    }

    /// Units of work a second, higher is better; `name` says which work, such as `tiles_per_s`.
    pub fn throughput(name: &str) -> Metric {
        Metric { name: name.to_owned(), unit: Unit::PerSecond, better: Better::Higher }
    }
}
