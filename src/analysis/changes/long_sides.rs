//! A change between two long sides: by ranks, by means, and against autocorrelated noise.

use super::input::Input;
use super::side::{Side, median};
use sprag_base::stats::autoregression::{self, LevelSegment};

/// Deviations from the level at which a residual is clipped.
pub(super) const CLIPPED: f64 = 3.0;

/// Two sides of a change.
pub(super) struct Pair<'a> {
    pub(super) before: &'a Side<'a>,
    pub(super) after: &'a Side<'a>,
    /// The pooled deviation of a point from its level, shrunk towards that of the series.
    pub(super) deviation: f64,
    /// The level after less that before.
    pub(super) step: f64,
}

impl<'a> Pair<'a> {
    pub(super) fn new(before: &'a Side<'a>, after: &'a Side<'a>, input: &Input<'_>) -> Pair<'a> {
        let prior = input.tuning().prior_points;
        let squares = |side: &Side<'_>| (side.count() - 1.0) * side.deviation.powi(2);
        let freedom = before.count() + after.count() - 2.0;
        let all = squares(before) + squares(after) + prior * input.noise.deviation.powi(2);
        Pair { before, after, deviation: (all / (freedom + prior)).sqrt(), step: after.level - before.level }
    }

    /// The test against autocorrelated noise, as a normal deviate.
    pub(super) fn autocorrelation_deviate(&self) -> f64 {
        let limit = CLIPPED * self.deviation;
        let residuals = |side: &Side<'_>| {
            let mut clipped: Vec<f64> =
                side.points.iter().map(|value| (value - side.level).clamp(-limit, limit)).collect();
            let mean = clipped.iter().sum::<f64>() / side.count();
            clipped.iter_mut().for_each(|value| *value -= mean);
            (clipped, mean)
        };
        let ((before, mean_before), (after, mean_after)) = (residuals(self.before), residuals(self.after));
        let step = self.step + mean_after - mean_before;
        let share = self.after.count() / (self.before.count() + self.after.count());
        autoregression::step_deviate(&[
            LevelSegment { residuals: &before, moved: -step * share },
            LevelSegment { residuals: &after, moved: step * (1.0 - share) },
        ])
    }

    /// How far the change clears the limits of all three tests; 1 is just enough. Means far beyond their limit make up for some
    /// of what the others lack: ranks of few points end soon, and one large step looks like strong autocorrelation.
    pub(super) fn score(&self, input: &Input<'_>) -> f64 {
        let Input { noise, sensitivity, .. } = input;
        let tuning = input.tuning();
        let (before, after) = (self.before.count(), self.after.count());
        let even = self.deviation * (1.0 / before + 1.0 / after).sqrt();
        if even <= 0.0 {
            // No two points of a side differ: any step is a change.
            return f64::MAX;
        }
        let rougher = self.rougher(even, input);
        let spread = noise.inflation * rougher;
        let by_averages = self.step.abs() / even / spread / sensitivity.clear;
        let by_ranks = rank_deviate(self.before, self.after).abs() / rougher;
        let by_ranks = by_ranks.min(shares_deviate(self.before, self.after, self.step)) / noise.inflation;
        let largest = (3.0 * before * after / (before + after + 1.0)).sqrt() / spread;
        let by_ranks = by_ranks / sensitivity.clear.min(tuning.rank_ceiling * largest);
        let excess = by_averages.max(1.0).powf(tuning.excess_power);
        let clear = by_averages.min(by_ranks * excess);
        // The slowest test comes last.
        if clear < 1.0 {
            return clear;
        }
        let by_course = self.autocorrelation_deviate() / rougher / (sensitivity.steady * noise.doubt);
        clear.min(by_course * excess)
    }

    /// The standard error of the step over that with one deviation on both sides: larger where one side is rougher, or where
    /// the surroundings of a short side within a long series are.
    fn rougher(&self, even: f64, input: &Input<'_>) -> f64 {
        let error = |side: &Side<'_>| side.deviation.powi(2) / side.count();
        let rougher = ((error(self.before) + error(self.after)).sqrt() / even).max(1.0);
        let (early, late) = (self.before.points, self.after.points);
        let near = input.tuning().surroundings;
        if early.len().min(late.len()) >= 2 * near || early.len() + late.len() <= 3 * near {
            return rougher;
        }
        let limit = CLIPPED * self.before.deviation.max(self.after.deviation).max(self.deviation);
        let (early, late) = (&early[early.len().saturating_sub(near)..], &late[..late.len().min(near)]);
        let squares = |points: &[f64], level: f64| -> f64 {
            points.iter().map(|value| (value - level).clamp(-limit, limit).powi(2)).sum()
        };
        let all = squares(early, self.before.level) + squares(late, self.after.level);
        let around = (all / (early.len() + late.len() - 2) as f64).sqrt();
        input.tuning().surroundings_factor * rougher.max(around / self.deviation)
    }
}

