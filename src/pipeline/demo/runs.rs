//! The runs of the generated history: machines, benchmarks, planted changes and noise.
//!
//! A time is that of the kernel over the speed of the machine, times planted changes, times log-normal noise between
//! runs and between workers. Kernels bound by memory are noisier; there are a few outliers.

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::TimeDelta;
use serde_json::{Value, json};

use sprag_base::stats::describe;
use sprag_base::stats::random::SplitMix64;
use sprag_model::benchmark::{Benchmark, Parity, ParityStatus};
use sprag_model::commit::Commit;
use sprag_model::environment::{Environment, Machine};
use sprag_model::metric::Metric;
use sprag_model::run::{Quality, Run, RunStatus};
use sprag_model::sample::{Estimate, Measurement, Role};

/// The commit that adds the baselines: soon after a release and before the planted regression.
pub(super) const BASELINES: usize = 108;

const WORKERS: usize = 6;

const SAMPLES: u64 = 40 * WORKERS as u64;

/// The 97.5 % quantile of the t distribution with five degrees of freedom.
const T_95: f64 = 2.571;

/// So many last commits have no missing run and no outlier: what is found there was planted.
const CALM: usize = 16;

/// So many commits before the baselines have no outlier: the sessions that teach them.
const TAUGHT: usize = 24;

/// The newest run is quieter, so that a gate sees the planted regression for any seed.
const QUIET: f64 = 0.4;

pub(super) struct Recorder {
    machines: Vec<(&'static Bench, SplitMix64)>,
}

impl Recorder {
    pub(super) fn new(seed: u64) -> Recorder {
        Recorder { machines: BENCHES.iter().map(|bench| (bench, stream(seed, bench.name))).collect() }
    }

