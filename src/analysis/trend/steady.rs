//! What is told of a series that goes on as it was, without its newest few points.
//!
//! The level of a hundred points moves with each new one, by far less than it is known to, and with it the last digit of every
//! figure of the past that hangs on it. So where the newest points change nothing about which changes and drifts there are, what is
//! told of them is what was found before these points: the newest stretch counts in steps of a power of two, which are an eighth
//! of it at most. What is new is looked for with all points. Of a series that never changed there are no figures of the past, and
//! all points count.

use crate::model::change_point::Changes;

/// From how many points on a newest stretch counts in steps.
const FEWEST: usize = 32;

/// How many steps it counts in at least.
const STEPS: usize = 8;

/// Up to which point of so many the figures are found that are told, where that changes nothing.
pub(super) fn until(found: &Changes, count: usize) -> usize {
    let ends = found.points.iter().map(|point| point.index).chain(found.drifts.iter().map(|drift| drift.end));
    let newest = ends.max().map_or(0, |end| count.saturating_sub(end));
    if newest < FEWEST { count } else { count - newest % (1 << (newest / STEPS).ilog2()) }
}

/// Whether both tell of the same changes and drifts.
pub(super) fn are_alike(one: &Changes, other: &Changes) -> bool {
    let steps = |of: &Changes| of.points.iter().map(|point| point.index).collect::<Vec<usize>>();
    let drifts = |of: &Changes| of.drifts.iter().map(|drift| (drift.begin, drift.end, drift.held)).collect::<Vec<_>>();
    let scale = |of: &Changes| of.noise.map(|noise| noise.is_relative);
    steps(one) == steps(other) && drifts(one) == drifts(other) && scale(one) == scale(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::change_point::{Drift, Level};

    #[test]
    fn the_newest_stretch_counts_in_steps() {
        let rate = Level { value: 0.01, lower: 0.01, upper: 0.01 };
        let drift = |end: usize| Drift { begin: 9, end, before: 1.0, after: 1.1, rate, chance: 0.0, held: false };
        let check = |end: usize, count: usize, expected: usize| {
            let found = Changes { drifts: vec![drift(end)], ..Changes::default() };
            assert_eq!(until(&found, count), expected, "{count} points with a drift up to {end}");
        };
        check(20, 30, 30);
        check(20, 51, 51);
        check(20, 52, 52);
        check(20, 55, 52);
        check(20, 56, 56);
        check(900, 1000, 996);
        check(200, 1000, 968);
        assert_eq!(until(&Changes::default(), 1000), 1000, "nothing ever changed");
    }
}
