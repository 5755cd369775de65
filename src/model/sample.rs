//! What was observed (`Sample`), what was computed from it (`Estimate`), and all of it for one benchmark
//! (`Measurement`).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::benchmark::{Attributes, Benchmark, Parity, ParityStatus};
use super::metric::{Metric, RATIO, TIME};

/// One timed stretch of calls: what was observed, in seconds a call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// On the monotonic clock.
    pub wall: f64,
    /// On the clock of the timing thread; absent where there is no such clock, or the work runs on other threads.
    pub cpu: Option<f64>,
    /// Whether the thread was kept from running meanwhile, so that `wall` tells about others.
    pub preempted: bool,
}

/// What was computed from the samples of one metric, in base units of the metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    pub metric: Metric,
    /// The tracked number: the median over worker processes of their medians.
    pub value: f64,
    /// One median a worker process, in the order in which they ran.
    pub workers: Vec<f64>,
    pub p50: Option<f64>,
    /// The 95th percentile of all clean samples; absent below 100 of them.
    pub p95: Option<f64>,
    pub min: Option<f64>,
    /// The 95 % interval of `value` over worker processes; absent below three of them.
    pub interval: Option<(f64, f64)>,
    /// The smallest relative change between two runs like this one that shows in four cases of five (two-sided test
    /// at 5 %, power 80 %), by the spread over worker processes; absent below three of them.
    pub detectable: Option<f64>,
    pub n: u64,
}

impl Estimate {
    /// A value of a metric and nothing else: no workers, no quantiles, no interval.
    pub fn new(metric: Metric, value: f64, n: u64) -> Estimate {
        let (p50, p95, min, interval, detectable) = (None, None, None, None, None);
        Estimate { metric, value, workers: Vec::new(), p50, p95, min, interval, detectable, n }
    }
}

/// The variant of a calibration kernel, which others are timed beside.
pub const CALIBRATION: &str = "calibration";

/// What a benchmark is there for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A gate looks at it.
    #[default]
    Tracked,
    /// It is shown and never judged, as with times on several threads of a shared machine.
    Reported,
    /// It shows how well the run itself can be trusted: one kernel timed under two names, so that 1 is the truth.
    Control,
}

impl Role {
    /// Whether this is the role of an ordinary benchmark, which records leave out.
    pub fn is_tracked(&self) -> bool {
        *self == Role::Tracked
    }

    /// Whether a benchmark of this role and that variant is no kernel of the suite, but what kernels are held against:
    /// a control or a calibration kernel.
    pub fn is_auxiliary(self, variant: &str) -> bool {
        self == Role::Control || variant == CALIBRATION
    }

    /// The place of the one metric that a gate looks at, of those of a benchmark of this role.
    pub fn judged<'n>(self, metrics: impl Iterator<Item = &'n str> + Clone) -> Option<usize> {
        if !self.is_tracked() {
            return None;
        }
        let place = |wanted: &str| metrics.clone().position(|name| name == wanted);
        place(RATIO).or_else(|| place(TIME)).or_else(|| metrics.clone().next().map(|_| 0))
    }

    pub fn word(self) -> &'static str {
        match self {
            Role::Tracked => "tracked",
            Role::Reported => "reported",
            Role::Control => "control",
        }
    }

    pub fn from_word(word: &str) -> Option<Role> {
        [Role::Tracked, Role::Reported, Role::Control].into_iter().find(|role| role.word() == word)
    }
}

/// What the reason of a benchmark begins with that another tool left out on purpose.
pub const SKIPPED: &str = "skipped: ";

/// Why there are no numbers of a benchmark that computed something else than it should.
const WRONG: &str = "its result differs from that of its reference";

/// One benchmark of a run: its identity, whether its result was right, and its estimates or why there are none.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// What was measured; the runs of a history share it.
    pub benchmark: Arc<Benchmark>,
    pub role: Role,
    pub attributes: Attributes,
    pub parity: Parity,
    /// The estimates, `time` first; empty where it failed.
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

    /// The one estimate that a gate looks at: `ratio` where the benchmark was timed beside a calibration kernel, else
    /// `time`, else the first; none where the benchmark is not tracked, or its numbers mean nothing.
    pub fn judged(&self) -> Option<&Estimate> {
        if !self.is_usable() {
            return None;
        }
        let names = self.estimates.iter().map(|estimate| estimate.metric.name.as_str());
        self.role.judged(names).map(|place| &self.estimates[place])
    }

    /// Why it was left out on purpose, as another tool told.
    pub fn skipped(&self) -> Option<&str> {
        self.failure.as_deref()?.strip_prefix(SKIPPED)
    }

    /// Whether its numbers mean something: it ran, and computed what it should.
    pub fn is_usable(&self) -> bool {
        self.failure.is_none() && self.parity.status != ParityStatus::Mismatch
    }

    /// Why it gave no result though it should have, or a wrong one.
    pub fn failed(&self) -> Option<&str> {
        match self.failure.as_deref() {
            Some(failure) => Some(failure).filter(|_| self.skipped().is_none()),
            None => (!self.is_usable()).then_some(WRONG),
        }
    }

    /// Whether it is of no kernel of the suite, but of what kernels are held against.
    pub fn is_auxiliary(&self) -> bool {
        self.role.is_auxiliary(&self.benchmark.variant)
    }

    pub fn estimate(&self, metric: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|estimate| estimate.metric.name == metric)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::metric::Better;
    use crate::unit::Unit;

    #[test]
    fn a_role_is_read_by_its_word() {
        for role in [Role::Tracked, Role::Reported, Role::Control] {
            assert_eq!(Role::from_word(role.word()), Some(role));
            assert_eq!(serde_json::to_value(role).expect("a word"), role.word());
        }
        assert_eq!(Role::from_word("other"), None);
    }

    #[test]
    fn a_calibrated_benchmark_is_judged_by_its_ratio() {
        let estimate = |name: &str| Estimate {
            metric: Metric { name: name.to_owned(), unit: Unit::One, better: Better::Lower },
            value: 1.0,
            workers: Vec::new(),
            p50: None,
            p95: None,
            min: None,
            interval: None,
            detectable: None,
            n: 1,
        };
        let check = |role: Role, names: &[&str], expected: Option<&str>| {
            let measurement = Measurement {
                role,
                benchmark: Benchmark::new("cpu", "x", &[], "fast").expect("the name is a word").into(),
                attributes: BTreeMap::new(),
                parity: Parity { status: ParityStatus::Exact, max_abs_error: None, tolerance: None },
                estimates: names.iter().map(|name| estimate(name)).collect(),
                failure: None,
            };
            assert_eq!(measurement.judged().map(|one| one.metric.name.as_str()), expected);
        };
        check(Role::Tracked, &["rate", "time", "ratio"], Some("ratio"));
        check(Role::Tracked, &["rate", "time"], Some("time"));
        check(Role::Tracked, &["rate", "bytes"], Some("rate"));
        check(Role::Tracked, &[], None);
        check(Role::Reported, &["time", "ratio"], None);
        check(Role::Control, &["ratio"], None);
    }
}
