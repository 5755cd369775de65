//! A worker: prepares every benchmark of its plan, checks each result, then times them block by block.
//!
//! Blocks of one benchmark alternate with blocks of all others, forwards on even rounds and backwards on odd ones,
//! so that slow changes of the machine fall on all alike. The first samples of a block are dropped: they pay for
//! the caches that the benchmark before has left.

use crate::model::benchmark::{Parity, ParityStatus};
use crate::stats::describe;
use crate::stats::random::SplitMix64;

use super::MeasureError;
use super::clock;
use super::plan::{PLAN_VERSION, Plan, Protocol, WorkerReport, WorkerSeries};
use super::workload::{Prepared, Workload};

/// Samples dropped at the start of a block of six or more; one of a shorter block.
const SETTLING: usize = 2;

/// The fewest samples of a block, also of a slow benchmark: one to settle and two to take a median of.
const FEWEST_SAMPLES: usize = 3;

/// The fewest rounds, also of a slow benchmark: below three a median over blocks is no median.
const FEWEST_ROUNDS: u32 = 3;

/// Follows a plan and reports.
///
/// # Errors
/// When the plan is of another version or asks for a benchmark that is unknown. A benchmark that fails is reported, not an error.
pub fn follow(plan: &Plan, workloads: &[Workload]) -> Result<WorkerReport, MeasureError> {
    if plan.version != PLAN_VERSION {
        return Err(MeasureError::Plan(format!("it has version {}, this build follows {PLAN_VERSION}", plan.version)));
    }
    let mut benches = Vec::with_capacity(plan.benchmarks.len());
    for id in &plan.benchmarks {
        let workload = workloads.iter().find(|workload| workload.benchmark.id() == *id);
        let workload = workload.ok_or_else(|| MeasureError::Plan(format!("it asks for `{id}`, which is unknown")))?;
        benches.push(Bench::prepare(workload, &plan.protocol));
    }
    let mut order: Vec<usize> = (0..benches.len()).collect();
    SplitMix64::new(plan.protocol.seed ^ u64::from(plan.worker).wrapping_mul(0x9e37)).shuffle(&mut order);
    for round in 0..plan.protocol.rounds {
        for &position in &order {
            benches[position].block(round);
        }
        order.reverse();
    }
    Ok(WorkerReport { version: PLAN_VERSION, series: benches.into_iter().map(|bench| bench.series).collect() })
}

/// A benchmark being timed.
struct Bench {
    prepared: Option<Prepared>,
    rounds: u32,
    block_samples: usize,
    series: WorkerSeries,
}

impl Bench {
    /// Makes inputs, checks the result, and finds how many calls fill a sample.
    fn prepare(workload: &Workload, protocol: &Protocol) -> Bench {
        let unchecked = Parity { status: ParityStatus::Unchecked, max_abs_error: None, tolerance: None };
        let mut bench = Bench {
            prepared: None,
            rounds: 0,
            block_samples: 0,
            series: WorkerSeries {
                id: workload.benchmark.id(),
                parity: unchecked,
                failure: None,
                calls: 1,
                blocks: Vec::new(),
                samples: Vec::new(),
            },
        };
        match (workload.prepare)(protocol.seed) {
            Err(reason) => bench.series.failure = Some(reason),
            Ok(prepared) => {
                bench.series.parity = prepared.parity.clone();
                bench.series.failure = prepared.failure();
                if bench.series.failure.is_none() {
                    bench.calibrate(prepared, protocol);
                }
            }
        }
        bench
    }

