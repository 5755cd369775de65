//! The machines of the generated history.

use std::collections::BTreeMap;

use sprag_model::environment::{Environment, Machine};

use super::kernels::{CPU, GPU, Kernel};

/// A machine that measures one suite.
pub(super) struct Bench {
    pub(super) name: &'static str,
    class: &'static str,
    pub(super) suite: &'static str,
    /// How many times as fast as the kernels' numbers say.
    pub(super) speed: f64,
    /// How many times as noisy as a quiet machine.
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
    /// The largest change of a kernel's time that comes with it.
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
