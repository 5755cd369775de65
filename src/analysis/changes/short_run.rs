//! A run of few points at another level: how rare such a run is among the points around it.
//!
//! With so few points a mean says little. What counts is that all of them lie where hardly any other point does: by ranks, and by
//! how far they reach beyond the tail of the others. That tail is assumed to be exponential, with a scale estimated from the other points. A single point is never a change.

use super::input::Input;
use super::long_sides::Pair;
use super::noise::SHORTEST;
use super::sensitivity::Sensitivity;
use super::side::{MOST_POINTS, Side, deviation_about_level, median, trimmed_mean};
use super::tuning::Tuning;

/// The points around a run: those next to it, and those at its other end where the level returns.
struct Around {
    points: Vec<f64>,
    level: f64,
    deviation: f64,
    near: Vec<f64>,
    nearest: Vec<f64>,
    /// Whether half of them or more are equal: how far a run lies from ticks says nothing.
    is_tied: bool,
}

/// How far a run, the shorter side of a pair, clears its limits; `beyond` are the points at its other end.
pub(super) fn score(pair: &Pair<'_>, beyond: &[f64], input: &Input<'_>) -> f64 {
    let Input { noise, sensitivity, .. } = input;
    let tuning = input.tuning();
    let is_before = pair.before.points.len() < pair.after.points.len();
    let (run, neighbour) = if is_before { (pair.before, pair.after) } else { (pair.after, pair.before) };
    let count = run.points.len();
    if count < 2 {
        return 0.0;
    }
    let middle = median(&mut run.points.to_vec());
    let sign = if middle > neighbour.level { 1.0 } else { -1.0 };
    let around = around(is_before, neighbour, beyond, (middle, sign), input);
    if around.points.len() < tuning.fewest_around {
        return 0.0;
    }
    let separated = separation(run, &around, sign, input) / (sensitivity.far / Sensitivity::BALANCED.far);
    if separated >= 1.0 {
        return separated;
    }
    let gap = (middle - around.level).abs() / around.deviation;
    let is_short = count < tuning.autocorrelated_run;
    // One of several may be an outlier.
    let outer = usize::from(!is_short);
    let spread = (run.sorted[count - 1 - outer] - run.sorted[outer]) / around.deviation;
    let most_spread = if count == 2 { tuning.spread_of_two } else { tuning.spread };
    let most_spread = most_spread.max(tuning.spread_share * gap);
    let together = if spread > 0.0 { most_spread / spread } else { f64::MAX };
    if together < 1.0 {
        return together;
    }
    // Autocorrelated points count for fewer.
    let independent = 1.0 / noise.inflation.powi(2);
    let beyond_tail = |points: &[f64], deviation: f64| beyond_tail(run.points, points, sign, deviation, tuning);
    let mut chance = beyond_tail(&around.points, noise.deviation);
    if around.near.len() >= tuning.fewest_near && around.near.len() < around.points.len() {
        chance = chance.max(beyond_tail(&around.near, around.deviation_near(input)));
    }
    let least = run.points.iter().map(|value| value * sign).fold(f64::INFINITY, f64::min);
    // An outlier exceeds the run whatever the run itself reaches.
    let outlier = tuning.outlier * around.deviation;
    let has_outliers = around.points.iter().any(|value| (value - around.level).abs() > outlier);
    let bar = least.min(sign * around.level + outlier);
    let as_far = around.points.iter().filter(|value| **value * sign >= bar).count() as f64;
    let share = (as_far + 0.5) / (around.points.len() as f64 + 1.0);
    let rank = -share.log10() * count as f64 * independent;
    let longer = if is_short { 1.0 } else { tuning.longer_run_reach };
    let length = input.scaled.values.len() as f64;
    let shorter = 1.0 + (tuning.short_series_reach[(count - 2).min(2)] / length.max(SHORTEST)).powi(2);
    let reach = -(chance.powf(independent).max(f64::MIN_POSITIVE)).log10() / (sensitivity.far * longer * shorter);
    let made_up = if has_outliers || around.is_tied { 0.0 } else { (reach - 1.0).max(0.0) * tuning.reach_for_rank };
    let score = ((rank + made_up) / -sensitivity.rare.log10()).min(reach).min(together);
    // The slowest test comes last.
    match is_short || score < 1.0 {
        true => score,
        false => score.min(pair.autocorrelation_deviate() / (sensitivity.steady * noise.doubt)),
    }
}

