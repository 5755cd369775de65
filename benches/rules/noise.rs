//! Twelve ways in which timings of unchanged code differ from one another.
//!
//! The amplitudes are assumptions. What matters is of which kind they are: from sample to sample, along a process, or from
//! one process to the next, of which samples of a single process show nothing.

use sprag_base::stats::random::SplitMix64;

/// A way of being noisy.
pub(crate) struct Noise {
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
    kind: Kind,
}

enum Kind {
    /// Every sample by itself, by so much (standard deviation).
    Samples(f64),
    /// As `Samples`, and a share of the samples is slowed by an exponential of that mean.
    Tails { deviation: f64, share: f64, mean: f64 },
    /// Every sample depends on the one before.
    Following { carried: f64, deviation: f64 },
    /// A share of the samples, or of the processes, takes longer by a step.
    Modes { of_process: bool, share: f64, step: f64, deviation: f64 },
    /// Every process has a level of its own.
    Levels { between: f64, within: f64 },
    /// As `Levels`, counted in whole cycles.
    Cycles { cycles: f64, between: f64, within: f64 },
    /// As `Levels`, and it warms up from the first sample to the last.
    Ramp { rise: f64, between: f64, within: f64 },
}

const fn noise(name: &'static str, words: &'static str, kind: Kind) -> Noise {
    Noise { name, words, kind }
}

/// Half a per cent, and a share of the samples or processes takes 6 % longer.
const fn modes(of_process: bool, share: f64) -> Kind {
    Kind::Modes { of_process, share, step: 0.06, deviation: 0.005 }
}

pub(crate) const NOISES: [Noise; 12] = [
    noise("N1", "each sample by itself, 1 %", Kind::Samples(0.01)),
    noise("N2", "each sample by itself, 5 %", Kind::Samples(0.05)),
    noise(
        "N3",
        "1 %, and 7 % of the samples slowed by an exponential of mean 50 %",
        Kind::Tails { deviation: 0.01, share: 0.07, mean: 0.5 },
    ),
    noise("N4", "each sample hangs on the one before (0.9), 2 %", Kind::Following { carried: 0.9, deviation: 0.02 }),
    noise("N5", "0.5 %, and 45 % of the samples take 6 % longer", modes(false, 0.45)),
    noise("N6", "0.5 %, and half of the processes take 6 % longer", modes(true, 0.5)),
    noise("N7", "1 % from process to process, 0.5 % within", Kind::Levels { between: 0.01, within: 0.005 }),
    noise("N8", "2 % from process to process, 0.5 % within", Kind::Levels { between: 0.02, within: 0.005 }),
    noise("N9", "5 % from process to process, 1 % within", Kind::Levels { between: 0.05, within: 0.01 }),
    noise("N10", "640 whole cycles, 0.03 %", Kind::Cycles { cycles: 640.0, between: 0.0, within: 0.0003 }),
    noise(
        "N11",
        "640 whole cycles, 1.5 % from process to process, 0.03 % within",
        Kind::Cycles { cycles: 640.0, between: 0.015, within: 0.0003 },
    ),
    noise(
        "N12",
        "warms up by 2 %, 1 % from process to process, 0.5 % within",
        Kind::Ramp { rise: 0.02, between: 0.01, within: 0.005 },
    ),
];

impl Noise {
    /// The samples of one process of a program that takes `level`.
    pub(crate) fn process(&self, level: f64, samples: usize, random: &mut SplitMix64) -> Vec<f64> {
        match self.kind {
            Kind::Samples(deviation) => (0..samples).map(|_| level * near(deviation, random)).collect(),
            Kind::Tails { deviation, share, mean } => {
                let sample = |_| {
                    let plain = level * near(deviation, random);
                    let slowed = random.uniform() < share;
                    plain * (1.0 + if slowed { -mean * (1.0 - random.uniform()).ln() } else { 0.0 })
                };
                (0..samples).map(sample).collect()
            }
            Kind::Following { carried, deviation } => {
                let mut state = random.normal();
                let fresh = (1.0 - carried * carried).sqrt();
                let sample = |_| {
                    let now = level * (1.0 + deviation * state);
                    state = carried * state + fresh * random.normal();
                    now
                };
                (0..samples).map(sample).collect()
            }
            Kind::Modes { of_process, share, step, deviation } => {
                let of_all = random.uniform() < share;
                let sample = |_| {
                    let slow = if of_process { of_all } else { random.uniform() < share };
                    level * near(deviation, random) * if slow { 1.0 + step } else { 1.0 }
                };
                (0..samples).map(sample).collect()
            }
            Kind::Levels { between, within } => {
                let own = level * near(between, random);
                (0..samples).map(|_| own * near(within, random)).collect()
            }
            Kind::Cycles { cycles, between, within } => {
                let own = level * cycles * near(between, random);
                (0..samples).map(|_| (own * near(within, random)).round()).collect()
            }
            Kind::Ramp { rise, between, within } => {
                let own = level * near(between, random);
                let warmth = |place: usize| 1.0 + rise * place as f64 / (samples.max(2) - 1) as f64;
                (0..samples).map(|place| own * warmth(place) * near(within, random)).collect()
            }
        }
    }
}

/// A factor near one.
fn near(deviation: f64, random: &mut SplitMix64) -> f64 {
    1.0 + deviation * random.normal()
}
