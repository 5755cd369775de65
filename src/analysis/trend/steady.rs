//! What is reported of a series that goes on as it was, without its newest few points.
//!
//! The level of a hundred points moves with each new one, by far less than its uncertainty. With it moves the last
//! digit of every figure of the past that depends on it. So where the newest points change nothing about which changes
//! and drifts there are, the figures found before these points are reported. The newest segment counts in steps of a
//! power of two, which are an eighth of it at most. What is new is searched for with all points. A series that never
//! changed has no figures of the past, and all its points count.

use sprag_model::{Changes, Drift};

/// From how many points on a newest segment counts in steps.
const FEWEST: usize = 16;

/// How many steps it counts in at least.
const STEPS: usize = 8;

/// Of how many points a step is at most where the newest thing is a drift that was over a moment ago, so that its end is in doubt.
const LATE: usize = 8;

/// How much two drifts have in common that are the same, of what either spans.
const SAME_DRIFT: f64 = 0.75;

/// Up to which of so many points the reported figures are computed, where the later points change nothing. The first
/// answer is the newest step. The second is the step before, for where a few points at the end looked like a change.
/// Steps are those of all points, so that the series of a run move on together, and seldom.
pub(super) fn until(analysed: &Changes, count: usize) -> impl Iterator<Item = usize> + use<> {
    let ends = analysed.points.iter().map(|point| point.index).chain(analysed.drifts.iter().map(|drift| drift.end));
    let newest = ends.max().map_or(0, |end| count.saturating_sub(end));
    let power = |points: usize| 1 << (points / STEPS).ilog2();
    let is_newest = |drift: &&Drift| analysed.points.iter().all(|point| point.index <= drift.begin);
    let late = analysed.drifts.last().filter(is_newest).map(|drift| count.saturating_sub(drift.begin));
    let step = if newest >= FEWEST {
        power(newest)
    } else {
        late.filter(|points| *points >= FEWEST).map_or(1, |points| power(points).min(LATE))
    };
    let last = count - count % step;
    [last, last.saturating_sub(step)].into_iter().filter(move |_| last < count)
}

/// Whether the findings in the points up to one are the same changes and drifts as the findings in all, whose newest
/// segment began well before. Where one is in doubt, one point more or less makes no difference.
pub(super) fn are_alike(before: &Changes, until: usize, all: &Changes) -> bool {
    let mut steps = before.points.iter().zip(&all.points);
    let mut drifts = before.drifts.iter().zip(&all.drifts);
    let scale = |of: &Changes| of.noise.map(|noise| noise.is_relative);
    (before.points.len(), before.drifts.len(), scale(before)) == (all.points.len(), all.drifts.len(), scale(all))
        && steps.all(|(one, other)| one.first <= other.last && other.first <= one.last)
        && drifts.all(|(one, other)| one.is_carried == other.is_carried && one.end < until && is_same(one, other))
}

fn is_same(one: &Drift, other: &Drift) -> bool {
    let common = one.end.min(other.end).saturating_sub(one.begin.max(other.begin));
    let either = one.end.max(other.end) - one.begin.min(other.begin);
    common as f64 >= SAME_DRIFT * either as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::{ChangePoint, Level, SeriesNoise};

    fn drift(begin: usize, end: usize) -> Drift {
        let rate = Level { value: 0.01, lower: 0.01, upper: 0.01 };
        Drift { begin, end, before: 1.0, after: 1.1, rate, chance: 0.0, is_carried: false }
    }

    fn change(first: usize, index: usize, last: usize) -> ChangePoint {
        let level = Level { value: 1.0, lower: 0.9, upper: 1.1 };
        let likelihoods = vec![1.0; last - first + 1];
        let (before, after, relative) = (level, level, level);
        ChangePoint { index, first, last, before, after, relative, score: 2.0, chance: 1e-4, likelihoods }
    }

    fn analysed(points: Vec<ChangePoint>, drifts: Vec<Drift>) -> Changes {
        Changes { points, drifts, noise: Some(SeriesNoise::default()), ..Changes::default() }
    }

    #[test]
    fn the_newest_segment_counts_in_steps() {
        let check = |end: usize, count: usize, expected: &[usize]| {
            let until: Vec<usize> = until(&analysed(vec![], vec![drift(9, end)]), count).collect();
            assert_eq!(until, expected, "{count} points with a drift up to {end}");
        };
        check(20, 24, &[]);
        // The drift was over a moment ago, and took a few dozen points.
        check(20, 30, &[]);
        check(20, 31, &[30, 28]);
        check(30, 42, &[40, 36]);
        check(993, 1000, &[]);
        check(997, 1001, &[1000, 992]);
        check(20, 37, &[36, 34]);
        check(20, 40, &[]);
        check(20, 55, &[52, 48]);
        check(900, 1000, &[]);
        check(900, 1001, &[1000, 992]);
        check(200, 1000, &[960, 896]);
        assert_eq!(until(&Changes::default(), 1000).count(), 0, "nothing ever changed");
    }

    #[test]
    fn a_point_more_or_less_is_no_other_change() {
        let alike = |one: &Changes, other: &Changes| are_alike(one, 90, other);
        let one = analysed(vec![change(10, 12, 14)], vec![drift(40, 80)]);
        assert!(alike(&one, &one));
        assert!(alike(&one, &analysed(vec![change(14, 15, 16)], vec![drift(40, 84)])));
        assert!(!alike(&one, &analysed(vec![change(15, 15, 16)], vec![drift(40, 80)])));
        assert!(!alike(&one, &analysed(vec![change(10, 12, 14)], vec![drift(40, 60)])));
        assert!(!alike(&one, &analysed(vec![change(10, 12, 14), change(85, 86, 87)], vec![drift(40, 80)])));
        assert!(!alike(&one, &analysed(vec![change(10, 12, 14)], vec![])));
        assert!(!alike(&one, &analysed(vec![change(10, 12, 14)], vec![Drift { is_carried: true, ..drift(40, 80) }])));
        // One that went on to the last of the points before, and no longer.
        let goes_on = analysed(vec![], vec![drift(40, 90)]);
        assert!(!alike(&goes_on, &analysed(vec![], vec![drift(40, 84)])));
    }
}