/// How clearly a run lies beyond all points around it; 1 is just enough. By Dixon, "Processing data for
/// outliers", Biometrics 9, 1953: the gap between it and the nearest of them, here in deviations in place of the whole range.
/// Zero for two points on the side to which outliers go; of more than three points only a large gap counts.
fn separation(run: &Side<'_>, around: &Around, sign: f64, input: &Input<'_>) -> f64 {
    let (tuning, count) = (input.tuning(), run.points.len());
    let may_be_outliers = count == 2 && sign == input.noise.outliers;
    if may_be_outliers || around.is_tied || around.points.len() < 2 * tuning.fewest_around {
        return 0.0;
    }
    let least = run.points.iter().map(|value| value * sign).fold(f64::INFINITY, f64::min);
    let most = around.points.iter().map(|value| value * sign).fold(f64::NEG_INFINITY, f64::max);
    if least <= most {
        return 0.0;
    }
    let gap = (least - most) / around.deviation.max(around.deviation_near(input)) / input.noise.inflation;
    // As large a step needs no points that agree.
    if count > 2 && gap >= tuning.large || count >= tuning.autocorrelated_run {
        return gap / tuning.large;
    }
    if count == 2 {
        return gap / tuning.two_apart;
    }
    let mean = run.points.iter().sum::<f64>() / count as f64;
    let squares: f64 = run.points.iter().map(|value| ((value - mean) / around.deviation).powi(2)).sum();
    let together = if squares > 0.0 { tuning.three_scatter / squares } else { f64::INFINITY };
    (gap / tuning.three_apart).min(together)
}

impl Around {
    /// The deviation near the run, or that of the nearest points where it is larger.
    fn deviation_near(&self, input: &Input<'_>) -> f64 {
        let is_enough = self.nearest.len() >= input.tuning().fewest_near;
        let nearest = if is_enough { deviation_about_level(&self.nearest) } else { 0.0 };
        deviation_about_level(&self.near).max(nearest).max(input.noise.deviation)
    }
}

fn around(
    is_before: bool,
    neighbour: &Side<'_>,
    beyond: &[f64],
    (middle, sign): (f64, f64),
    input: &Input<'_>,
) -> Around {
    let (tuning, noise) = (input.tuning(), input.noise);
    // Nearer to the level next to it than to the run.
    let halfway = middle.midpoint(neighbour.level);
    let returns = beyond.len() >= 3 && (halfway - trimmed_mean(&mut beyond.to_vec())) * sign > 0.0;
    let beyond = if returns { beyond } else { &[] };
    let (early, late) = if is_before { (beyond, neighbour.points) } else { (neighbour.points, beyond) };
    let next_to = |count: usize| [&early[early.len().saturating_sub(count)..], &late[..late.len().min(count)]].concat();
    let (points, near, nearest) = (next_to(usize::MAX), next_to(tuning.near), next_to(tuning.nearest));
    let side = Side::new(&points);
    let deviation = side.deviation.max(noise.deviation).max(f64::MIN_POSITIVE);
    Around { level: side.level, is_tied: side.is_tied(), deviation, points, near, nearest }
}

/// The points beyond a run at its far end, up to the next cut.
pub(super) fn beyond(values: &[f64], is_before: bool, run: (usize, usize), next: usize) -> &[f64] {
    match is_before {
        true => &values[next.max(run.0.saturating_sub(MOST_POINTS))..run.0],
        false => &values[run.1..next.min(run.1 + MOST_POINTS)],
    }
}

/// About the chance that as many new points lie in the tail of others and together reach as far beyond its beginning: that of the
/// number times that of the reach, which is smaller than that of both by a factor of up to three.
///
/// The excess is exponential; with a scale estimated from `k` points, the sum of `j` new ones over the sum of the `k` is a ratio of
/// two gamma variables, and `P(ratio > x)` the sum over `i < j` of `C(k + i - 1, i) (1 + x)^-k (x / (1 + x))^i`.
fn beyond_tail(run: &[f64], others: &[f64], sign: f64, deviation: f64, tuning: &Tuning) -> f64 {
    let mut sorted: Vec<f64> = others.iter().map(|value| value * sign).collect();
    let tail = ((sorted.len() as f64 * tuning.tail).round() as usize).max(1).min(sorted.len() - 1);
    let place = sorted.len() - 1 - tail;
    let (_, begin, above) = sorted.select_nth_unstable_by(place, f64::total_cmp);
    let begin = *begin;
    let excess: f64 = above.iter().map(|value| value - begin).sum();
    let prior = tuning.tail_prior_points * tuning.tail_prior_reach;
    let scale = excess.max(0.25 * deviation * tail as f64) + prior * deviation;
    let share = (tail as f64 + 1.0) / (others.len() as f64 + 2.0);
    let beyond: Vec<f64> = run.iter().map(|value| value * sign - begin).filter(|excess| *excess > 0.0).collect();
    if beyond.is_empty() || scale <= 0.0 {
        return 1.0;
    }
    let ratio = beyond.iter().sum::<f64>() / scale;
    let points = tail as f64 + tuning.tail_prior_points;
    let mut term = (1.0 + ratio).powf(-points);
    let mut as_far = term;
    for further in 1..beyond.len() {
        term *= (points + further as f64 - 1.0) / further as f64 * ratio / (1.0 + ratio);
        as_far += term;
    }
    at_least(run.len(), beyond.len(), share) * as_far
}

