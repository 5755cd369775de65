//! A newest change that may be the beginning of a drift, or noise that wanders: a ramp which goes on explains it nearly as well
//! as the step. It is told once it stands, which is once it was there without its newest points, too.

use super::noise::{self, Noise};
use super::ramp::{NARROWEST, OVER};
use super::ramps;
use super::side::trimmed_mean;

/// How much less than such a ramp a step must leave to be plain, in squares of the deviation.
const PLAINLY: f64 = 4.0;

/// The fewest points after the change with which it is looked for again: with fewer, other tests are harder.
const LEFT: usize = 8;

/// How far apart places are of one change at most.
const NEAR: usize = 5;

/// Without how many of the newest points a newest change must be there, each time; `None` where it is plain, where too few
/// points or none of noise tell, and where it has been there for long. `begin` is the first point of the level before it.
pub(super) fn asked(values: &[f64], begin: usize, cut: usize, noise: &Noise) -> Option<[usize; 2]> {
    let after = values.len() - cut;
    let without = (after / 2).min(after.saturating_sub(LEFT));
    let enough =
        begin < cut && without > 0 && after < OVER && values.len() as f64 > noise::FEW && noise.deviation > 0.0;
    let asks = enough && may_go_on(values, begin, cut, noise);
    asks.then_some([without, without.div_ceil(2)])
}

/// Whether a change is one of these.
pub(super) fn is_among(cut: usize, found: &[usize]) -> bool {
    found.iter().any(|other| other.abs_diff(cut) <= NEAR)
}

fn may_go_on(values: &[f64], begin: usize, cut: usize, noise: &Noise) -> bool {
    let bounds = [begin, cut, values.len()];
    let levels: Vec<f64> = bounds.windows(2).map(|pair| trimmed_mean(&mut values[pair[0]..pair[1]].to_vec())).collect();
    let sums = ramps::sums(values, &bounds, &levels, noise);
    sums.going_on(NARROWEST).is_some_and(|left| left < sums.flat(&[cut - begin]) + PLAINLY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::detect;
    use crate::changes::scale::Scaled;
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;

    /// So many points with noise about a level that moves from place 60 on: at a place, how far.
    fn values(count: usize, moved: impl Fn(f64) -> f64, seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        (0..count).map(|place| 100.0 + moved(place as f64 - 60.0) + random.normal()).collect()
    }

    #[test]
    fn the_beginning_of_a_drift_is_seldom_told_as_a_step_and_a_plain_step_at_once() {
        let is_told = |values: &[f64]| {
            let found = detect::changes(values, &Sensitivity::BALANCED);
            usize::from(!found.points.is_empty())
        };
        let (mut drifts, mut steps, mut plain) = (0, 0, 0);
        for seed in 0..200 {
            let drift = values(120, |after| 0.06 * after.max(0.0), seed);
            drifts += (70..=120).step_by(5).map(|count| is_told(&drift[..count])).max().unwrap_or(0);
            let step = |size: f64| values(100, |after| if after < 0.0 { 0.0 } else { size }, seed);
            steps += is_told(&step(1.8));
            plain += is_told(&step(3.0)[..80]);
        }
        // Of the drifts 134 were told if none of them had to stand.
        assert!(drifts <= 70 && steps >= 170 && plain >= 198, "{drifts} drifts, {steps} and {plain} steps of 200");
    }

    #[test]
    fn what_is_new_and_not_too_new_is_asked() {
        let climb = values(200, |after| 0.1 * after.max(0.0), 7);
        let scaled = Scaled::of(&climb);
        let noise = Noise::of(&scaled, 12.0);
        let asked = |count: usize, after: usize| super::asked(&scaled.values[..count], 0, count - after, &noise);
        let found = [8, 9, 20, 49, 50].map(|after| asked(140, after));
        assert_eq!(found, [None, Some([1, 1]), Some([10, 5]), Some([24, 12]), None]);
        assert_eq!((asked(30, 12), asked(31, 12)), (None, Some([4, 2])));
        assert_eq!(super::asked(&scaled.values[..140], 120, 120, &noise), None);
    }
}
