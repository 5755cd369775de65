//! What it takes to be found: how far beyond what a rule needs a change must lie so that most runs show it.
//!
//! A change that just reaches what a rule needs is found in half of all runs, since the other half comes out lower. One that
//! lies further by the normal quantile of the share asked for, in standard errors, is found in that share (Cohen,
//! "Statistical Power Analysis for the Behavioral Sciences", 2nd edition, 1988).

pub(crate) use sprag_base::stats::bootstrap::CONFIDENCE;
use sprag_base::stats::{describe, normal};
use sprag_model::Better;

/// How often the smallest change that is reported as detectable would be found.
pub(crate) const POWER: f64 = 0.8;

/// The standard error of the median of normal values over that of their mean.
const OF_MEDIAN: f64 = 1.253_314_137_315_500_3;

/// How far beyond what a rule needs a change must lie, where the values have that standard error.
pub(super) fn margin(error: f64) -> f64 {
    quantile(POWER) * error
}

pub(super) fn error((low, high): (f64, f64)) -> f64 {
    (high - low) / 2.0 / quantile(two_sided(1.0 - CONFIDENCE))
}

/// The standard error of the median of samples, from their median absolute deviation; zero without samples.
pub(super) fn error_of_median(samples: &[f64]) -> f64 {
    let deviation = describe::scaled_median_deviation(samples).unwrap_or(0.0);
    OF_MEDIAN * deviation / (samples.len().max(1) as f64).sqrt()
}

/// How many standard errors a test at this level, of two sides, needs.
pub(super) fn needed(significance: f64) -> f64 {
    quantile(two_sided(significance))
}

fn two_sided(missed: f64) -> f64 {
    1.0 - missed / 2.0
}

fn quantile(p: f64) -> f64 {
    // At a level of zero nothing is ever found.
    normal::quantile(p).unwrap_or(f64::INFINITY)
}

/// The size of a change, by which a number of the base is worse by this share; where more is better the sides are exchanged.
pub(super) fn size(worsening: f64, better: Better) -> f64 {
    match better {
        Better::Lower => worsening,
        Better::Higher => worsening / (1.0 + worsening),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;
    use sprag_base::stats::random::SplitMix64;
    use sprag_model::{Rule, SessionNoise, Side, TwoSides, Verdict};

    const DEVIATION: f64 = 0.01;

    /// In what share of runs a change of the stated detectable size is found, of evidence that `draw` makes for a factor.
    fn share(rule: Rule, better: Better, draw: impl Fn(f64, &mut SplitMix64, &mut TwoSides)) -> f64 {
        let mut random = SplitMix64::new(3);
        let trials = 200;
        let is_detected = |_: &i32| {
            let mut evidence = TwoSides::new(better, Side::once(1.0), Side::once(1.0));
            draw(1.0, &mut random, &mut evidence);
            let size = rules::decide(&rule, &evidence).effect.detectable.expect("the data tell");
            assert!(size > 0.0 && (better == Better::Lower || size < 1.0), "{size}");
            let base = evidence.base.clone();
            draw(if better == Better::Lower { 1.0 + size } else { 1.0 - size }, &mut random, &mut evidence);
            rules::decide(&rule, &TwoSides { base, ..evidence }).verdict == Verdict::Regressed
        };
        (0..trials).filter(is_detected).count() as f64 / f64::from(trials)
    }

    fn check(rule: Rule, what: &str, draw: impl Fn(f64, &mut SplitMix64, &mut TwoSides)) {
        for better in [Better::Lower, Better::Higher] {
            let share = share(rule, better, &draw);
            assert!((0.65..0.95).contains(&share), "{rule:?}, {what}, {better:?}: {share}");
        }
    }

    #[test]
    fn a_detectable_change_is_detected_in_four_cases_of_five() {
        let near = |factor: f64, random: &mut SplitMix64| factor * (1.0 + DEVIATION * random.normal());
        let around = |value: f64| (value * (1.0 - 1.96 * DEVIATION), value * (1.0 + 1.96 * DEVIATION));
        let rank = |noise_threshold: f64| Rule::Rank { noise_threshold, significance: 0.05, mad_multiplier: 3.0 };
        for count in [8, 30] {
            check(rank(0.01), &format!("{count} samples"), |factor, random, evidence| {
                let mut side = |factor: f64| (0..count).map(|_| near(factor, random)).collect::<Vec<f64>>();
                (evidence.base.samples, evidence.current.samples) = (side(1.0), side(factor));
            });
        }
        // With a negligible band, the test decides.
        let by_test = Rule::Rank { noise_threshold: 1e-6, significance: 0.05, mad_multiplier: 0.0 };
        for count in [4, 30] {
            check(by_test, &format!("{count} samples"), |factor, random, evidence| {
                let mut side = |factor: f64| (0..count).map(|_| near(factor, random)).collect::<Vec<f64>>();
                (evidence.base.samples, evidence.current.samples) = (side(1.0), side(factor));
            });
        }
        let current = |factor: f64, random: &mut SplitMix64, evidence: &mut TwoSides| {
            evidence.current.value = near(factor, random);
            evidence.current.interval = Some(around(evidence.current.value));
        };
        check(Rule::Tolerance { ratio: 0.1, abs: 0.02 }, "an interval", current);
        let bands = Rule::Bands { fail: 0.05, warn: 0.02 };
        check(bands, "one interval", current);
        for width in [0.01, 0.1] {
            check(bands, "two intervals", |factor, random, evidence| {
                evidence.base.interval = Some((1.0 - width, 1.0 + width));
                current(factor, random, evidence);
            });
        }
        let interval = Rule::Interval { tolerance: 0.02 };
        check(interval, "pairs", |factor, random, evidence| {
            evidence.ratios = (0..10).map(|_| near(factor, random)).collect();
        });
        check(interval, "sessions", |factor, random, evidence| {
            evidence.session_noise = Some(SessionNoise { deviation: DEVIATION, freedom: 7.0, sessions: 8 });
            evidence.base.sessions = 8;
            evidence.base.value = 1.0 + DEVIATION / 8.0_f64.sqrt() * random.normal();
            evidence.current.value = near(factor, random);
        });
    }

    #[test]
    fn errors_are_those_of_hand() {
        assert!((error((0.98, 1.02)) - 0.02 / 1.959_963_985).abs() < 1e-9);
        assert!((margin(0.01) - 0.008_416_212).abs() < 1e-9);
        assert!((needed(0.05) - 1.959_963_985).abs() < 1e-9 && needed(0.0).is_infinite());
        // The deviations from 3 are 2, 1, 0, 1 and 97, and their median is 1.
        let error = error_of_median(&[1.0, 2.0, 3.0, 4.0, 100.0]);
        assert!((error - 1.253_314 * 1.482_602 / 5.0_f64.sqrt()).abs() < 1e-5, "{error}");
        assert_eq!((error_of_median(&[]), size(0.25, Better::Higher), size(0.25, Better::Lower)), (0.0, 0.2, 0.25));
    }
}
