//! The machines of the generated history, and the benchmarks that they measure.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use sprag_model::benchmark::{Benchmark, Parity, ParityStatus};
use sprag_model::environment::{Environment, Machine};

pub(super) struct Kernel {
    pub(super) name: &'static str,
    params: &'static [(&'static str, &'static str)],
    pub(super) variant: &'static str,
    /// Seconds for one call on a machine of speed 1.
    pub(super) seconds: f64,
    pub(super) tiles: f64,
    /// Whether memory is what it waits for: then it is noisier.
    pub(super) memory: bool,
    /// The share of the device's bandwidth that it reaches at these seconds, where that is known.
    pub(super) limit: Option<f64>,
}

/// The suite `cpu`.
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

/// The suite `gpu`.
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

/// What a tuner chose for the suite `gpu`: benchmark, configuration, its time over that of the one used untuned.
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
    /// When on the day it begins, in minutes after the commit.
    pub(super) delay: i64,
    facts: &'static [(&'static str, &'static str)],
}

/// The name of the machine whose compiler changes.
pub(super) const UPGRADED: &str = "bench-epyc";

/// The name of the machine that was away for weeks.
pub(super) const AWAY: &str = "bench-xeon";

/// The name of the machine with the GPU.
pub(super) const WITH_GPU: &str = "bench-gpu";

/// A change of a machine, and not of the code.
pub(super) struct Upgrade {
    /// The first commit measured with the new compiler.
    pub(super) position: usize,
    pub(super) size: f64,
}

/// The new compiler, well before the baselines are taken.
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

    /// The environment when that commit was measured; `load` is recorded and counts for nothing.
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
