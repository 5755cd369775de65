//! A change between two long sides: by ranks, by means, and against noise that wanders.

use super::noise::Noise;
use super::sensitivity::Sensitivity;
use super::side::{Side, trimmed_mean, winsorised_deviation};
use sprag_base::stats::autoregression::{self, Stretch};

/// How many points' worth the deviation of the whole series counts in that of two sides.
const OF_SERIES: f64 = 8.0;

/// How many points' worth the deviation of both sides counts in that of one.
const OF_BOTH: f64 = 8.0;

/// The points next to a change whose deviation is looked at by itself.
const NEAR: usize = 40;

/// By how much it must be larger to count: that of so few points differs by chance.
const NOTABLY: f64 = 1.25;

/// The points on either side by which a short stretch within a long series is judged, whose surroundings may be rougher than
/// the series is, and the fewest points of a series that has surroundings.
const AROUND: usize = 30;
const SURROUNDED: usize = 90;

/// The most points of a short stretch.
const SHORT_STRETCH: usize = 60;

/// How much clearer such a stretch must be: a long series has many places for one.
const OFTEN: f64 = 1.10;

/// Of the largest value that ranks of so many points can give, the share that is enough.
const OF_LARGEST: f64 = 0.86;

/// What means that clear their limit make up for where ranks or the course of the points fall short of theirs, as powers of by
/// how much they clear it, and how much of that counts at most: ranks of few points end soon, and one step far beyond all others
/// is the more likely in noise that wanders the larger that noise is taken to be.
const FOR_RANKS: f64 = 0.15;
const FOR_COURSE: f64 = 0.13;
const MOST_MADE_UP: f64 = 3.0;

/// The share of an excursion by which its level must return at least.
const RETURNED: f64 = 0.6;

/// How much clearer an excursion must stand against noise that wanders, which returns as well.
const STEADIER: f64 = 1.2;

/// How much clearer a step must stand against noise that wanders for each unit by which neighbours about its levels hang together
/// more than by chance, and how much less clear where they do less; of so many points nothing is known of it.
const WANDERS: f64 = 0.4;
const BY_CHANCE: f64 = 0.1;
const UNTOLD: f64 = 30.0;

/// How much clearer an excursion must be than a single change: there are more of them to choose from.
const DEARER: f64 = 1.07;

/// Two sides of a change, and what both are like.
pub(super) struct Pair<'a> {
    pub(super) before: &'a Side<'a>,
    pub(super) after: &'a Side<'a>,
    /// The deviation of a point about its level, of both sides and a little of the whole series.
    pub(super) deviation: f64,
    /// The level after less that before.
    pub(super) step: f64,
}

