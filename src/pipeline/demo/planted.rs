//! What is planted in the generated history, where, and the random numbers that surround it.

use std::ops::Range;

use crate::demo::machines::{AWAY, Bench, COMPILER, Kernel, UPGRADED, WITH_GPU};
use sprag_base::stats::random::SplitMix64;
use sprag_model::commit::Commit;

/// How many weeks the project has been worked on, one commit each working day.
const WEEKS: usize = 26;

/// How many commits of code there are.
pub(super) const COMMITS: usize = WEEKS * 5;

pub(super) struct Step {
    /// The commit that brings it, counted from the first.
    pub(super) position: usize,
    kernel: &'static str,
    factor: f64,
}

/// The regression, ten commits before the last.
pub(super) const SLOWER: Step = Step { position: COMMITS - 11, kernel: "tile_pack", factor: 1.15 };

pub(super) const FASTER: Step = Step { position: 52, kernel: "fusion_gate", factor: 0.88 };

pub(super) struct Drift {
    kernel: &'static str,
    from: usize,
    each: f64,
}

pub(super) const DRIFT: Drift = Drift { kernel: "infer", from: 30, each: 0.0005 };

/// The commits that one machine did not measure, because it was away.
pub(super) const GAP: Range<usize> = 58..82;

/// The commit at which the GPU could not be used.
pub(super) const NO_GPU: usize = 91;

pub(super) const NO_GPU_REASON: &str = "no CUDA device: the driver is present, and finds none";

/// What the time of a kernel is multiplied by at that commit on that machine. `kernel_number` is its place in the suite.
pub(super) fn factor(bench: &Bench, kernel: &Kernel, kernel_number: usize, position: usize) -> f64 {
    let mut factor = 1.0;
    for step in [&SLOWER, &FASTER] {
        if kernel.name == step.kernel && kernel.variant == "fast" && position >= step.position {
            factor *= step.factor;
        }
    }
    if kernel.name == DRIFT.kernel && kernel.variant == "fast" {
        factor *= 1.0 + DRIFT.each * position.saturating_sub(DRIFT.from) as f64;
    }
    if bench.name == UPGRADED && position >= COMPILER.position {
        // Some kernels gain, some lose.
        let shares = [0.7, -0.9, 0.5, -0.6, 1.0, -0.8, 0.9, 0.8];
        factor *= 1.0 + COMPILER.size * shares[kernel_number % shares.len()];
    }
    factor
}

pub(super) fn sentences(commits: &[Commit]) -> Vec<String> {
    let at = |position: usize| {
        let commit = &commits[position];
        format!("{} ({})", commit.short(), commit.subject)
    };
    let percent = |factor: f64| format!("{:.0} %", (factor - 1.0).abs() * 100.0);
    let drifted = DRIFT.each * (COMMITS - 1 - DRIFT.from) as f64;
    vec![
        format!(
            "regression: the time of {} @fast goes up by {} at {}, {} commits before the newest, on {UPGRADED} and {AWAY}",
            SLOWER.kernel,
            percent(SLOWER.factor),
            at(SLOWER.position),
            COMMITS - 1 - SLOWER.position,
        ),
        format!(
            "improvement: the time of {} @fast goes down by {} at {}, on {UPGRADED} and {AWAY}",
            FASTER.kernel,
            percent(FASTER.factor),
            at(FASTER.position),
        ),
        format!(
            "drift: the time of {} @fast goes up by {:.2} % with each commit after {}, {:.1} % in all",
            DRIFT.kernel,
            DRIFT.each * 100.0,
            at(DRIFT.from),
            drifted * 100.0,
        ),
        format!(
            "environment: {UPGRADED} has rustc 1.91.0 in place of 1.90.0 since {}, which moves its times by up to {:.1} %",
            at(COMPILER.position),
            COMPILER.size * 100.0,
        ),
        format!("gap: {AWAY} measured nothing from {} to {}", at(GAP.start), at(GAP.end - 1)),
        format!("skipped: {WITH_GPU} could not measure {}: {NO_GPU_REASON}", at(NO_GPU)),
    ]
}

/// Random numbers for one purpose, the same on every machine; drawing more for one purpose leaves the others as they are.
pub(super) fn stream(seed: u64, purpose: &str) -> SplitMix64 {
    let mix = |seed: u64, byte: u8| SplitMix64::new(seed).next_u64() ^ u64::from(byte);
    SplitMix64::new(purpose.bytes().fold(seed, mix))
}

/// From a normal distribution of mean 0 and deviation 1, near enough: the sum of twelve even numbers, less six. Unlike the exact
/// one it needs no function whose last digit differs from one system to another.
pub(super) fn normal(random: &mut SplitMix64) -> f64 {
    (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_mean_zero_and_deviation_one() {
        let mut random = stream(1, "normal");
        let drawn: Vec<f64> = (0..20_000).map(|_| normal(&mut random)).collect();
        let mean = drawn.iter().sum::<f64>() / 20_000.0;
        let variance = drawn.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn a_purpose_has_a_stream_of_its_own() {
        let first = |purpose| stream(7, purpose).below(1 << 40);
        assert_eq!(first("runs"), first("runs"));
        assert_ne!(first("runs"), first("project"));
    }
}
