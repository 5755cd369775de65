//! Two builds whose processes took turns, as `sprag compare A B --measure` runs them.

use sprag::analysis::interleaved;
use sprag::analysis::rules::interval;
use sprag::model::verdict::Verdict;
use sprag::stats::describe;
use sprag::stats::random::SplitMix64;

use super::noise::Noise;

/// How many samples a process has, of which the median counts.
const SAMPLES: usize = 15;

/// The number that stands for a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Level {
    /// The median of its samples.
    Median,
    /// The mean of the middle half of its samples.
    MiddleHalf,
}

/// The processes of two builds in the order in which they ran: one of either side a pair.
pub(crate) fn pairs(noise: &Noise, pairs: usize, slowdown: f64, random: &mut SplitMix64) -> Vec<[Vec<f64>; 2]> {
    (0..pairs).map(|_| [1.0, slowdown].map(|level| noise.process(level, SAMPLES, random))).collect()
}

/// The ratio of every pair of processes.
pub(crate) fn ratios(pairs: &[[Vec<f64>; 2]], level: Level) -> Vec<f64> {
    let level = |samples: &[f64]| match level {
        Level::Median => describe::median(samples),
        Level::MiddleHalf => describe::trimmed_mean(samples, 0.25),
    };
    let level = |samples: &[f64]| level(samples).expect("a process has samples");
    pairs.iter().map(|[base, current]| level(current) / level(base)).collect()
}

/// Whether the rule `interval` calls the second build slower.
pub(crate) fn is_called(ratios: &[f64], tolerance: f64) -> bool {
    interval::decide(tolerance, &interleaved::evidence(ratios.to_vec())).verdict == Verdict::Regressed
}
