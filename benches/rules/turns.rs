//! Two builds whose processes took turns, as `sprag compare A B --measure` runs them.

use sprag_analysis::interleaved;
use sprag_analysis::rules::interval;
use sprag_base::stats::pair_ratio;
use sprag_base::stats::random::SplitMix64;
use sprag_model::Verdict;

use super::noise::Noise;

/// Samples of a process.
const SAMPLES: usize = 15;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Turns {
    /// Sample by sample, as blocks of `sprag compare A B --measure` do.
    Rounds,
    /// One after the other, as processes of a command do.
    Processes,
}

/// Samples of pairs of processes, one of each build.
pub(crate) fn pairs(noise: &Noise, pairs: usize, slowdown: f64, random: &mut SplitMix64) -> Vec<[Vec<f64>; 2]> {
    (0..pairs).map(|_| [1.0, slowdown].map(|level| noise.process(level, SAMPLES, random))).collect()
}

pub(crate) fn ratios(pairs: &[[Vec<f64>; 2]], turns: Turns) -> Vec<f64> {
    let ratio = |[base, current]: &[Vec<f64>; 2]| match turns {
        Turns::Rounds => {
            let rounds: Vec<(f64, f64)> = base.iter().copied().zip(current.iter().copied()).collect();
            pair_ratio::of_rounds(&rounds)
        }
        Turns::Processes => pair_ratio::of_processes(base, current),
    };
    pairs.iter().map(|pair| ratio(pair).expect("a process has samples above zero")).collect()
}

/// Whether the rule `interval` calls the second build slower.
pub(crate) fn is_called(ratios: &[f64], tolerance: f64) -> bool {
    interval::decide(tolerance, &interleaved::evidence(ratios.to_vec())).verdict == Verdict::Regressed
}
