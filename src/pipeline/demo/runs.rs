//! The runs of the generated history: machines, benchmarks, planted changes and noise.
//!
//! A time is that of the kernel over the speed of the machine, times planted changes, times log-normal noise between
//! runs and between workers. Kernels bound by memory are noisier; there are a few outliers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Value, json};

use sprag_base::number::percent;
use sprag_base::stats::describe;
use sprag_base::stats::random::SplitMix64;
use sprag_base::toml::TomlText;
use sprag_model::{
    Benchmark, Commit, Environment, Estimate, Machine, Measurement, Metric, Parity, ParityStatus, Quality, Role, Run,
    RunStatus,
};

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
        Recorder { machines: MADE_UP.machine.iter().map(|bench| (bench, stream(seed, &bench.name))).collect() }
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
    let kernels: Vec<&Kernel> = MADE_UP.kernel.iter().filter(|kernel| kernel.suite == bench.suite).collect();
    let measurement = |(number, kernel): (usize, &Kernel)| {
        let seconds = kernel.seconds / bench.speed * factor(bench, kernel, number, position);
        let noise = if position + 1 == COMMITS { QUIET * bench.noise } else { bench.noise };
        let estimates = measure(kernel, seconds, noise, calm, random);
        let (benchmark, parity) = (kernel.benchmark().into(), kernel.parity());
        Measurement { benchmark, role: Role::Tracked, attributes: Default::default(), parity, estimates, failure: None }
    };
    let measurements = kernels.iter().copied().enumerate().map(measurement).collect();
    Run {
        suite: bench.suite.clone(),
        timestamp: commit.commit_time + wait,
        commit: Some(commit.clone()),
        machine: bench.machine(),
        environment: bench.environment(position, load),
        config: [("workers".to_owned(), json!(WORKERS)), ("samples".to_owned(), json!(SAMPLES))].into(),
        status: if skipped { RunStatus::Skipped } else { RunStatus::Ok },
        reason: skipped.then(|| NO_GPU_REASON.to_owned()),
        quality: Quality { clean: true, reasons: Vec::new() },
        measurements: if skipped { Vec::new() } else { measurements },
        autotune: if bench.suite == "gpu" && !skipped { autotune(&kernels) } else { Vec::new() },
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
    let value = rounded(describe::median(workers).expect("every run has samples"));
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

/// Six significant digits: the precision of a timer, and the last digit of `exp`, which differs between systems, is gone.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().expect("a float that was just written")
}

/// The machines of the demo, and its kernels.
static MADE_UP: LazyLock<MadeUp> = LazyLock::new(|| {
    let text = TomlText::new("machines.toml", include_str!("../../../templates/demo/machines.toml"));
    text.parse().expect("the file fits these types")
});

#[derive(Deserialize)]
struct MadeUp {
    machine: Vec<Bench>,
    kernel: Vec<Kernel>,
}

#[derive(Deserialize)]
struct Kernel {
    suite: String,
    name: String,
    params: BTreeMap<String, String>,
    variant: String,
    /// For one call on a machine of speed 1.
    seconds: f64,
    tiles: f64,
    /// Bound by memory, and so noisier.
    memory: bool,
    /// The share of the device's bandwidth that it reaches at these seconds.
    limit: Option<f64>,
}

/// A tuner's choices for the suite `gpu`: benchmark, configuration, its time relative to the untuned one.
const CHOSEN: [(usize, &str, f64); 3] =
    [(0, "rows=4,width=128", 0.918), (1, "rows=4,width=128", 0.934), (3, "chunk=64", 1.0)];

fn autotune(kernels: &[&Kernel]) -> Vec<Value> {
    let entry = |(number, selected, ratio): &(usize, &str, f64)| {
        let untuned = if *ratio < 1.0 { "rows=1,width=256" } else { "chunk=64" };
        let others = [("rows=8,width=64", 1.031), (untuned, 1.0), (selected, *ratio)];
        let candidates: BTreeMap<&str, f64> = others.into_iter().collect();
        json!({
            "benchmark": kernels[*number].benchmark().id(),
            "candidates": candidates,
            "failures": {},
            "selected": selected,
            "source": if *ratio < 1.0 { "tuned" } else { "default" },
        })
    };
    CHOSEN.iter().map(entry).collect()
}

impl Kernel {
    fn benchmark(&self) -> Benchmark {
        let params: Vec<(&str, String)> = self.params.iter().map(|(key, value)| (&**key, value.clone())).collect();
        Benchmark::new(&self.suite, &self.name, &params, &self.variant).expect("the names of the file are fine")
    }

    fn parity(&self) -> Parity {
        let compared = |status, error| Parity { status, max_abs_error: Some(error), tolerance: Some(1e-5) };
        match &*self.variant {
            "reference" => Parity { status: ParityStatus::Reference, max_abs_error: None, tolerance: None },
            _ if self.memory => compared(ParityStatus::Exact, 0.0),
            _ => compared(ParityStatus::Within, 4.8e-7),
        }
    }
}

#[derive(Deserialize)]
struct Bench {
    name: String,
    class: String,
    suite: String,
    speed: f64,
    noise: f64,
    /// Minutes after the commit.
    delay: i64,
    facts: BTreeMap<String, String>,
}

const UPGRADED: &str = "bench-epyc";

