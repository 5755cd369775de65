//! The scale on which a series is analysed.
//!
//! Noise of benchmarks is a share of the level, and so are changes: values above zero are analysed by their logarithms, on
//! which a sixfold speed-up does not make what comes after it six times as quiet. Others are analysed in a power of two as
//! their unit, that of the largest: the differences and squares of any numbers are numbers then, and no digit is lost.

/// The least deviation of noise, as a share of the level: differences below it are of the arithmetic.
const FLOOR: f64 = 1e-6;

/// The largest exponent of a power of two that is a number.
const MOST_EXPONENT: f64 = 1023.0;

/// A series on its scale.
pub(super) struct Scaled {
    /// The values in their unit, or their logarithms.
    pub(super) values: Vec<f64>,
    is_logarithmic: bool,
    /// What the values are divided by; 1 for logarithms.
    unit: f64,
}

impl Scaled {
    pub(super) fn new(values: &[f64]) -> Scaled {
        let is_logarithmic = values.iter().all(|value| *value > 0.0);
        if is_logarithmic {
            return Scaled { values: values.iter().map(|value| value.ln()).collect(), is_logarithmic, unit: 1.0 };
        }
        let largest = values.iter().map(|value| value.abs()).fold(0.0, f64::max);
        // The logarithm of the largest numbers is rounded up to one whose power is none.
        let unit = if largest > 0.0 { largest.log2().floor().min(MOST_EXPONENT).exp2() } else { 1.0 };
        Scaled { values: values.iter().map(|value| value / unit).collect(), is_logarithmic, unit }
    }

    /// Its first points, on the same scale.
    pub(super) fn first(&self, count: usize) -> Scaled {
        Scaled { values: self.values[..count].to_vec(), ..*self }
    }

    /// Other values on the same scale.
    pub(super) fn with(&self, values: Vec<f64>) -> Scaled {
        Scaled { values, ..*self }
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
        let level = if self.is_logarithmic { level.exp() } else { level * self.unit };
        level.clamp(f64::MIN, f64::MAX)
    }

    /// A deviation on this scale in units of the series; of logarithms it stays a share.
    pub(super) fn spread(&self, deviation: f64) -> f64 {
        (deviation * self.unit).min(f64::MAX)
    }

    /// A deviation in units of the series on this scale.
    pub(super) fn of_spread(&self, deviation: f64) -> f64 {
        deviation / self.unit
    }

    /// A step on this scale as a share of the size of the level before it, so that a rise is positive; NaN where that is zero.
    pub(super) fn share(&self, step: f64, level: f64) -> f64 {
        if self.is_logarithmic {
            step.exp_m1()
        } else if level == 0.0 {
            f64::NAN
        } else {
            step / level.abs()
        }
    }

    /// Whether two levels differ by that share of the smaller one.
    pub(super) fn differ(&self, one: f64, other: f64, least: f64) -> bool {
        let step = (other - one).abs();
        let needed = if self.is_logarithmic { least.ln_1p() } else { least * one.abs().min(other.abs()) };
        step >= needed && step > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_the_sign_of_its_step() {
        let check = |before: f64, after: f64, share: f64| {
            let scaled = Scaled::new(&[before, after]);
            let measured = scaled.share(scaled.values[1] - scaled.values[0], scaled.values[0]);
            assert!((measured - share).abs() < 1e-12, "{before} to {after}: {measured}");
        };
        check(1.0, 2.0, 1.0);
        check(2.0, 1.0, -0.5);
        check(-1.0, -2.0, -1.0);
        check(-2.0, -1.0, 0.5);
        check(-2.0, 2.0, 2.0);
        check(2.0, -2.0, -2.0);
        assert!(Scaled::new(&[0.0, 1.0]).share(1.0, 0.0).is_nan());
    }
}
