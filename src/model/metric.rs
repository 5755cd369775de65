//! What a benchmark is measured by: a name, a unit, and which way is better.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_base::words;

use super::unit::Unit;

/// Seconds a call, of every timed benchmark.
pub const TIME: &str = "time";

/// The time over that of the calibration kernel timed next to it.
pub const RATIO: &str = "ratio";

/// The largest valid magnitude, and the inverse of the smallest time or rate: statistics of such numbers are finite.
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

words!(Better { Lower: "lower", Higher: "higher" });

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

/// The most bytes allocated at one time.
pub const PEAK_MEMORY: &str = "peak_memory";

/// The share of the limit of the machine that is reached, 1 at the limit.
pub const LIMIT_SHARE: &str = "limit_share";

/// The instructions executed in a call, counted and free of noise.
pub const INSTRUCTIONS: &str = "instructions";

/// The time on a device less that of an empty launch.
pub const ABOVE_FLOOR: &str = "above_floor";

impl Metric {
    /// The metrics whose names have a meaning for pages and gates.
    pub fn reserved() -> [Metric; 5] {
        [Metric::time(), Metric::ratio(), Metric::peak_memory(), Metric::limit_share(), Metric::above_floor()]
    }

    /// Such as `the metric was recorded as B, lower is better, now as s, …`.
    pub fn redefined(&self, now: &Metric) -> String {
        let terms = |metric: &Metric| {
            let better = metric.better.word();
            format!("{}, {better} is better", metric.unit)
        };
        format!("the metric was recorded as {}, now as {}", terms(self), terms(now))
    }

    pub fn fault(&self, value: f64) -> Option<String> {
        let unit = self.unit;
        let is_ratio = self.name == RATIO;
        match unit {
            _ if !value.is_finite() => Some(format!("{value}, which is not a number")),
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

    /// The word for a change for the worse, or for the better.
    pub fn word(&self, is_worse: bool) -> &'static str {
        // A ratio is a time divided by that of the calibration kernel.
        let speed = matches!(self.unit, Unit::Second | Unit::PerSecond) || self.name == RATIO;
        match (speed, self.unit, self.better, is_worse) {
            (true, _, _, true) => "slower",
            (true, _, _, false) => "faster",
            (false, Unit::Byte, Better::Lower, true) | (false, Unit::Byte, Better::Higher, false) => "larger",
            (false, Unit::Byte, _, _) => "smaller",
            (false, _, _, true) => "worse",
            (false, _, _, false) => "better",
        }
    }

    /// Whether a text can be the name of a metric: one word of at most a hundred bytes.
    pub fn is_word(name: &str) -> bool {
        !name.is_empty() && name.len() <= 100 && !name.chars().any(|c| c.is_whitespace() || c.is_control())
    }

    fn new(name: &str, unit: Unit, better: Better) -> Metric {
        Metric { name: name.to_owned(), unit, better }
    }

    pub fn time() -> Metric {
        Metric::new(TIME, Unit::Second, Better::Lower)
    }

    pub fn ratio() -> Metric {
        Metric::new(RATIO, Unit::One, Better::Lower)
    }

    pub fn above_floor() -> Metric {
        Metric::new(ABOVE_FLOOR, Unit::Second, Better::Lower)
    }

    pub fn instructions() -> Metric {
        Metric::new(INSTRUCTIONS, Unit::One, Better::Lower)
    }

    pub fn peak_memory() -> Metric {
        Metric::new(PEAK_MEMORY, Unit::Byte, Better::Lower)
    }

    pub fn limit_share() -> Metric {
        Metric::new(LIMIT_SHARE, Unit::One, Better::Higher)
    }

    /// Units of work a second; `name` says which work, such as `tiles_per_s`.
    pub fn throughput(name: &str) -> Metric {
        Metric::new(name, Unit::PerSecond, Better::Higher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_decides_which_numbers_can_be() {
        let is_valid = |unit: Unit, value: f64| Metric::new("m", unit, Better::Lower).fault(value).is_none();
        for (unit, value) in [(Unit::Second, 1e-9), (Unit::Byte, 0.0), (Unit::One, -1.0)] {
            assert!(is_valid(unit, value), "{value} {unit}");
        }
        for (unit, value) in [
            (Unit::Second, 0.0),
            (Unit::Second, -1.0),
            (Unit::Second, 1e-31),
            (Unit::PerSecond, 0.0),
            (Unit::Byte, -1.0),
            (Unit::One, 1e31),
            (Unit::One, f64::NAN),
            (Unit::One, f64::INFINITY),
        ] {
            assert!(!is_valid(unit, value), "{value} {unit}");
        }
        assert!(Metric::ratio().fault(0.0).is_some());
    }
}