    /// Every other commit, and a few are missed.
    pub(super) fn measure(&mut self, position: usize, commit: &Commit) -> Vec<Run> {
        let measured = |(bench, random): &mut (&'static Bench, SplitMix64)| {
            let calm = position + CALM >= COMMITS;
            let missed = (random.uniform() < 0.05) && !calm && position != NO_GPU;
            let away = bench.name == AWAY && GAP.contains(&position);
            let turn = (COMMITS - 1 - position).is_multiple_of(2);
            (turn && !missed && !away).then(|| run(bench, random, position, commit))
        };
        self.machines.iter_mut().filter_map(measured).collect()
    }
}

fn run(bench: &Bench, random: &mut SplitMix64, position: usize, commit: &Commit) -> Run {
    let skipped = bench.name == WITH_GPU && position == NO_GPU;
    let wait = TimeDelta::minutes(bench.delay + random.below(40) as i64) + TimeDelta::seconds(random.below(60) as i64);
    let load = 0.05 + 0.4 * random.uniform();
    let calm = position + CALM >= COMMITS || (position + TAUGHT >= BASELINES && position < BASELINES);
    let measurement = |(number, kernel): (usize, &Kernel)| {
        let seconds = kernel.seconds / bench.speed * factor(bench, kernel, number, position);
        let noise = if position + 1 == COMMITS { QUIET * bench.noise } else { bench.noise };
        let estimates = measure(kernel, seconds, noise, calm, random);
        let (benchmark, parity) = (kernel.benchmark(bench.suite).into(), kernel.parity());
        Measurement { benchmark, role: Role::Tracked, attributes: Default::default(), parity, estimates, failure: None }
    };
    let measurements = bench.kernels().iter().enumerate().map(measurement).collect();
    Run {
        suite: bench.suite.to_owned(),
        timestamp: commit.commit_time + wait,
        commit: Some(commit.clone()),
        machine: bench.machine(),
        environment: bench.environment(position, load),
        config: [("workers".to_owned(), json!(WORKERS)), ("samples".to_owned(), json!(SAMPLES))].into(),
        status: if skipped { RunStatus::Skipped } else { RunStatus::Ok },
        reason: skipped.then(|| NO_GPU_REASON.to_owned()),
        quality: Quality { clean: true, reasons: Vec::new() },
        measurements: if skipped { Vec::new() } else { measurements },
        autotune: if bench.suite == "gpu" && !skipped { autotune() } else { Vec::new() },
    }
}

/// `seconds` is the time on a machine without noise.
fn measure(kernel: &Kernel, seconds: f64, noise: f64, calm: bool, random: &mut SplitMix64) -> Vec<Estimate> {
    let (between_runs, between_workers) = if kernel.memory { (0.005, 0.006) } else { (0.003, 0.004) };
    let mut level = seconds * (noise * between_runs * normal(random)).exp();
    if (random.uniform() < 0.015) && !calm {
        level *= 1.05 + 0.12 * random.uniform();
    }
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..WORKERS {
        // A worker meets a busy neighbour now and then.
        let heavy = if kernel.memory && (random.uniform() < 0.08) { 3.0 } else { 1.0 };
        times.push(rounded(level * (noise * between_workers * heavy * normal(random)).exp()));
    }
    let rates: Vec<f64> = times.iter().map(|time| rounded(kernel.tiles / time)).collect();
    let spread = noise * between_workers;
    let mut estimates = vec![
        estimate(Metric::time(), &times, 1.0 + 2.2 * spread),
        estimate(Metric::throughput("tiles_per_s"), &rates, 1.0 + 1.6 * spread),
    ];
    if let Some(limit) = kernel.limit {
        let shares: Vec<f64> = times.iter().map(|time| rounded(limit * kernel.seconds / time)).collect();
        estimates.push(estimate(Metric::limit_share(), &shares, 1.0));
    }
    estimates
}

/// `tail` is the 95th percentile relative to the median.
fn estimate(metric: Metric, workers: &[f64], tail: f64) -> Estimate {
    let n = workers.len() as f64;
    let mean = workers.iter().sum::<f64>() / n;
    let variance = workers.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = T_95 * (variance / n).sqrt();
    let value = median(workers);
    Estimate {
        metric,
        value,
        workers: workers.to_vec(),
        p50: Some(value),
        p95: Some(rounded(value * tail)),
        min: None,
        interval: Some((rounded(value - half), rounded(value + half))),
        detectable: None,
        n: SAMPLES,
    }
}

fn median(values: &[f64]) -> f64 {
    rounded(describe::median(values).expect("every run has samples"))
}

/// Six significant digits: the precision of a timer, and the last digit of `exp`, which differs between systems, is
/// gone.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().expect("a float that was just written")
}

pub(super) struct Kernel {
    pub(super) name: &'static str,
    params: &'static [(&'static str, &'static str)],
    pub(super) variant: &'static str,
    /// For one call on a machine of speed 1.
    pub(super) seconds: f64,
    pub(super) tiles: f64,
    /// Bound by memory, and so noisier.
    pub(super) memory: bool,
    /// The share of the device's bandwidth that it reaches at these seconds.
    pub(super) limit: Option<f64>,
}

pub(super) const CPU: [Kernel; 8] = [
    kernel("tile_pack", &[("c", "64"), ("t", "8")], "reference", 1.92e-3, 4096.0, true),
    kernel("tile_pack", &[("c", "64"), ("t", "8")], "fast", 4.31e-4, 4096.0, true),
    kernel("tile_unpack", &[("c", "64"), ("t", "8")], "reference", 1.78e-3, 4096.0, true),
    kernel("tile_unpack", &[("c", "64"), ("t", "8")], "fast", 4.07e-4, 4096.0, true),
    kernel("fusion_gate", &[("n", "16384")], "reference", 9.36e-4, 1024.0, false),
    kernel("fusion_gate", &[("n", "16384")], "fast", 2.18e-4, 1024.0, false),
    kernel("tile_ssm_scan", &[("d", "16"), ("n", "2048")], "fast", 1.27e-3, 2048.0, false),
    kernel("infer", &[("layers", "6")], "fast", 1.143e-2, 8192.0, false),
];

