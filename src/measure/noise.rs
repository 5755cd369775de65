//! How noisy this machine is: plain kernels of each class, timed in fresh processes as benchmarks are.
//!
//! `within` is the interquartile range of the samples of one process over their median; `between` the coefficient of
//! variation of the processes' medians; `preempted_share` the share of preempted samples. A control times the same kernel on
//! other memory, with a true ratio of 1. The spread between processes gives the smallest change that an ordinary run shows.

use crate::campaign::{self, Brief, Campaign};
use crate::doctor::findings::{ClassFitness, Fitness, KernelFindings, NoiseFindings};
use crate::plan::{Planned, Protocol, Turn, WorkerSeries};
use crate::process::WorkerCommand;
use crate::protocol::{CONTROL_SLACK, MOST_PREEMPTED};
use crate::workload::{Calibrator, Class, Companion, Workload};
use crate::{MeasureError, calibration_kernels, pool};
use sprag_base::number::{self, percent};
use sprag_base::stats::{bootstrap, describe};
use sprag_model::{Benchmark, Role};

/// The suite of the kernels. No suite of a `sprag.toml` can have this name, as it begins with `_`.
pub const SUITE: &str = "_doctor";

/// Worker processes of an ordinary run, for which detectable changes are stated.
const ORDINARY_PROCESSES: u32 = 5;

/// Seconds for all workers together.
const BUDGET: f64 = 20.0;

const SEED: u64 = 123;

/// Kernels and their companions: without one a twin makes a control, another kernel of the class a ratio as of a benchmark.
const KERNELS: [(Class, Calibrator, Option<Calibrator>); 5] = [
    (Class::Compute, Calibrator::MultiplyAdd, None),
    (Class::Cache, Calibrator::Copy { bytes: 1 << 20 }, None),
    (Class::Cache, Calibrator::Copy { bytes: 128 << 10 }, Some(Calibrator::Copy { bytes: 1 << 20 })),
    (Class::Dram, Calibrator::Copy { bytes: 8 << 20 }, None),
    (Class::Dram, Calibrator::Triad { bytes: 8 << 20 }, Some(Calibrator::Copy { bytes: 8 << 20 })),
];

/// A good class shows a change of this size, the tolerance of the gate for compute and cache kernels.
const GOOD: f64 = 0.02;

/// A usable class shows one of this size, beyond which rules by bands report a failure.
const USABLE: f64 = 0.05;

/// Digits of a figure in the document.
const DIGITS: usize = 4;

pub fn workloads() -> Vec<Workload> {
    KERNELS.map(|(class, kernel, companion)| workload(class, kernel, companion)).into()
}

