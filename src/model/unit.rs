//! Units of recorded quantities, and the prefix a table or a chart shows them with.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The unit of a recorded value. Records hold SI base units only; prefixes exist on screen alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
pub enum Unit {
    /// Seconds.
    #[serde(rename = "s")]
    Second,
    /// Bytes.
    #[serde(rename = "B")]
    Byte,
    /// Events per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// A pure number, such as a ratio or a count.
    #[serde(rename = "1")]
    One,
}

impl Unit {
    /// The spelling in records: `s`, `B`, `1/s` or `1`.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Second => "s",
            Unit::Byte => "B",
            Unit::PerSecond => "1/s",
            Unit::One => "1",
        }
    }

    pub fn from_symbol(symbol: &str) -> Option<Unit> {
        [Unit::Second, Unit::Byte, Unit::PerSecond, Unit::One].into_iter().find(|unit| unit.symbol() == symbol)
    }

    /// The best prefix for values about as large as `typical`, in base units.
    pub fn scale(self, typical: f64) -> Scale {
        let steps: &[(f64, &str)] = match self {
            Unit::Second => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
            Unit::Byte => &[(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")],
            Unit::PerSecond => &[(1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "1/s")],
            Unit::One => &[(1.0, "")],
        };
        let smallest = steps[steps.len() - 1];
        let &(factor, symbol) = steps.iter().find(|(factor, _)| typical.abs() >= *factor).unwrap_or(&smallest);
        Scale { factor, symbol }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

/// A prefix for all numbers of a column or a chart, which are shown divided by `factor`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub factor: f64,
    /// Such as `ms`; empty for pure numbers.
    pub symbol: &'static str,
}

impl Scale {
    /// Four significant digits without the symbol.
    pub fn number(&self, value: f64) -> String {
        significant(value / self.factor, 4)
    }

    /// Such as `1.234 ms`.
    pub fn text(&self, value: f64) -> String {
        if self.symbol.is_empty() { self.number(value) } else { format!("{} {}", self.number(value), self.symbol) }
    }
}

/// `value` with `digits` significant digits: in plain notation from 0.0001 to ten million, else with an exponent.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..7).contains(&magnitude) {
        return format!("{value:.precision$e}", precision = digits - 1);
    }
    let decimals = (digits as i32 - 1 - magnitude).clamp(0, 12) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_fits_its_typical_value() {
        let check = |unit: Unit, value: f64, expected: &str| assert_eq!(unit.scale(value).text(value), expected);
        check(Unit::Second, 1.5, "1.500 s");
        check(Unit::Second, 0.0012345, "1.234 ms");
        check(Unit::Second, 2.5e-8, "25.00 ns");
        check(Unit::Second, 2.5e-10, "0.2500 ns");
        check(Unit::Byte, 3.0 * 1_048_576.0, "3.000 MiB");
        check(Unit::Byte, 12.0, "12.00 B");
        check(Unit::PerSecond, 12_345_678.0, "12.35 M/s");
        check(Unit::One, 1.0321, "1.032");
        check(Unit::Second, 0.0, "0 ns");
        check(Unit::One, -0.0, "0");
        check(Unit::Second, 1e300, "1.000e300 s");
        check(Unit::Second, 5e-324, "4.941e-315 ns");
    }

    #[test]
    fn symbols_round_trip() {
        for unit in [Unit::Second, Unit::Byte, Unit::PerSecond, Unit::One] {
            assert_eq!(Unit::from_symbol(unit.symbol()), Some(unit));
        }
        assert_eq!(Unit::from_symbol("ms"), None);
    }
}