impl<'a> Pair<'a> {
    pub(super) fn of(before: &'a Side<'a>, after: &'a Side<'a>, noise: &Noise) -> Pair<'a> {
        let squares = |side: &Side<'_>| (side.count() - 1.0) * side.deviation.powi(2);
        let freedom = before.count() + after.count() - 2.0;
        let all = squares(before) + squares(after) + OF_SERIES * noise.deviation.powi(2);
        let deviation = (all / (freedom + OF_SERIES)).sqrt();
        Pair { before, after, deviation, step: after.level - before.level }
    }

    /// The test against noise that wanders, as a normal deviate.
    pub(super) fn steady(&self) -> f64 {
        self.steady_with(&[])
    }

    /// Likewise, with points after the second side that are back at the first level.
    fn steady_with(&self, beyond: &[f64]) -> f64 {
        let limit = 3.0 * self.deviation;
        let drawn = |points: &[f64], level: f64| -> Vec<f64> {
            points.iter().map(|value| (value - level).clamp(-limit, limit)).collect()
        };
        let mut parts = [
            drawn(self.before.points, self.before.level),
            drawn(self.after.points, self.after.level),
            drawn(beyond, self.before.level),
        ];
        let (here, there) = (parts[1].len() as f64, (parts[0].len() + parts[2].len()) as f64);
        let mean = |parts: &[&Vec<f64>], count: f64| parts.iter().flat_map(|part| part.iter()).sum::<f64>() / count;
        let (own, other) = (mean(&[&parts[1]], here), mean(&[&parts[0], &parts[2]], there));
        parts[1].iter_mut().for_each(|value| *value -= own);
        [0, 2].into_iter().for_each(|part| parts[part].iter_mut().for_each(|value| *value -= other));
        let step = self.step + own - other;
        let moved = [-step * here / (here + there), step * there / (here + there)];
        autoregression::step_deviate(&[
            Stretch { residuals: &parts[0], moved: moved[0] },
            Stretch { residuals: &parts[1], moved: moved[1] },
            Stretch { residuals: &parts[2], moved: moved[0] },
        ])
    }

    /// How far the change clears its limits, all of them but for what means make up for: 1 is just enough.
    pub(super) fn score(&self, noise: &Noise, sensitivity: &Sensitivity) -> f64 {
        self.score_if(noise, sensitivity, || self.steady())
    }

    fn score_if(&self, noise: &Noise, sensitivity: &Sensitivity, steady: impl Fn() -> f64) -> f64 {
        let (before, after) = (self.before.count(), self.after.count());
        let even = self.deviation * (1.0 / before + 1.0 / after).sqrt();
        if even <= 0.0 {
            // Points that do not differ at all, on either side: any step is one.
            return f64::MAX;
        }
        let rougher = self.rougher(even);
        let spread = noise.inflation * rougher;
        let by_means = self.step.abs() / even / spread / sensitivity.clear;
        let made_up = |power: f64| by_means.clamp(1.0, MOST_MADE_UP).powf(power);
        let by_ranks = rank_deviate(self.before, self.after).abs() / rougher;
        let by_ranks = by_ranks.min(shares_deviate(self.before, self.after, self.step)) / noise.inflation;
        let largest = (3.0 * before * after / (before + after + 1.0)).sqrt() / spread;
        let by_ranks = by_ranks / sensitivity.clear.min(OF_LARGEST * largest);
        let clear = by_means.min(by_ranks * made_up(FOR_RANKS));
        // The dearest test comes last.
        if clear < 1.0 {
            return clear;
        }
        let wanders = WANDERS * (self.correlation() - BY_CHANCE) * (1.0 - UNTOLD / (before + after)).max(0.0);
        let by_course = steady() / rougher / (sensitivity.steady * noise.doubt * (1.0 + wanders));
        clear.min(by_course * made_up(FOR_COURSE))
    }

    /// The correlation of neighbours about the levels of both sides, far ones drawn in.
    fn correlation(&self) -> f64 {
        let limit = 3.0 * self.deviation;
        let (mut products, mut squares) = (0.0, 0.0);
        for side in [self.before, self.after] {
            let about = |value: &f64| (value - side.level).clamp(-limit, limit);
            products += side.points.windows(2).map(|pair| about(&pair[0]) * about(&pair[1])).sum::<f64>();
            squares += side.points.iter().map(|value| about(value).powi(2)).sum::<f64>();
        }
        if squares > 0.0 { products / squares } else { 0.0 }
    }

    /// By how much the error of the step is larger than with one deviation on both sides: where one is rougher than the
    /// other, or the surroundings are than the whole.
    fn rougher(&self, even: f64) -> f64 {
        let deviation = |side: &Side<'_>, near: Option<&[f64]>| {
            let near = near.filter(|near| side.points.len() > 2 * near.len()).map(own_deviation);
            let own = near.filter(|near| *near > NOTABLY * side.deviation).unwrap_or(side.deviation);
            (own, (side.count() * own.powi(2) + OF_BOTH * self.deviation.powi(2)) / (side.count() + OF_BOTH))
        };
        let (early, late) = (self.before.points, self.after.points);
        let (before, square_before) = deviation(self.before, early.len().checked_sub(NEAR).map(|from| &early[from..]));
        let (after, square_after) = deviation(self.after, late.get(..NEAR));
        let error = (square_before / self.before.count() + square_after / self.after.count()).sqrt();
        let mut rougher = (error / even).max(1.0);
        if early.len().min(late.len()) < SHORT_STRETCH && early.len() + late.len() > SURROUNDED {
            let limit = 3.0 * before.max(after).max(self.deviation);
            let near = (&early[early.len().saturating_sub(AROUND)..], &late[..late.len().min(AROUND)]);
            let squares = |points: &[f64], level: f64| -> f64 {
                points.iter().map(|value| (value - level).clamp(-limit, limit).powi(2)).sum()
            };
            let all = squares(near.0, self.before.level) + squares(near.1, self.after.level);
            let around = (all / (near.0.len() + near.1.len() - 2) as f64).sqrt();
            rougher = OFTEN * rougher.max(around / self.deviation);
        }
        rougher
    }
}