pub(super) const GPU: [Kernel; 5] = [
    kernel("tile_pack", &[("c", "256"), ("t", "16")], "cuda", 3.84e-5, 65_536.0, true).reaches(0.81),
    kernel("tile_unpack", &[("c", "256"), ("t", "16")], "cuda", 3.71e-5, 65_536.0, true).reaches(0.84),
    kernel("fusion_gate", &[("n", "1048576")], "cuda", 2.26e-5, 65_536.0, true).reaches(0.93),
    kernel("tile_ssm_scan", &[("d", "16"), ("n", "65536")], "cuda", 1.18e-4, 65_536.0, false).reaches(0.37),
    kernel("infer", &[("layers", "6")], "cuda", 8.92e-4, 65_536.0, false),
];

const fn kernel(
    name: &'static str,
    params: &'static [(&'static str, &'static str)],
    variant: &'static str,
    seconds: f64,
    tiles: f64,
    memory: bool,
) -> Kernel {
    Kernel { name, params, variant, seconds, tiles, memory, limit: None }
}

/// A tuner's choices for the suite `gpu`: benchmark, configuration, its time relative to the untuned one.
const CHOSEN: [(usize, &str, f64); 3] =
    [(0, "rows=4,width=128", 0.918), (1, "rows=4,width=128", 0.934), (3, "chunk=64", 1.0)];

pub(super) fn autotune() -> Vec<Value> {
    let entry = |(number, selected, ratio): &(usize, &str, f64)| {
        let untuned = if *ratio < 1.0 { "rows=1,width=256" } else { "chunk=64" };
        let others = [("rows=8,width=64", 1.031), (untuned, 1.0), (selected, *ratio)];
        let candidates: BTreeMap<&str, f64> = others.into_iter().collect();
        json!({
            "benchmark": GPU[*number].benchmark("gpu").id(),
            "candidates": candidates,
            "failures": {},
            "selected": selected,
            "source": if *ratio < 1.0 { "tuned" } else { "default" },
        })
    };
    CHOSEN.iter().map(entry).collect()
}

impl Kernel {
    const fn reaches(self, limit: f64) -> Kernel {
        Kernel { limit: Some(limit), ..self }
    }

    pub(super) fn benchmark(&self, suite: &str) -> Benchmark {
        let params: Vec<(&str, String)> = self.params.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        Benchmark::new(suite, self.name, &params, self.variant).expect("the names above are fine")
    }

    pub(super) fn parity(&self) -> Parity {
        let compared = |status, error| Parity { status, max_abs_error: Some(error), tolerance: Some(1e-5) };
        match self.variant {
            "reference" => Parity { status: ParityStatus::Reference, max_abs_error: None, tolerance: None },
            _ if self.memory => compared(ParityStatus::Exact, 0.0),
            _ => compared(ParityStatus::Within, 4.8e-7),
        }
    }
}

pub(super) struct Bench {
    pub(super) name: &'static str,
    class: &'static str,
    pub(super) suite: &'static str,
    pub(super) speed: f64,
    pub(super) noise: f64,
    /// Minutes after the commit.
    pub(super) delay: i64,
    facts: &'static [(&'static str, &'static str)],
}

/// Its compiler changes.
pub(super) const UPGRADED: &str = "bench-epyc";

/// It is away for weeks.
pub(super) const AWAY: &str = "bench-xeon";

pub(super) const WITH_GPU: &str = "bench-gpu";

/// The first commit measured with the new compiler.
pub(super) struct Upgrade {
    /// The first commit measured with the new compiler.
    pub(super) position: usize,
    pub(super) size: f64,
}

/// Well before the baselines are taken.
pub(super) const COMPILER: Upgrade = Upgrade { position: 78, size: 0.012 };

