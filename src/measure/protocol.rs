//! Measures a suite: runs workers, turns their reports into measurements, and collects reasons to distrust them.
//!
//! The unit of replication is the process. Within a worker, the median of block medians; over workers, the median
//! of those, with an interval over workers. Samples of one process are never treated as independent.

use std::collections::BTreeMap;

use crate::campaign::{self, Brief, Campaign, StopReason};
use crate::gpu::settings::Track;
use crate::gpu::throttle;
use crate::plan::{Planned, Protocol, Turn, WorkerSeries};
use crate::process::WorkerCommand;
use crate::workload::{Calibrator, Class, Workload};
use crate::{MeasureError, pool};
use sprag_base::stats::bootstrap::FEWEST_VALUES;
use sprag_model::{Measurement, Role};

/// Workers that fit into a budget: their interval is its purpose.
const WORKERS_OF_A_BUDGET: f64 = 5.0;

/// The share of a worker's time that goes to timing; the rest prepares and checks.
const TIMING_SHARE: f64 = 0.5;

/// The least and most seconds in which a worker times one benchmark: at least the fewest rounds of fast kernels.
const SERIES_SECONDS: (f64, f64) = (0.02, 0.4);

#[derive(Clone, Debug, PartialEq)]
pub struct SuiteResult {
    /// One measurement a benchmark, in the order of the suite, then one a calibration kernel.
    pub measurements: Vec<Measurement>,
    pub reasons: Vec<String>,
    pub stop: StopReason,
    pub workers: usize,
}

/// The configurations of benchmarks by id; others use their first.
pub type Configurations = BTreeMap<String, String>;

/// Measures workloads in fresh worker processes; `progress` receives the number of ended ones.
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
        let measurements = pool::measurements(workloads, &planned, campaign, protocol.seed);
        // Traffic beyond the caches is rarely precise on a shared machine, so it delays only itself.
        let is_alone = workloads.iter().all(|workload| workload.class == Class::Dram);
        let mut awaited = measurements.iter().zip(workloads).filter(|(_, one)| is_alone || one.class != Class::Dram);
        awaited.all(|(measurement, _)| is_precise(measurement, protocol))
    };
    let brief = Brief { suite, planned: planned.clone(), protocol, command };
    let campaign = campaign::run(&brief, &is_precise, progress)?;
    result(suite, workloads, &planned, protocol, &campaign)
}

/// The protocol with as much time for a benchmark as its budget allows.
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

/// Whether the interval of the judged number is narrow enough. A failure is always precise.
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
    let reasons = reasons(protocol, workloads, campaign, &measurements);
    measurements.extend(pool::calibrations(suite, campaign, protocol.seed)?);
    Ok(SuiteResult { measurements, reasons, stop: campaign.stop, workers: campaign.workers.len() })
}

/// A machine with a larger share of preempted samples is too busy to measure on.
pub const MOST_PREEMPTED: f64 = 0.10;

/// A calibration kernel that moved by a larger share shows that the machine changed during the run.
pub const MOST_MOVEMENT: f64 = 0.05;

/// How far the A/A control may be from 1 beyond its interval.
pub const CONTROL_SLACK: f64 = 0.005;

/// Only the caches of a core decide the speed of smaller arrays; every neighbour affects that of larger ones.
const CACHED_BYTES: usize = 1 << 20;

/// Exceeding a budget by a larger share is reported.
const BUDGET_SLACK: f64 = 0.25;

/// A sentence where the first processes alone exceeded the budget.
pub fn over_budget(protocol: &Protocol, processes: usize, seconds: f64) -> Option<String> {
    let budget = protocol.budget_seconds.filter(|budget| seconds > budget * (1.0 + BUDGET_SLACK))?;
    let noun = if processes == 1 { "process" } else { "processes" };
    Some(format!("{processes} {noun} took {seconds:.0} s, over the budget of {budget} s"))
}

/// A sentence where `count` processes are too few for an interval; `kind` comes before the noun, `owner` after it.
pub fn too_few(count: usize, kind: &str, owner: &str) -> Option<String> {
    let noun = if count == 1 { "process" } else { "processes" };
    let words: Vec<&str> = [kind, noun, owner].into_iter().filter(|word| !word.is_empty()).collect();
    let words = words.join(" ");
    (count < FEWEST_VALUES)
        .then(|| format!("only {count} {words}: a confidence interval needs at least {FEWEST_VALUES}"))
}

