//! The change points and drifts of one series.

use super::eliminate::Elimination;
use super::noise::Noise;
use super::scale::Scaled;
use super::sensitivity::Sensitivity;
use super::side::trimmed_mean;
use super::{position, ramps};
use crate::model::change_point::{ChangePoint, Changes};

/// The fewest points in which anything is looked for.
pub const FEWEST_POINTS: usize = 8;

/// What changed in a series, which holds one number a point in the order of commits; what is no finite number is left out by
/// the caller. Equal series give equal answers, and what lies far back decides nothing about what is new.
pub fn changes(values: &[f64], sensitivity: &Sensitivity) -> Changes {
    if values.len() < FEWEST_POINTS || values.iter().any(|value| !value.is_finite()) {
        return Changes::default();
    }
    let scaled = Scaled::of(values);
    let noise = Noise::of(&scaled, sensitivity.penalty);
    let proven = |cuts: &[usize]| Elimination::of(&scaled, cuts, &noise, sensitivity).proven();
    let bounds = |cuts: &[usize], place: usize| {
        let before = place.checked_sub(1).map_or(0, |before| cuts[before]);
        [before, cuts[place], cuts.get(place + 1).copied().unwrap_or(values.len())]
    };
    let found = proven(&noise.cuts);
    let mut moved: Vec<usize> =
        (0..found.len()).map(|place| position::locate(&scaled.values, bounds(&found, place), &noise).0).collect();
    moved.sort_unstable();
    moved.dedup();
    let cuts = if moved == found { found } else { proven(&moved) };
    let (cuts, drifts) = ramps::told_apart(&scaled.values, &cuts, &noise, sensitivity.penalty);
    let scores = Elimination::of(&scaled, &cuts, &noise, sensitivity).scores();
    let level = |begin: usize, end: usize| trimmed_mean(&mut values[begin..end].to_vec());
    let point = |(place, score): (usize, f64)| {
        let [begin, cut, end] = bounds(&cuts, place);
        let (_, range) = position::locate(&scaled.values, [begin, cut, end], &noise);
        ChangePoint {
            index: cut,
            first: cut.min(*range.start()),
            last: cut.max(*range.end()),
            before: level(begin, cut),
            after: level(cut, end),
            score,
        }
    };
    Changes { points: scores.into_iter().enumerate().map(point).collect(), drifts }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::random::SplitMix64;

    /// So many points at each level, with that noise.
    fn levels(parts: &[(usize, f64)], noise: f64, seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        parts
            .iter()
            .flat_map(|(count, level)| vec![*level; *count])
            .map(|level| level + noise * random.normal())
            .collect()
    }

    fn found(values: &[f64]) -> (Vec<usize>, Vec<(usize, usize)>) {
        let changes = changes(values, &Sensitivity::BALANCED);
        for point in &changes.points {
            assert!(point.first <= point.index && point.index <= point.last && point.score >= 1.0, "{point:?}");
        }
        (
            changes.points.iter().map(|point| point.index).collect(),
            changes.drifts.iter().map(|drift| (drift.begin, drift.end)).collect(),
        )
    }

    #[test]
    fn lasting_changes_are_found_and_nothing_else() {
        let check = |name: &str, values: &[f64], expected: &[usize]| {
            assert_eq!(found(values), (expected.to_vec(), Vec::new()), "{name}");
        };
        let flat = |count: usize| levels(&[(count, 100.0)], 1.0, 3);
        check("nothing", &[], &[]);
        check("two points", &[1.0, 2.0], &[]);
        check("constant", &[5.0; 40], &[]);
        check("zeros", &[0.0; 40], &[]);
        check("noise", &flat(200), &[]);
        check("a step", &levels(&[(60, 100.0), (40, 105.0)], 1.0, 4), &[60]);
        check("down and up", &levels(&[(40, 100.0), (30, 90.0), (40, 100.0)], 1.0, 5), &[40, 70]);
        check("three points only", &levels(&[(60, 100.0), (3, 112.0), (50, 100.0)], 1.0, 6), &[60, 63]);
        check("at the end", &levels(&[(60, 100.0), (4, 90.0)], 1.0, 7), &[60]);
        let mut strayed = flat(100);
        strayed[50] = 300.0;
        check("one point apart", &strayed, &[]);
        strayed[50] = 100.0;
        strayed[99] = 300.0;
        check("the newest point apart", &strayed, &[]);
        let exact = [vec![640.0; 20], vec![641.0; 2], vec![650.0; 20]].concat();
        check("exact, one change too small", &exact, &[22]);
        // A speed-up makes the noise smaller, too, and the slow points before it are few.
        let faster = [levels(&[(6, 1600.0)], 150.0, 10), levels(&[(13, 240.0), (20, 350.0)], 4.0, 11)].concat();
        check("several times as fast", &faster, &[6, 19]);
        let counts = [vec![0.0; 20], vec![3.0; 20]].concat();
        check("from zero", &counts, &[20]);
        check("less than is asked for", &levels(&[(300, 1000.0), (300, 1003.0)], 1.0, 8), &[]);
    }

    #[test]
    fn an_even_climb_is_a_drift_and_no_change() {
        let noise = levels(&[(250, 0.0)], 1.0, 9);
        let climbing = |height: f64, step: f64| -> Vec<f64> {
            let ramp = |place: usize| 100.0 + height * ((place as f64 - 50.0) / 150.0).clamp(0.0, 1.0);
            let course = |place: usize| ramp(place) + if place < 120 { 0.0 } else { step };
            noise.iter().enumerate().map(|(place, noise)| course(place) + noise).collect()
        };
        let (points, drifts) = found(&climbing(8.0, 0.0));
        assert_eq!((points.len(), drifts.len()), (0, 1), "{points:?} {drifts:?}");
        let (begin, end) = drifts[0];
        assert!(begin.abs_diff(50) < 40 && end.abs_diff(200) < 40, "{drifts:?}");
        let (points, drifts) = found(&climbing(20.0, 12.0));
        assert_eq!((points.as_slice(), drifts.len()), (&[120][..], 1), "{drifts:?}");
    }

    #[test]
    fn numbers_of_any_size_give_an_answer() {
        let decades: Vec<f64> = (-150..150).map(|exponent| 10_f64.powi(exponent)).collect();
        found(&decades);
        found(&[f64::MAX, f64::MIN, 0.0, f64::MAX, f64::MIN_POSITIVE, 1.0, -1.0, f64::MAX, f64::MIN, 3.0]);
        assert_eq!(found(&[f64::NAN; 20]), (Vec::new(), Vec::new()));
        assert_eq!(found(&[f64::MAX; 20]), (Vec::new(), Vec::new()));
    }

    proptest! {
        #[test]
        fn the_unit_of_a_series_decides_nothing(seed in 0..200_u64, exponent in -30..30_i32) {
            let values = levels(&[(30, 100.0), (25, 104.0), (3, 90.0), (30, 104.0)], 1.0, seed);
            let scaled: Vec<f64> = values.iter().map(|value| value * 2_f64.powi(exponent)).collect();
            prop_assert_eq!(found(&values), found(&scaled));
            // A time and the rate that it means change at the same points.
            let rates: Vec<f64> = values.iter().map(|value| 1.0 / value).collect();
            prop_assert_eq!(found(&values), found(&rates));
        }

        #[test]
        fn any_numbers_give_an_answer(values in prop::collection::vec(prop::num::f64::ANY, 0..60)) {
            let _ = changes(&values, &Sensitivity::LOOSE);
        }
    }
}
