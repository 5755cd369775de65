//! Where a change is: the most likely place, and all places that are nearly as likely.
//!
//! With the levels of both sides known, the squares about them are least at the most likely place. Places whose deviance is not much
//! larger make the range. A point beyond both levels hardly shows on which side it is: the squares of an outlier would outweigh
//! those of all other points.
//!
//! If the environment changed within reach, that is evidence as well: such a border is likelier than any other place,
//! by [`BORDER_DEVIANCE`].

use std::ops::RangeInclusive;

use super::input::Input;
use super::side::trimmed_mean;

/// How much likelier a change lies at a border of environments than elsewhere, as twice the logarithm of the odds: 100 to 1.
pub const BORDER_DEVIANCE: f64 = 9.21;

/// The most points by which a change is moved, and so half of the widest range.
const REACH: usize = 25;

/// Deviations beyond both levels from which on a point hardly counts near a border: a single point must be able to outweigh one.
const BEYOND_NEAR_BORDER: f64 = 3.5;

/// The most points on either side that count.
const MOST_POINTS: usize = 150;

/// Where a change may be.
pub(super) struct Located {
    pub(super) place: usize,
    /// The places that are nearly as likely.
    pub(super) range: RangeInclusive<usize>,
    /// Every place that was examined, with its deviance beyond that of the one which the points alone make most likely.
    deviances: Vec<(usize, f64)>,
}

impl Located {
    /// The likelihood of each place of a range by the points alone, that of the most likely one 1.
    pub(super) fn likelihoods(&self, range: RangeInclusive<usize>) -> Vec<f64> {
        let of = |place: usize| self.deviances.iter().find(|one| one.0 == place);
        range.map(|place| of(place).map_or(0.0, |(_, deviance)| (-deviance / 2.0).exp())).collect()
    }
}

/// Where a change at `cut` may be, between neighbours at `begin` and `end`, where the environment changed at `borders`.
/// Borders are considered only if one lies in the range. A point of several `runs` has the weight of that many points.
pub(super) fn locate(
    values: &[f64],
    around: [usize; 3],
    input: &Input<'_>,
    borders: &[usize],
    runs: &[usize],
) -> Located {
    let is_near = |border: &usize| border.abs_diff(around[1]) <= REACH;
    let beyond = if borders.iter().any(is_near) { BEYOND_NEAR_BORDER } else { input.tuning().beyond };
    let located = among((values, runs), around, input, borders, beyond);
    let is_apart = !borders.iter().any(|border| located.range.contains(border));
    if is_apart && !borders.is_empty() { among((values, runs), around, input, &[], beyond) } else { located }
}

fn among(
    (values, runs): (&[f64], &[usize]),
    [begin, cut, end]: [usize; 3],
    input: &Input<'_>,
    borders: &[usize],
    beyond: f64,
) -> Located {
    let Input { noise, .. } = input;
    let tuning = input.tuning();
    let (begin, end) = (begin.max(cut.saturating_sub(MOST_POINTS)), end.min(cut + MOST_POINTS));
    let level = |part: &[f64]| trimmed_mean(&mut part.to_vec());
    let (before, after) = (level(&values[begin..cut]), level(&values[cut..end]));
    let first = (begin + 1).max(cut.saturating_sub(REACH));
    let last = (end - 1).min(cut + REACH);
    let scale = (noise.deviation * noise.inflation).max(f64::MIN_POSITIVE);
    let reach = beyond * noise.deviation;
    let (low, high) = (before.min(after) - reach, before.max(after) + reach);
    // What it costs to have each point on the side before rather than after.
    let cost = |value: f64| {
        let cost = ((value - before) / scale).powi(2) - ((value - after) / scale).powi(2);
        let most = if (low..=high).contains(&value) { f64::INFINITY } else { tuning.outlier_deviance };
        cost.clamp(-most, most)
    };
    let mut sum = 0.0;
    let mut places = vec![(first, 0.0)];
    for place in first + 1..=last {
        sum += cost(values[place - 1]) * runs.get(place - 1).map_or(1.0, |runs| *runs as f64);
        places.push((place, sum));
    }
    let with_borders = |(place, sum): (usize, f64)| if borders.contains(&place) { sum - BORDER_DEVIANCE } else { sum };
    let least = |one: &(usize, f64), other: &(usize, f64)| with_borders(*one).total_cmp(&with_borders(*other));
    let best = places.iter().copied().min_by(least).unwrap_or((cut, 0.0));
    let near = |place: &&(usize, f64)| with_borders(**place) - with_borders(best) <= tuning.range_deviance;
    let lowest = places.iter().find(near).map_or(best.0, |place| place.0);
    let highest = places.iter().rev().find(near).map_or(best.0, |place| place.0);
    let least = places.iter().map(|place| place.1).fold(f64::INFINITY, f64::min);
    let deviances = places.into_iter().map(|(place, sum)| (place, sum - least)).collect();
    Located { place: best.0, range: lowest..=highest, deviances }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::detect::changes;
    use crate::changes::noise::Noise;
    use crate::changes::scale::Scaled;
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;

    #[test]
    fn the_range_holds_the_place_as_often_as_is_said() {
        let (mut covered, mut wide) = (0, 0);
        for seed in 0..400 {
            let mut random = SplitMix64::new(seed);
            let values: Vec<f64> =
                (0..100).map(|place| 100.0 + random.normal() + if place < 60 { 0.0 } else { 2.5 }).collect();
            let scaled = Scaled::new(&values);
            let noise = Noise::new(&scaled, &Sensitivity::BALANCED);
            let input = Input { scaled: &scaled, noise: &noise, sensitivity: &Sensitivity::BALANCED };
            // From up to three points away, as a partition may have put it.
            let Located { place, range, .. } =
                locate(&scaled.values, [0, 57 + 2 * (seed as usize % 4), 100], &input, &[], &[]);
            assert!(place.abs_diff(60) <= 15 && range.contains(&place), "{place} {range:?}");
            covered += usize::from(range.contains(&60));
            wide += range.end() - range.start() + 1;
        }
        assert!(covered >= 380, "{covered} of 400");
        assert!(wide <= 400 * 4, "{wide}");
    }

    #[test]
    fn a_stray_next_to_a_step_decides_nothing() {
        for step in [0.02, 0.03, 0.05, 0.1] {
            for (neighbour, factor) in
                [(28, 1.13), (29, 1.13), (30, 0.87), (31, 0.87), (28, 0.87), (30, 1.13), (29, 1.6)]
            {
                let (mut reported, mut covered) = (0, 0);
                for seed in 0..100 {
                    let mut random = SplitMix64::new(seed);
                    let course = |place: usize| if place < 30 { 1.0 } else { 1.0 + step };
                    let mut values: Vec<f64> =
                        (0..60).map(|place| course(place) * (1.0 + 0.006 * random.normal())).collect();
                    values[neighbour] *= factor;
                    let detected = changes(&values, &Sensitivity::BALANCED).points;
                    let [one] = &detected[..] else { continue };
                    reported += 1;
                    covered += usize::from(one.first <= 30 && 30 <= one.last);
                }
                assert!(
                    reported >= 95 && covered * 100 >= reported * 95,
                    "{step} {neighbour} {factor}: {covered} of {reported}"
                );
            }
        }
    }
}