/// The reasons to distrust the numbers, one sentence each.
pub fn reasons(
    protocol: &Protocol,
    workloads: &[&Workload],
    campaign: &Campaign,
    measurements: &[Measurement],
) -> Vec<String> {
    let mut reasons = campaign.faults.clone();
    let workers = campaign.workers.len();
    reasons.extend(too_few(workers, "worker", ""));
    reasons.extend(over_budget(protocol, workers, campaign.seconds));
    let series: Vec<_> = campaign.workers.iter().flat_map(|worker| worker.values()).collect();
    if let Some(share) = pool::preempted_share(&series).filter(|share| *share > MOST_PREEMPTED) {
        reasons.push(format!("{:.0} % of the samples were interrupted by other work", share * 100.0));
    }
    let moved = pool::calibration_movement(campaign).into_iter().filter(|(kernel, share)| {
        let is_local = match kernel {
            Calibrator::MultiplyAdd => true,
            Calibrator::Copy { bytes } | Calibrator::Triad { bytes } => *bytes <= CACHED_BYTES,
            Calibrator::Gather(tiling) | Calibrator::Scatter(tiling) => tiling.map <= CACHED_BYTES,
            // A device has one user. The host's clock around a launch moves with the host.
            Calibrator::DeviceCopy { track, .. } | Calibrator::DeviceLaunch { track } => *track != Track::Host,
        };
        is_local && *share > MOST_MOVEMENT
    });
    if let Some((kernel, share)) = moved.max_by(|a, b| a.1.total_cmp(&b.1)) {
        let name = kernel.name();
        reasons.push(format!("the calibration kernel {name} moved by {:.1} % within the run", share * 100.0));
    }
    reasons.extend(throttled(&series));
    for control in measurements.iter().filter(|one| one.role == Role::Control) {
        let interval = control.estimate(sprag_model::metric::RATIO).and_then(|ratio| ratio.interval);
        let off = interval.filter(|(low, high)| *low > 1.0 + CONTROL_SLACK || *high < 1.0 - CONTROL_SLACK);
        if let Some((low, high)) = off {
            reasons.push(format!("the A/A control came out at {low:.4} to {high:.4} instead of 1"));
        }
    }
    let is_clean = |series: &WorkerSeries| series.turns.iter().any(|turn| !turn.own.clean().is_empty());
    let is_busy = |number: usize| {
        let mut series = campaign.workers.iter().filter_map(|worker| worker.get(&number));
        series.any(|one| one.failure.is_none() && !is_clean(one))
    };
    let busy = workloads.iter().enumerate().filter(|(number, one)| one.threads == 1 && is_busy(*number));
    let busy: Vec<String> = busy.map(|(_, workload)| workload.benchmark.id()).collect();
    if !busy.is_empty() {
        reasons.push(format!(
            "all samples of one worker were interrupted, so CPU time is used instead for: {}",
            busy.join(", ")
        ));
    }
    if let Some(processor) = protocol.pin.filter(|_| campaign.pinned.contains(&false)) {
        reasons.push(format!("the system did not allow workers to be pinned to processor {processor}"));
    }
    reasons
}

