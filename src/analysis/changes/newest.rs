//! The newest points, where they are outliers and too few for a change.

use serde::{Deserialize, Serialize};

use super::detect::FEWEST_POINTS;
use super::scale::Scaled;
use super::sensitivity::Sensitivity;
use sprag_model::{Changes, Level, Modes};

/// How many newest points are examined.
const NEWEST: usize = 3;

/// From how many deviations on a newest point is an outlier.
const APART: f64 = 3.5;

/// The most further runs that are suggested: findings that need more are usually noise.
const MOST_RUNS: usize = 4;

/// Newest points that are outliers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apart {
    pub begin: usize,
    /// How many further points at their level make a change.
    pub runs: usize,
    pub level: Level,
    /// Their median over that level, less 1; not a number where the level is zero.
    pub relative: f64,
}

/// The newest points of a series that are outliers from its newest level and no change yet; `changes` is of the series.
///
/// How many more points a change takes: the series is analysed by `search` with one, two and more points at their median.
pub fn apart(
    values: &[f64],
    changes: &Changes,
    sensitivity: &Sensitivity,
    search: impl Fn(&[f64]) -> Changes,
) -> Option<Apart> {
    let count = values.len();
    if count < FEWEST_POINTS || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let scaled = Scaled::new(values);
    let changed = changes.points.last().map_or(0, |point| point.index);
    if changes.drifts.iter().any(|drift| drift.end + NEWEST >= count) {
        return None;
    }
    let deviation = scaled.of_spread(changes.noise.map_or(0.0, |noise| noise.deviation));
    let begin = (count - NEWEST.min(count - changed - 1)..count).find(|begin| {
        if *begin <= changed + 1 && changed > 0 {
            return false;
        }
        let level = super::side::median(&mut scaled.values[changed..*begin].to_vec());
        let beyond = |value: &f64| value - level;
        let newest = &scaled.values[*begin..];
        let is_same_side = newest.iter().all(|value| (beyond(value) > 0.0) == (beyond(&newest[0]) > 0.0));
        is_same_side && newest.iter().all(|value| beyond(value).abs() > APART * deviation && beyond(value) != 0.0)
    })?;
    // Of levels that alternate, each is one of those that came before.
    let is_within = |modes: &Modes| {
        let earlier = &values[modes.begin.min(begin)..begin];
        let is_passed = |value: &f64| earlier.iter().any(|one| one <= value) && earlier.iter().any(|one| value <= one);
        modes.end == count && values[begin..].iter().all(is_passed)
    };
    if changes.modes.last().is_some_and(is_within) {
        return None;
    }
    let median = |points: &[f64]| super::side::median(&mut points.to_vec());
    let (level, newest) = (median(&scaled.values[changed..begin]), median(&scaled.values[begin..]));
    if !scaled.differ(level, newest, sensitivity.least) {
        return None;
    }
    let runs = (1..=MOST_RUNS).find(|further| {
        let mut longer = values.to_vec();
        longer.resize(count + further, median(&values[begin..]));
        search(&longer).points.iter().any(|point| point.index >= begin)
    })?;
    let before = *changes.levels.last()?;
    Some(Apart { begin, runs, level: before, relative: scaled.share(newest - level, level) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::detect::changes;
    use crate::changes::exact;
    use sprag_base::stats::random::SplitMix64;

    fn noisy(levels: &[(usize, f64)]) -> Vec<f64> {
        let mut random = SplitMix64::new(12);
        levels.iter().flat_map(|(count, level)| vec![*level; *count]).map(|level| level + random.normal()).collect()
    }

    fn detected(values: &[f64], is_exact: bool) -> Option<(usize, usize)> {
        let sensitivity = &Sensitivity::BALANCED;
        let search =
            |values: &[f64]| if is_exact { exact::changes(values, sensitivity) } else { changes(values, sensitivity) };
        apart(values, &search(values), sensitivity, search).map(|apart| (apart.begin, apart.runs))
    }

    #[test]
    fn the_newest_points_alone_are_no_change_and_not_nothing() {
        let flat = noisy(&[(40, 100.0)]);
        assert_eq!(detected(&flat, false), None);
        let mut far = flat.clone();
        far.push(112.0);
        assert_eq!(detected(&far, false), Some((40, 1)));
        assert_eq!(changes(&far, &Sensitivity::BALANCED).points, []);
        // As many more as it says, and it is a change.
        far.push(112.3);
        assert_eq!(changes(&far, &Sensitivity::BALANCED).points.len(), 1);
        assert_eq!(detected(&far, false), None);
        // What is less far takes more.
        let mut near = flat.clone();
        near.push(104.8);
        let (begin, runs) = detected(&near, false).expect("it lies apart");
        assert!(begin == 40 && runs > 1, "{runs}");
        // Of two outliers the first is where it began.
        near.push(104.9);
        assert_eq!(detected(&near, false).map(|(begin, _)| begin), Some(40));
        // An earlier outlier shows nothing about the newest points.
        let strayed = [flat.clone(), vec![130.0], flat[..5].to_vec()].concat();
        assert_eq!(detected(&strayed, false), None);
    }

    #[test]
    fn without_noise_one_more_settles_it() {
        let mut counts = vec![640.0; 12];
        assert_eq!(detected(&counts, true), None);
        counts.push(650.0);
        assert_eq!(detected(&counts, true), Some((12, 1)));
        counts.push(650.0);
        assert_eq!(detected(&counts, true), None);
    }
}
