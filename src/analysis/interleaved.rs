//! Processes of one and the same program, taken as if they were of two builds that took turns: what a rule then calls
//! slower is a false alarm.
//!
//! Of consecutive processes each two are a pair. A window is a run of so many pairs; every window is judged, and once more
//! with base and current exchanged. Windows overlap, so that their verdicts are not independent of each other: a share of them says what
//! to await, and is not a test.

use super::rules::interval;
use sprag_base::stats::pair_ratio;
use sprag_model::{Better, Side, TwoSides, Verdict};

/// Which process of a pair is the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairOrder {
    /// The first of every pair.
    Same,
    /// The first of one pair and the second of the next: what changes from process to process does not look like a difference.
    Turned,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Called {
    /// How many verdicts there are: two a window.
    pub verdicts: usize,
    /// How many of them are Regressed.
    pub regressed: usize,
}

impl Called {
    /// The share that was called slower; none of nothing.
    pub fn share(&self) -> f64 {
        self.regressed as f64 / self.verdicts.max(1) as f64
    }
}

/// Judges every window of so many pairs by the rule `interval`. `processes` holds the samples of each, in the order in which
/// they ran; what is called current is slower by the factor `slowdown`, which is 1 where the code is identical.
pub fn called(processes: &[Vec<f64>], pairs: usize, order: PairOrder, slowdown: f64, tolerance: f64) -> Called {
    // Each process makes a pair with its neighbour in many windows.
    let neighbours: Vec<f64> =
        processes.windows(2).map(|pair| pair_ratio::of_processes(&pair[0], &pair[1]).unwrap_or(f64::NAN)).collect();
    let mut called = Called::default();
    for window in neighbours.windows((2 * pairs).saturating_sub(1).max(1)) {
        let ratio = |(place, ratio): (usize, &f64)| {
            let turned = order == PairOrder::Turned && place % 2 == 1;
            if turned { 1.0 / ratio } else { *ratio }
        };
        let ratios: Vec<f64> = window.iter().step_by(2).enumerate().map(ratio).collect();
        for exchanged in [false, true] {
            let turned = |ratio: &f64| slowdown * if exchanged { 1.0 / ratio } else { *ratio };
            let evidence = evidence(ratios.iter().map(turned).collect());
            called.verdicts += 1;
            called.regressed += usize::from(interval::decide(tolerance, &evidence).verdict == Verdict::Regressed);
        }
    }
    called
}

/// What is known of two sides of which less is better and only the ratios count.
pub fn evidence(ratios: Vec<f64>) -> TwoSides {
    TwoSides { ratios, ..TwoSides::new(Better::Lower, Side::once(1.0), Side::once(1.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_base::stats::random::SplitMix64;

    #[test]
    fn every_window_is_judged_both_ways_and_a_true_change_is_seen() {
        let mut random = SplitMix64::new(5);
        let levels: Vec<Vec<f64>> = (0..80).map(|_| vec![100.0 * (1.0 + 0.01 * random.normal())]).collect();
        for order in [PairOrder::Same, PairOrder::Turned] {
            let quiet = called(&levels, 10, order, 1.0, 0.0);
            assert_eq!(quiet.verdicts, 2 * 61);
            assert!(quiet.share() <= 0.05, "{quiet:?}");
            assert!(called(&levels, 10, order, 1.05, 0.0).share() > 0.99);
            assert_eq!(called(&levels[..19], 10, order, 1.0, 0.0), Called::default());
        }
    }

    #[test]
    fn turns_hide_what_changes_with_every_process_and_show_what_changes_with_them() {
        let slow = |places: [usize; 2]| -> Vec<Vec<f64>> {
            (0..80).map(|place| vec![if places.contains(&(place % 4)) { 1.05 } else { 1.0 }]).collect()
        };
        let share = |levels: &[Vec<f64>], order: PairOrder| called(levels, 10, order, 1.0, 0.0).share();
        assert_eq!(share(&slow([1, 3]), PairOrder::Turned), 0.0);
        assert!(share(&slow([1, 3]), PairOrder::Same) > 0.4);
        assert!(share(&slow([1, 2]), PairOrder::Turned) > 0.2);
        assert_eq!(share(&slow([1, 2]), PairOrder::Same), 0.0);
    }
}
