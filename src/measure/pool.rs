//! From what workers observed to measurements: medians of block medians a worker, medians over workers a run.

use std::collections::BTreeMap;

use super::block::Block;
use super::calibration::Calibration;
use super::campaign::Campaign;
use super::estimate;
use super::gpu::throttle::BlockState;
use super::plan::{Planned, Turn, WorkerSeries};
use super::workload::{Companion, Workload};
use sprag_base::stats::describe;
use sprag_model::benchmark::{Benchmark, BenchmarkError};
use sprag_model::metric::Metric;
use sprag_model::sample::{CALIBRATION, Estimate, Measurement, Role};

pub fn measurements(workloads: &[&Workload], planned: &[Planned], campaign: &Campaign, seed: u64) -> Vec<Measurement> {
    workloads
        .iter()
        .enumerate()
        .map(|(number, workload)| {
            let series: Vec<&WorkerSeries> = campaign.workers.iter().filter_map(|worker| worker.get(&number)).collect();
            let configuration = planned.get(number).and_then(|one| one.configuration.as_deref());
            let broken = campaign.broken.get(&number).cloned();
            measurement(workload, configuration, &series, broken, seed)
        })
        .collect()
}

pub fn calibrations(suite: &str, campaign: &Campaign, seed: u64) -> Result<Vec<Measurement>, BenchmarkError> {
    let mut found = Vec::new();
    for (kernel, workers) in calibration_blocks(campaign, &|_, _| true) {
        let medians: Vec<f64> = workers.iter().filter_map(|blocks| median_of_blocks(blocks)).collect();
        let samples: Vec<f64> = workers.iter().flatten().flat_map(|block| block.clean()).collect();
        let name = format!("calibration_{}", kernel.word());
        let benchmark = Benchmark::new(suite, &name, &kernel.params(), CALIBRATION)?;
        let mut measurement = empty(benchmark, Role::Reported);
        match estimate::over_processes(Metric::time(), &medians, 0, seed) {
            None => measurement.failure = Some("no worker timed it".to_owned()),
            Some(time) => {
                let time = estimate::with_samples(time, &samples);
                let (metric, work) = kernel.work();
                measurement.estimates = vec![estimate::throughput(metric, work, &time)];
                measurement.estimates.insert(0, time);
            }
        }
        found.push(measurement);
    }
    Ok(found)
}

/// How far the slowest half of a worker's rounds lies above the fastest half of any, as a share of the time of a
/// calibration kernel, by kernel.
pub fn calibration_movement(campaign: &Campaign) -> BTreeMap<Calibration, f64> {
    let movement = |halves: Vec<Vec<&Block>>| {
        let medians: Vec<f64> = halves.iter().filter_map(|blocks| median_of_blocks(blocks)).collect();
        let slowest = medians.iter().copied().fold(0.0, f64::max);
        let fastest = medians.iter().copied().fold(f64::INFINITY, f64::min);
        if medians.is_empty() { 0.0 } else { slowest / fastest - 1.0 }
    };
    let mut found: BTreeMap<Calibration, Vec<Vec<&Block>>> = BTreeMap::new();
    for late in [false, true] {
        let half = |series: &&WorkerSeries| series.turns.len().div_ceil(2);
        let is_of_half = |place: usize, series: &WorkerSeries| (place >= half(&series)) == late;
        for (kernel, halves) in calibration_blocks(campaign, &is_of_half) {
            found.entry(kernel).or_default().extend(halves);
        }
    }
    found.into_iter().map(|(kernel, halves)| (kernel, movement(halves))).collect()
}

/// The share of all settled samples that were preempted; absent where none bears a thread clock.
pub fn preempted_share(series: &[&WorkerSeries]) -> Option<f64> {
    let samples = || series.iter().flat_map(|one| &one.turns).flat_map(|turn| turn.own.settled());
    let clocked = samples().filter(|sample| sample.cpu.is_some()).count();
    (clocked > 0).then(|| samples().filter(|sample| sample.preempted).count() as f64 / clocked as f64)
}

/// The ratio of one worker: the median over its turns of own block over the block beside it.
pub fn worker_ratio(workload: &Workload, series: &WorkerSeries) -> Option<f64> {
    let denominator = |turn: &Turn| match workload.companion {
        Companion::Twin => turn.twin.as_ref().and_then(Block::median),
        Companion::Calibration(kernel) => calibration(turn, kernel),
        Companion::Nothing => None,
    };
    describe::median(
        &series.turns.iter().filter_map(|turn| Some(turn.own.median()? / denominator(turn)?)).collect::<Vec<_>>(),
    )
}

