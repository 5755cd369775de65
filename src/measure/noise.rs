//! How noisy this machine is: plain kernels of each class, timed in fresh processes as benchmarks are.
//!
//! Four figures a kernel. *Within*: the interquartile range of the samples of one process over their median. *Between*:
//! the coefficient of variation of the processes' medians. *Preempted*: the share of samples during which the thread
//! was kept from running. *Control*: the same kernel timed once more on other memory, whose true ratio is 1. From the
//! spread between processes follows the smallest change that an ordinary run could show.

use sprag_base::stats::{bootstrap, describe};
use sprag_model::benchmark::Benchmark;
use sprag_model::sample::Role;

use super::calibration::Calibration;
use super::calibration_kernels;
use super::campaign::{self, Brief, Campaign};
use super::plan::{Planned, Protocol, Turn, WorkerSeries};
use super::process::WorkerCommand;
use super::workload::{Class, Companion, Workload};
use super::{MeasureError, pool};

/// The suite that the kernels are named under. No suite of a `sprag.toml` can bear this name, as it begins with `_`.
pub const SUITE: &str = "_doctor";

/// Worker processes of an ordinary run, which detectable changes are stated for.
const ORDINARY_PROCESSES: u32 = 5;

/// What all workers together may take, in seconds, also where others take most of the processor.
const BUDGET: f64 = 20.0;

/// The seed of inputs and resamples.
const SEED: u64 = 123;

/// What is timed, and beside what: a twin makes a control, another kernel of the class a ratio as benchmarks have it.
const KERNELS: [(Class, Calibration, Option<Calibration>); 5] = [
    (Class::Compute, Calibration::MultiplyAdd, None),
    (Class::Cache, Calibration::Copy { bytes: 1 << 20 }, None),
    (Class::Cache, Calibration::Copy { bytes: 128 << 10 }, Some(Calibration::Copy { bytes: 1 << 20 })),
    (Class::Dram, Calibration::Copy { bytes: 8 << 20 }, None),
    (Class::Dram, Calibration::Triad { bytes: 8 << 20 }, Some(Calibration::Copy { bytes: 8 << 20 })),
];

#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    pub processes: usize,
    pub kernels: Vec<KernelNoise>,
    pub faults: Vec<String>,
}

/// The noise of one kernel; shares are of 1.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelNoise {
    pub class: Class,
    /// Word and size, such as `copy 1 MiB`.
    pub kernel: String,
    /// The median over processes of their medians, in seconds a call.
    pub seconds: f64,
    /// Interquartile range over median inside a process; the median over processes.
    pub within: Option<f64>,
    /// Coefficient of variation of the processes' medians; absent below two processes.
    pub between: Option<f64>,
    /// The share of samples that were preempted; absent where there is no clock of the thread.
    pub preempted: Option<f64>,
    /// What it is timed beside: itself for a control, else the name of another kernel.
    pub companion: String,
    /// Whether it is timed beside itself, so that the true ratio is 1.
    pub is_control: bool,
    /// Its time over that of what is timed beside it: the median over processes.
    pub ratio: Option<f64>,
    /// The 95 % interval of the ratio over processes; absent below three of them.
    pub ratio_interval: Option<(f64, f64)>,
    /// The smallest relative change of the time that two runs of five processes could show; absent below three
    /// processes.
    pub detectable_time: Option<f64>,
    pub detectable_ratio: Option<f64>,
}

pub fn workloads() -> Vec<Workload> {
    KERNELS.map(|(class, kernel, companion)| workload(class, kernel, companion)).into()
}

fn workload(class: Class, kernel: Calibration, companion: Option<Calibration>) -> Workload {
    let size = kernel.name().replace(' ', "_");
    let benchmark = Benchmark::new(SUITE, &size, &[], "reference").expect("kernels are named with plain words");
    Workload {
        benchmark,
        role: if companion.is_none() { Role::Control } else { Role::Tracked },
        class,
        threads: 1,
        work: kernel.work(),
        companion: companion.map_or(Companion::Twin, Companion::Calibration),
        limit: None,
        configurations: Vec::new(),
        tuned_with: None,
        prepare: Box::new(move |order| calibration_kernels::prepare(kernel, order.seed)),
    }
}

