//! Measuring a suite: workers are run, what they observed becomes measurements, and what speaks against them is told.
//!
//! The unit of replication is the process. Within a worker, the median of block medians; over workers, the median
//! of those, with an interval over workers. Samples of one process are never treated as independent.

use std::collections::BTreeMap;

use super::campaign::{self, Brief, Campaign, StopReason};
use super::plan::{Planned, Protocol};
use super::process::WorkerCommand;
use super::workload::{Class, Workload};
use super::{MeasureError, pool, quality};
use sprag_model::sample::Measurement;

/// Workers that a time must be good for: their interval is the point of a budget.
const WORKERS_OF_A_BUDGET: f64 = 5.0;

/// The share of a worker's time that goes to timing; the rest prepares and checks.
const TIMING_SHARE: f64 = 0.5;

/// The time a worker may spend on one benchmark, in seconds: at least enough for the fewest rounds of fast kernels.
const SERIES_SECONDS: (f64, f64) = (0.02, 0.4);

#[derive(Clone, Debug, PartialEq)]
pub struct SuiteResult {
    /// One measurement a benchmark, in the order of the suite, then one a calibration kernel.
    pub measurements: Vec<Measurement>,
    pub reasons: Vec<String>,
    /// Why no further worker was started.
    pub stop: StopReason,
    pub workers: usize,
}

/// The configurations that benchmarks are to use, by id; others use their own first.
pub type Configurations = BTreeMap<String, String>;

/// Measures workloads in fresh worker processes; `progress` hears how many have ended.
pub fn measure(
    suite: &str,
    workloads: &[&Workload],
    configurations: &Configurations,
    protocol: &Protocol,
    command: &WorkerCommand,
    progress: &mut dyn FnMut(u32),
) -> Result<SuiteResult, MeasureError> {
    let protocol = &fitted(protocol, workloads.len());
    let planned = planned(workloads, configurations);
    let is_precise = |campaign: &Campaign| {
        let found = pool::measurements(workloads, &planned, campaign, protocol.seed);
        // Traffic beyond the caches hardly gets there on a shared machine, so the others do not wait for it.
        let is_alone = workloads.iter().all(|workload| workload.class == Class::Dram);
        let waited_for = found.iter().zip(workloads).filter(|(_, one)| is_alone || one.class != Class::Dram);
        waited_for.into_iter().all(|(measurement, _)| is_precise(measurement, protocol))
    };
    let brief = Brief { suite, planned: planned.clone(), protocol, command };
    let campaign = campaign::run(&brief, &is_precise, progress)?;
    result(suite, workloads, &planned, protocol, &campaign)
}

/// The protocol with as much time a benchmark as its budget allows.
fn fitted(protocol: &Protocol, benchmarks: usize) -> Protocol {
    let mut fitted = protocol.clone();
    if let Some(budget) = protocol.budget_seconds {
        let share = budget * TIMING_SHARE / WORKERS_OF_A_BUDGET / benchmarks.max(1) as f64;
        fitted.series_seconds = share.clamp(SERIES_SECONDS.0, SERIES_SECONDS.1);
    }
    fitted
}

fn planned(workloads: &[&Workload], configurations: &Configurations) -> Vec<Planned> {
    let plan = |workload: &&Workload| {
        let id = workload.benchmark.id();
        Planned { configuration: configurations.get(&id).cloned(), id }
    };
    workloads.iter().map(plan).collect()
}

/// Whether the interval of what a gate looks at is as narrow as was asked for. What failed is as precise as it gets.
pub(super) fn is_precise(measurement: &Measurement, protocol: &Protocol) -> bool {
    let Some(judged) = measurement.judged() else { return true };
    let half_width = judged.interval.map(|(low, high)| (high - low) / 2.0 / judged.value.abs());
    half_width.zip(protocol.precision).is_some_and(|(width, asked)| width <= asked)
}

fn result(
    suite: &str,
    workloads: &[&Workload],
    planned: &[Planned],
    protocol: &Protocol,
    campaign: &Campaign,
) -> Result<SuiteResult, MeasureError> {
    let mut measurements = pool::measurements(workloads, planned, campaign, protocol.seed);
    let reasons = quality::reasons(protocol, workloads, campaign, &measurements);
    measurements.extend(pool::calibrations(suite, campaign, protocol.seed)?);
    Ok(SuiteResult { measurements, reasons, stop: campaign.stop, workers: campaign.workers.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::plan::{PLAN_VERSION, PRECISION, Plan};
    use crate::worker;

    fn measured(protocol: &Protocol) -> SuiteResult {
        let suite = example::suite();
        let workloads: Vec<&Workload> = suite.iter().collect();
        let planned = planned(&workloads, &Configurations::new());
        let plan = Plan {
            version: PLAN_VERSION,
            suite: "cpu".to_owned(),
            benchmarks: planned.clone(),
            protocol: protocol.clone(),
            worker: 0,
        };
        let report = worker::follow(&plan, &suite, &mut |_| Ok(())).expect("the suite can be measured");
        let campaign = Campaign {
            workers: vec![report.series.into_iter().enumerate().collect()],
            broken: BTreeMap::new(),
            faults: Vec::new(),
            pinned: report.pinned.into_iter().collect(),
            stop: StopReason::Processes,
            seconds: 0.0,
        };
        result("cpu", &workloads, &planned, protocol, &campaign).expect("there is a report")
    }

    #[test]
    fn what_a_worker_reports_becomes_measurements() {
        let protocol = Protocol { rounds: 3, block_samples: 6, sample_seconds: 1e-6, ..Protocol::quick() };
        let result = measured(&protocol);
        let names: Vec<&str> = result.measurements.iter().map(|one| one.benchmark.name.as_str()).collect();
        assert_eq!(names, ["right", "wrong", "broken", "control", "calibration_multiply_add"]);
        let time = result.measurements[0].estimate("time").expect("it was timed");
        assert!(time.value > 0.0 && time.n >= 6 && time.interval.is_none());
        assert!(result.measurements[0].estimate("ratio").is_some_and(|ratio| ratio.value > 0.0));
        assert!(result.measurements[1].failure.is_some() && result.measurements[2].failure.is_some());
    }

    #[test]
    fn a_budget_is_shared_out_between_benchmarks() {
        let seconds = |budget, benchmarks| fitted(&Protocol::within(budget), benchmarks).series_seconds;
        assert!((seconds(60.0, 30) - 0.2).abs() < 1e-12);
        assert_eq!((seconds(1.0, 30), seconds(3600.0, 2)), (0.02, 0.4));
        let ordinary = Protocol::ordinary(5);
        assert_eq!(fitted(&ordinary, 30), ordinary);
    }

    #[test]
    fn precision_is_that_of_what_a_gate_looks_at() {
        let protocol = Protocol { rounds: 3, block_samples: 6, sample_seconds: 1e-6, ..Protocol::within(1.0) };
        let mut found = measured(&protocol);
        let right = &mut found.measurements[0];
        assert!(!is_precise(right, &protocol), "a single worker gives no interval");
        let value = right.estimates[2].value;
        right.estimates[2].interval = Some((value * (1.0 - PRECISION * 0.9), value * (1.0 + PRECISION * 0.9)));
        assert!(is_precise(right, &protocol));
        right.estimates[2].interval = Some((value * 0.9, value));
        assert!(!is_precise(right, &protocol));
        assert!(found.measurements[1..4].iter().all(|one| is_precise(one, &protocol)));
    }
}
