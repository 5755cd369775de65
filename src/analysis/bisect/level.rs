//! What the measurements of one commit say about its level.
//!
//! A measurement is the level of its build plus an offset of its session plus the mean noise of its pairs. A build has an
//! offset of its own, as code is laid out again, which all measurements of it share. A few measurements are disturbed: noise
//! is a normal distribution with a share of a wider one (Tukey, "A survey of sampling from contaminated distributions", 1960).

use std::f64::consts::TAU;

use super::tuning::Fitting;

/// One measurement of a commit, on the scale on which the good end is 0 and the bad end is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelObservation {
    pub level: f64,
    /// The variance that its pairs leave, without that of its session.
    pub variance: f64,
}

/// The offsets of sessions and of builds, as standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    pub session: f64,
    pub build: f64,
    pub(super) tuning: Fitting,
}

/// The least deviation of a measurement: the spacing of the offsets over which it is integrated must not be wider.
const LEAST_SESSION: f64 = 1.0 / 32.0;

/// Offsets of a build, in deviations, over which is integrated where it was measured more than once.
const OFFSETS: [f64; 13] = [-3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0];

impl Noise {
    /// The effect of a session on a measurement indicates that of a build: both come from places in memory and caches.
    pub fn of_sessions(session: f64, tuning: Fitting) -> Noise {
        Noise { session, build: (session * tuning.build_share).hypot(tuning.least_build), tuning }
    }

    /// The variance of a measurement of one build whose pairs leave that variance.
    pub fn of_observation(&self, variance: f64) -> f64 {
        (self.session * self.session + variance).max(LEAST_SESSION * LEAST_SESSION)
    }
}

/// The logarithm of the likelihood that a commit of that level gives these measurements.
pub fn log_likelihood(observations: &[LevelObservation], level: f64, noise: Noise) -> f64 {
    let one = |observation: &LevelObservation, offset: f64, variance: f64| {
        disturbed_normal(observation.level - level - offset, variance, &noise.tuning)
    };
    match observations {
        [] => 0.0,
        [only] => one(only, 0.0, noise.of_observation(only.variance) + noise.build * noise.build).ln(),
        several => {
            let at = |deviate: f64| -> f64 {
                let all = several
                    .iter()
                    .map(|each| one(each, noise.build * deviate, noise.of_observation(each.variance)).ln());
                all.sum::<f64>() - deviate * deviate / 2.0
            };
            log_sum(OFFSETS.map(at)) - (2.0 * TAU.sqrt()).ln()
        }
    }
}

fn disturbed_normal(deviation: f64, variance: f64, Fitting { disturbed, scatter, .. }: &Fitting) -> f64 {
    let density = |variance: f64| (-deviation * deviation / (2.0 * variance)).exp() / (TAU * variance).sqrt();
    // Far outside both, the likelihood must not vanish.
    (1.0 - disturbed) * density(variance) + disturbed * density(variance + scatter * scatter) + f64::MIN_POSITIVE
}

/// The logarithm of the sum of what these are logarithms of.
pub fn log_sum(logarithms: impl IntoIterator<Item = f64> + Clone) -> f64 {
    let most = logarithms.clone().into_iter().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + logarithms.into_iter().map(|one| (one - most).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: Noise = Noise { session: 0.1, build: 0.1, tuning: Fitting::FITTED };

    fn odds(levels: &[f64]) -> f64 {
        let observations: Vec<LevelObservation> =
            levels.iter().map(|level| LevelObservation { level: *level, variance: 0.01 }).collect();
        log_likelihood(&observations, 1.0, NOISE) - log_likelihood(&observations, 0.0, NOISE)
    }

    #[test]
    fn a_level_in_the_middle_says_nothing_and_one_near_an_end_much() {
        assert!(odds(&[0.5]).abs() < 1e-9 && odds(&[0.5, 0.5]).abs() < 1e-9);
        assert!(odds(&[1.0]) > 5.0 && odds(&[0.0]) < -5.0 && odds(&[0.6]) > 0.0);
        // Two measurements say more than one, and less than two independent ones, as they share the offset of their build.
        assert!(odds(&[0.6, 0.6]) > odds(&[0.6]) && odds(&[0.6, 0.6]) < 2.0 * odds(&[0.6]));
    }

    #[test]
    fn a_disturbed_measurement_is_outvoted() {
        assert!(odds(&[2.5, 0.0, 0.0]) < 0.0 && odds(&[-1.5, 1.0, 1.0]) > 0.0);
        assert!(odds(&[1e6]).is_finite());
    }

    #[test]
    fn likelihoods_of_one_measurement_integrate_to_one() {
        let one = |level: f64| log_likelihood(&[LevelObservation { level, variance: 0.01 }], 0.0, NOISE).exp();
        let sum: f64 = (-4000..4000).map(|place| one(f64::from(place) / 1000.0) / 1000.0).sum();
        assert!((sum - 1.0).abs() < 0.01, "{sum}");
        let two = |a: f64, b: f64| {
            let at = |level: f64| LevelObservation { level, variance: 0.01 };
            log_likelihood(&[at(a), at(b)], 0.0, NOISE).exp()
        };
        let grid = || (-80..80).map(|place| f64::from(place) / 40.0);
        let sum: f64 = grid().map(|a| grid().map(|b| two(a, b) / 1600.0).sum::<f64>()).sum();
        assert!((sum - 1.0).abs() < 0.03, "{sum}");
    }
}
