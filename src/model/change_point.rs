//! What an analysis finds in one series: lasting changes of its level, and drifts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A level, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    pub value: f64,
    /// The lower end of the interval.
    pub lower: f64,
    /// The upper end of the interval.
    pub upper: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// The most likely first point of the new level, from 0.
    pub index: usize,
    /// The first point that may be it.
    pub first: usize,
    pub last: usize,
    /// The level just before and just after; within a drift without the slope of the drift.
    pub before: Level,
    pub after: Level,
    /// The step as a share of the absolute level before, with its 95 % interval; NaN where that level is zero.
    pub relative: Level,
    /// How far the change exceeds the limits of its tests; 1 is just enough. It may be less next to a drift, and for a change that
    /// stays because it was reported before.
    pub score: f64,
    /// The probability that a point of a series without changes gives a change as clear as this.
    pub chance: f64,
    /// The likelihood of each place from `first` to `last`, by the points alone, relative to the most likely place. That place
    /// may lie outside the range where the environment suggests another one.
    pub likelihoods: Vec<f64>,
}

impl ChangePoint {
    pub fn relative(&self) -> f64 {
        self.relative.value
    }
}

/// A level that moves evenly from point to point, so that no single one is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    pub begin: usize,
    pub end: usize,
    /// The levels at its ends, in units of the series.
    pub before: f64,
    pub after: f64,
    /// The relative change a point, with its 95 % interval.
    pub rate: Level,
    /// The probability that a point of a series without drift lies in such a ramp.
    pub chance: f64,
    /// Whether the data alone no longer show it, and it stays because it was reported before.
    pub is_carried: bool,
}

/// Points that go back and forth between two levels, or up and down among several.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Modes {
    /// The first point after the first change of the level.
    pub begin: usize,
    /// The first point after the last one of them.
    pub end: usize,
    /// The lowest level, in units of the series.
    pub low: f64,
    pub high: f64,
    /// Of two levels, the share of the points that are at the higher one; absent where there are more.
    pub share: Option<f64>,
    /// The first point after the last change, and whether the level is since then nearer to the highest.
    pub newest: usize,
    pub is_high: bool,
    /// The probability that a point of a series without changes gives a change as clear as the clearest of those that it replaces.
    pub chance: f64,
}

/// The noise of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesNoise {
    /// The deviation of a point from its level; a share of the level where `is_relative`, else in units of the series.
    pub deviation: f64,
    /// The factor by which autocorrelation increases the deviation of a mean.
    pub inflation: f64,
    /// Whether the logarithms of the values are analysed.
    pub is_relative: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    pub points: Vec<ChangePoint>,
    pub drifts: Vec<Drift>,
    /// No change and no drift is between their ends but for changes of their shares.
    pub modes: Vec<Modes>,
    /// The level of each segment between changes, drifts and modes included; empty where the series is not analysed.
    pub levels: Vec<Level>,
    /// The noise about the levels; absent in exact series and where the series is not analysed.
    pub noise: Option<SeriesNoise>,
}
