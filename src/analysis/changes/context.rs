//! What decides about the changes of a series besides its points.

use std::ops::RangeInclusive;

/// The score below which a change that was told before is taken back.
pub const RETAINED: f64 = 0.7;

/// What is known of a series besides its points.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// The ranges of the changes that were told before.
    pub told: &'a [RangeInclusive<usize>],
    /// The points of the ramps of the drifts that were told before.
    pub drifts: &'a [RangeInclusive<usize>],
    /// The first point of each new environment, in order: a likelier place for a change than any other. They decide where a
    /// change is and whether it is a drift, never that there is one.
    pub borders: &'a [usize],
    /// Whether more is better, as of rates. What interferes with a run makes it worse, so that strays lie above the other
    /// points of times, and below those of rates; few points together on that side say less.
    pub more_is_better: bool,
    /// Of how many runs each point is the middle, where not all are of one: what more runs tell says more of where a change is.
    pub runs: &'a [usize],
}
