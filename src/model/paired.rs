//! Two builds timed against each other: what was seen of one benchmark.

use schemars::JsonSchema;
use serde::Serialize;

/// One benchmark of two builds, timed in alternating blocks of paired worker processes.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Paired {
    /// The benchmark's id.
    pub benchmark: String,
    /// What limits it: `compute`, `cache` or `dram`.
    pub class: String,
    /// One entry a pair of processes, in the order in which they ran.
    pub pairs: Vec<Pair>,
    /// Why it could not be timed on both sides.
    pub failure: Option<String>,
}

/// What one pair of processes showed.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Pair {
    /// The median of block medians of the base, in seconds a call.
    pub base_seconds: f64,
    /// The same of the other build.
    pub other_seconds: f64,
    /// The median over rounds of the other's block over the base's: below the noise that both blocks share.
    pub ratio: f64,
}

impl Paired {
    /// The ratio of every pair.
    pub fn ratios(&self) -> Vec<f64> {
        self.pairs.iter().map(|pair| pair.ratio).collect()
    }
}
