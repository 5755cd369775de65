//! A newest step may be the beginning of a drift, or autocorrelated noise. It is reported once the points before show it, too.

use super::elimination;
use super::input::Input;
use super::noise::{Noise, SHORTEST};
use super::ramp::{NARROWEST, OVER, Ramp};
use super::ramps;
use super::side::trimmed_mean;
use sprag_base::stats::ramp::Sums;

/// The most points between places of one change.
const SAME_PLACE: usize = 5;

/// Whether the last of the steps is certain. A step next to a ramp, or before one, is not tested.
pub(super) fn is_certain(input: &Input<'_>, proven: &[usize], steps: &[usize], ramps: &[Ramp], runs: &[usize]) -> bool {
    let [before @ .., cut] = steps else { return true };
    let Input { scaled, noise, sensitivity } = *input;
    if proven.last() != Some(cut) || ramps.iter().any(|ramp| *cut < ramp.around.1) {
        return true;
    }
    let over = ramps.iter().map(|ramp| ramp.end).max().unwrap_or(0);
    let begin = before.last().copied().unwrap_or(0).max(over);
    let count = scaled.values.len();
    left_out(input, begin, *cut).is_none_or(|numbers| {
        numbers.into_iter().all(|without| {
            let scaled = &scaled.first(count - without);
            let noise = &Noise { outliers: noise.outliers, ..Noise::new(scaled, sensitivity) };
            let input = Input { scaled, noise, sensitivity };
            let (steps, _) = ramps::steps_and_ramps(&input, &elimination::proven(input, runs));
            steps.iter().any(|step| step.abs_diff(*cut) <= SAME_PLACE)
        })
    })
}

/// How many of the newest points to leave out, twice, to test a newest step again; nothing where it needs no test.
fn left_out(input: &Input<'_>, begin: usize, cut: usize) -> Option<[usize; 2]> {
    let count = input.scaled.values.len();
    let after = count - cut;
    let without = (after / 2).min(after.saturating_sub(input.tuning().newest_points));
    let is_tested =
        begin < cut && without > 0 && after < OVER && count as f64 > SHORTEST && input.noise.deviation > 0.0;
    (is_tested && may_go_on(input, begin, cut)).then(|| [without, without.div_ceil(2)])
}

/// Whether a ramp that goes on to the end explains the points nearly as well as the step.
fn may_go_on(input: &Input<'_>, begin: usize, cut: usize) -> bool {
    let values = &input.scaled.values[..];
    let bounds = [begin, cut, values.len()];
    let levels: Vec<f64> = bounds.windows(2).map(|pair| trimmed_mean(&mut values[pair[0]..pair[1]].to_vec())).collect();
    let reach = input.tuning().clipped * input.noise.deviation;
    let sums = Sums::new(&ramps::clipped(values, &bounds, &levels, reach, input.noise));
    let most = sums.flat(&[cut - begin]) + input.tuning().newest_margin;
    sums.going_on(NARROWEST).is_some_and(|left| left < most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::detect;
    use crate::changes::scale::Scaled;
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;

    #[test]
    fn the_beginning_of_a_drift_is_seldom_a_step_and_a_large_step_is_reported_at_once() {
        let values = |count: usize, moved: &dyn Fn(f64) -> f64, seed: u64| -> Vec<f64> {
            let mut random = SplitMix64::new(seed);
            (0..count).map(|place| 100.0 + moved(place as f64 - 60.0) + random.normal()).collect()
        };
        let has_changes = |values: &[f64]| {
            let detected = detect::changes(values, &Sensitivity::BALANCED);
            usize::from(!detected.points.is_empty())
        };
        let (mut drifts, mut steps, mut large) = (0, 0, 0);
        for seed in 0..200 {
            let drift = values(120, &|after| 0.06 * after.max(0.0), seed);
            drifts += (70..=120).step_by(5).map(|count| has_changes(&drift[..count])).max().unwrap_or(0);
            let step = |size: f64| values(100, &|after| if after < 0.0 { 0.0 } else { size }, seed);
            steps += has_changes(&step(1.8));
            large += has_changes(&step(3.0)[..80]);
        }
        // Without the rule 134 of the drifts were steps at some time.
        assert!(drifts <= 70 && steps >= 170 && large >= 198, "{drifts} drifts, {steps} and {large} steps of 200");
    }

    #[test]
    fn a_newest_step_is_retested_unless_it_is_very_new_or_old() {
        let mut random = SplitMix64::new(7);
        let climb: Vec<f64> =
            (0..200).map(|place| 100.0 + 0.1 * (f64::from(place) - 60.0).max(0.0) + random.normal()).collect();
        let (all, sensitivity) = (Scaled::new(&climb), &Sensitivity::BALANCED);
        let noise = &Noise::new(&all, sensitivity);
        let tested = |begin: usize, count: usize, after: usize| {
            let scaled = &all.first(count);
            left_out(&Input { scaled, noise, sensitivity }, begin, count - after)
        };
        let numbers = [8, 9, 20, 49, 50].map(|after| tested(0, 140, after));
        assert_eq!(numbers, [None, Some([1, 1]), Some([10, 5]), Some([24, 12]), None]);
        assert_eq!((tested(0, 30, 12), tested(0, 31, 12)), (None, Some([4, 2])));
        assert_eq!(tested(120, 140, 20), None);
    }
}
