//! A run of few points that lie apart: how rare such a run is among the points around it.
//!
//! With so few points a mean says little. What speaks is that all of them lie where hardly any other point does: by ranks,
//! and by how far they reach beyond the tail of the others, which is taken for exponential with a scale that is known only as
//! well as the others tell. A single point never speaks.

use super::long_sides::{Pair, own_deviation};
use super::noise::{self, Noise};
use super::sensitivity::Sensitivity;
use super::side::{MOST_POINTS, Side, median};

/// The most points of a run.
pub(super) const LONGEST: usize = 7;

/// The fewest points around a run by which it can be judged.
const FEWEST_AROUND: usize = 6;

/// From how many deviations on a point surely lies apart, as long as that is a third of the distance of the run at least: what
/// strays a little says nothing of what lies far away.
const APART: f64 = 6.0;
const APART_SHARE: f64 = 0.33;

/// How many points beside the run are looked at by themselves: noise is rougher at times.
const NEAR: usize = 30;

/// The fewest of them that tell something.
const FEWEST_NEAR: usize = 12;

/// How many right beside it tell whether it is rougher still just there.
const CLOSE: usize = 10;

/// The share of the points around that makes up the tail, and the fewest.
const TAIL: f64 = 0.15;
const FEWEST_IN_TAIL: usize = 4;

/// What is known of tails beforehand: so many points' worth, of which each reaches so many deviations beyond.
const KNOWN: (f64, f64) = (28.0, 0.55);

/// By how much a run must reach beyond the tail to make up for ranks that few points cannot give.
const MAKES_UP: f64 = 5.0;

/// What a rank beyond 1.15 times what is enough spares a run of two or three points of its reach, a fifth at most; where many
/// points around are exceeded by all of a run, the tail is known well. What is missing costs as much, up to a tenth.
const SPARED: f64 = 0.8;

/// The share of the reach of three points that two must have: ranks of two seldom are enough, and reach must make up for these too.
const NEARER: f64 = 0.925;

/// By how much farther longer runs must reach: where noise gets rougher for a while, they come of themselves.
const FARTHER: f64 = 1.15;

/// From how many points on a run must also stand against noise that wanders.
const MAY_WANDER: usize = 4;

/// The highest score of two or three points: strays of any size lie side by side at times.
const SUREST: f64 = 1.4;

/// Below how many points of a series two points of a run must lie close together on whichever side they are: two strays seldom
/// do. On the side of strays they must as well, but where so many points are around them and none strays.
const TOGETHER: usize = 100;
const WITHOUT_STRAYS: usize = 280;

/// By how much farther a run must reach where few points tell of the tail: the square of these over their number, for runs of
/// two points, of three and of more. Strays lie side by side more often than one thinks.
const UNTOLD: [f64; 3] = [34.0, 26.0, 15.0];

/// By how much farther, for each factor of e by which a series is longer than so many points: it has more places for a run.
const LONGER: f64 = 0.05;
const LONG: f64 = 200.0;

/// The deviations by which two points on the side on which no strays lie must all be beyond all points around them to be plainly
/// apart, those by which three must on either side, and how far these may scatter about their mean then, in squares of the
/// deviation. Where few points tell of a tail, that says more than what is taken for its shape.
const TWO_PLAINLY: f64 = 3.6;
const THREE_PLAINLY: f64 = 1.55;
const THREE_SCATTER: f64 = 4.0;

/// The fewest points around a run beyond which it can be plainly apart.
const FEWEST_BEYOND: usize = 12;

/// The points around a run: beside it, and beyond where the level returns.
struct Around {
    points: Vec<f64>,
    near: Vec<f64>,
    close: Vec<f64>,
    level: f64,
    deviation: f64,
    /// Whether half of them or more are equal: how far a run lies from ticks says nothing.
    is_tied: bool,
}

