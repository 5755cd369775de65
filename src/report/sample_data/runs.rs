//! The commits and the runs of the sample.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

use super::HOSTILE;
use sprag_base::digest::sha256_hex;
use sprag_model::{
    Benchmark, Better, Commit, CommitLine, CommitOnLine, Environment, Estimate, Machine, Measurement, Metric, Parity,
    ParityStatus, Quality, RecordedRun, Role, Run, RunStatus, Unit,
};

const COMMITS: usize = 40;

/// 2 March 2026, a Monday, 04:00 UTC.
const START: i64 = 1_772_424_000;

pub(super) const FIRST_MACHINE: &str = "epyc-9354";
pub(super) const SECOND_MACHINE: &str = "h100 <b>\u{202e}box";

/// The newest commit at which the compiler of the second machine is the old one.
const OLD_COMPILER: usize = 27;

/// A kernel with its time at the smaller size.
const KERNELS: [(&str, f64); 3] = [("tile_pack", 18.7e-6), ("fusion_gate", 213e-6), ("infer", 5.4e-3)];

pub(super) fn commit_line() -> CommitLine {
    let commits = (0..COMMITS).map(|i| CommitOnLine {
        sha: sha256_hex(format!("commit {i}").as_bytes())[..40].to_owned(),
        commit_time: time_of(i) - Duration::hours(30),
        subject: match i {
            30 => format!("{HOSTILE} {}", "long ".repeat(90)),
            36 => "Pack tiles row by row".to_owned(),
            _ => format!("Change number {i} of the kernels"),
        },
        author: ["Ada Berg", "Noor Haddad", HOSTILE][i % 3].to_owned(),
        tags: match i {
            8 => vec!["v0.1.0".to_owned()],
            24 => vec!["v0.2.0".to_owned(), "stable".to_owned()],
            34 => vec!["v0.3.0-<rc>".to_owned()],
            _ => Vec::new(),
        },
    });
    CommitLine { commits: commits.collect(), shallow: false, named: false }
}

pub(super) fn all(line: &CommitLine) -> Vec<RecordedRun> {
    let mut noise = Noise(7);
    let mut runs = Vec::new();
    for i in (0..COMMITS).filter(|i| !(14..17).contains(i)) {
        for (machine, suite) in [(0, "cpu"), (1, "cpu"), (0, "gpu"), (1, "gpu")] {
            if (machine, suite) == (0, "gpu") && i < 37 {
                continue;
            }
            runs.push(run(line, i, machine, suite, &mut noise).into());
        }
    }
    runs
}

fn time_of(i: usize) -> DateTime<Utc> {
    DateTime::from_timestamp(START + 7 * 86_400 * i as i64, 0).expect("a time within range")
}

pub(super) fn machine(number: usize) -> Machine {
    match number {
        0 => Machine::named(FIRST_MACHINE, "AMD EPYC 9354"),
        _ => Machine::named(SECOND_MACHINE, "NVIDIA H100"),
    }
}

fn run(line: &CommitLine, i: usize, number: usize, suite: &str, noise: &mut Noise) -> Run {
    let on_line = &line.commits[i];
    let skipped = number == 0 && suite == "gpu";
    let measurements = if skipped { Vec::new() } else { measurements(suite, i, number, noise) };
    let rough = (i == 39 && number == 1).then(|| "the A/A control differed by 0.9 %, more than 0.5 %".to_owned());
    let offset = Duration::minutes(20 * number as i64 + if suite == "gpu" { 50 } else { 0 });
    Run {
        suite: suite.to_owned(),
        timestamp: time_of(i) + offset,
        commit: Some(Commit {
            sha: on_line.sha.clone(),
            parents: i.checked_sub(1).map(|before| line.commits[before].sha.clone()).into_iter().collect(),
            author_time: on_line.commit_time,
            commit_time: on_line.commit_time,
            subject: on_line.subject.clone(),
            branch: (i != 30).then(|| if i == 31 { HOSTILE.to_owned() } else { "main".to_owned() }),
            dirty: i == 22,
        }),
        machine: machine(number),
        environment: environment(number, i),
        config: BTreeMap::from([
            ("processes".to_owned(), json!(10)),
            ("note".to_owned(), json!({"text": HOSTILE, "blocks": [1, 2.5]})),
        ]),
        status: if skipped { RunStatus::Skipped } else { RunStatus::Ok },
        reason: skipped.then(|| "no CUDA driver library (libcuda) found".to_owned()),
        quality: Quality { clean: rough.is_none(), reasons: rough.into_iter().collect() },
        measurements,
        autotune: if suite == "gpu" && !skipped { autotune() } else { Vec::new() },
    }
}

/// A configuration with a figure, one without, and an entry that says nothing.
fn autotune() -> Vec<Value> {
    vec![
        json!({
            "benchmark": "gpu/tile_pack{n=4096} @cuda",
            "candidates": {"block=128": 1.0, "block=256": 0.912, "block=512": null},
            "failures": {"block=512": HOSTILE},
            "selected": "block=256",
            "source": "tuned",
        }),
        json!({
            "benchmark": "gpu/fusion_gate{n=512} @cuda",
            "candidates": {"block=128": null},
            "failures": {},
            "selected": HOSTILE,
            "source": "default",
        }),
        json!({"block": 128}),
    ]
}

