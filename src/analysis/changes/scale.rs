//! The scale on which a series is looked at.
//!
//! Noise of benchmarks is a share of the level, and so are changes: values above zero are looked at by their logarithms, on
//! which a sixfold speed-up does not make what comes after it six times as quiet. Others are taken as they are.

/// The least deviation of noise, as a share of the level: differences below it are of the arithmetic.
const FLOOR: f64 = 1e-6;

/// A series on its scale.
pub(super) struct Scaled {
    /// The values, or their logarithms.
    pub(super) values: Vec<f64>,
    is_logarithmic: bool,
}

impl Scaled {
    pub(super) fn of(values: &[f64]) -> Scaled {
        let is_logarithmic = values.iter().all(|value| *value > 0.0);
        let values = if is_logarithmic { values.iter().map(|value| value.ln()).collect() } else { values.to_vec() };
        Scaled { values, is_logarithmic }
    }

    /// The least deviation that is believed.
    pub(super) fn floor(&self) -> f64 {
        if self.is_logarithmic {
            return FLOOR;
        }
        let count = self.values.len() as f64;
        FLOOR * self.values.iter().map(|value| value.abs() / count).sum::<f64>()
    }

    /// Whether the values are logarithms.
    pub(super) fn is_logarithmic(&self) -> bool {
        self.is_logarithmic
    }

    /// A level on this scale in units of the series.
    pub(super) fn in_units(&self, level: f64) -> f64 {
        if self.is_logarithmic { level.exp() } else { level }
    }

    /// A step on this scale as a share of the level from which it leads; not a number where that is zero.
    pub(super) fn share(&self, step: f64, level: f64) -> f64 {
        if self.is_logarithmic {
            step.exp_m1()
        } else if level == 0.0 {
            f64::NAN
        } else {
            step / level
        }
    }

    /// Whether two levels differ by that share of the smaller one.
    pub(super) fn differ(&self, one: f64, other: f64, least: f64) -> bool {
        let step = (other - one).abs();
        let needed = if self.is_logarithmic { least.ln_1p() } else { least * one.abs().min(other.abs()) };
        step >= needed && step > 0.0
    }
}
