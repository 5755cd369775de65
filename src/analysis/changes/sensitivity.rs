//! The limits that the tests of a change must reach, and the constants of the tests.

use serde::{Deserialize, Serialize};

use super::tuning::Tuning;

/// How sure a change must be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// What a further change costs in the partition, in squares of the deviation of the noise. It does not depend on the length
    /// of the series, so that old decisions stay when points are added.
    pub(crate) penalty: f64,
    /// The rank test and the test of the means of two long sides, as normal deviates.
    pub(crate) clear: f64,
    /// The test of a step against autocorrelated noise, as a normal deviate.
    pub(crate) steady: f64,
    /// The chance that a run of few points is drawn from its surroundings, by ranks.
    pub(crate) rare: f64,
    /// Likewise, by how far it reaches beyond their tail; the exponent of ten.
    pub(crate) far: f64,
    pub(crate) least: f64,
    /// The false alarms that are allowed in 1,000 points of series without a change.
    pub(crate) budget: f64,
    /// The constants of the tests; only `benches/changepoint` sets others than [`Tuning::FITTED`].
    #[serde(skip)]
    pub tuning: Tuning,
}

impl Sensitivity {
    /// Less than half of the false alarms of [`Sensitivity::BALANCED`].
    pub const STRICT: Sensitivity =
        Sensitivity { clear: 4.55, steady: 4.1, rare: 1e-5, far: 6.8, budget: 0.02, ..Sensitivity::BALANCED };

    /// Well under one false alarm in ten thousand points.
    pub const BALANCED: Sensitivity = Sensitivity {
        penalty: 12.0,
        clear: 4.1,
        steady: 3.75,
        rare: 2e-5,
        far: 5.68,
        least: 0.004,
        budget: 0.05,
        tuning: Tuning::FITTED,
    };

    /// For short histories of which somebody checks each alarm.
    pub const LOOSE: Sensitivity =
        Sensitivity { clear: 3.7, steady: 3.4, rare: 3e-4, far: 4.8, budget: 0.25, ..Sensitivity::BALANCED };

    /// The false alarms that are allowed in 1,000 points of series without a change; `benches/changepoint/` counts them.
    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// In a series with so many proven changes: what changed before is likelier to change again.
    pub(crate) fn after_changes(&self, changes: usize) -> Sensitivity {
        let share = (1.0 - self.tuning.relief * (changes as f64 - 0.5)).max(self.tuning.most_relief);
        Sensitivity { clear: self.clear * share, steady: self.steady * share, ..*self }
    }

    /// With limits that are so many times as high.
    pub(crate) fn raised(self, factor: f64) -> Sensitivity {
        Sensitivity {
            clear: self.clear * factor,
            steady: self.steady * factor,
            rare: self.rare.powf(factor),
            far: self.far * factor,
            ..self
        }
    }

    /// With another least relative change: 0.01 is 1 %.
    pub fn at_least(self, least: f64) -> Sensitivity {
        Sensitivity { least, ..self }
    }
}
