//! The benchmarks of the generated suites.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use sprag_model::benchmark::{Benchmark, Parity, ParityStatus};

/// A benchmark with what its numbers are made from.
pub(super) struct Kernel {
    pub(super) name: &'static str,
    params: &'static [(&'static str, &'static str)],
    pub(super) variant: &'static str,
    /// Seconds for one call on a machine of speed 1.
    pub(super) seconds: f64,
    /// Tiles that one call works on.
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

/// These choices as runs record them.
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
