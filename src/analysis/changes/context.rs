//! What decides about the changes of a series besides its points.

use std::ops::RangeInclusive;

/// The score below which a reported change is withdrawn.
pub const RETAINED: f64 = 0.7;

#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// The ranges of the changes that were reported before.
    pub reported: &'a [RangeInclusive<usize>],
    /// The points of the ramps of the drifts that were reported before.
    pub reported_drifts: &'a [RangeInclusive<usize>],
    /// The first point of each new environment, in order: a likelier place for a change than any other. They decide where a
    /// change is and whether it is a drift, never that there is one.
    pub borders: &'a [usize],
    /// Whether more is better, as of rates. Interference makes a run worse: outliers lie above the other points of times, and below
    /// those of rates; few points together on that side count for less.
    pub more_is_better: bool,
    /// Of how many runs each point is the median, where not all are of one.
    pub runs: &'a [usize],
    /// Whether changes that go up and down again and again become one finding of unstable points.
    pub joins_unstable: bool,
}

impl Context<'_> {
    /// Whether it decides the same as none.
    pub(crate) fn is_blank(&self) -> bool {
        let Context { reported, reported_drifts, borders, more_is_better, runs, joins_unstable } = self;
        [reported.len(), reported_drifts.len(), borders.len()] == [0; 3]
            && !more_is_better
            && !joins_unstable
            && runs.iter().all(|runs| *runs == 1)
    }
}
