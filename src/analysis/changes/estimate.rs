//! How large a level, a change and the rate of a drift are, with their 95 % intervals.
//!
//! A level is the trimmed mean of its points on the scale on which the series is analysed. Its standard error is the
//! deviation of these points, drawn towards that of the whole series, over the root of their number, larger by as much as
//! points are autocorrelated; the quantile is Student's. That the change was found, and where, is assumed.

use super::input::Input;
use super::ramp::Ramp;
use super::scale::Scaled;
use super::side::Side;
use sprag_base::stats::student;
use sprag_model::{Drift, Level};

/// The standard error of a trimmed mean over that of a mean, with normal noise and 15 % at either end.
const TRIMMED: f64 = 1.04;

/// The quantile of the normal distribution for 95 %.
const NORMAL_95: f64 = 1.96;

/// The error of how far a ramp leads over that with given ends, as counted.
const RAMP_ENDS: f64 = 2.0;

/// A number on the scale of the series with half the width of its interval.
#[derive(Clone, Copy)]
pub(super) struct Estimate {
    middle: f64,
    half: f64,
}

/// The level of some points; `inflation` is by how much the deviation of a mean is larger than with independent points.
pub(super) fn level(points: &[f64], input: &Input<'_>, inflation: f64) -> Estimate {
    let prior = input.tuning().prior_points;
    let side = Side::new(points);
    let freedom = side.count() - 1.0 + prior;
    let squares = (side.count() - 1.0) * side.deviation.powi(2) + prior * input.noise.deviation.powi(2);
    let error = (squares / freedom / side.count()).sqrt() * inflation * TRIMMED;
    Estimate { middle: side.level, half: student::two_sided(0.95, freedom) * error }
}

impl Estimate {
    /// That number moved by so much, which has a standard error of its own.
    pub(super) fn moved(self, by: f64, error: f64) -> Estimate {
        Estimate { middle: self.middle + by, half: self.half.hypot(RAMP_ENDS * NORMAL_95 * error) }
    }

    pub(super) fn in_units(&self, scaled: &Scaled) -> Level {
        let of = |place: f64| scaled.in_units(place);
        Level { value: of(self.middle), lower: of(self.middle - self.half), upper: of(self.middle + self.half) }
    }

    /// The change from this level to another one, as a share.
    pub(super) fn relative(&self, after: &Estimate, scaled: &Scaled) -> Level {
        let (step, half) = (after.middle - self.middle, self.half.hypot(after.half));
        let of = |step: f64| scaled.share(step, self.middle);
        let (one, other) = (of(step - half), of(step + half));
        Level { value: of(step), lower: one.min(other), upper: one.max(other) }
    }
}

