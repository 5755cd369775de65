//! How much it takes to call something a change.

/// By how much less it takes to tell one more change between long sides for each that is sure, half as much for the first, and
/// to what share of the limits at most: what changed once may well be at rest since, what changed twice will change again.
const EASIER: f64 = 0.08;
const EASIEST: f64 = 0.75;

/// In series of about so many points false alarms stay farthest below what is allowed: fewer points tell little of their noise,
/// and of longer series more are alarmed. Just there a run must reach by that share less, and twice the chance by ranks will do.
/// It fades as a normal density does, with that deviation of the logarithm of the length.
const ROOMY: f64 = 400.0;
const NEARER: f64 = 0.1;
const FADES: f64 = 0.5;

/// How much it takes: the limits that the tests of a change must reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    /// What a further change costs in the partition, in squares of the deviation of the noise. A constant, so that it is a
    /// price per point and old decisions do not hang on how long the series has become.
    pub(crate) penalty: f64,
    /// The rank test and the test of the means of two long sides, as normal deviates; less for ranks of few points, and where
    /// means are far apart.
    pub(crate) clear: f64,
    /// The test of a step against noise that wanders, as a normal deviate; less where means are far apart.
    pub(crate) steady: f64,
    /// The chance that a run of few points is drawn from its surroundings, by ranks.
    pub(crate) rare: f64,
    /// Likewise, by how far it reaches beyond their tail; the exponent of ten.
    pub(crate) far: f64,
    /// The least relative change.
    pub(crate) least: f64,
    /// The false alarms that are allowed in 1,000 points of series that hold nothing.
    pub(crate) budget: f64,
}

impl Sensitivity {
    /// Almost no false alarm: less than a half of those of [`Sensitivity::BALANCED`].
    pub const STRICT: Sensitivity =
        Sensitivity { clear: 4.5, steady: 4.1, rare: 1e-5, far: 6.5, budget: 0.02, ..Sensitivity::BALANCED };

    /// Well under one false alarm in ten thousand points.
    pub const BALANCED: Sensitivity =
        Sensitivity { penalty: 12.0, clear: 4.1, steady: 3.75, rare: 4e-5, far: 5.5, least: 0.004, budget: 0.05 };

    /// For short histories with somebody who looks at each alarm.
    pub const LOOSE: Sensitivity =
        Sensitivity { clear: 3.7, steady: 3.4, rare: 3e-4, far: 4.7, budget: 0.25, ..Sensitivity::BALANCED };

    /// The false alarms that are allowed in 1,000 points of series that hold nothing; `benches/changepoint/` counts them.
    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// In a series in which so many changes proved themselves.
    pub(crate) fn beside(&self, changes: usize) -> Sensitivity {
        let share = (1.0 - EASIER * (changes as f64 - 0.5)).max(EASIEST);
        Sensitivity { clear: self.clear * share, steady: self.steady * share, ..*self }
    }

    /// In a series of so many points.
    pub(crate) fn of_length(&self, count: usize) -> Sensitivity {
        let room = (-0.5 * ((count as f64 / ROOMY).ln() / FADES).powi(2)).exp();
        Sensitivity { rare: self.rare * (1.0 + room), far: self.far * (1.0 - NEARER * room), ..*self }
    }

    /// With another least relative change: 0.01 is 1 %.
    pub fn at_least(self, least: f64) -> Sensitivity {
        Sensitivity { least, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_hundred_points_take_less_and_other_lengths_as_much() {
        let balanced = Sensitivity::BALANCED;
        let shares = |count: usize| {
            let one = balanced.of_length(count);
            assert_eq!((one.clear, one.steady, one.least), (balanced.clear, balanced.steady, balanced.least));
            (one.far / balanced.far, one.rare / balanced.rare)
        };
        let (far, rare) = shares(400);
        assert!((far - 0.9).abs() < 1e-9 && (rare - 2.0).abs() < 1e-9, "{far}, {rare}");
        for count in [8, 30, 60, 4000, 1_000_000] {
            let (far, rare) = shares(count);
            assert!(far > 0.999 && rare < 1.01, "{count}: {far}, {rare}");
        }
        assert_eq!(shares(200).0, shares(800).0);
        assert_eq!(balanced.of_length(0), balanced);
    }
}
