//! Observations (`Sample`), what is computed from them (`Estimate`), and the estimates of a benchmark (`Measurement`).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::benchmark::{Attributes, Benchmark, Parity, ParityStatus};
use super::metric::{Metric, RATIO, TIME};
use sprag_base::words;

/// One timed series of calls, in seconds a call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// On the monotonic clock.
    pub wall: f64,
    /// On the clock of the timing thread; absent without such a clock, and where the work runs on other threads.
    pub cpu: Option<f64>,
    /// Whether the thread was preempted, so that `wall` includes the time of others.
    pub preempted: bool,
}

/// What was computed from the samples of one metric, in base units.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    pub metric: Metric,
    /// The median over worker processes of their medians.
    pub value: f64,
    /// One median a worker process, in the order of execution.
    pub workers: Vec<f64>,
    pub p50: Option<f64>,
    /// The 95th percentile of all clean samples; absent below 100 of them.
    pub p95: Option<f64>,
    pub min: Option<f64>,
    /// The 95 % interval of `value` over worker processes; absent below three of them.
    pub interval: Option<(f64, f64)>,
    /// The smallest relative change between two runs like this one that a two-sided test at 5 % detects with a power of 80 %,
    /// by the spread over worker processes; absent below three of them.
    pub detectable: Option<f64>,
    pub n: u64,
}

impl Estimate {
    /// A value without workers, quantiles and interval.
    pub fn new(metric: Metric, value: f64, n: u64) -> Estimate {
        let (p50, p95, min, interval, detectable) = (None, None, None, None, None);
        Estimate { metric, value, workers: Vec::new(), p50, p95, min, interval, detectable, n }
    }
}

/// The variant of a calibration kernel.
pub const CALIBRATION: &str = "calibration";

/// The purpose of a benchmark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A gate judges it.
    #[default]
    Tracked,
    /// It is shown and never judged, such as times on several threads of a shared machine.
    Reported,
    /// It measures the trustworthiness of the run: one kernel timed under two names, so that 1 is the truth.
    Control,
}

impl Role {
    pub fn is_tracked(&self) -> bool {
        *self == Role::Tracked
    }

    /// Whether a benchmark of this role and that variant is a control or a calibration kernel.
    pub fn is_auxiliary(self, variant: &str) -> bool {
        self == Role::Control || variant == CALIBRATION
    }

    /// The index of the judged metric among those of a benchmark of this role.
    pub fn judged<'n>(self, metrics: impl Iterator<Item = &'n str> + Clone) -> Option<usize> {
        if !self.is_tracked() {
            return None;
        }
        let place = |wanted: &str| metrics.clone().position(|name| name == wanted);
        place(RATIO).or_else(|| place(TIME)).or_else(|| metrics.clone().next().map(|_| 0))
    }
}

words!(Role { Tracked: "tracked", Reported: "reported", Control: "control" });

/// The prefix of the reason of a benchmark that its tool skipped on purpose.
pub const SKIPPED: &str = "skipped: ";

/// The reason of a benchmark whose parity check failed.
const WRONG: &str = "its result differs from that of its reference";

/// One benchmark of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Shared by the runs of a history.
    pub benchmark: Arc<Benchmark>,
    pub role: Role,
    pub attributes: Attributes,
    pub parity: Parity,
    /// `time` first; empty where it failed.
    pub estimates: Vec<Estimate>,
    pub failure: Option<String>,
}

impl Measurement {
    /// A tracked benchmark whose result is that of its reference.
    pub fn new(benchmark: impl Into<Arc<Benchmark>>, estimates: Vec<Estimate>) -> Measurement {
        let parity = Parity { status: ParityStatus::Exact, max_abs_error: None, tolerance: None };
        let (role, attributes) = (Role::Tracked, Attributes::new());
        Measurement { benchmark: benchmark.into(), role, attributes, parity, estimates, failure: None }
    }

    /// The estimate that a gate judges: `ratio`, else `time`, else the first; absent where it is not tracked or not usable.
    pub fn judged(&self) -> Option<&Estimate> {
        if !self.is_usable() {
            return None;
        }
        let names = self.estimates.iter().map(|estimate| estimate.metric.name.as_str());
        self.role.judged(names).map(|place| &self.estimates[place])
    }

    /// Why its tool skipped it on purpose.
    pub fn skipped(&self) -> Option<&str> {
        self.failure.as_deref()?.strip_prefix(SKIPPED)
    }

    /// Whether it ran and computed the right result.
    pub fn is_usable(&self) -> bool {
        self.failure.is_none() && self.parity.status != ParityStatus::Mismatch
    }

    /// Why its result is missing or wrong, unless it was skipped.
    pub fn failed(&self) -> Option<&str> {
        match self.failure.as_deref() {
            Some(failure) => Some(failure).filter(|_| self.skipped().is_none()),
            None => (!self.is_usable()).then_some(WRONG),
        }
    }

    /// Whether it is a control or a calibration kernel.
    pub fn is_auxiliary(&self) -> bool {
        self.role.is_auxiliary(&self.benchmark.variant)
    }

    pub fn estimate(&self, metric: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|estimate| estimate.metric.name == metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibrated_benchmark_is_judged_by_its_ratio() {
        let check = |role: Role, names: &[&str], expected: Option<&str>| {
            let estimates = names.iter().map(|name| Estimate::new(Metric::throughput(name), 1.0, 1)).collect();
            let benchmark = Benchmark::new("cpu", "x", &[], "fast").expect("the name is a word");
            let measurement = Measurement { role, ..Measurement::new(benchmark, estimates) };
            assert_eq!(measurement.judged().map(|one| one.metric.name.as_str()), expected);
            assert_eq!(serde_json::to_value(role).expect("a word"), role.word());
        };
        check(Role::Tracked, &["rate", "time", "ratio"], Some("ratio"));
        check(Role::Tracked, &["rate", "time"], Some("time"));
        check(Role::Tracked, &["rate", "bytes"], Some("rate"));
        check(Role::Tracked, &[], None);
        check(Role::Reported, &["time", "ratio"], None);
        check(Role::Control, &["ratio"], None);
    }
}
