//! The clocks: the monotonic one that times kernels, and the one that dates runs.

use std::time::Instant;

use chrono::{DateTime, Timelike, Utc};

/// A measured duration in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The same duration in seconds, as records hold it.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

/// Times one call of `work` on the monotonic clock.
pub fn time(work: impl FnOnce()) -> Nanos {
    let start = Instant::now();
    work();
    Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// The present time, to the second.
pub fn now() -> DateTime<Utc> {
    let now = Utc::now();
    now.with_nanosecond(0).unwrap_or(now)
}
