//! How small a change shows.

use super::noise;
use super::sensitivity::Sensitivity;
use sprag_model::SeriesNoise;

/// How many points after a change are assumed: two months of weekly runs.
pub const POINTS_AFTER: usize = 8;

/// The most points before it that count.
const MOST_BEFORE: usize = 300;

/// The normal deviate that is exceeded in four cases of five when it is expected to be larger by so much.
const POWER_80: f64 = 0.8416;

/// What all tests together need more than one of means would, of so few points after the change; counted in normal noise.
const ALL_TESTS: f64 = 1.3;

/// What few points before the change cost besides, over the square of their number; counted as well.
const OF_FEW: f64 = 100.0;

/// The fewest points with which that was counted; below them other tests are asked.
const FEWEST_BEFORE: f64 = 12.0;

/// The smallest change, in the measure of the noise's deviation, that is found in about four cases of five once
/// [`POINTS_AFTER`] points are there after it, with `before` points before it: the limit of the tests of two long sides and
/// the deviate of the power over the standard error of the difference of two means, by as much more as was counted, and no less
/// than what counts at all.
pub fn detectable(noise: &SeriesNoise, before: usize, sensitivity: &Sensitivity) -> f64 {
    let (before, after) = (before.clamp(1, MOST_BEFORE) as f64, POINTS_AFTER as f64);
    let error = noise.deviation * noise.inflation * (1.0 / before + 1.0 / after).sqrt();
    let few = before.max(FEWEST_BEFORE);
    let factor = ALL_TESTS * (1.0 + OF_FEW / (few * few));
    let limit = sensitivity.clear.max(sensitivity.steady * noise::doubt(before + after, &sensitivity.tuning));
    let needed = factor * (limit + POWER_80) * error;
    if noise.is_relative { needed.exp_m1().max(sensitivity.least) } else { needed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::detect::changes;
    use sprag_base::stats::random::SplitMix64;

    #[test]
    fn what_is_called_detectable_is_detected_in_four_cases_of_five() {
        for (points, deviation) in [(15, 0.03), (30, 0.01), (100, 0.01), (250, 0.002)] {
            let noise = SeriesNoise { deviation, inflation: 1.0, is_relative: true };
            let step = detectable(&noise, points, &Sensitivity::BALANCED);
            let detected = (0..200).filter(|seed| {
                let mut random = SplitMix64::new(1000 + seed);
                let mut value = |place: usize| {
                    (if place < points { 1.0 } else { 1.0 + step }) * (1.0 + deviation * random.normal())
                };
                let values: Vec<f64> = (0..points + POINTS_AFTER).map(&mut value).collect();
                let changes = changes(&values, &Sensitivity::BALANCED).points;
                changes.iter().any(|point| point.index.abs_diff(points) <= 5)
            });
            let share = detected.count() as f64 / 200.0;
            assert!((0.65..0.93).contains(&share), "{points} points of {deviation}: {share} of changes of {step}");
        }
    }
}
