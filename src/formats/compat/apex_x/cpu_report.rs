//! The report of Apex-X's CPU suite, `apex_x_cpu_perf_regression`, schema version 1.
//!
//! Five figures in milliseconds: the median of single calls of `infer`, `tile_pack`, `tile_unpack` and `fusion_gate`,
//! and the 95th percentile of `infer`, of however few samples, never null. Where a field names what we have not (Python,
//! torch) it holds `none`.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::report_parts::CallSummary;
use sprag_base::json;

pub const SUITE: &str = "apex_x_cpu_perf_regression";

pub const SCHEMA_VERSION: u64 = 1;

/// The side of a tile of the timed kernels, in pixels.
pub const TILE_SIZE: u64 = 16;

/// The image of `infer`: batch, channels, height, width.
pub const INPUT_SHAPE: [u64; 4] = [1, 3, 128, 128];

/// The map of the other kernels: batch, channels, height, width.
pub const TILE_SHAPE: [u64; 4] = [1, 64, 128, 128];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSettings {
    pub infer_warmup: u32,
    pub infer_iters: u32,
    /// Calls of each other kernel.
    pub micro_warmup: u32,
    pub micro_iters: u32,
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Operating system, its release, architecture and C library, joined as Python joins them.
    pub platform: String,
    pub cuda_available: bool,
}

/// Milliseconds of the single calls of each kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    pub infer: Vec<f64>,
    pub tile_pack: Vec<f64>,
    pub tile_unpack: Vec<f64>,
    pub fusion_gate: Vec<f64>,
}

/// The text of the report: keys sorted, two spaces a level, floats as Python writes them, one line feed at the end.
/// `None` where a kernel has no times.
pub fn to_json(settings: &CpuSettings, place: &Platform, timings: &Timings) -> Option<String> {
    let infer = CallSummary::from_calls(&timings.infer)?;
    let median = |calls: &[f64]| CallSummary::from_calls(calls).map(|summary| summary.p50);
    let report = json!({
        "schema_version": SCHEMA_VERSION,
        "suite": SUITE,
        "environment": {
            "python": "none",
            "torch": "none",
            "platform": place.platform,
            "device": "cpu",
            "cuda_available": place.cuda_available,
        },
        "config": {
            "infer_warmup": settings.infer_warmup,
            "infer_iters": settings.infer_iters,
            "micro_warmup": settings.micro_warmup,
            "micro_iters": settings.micro_iters,
            "seed": settings.seed,
            "tile_size": TILE_SIZE,
            "input_shape": INPUT_SHAPE,
            "tile_shape": TILE_SHAPE,
        },
        "metrics": {
            "infer_p50_ms": infer.p50,
            "infer_p95_ms": infer.p95,
            "tile_pack_p50_ms": median(&timings.tile_pack)?,
            "tile_unpack_p50_ms": median(&timings.tile_unpack)?,
            "fusion_gate_p50_ms": median(&timings.fusion_gate)?,
        },
    });
    Some(json::to_pretty(&report))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_report_of_the_seed_is_reproduced() {
        let golden: Value = serde_json::from_str(include_str!("../../../../fixtures/golden/apex-x/perf_compare.json"))
            .expect("the golden cases are JSON");
        let text = golden["cases"][0]["current_json_text"].as_str().expect("the first case has a recorded report");
        let mut expected: Value = serde_json::from_str(text).expect("the report is JSON");
        let settings = CpuSettings::deserialize(&expected["config"]).expect("the report has settings");
        let platform = expected["environment"]["platform"].as_str().expect("a platform").to_owned();
        let figure = |name: &str| expected["metrics"][name].as_f64().expect("a metric is a number");
        let around = |name: &str| vec![figure(name) + 2.0, figure(name), figure(name) - 0.125];
        let (low, high) = (figure("infer_p50_ms"), figure("infer_p95_ms"));
        let timings = Timings {
            // Of six values the 95th percentile is the fifth, and the median lies between two equal ones.
            infer: vec![low, high + 1.0, low, high, low - 0.1, low - 0.1],
            tile_pack: around("tile_pack_p50_ms"),
            tile_unpack: around("tile_unpack_p50_ms"),
            fusion_gate: around("fusion_gate_p50_ms"),
        };
        expected["environment"]["python"] = json!("none");
        expected["environment"]["torch"] = json!("none");
        let place = Platform { platform, cuda_available: false };
        assert_eq!(to_json(&settings, &place, &timings), Some(json::to_pretty(&expected)));
        assert_eq!(to_json(&settings, &place, &Timings { tile_pack: Vec::new(), ..timings }), None);
    }
}
