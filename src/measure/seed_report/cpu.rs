//! The report of a CPU suite: single calls in one more process.

use std::collections::BTreeMap;

use crate::process::WorkerCommand;
use crate::seed::{self, SEED_VERSION, SeedPlan};
use crate::{MeasureError, environment, gpu};
use sprag_formats::compat::apex_x::cpu_report::{Place, Settings, Timings, to_json};

/// Times the kernels; the text of the report, or why there is none.
///
/// # Errors
/// When this program cannot be found to run again.
pub fn cpu_report(suite: &str, settings: &Settings) -> Result<Result<String, String>, MeasureError> {
    let plan = SeedPlan {
        version: SEED_VERSION,
        suite: suite.to_owned(),
        infer_warmup: settings.infer_warmup,
        infer_iters: settings.infer_iters,
        micro_warmup: settings.micro_warmup,
        micro_iters: settings.micro_iters,
        seed: settings.seed,
    };
    let times = match seed::measure(&WorkerCommand::for_task("seed")?, &plan) {
        Ok(times) => times,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let milliseconds = |nanos: &[u64]| nanos.iter().map(|nanos| *nanos as f64 / 1e6).collect();
    let timings = Timings {
        infer: milliseconds(&times.infer),
        tile_pack: milliseconds(&times.tile_pack),
        tile_unpack: milliseconds(&times.tile_unpack),
        fusion_gate: milliseconds(&times.fusion_gate),
    };
    let facts = environment::environment(&BTreeMap::new()).facts;
    let place = Place { platform: environment::platform(&facts), cuda_available: gpu::probe::device().is_ok() };
    Ok(to_json(settings, &place, &timings).ok_or_else(|| "a kernel gave no times".to_owned()))
}
