//! Timing as Apex-X does: single calls, some to warm up and then those that count, one kernel after the
//! other, in one fresh process.
//!
//! Only Apex-X's own report needs it. It times the fastest single-threaded forms, checked against their references.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::process::WorkerCommand;
use crate::workload::{Order, Workload};
use crate::{MeasureError, clock, environment, gpu, task};
use sprag_formats::compat::apex_x::cpu_report::{CpuSettings, Platform, Timings, to_json};

/// The time for everything but the calls: start, inputs, checks.
const BASE_LIMIT: Duration = Duration::from_secs(300);

/// Added to the limit for each call.
const CALL_LIMIT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuCallsPlan {
    pub suite: String,
    pub settings: CpuSettings,
}

fn measure(command: &WorkerCommand, plan: &CpuCallsPlan) -> Result<Timings, MeasureError> {
    let CpuSettings { infer_warmup, infer_iters, micro_warmup, micro_iters, .. } = plan.settings;
    let calls = [infer_warmup, infer_iters, micro_warmup, micro_iters];
    let calls = calls.iter().fold(0_u32, |sum, calls| sum.saturating_add(calls.saturating_mul(3)));
    let limit = BASE_LIMIT + CALL_LIMIT.saturating_mul(calls);
    task::ask(&mut command.command(), plan, limit).map_err(|fault| MeasureError::SingleCalls(fault.to_string()))
}

pub fn follow(plan: &CpuCallsPlan, workloads: &[Workload]) -> Result<Timings, String> {
    let CpuSettings { infer_warmup, infer_iters, micro_warmup, micro_iters, seed } = plan.settings;
    let micro = |name| time(workloads, name, micro_warmup, micro_iters, seed);
    Ok(Timings {
        infer: time(workloads, "infer", infer_warmup, infer_iters, seed)?,
        tile_pack: micro("tile_pack")?,
        tile_unpack: micro("tile_unpack")?,
        fusion_gate: micro("fusion_gate")?,
    })
}

fn time(workloads: &[Workload], name: &str, warmup: u32, iters: u32, seed: u64) -> Result<Vec<f64>, String> {
    let workload = find(workloads, name).ok_or_else(|| format!("the suite has no `{name}` of the small profile"))?;
    let about = |reason: String| format!("`{}`: {reason}", workload.benchmark);
    let order = Order { seed, configuration: None, check: true, is_twin: false };
    let mut prepared = (workload.prepare)(&order).map_err(about)?;
    if let Some(failure) = prepared.failure() {
        return Err(about(failure));
    }
    for _ in 0..warmup {
        (prepared.call)();
    }
    Ok((0..iters).map(|_| clock::time(&mut prepared.call).milliseconds()).collect())
}

/// The benchmark of the small profile, which has 64 channels, preferably in its fast form.
fn find<'a>(workloads: &'a [Workload], name: &str) -> Option<&'a Workload> {
    let fits = |workload: &&Workload| {
        let benchmark = &workload.benchmark;
        let param = |key: &str| benchmark.params.get(key).map(String::as_str);
        benchmark.name == name && param("threads").is_none() && (name == "infer" || param("c") == Some("64"))
    };
    let form = |variant: &str| workloads.iter().filter(fits).find(|one| one.benchmark.variant == variant);
    form("fast").or_else(|| form("reference"))
}

/// Times the kernels; the text of the report, or why there is none.
pub fn cpu_report(suite: &str, settings: &CpuSettings) -> Result<Result<String, String>, MeasureError> {
    let plan = CpuCallsPlan { suite: suite.to_owned(), settings: settings.clone() };
    let timings = match measure(&WorkerCommand::for_task("seed")?, &plan) {
        Ok(timings) => timings,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let facts = environment::environment(&BTreeMap::new()).facts;
    let place = Platform { platform: environment::platform(&facts), cuda_available: gpu::probe::device().is_ok() };
    Ok(to_json(settings, &place, &timings).ok_or_else(|| "a kernel gave no times".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::example;

    fn plan() -> CpuCallsPlan {
        let settings = CpuSettings { infer_warmup: 1, infer_iters: 3, micro_warmup: 0, micro_iters: 2, seed: 123 };
        CpuCallsPlan { suite: "cpu".into(), settings }
    }

    #[test]
    fn a_wrong_or_missing_kernel_gives_no_times_at_all() {
        let failure = |workloads: &[Workload]| follow(&plan(), workloads).expect_err("there are no times");
        let wrong = failure(&[example::workload("infer", example::wrong)]);
        assert!(wrong.contains("cpu/infer @fast") && wrong.contains("parity"), "{wrong}");
        assert_eq!(failure(&[]), "the suite has no `infer` of the small profile");
        let command =
            WorkerCommand { program: "/bin/sh".into(), arguments: vec!["-c".to_owned(), "exit 3".to_owned()] };
        let error = measure(&command, &plan()).expect_err("there are no times").to_string();
        assert_eq!(error, "cannot time single calls: exit status: 3 (no message)");
    }

    #[test]
    fn each_kernel_is_called_as_often_as_requested() {
        let workloads = crate::cpu::workloads("cpu").expect("`cpu` is a word");
        let times = follow(&plan(), &workloads).expect("the kernels are right");
        let counts = [&times.infer, &times.tile_pack, &times.tile_unpack, &times.fusion_gate].map(Vec::len);
        assert_eq!(counts, [3, 2, 2, 2]);
        let id = |name| find(&workloads, name).map(|workload| workload.benchmark.id());
        assert_eq!(id("fusion_gate").as_deref(), Some("cpu/fusion_gate{b=1,c=64,h=128,w=128} @fast"));
    }
}