fn workload(class: Class, kernel: Calibrator, companion: Option<Calibrator>) -> Workload {
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

/// Workers as of an ordinary run, but twice as many, for a better estimate of the spread; or three short ones.
pub fn protocol(quick: bool) -> Protocol {
    let ordinary = Protocol { seed: SEED, budget_seconds: Some(BUDGET), ..Protocol::ordinary(2 * ORDINARY_PROCESSES) };
    if quick {
        Protocol { processes: 3, rounds: 4, series_seconds: 0.02, budget_seconds: None, ..ordinary }
    } else {
        ordinary
    }
}

/// Times the kernels in fresh processes; `progress` receives the number of ended ones.
pub fn measure(
    protocol: &Protocol,
    command: &WorkerCommand,
    progress: &mut dyn FnMut(u32),
) -> Result<NoiseFindings, MeasureError> {
    let brief = Brief { suite: SUITE, planned: planned(), protocol, command };
    match campaign::run(&brief, &|_| false, progress) {
        Ok(campaign) => Ok(noise(&campaign)),
        Err(MeasureError::Workers(fault)) => Ok(findings(0, Vec::new(), vec![fault])),
        Err(error) => Err(error),
    }
}

fn planned() -> Vec<Planned> {
    workloads().iter().map(|one| Planned { id: one.benchmark.id(), configuration: None }).collect()
}

/// The noise of every kernel that some process has timed, and why others are missing.
fn noise(campaign: &Campaign) -> NoiseFindings {
    let kernel = |(number, (class, kernel, companion)): (usize, (Class, Calibrator, Option<Calibrator>))| {
        let series: Vec<&WorkerSeries> = campaign.workers.iter().filter_map(|worker| worker.get(&number)).collect();
        kernel_noise(class, kernel, companion, &series)
    };
    let broken = campaign.broken.iter().map(|(number, fault)| format!("{}: {fault}", KERNELS[*number].1.name()));
    let faults = broken.chain(campaign.faults.iter().cloned()).collect();
    findings(campaign.workers.len(), KERNELS.into_iter().enumerate().filter_map(kernel).collect(), faults)
}

fn findings(processes: usize, kernels: Vec<KernelFindings>, faults: Vec<String>) -> NoiseFindings {
    let classes = [Class::Compute, Class::Cache, Class::Dram].map(|class| fitness(class, &kernels)).into();
    NoiseFindings { processes, faults, classes, kernels }
}

fn kernel_noise(
    class: Class,
    kernel: Calibrator,
    companion: Option<Calibrator>,
    processes: &[&WorkerSeries],
) -> Option<KernelFindings> {
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
    // A spread over five processes follows from that over others by the square root of their number.
    let ordinary = (times.len() as f64 / f64::from(ORDINARY_PROCESSES)).sqrt();
    let detectable = |values: &[f64]| bootstrap::detectable_effect(values, SEED).map(|effect| effect * ordinary);
    let round = |value: f64| number::round_significant(value, DIGITS);
    // Ratios lie around 1, so their digits after the point count.
    let round_ratio = |value: f64| number::round_significant(value, DIGITS + 2);
    Some(KernelFindings {
        class: class.word().to_owned(),
        kernel: kernel.name(),
        time: round(describe::median(&times)?),
        within: describe::median(&within).map(round),
        between: describe::variation(&times).map(round),
        preempted_share: pool::preempted_share(processes).map(round),
        companion: companion.map_or_else(|| "itself".to_owned(), Calibrator::name),
        is_control: companion.is_none(),
        ratio: describe::median(&ratios).map(round_ratio),
        ratio_interval: bootstrap::median_interval(&ratios).map(|(low, high)| [low, high].map(round_ratio)),
        detectable_time: detectable(&times).map(round),
        detectable_ratio: detectable(&ratios).map(round),
    })
}

fn within(process: &WorkerSeries) -> Option<f64> {
    let samples: Vec<f64> = process.turns.iter().flat_map(|turn| turn.own.clean()).collect();
    describe::relative_quartile_range(&samples)
}

fn fitness(class: Class, kernels: &[KernelFindings]) -> ClassFitness {
    let verdicts: Vec<(Fitness, Option<String>)> =
        kernels.iter().filter(|kernel| kernel.class == class.word()).flat_map(judge).collect();
    ClassFitness {
        class: class.word().to_owned(),
        fitness: verdicts.iter().map(|(fitness, _)| *fitness).max().unwrap_or(Fitness::Unknown),
        reasons: verdicts.into_iter().filter_map(|(_, reason)| reason).collect(),
    }
}

fn judge(kernel: &KernelFindings) -> Vec<(Fitness, Option<String>)> {
    let name = &kernel.kernel;
    let percent = |share: f64| percent(share, 1);
    let mut verdicts = vec![match kernel.detectable_ratio {
        None => (Fitness::Unknown, Some(format!("{name}: too few processes for an interval"))),
        Some(effect) if effect <= GOOD => (Fitness::Good, None),
        Some(effect) => {
            let fitness = if effect <= USABLE { Fitness::Usable } else { Fitness::Poor };
            (fitness, Some(format!("{name}: a change of its ratio shows from {} on", percent(effect))))
        }
    }];
    let mut poor = |reason: String| verdicts.push((Fitness::Poor, Some(format!("{name}: {reason}"))));
    if let Some(share) = kernel.preempted_share.filter(|share| *share > MOST_PREEMPTED) {
        let (share, most) = (percent(share), percent(MOST_PREEMPTED));
        poor(format!("{share} of its samples were interrupted, over the limit of {most}"));
    }
    let half_width = kernel.ratio_interval.map(|[low, high]| (high - low) / 2.0);
    if let Some((ratio, half)) = kernel.ratio.zip(half_width).filter(|_| kernel.is_control)
        && (ratio - 1.0).abs() > half + CONTROL_SLACK
    {
        poor(format!("timed twice, it differs from itself by {}", percent((ratio - 1.0).abs())));
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::block::Block;
    use crate::plan::{PLAN_VERSION, Plan};
    use crate::worker;
    use sprag_model::Sample;

    use super::*;

    fn process(own: &[f64], twin: &[f64]) -> WorkerSeries {
        let block = |walls: &[f64]| {
            let sample = |wall: &f64| Sample { wall: *wall, cpu: Some(*wall), preempted: false };
            Block { samples: walls.iter().map(sample).collect(), unsettled: 1, device: None }
        };
        let turn = Turn { own: block(own), twin: Some(block(twin)), calibrations: Vec::new() };
        let id = workloads()[0].benchmark.id();
        WorkerSeries { turns: vec![turn], ..WorkerSeries::untimed(&id) }
    }

    #[test]
    fn figures_are_medians_over_processes() {
        let noise_of = |processes: &[&WorkerSeries]| {
            kernel_noise(Class::Compute, Calibrator::MultiplyAdd, None, processes).expect("it was timed")
        };
        let twin = [9.0, 2.0, 2.0, 2.0];
        let processes =
            [[9.0, 1.0, 2.0, 3.0], [9.0, 2.0, 2.0, 2.0], [9.0, 4.0, 4.0, 4.0]].map(|own| process(&own, &twin));
        let noise = noise_of(&processes.iter().collect::<Vec<_>>());
        assert_eq!((noise.time, noise.within, noise.preempted_share), (2.0, Some(0.0), Some(0.0)));
        assert_eq!((noise.ratio, noise.is_control, noise.companion.as_str()), (Some(1.0), true, "itself"));
        let between = noise.between.expect("there are three processes");
        assert_eq!(between, number::round_significant((4.0_f64 / 3.0).sqrt() / (8.0 / 3.0), DIGITS));
        let [low, high] = noise.ratio_interval.expect("there are three processes");
        assert!(low < 1.0 && high > 2.0 && noise.detectable_time.is_some_and(|effect| effect > 0.1));
        let alone = noise_of(&[&processes[0]]);
        assert_eq!((alone.between, alone.ratio_interval, alone.detectable_time), (None, None, None));
        let near = process(&[9.0, 1.000_412_3, 1.000_412_3], &[9.0, 1.0, 1.0]);
        assert_eq!((noise_of(&[&near]).ratio, noise_of(&[&near]).time), (Some(1.000_41), 1.0));
        assert_eq!(kernel_noise(Class::Compute, Calibrator::MultiplyAdd, None, &[]), None);
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
            ..Campaign::default()
        };
        let noise = noise(&campaign);
        assert_eq!((noise.processes, noise.kernels.len()), (1, KERNELS.len()));
        assert_eq!(noise.faults, ["copy 1 MiB: worker 2 crashed in it", "worker 3: gone"]);
        assert!(noise.kernels.iter().all(|one| one.time > 0.0 && one.ratio.is_some_and(|ratio| ratio > 0.0)));
    }

    #[test]
    fn workers_that_die_are_faults() {
        let command = WorkerCommand { program: "/bin/sh".into(), arguments: vec!["-c".into(), "exit 3".into()] };
        let noise = measure(&protocol(true), &command, &mut |_| {}).expect("there is a shell");
        assert_eq!((noise.processes, noise.kernels.len()), (0, 0));
        assert!(noise.faults[0].contains("worker 1: it ended with exit code 3"), "{:?}", noise.faults);
    }

    fn quiet_one(class: Class) -> KernelFindings {
        KernelFindings {
            class: class.word().to_owned(),
            kernel: "copy 1 MiB".to_owned(),
            time: 15e-6,
            within: Some(0.01),
            between: Some(0.008),
            preempted_share: Some(0.012),
            companion: "itself".to_owned(),
            is_control: true,
            ratio: Some(1.0004),
            ratio_interval: Some([0.9995, 1.0013]),
            detectable_time: Some(0.03),
            detectable_ratio: Some(0.004),
        }
    }

    #[test]
    fn the_worst_figure_decides_and_says_why() {
        let check = |kernels: &[KernelFindings], expected: Fitness, reasons: &[&str]| {
            let result = fitness(Class::Cache, kernels);
            let reasons = reasons.iter().map(|one| format!("copy 1 MiB: {one}")).collect();
            assert_eq!((result.fitness, result.reasons), (expected, reasons));
        };
        let quiet = || quiet_one(Class::Cache);
        check(&[], Fitness::Unknown, &[]);
        check(&[quiet_one(Class::Dram)], Fitness::Unknown, &[]);
        check(&[quiet()], Fitness::Good, &[]);
        let wide = KernelFindings { detectable_ratio: Some(0.031), ..quiet() };
        check(&[quiet(), wide], Fitness::Usable, &["a change of its ratio shows from 3.1 % on"]);
        let wider = KernelFindings { detectable_ratio: Some(0.2), ..quiet() };
        check(&[wider], Fitness::Poor, &["a change of its ratio shows from 20.0 % on"]);
        let preempted = KernelFindings { preempted_share: Some(0.3), ..quiet() };
        check(&[preempted], Fitness::Poor, &["30.0 % of its samples were interrupted, over the limit of 10.0 %"]);
        let off = KernelFindings { ratio: Some(1.02), ..quiet() };
        check(std::slice::from_ref(&off), Fitness::Poor, &["timed twice, it differs from itself by 2.0 %"]);
        check(&[KernelFindings { is_control: false, ..off }], Fitness::Good, &[]);
        let few = KernelFindings { detectable_ratio: None, ratio_interval: None, ..quiet() };
        check(&[few], Fitness::Unknown, &["too few processes for an interval"]);
        let result = findings(5, vec![quiet_one(Class::Compute)], vec!["x".to_owned()]);
        let words: Vec<&str> = result.classes.iter().map(|one| one.fitness.word()).collect();
        assert_eq!((words, result.faults), (vec!["good", "unknown", "unknown"], vec!["x".to_owned()]));
    }
}