fn environment(number: usize, i: usize) -> Environment {
    let text = |text: &str| text.to_owned();
    let mut facts = BTreeMap::from([
        (text("cpu_model"), text(if number == 0 { "AMD EPYC 9354" } else { "Intel Xeon 8480" })),
        (text("compiler"), text(if number == 1 && i > OLD_COMPILER { "1.91" } else { "1.90" })),
        (text("libc"), text("glibc 2.36")),
        (text("flags"), text("-C target-cpu=native -C opt-level=3 -C codegen-units=1")),
        (text("load_1m"), format!("0.{i}")),
    ]);
    if number == 1 {
        let driver = if i == 39 { "580.65.06" } else { "575.51.03" };
        facts.insert(text("gpu_driver"), text(driver));
    }
    Environment::from_facts(facts)
}

fn measurements(suite: &str, i: usize, machine: usize, noise: &mut Noise) -> Vec<Measurement> {
    let variants: [&str; 2] = if suite == "cpu" { ["fast", "reference"] } else { ["cuda", "cuda_graph"] };
    let mut list = Vec::new();
    for (kernel, time) in KERNELS {
        for variant in variants {
            for size in [512, 4096] {
                let kernel = if suite == "gpu" && kernel == "infer" { "<script>alert(1)</script>|`x`" } else { kernel };
                let benchmark = Benchmark::new(suite, kernel, &[("n", size.to_string())], variant)
                    .expect("the names of the sample are allowed");
                let failed = i == 39 && machine == 0 && kernel == "infer" && size == 4096 && variant == "fast";
                let slow = if variant == "reference" { 3.4 } else { 1.0 } * if size == 4096 { 61.0 } else { 1.0 };
                let value =
                    time * slow * level((suite, kernel, variant, size), i, machine) * (1.0 + 0.006 * noise.next());
                list.push(measurement(benchmark, value, failed, noise));
            }
        }
    }
    list
}

/// The planted changes: a regression, an improvement, a step of the compiler, a bad week, a level that was
/// reverted, a small one that may be chance, a drift, and an unconfirmed newest value.
fn level(of: (&str, &str, &str, usize), i: usize, machine: usize) -> f64 {
    let (_, kernel, variant, size) = of;
    let mut level = 1.0;
    if kernel == "tile_pack" && variant == "fast" && size == 4096 && i >= 36 {
        level *= 1.081;
    }
    if kernel == "fusion_gate" && variant == "fast" && i >= 20 {
        level *= 0.876;
    }
    if machine == 1 && i > OLD_COMPILER {
        level *= 0.985;
    }
    if kernel == "tile_pack" && size == 512 && i == 11 {
        level *= 1.4;
    }
    match (of, machine) {
        (("cpu", "infer", "reference", 4096), 0) if (17..26).contains(&i) => level * 1.031,
        (("cpu", "infer", "reference", 512), 0) if i >= 31 => level * 1.007,
        (("gpu", "fusion_gate", "cuda_graph", 512), 1) => level * 1.006_f64.powi(i.clamp(17, 27) as i32 - 17),
        (("gpu", "tile_pack", "cuda", 4096), 1) if i == 39 => level * 1.05,
        _ => level,
    }
}

fn measurement(benchmark: Benchmark, value: f64, failed: bool, noise: &mut Noise) -> Measurement {
    let calibrated = benchmark.name != "infer";
    let reference = benchmark.variant == "reference";
    let mut estimates = vec![estimate(Metric::time(), value, noise)];
    if calibrated {
        estimates.push(estimate(Metric::ratio(), value / 41e-6, noise));
    }
    estimates.push(estimate(Metric::throughput("tiles_per_s"), 64.0 / value, noise));
    let memory = Metric { name: "peak_memory".to_owned(), unit: Unit::Byte, better: Better::Lower };
    estimates.push(Estimate { interval: None, p95: None, ..estimate(memory, 48.0 * 1_048_576.0, noise) });
    if benchmark.variant == "cuda" && benchmark.params_text() == "{n=4096}" {
        // The share of the device's bandwidth.
        let value = if benchmark.name == "fusion_gate" { 0.412 } else { 0.83 };
        let (metric, workers) = (Metric::limit_share(), vec![value; 10]);
        estimates.push(Estimate {
            metric,
            value,
            workers,
            p50: None,
            p95: None,
            interval: None,
            ..estimates[0].clone()
        });
    }
    Measurement {
        role: Role::Tracked,
        attributes: BTreeMap::from([("tile".to_owned(), "64x8".to_owned())]),
        parity: Parity {
            status: if reference { ParityStatus::Reference } else { ParityStatus::Within },
            max_abs_error: (!reference).then_some(1.2e-7),
            tolerance: (!reference).then_some(1e-6),
        },
        failure: failed.then(|| format!("worker 3 ended by signal 11\n{HOSTILE}")),
        estimates: if failed { Vec::new() } else { estimates },
        benchmark: benchmark.into(),
    }
}

fn estimate(metric: Metric, value: f64, noise: &mut Noise) -> Estimate {
    let half = value * 0.004 * (1.0 + 0.4 * noise.next().abs());
    Estimate {
        metric,
        value,
        workers: (0..10).map(|_| value * (1.0 + 0.003 * noise.next())).collect(),
        p50: Some(value * 1.001),
        p95: Some(value * 1.03),
        min: None,
        interval: Some((value - half, value + half)),
        detectable: None,
        n: 1200,
    }
}

/// Numbers around zero with a spread of about one, the same in every test.
pub(super) struct Noise(pub(super) u64);

impl Noise {
    pub(super) fn next(&mut self) -> f64 {
        let mut uniform = || {
            // The constants of Knuth's MMIX generator.
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        };
        (uniform() + uniform() + uniform() - 1.5) * 2.0
    }
}
