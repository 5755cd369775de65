//! What an analysis finds in one series: where its level changed for good, and where it drifted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A level, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    pub value: f64,
    /// Where it may lie at least.
    pub lower: f64,
    /// Where it may lie at most.
    pub upper: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ChangePoint {
    /// The most likely first point of the new level, from 0.
    pub index: usize,
    /// The first point that may be it.
    pub first: usize,
    pub last: usize,
    /// The level before; within a drift that right before it, without what the drift brings.
    pub before: Level,
    /// The level after, likewise.
    pub after: Level,
    /// The level after over that before, less 1, with its 95 % interval: the step as a share of the size of the level before, which
    /// may lie below zero; not numbers where there was none before.
    pub relative: Level,
    /// How far the change clears the limits of its tests; 1 is just enough, and less is possible beside a drift, from which it
    /// is told apart after them, and of a change that was told before and is held.
    pub score: f64,
    /// The chance that a point of a series which holds nothing gives a change as clear as this.
    pub chance: f64,
    /// The likelihood of each place from `first` to `last` by the points alone, that of the most likely one 1: where the
    /// environment speaks for another place, that one need not lie in the range.
    pub likelihoods: Vec<f64>,
}

impl ChangePoint {
    /// The step as a share of the size of the level before; not a number where there was none.
    pub fn relative(&self) -> f64 {
        self.relative.value
    }
}

/// A level that moves evenly from point to point, so that no single one is to blame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    pub begin: usize,
    pub end: usize,
    /// The level at which it begins, in units of the series.
    pub before: f64,
    pub after: f64,
    /// The share by which a point of it moves the level, with its 95 % interval.
    pub rate: Level,
    /// The chance that a point of a series which holds nothing lies in such a ramp.
    pub chance: f64,
    /// Whether the data alone no longer tell it, and it stays because it was told before.
    pub held: bool,
}

/// The noise of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesNoise {
    /// The deviation of a point from its level; a share of the level where `is_relative`, else in units of the series.
    pub deviation: f64,
    /// By how much the deviation of a mean is larger than with independent points.
    pub inflation: f64,
    /// Whether values are looked at by their logarithms.
    pub is_relative: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Lasting changes, in order.
    pub points: Vec<ChangePoint>,
    /// Drifts, in order.
    pub drifts: Vec<Drift>,
    /// The level of each stretch between changes, in order; none where nothing is looked for. That of a stretch with a drift
    /// in it is that of its points all the same.
    pub levels: Vec<Level>,
    /// The noise about the levels; absent where nothing is looked for, and in exact series.
    pub noise: Option<SeriesNoise>,
}