/// It is away for weeks.
const AWAY: &str = "bench-xeon";

const WITH_GPU: &str = "bench-gpu";

/// The first commit measured with the new compiler, well before the baselines are taken.
const COMPILER_CHANGE: usize = 78;

/// By so much the new compiler moves times.
const COMPILER_EFFECT: f64 = 0.012;

/// Those that measure CPU kernels.
pub(super) fn cpu_machines() -> Vec<Machine> {
    MADE_UP.machine.iter().filter(|bench| bench.suite == "cpu").map(Bench::machine).collect()
}

impl Bench {
    fn machine(&self) -> Machine {
        Machine::named(&self.name, &self.class)
    }

    /// `load` is recorded and counts for nothing.
    fn environment(&self, position: usize, load: f64) -> Environment {
        let mut facts = self.facts.clone();
        if self.name == UPGRADED && position >= COMPILER_CHANGE {
            facts.insert("compiler".to_owned(), "rustc 1.91.0".to_owned());
        }
        facts.insert("load_1m".to_owned(), format!("{load:.2}"));
        Environment::from_facts(facts)
    }
}

/// One commit each working day.
const WEEKS: usize = 26;

pub(super) const COMMITS: usize = WEEKS * 5;

pub(super) struct DemoStep {
    pub(super) position: usize,
    kernel: &'static str,
    factor: f64,
}

pub(super) const SLOWER: DemoStep = DemoStep { position: COMMITS - 11, kernel: "tile_pack", factor: 1.15 };

pub(super) const FASTER: DemoStep = DemoStep { position: 52, kernel: "fusion_gate", factor: 0.88 };

struct Drift {
    kernel: &'static str,
    from: usize,
    each: f64,
}

const DRIFT: Drift = Drift { kernel: "infer", from: 30, each: 0.0005 };

/// Commits that the machine `AWAY` did not measure.
const GAP: Range<usize> = 58..82;

/// The commit at which the GPU was unavailable.
const NO_GPU: usize = 91;

const NO_GPU_REASON: &str = "no CUDA device: the driver is present, and finds none";

/// What the script of the demo plays back at a commit: a line a kernel, its names as JSON and its seconds.
pub(super) fn times(suite: &str, position: usize) -> String {
    let line = |kernel: &Kernel| {
        let names = json!({"name": kernel.name, "params": kernel.params, "variant": kernel.variant}).to_string();
        let seconds = rounded(kernel.seconds * planted(kernel, position));
        format!("{}\t{seconds:e}\n", &names[1..names.len() - 1])
    };
    MADE_UP.kernel.iter().filter(|kernel| kernel.suite == suite).map(line).collect()
}

/// `kernel_number` is its place in the suite.
fn factor(bench: &Bench, kernel: &Kernel, kernel_number: usize, position: usize) -> f64 {
    let mut factor = planted(kernel, position);
    if bench.name == UPGRADED && position >= COMPILER_CHANGE {
        // Some kernels gain, some lose.
        let shares = [0.7, -0.9, 0.5, -0.6, 1.0, -0.8, 0.9, 0.8];
        factor *= 1.0 + COMPILER_EFFECT * shares[kernel_number % shares.len()];
    }
    factor
}

/// What the code of the commit does to a kernel on any machine.
fn planted(kernel: &Kernel, position: usize) -> f64 {
    let mut factor = 1.0;
    for step in [&SLOWER, &FASTER] {
        if kernel.name == step.kernel && kernel.variant == "fast" && position >= step.position {
            factor *= step.factor;
        }
    }
    if kernel.name == DRIFT.kernel && kernel.variant == "fast" {
        factor *= 1.0 + DRIFT.each * position.saturating_sub(DRIFT.from) as f64;
    }
    factor
}

pub(super) fn sentences(commits: &[Commit]) -> Vec<String> {
    let at = |position: usize| {
        let commit = &commits[position];
        format!("{} ({})", commit.short(), commit.subject)
    };
    let size = |factor: f64| percent((factor - 1.0).abs(), 0);
    let drifted = DRIFT.each * (COMMITS - 1 - DRIFT.from) as f64;
    vec![
        format!(
            "regression: the time of {} @fast goes up by {} at {}, {} commits before the newest, on {UPGRADED} and {AWAY}",
            SLOWER.kernel,
            size(SLOWER.factor),
            at(SLOWER.position),
            COMMITS - 1 - SLOWER.position,
        ),
        format!(
            "improvement: the time of {} @fast goes down by {} at {}, on {UPGRADED} and {AWAY}",
            FASTER.kernel,
            size(FASTER.factor),
            at(FASTER.position),
        ),
        format!(
            "drift: the time of {} @fast goes up by {} with each commit after {}, {} in all",
            DRIFT.kernel,
            percent(DRIFT.each, 2),
            at(DRIFT.from),
            percent(drifted, 1),
        ),
        format!(
            "environment: {UPGRADED} has rustc 1.91.0 in place of 1.90.0 since {}, which moves its times by up to {}",
            at(COMPILER_CHANGE),
            percent(COMPILER_EFFECT, 1),
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

/// Nearly normal: the sum of twelve uniform numbers, less six. The exact one has last digits that differ between systems.
fn normal(random: &mut SplitMix64) -> f64 {
    (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0
}