/// The chance of `successes` or more in so many trials.
fn at_least(trials: usize, successes: usize, chance: f64) -> f64 {
    let ways = |chosen: usize| (0..chosen).fold(1.0, |ways, one| ways * (trials - one) as f64 / (one + 1) as f64);
    let exactly = |count: usize| ways(count) * chance.powi(count as i32) * (1.0 - chance).powi((trials - count) as i32);
    (successes..=trials).map(exactly).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::context::Context;
    use crate::changes::detect::changes_in_context;
    use sprag_base::stats::random::SplitMix64;

    #[test]
    fn chances_are_those_of_the_binomial() {
        assert!((at_least(5, 0, 0.3) - 1.0).abs() < 1e-12);
        assert!((at_least(2, 2, 0.1) - 0.01).abs() < 1e-12);
        assert!((at_least(3, 1, 0.5) - 0.875).abs() < 1e-12);
    }

    #[test]
    fn a_run_beyond_the_tail_is_as_rare_as_is_said() {
        // Exponential points whose tail is that of the prior: the chance is right within a factor of three.
        let tuning = &Sensitivity::BALANCED.tuning;
        let mut random = SplitMix64::new(21);
        let mut draw = || -(1.0 - random.uniform()).ln();
        let mut reported = |limit: f64| {
            let hits = (0..4000).filter(|_| {
                let others: Vec<f64> = (0..80).map(|_| draw()).collect();
                let run: Vec<f64> = (0..3).map(|_| draw()).collect();
                beyond_tail(&run, &others, 1.0, 1.0 / tuning.tail_prior_reach, tuning) < limit
            });
            hits.count() as f64 / 4000.0
        };
        let shares = [reported(0.1), reported(0.01), reported(0.001)];
        assert!(shares[0] < 0.3 && shares[1] < 0.03 && shares[2] < 0.003, "{shares:?}");
        // The farther the rarer, and never the other way round.
        let others: Vec<f64> = (0..100).map(f64::from).collect();
        let far = |by: f64| beyond_tail(&[100.0 + by; 3], &others, 1.0, 10.0, tuning);
        assert!(far(0.0) > far(50.0) && far(50.0) > far(500.0));
        assert_eq!(beyond_tail(&[1.0; 3], &others, 1.0, 10.0, tuning), 1.0);
    }

    /// Of a hundred series of thirty points, the number in which both ends of such a run are reported.
    fn times_reported(run: &[f64], noise: impl Fn(&mut SplitMix64) -> f64, more_is_better: bool) -> usize {
        let context = Context { more_is_better, ..Context::default() };
        let is_reported = |seed: &u64| {
            let mut random = SplitMix64::new(*seed);
            let mut values: Vec<f64> = (0..30).map(|_| 100.0 + noise(&mut random)).collect();
            (16..).zip(run).for_each(|(place, beyond)| values[place] += beyond);
            let detected = changes_in_context(&values, &Sensitivity::BALANCED, &context).points;
            detected.iter().map(|point| point.index).eq([16, 16 + run.len()])
        };
        (0..100).filter(is_reported).count()
    }

    #[test]
    fn two_points_say_less_where_strays_lie_and_three_do_not() {
        let normal = |random: &mut SplitMix64| random.normal();
        let [below, above] = [-9.0, 9.0].map(|by| times_reported(&[by; 2], normal, false));
        assert!(below >= 55 && above <= 25, "{below} {above}");
        let [below, above] = [-9.0, 9.0].map(|by| times_reported(&[by; 2], normal, true));
        assert!(below <= 25 && above >= 55, "{below} {above}");
        let [below, above] = [-6.0, 6.0].map(|by| times_reported(&[by; 3], normal, false));
        assert!(below >= 80 && above >= 80, "{below} {above}");
        // One of them alone beyond all others is not a run.
        assert_eq!(times_reported(&[-9.0, 0.0], normal, false), 0);
    }

    #[test]
    fn two_points_far_from_each_other_are_no_run_where_outliers_are_possible() {
        // Of forty series of so many points, with an outlier, that step from the point 240 on.
        let reported = |count: usize, outlier: f64, step: f64| {
            let is_reported = |seed: &u64| {
                let mut random = SplitMix64::new(*seed);
                let level = |place: usize| 100.0 + if place < 240 { 0.0 } else { step };
                let mut values: Vec<f64> = (0..count).map(|place| level(place) + random.normal()).collect();
                (values[60], values[150], values[151]) = (100.0 + outlier, 108.0, 112.0);
                let detected = changes_in_context(&values, &Sensitivity::BALANCED, &Context::default()).points;
                [150, 152].iter().all(|place| detected.iter().any(|point| point.index == *place))
            };
            (0..40).filter(is_reported).count()
        };
        // With an outlier, in a shorter series, and where a step leaves few points around them.
        for (count, outlier, step) in [(320, 20.0, 0.0), (250, 0.0, 0.0), (600, 0.0, 20.0)] {
            let reported = reported(count, outlier, step);
            assert!(reported <= 4, "{reported} of {count} points");
        }
    }

    #[test]
    fn how_far_a_run_lies_from_ticks_says_nothing() {
        let still = |_: &mut SplitMix64| 0.0;
        assert_eq!(times_reported(&[1.0; 2], still, false), 0);
        assert_eq!(times_reported(&[5.0; 5], still, false), 100);
    }
}