/// How far both changes of an excursion clear their limits together: the points in the middle against those on both sides,
/// where the level returns. Zero where it does not.
pub(super) fn excursion_score([early, middle, late]: [&Side<'_>; 3], noise: &Noise, sensitivity: &Sensitivity) -> f64 {
    let (first, second) = (middle.level - early.level, middle.level - late.level);
    let (least, most) = (first.abs().min(second.abs()), first.abs().max(second.abs()));
    if first * second <= 0.0 || least < RETURNED * most {
        return 0.0;
    }
    let points = [late.points, early.points].concat();
    let base = Side::of(&points);
    let pair = Pair::of(&base, middle, noise);
    let adjacent = Pair { before: early, after: middle, deviation: pair.deviation, step: first };
    let steady = || adjacent.steady_with(late.points) / STEADIER;
    pair.score_if(noise, sensitivity, steady) / DEARER
}

/// The deviation of points about their own level.
pub(super) fn own_deviation(points: &[f64]) -> f64 {
    let mut sorted = points.to_vec();
    let level = trimmed_mean(&mut sorted);
    winsorised_deviation(&sorted, level)
}

/// The rank test of Mann and Whitney as a normal deviate, ties counted half, its variance that under ties; above zero
/// where the second side is larger.
fn rank_deviate(first: &Side<'_>, second: &Side<'_>) -> f64 {
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

/// Where most points are equal, how much the share of those beyond the common value differs, as the root of twice the
/// logarithm of the likelihood ratio: ranks are then few, and far from normal. Infinite where they are not.
fn shares_deviate(before: &Side<'_>, after: &Side<'_>, step: f64) -> f64 {
    // Where fewer than half of each side are equal, so are fewer of both.
    if !before.is_tied() && !after.is_tied() {
        return f64::INFINITY;
    }
    let mut all = [before.points, after.points].concat();
    let middle = super::side::median(&mut all);
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
    use sprag_base::stats::random::SplitMix64;

    #[test]
    fn sides_that_do_not_overlap_differ_though_the_shorter_is_rougher() {
        // Between 100 and 100.9, and then between 101 and 101.2: ranks cannot tell more, and means and course agree.
        let rough: Vec<f64> = (0..8).map(|place| 100.0 + f64::from(place * 5 % 8) * 0.04).collect();
        let quiet: Vec<f64> = (0..22).map(|place| 101.0 + f64::from(place * 5 % 7) * 0.01).collect();
        let noise = Noise { deviation: 0.05, inflation: 1.0, doubt: 1.1, strays: 1.0, cuts: Vec::new() };
        let score = |rough: &[f64]| {
            let (before, after) = (Side::of(rough), Side::of(&quiet));
            Pair::of(&before, &after, &noise).score(&noise, &Sensitivity::BALANCED)
        };
        assert!(score(&rough) >= 1.0, "{}", score(&rough));
        // Three of eight points on the other side are too many.
        let mixed: Vec<f64> =
            rough.iter().enumerate().map(|(place, value)| value + f64::from(u8::from(place < 3)) * 1.5).collect();
        assert!(score(&mixed) < 1.0, "{}", score(&mixed));
    }

    #[test]
    fn a_large_step_is_told_though_each_point_hangs_on_the_one_before() {
        let noise = Noise { deviation: 1.0, inflation: 1.0, doubt: 1.2, strays: 1.0, cuts: Vec::new() };
        let is_told = |seed: &u64| {
            let (mut random, mut last) = (SplitMix64::new(*seed), 0.0);
            let mut value = |level: f64| {
                last = 0.5 * last + 0.75_f64.sqrt() * random.normal();
                level + last
            };
            let early: Vec<f64> = (0..15).map(|_| value(100.0)).collect();
            let late: Vec<f64> = (0..15).map(|_| value(104.5)).collect();
            Pair::of(&Side::of(&early), &Side::of(&late), &noise).score(&noise, &Sensitivity::BALANCED) >= 1.0
        };
        let told = (0..200).filter(is_told).count();
        assert!(told >= 182, "{told} of 200");
    }

    #[test]
    fn means_far_apart_make_up_for_one_point_on_the_other_side() {
        let noise = Noise { deviation: 0.05, inflation: 1.0, doubt: 1.1, strays: 1.0, cuts: Vec::new() };
        let score = |step: f64| {
            let wave = |place: i32, period: i32| f64::from(place * 5 % period) * 0.02;
            let early: Vec<f64> =
                (0..8).map(|place| 100.0 + if place == 3 { 2.0 * step } else { wave(place, 8) }).collect();
            let late: Vec<f64> = (0..22).map(|place| 100.0 + step + wave(place, 7)).collect();
            Pair::of(&Side::of(&early), &Side::of(&late), &noise).score(&noise, &Sensitivity::BALANCED)
        };
        // The ranks of both are the same.
        assert!(score(0.2) < 1.0 && score(1.2) >= 1.0, "{} {}", score(0.2), score(1.2));
    }
}
