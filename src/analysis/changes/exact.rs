//! Changes of a series without noise, such as instructions, cycles or bytes: every value that stays is a level.

use super::detect::FEWEST_POINTS;
use super::scale::Scaled;
use super::sensitivity::Sensitivity;
use super::unstable::{self, Findings};
use sprag_model::{ChangePoint, Changes, Level};

/// Of so many values one at most may differ from the one before.
const FEW_MOVES: usize = 5;

/// What changed in a series whose values are exact. A value that comes twice in a row is a level; one that comes alone is no
/// lasting change. The range of a change begins after the last point of the level before.
pub fn changes(values: &[f64], sensitivity: &Sensitivity) -> Changes {
    if values.len() < FEWEST_POINTS || values.iter().any(|value| !value.is_finite()) {
        return Changes::default();
    }
    let scaled = Scaled::new(values);
    let mut detected = Changes::default();
    // The level that holds, and the place after its last point.
    let mut level: Option<(usize, usize)> = None;
    let mut begin = 0;
    for run in values.chunk_by(|one, next| one == next) {
        let end = begin + run.len();
        if run.len() > 1 {
            match level {
                Some((of, after)) if scaled.differ(scaled.values[of], scaled.values[begin], sensitivity.least) => {
                    let step = scaled.values[begin] - scaled.values[of];
                    detected.points.push(ChangePoint {
                        index: begin,
                        first: after,
                        last: begin,
                        before: certain(values[of]),
                        after: certain(values[begin]),
                        relative: certain(scaled.share(step, scaled.values[of])),
                        score: f64::MAX,
                        chance: 0.0,
                        likelihoods: vec![1.0; begin - after + 1],
                    });
                    level = Some((begin, end));
                }
                // Steps that are too small each may come to one that is not: the level stays what it was.
                Some((of, _)) => level = Some((of, end)),
                None => level = Some((begin, end)),
            }
        }
        begin = end;
    }
    let begins = std::iter::once(0).chain(detected.points.iter().map(|point| point.index));
    // Where the first values are all alone, the level is the first one that stays.
    let first = values.windows(2).find(|pair| pair[0] == pair[1]).map_or(values[0], |pair| pair[0]);
    detected.levels = begins.map(|begin| certain(if begin == 0 { first } else { values[begin] })).collect();
    detected
}

/// Likewise, with one finding for what goes up and down again and again: of two modes, where there are two values.
pub fn joined_changes(values: &[f64], sensitivity: &Sensitivity) -> Changes {
    let mut detected = changes(values, sensitivity);
    if detected.points.len() < unstable::FEWEST {
        return detected;
    }
    let cuts: Vec<usize> = detected.points.iter().map(|point| point.index).collect();
    let (mut remaining, mut modes) = (cuts.clone(), Vec::new());
    let mut findings = Findings { cuts: &mut remaining, ramps: &mut Vec::new(), modes: &mut modes };
    unstable::join(&Scaled::new(values), sensitivity.least, &cuts, &[], &mut findings);
    for one in &mut modes {
        let of = &values[one.begin..one.end];
        let [low, high] = [f64::min, f64::max].map(|of_two| of.iter().copied().reduce(of_two).unwrap_or_default());
        if of.iter().all(|value| [low, high].contains(value)) {
            let share = of.iter().filter(|value| **value == high).count() as f64 / of.len() as f64;
            (one.low, one.high, one.share) = (low, high, Some(share));
        }
    }
    let is_left = |place: &usize| *place == 0 || remaining.contains(&cuts[place - 1]);
    let levels = detected.levels.iter().enumerate();
    detected.levels = levels.filter(|(place, _)| is_left(place)).map(|(_, level)| *level).collect();
    detected.points.retain(|point| remaining.contains(&point.index));
    detected.modes = modes;
    detected
}

/// Whether so few of the values differ from the one before that they may be without noise: several values of one point may agree
/// and points wander all the same, as with memory that is handed out in pages.
pub fn is_steady(values: &[f64]) -> bool {
    let moves = values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    moves * FEW_MOVES <= values.len()
}

/// A number without noise.
fn certain(value: f64) -> Level {
    Level { value, lower: value, upper: value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_wander_are_not_without_noise() {
        assert!(is_steady(&[640.0; 9]) && is_steady(&[]));
        assert!(is_steady(&[vec![640.0; 9], vec![648.0; 9], vec![640.0; 9]].concat()));
        let pages: Vec<f64> = (0..60).map(|place| 640.0 + 8.0 * f64::from(place * 7 % 3)).collect();
        assert!(!is_steady(&pages));
    }

    #[test]
    fn every_value_that_stays_is_a_level() {
        let check = |values: &[f64], expected: &[(usize, usize)]| {
            let detected = changes(values, &Sensitivity::BALANCED).points;
            let places: Vec<(usize, usize)> = detected.iter().map(|point| (point.first, point.index)).collect();
            assert_eq!(places, expected, "{values:?}");
            assert!(detected.iter().all(|point| point.last == point.index));
        };
        check(&[140.0; 9], &[]);
        check(&[140.0, 140.0, 140.0, 140.0, 135.0, 135.0, 141.0, 141.0, 141.0], &[(4, 4), (6, 6)]);
        // One value alone is none; the change after it may be at either.
        check(&[140.0, 140.0, 149.0, 140.0, 140.0, 149.0, 131.0, 131.0], &[(5, 6)]);
        // A quarter of a per cent is less than counts, twice as much is not.
        check(&[400.0, 400.0, 401.0, 401.0, 402.0, 402.0, 402.0, 402.0], &[(4, 4)]);
        check(&[0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 3.0, 3.0], &[(5, 5)]);
        check(&[1.0, 1.0, 2.0, 2.0], &[]);
    }

    #[test]
    fn what_goes_up_and_down_is_one_finding() {
        let alternating: Vec<f64> = (0..100).map(|place| [4096.0, 8192.0][place / 5 % 2]).collect();
        let lasting = [&alternating[..], &[16384.0; 60]].concat();
        let detected = |values: &[f64]| {
            let of = joined_changes(values, &Sensitivity::BALANCED);
            let modes = of.modes.iter().map(|one| (one.begin, one.end, one.low, one.high, one.share));
            assert_eq!(of.levels.len(), of.points.len() + 1);
            (of.points.iter().map(|point| point.index).collect::<Vec<_>>(), modes.collect::<Vec<_>>())
        };
        let modes = |end| vec![(5, end, 4096.0, 8192.0, Some(50.0 / 95.0))];
        assert_eq!(detected(&alternating), (vec![], modes(100)));
        assert_eq!(detected(&lasting).0, [100]);
        assert_eq!(detected(&alternating[..35]).0.len(), 6);
    }
}
