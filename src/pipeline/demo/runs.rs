//! The runs of the generated history.
//!
//! A time is the kernel's, over the machine's speed, times what is planted, times noise: log-normal between runs and
//! between the workers of a run, heavier where memory is what a kernel waits for, with an outlier now and then.

use chrono::TimeDelta;
use serde_json::json;

use crate::demo::machines::{self, AWAY, BENCHES, Bench, Kernel, WITH_GPU};
use crate::demo::planted::{self, COMMITS, GAP, NO_GPU, NO_GPU_REASON, normal, stream};
use crate::demo::project::BASELINES;
use sprag_base::stats::describe;
use sprag_base::stats::random::SplitMix64;
use sprag_model::commit::Commit;
use sprag_model::metric::Metric;
use sprag_model::run::{Quality, Run, RunStatus};
use sprag_model::sample::{Estimate, Measurement, Role};

/// Worker processes of a run.
const WORKERS: usize = 6;

/// Samples that stand behind an estimate.
const SAMPLES: u64 = 40 * WORKERS as u64;

/// The share of a t distribution with five degrees of freedom that leaves 2.5 % above it.
const T_95: f64 = 2.571;

/// How many of the last commits have no missing run and no outlier, so that what is found there was planted.
const CALM: usize = 16;

/// How many commits before the baselines have no outlier: as many as the sessions that teach them reach back.
const TAUGHT: usize = 24;

/// What the noise of the newest run is multiplied by, so that a gate sees what was planted whatever the seed.
const QUIET: f64 = 0.4;

pub(super) struct Recorder {
    machines: Vec<(&'static Bench, SplitMix64)>,
}

impl Recorder {
    pub(super) fn new(seed: u64) -> Recorder {
        Recorder { machines: BENCHES.iter().map(|bench| (bench, stream(seed, bench.name))).collect() }
    }

    /// The runs of one commit: of every other one, and few are missed.
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
        let seconds = kernel.seconds / bench.speed * planted::factor(bench, kernel, number, position);
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
        autotune: if bench.suite == "gpu" && !skipped { machines::autotune() } else { Vec::new() },
    }
}

/// The estimates of a kernel that takes `seconds` on a machine without noise.
fn measure(kernel: &Kernel, seconds: f64, noise: f64, calm: bool, random: &mut SplitMix64) -> Vec<Estimate> {
    let (between_runs, between_workers) = if kernel.memory { (0.005, 0.006) } else { (0.003, 0.004) };
    let mut level = seconds * (noise * between_runs * normal(random)).exp();
    if (random.uniform() < 0.015) && !calm {
        level *= 1.05 + 0.12 * random.uniform();
    }
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..WORKERS {
        // Now and then a worker meets a busy neighbour; more often where memory is shared with it.
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

/// The estimate of one metric; `tail` is its 95th percentile over its median.
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

/// Six significant digits: as much as a timer gives, and few enough that the last digit of `exp`, which differs
/// between systems, does not show.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().expect("a float that was just written")
}