/// How long and how often: workers as those of an ordinary run, twice as many of them since a spread over five is a guess,
/// fewer where the time runs out; or three short ones for rough figures.
pub fn protocol(quick: bool) -> Protocol {
    let ordinary = Protocol { seed: SEED, budget_seconds: Some(BUDGET), ..Protocol::ordinary(2 * ORDINARY_PROCESSES) };
    if quick {
        Protocol { processes: 3, rounds: 4, series_seconds: 0.02, budget_seconds: None, ..ordinary }
    } else {
        ordinary
    }
}

/// Times the kernels in fresh processes; `progress` hears how many have ended.
pub fn measure(
    protocol: &Protocol,
    command: &WorkerCommand,
    progress: &mut dyn FnMut(u32),
) -> Result<Noise, MeasureError> {
    let brief = Brief { suite: SUITE, planned: planned(), protocol, command };
    match campaign::run(&brief, &|_| false, progress) {
        Ok(campaign) => Ok(noise(&campaign)),
        Err(MeasureError::Workers(fault)) => Ok(Noise { processes: 0, kernels: Vec::new(), faults: vec![fault] }),
        Err(error) => Err(error),
    }
}

fn planned() -> Vec<Planned> {
    workloads().iter().map(|one| Planned { id: one.benchmark.id(), configuration: None }).collect()
}

/// The noise of every kernel that some process has timed, and why others are missing.
fn noise(campaign: &Campaign) -> Noise {
    let kernel = |(number, (class, kernel, companion)): (usize, (Class, Calibration, Option<Calibration>))| {
        let series: Vec<&WorkerSeries> = campaign.workers.iter().filter_map(|worker| worker.get(&number)).collect();
        kernel_noise(class, kernel, companion, &series)
    };
    let broken = campaign.broken.iter().map(|(number, fault)| format!("{}: {fault}", KERNELS[*number].1.name()));
    Noise {
        processes: campaign.workers.len(),
        kernels: KERNELS.into_iter().enumerate().filter_map(kernel).collect(),
        faults: broken.chain(campaign.faults.iter().cloned()).collect(),
    }
}

fn kernel_noise(
    class: Class,
    kernel: Calibration,
    companion: Option<Calibration>,
    processes: &[&WorkerSeries],
) -> Option<KernelNoise> {
    let over_turns = |value: fn(&Turn) -> Option<f64>| -> Vec<f64> {
        let of_process =
            |one: &&WorkerSeries| describe::median(&one.turns.iter().filter_map(value).collect::<Vec<f64>>());
        processes.iter().filter_map(of_process).collect()
    };
    let times = over_turns(|turn| turn.own.median());
    let ratios = over_turns(|turn| {
        let companion = turn.twin.as_ref().or_else(|| turn.calibrations.first().map(|(_, block)| block))?;
        Some(turn.own.median()? / companion.median()?)
    });
    let within: Vec<f64> = processes.iter().filter_map(|one| within(one)).collect();
    // What five processes show follows from what there were by the square root of their number.
    let ordinary = (times.len() as f64 / f64::from(ORDINARY_PROCESSES)).sqrt();
    let detectable = |values: &[f64]| bootstrap::detectable_effect(values, SEED).map(|effect| effect * ordinary);
    Some(KernelNoise {
        class,
        kernel: kernel.name(),
        seconds: describe::median(&times)?,
        within: describe::median(&within),
        between: describe::variation(&times),
        preempted: pool::preempted_share(processes),
        companion: companion.map_or_else(|| "itself".to_owned(), Calibration::name),
        is_control: companion.is_none(),
        ratio: describe::median(&ratios),
        ratio_interval: bootstrap::median_interval(&ratios),
        detectable_time: detectable(&times),
        detectable_ratio: detectable(&ratios),
    })
}