/// The places `first..last` of a ramp, with the levels that its course has at their ends, and its rate; `chance` is that of its
/// score, or of the clearest of the steps that it explains.
pub(super) fn drift(ramp: &Ramp, [first, last]: [usize; 2], input: &Input<'_>, chance: f64) -> Drift {
    let Input { scaled, noise, .. } = *input;
    let width = (ramp.end - ramp.begin) as f64;
    let (begin, end) = ramp.around;
    // The course without the ramp is flat: where it begins is what is left over.
    let flat: Vec<f64> = (begin..end).map(|place| scaled.values[place] - ramp.size * ramp.behind(place)).collect();
    let before = Side::new(&flat).level;
    let slope = ramp.size / width;
    // A line: the squares of the distances from the middle of n points add up to n^3 / 12. Flat parts show more, free ends less.
    let error = noise.deviation * noise.inflation * (12.0 / width.powi(3)).sqrt();
    let of = |slope: f64| scaled.share(slope, before);
    let (one, other) = (of(slope - NORMAL_95 * error), of(slope + NORMAL_95 * error));
    // A change within the ramp cuts it.
    let from = if first == ramp.begin { 0.0 } else { ramp.behind(first) };
    let to = if last == ramp.end { 1.0 } else { ramp.behind(last.saturating_sub(1)) };
    let course = |share: f64| scaled.in_units(before + ramp.size * share);
    Drift {
        begin: first,
        end: last,
        before: course(from),
        after: course(to),
        rate: Level { value: of(slope), lower: one.min(other), upper: one.max(other) },
        chance,
        is_carried: ramp.is_retained,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::detect::changes;
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;

    /// A hundred points about 100 with noise of 1 % that is autocorrelated by `rho`, from the sixtieth on changed by `step`.
    fn stepped(seed: u64, rho: f64, step: f64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let mut last = random.normal();
        (0..100)
            .map(|place| {
                last = rho * last + (1.0 - rho * rho).sqrt() * random.normal();
                100.0 * (1.0 + if place < 60 { 0.0 } else { step }) * (1.0 + 0.01 * last)
            })
            .collect()
    }

    #[test]
    fn intervals_hold_what_they_are_of() {
        for rho in [0.0, 0.5] {
            let [mut before, mut after, mut change, mut count] = [0.0; 4];
            for seed in 0..600 {
                let values = stepped(seed, rho, 0.06);
                let points = changes(&values, &Sensitivity::BALANCED).points;
                let [point] = &points[..] else { continue };
                let holds = |level: &Level, truth: f64| f64::from(level.lower <= truth && truth <= level.upper);
                count += 1.0;
                before += holds(&point.before, 100.0);
                after += holds(&point.after, 106.0);
                change += holds(&point.relative, 0.06);
                assert!((point.relative() - (point.after.value / point.before.value - 1.0)).abs() < 1e-12);
            }
            assert!(count >= 570.0, "rho {rho}: {count} found");
            for covered in [before, after, change] {
                assert!((0.92..0.98).contains(&(covered / count)), "rho {rho}: {before} {after} {change} of {count}");
            }
        }
    }

    #[test]
    fn intervals_of_a_step_within_a_ramp_hold_the_step_alone() {
        let [mut before, mut after, mut change, mut count] = [0; 4];
        for seed in 0..200 {
            let mut random = SplitMix64::new(seed);
            let course = |place: usize| {
                let climbed = 0.1 * ((place as f64 + 0.5 - 20.0) / 140.0).clamp(0.0, 1.0);
                100.0 * (climbed + if place < 80 { 0.0 } else { 0.04 }).exp()
            };
            let values: Vec<f64> = (0..180).map(|place| course(place) * (1.0 + 0.006 * random.normal())).collect();
            let all = changes(&values, &Sensitivity::BALANCED);
            let ([point], [_]) = (&all.points[..], &all.drifts[..]) else { continue };
            let holds = |level: &Level, truth: f64| usize::from(level.lower <= truth && truth <= level.upper);
            let at = 100.0 * (0.1_f64 * 60.0 / 140.0).exp();
            count += 1;
            before += holds(&point.before, at);
            after += holds(&point.after, at * 0.04_f64.exp());
            change += holds(&point.relative, 0.04_f64.exp_m1());
            // With the ramp it would be more than twice as much.
            assert!((0.02..0.06).contains(&point.relative()), "{point:?}");
        }
        assert!(count >= 150, "{count} found");
        for covered in [before, after, change] {
            assert!(covered * 100 >= count * 90, "{before} {after} {change} of {count}");
        }
    }

    #[test]
    fn the_rate_of_a_drift_is_that_of_its_ramp() {
        let (mut covered, mut count) = (0, 0);
        for seed in 0..60 {
            let mut random = SplitMix64::new(seed);
            let course = |place: usize| 100.0 * (0.08 * ((place as f64 - 50.0) / 150.0).clamp(0.0, 1.0)).exp();
            let values: Vec<f64> = (0..250).map(|place| course(place) * (1.0 + 0.01 * random.normal())).collect();
            let drifts = changes(&values, &Sensitivity::BALANCED).drifts;
            let [drift] = &drifts[..] else { continue };
            count += 1;
            let truth = (0.08_f64 / 150.0).exp_m1();
            covered += usize::from(drift.rate.lower <= truth && truth <= drift.rate.upper);
            assert!((98.0..102.0).contains(&drift.before) && (105.0..112.0).contains(&drift.after), "{drift:?}");
            assert!(drift.chance < 1e-4, "{drift:?}");
        }
        assert!(count >= 50 && covered * 10 >= count * 8, "{covered} of {count}");
    }
}
