//! The rule of the gate on simulated noise: a small form of `cargo bench --bench rules`.

#[path = "../../benches/rules/noise.rs"]
mod noise;
#[path = "../../benches/rules/turns.rs"]
mod turns;

use sprag_base::stats::random::SplitMix64;

use noise::{NOISES, Noise};
use turns::Turns;

/// How many of the repetitions call a build slower, with ten pairs of processes each.
fn called(noise: &Noise, turns: Turns, slowdown: f64, tolerance: f64, repetitions: usize) -> usize {
    let mut random = SplitMix64::new(7);
    let mut call = |_: &usize| {
        let pairs = turns::pairs(noise, 10, slowdown, &mut random);
        turns::is_called(&turns::ratios(&pairs, turns), tolerance)
    };
    (0..repetitions).filter(|number| call(number)).count()
}

/// A count that chance exceeds in less than one of ten thousand cases.
fn most(share: f64, repetitions: usize) -> usize {
    let n = repetitions as f64;
    (n * share + 4.0 * (n * share * (1.0 - share)).sqrt()).ceil() as usize
}

#[test]
fn unchanged_code_is_rarely_called_slower() {
    let repetitions = 300;
    let mut all = [0, 0];
    for noise in &NOISES {
        let at = [0.0, 0.01].map(|tolerance| called(noise, Turns::Rounds, 1.0, tolerance, repetitions));
        let limits = [0.025, if noise.name == "N6" { 0.01 } else { 0.005 }].map(|share| most(share, repetitions));
        assert!(at[0] <= limits[0] && at[1] <= limits[1], "{} ({}): {at:?} of {repetitions}", noise.name, noise.words);
        all = [all[0] + at[0], all[1] + at[1]];
    }
    // The mean over all noises is about 1 %; 2.5 % is promised.
    let judged = repetitions * NOISES.len();
    assert!(all[0] * 40 <= judged && all[1] * 200 <= judged, "{all:?} of {judged}");
}

#[test]
fn a_5_percent_change_is_detected_if_processes_differ_by_2() {
    let repetitions = 60;
    for turns in [Turns::Rounds, Turns::Processes] {
        for noise in NOISES.iter().filter(|noise| !["N6", "N9"].contains(&noise.name)) {
            let missed = repetitions - called(noise, turns, 1.05, 0.0, repetitions);
            assert!(missed <= most(0.05, repetitions), "{} {turns:?}: {missed} of {repetitions}", noise.name);
        }
    }
}