/// A sentence where the device was throttled in blocks that were already retaken.
fn throttled(series: &[&WorkerSeries]) -> Option<String> {
    let states = || series.iter().flat_map(|one| &one.turns).flat_map(Turn::device_states);
    let slowed = || states().filter(|state| state.throttled);
    let reasons = slowed().fold(0, |all, state| all | state.reasons);
    let (count, all) = (slowed().count(), states().count());
    let words = throttle::reason_words(reasons).join(", ");
    let why = if words.is_empty() { String::new() } else { format!(" ({words})") };
    (count > 0).then(|| format!("throttled: the device slowed itself down in {count} of {all} blocks{why}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::block::Block;
    use crate::plan::{PLAN_VERSION, PRECISION, Plan};
    use crate::worker;
    use crate::workload::example;
    use sprag_model::Sample;

    use super::*;

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
            pinned: report.pinned.into_iter().collect(),
            ..Campaign::default()
        };
        result("cpu", &workloads, &planned, protocol, &campaign).expect("there is a report")
    }

    #[test]
    fn the_report_of_a_worker_becomes_measurements() {
        let result = measured(&Protocol { rounds: 3, block_samples: 6, sample_seconds: 1e-6, ..Protocol::quick() });
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
    fn precision_is_that_of_the_judged_number() {
        let protocol = Protocol { rounds: 3, block_samples: 6, sample_seconds: 1e-6, ..Protocol::within(1.0) };
        let mut result = measured(&protocol);
        let right = &mut result.measurements[0];
        assert!(!is_precise(right, &protocol), "a single worker gives no interval");
        let value = right.estimates[2].value;
        right.estimates[2].interval = Some((value * (1.0 - PRECISION * 0.9), value * (1.0 + PRECISION * 0.9)));
        assert!(is_precise(right, &protocol));
        right.estimates[2].interval = Some((value * 0.9, value));
        assert!(!is_precise(right, &protocol));
        assert!(result.measurements[1..4].iter().all(|one| is_precise(one, &protocol)));
    }

    fn series(kernel: Calibrator, kernel_seconds: f64, twin: f64, preempted: usize) -> WorkerSeries {
        let block = |wall: f64, preempted: usize| {
            let sample = |number| Sample { wall, cpu: Some(wall), preempted: number < preempted };
            Block { samples: (0..10).map(sample).collect(), unsettled: 0, device: None }
        };
        let turn = Turn {
            own: block(1.0, preempted),
            twin: Some(block(twin, 0)),
            calibrations: vec![(kernel, block(kernel_seconds, 0))],
        };
        WorkerSeries { turns: vec![turn], ..WorkerSeries::untimed("x") }
    }

    fn reasons_of(workers: Vec<WorkerSeries>, pinned: Vec<bool>) -> String {
        let suite = example::suite();
        let control = &suite[3];
        let campaign = Campaign {
            workers: workers.into_iter().map(|one| BTreeMap::from([(0, one)])).collect(),
            pinned,
            ..Campaign::default()
        };
        let protocol = Protocol { pin: Some(1), ..Protocol::ordinary(3) };
        let measurements = pool::measurements(&[control], &[], &campaign, 1);
        reasons(&protocol, &[control], &campaign, &measurements).join("; ")
    }

    #[test]
    fn each_problem_has_its_reason() {
        let quiet = || series(Calibrator::MultiplyAdd, 1.0, 1.0, 0);
        assert_eq!(reasons_of(vec![quiet(), quiet(), quiet()], vec![true; 3]), "");
        assert_eq!(reasons_of(vec![quiet()], vec![]), "only 1 worker process: a confidence interval needs at least 3");
        let preempted = || series(Calibrator::MultiplyAdd, 1.0, 1.0, 2);
        let text = reasons_of(vec![preempted(), preempted(), preempted()], vec![]);
        assert_eq!(text, "20 % of the samples were interrupted by other work");
        let moved = |kernel| reasons_of(vec![quiet(), quiet(), series(kernel, 1.06, 1.0, 0)], vec![]);
        let text = "the calibration kernel multiply-add moved by 6.0 % within the run";
        assert_eq!(moved(Calibrator::MultiplyAdd), text);
        assert_eq!(moved(Calibrator::Copy { bytes: 8 << 20 }), "");
        let off = || series(Calibrator::MultiplyAdd, 1.0, 0.98, 0);
        assert!(
            reasons_of(vec![off(), off(), off()], vec![]).starts_with("the A/A control came out at 1.0204 to 1.0204")
        );
        let unpinned = reasons_of(vec![quiet(), quiet(), quiet()], vec![true, false, true]);
        assert_eq!(unpinned, "the system did not allow workers to be pinned to processor 1");
        let busy = || series(Calibrator::MultiplyAdd, 1.0, 1.0, 10);
        assert!(reasons_of(vec![busy(), busy(), busy()], vec![]).contains("CPU time is used instead for: cpu/control"));
        let protocol = Protocol::within(4.0);
        assert_eq!(over_budget(&protocol, 1, 4.9), None);
        assert_eq!(over_budget(&protocol, 1, 9.0).as_deref(), Some("1 process took 9 s, over the budget of 4 s"));
    }
}