fn measurement(
    workload: &Workload,
    configuration: Option<&str>,
    workers: &[&WorkerSeries],
    broken: Option<String>,
    seed: u64,
) -> Measurement {
    let failed = workers.iter().find(|worker| worker.failure.is_some());
    let mut measurement = empty(workload.benchmark.clone(), workload.role);
    if let Some(told) = failed.or(workers.first()) {
        measurement.parity = told.parity.clone();
    }
    measurement.failure = broken.or_else(|| failed.and_then(|worker| worker.failure.clone()));
    if measurement.failure.is_some() {
        return measurement;
    }
    let walls = || workers.iter().flat_map(|one| &one.turns).flat_map(|turn| &turn.own.samples).map(|one| one.wall);
    if let Some(bad) = walls().find(|wall| !(wall.is_finite() && *wall > 0.0)) {
        measurement.failure = Some(format!("a sample of {bad} s is no time"));
        return measurement;
    }
    match estimates(workload, workers, seed) {
        None => measurement.failure = Some("no worker timed it".to_owned()),
        Some(estimates) => {
            measurement.estimates = estimates;
            describe_run(&mut measurement, workload, configuration, workers);
        }
    }
    measurement
}

fn estimates(workload: &Workload, workers: &[&WorkerSeries], seed: u64) -> Option<Vec<Estimate>> {
    let over = |value: &dyn Fn(&WorkerSeries) -> Option<f64>| -> Vec<f64> {
        workers.iter().filter_map(|worker| value(worker)).collect()
    };
    let own = |worker: &WorkerSeries| median_of_blocks(&worker.turns.iter().map(|turn| &turn.own).collect::<Vec<_>>());
    let samples: Vec<f64> = workers.iter().flat_map(|one| &one.turns).flat_map(|turn| turn.own.clean()).collect();
    let time = estimate::over_processes(Metric::time(), &over(&own), 0, seed)?;
    let time = estimate::with_samples(time, &samples);
    let mut estimates = vec![estimate::throughput(workload.work.0, workload.work.1, &time)];
    let turns = workers.iter().map(|worker| worker.turns.len()).sum();
    let ratios = over(&|worker| worker_ratio(workload, worker));
    estimates.extend(estimate::over_processes(Metric::ratio(), &ratios, turns, seed));
    let shares = over(&|worker| limit_share(workload, worker));
    estimates.extend(estimate::over_processes(Metric::limit_share(), &shares, turns, seed));
    let above = over(&above_floor);
    // What takes no longer than an empty launch has no time of its own to record.
    if above.iter().all(|seconds| *seconds > 0.0) {
        estimates.extend(estimate::over_processes(Metric::above_floor(), &above, turns, seed));
    }
    let peaks = over(&|worker| worker.peak_bytes.map(|bytes| bytes as f64));
    estimates.extend(estimate::over_processes(Metric::peak_memory(), &peaks, peaks.len(), seed));
    estimates.insert(0, time);
    Some(estimates)
}

/// The share of the limit that one worker saw: the least time for the bytes that must be moved, over the time taken.
fn limit_share(workload: &Workload, series: &WorkerSeries) -> Option<f64> {
    let limit = workload.limit?;
    let shares = series.turns.iter().filter_map(|turn| {
        let least = calibration(turn, limit.kernel)? * limit.bytes / limit.kernel.bytes_moved();
        Some(least / turn.own.median()?)
    });
    describe::median(&shares.collect::<Vec<f64>>())
}

/// The time of one worker beyond that of an empty launch, the median over turns; `None` where no launch is timed beside.
fn above_floor(series: &WorkerSeries) -> Option<f64> {
    let floor = |turn: &Turn| {
        let is_launch = |kernel: &Calibration| matches!(kernel, Calibration::DeviceLaunch { .. });
        turn.calibrations.iter().find(|(kernel, _)| is_launch(kernel))?.1.median()
    };
    let above = series.turns.iter().filter_map(|turn| Some(turn.own.median()? - floor(turn)?));
    describe::median(&above.collect::<Vec<f64>>())
}

