//! What a benchmark is measured by: a name, a unit, and which way is better.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unit::Unit;

/// The metric every timed benchmark has: seconds for one call.
pub const TIME: &str = "time";

/// The metric of a benchmark that was timed beside a calibration kernel: its time over that kernel's.
pub const RATIO: &str = "ratio";

/// The largest magnitude that is taken, and the inverse of the smallest time or rate: no machine comes near it, and
/// medians, spreads and ratios of numbers within it are finite.
pub const LARGEST: f64 = 1e30;

/// Which direction of change is an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Smaller values are better, as for time and memory.
    Lower,
    /// Larger values are better, as for throughput.
    Higher,
}

/// A measured quantity of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// A word without spaces, such as `time` or `tiles_per_s`.
    pub name: String,
    /// The unit its values are recorded in.
    pub unit: Unit,
    pub better: Better,
}

/// The metric of the working memory of a benchmark: the most bytes that were allocated at one time.
pub const PEAK_MEMORY: &str = "peak_memory";

/// The metric that tells how near a benchmark comes to what the machine can do.
pub const LIMIT_SHARE: &str = "limit_share";

/// The metric of the work of a call: how many instructions it executes, counted and free of noise.
pub const INSTRUCTIONS: &str = "instructions";

/// The metric of work on a device: its time less that of launching nothing, timed beside it.
pub const ABOVE_FLOOR: &str = "above_floor";

impl Metric {
    /// The metrics whose names bear a meaning that pages and gates rely on.
    pub fn reserved() -> [Metric; 5] {
        [Metric::time(), Metric::ratio(), Metric::peak_memory(), Metric::limit_share(), Metric::above_floor()]
    }

    /// That a metric of this name is another one now: `the metric was recorded as B, lower is better, now as s, …`.
    pub fn redefined(&self, now: &Metric) -> String {
        let terms = |metric: &Metric| {
            let better = if metric.better == Better::Lower { "lower" } else { "higher" };
            format!("{}, {better} is better", metric.unit)
        };
        format!("the metric was recorded as {}, now as {}", terms(self), terms(now))
    }

    pub fn fault(&self, value: f64) -> Option<String> {
        let unit = self.unit;
        let is_ratio = self.name == RATIO;
        match unit {
            _ if !value.is_finite() => Some(format!("{value}, which is no number")),
            _ if value.abs() > LARGEST => Some(format!("{value:e} {unit}, which is beyond {LARGEST:e}")),
            Unit::Second | Unit::PerSecond if value <= 0.0 => {
                Some(format!("{value} {unit}, where more than zero is needed"))
            }
            Unit::One if is_ratio && value <= 0.0 => Some(format!("{value}, where more than zero is needed")),
            Unit::Second | Unit::PerSecond if value < 1.0 / LARGEST => {
                Some(format!("{value:e} {unit}, which is too little"))
            }
            Unit::Byte if value < 0.0 => Some(format!("{value} {unit}, where zero or more is needed")),
            Unit::Second | Unit::PerSecond | Unit::Byte | Unit::One => None,
        }
    }

    /// Whether a metric may be called so: one word of at most a hundred bytes.
    pub fn is_word(name: &str) -> bool {
        !name.is_empty() && name.len() <= 100 && !name.chars().any(|c| c.is_whitespace() || c.is_control())
    }

    /// Seconds a call, lower is better.
    pub fn time() -> Metric {
        Metric { name: TIME.to_owned(), unit: Unit::Second, better: Better::Lower }
    }

    /// Time over that of the calibration kernel timed beside it, lower is better.
    pub fn ratio() -> Metric {
        Metric { name: RATIO.to_owned(), unit: Unit::One, better: Better::Lower }
    }

    /// Seconds a call beyond those of an empty launch, lower is better.
    pub fn above_floor() -> Metric {
        Metric { name: ABOVE_FLOOR.to_owned(), unit: Unit::Second, better: Better::Lower }
    }

    pub fn instructions() -> Metric {
        Metric { name: INSTRUCTIONS.to_owned(), unit: Unit::One, better: Better::Lower }
    }

    /// Bytes, lower is better.
    pub fn peak_memory() -> Metric {
        Metric { name: PEAK_MEMORY.to_owned(), unit: Unit::Byte, better: Better::Lower }
    }

    /// The share of the machine's limit that is reached, 1 at the limit; higher is better.
    pub fn limit_share() -> Metric {
        Metric { name: LIMIT_SHARE.to_owned(), unit: Unit::One, better: Better::Higher }
    }

    /// Units of work a second, higher is better; `name` says which work, such as `tiles_per_s`.
    pub fn throughput(name: &str) -> Metric {
        Metric { name: name.to_owned(), unit: Unit::PerSecond, better: Better::Higher }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_decides_which_numbers_can_be() {
        let check = |unit: Unit, value: f64, fine: bool| {
            let metric = Metric { name: "m".to_owned(), unit, better: Better::Lower };
            assert_eq!(metric.fault(value).is_none(), fine, "{value} {unit}");
        };
        check(Unit::Second, 1e-9, true);
        check(Unit::Second, 0.0, false);
        check(Unit::Second, -1.0, false);
        check(Unit::Second, 1e-31, false);
        check(Unit::PerSecond, 0.0, false);
        check(Unit::Byte, 0.0, true);
        check(Unit::Byte, -1.0, false);
        check(Unit::One, -1.0, true);
        check(Unit::One, 1e31, false);
        check(Unit::One, f64::NAN, false);
        check(Unit::One, f64::INFINITY, false);
        assert!(Metric::ratio().fault(0.0).is_some());
    }
}
