//! Timing as the seed, Apex-X, does: single calls, some to warm up and then those that count, one kernel after the
//! other, in one fresh process.
//!
//! It serves the seed's own report and nothing else: single calls of small kernels say little, and one process has no
//! interval. What is timed are our quickest single-threaded forms, checked against their references first.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::process::{self, WorkerCommand};
use crate::workload::{Order, Workload};
use crate::{MeasureError, clock, environment, gpu};
use sprag_formats::compat::apex_x::cpu_report::{Place, Settings, Timings, to_json};

/// The version of question and answer; parent and worker are the same binary.
pub const SEED_VERSION: u32 = 1;

/// What a process has for everything but the calls that count: inputs, checks, start.
const BASE_LIMIT: Duration = Duration::from_secs(300);

/// What each call adds to the limit: a hundred times what any takes.
const CALL_LIMIT: Duration = Duration::from_secs(1);

/// How often to call each kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedPlan {
    /// Must be [`SEED_VERSION`].
    pub version: u32,
    pub suite: String,
    /// Calls of `infer` before those that count.
    pub infer_warmup: u32,
    /// Calls of `infer` that count.
    pub infer_iters: u32,
    /// Calls of each other kernel before those that count.
    pub micro_warmup: u32,
    /// Calls of each other kernel that count.
    pub micro_iters: u32,
    pub seed: u64,
}

/// Nanoseconds of the single calls of each kernel, or why there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedTimes {
    /// Must be [`SEED_VERSION`].
    pub version: u32,
    pub failure: Option<String>,
    /// The small inference model.
    pub infer: Vec<u64>,
    pub tile_pack: Vec<u64>,
    pub tile_unpack: Vec<u64>,
    pub fusion_gate: Vec<u64>,
}

pub fn measure(command: &WorkerCommand, plan: &SeedPlan) -> Result<SeedTimes, MeasureError> {
    let calls = [plan.infer_warmup, plan.infer_iters, plan.micro_warmup, plan.micro_iters];
    let calls = calls.iter().fold(0_u32, |sum, calls| sum.saturating_add(calls.saturating_mul(3)));
    let limit = BASE_LIMIT + CALL_LIMIT.saturating_mul(calls);
    let times: SeedTimes = process::ask(&mut command.command(), plan, limit)
        .map_err(|fault| MeasureError::SingleCalls(fault.to_string()))?;
    if times.version != SEED_VERSION {
        let reason = format!("its report has version {}, {SEED_VERSION} is needed", times.version);
        return Err(MeasureError::SingleCalls(reason));
    }
    match &times.failure {
        Some(failure) => Err(MeasureError::SingleCalls(failure.clone())),
        None => Ok(times),
    }
}

/// Times in this process. A kernel that is missing or wrong is a failure in the answer, without any times.
pub fn follow(plan: &SeedPlan, workloads: &[Workload]) -> Result<SeedTimes, MeasureError> {
    if plan.version != SEED_VERSION {
        return Err(MeasureError::Plan(format!("it has version {}, this build follows {SEED_VERSION}", plan.version)));
    }
    let micro = |name| time(workloads, name, plan.micro_warmup, plan.micro_iters, plan.seed);
    let times = || -> Result<SeedTimes, String> {
        Ok(SeedTimes {
            version: SEED_VERSION,
            failure: None,
            infer: time(workloads, "infer", plan.infer_warmup, plan.infer_iters, plan.seed)?,
            tile_pack: micro("tile_pack")?,
            tile_unpack: micro("tile_unpack")?,
            fusion_gate: micro("fusion_gate")?,
        })
    };
    let failed = |failure| SeedTimes { version: SEED_VERSION, failure: Some(failure), ..SeedTimes::default() };
    Ok(times().unwrap_or_else(failed))
}

fn time(workloads: &[Workload], name: &str, warmup: u32, iters: u32, seed: u64) -> Result<Vec<u64>, String> {
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
    Ok((0..iters).map(|_| clock::time(&mut prepared.call).0).collect())
}