fn describe_run(
    measurement: &mut Measurement,
    workload: &Workload,
    configuration: Option<&str>,
    workers: &[&WorkerSeries],
) {
    let mut put = |name: &str, value: String| measurement.attributes.insert(name.to_owned(), value);
    put("class", workload.class.word().to_owned());
    let calls: Vec<String> = workers.iter().map(|worker| worker.calls.to_string()).collect();
    put("calls_per_sample", calls.join(" "));
    match workload.companion {
        Companion::Calibration(kernel) => put("ratio_to", kernel.name()),
        Companion::Twin => put("ratio_to", "itself on other memory".to_owned()),
        Companion::Nothing => None,
    };
    if let Some(limit) = workload.limit {
        put("limit", format!("{} for {} bytes", limit.kernel.name(), limit.bytes));
    }
    if let Some(share) = preempted_share(workers) {
        put("preempted_share", format!("{share:.4}"));
    }
    describe_device(&mut put, workers);
    let configuration = configuration.or(workload.configurations.first().map(String::as_str));
    if let Some(configuration) = configuration {
        put("configuration", configuration.to_owned());
    }
}

/// How the device was: its clock and its warmth over the benchmark's own blocks, and how many it was held back in of these
/// and of those beside them.
fn describe_device(put: &mut dyn FnMut(&str, String) -> Option<String>, workers: &[&WorkerSeries]) {
    let blocks = workers.iter().flat_map(|worker| &worker.turns).filter_map(|turn| turn.own.device);
    let states: Vec<BlockState> = blocks.collect();
    if states.is_empty() {
        return;
    }
    let median = |value: &dyn Fn(&BlockState) -> Option<f64>| {
        describe::median(&states.iter().filter_map(value).collect::<Vec<f64>>())
    };
    let tell = |value: Option<f64>, unit: &str| value.map(|value| format!("{value:.0} {unit}"));
    let found = [
        ("gpu_clock", tell(median(&|state| state.clock), "MHz")),
        ("gpu_memory_clock", tell(median(&|state| state.memory_clock.map(f64::from)), "MHz")),
        ("gpu_temperature", tell(median(&|state| state.temperature.map(f64::from)), "C")),
        ("gpu_power", tell(median(&|state| state.power.map(|milliwatts| f64::from(milliwatts) * 1e-3)), "W")),
    ];
    for (name, value) in found {
        if let Some(value) = value {
            put(name, value);
        }
    }
    let all = || workers.iter().flat_map(|worker| &worker.turns).flat_map(Turn::device_states);
    let throttled = all().filter(|state| state.throttled).count();
    if throttled > 0 {
        put("throttled_blocks", format!("{throttled} of {}", all().count()));
    }
    let retries: u32 = all().map(|state| state.retries).sum();
    if retries > 0 {
        put("throttle_retries", retries.to_string());
    }
}

fn empty(benchmark: Benchmark, role: Role) -> Measurement {
    Measurement {
        benchmark: benchmark.into(),
        role,
        attributes: BTreeMap::new(),
        parity: crate::parity::unchecked(),
        estimates: Vec::new(),
        failure: None,
    }
}

fn calibration(turn: &Turn, kernel: Calibration) -> Option<f64> {
    turn.calibrations.iter().find(|(one, _)| *one == kernel)?.1.median()
}

fn median_of_blocks(blocks: &[&Block]) -> Option<f64> {
    describe::median(&blocks.iter().filter_map(|block| block.median()).collect::<Vec<f64>>())
}

/// The blocks of each calibration kernel, a list a worker, of the turns that are wanted by place and series.
fn calibration_blocks<'a>(
    campaign: &'a Campaign,
    is_wanted: &dyn Fn(usize, &WorkerSeries) -> bool,
) -> BTreeMap<Calibration, Vec<Vec<&'a Block>>> {
    let mut found: BTreeMap<Calibration, Vec<Vec<&Block>>> = BTreeMap::new();
    for worker in &campaign.workers {
        let mut of_worker: BTreeMap<Calibration, Vec<&Block>> = BTreeMap::new();
        for series in worker.values() {
            let wanted = series.turns.iter().enumerate().filter(|(place, _)| is_wanted(*place, series));
            for (kernel, block) in wanted.flat_map(|(_, turn)| &turn.calibrations) {
                of_worker.entry(*kernel).or_default().push(block);
            }
        }
        for (kernel, blocks) in of_worker {
            found.entry(kernel).or_default().push(blocks);
        }
    }
    found
}

#[cfg(test)]
mod tests;
