//! What an analysis finds in one series: where its level changed, and where it drifted.

/// A change of level that lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The most likely first point of the new level, from 0.
    pub index: usize,
    /// The first point that may be it.
    pub first: usize,
    /// The last point that may be it.
    pub last: usize,
    /// The level before, in units of the series.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// How far the change clears the limits of its tests; 1 is just enough, and less is possible beside a drift, from which it
    /// is told apart after them.
    pub score: f64,
}

impl ChangePoint {
    /// The level after over that before, less 1; not a number where there was none.
    pub fn relative(&self) -> f64 {
        self.after / self.before - 1.0
    }
}

/// A level that moves evenly from point to point, so that no single one is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift {
    /// The first point of the ramp, from 0.
    pub begin: usize,
    /// The first point after it.
    pub end: usize,
}

/// What is found in a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Lasting changes, in order.
    pub points: Vec<ChangePoint>,
    /// Drifts, in order.
    pub drifts: Vec<Drift>,
}
