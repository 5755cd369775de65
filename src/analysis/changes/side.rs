//! One side of a change: its points, in order of time and of size, its level and its spread.

use std::ops::Range;

use sprag_base::stats::describe;

/// The most points of a side that count, the nearest ones: bounds the time, and keeps old decisions as the series grows.
pub(super) const MOST_POINTS: usize = 300;

/// The share of the points that a level leaves out at either end.
const TRIMMED: f64 = 0.15;

/// The points on one side of a change.
pub(super) struct Side<'a> {
    /// In order of time.
    pub(super) points: &'a [f64],
    /// In order of size.
    pub(super) sorted: Vec<f64>,
    pub(super) level: f64,
    /// The deviation about the level, far ones drawn in.
    pub(super) deviation: f64,
}

impl<'a> Side<'a> {
    pub(super) fn new(points: &'a [f64]) -> Side<'a> {
        let mut sorted = points.to_vec();
        describe::sort(&mut sorted);
        let level = trimmed_mean_of_sorted(&sorted);
        let deviation = winsorised_deviation(&sorted, level);
        Side { points, sorted, level, deviation }
    }

    pub(super) fn middle(&self) -> f64 {
        median_of_sorted(&self.sorted)
    }

    /// Whether half of the points or more are equal, as where a clock ticks slowly.
    pub(super) fn is_tied(&self) -> bool {
        let middle = self.middle();
        2 * self.sorted.iter().filter(|value| **value == middle).count() >= self.sorted.len()
    }

    pub(super) fn count(&self) -> f64 {
        self.points.len() as f64
    }
}

/// The points before `place` from `begin` on that count, and those from `place` to `end`.
pub(super) fn ranges(begin: usize, place: usize, end: usize) -> [Range<usize>; 2] {
    [begin.max(place.saturating_sub(MOST_POINTS))..place, place..end.min(place + MOST_POINTS)]
}

/// The median of numbers, whose order is lost; 0 where there are none.
pub(super) fn median(values: &mut [f64]) -> f64 {
    describe::median_in_place(values).unwrap_or_default()
}

/// The median absolute deviation, scaled to the standard deviation of normal noise. The order of the values is lost.
pub(super) fn scaled_median_deviation(values: &mut [f64]) -> f64 {
    let middle = median(values);
    values.iter_mut().for_each(|value| *value = (*value - middle).abs());
    1.4826 * median(values)
}

/// The mean without the share at either end; the median where that is less than a point. The order of the values is lost.
pub(super) fn trimmed_mean(values: &mut [f64]) -> f64 {
    describe::sort(values);
    trimmed_mean_of_sorted(values)
}

fn trimmed_mean_of_sorted(sorted: &[f64]) -> f64 {
    let count = sorted.len();
    let cut = (count as f64 * TRIMMED) as usize;
    if cut == 0 {
        return median_of_sorted(sorted);
    }
    sorted[cut..count - cut].iter().sum::<f64>() / (count - 2 * cut) as f64
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    describe::median_of_sorted(sorted).unwrap_or_default()
}

/// The scaled median absolute deviation of sorted numbers, whose distances come in order from two hands walking outwards.
fn median_deviation_of_sorted(sorted: &[f64]) -> f64 {
    let count = sorted.len();
    if count == 0 {
        return 0.0;
    }
    let middle = median_of_sorted(sorted);
    let mut above = sorted.partition_point(|value| *value < middle);
    let mut below = above;
    let (mut last, mut before) = (0.0, 0.0);
    for _ in 0..=count / 2 {
        let up = sorted.get(above).map_or(f64::INFINITY, |value| value - middle);
        let down = if below > 0 { middle - sorted[below - 1] } else { f64::INFINITY };
        before = last;
        if up <= down {
            last = up;
            above += 1;
        } else {
            last = down;
            below -= 1;
        }
    }
    1.4826 * if count % 2 == 1 { last } else { before + (last - before) / 2.0 }
}

/// The deviation of points about their own level.
pub(super) fn deviation_about_level(points: &[f64]) -> f64 {
    let mut sorted = points.to_vec();
    let level = trimmed_mean(&mut sorted);
    winsorised_deviation(&sorted, level)
}

/// The deviation about a level, points beyond three median deviations drawn in.
fn winsorised_deviation(sorted: &[f64], level: f64) -> f64 {
    let scale = median_deviation_of_sorted(sorted);
    if sorted.len() < 3 {
        return scale;
    }
    let limit = if scale > 0.0 { 3.0 * scale } else { f64::INFINITY };
    let squares: f64 = sorted.iter().map(|value| (value - level).clamp(-limit, limit).powi(2)).sum();
    (squares / (sorted.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn medians_are_those_of_the_sorted_numbers(values in prop::collection::vec(-9..9_i8, 1..40)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let side = Side::new(&values);
            prop_assert_eq!(Some(median_of_sorted(&side.sorted)), describe::median(&values));
            let deviation = scaled_median_deviation(&mut values.clone());
            prop_assert!((median_deviation_of_sorted(&side.sorted) - deviation).abs() < 1e-12);
        }
    }

    #[test]
    fn the_level_leaves_out_what_lies_far() {
        let points = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 50.0, 1.0, 1.0];
        let side = Side::new(&points);
        assert!((side.level - 1.0).abs() < 0.02 && side.deviation < 0.15, "{} {}", side.level, side.deviation);
        assert_eq!(Side::new(&[2.0, 9.0]).level, 5.5);
    }
}