/// How far a run, the shorter side of a pair, clears its limits; `beyond` are the points at its other end.
pub(super) fn score(values: &[f64], pair: &Pair<'_>, beyond: &[f64], noise: &Noise, sensitivity: &Sensitivity) -> f64 {
    let is_before = pair.before.points.len() < pair.after.points.len();
    let (run, beside) = if is_before { (pair.before, pair.after) } else { (pair.after, pair.before) };
    let count = run.points.len();
    if count < 2 {
        return 0.0;
    }
    let middle = median(&mut run.points.to_vec());
    let sign = if middle > beside.level { 1.0 } else { -1.0 };
    let around = around(is_before, beside, beyond, (middle, sign), noise);
    if around.points.len() < FEWEST_AROUND {
        return 0.0;
    }
    let gap = (middle - around.level).abs() / around.deviation;
    let is_strays_side = sign == noise.strays;
    let plainly = plainly(run, &around, sign, is_strays_side, noise) / (sensitivity.far / Sensitivity::BALANCED.far);
    if plainly >= 1.0 {
        return plainly.min(SUREST);
    }
    let needed = noise.inflation * gap_needed(count);
    // One of several may be a stray.
    let outer = usize::from(count >= MAY_WANDER);
    let spread = (run.sorted[count - 1 - outer] - run.sorted[outer]) / around.deviation;
    // What is surely apart is, whatever the run itself reaches.
    let apart = APART.max(APART_SHARE * gap) * around.deviation;
    let strays = around.points.iter().any(|value| (value - around.level).abs() > apart);
    let may_be_strays = is_strays_side && (strays || around.points.len() < WITHOUT_STRAYS);
    let must_be_close = count == 2 && (may_be_strays || values.len() < TOGETHER);
    let most_spread = if must_be_close { 1.5 } else { 3.5 } * std::f64::consts::SQRT_2;
    // Another level may have another noise; what lies far apart may do so by more.
    let most_spread = most_spread.max(gap * if count < MAY_WANDER { 0.1 } else { 0.4 });
    let together = if spread > 0.0 { most_spread / spread } else { f64::MAX };
    if gap / needed < 1.0 || together < 1.0 {
        return (gap / needed).min(together);
    }
    // Points that hang together count for fewer.
    let independent = 1.0 / noise.inflation.powi(2);
    let far = |points: &[f64], deviation: f64| beyond_tail(run.points, points, sign, deviation);
    let mut chance = far(&around.points, noise.deviation);
    if around.near.len() >= FEWEST_NEAR && around.near.len() < around.points.len() {
        chance = chance.max(far(&around.near, around.deviation_near(noise)));
    }
    let least = run.points.iter().map(|value| value * sign).fold(f64::INFINITY, f64::min);
    let bar = least.min(sign * around.level + apart);
    let as_far = around.points.iter().filter(|value| **value * sign >= bar).count() as f64;
    let share = (as_far + 0.5) / (around.points.len() as f64 + 1.0);
    let rank = -share.log10() * count as f64 * independent;
    let needed_rank = -sensitivity.rare.log10();
    let spared = (SPARED * (rank / needed_rank - 1.15)).clamp(-0.1, 0.2);
    let reach = match count {
        2 => NEARER * (1.0 - spared),
        3 => 1.0 - spared,
        _ => FARTHER,
    };
    let length = values.len() as f64;
    let untold = 1.0 + (UNTOLD[(count - 2).min(2)] / length.max(noise::FEW)).powi(2);
    let reach = reach * untold + LONGER * (length / LONG).ln().max(0.0);
    let far = -(chance.powf(independent).max(f64::MIN_POSITIVE)).log10() / (sensitivity.far * reach);
    let made_up = if strays || around.is_tied { 0.0 } else { (far - 1.0).max(0.0) * MAKES_UP };
    let rare = (rank + made_up) / needed_rank;
    let score = rare.min(gap / needed).min(far).min(together);
    if count < MAY_WANDER {
        return score.min(SUREST);
    }
    // The dearest test comes last.
    if score < 1.0 { score } else { score.min(pair.steady() / (sensitivity.steady * noise.doubt)) }
}