pub(super) const BENCHES: [Bench; 3] = [
    Bench {
        name: UPGRADED,
        class: "AMD EPYC 9354 32-Core Processor",
        suite: "cpu",
        speed: 1.0,
        noise: 1.0,
        delay: 127,
        facts: &[
            ("compiler", "rustc 1.90.0"),
            ("cpu_features", "avx2 avx512f fma"),
            ("cpu_model", "AMD EPYC 9354 32-Core Processor"),
            ("flags", "-C target-cpu=native"),
            ("libc", "glibc 2.39"),
            ("microcode", "0xa101154"),
            ("os_release", "Ubuntu 24.04.3 LTS"),
        ],
    },
    Bench {
        name: AWAY,
        class: "Intel Xeon Gold 6430",
        suite: "cpu",
        speed: 0.83,
        noise: 1.4,
        delay: 151,
        facts: &[
            ("compiler", "rustc 1.90.0"),
            ("cpu_features", "avx2 avx512f fma"),
            ("cpu_model", "Intel(R) Xeon(R) Gold 6430"),
            ("flags", "-C target-cpu=native"),
            ("libc", "glibc 2.36"),
            ("microcode", "0x2b000639"),
            ("os_release", "Debian GNU/Linux 12"),
        ],
    },
    Bench {
        name: WITH_GPU,
        class: "NVIDIA L40S",
        suite: "gpu",
        speed: 1.0,
        noise: 0.8,
        delay: 193,
        facts: &[
            ("compiler", "nvrtc 13.0"),
            ("cpu_model", "AMD EPYC 9124 16-Core Processor"),
            ("flags", "--gpu-architecture=compute_89"),
            ("gpu_driver", "580.95.05"),
            ("libc", "glibc 2.39"),
            ("os_release", "Ubuntu 24.04.3 LTS"),
        ],
    },
];

impl Bench {
    pub(super) fn machine(&self) -> Machine {
        Machine::named(self.name, self.class)
    }

    pub(super) fn kernels(&self) -> &'static [Kernel] {
        if self.suite == "gpu" { &GPU } else { &CPU }
    }

    /// `load` is recorded and counts for nothing.
    pub(super) fn environment(&self, position: usize, load: f64) -> Environment {
        let facts = self.facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut facts: BTreeMap<String, String> = facts.collect();
        if self.name == UPGRADED && position >= COMPILER.position {
            facts.insert("compiler".to_owned(), "rustc 1.91.0".to_owned());
        }
        facts.insert("load_1m".to_owned(), format!("{load:.2}"));
        Environment::from_facts(facts)
    }
}

/// One commit each working day.
const WEEKS: usize = 26;

pub(super) const COMMITS: usize = WEEKS * 5;

pub(super) struct Step {
    pub(super) position: usize,
    kernel: &'static str,
    factor: f64,
}

pub(super) const SLOWER: Step = Step { position: COMMITS - 11, kernel: "tile_pack", factor: 1.15 };

pub(super) const FASTER: Step = Step { position: 52, kernel: "fusion_gate", factor: 0.88 };

pub(super) struct Drift {
    kernel: &'static str,
    from: usize,
    each: f64,
}

pub(super) const DRIFT: Drift = Drift { kernel: "infer", from: 30, each: 0.0005 };

/// Commits that the machine `AWAY` did not measure.
pub(super) const GAP: Range<usize> = 58..82;

/// The commit at which the GPU was unavailable.
pub(super) const NO_GPU: usize = 91;

pub(super) const NO_GPU_REASON: &str = "no CUDA device: the driver is present, and finds none";

/// `kernel_number` is its place in the suite.
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

/// The same on every machine. Drawing more for one purpose leaves the others as they are.
pub(super) fn stream(seed: u64, purpose: &str) -> SplitMix64 {
    let mix = |seed: u64, byte: u8| SplitMix64::new(seed).next_u64() ^ u64::from(byte);
    SplitMix64::new(purpose.bytes().fold(seed, mix))
}

/// Nearly normal, mean 0 and deviation 1: the sum of twelve uniform numbers, less six. The exact one needs a function
/// whose last digit differs between systems.
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
}