/// The spread of the samples that count of one process, as a share.
fn within(process: &WorkerSeries) -> Option<f64> {
    let samples: Vec<f64> = process.turns.iter().flat_map(|turn| turn.own.clean()).collect();
    describe::relative_quartile_range(&samples)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::block::Block;
    use crate::parity::unchecked;
    use crate::plan::{PLAN_VERSION, Plan};
    use crate::worker;
    use sprag_model::sample::Sample;

    fn process(own: &[f64], twin: &[f64]) -> WorkerSeries {
        let block = |walls: &[f64]| {
            let sample = |wall: &f64| Sample { wall: *wall, cpu: Some(*wall), preempted: false };
            Block { samples: walls.iter().map(sample).collect(), unsettled: 1, device: None }
        };
        let turn = Turn { own: block(own), twin: Some(block(twin)), calibrations: Vec::new() };
        let id = workloads()[0].benchmark.id();
        WorkerSeries {
            id,
            parity: unchecked(),
            failure: None,
            calls: 1,
            peak_bytes: None,
            pool_bytes: None,
            turns: vec![turn],
        }
    }

    #[test]
    fn figures_are_medians_over_processes() {
        let noise_of = |processes: &[&WorkerSeries]| {
            kernel_noise(Class::Compute, Calibration::MultiplyAdd, None, processes).expect("it was timed")
        };
        let twin = [9.0, 2.0, 2.0, 2.0];
        let processes =
            [[9.0, 1.0, 2.0, 3.0], [9.0, 2.0, 2.0, 2.0], [9.0, 4.0, 4.0, 4.0]].map(|own| process(&own, &twin));
        let noise = noise_of(&processes.iter().collect::<Vec<_>>());
        assert_eq!((noise.seconds, noise.within, noise.preempted), (2.0, Some(0.0), Some(0.0)));
        assert_eq!((noise.ratio, noise.is_control, noise.companion.as_str()), (Some(1.0), true, "itself"));
        let between = noise.between.expect("there are three processes");
        assert!((between - (4.0_f64 / 3.0).sqrt() / (8.0 / 3.0)).abs() < 1e-12, "{between}");
        let (low, high) = noise.ratio_interval.expect("there are three processes");
        assert!(low < 1.0 && high > 2.0 && noise.detectable_time.is_some_and(|effect| effect > 0.1));
        let alone = noise_of(&[&processes[0]]);
        assert_eq!((alone.between, alone.ratio_interval, alone.detectable_time), (None, None, None));
        assert_eq!(kernel_noise(Class::Compute, Calibration::MultiplyAdd, None, &[]), None);
    }

    #[test]
    fn a_worker_can_follow_the_plan_of_every_kernel() {
        let protocol = Protocol { rounds: 1, series_seconds: 1e-6, sample_seconds: 1e-6, ..protocol(true) };
        let plan = Plan { version: PLAN_VERSION, suite: SUITE.to_owned(), benchmarks: planned(), protocol, worker: 0 };
        let report = worker::follow(&plan, &workloads(), &mut |_| Ok(())).expect("the plan can be followed");
        let campaign = Campaign {
            workers: vec![report.series.into_iter().enumerate().collect()],
            broken: BTreeMap::from([(1, "worker 2 crashed in it".to_owned())]),
            faults: vec!["worker 3: gone".to_owned()],
            pinned: Vec::new(),
            stop: campaign::StopReason::Processes,
            seconds: 0.0,
        };
        let noise = noise(&campaign);
        assert_eq!((noise.processes, noise.kernels.len()), (1, KERNELS.len()));
        assert_eq!(noise.faults, ["copy 1 MiB: worker 2 crashed in it", "worker 3: gone"]);
        assert!(noise.kernels.iter().all(|one| one.seconds > 0.0 && one.ratio.is_some_and(|ratio| ratio > 0.0)));
    }

    #[test]
    fn workers_that_die_are_faults() {
        let command = WorkerCommand { program: "/bin/sh".into(), arguments: vec!["-c".into(), "exit 3".into()] };
        let noise = measure(&protocol(true), &command, &mut |_| {}).expect("there is a shell");
        assert_eq!((noise.processes, noise.kernels.len()), (0, 0));
        assert!(noise.faults[0].contains("worker 1: it ended with exit code 3"), "{:?}", noise.faults);
    }
}