/// How plainly a run of two or three points lies beyond all points around it; 1 is just enough. By Dixon, "Processing data for
/// outliers", Biometrics 9, 1953: the gap between it and the nearest of them, here in deviations in place of the whole range.
/// Zero for two points on the side of strays, of which that says little.
fn plainly(run: &Side<'_>, around: &Around, sign: f64, is_strays_side: bool, noise: &Noise) -> f64 {
    let count = run.points.len();
    let may_be_strays = count == 2 && is_strays_side;
    if count >= MAY_WANDER || may_be_strays || around.is_tied || around.points.len() < FEWEST_BEYOND {
        return 0.0;
    }
    let least = run.points.iter().map(|value| value * sign).fold(f64::INFINITY, f64::min);
    let most = around.points.iter().map(|value| value * sign).fold(f64::NEG_INFINITY, f64::max);
    if least <= most {
        return 0.0;
    }
    let gap = (least - most) / around.deviation.max(around.deviation_near(noise)) / noise.inflation;
    if count == 2 {
        return gap / TWO_PLAINLY;
    }
    let mean = run.points.iter().sum::<f64>() / count as f64;
    let squares: f64 = run.points.iter().map(|value| ((value - mean) / around.deviation).powi(2)).sum();
    let together = if squares > 0.0 { THREE_SCATTER / squares } else { f64::INFINITY };
    (gap / THREE_PLAINLY).min(together)
}

/// The least distance of a run from the level around it, in deviations: fewer points must lie farther.
fn gap_needed(count: usize) -> f64 {
    match count {
        2 => 3.9,
        3 => 2.6,
        4 => 2.15,
        _ => 1.95,
    }
}

impl Around {
    /// The deviation near the run, or right beside it where that is larger.
    fn deviation_near(&self, noise: &Noise) -> f64 {
        let close = if self.close.len() < FEWEST_NEAR { 0.0 } else { own_deviation(&self.close) };
        own_deviation(&self.near).max(close).max(noise.deviation)
    }
}

fn around(is_before: bool, beside: &Side<'_>, beyond: &[f64], (middle, sign): (f64, f64), noise: &Noise) -> Around {
    let returns = beyond.len() >= 3 && (middle - super::side::trimmed_mean(&mut beyond.to_vec())) * sign > 0.0;
    let beyond = if returns { beyond } else { &[] };
    let (early, late) = if is_before { (beyond, beside.points) } else { (beside.points, beyond) };
    let next_to = |count: usize| [&early[early.len().saturating_sub(count)..], &late[..late.len().min(count)]].concat();
    let points = next_to(usize::MAX);
    let side = Side::of(&points);
    let (level, deviation) = (side.level, side.deviation.max(noise.deviation).max(f64::MIN_POSITIVE));
    let is_tied = side.is_tied();
    Around { near: next_to(NEAR), close: next_to(CLOSE), points, level, deviation, is_tied }
}

/// The points beyond a run at its far end, up to the next cut.
pub(super) fn beyond(values: &[f64], is_before: bool, run: (usize, usize), next: usize) -> &[f64] {
    match is_before {
        true => &values[next.max(run.0.saturating_sub(MOST_POINTS))..run.0],
        false => &values[run.1..next.min(run.1 + MOST_POINTS)],
    }
}