/// The small profile is that of 64 channels; the inference model has one size. The fast form goes before the
/// reference.
fn find<'a>(workloads: &'a [Workload], name: &str) -> Option<&'a Workload> {
    let fits = |workload: &&Workload| {
        let benchmark = &workload.benchmark;
        let param = |key: &str| benchmark.params.get(key).map(String::as_str);
        benchmark.name == name && param("threads").is_none() && (name == "infer" || param("c") == Some("64"))
    };
    let of = |variant: &str| workloads.iter().filter(fits).find(|one| one.benchmark.variant == variant);
    of("fast").or_else(|| of("reference"))
}

/// Times the kernels; the text of the report, or why there is none.
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
    let times = match measure(&WorkerCommand::for_task("seed")?, &plan) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Prepared;
    use crate::{cpu, example};

    fn plan() -> SeedPlan {
        SeedPlan {
            version: SEED_VERSION,
            suite: "cpu".into(),
            infer_warmup: 1,
            infer_iters: 3,
            micro_warmup: 0,
            micro_iters: 2,
            seed: 123,
        }
    }

    fn wrong(_: &Order<'_>) -> Result<Prepared, String> {
        let call = || unreachable!("a kernel with a wrong result must not be timed");
        Ok(Prepared {
            parity: crate::parity::compare(&[1.5], &[1.0], 1e-6),
            peak_bytes: None,
            call: Box::new(call),
            meter: None,
        })
    }

    #[test]
    fn the_kernels_of_the_suite_are_called_as_often_as_asked() {
        let workloads = cpu::workloads("cpu").expect("`cpu` is a word");
        let times = follow(&plan(), &workloads).expect("the plan can be followed");
        assert_eq!(times.failure, None);
        let counts = [&times.infer, &times.tile_pack, &times.tile_unpack, &times.fusion_gate].map(Vec::len);
        assert_eq!(counts, [3, 2, 2, 2]);
        let id = |name| find(&workloads, name).map(|workload| workload.benchmark.id());
        assert_eq!(id("fusion_gate").as_deref(), Some("cpu/fusion_gate{b=1,c=64,h=128,w=128} @fast"));
    }

    #[test]
    fn a_wrong_or_missing_kernel_gives_no_times_at_all() {
        let times = follow(&plan(), &[example::workload("infer", wrong)]).expect("the plan can be followed");
        let failure = times.failure.clone().expect("a wrong result is a failure");
        assert!(failure.contains("cpu/infer @fast") && failure.contains("parity"), "{failure}");
        assert_eq!(times, SeedTimes { version: SEED_VERSION, failure: Some(failure), ..SeedTimes::default() });
        let missing = follow(&plan(), &[]).expect("the plan can be followed").failure;
        assert_eq!(missing.as_deref(), Some("the suite has no `infer` of the small profile"));
        assert!(matches!(follow(&SeedPlan { version: 0, ..plan() }, &[]), Err(MeasureError::Plan(_))));
    }

    #[test]
    fn a_process_that_fails_gives_its_reason() {
        let reason = |script: &str| {
            let arguments = vec!["-c".to_owned(), format!("cat >/dev/null; {script}")];
            let command = WorkerCommand { program: "/bin/sh".into(), arguments };
            measure(&command, &plan()).expect_err("there are no times").to_string()
        };
        assert_eq!(reason("echo no luck >&2; exit 3"), "cannot time single calls: exit status: 3 (no luck)");
        let answer = |version: u32, failure: &str| {
            format!(
                "echo '{{\"version\":{version},\"failure\":{failure},\"infer\":[],\"tile_pack\":[],\
                 \"tile_unpack\":[],\"fusion_gate\":[]}}'"
            )
        };
        assert_eq!(reason(&answer(1, "\"parity: off\"")), "cannot time single calls: parity: off");
        assert!(reason(&answer(9, "null")).contains("version 9"));
    }
}