/// The rank test of Mann and Whitney as a normal deviate, ties counted half, its variance that under ties; above zero
/// where the second side is larger.
pub(super) fn rank_deviate(first: &Side<'_>, second: &Side<'_>) -> f64 {
    let (a, b) = (&first.sorted, &second.sorted);
    let (mut i, mut j, mut larger, mut ties) = (0, 0, 0.0, 0.0);
    while i < a.len() || j < b.len() {
        let value = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => x.min(*y),
            (Some(x), None) => *x,
            (None, Some(y)) => *y,
            (None, None) => break,
        };
        let equal = |side: &[f64], from: usize| side[from..].iter().take_while(|one| **one <= value).count();
        let (here, there) = (equal(a, i), equal(b, j));
        larger += there as f64 * (i as f64 + here as f64 / 2.0);
        let both = (here + there) as f64;
        ties += both * (both * both - 1.0);
        i += here;
        j += there;
    }
    let (n, m) = (first.count(), second.count());
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance > 0.0 { (larger - n * m / 2.0) / variance.sqrt() } else { 0.0 }
}

/// Where most points are equal, ranks are few and far from normal. Then the share of points beyond the common value counts, as
/// the root of twice the logarithm of the likelihood ratio. Infinite where fewer are equal.
fn shares_deviate(before: &Side<'_>, after: &Side<'_>, step: f64) -> f64 {
    // Where fewer than half of each side are equal, so are fewer of both.
    if !before.is_tied() && !after.is_tied() {
        return f64::INFINITY;
    }
    let mut all = [before.points, after.points].concat();
    let middle = median(&mut all);
    if 2 * all.iter().filter(|value| **value == middle).count() < all.len() {
        return f64::INFINITY;
    }
    let (more, less) = if step > 0.0 { (after, before) } else { (before, after) };
    let deviate = |is_beyond: &dyn Fn(f64) -> bool| {
        let count = |side: &Side<'_>| side.points.iter().filter(|value| is_beyond(**value)).count() as f64;
        let (a, b, n, m) = (count(more), count(less), more.count(), less.count());
        let share = (a + b) / (n + m);
        let term = |seen: f64, expected: f64| if seen > 0.0 { seen * (seen / expected).ln() } else { 0.0 };
        let twice =
            term(a, n * share) + term(n - a, n * (1.0 - share)) + term(b, m * share) + term(m - b, m * (1.0 - share));
        (2.0 * twice).max(0.0).sqrt()
    };
    deviate(&|value| value > middle).max(deviate(&|value| value >= middle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::noise::Noise;
    use crate::changes::scale::Scaled;
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;

    /// The score of two sides, with that deviation and doubt of the noise.
    fn score(before: &[f64], after: &[f64], [deviation, doubt]: [f64; 2]) -> f64 {
        let noise = Noise { deviation, inflation: 1.0, doubt, outliers: 1.0, cuts: Vec::new() };
        let (scaled, sensitivity) = (&Scaled::new(before), &Sensitivity::BALANCED);
        let input = Input { scaled, noise: &noise, sensitivity };
        Pair::new(&Side::new(before), &Side::new(after), &input).score(&input)
    }

    #[test]
    fn sides_that_do_not_overlap_differ_though_the_shorter_is_rougher() {
        // Between 100 and 100.9, and then between 101 and 101.2: ranks show no more, and means and course agree.
        let rough: Vec<f64> = (0..8).map(|place| 100.0 + f64::from(place * 5 % 8) * 0.04).collect();
        let quiet: Vec<f64> = (0..22).map(|place| 101.0 + f64::from(place * 5 % 7) * 0.01).collect();
        let of_rough = |rough: &[f64]| score(rough, &quiet, [0.05, 1.1]);
        assert!(of_rough(&rough) >= 1.0, "{}", of_rough(&rough));
        // Three of eight points on the other side are too many.
        let mixed: Vec<f64> =
            rough.iter().enumerate().map(|(place, value)| value + f64::from(u8::from(place < 3)) * 1.5).collect();
        assert!(of_rough(&mixed) < 1.0, "{}", of_rough(&mixed));
    }

    #[test]
    fn a_large_step_is_reported_though_each_point_depends_on_the_one_before() {
        let is_reported = |seed: &u64| {
            let (mut random, mut last) = (SplitMix64::new(*seed), 0.0);
            let mut value = |level: f64| {
                last = 0.5 * last + 0.75_f64.sqrt() * random.normal();
                level + last
            };
            let early: Vec<f64> = (0..15).map(|_| value(100.0)).collect();
            let late: Vec<f64> = (0..15).map(|_| value(104.5)).collect();
            score(&early, &late, [1.0, 1.2]) >= 1.0
        };
        let reported = (0..200).filter(is_reported).count();
        assert!(reported >= 182, "{reported} of 200");
    }

    #[test]
    fn averages_far_apart_make_up_for_one_point_on_the_other_side() {
        let of_step = |step: f64| {
            let wave = |place: i32, period: i32| f64::from(place * 5 % period) * 0.02;
            let early: Vec<f64> =
                (0..8).map(|place| 100.0 + if place == 3 { 2.0 * step } else { wave(place, 8) }).collect();
            let late: Vec<f64> = (0..22).map(|place| 100.0 + step + wave(place, 7)).collect();
            score(&early, &late, [0.05, 1.1])
        };
        // The ranks of both are the same.
        assert!(of_step(0.2) < 1.0 && of_step(1.2) >= 1.0, "{} {}", of_step(0.2), of_step(1.2));
    }
}