/// About the chance that as many new points lie in the tail of others and reach as far beyond its beginning, all together:
/// that of the number times that of the reach, which is smaller than that of both by a factor of up to three.
///
/// Beyond it the excess is exponential; with a scale that `k` points tell, the sum of `j` new ones over the sum of the `k` is
/// a ratio of two gamma variables, and `P(ratio > x)` the sum over `i < j` of `C(k + i - 1, i) (1 + x)^-k (x / (1 + x))^i`.
fn beyond_tail(run: &[f64], others: &[f64], sign: f64, deviation: f64) -> f64 {
    let mut sorted: Vec<f64> = others.iter().map(|value| value * sign).collect();
    let tail = ((sorted.len() as f64 * TAIL).round() as usize).max(FEWEST_IN_TAIL).min(sorted.len() - 1);
    let place = sorted.len() - 1 - tail;
    let (_, begin, above) = sorted.select_nth_unstable_by(place, f64::total_cmp);
    let begin = *begin;
    let excess: f64 = above.iter().map(|value| value - begin).sum();
    let known = excess.max(0.25 * deviation * tail as f64) + KNOWN.0 * KNOWN.1 * deviation;
    let share = (tail as f64 + 1.0) / (others.len() as f64 + 2.0);
    let beyond: Vec<f64> = run.iter().map(|value| value * sign - begin).filter(|excess| *excess > 0.0).collect();
    if beyond.is_empty() || known <= 0.0 {
        return 1.0;
    }
    let ratio = beyond.iter().sum::<f64>() / known;
    let points = tail as f64 + KNOWN.0;
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
    use crate::changes::detect::changes_known;
    use sprag_base::stats::random::SplitMix64;

    #[test]
    fn chances_are_those_of_the_binomial() {
        assert!((at_least(5, 0, 0.3) - 1.0).abs() < 1e-12);
        assert!((at_least(2, 2, 0.1) - 0.01).abs() < 1e-12);
        assert!((at_least(3, 1, 0.5) - 0.875).abs() < 1e-12);
    }

    #[test]
    fn a_run_beyond_the_tail_is_as_rare_as_is_said() {
        // Exponential points whose tail is as is known beforehand: the chance is told within a factor of three.
        let mut random = SplitMix64::new(21);
        let mut draw = || -(1.0 - random.uniform()).ln();
        let mut told = |limit: f64| {
            let hits = (0..4000).filter(|_| {
                let others: Vec<f64> = (0..80).map(|_| draw()).collect();
                let run: Vec<f64> = (0..3).map(|_| draw()).collect();
                beyond_tail(&run, &others, 1.0, 1.0 / KNOWN.1) < limit
            });
            hits.count() as f64 / 4000.0
        };
        let shares = [told(0.1), told(0.01), told(0.001)];
        assert!(shares[0] < 0.3 && shares[1] < 0.03 && shares[2] < 0.003, "{shares:?}");
        // The farther the rarer, and never the other way round.
        let others: Vec<f64> = (0..100).map(f64::from).collect();
        let far = |by: f64| beyond_tail(&[100.0 + by; 3], &others, 1.0, 10.0);
        assert!(far(0.0) > far(50.0) && far(50.0) > far(500.0));
        assert_eq!(beyond_tail(&[1.0; 3], &others, 1.0, 10.0), 1.0);
    }

    /// Of a hundred series of thirty points in how many both ends of such a run are told.
    fn times_reported(run: &[f64], noise: impl Fn(&mut SplitMix64) -> f64, more_is_better: bool) -> usize {
        let known = Context { more_is_better, ..Context::default() };
        let is_told = |seed: &u64| {
            let mut random = SplitMix64::new(*seed);
            let mut values: Vec<f64> = (0..30).map(|_| 100.0 + noise(&mut random)).collect();
            (16..).zip(run).for_each(|(place, beyond)| values[place] += beyond);
            let found = changes_known(&values, &Sensitivity::BALANCED, &known).points;
            found.iter().map(|point| point.index).eq([16, 16 + run.len()])
        };
        (0..100).filter(is_told).count()
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
        // One of them alone beyond all others is no run.
        assert_eq!(times_reported(&[-9.0, 0.0], normal, false), 0);
    }

    #[test]
    fn two_points_far_from_each_other_are_told_in_a_long_series_without_strays() {
        // Of forty series of so many points, with a stray, that step from the point 240 on.
        let told_of = |count: usize, stray: f64, step: f64| {
            let is_told = |seed: &u64| {
                let mut random = SplitMix64::new(*seed);
                let level = |place: usize| 100.0 + if place < 240 { 0.0 } else { step };
                let mut values: Vec<f64> = (0..count).map(|place| level(place) + random.normal()).collect();
                (values[60], values[150], values[151]) = (100.0 + stray, 108.0, 112.0);
                let found = changes_known(&values, &Sensitivity::BALANCED, &Context::default()).points;
                [150, 152].iter().all(|place| found.iter().any(|point| point.index == *place))
            };
            (0..40).filter(is_told).count()
        };
        let told = |count, stray| told_of(count, stray, 0.0);
        assert!(told(320, 0.0) >= 36, "{}", told(320, 0.0));
        assert!(told(320, 20.0) <= 4, "{}", told(320, 20.0));
        assert!(told(250, 0.0) <= 4, "{}", told(250, 0.0));
        // Nor where a change leaves few points around them in a long one.
        assert!(told_of(600, 0.0, 20.0) <= 4, "{}", told_of(600, 0.0, 20.0));
    }

    #[test]
    fn how_far_a_run_lies_from_ticks_says_nothing() {
        let still = |_: &mut SplitMix64| 0.0;
        assert_eq!(times_reported(&[1.0; 2], still, false), 0);
        assert_eq!(times_reported(&[5.0; 5], still, false), 100);
    }
}