    fn calibrate(&mut self, mut prepared: Prepared, protocol: &Protocol) {
        // The first call warms caches and pages; the faster of two others is closest to what a sample will take.
        (prepared.call)();
        let first = clock::time(&mut prepared.call).seconds();
        let call_seconds = first.min(clock::time(&mut prepared.call).seconds()).max(1e-9);
        let calls = (protocol.sample_seconds / call_seconds).ceil().clamp(1.0, 1e6);
        let sample_seconds = calls * call_seconds;
        let affordable = protocol.series_seconds / sample_seconds;
        let rounds = (affordable / FEWEST_SAMPLES as f64).floor().clamp(1.0, f64::from(protocol.rounds));
        self.rounds = (rounds as u32).max(FEWEST_ROUNDS).min(protocol.rounds);
        let samples = (affordable / f64::from(self.rounds)).floor() as usize;
        self.block_samples = samples.clamp(FEWEST_SAMPLES, (protocol.block_samples as usize).max(FEWEST_SAMPLES));
        self.series.calls = calls as u32;
        self.prepared = Some(prepared);
    }

    fn block(&mut self, round: u32) {
        let Some(prepared) = self.prepared.as_mut().filter(|_| round < self.rounds) else {
            return;
        };
        let calls = self.series.calls;
        let mut block = Vec::with_capacity(self.block_samples);
        for _ in 0..self.block_samples {
            let nanos = clock::time(|| {
                for _ in 0..calls {
                    (prepared.call)();
                }
            });
            block.push(nanos.seconds() / f64::from(calls));
        }
        let settling = if block.len() >= 3 * SETTLING { SETTLING } else { 1 };
        let kept = &block[settling..];
        self.series.blocks.extend(describe::median(kept));
        self.series.samples.extend_from_slice(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::workload;
    use crate::model::benchmark::Benchmark;

    fn workload(name: &str, prepare: fn(u64) -> Result<Prepared, String>) -> Workload {
        Workload {
            benchmark: Benchmark::new("cpu", name, &[], "fast").expect("the name is a word"),
            work: ("calls_per_s", 1.0),
            prepare: Box::new(prepare),
        }
    }

    fn plan(names: &[&str]) -> Plan {
        Plan {
            version: PLAN_VERSION,
            suite: "cpu".into(),
            benchmarks: names.iter().map(|name| format!("cpu/{name} @fast")).collect(),
            protocol: Protocol { rounds: 4, block_samples: 6, sample_seconds: 1e-6, ..Protocol::quick() },
            worker: 0,
        }
    }

    fn right(_: u64) -> Result<Prepared, String> {
        let mut sum = 0_u64;
        let call = move || sum = std::hint::black_box(sum.wrapping_mul(3).wrapping_add(1));
        Ok(Prepared { parity: workload::compare(&[1.0], &[1.0], 0.0), call: Box::new(call) })
    }

    fn wrong(_: u64) -> Result<Prepared, String> {
        let call = || unreachable!("a benchmark with a wrong result must not be timed");
        Ok(Prepared { parity: workload::compare(&[1.5], &[1.0], 1e-6), call: Box::new(call) })
    }

    fn broken(_: u64) -> Result<Prepared, String> {
        Err("the shape does not divide".to_owned())
    }

    #[test]
    fn a_wrong_or_broken_benchmark_fails_and_the_others_stand() {
        let suite = [workload("right", right), workload("wrong", wrong), workload("broken", broken)];
        let report = follow(&plan(&["right", "wrong", "broken"]), &suite).expect("the plan can be followed");
        let [right, wrong, broken] = &report.series[..] else { panic!("three series: {report:?}") };
        assert_eq!((right.failure.as_deref(), right.blocks.len(), right.samples.len()), (None, 4, 16));
        assert!(right.samples.iter().all(|seconds| *seconds > 0.0));
        assert_eq!(
            wrong.failure.as_deref(),
            Some("parity: the result differs from the reference by 5e-1, more than 1e-6")
        );
        assert!(wrong.samples.is_empty() && wrong.parity.status == ParityStatus::Mismatch);
        assert_eq!(broken.failure.as_deref(), Some("the shape does not divide"));
    }

    #[test]
    fn a_plan_that_cannot_be_followed_is_refused() {
        let suite = [workload("right", right)];
        let old = Plan { version: 0, ..plan(&["right"]) };
        assert!(matches!(follow(&old, &suite), Err(MeasureError::Plan(_))));
        assert!(matches!(follow(&plan(&["nothing"]), &suite), Err(MeasureError::Plan(_))));
    }
}
