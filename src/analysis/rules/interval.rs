//! The rule `interval`: an effect with its interval over worker processes, held against a tolerance.
//!
//! The effect is the ratio of two builds, current over base. With the tolerance `t` the ratio may lie between
//! `1 / (1 + t)` and `1 + t`: limits that are as far from one on a logarithmic scale. The whole interval above them is
//! a regression, below them an improvement, inside them no change; any other interval cannot tell. For a metric of
//! which more is better the sides are exchanged. (Schuirmann, "A comparison of the two one-sided tests procedure and
//! the power approach", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987, for the way of proving equality.)

use crate::model::metric::Better;
use crate::model::verdict::{Effect, Verdict};
use crate::stats::{bootstrap, describe};

/// The name under which configurations and reports know the rule.
pub const NAME: &str = "interval";

/// What a benchmark may move: below that, a change of layout cannot be told from one of work.
pub const TOLERANCE: f64 = 0.02;

/// Where the resamples of the interval begin.
const SEED: u64 = 1;

/// More processes than this would be asked for in vain: the interval ends too near the limit.
const MOST_PROCESSES: f64 = 1000.0;

/// Judges ratios of current over base, one a pair of processes; `None` where there are none.
pub fn decide(ratios: &[f64], better: Better, tolerance: f64) -> Option<(Effect, Verdict)> {
    let ratio = describe::median(ratios)?;
    let interval = bootstrap::median_interval(ratios);
    let effect = Effect {
        change: ratio - 1.0,
        interval: interval.map(|(low, high)| (low - 1.0, high - 1.0)),
        // A ratio is held against one, not against another ratio as uncertain as itself: hence the root of two.
        detectable: bootstrap::detectable_effect(ratios, SEED).map(|size| tolerance + size / std::f64::consts::SQRT_2),
    };
    let (lowest, highest) = (1.0 / (1.0 + tolerance), 1.0 + tolerance);
    let (below, above) = match better {
        Better::Lower => (Verdict::Improved, Verdict::Regressed),
        Better::Higher => (Verdict::Regressed, Verdict::Improved),
    };
    let verdict = match interval {
        None => {
            let few = bootstrap::FEWEST_VALUES;
            Verdict::Inconclusive(format!("{} of the {few} pairs of processes that an interval needs", ratios.len()))
        }
        Some((low, _)) if low > highest => above,
        Some((_, high)) if high < lowest => below,
        Some((low, high)) if low >= lowest && high <= highest => Verdict::Unchanged,
        Some(interval) => Verdict::Inconclusive(doubt(ratio, interval, (lowest, highest), ratios.len(), tolerance)),
    };
    Some((effect, verdict))
}

/// Why an interval cannot tell, and how many processes would settle it: its width shrinks with their square root.
fn doubt(ratio: f64, (low, high): (f64, f64), limits: (f64, f64), processes: usize, tolerance: f64) -> String {
    let nearest = (ratio - limits.0).abs().min((ratio - limits.1).abs());
    let needed = processes as f64 * ((high - low) / 2.0 / nearest).powi(2);
    let more = (needed - processes as f64).ceil();
    let advice = if (1.0..=MOST_PROCESSES).contains(&more) {
        format!("about {more} more pairs of processes would settle it")
    } else if more < 1.0 {
        "a few more pairs of processes would settle it".to_owned()
    } else {
        "more processes would hardly settle it".to_owned()
    };
    format!("the interval reaches over the tolerance of {} %; {advice}", tolerance * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(ratios: &[f64], better: Better) -> Verdict {
        decide(ratios, better, TOLERANCE).expect("there are ratios").1
    }

    #[test]
    fn the_whole_interval_decides() {
        let around = |middle: f64, spread: f64| [-1.0, -0.5, 0.0, 0.5, 1.0].map(|step| middle + step * spread);
        let check =
            |ratios: [f64; 5], expected: Verdict| assert_eq!(verdict(&ratios, Better::Lower), expected, "{ratios:?}");
        check(around(1.0, 0.003), Verdict::Unchanged);
        check(around(1.012, 0.003), Verdict::Unchanged);
        check(around(1.03, 0.003), Verdict::Regressed);
        check(around(0.97, 0.003), Verdict::Improved);
        assert_eq!(verdict(&around(1.03, 0.003), Better::Higher), Verdict::Improved);
        assert_eq!(verdict(&around(0.97, 0.003), Better::Higher), Verdict::Regressed);
        let Verdict::Inconclusive(reason) = verdict(&around(1.03, 0.02), Better::Lower) else {
            panic!("it is in doubt")
        };
        // Half the width is 0.02, the way to the limit 0.01: four times as many processes.
        assert_eq!(
            reason,
            "the interval reaches over the tolerance of 2 %; about 15 more pairs of processes would settle it"
        );
        let Verdict::Inconclusive(reason) = verdict(&[1.03, 1.03], Better::Lower) else { panic!("it is in doubt") };
        assert_eq!(reason, "2 of the 3 pairs of processes that an interval needs");
        assert_eq!(decide(&[], Better::Lower, TOLERANCE), None);
    }

    #[test]
    fn the_effect_has_its_interval_and_what_could_be_seen() {
        let (effect, _) =
            decide(&[1.02, 1.025, 1.03, 1.035, 1.04], Better::Lower, TOLERANCE).expect("there are ratios");
        assert!((effect.change - 0.03).abs() < 1e-12);
        let (low, high) = effect.interval.expect("five pairs have an interval");
        assert!((0.02 - 1e-9..=0.03).contains(&low) && (0.03..=0.04 + 1e-9).contains(&high));
        assert!(effect.detectable.is_some_and(|size| size > TOLERANCE && size < 0.1));
    }
}
