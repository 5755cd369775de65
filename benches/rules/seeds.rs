//! The gates that others ship, as they decide: by the samples of one run a side.

use sprag_analysis::rules::{bands, rank, tolerance};
use sprag_base::stats::describe;
use sprag_model::sample_gate::RankOutcome;
use sprag_model::{Band, Better, Side, TwoSides, Verdict};

/// Samples of a run.
pub(crate) const SAMPLES: usize = 125;

/// The rules, in the order of [`calls`].
pub(crate) const NAMES: [&str; 6] = [
    "tt-metal, 125 samples", "tt-metal, 30 samples", "Trueno, 20 samples against 10",
    "Apex-X, CPU (75 % and 2 ms) at 3 ms", "Apex-X, GPU (50 % and 1 ms) at 3 ms", "Apex-X, 10 % alone",
];

/// The time of the kernel in seconds, for absolute allowances.
const KERNEL: f64 = 3e-3;

/// The allowances of Apex-X: a share and seconds.
const ALLOWANCES: [(f64, f64); 3] = [(0.75, 2e-3), (0.5, 1e-3), (0.1, 0.0)];

/// Which rules call the second side slower.
pub(crate) fn calls(base: &[f64], current: &[f64]) -> Vec<bool> {
    let parameters = rank::RankParameters::new(0.01, 0.05, 3.0);
    let tt_metal = |n: usize| rank::figures(&base[..n], &current[..n], &parameters).outcome == RankOutcome::Up;
    // A plain mean takes the place of Criterion's estimate.
    let mean = |samples: &[f64]| samples.iter().sum::<f64>() / samples.len() as f64;
    let trueno = bands::band(bands::change(mean(&base[..20]), mean(&current[..10])), 0.05, 0.02) == Band::Regressed;
    let mut calls = vec![tt_metal(SAMPLES), tt_metal(30), trueno];
    calls.extend(ALLOWANCES.map(|(ratio, abs)| apex_x(base, current, ratio, abs)));
    calls
}

fn apex_x(base: &[f64], current: &[f64], ratio: f64, abs: f64) -> bool {
    let scale = KERNEL / describe::median(base).expect("there are samples");
    // The suite reports the median of thirty calls.
    let value = |samples: &[f64]| scale * describe::median(&samples[..30]).expect("there are samples");
    let side = |value: f64| Side { value, sessions: 1, ..Side::default() };
    let evidence = TwoSides {
        better: Better::Lower,
        base: side(value(base)),
        current: side(value(current)),
        ratios: Vec::new(),
        session_noise: None,
        shares_memory: false,
    };
    tolerance::decide(ratio, abs, &evidence).verdict == Verdict::Regressed
}
