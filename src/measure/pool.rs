//! From what workers observed to measurements: medians of block medians a worker, medians over workers a run.

use std::collections::BTreeMap;

use crate::block::Block;
use crate::campaign::Campaign;
use crate::gpu::throttle::BlockState;
use crate::plan::{Planned, Turn, WorkerSeries};
use crate::workload::{Calibrator, Companion, Workload};
use sprag_base::number;
use sprag_base::stats::{bootstrap, describe};
use sprag_model::sample::CALIBRATION;
use sprag_model::{Benchmark, BenchmarkError, Estimate, Measurement, Metric, Role};

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
    let mut all = Vec::new();
    for (kernel, workers) in calibration_blocks(campaign, &|_, _| true) {
        let medians: Vec<f64> = workers.iter().filter_map(|blocks| median_of_blocks(blocks)).collect();
        let samples: Vec<f64> = workers.iter().flatten().flat_map(|block| block.clean()).collect();
        let name = format!("calibration_{}", kernel.word());
        let benchmark = Benchmark::new(suite, &name, &kernel.params(), CALIBRATION)?;
        let mut measurement = empty(benchmark, Role::Reported);
        match over_processes(Metric::time(), &medians, 0, seed) {
            None => measurement.failure = Some("no worker timed it".to_owned()),
            Some(time) => {
                let time = with_samples(time, &samples);
                let (metric, work) = kernel.work();
                measurement.estimates = vec![throughput(metric, work, &time)];
                measurement.estimates.insert(0, time);
            }
        }
        all.push(measurement);
    }
    Ok(all)
}

/// By how much the slowest half of a worker's rounds exceeds the fastest half of any, as a share, by calibration kernel.
pub fn calibration_movement(campaign: &Campaign) -> BTreeMap<Calibrator, f64> {
    let mut halves: BTreeMap<Calibrator, Vec<f64>> = BTreeMap::new();
    for late in [false, true] {
        let is_of_half = |place: usize, series: &WorkerSeries| (place >= series.turns.len().div_ceil(2)) == late;
        for (kernel, workers) in calibration_blocks(campaign, &is_of_half) {
            halves.entry(kernel).or_default().extend(workers.iter().filter_map(|blocks| median_of_blocks(blocks)));
        }
    }
    let movement = |medians: Vec<f64>| {
        let slowest = medians.iter().copied().fold(0.0, f64::max);
        let fastest = medians.iter().copied().fold(f64::INFINITY, f64::min);
        if medians.is_empty() { 0.0 } else { slowest / fastest - 1.0 }
    };
    halves.into_iter().map(|(kernel, medians)| (kernel, movement(medians))).collect()
}

/// The share of all settled samples that were preempted; absent where none has a thread clock.
pub fn preempted_share(series: &[&WorkerSeries]) -> Option<f64> {
    let samples = || series.iter().flat_map(|one| &one.turns).flat_map(|turn| turn.own.settled());
    let clocked = samples().filter(|sample| sample.cpu.is_some()).count();
    (clocked > 0).then(|| samples().filter(|sample| sample.preempted).count() as f64 / clocked as f64)
}

/// The ratio of one worker: the median over its turns of its own block over its companion's.
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
    if let Some(worker) = failed.or(workers.first()) {
        measurement.parity = worker.parity.clone();
    }
    measurement.failure = broken.or_else(|| failed.and_then(|worker| worker.failure.clone()));
    if measurement.failure.is_some() {
        return measurement;
    }
    let walls = || workers.iter().flat_map(|one| &one.turns).flat_map(|turn| &turn.own.samples).map(|one| one.wall);
    if let Some(bad) = walls().find(|wall| !(wall.is_finite() && *wall > 0.0)) {
        measurement.failure = Some(format!("a sample of {bad} s is not a time"));
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
    let time = over_processes(Metric::time(), &over(&own), 0, seed)?;
    let time = with_samples(time, &samples);
    let mut estimates = vec![throughput(workload.work.0, workload.work.1, &time)];
    let turns = workers.iter().map(|worker| worker.turns.len()).sum();
    let ratios = over(&|worker| worker_ratio(workload, worker));
    estimates.extend(over_processes(Metric::ratio(), &ratios, turns, seed));
    let shares = over(&|worker| limit_share(workload, worker));
    estimates.extend(over_processes(Metric::limit_share(), &shares, turns, seed));
    let above = over(&above_floor);
    // A time no longer than that of an empty launch has no rest to record.
    if above.iter().all(|seconds| *seconds > 0.0) {
        estimates.extend(over_processes(Metric::above_floor(), &above, turns, seed));
    }
    let peaks = over(&|worker| worker.peak_bytes.map(|bytes| bytes as f64));
    estimates.extend(over_processes(Metric::peak_memory(), &peaks, peaks.len(), seed));
    estimates.insert(0, time);
    Some(estimates)
}

/// The least time for the bytes that must be moved, over the time of one worker.
fn limit_share(workload: &Workload, series: &WorkerSeries) -> Option<f64> {
    let limit = workload.limit?;
    let shares = series.turns.iter().filter_map(|turn| {
        let least = calibration(turn, limit.kernel)? * limit.bytes / limit.kernel.bytes_moved();
        Some(least / turn.own.median()?)
    });
    describe::median(&shares.collect::<Vec<f64>>())
}

/// The time of one worker beyond that of an empty launch, the median over turns; `None` without launches.
fn above_floor(series: &WorkerSeries) -> Option<f64> {
    let floor = |turn: &Turn| {
        let is_launch = |kernel: &Calibrator| matches!(kernel, Calibrator::DeviceLaunch { .. });
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

/// The state of the device in the benchmark's own blocks, and throttling in these and their companions.
fn describe_device(put: &mut dyn FnMut(&str, String) -> Option<String>, workers: &[&WorkerSeries]) {
    let blocks = workers.iter().flat_map(|worker| &worker.turns).filter_map(|turn| turn.own.device);
    let states: Vec<BlockState> = blocks.collect();
    if states.is_empty() {
        return;
    }
    let median = |value: &dyn Fn(&BlockState) -> Option<f64>| {
        describe::median(&states.iter().filter_map(value).collect::<Vec<f64>>())
    };
    let text = |value: Option<f64>, unit: &str| value.map(|value| format!("{value:.0} {unit}"));
    let medians = [
        ("gpu_clock", text(median(&|state| state.clock), "MHz")),
        ("gpu_memory_clock", text(median(&|state| state.memory_clock.map(f64::from)), "MHz")),
        ("gpu_temperature", text(median(&|state| state.temperature.map(f64::from)), "C")),
        ("gpu_power", text(median(&|state| state.power.map(|milliwatts| f64::from(milliwatts) * 1e-3)), "W")),
    ];
    for (name, value) in medians {
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

pub(crate) fn empty(benchmark: Benchmark, role: Role) -> Measurement {
    Measurement {
        benchmark: benchmark.into(),
        role,
        attributes: BTreeMap::new(),
        parity: crate::parity::unchecked(),
        estimates: Vec::new(),
        failure: None,
    }
}

fn calibration(turn: &Turn, kernel: Calibrator) -> Option<f64> {
    turn.calibrations.iter().find(|(one, _)| *one == kernel)?.1.median()
}

fn median_of_blocks(blocks: &[&Block]) -> Option<f64> {
    describe::median(&blocks.iter().filter_map(|block| block.median()).collect::<Vec<f64>>())
}

/// The blocks of each calibration kernel, a list a worker, of the turns that `is_wanted` accepts by place and series.
fn calibration_blocks<'a>(
    campaign: &'a Campaign,
    is_wanted: &dyn Fn(usize, &WorkerSeries) -> bool,
) -> BTreeMap<Calibrator, Vec<Vec<&'a Block>>> {
    let mut all: BTreeMap<Calibrator, Vec<Vec<&Block>>> = BTreeMap::new();
    for worker in &campaign.workers {
        let mut of_worker: BTreeMap<Calibrator, Vec<&Block>> = BTreeMap::new();
        for series in worker.values() {
            let wanted = series.turns.iter().enumerate().filter(|(place, _)| is_wanted(*place, series));
            for (kernel, block) in wanted.flat_map(|(_, turn)| &turn.calibrations) {
                of_worker.entry(*kernel).or_default().push(block);
            }
        }
        for (kernel, blocks) in of_worker {
            all.entry(kernel).or_default().push(blocks);
        }
    }
    all
}

/// With fewer clean samples a 95th percentile is one of the few largest.
pub const FEWEST_FOR_P95: usize = 100;

const DIGITS: usize = 7;

/// Digits of a detectable effect, which is an estimate of a spread.
const EFFECT_DIGITS: usize = 3;

/// The estimate of one value a process from `n` samples; `None` without values.
pub fn over_processes(metric: Metric, values: &[f64], n: usize, seed: u64) -> Option<Estimate> {
    let detectable = bootstrap::detectable_effect(values, seed);
    Some(Estimate {
        workers: values.iter().map(|value| round(*value)).collect(),
        interval: bootstrap::median_interval(values).map(|(low, high)| (round(low), round(high))),
        detectable: detectable.map(|effect| number::round_significant(effect, EFFECT_DIGITS)),
        ..Estimate::new(metric, round(describe::median(values)?), n as u64)
    })
}

/// Adds median, 95th percentile and minimum of the pooled clean samples.
pub fn with_samples(estimate: Estimate, samples: &[f64]) -> Estimate {
    let p95 = if samples.len() >= FEWEST_FOR_P95 { describe::quantile(samples, 0.95) } else { None };
    Estimate {
        p50: describe::median(samples).map(round),
        p95: p95.map(round),
        min: samples.iter().copied().reduce(f64::min).map(round),
        n: samples.len() as u64,
        ..estimate
    }
}

/// Work over time. It has no 95th percentile: the 5 % slowest samples are the 5 % lowest of throughput.
pub fn throughput(metric: &str, work: f64, time: &Estimate) -> Estimate {
    let rate = |seconds: f64| round(work / seconds);
    Estimate {
        workers: time.workers.iter().map(|seconds| rate(*seconds)).collect(),
        p50: time.p50.map(rate),
        interval: time.interval.map(|(low, high)| (rate(high), rate(low))),
        detectable: time.detectable,
        ..Estimate::new(Metric::throughput(metric), rate(time.value), time.n)
    }
}

pub fn round(value: f64) -> f64 {
    number::round_significant(value, DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Limit;
    use crate::workload::example;
    use sprag_model::Sample;

    const COPY: Calibrator = Calibrator::Copy { bytes: 100 };

    fn block(walls: &[f64]) -> Block {
        let sample = |wall: &f64| Sample { wall: *wall, cpu: Some(*wall), preempted: false };
        Block { samples: walls.iter().map(sample).collect(), unsettled: 0, device: None }
    }

    /// A worker whose own blocks take `own` and whose copies take `copy`, a turn each.
    fn worker(own: &[f64], copy: &[f64]) -> WorkerSeries {
        let turn = |(own, copy): (&f64, &f64)| Turn {
            own: block(&[*own]),
            twin: Some(block(&[*own / 1.01])),
            calibrations: vec![(COPY, block(&[*copy]))],
        };
        WorkerSeries {
            parity: crate::parity::compare(&[1.0], &[1.0], 0.0),
            calls: 7,
            peak_bytes: Some(4096),
            turns: own.iter().zip(copy).map(turn).collect(),
            ..WorkerSeries::untimed("cpu/right @fast")
        }
    }

    fn suite() -> Workload {
        Workload {
            companion: Companion::Calibration(COPY),
            limit: Some(Limit { kernel: COPY, bytes: 100.0 }),
            ..example::workload("right", example::right)
        }
    }

    fn campaign(workers: Vec<WorkerSeries>) -> Campaign {
        Campaign {
            workers: workers.into_iter().map(|series| BTreeMap::from([(0, series)])).collect(),
            ..Campaign::default()
        }
    }

    fn measured(workload: &Workload, campaign: &Campaign) -> Measurement {
        measurements(&[workload], &[], campaign, 1).remove(0)
    }

    #[test]
    fn estimates_are_medians_over_workers_of_medians_over_blocks() {
        // Medians of time 2, 4, 3; of the ratio a turn: 2, 2, 3.
        let workers = vec![
            worker(&[1.0, 2.0, 9.0], &[0.5, 1.0, 1.0]),
            worker(&[4.0, 4.0, 4.0], &[2.0, 2.0, 2.0]),
            worker(&[3.0, 3.0, 30.0], &[1.0, 1.0, 10.0]),
        ];
        let result = measured(&suite(), &campaign(workers));
        let names: Vec<&str> = result.estimates.iter().map(|one| one.metric.name.as_str()).collect();
        assert_eq!(names, ["time", "tiles_per_s", "ratio", "limit_share", "peak_memory"]);
        let workers_of = |name: &str| result.estimate(name).map(|one| (one.value, one.workers.clone()));
        assert_eq!(workers_of("time"), Some((3.0, vec![2.0, 4.0, 3.0])));
        assert_eq!(workers_of("ratio"), Some((2.0, vec![2.0, 2.0, 3.0])));
        // A copy of 100 bytes moves 200, the work needs 100: half of the copy's time is the least.
        assert_eq!(workers_of("limit_share"), Some((0.25, vec![0.25, 0.25, 0.1666667])));
        assert_eq!(workers_of("peak_memory").map(|one| one.0), Some(4096.0));
        let time = &result.estimates[0];
        assert_eq!((time.p50, time.p95, time.min, time.n), (Some(4.0), None, Some(1.0), 9));
        assert_eq!(result.judged().map(|one| one.metric.name.as_str()), Some("ratio"));
        let attributes = ["ratio_to", "class", "calls_per_sample", "preempted_share"];
        assert_eq!(attributes.map(|name| &result.attributes[name][..]), ["copy 100 B", "compute", "7 7 7", "0.0000"]);
    }

    #[test]
    fn preempted_samples_are_excluded_from_every_estimate() {
        let mut one = worker(&[1.0, 1.0, 1.0], &[1.0, 1.0, 1.0]);
        for turn in &mut one.turns {
            turn.own.samples.push(Sample { wall: 100.0, cpu: Some(1.0), preempted: true });
        }
        let result = measured(&suite(), &campaign(vec![one]));
        assert_eq!((result.estimates[0].value, result.estimates[0].p50, result.estimates[0].n), (1.0, Some(1.0), 3));
        assert_eq!(result.attributes["preempted_share"], "0.5000");
    }

    #[test]
    fn a_control_is_divided_by_its_twin() {
        let control = Workload { companion: Companion::Twin, role: Role::Control, limit: None, ..suite() };
        let result = measured(&control, &campaign(vec![worker(&[1.0, 2.0], &[1.0, 1.0])]));
        assert_eq!(result.estimate("ratio").map(|one| one.value), Some(1.01));
        assert!(result.judged().is_none() && result.role == Role::Control);
    }

    #[test]
    fn failures_have_their_reasons() {
        let failure = |campaign: &Campaign| {
            let result = measured(&suite(), campaign);
            assert!(result.estimates.is_empty());
            result.failure.expect("it failed")
        };
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let reason = failure(&campaign(vec![worker(&[1.0, bad], &[1.0, 1.0])]));
            assert_eq!(reason, format!("a sample of {bad} s is not a time"));
        }
        assert_eq!(failure(&campaign(Vec::new())), "no worker timed it");
        let mut broken = campaign(vec![worker(&[1.0], &[1.0])]);
        broken.broken.insert(0, "worker 2 crashed in it".into());
        assert_eq!(failure(&broken), "worker 2 crashed in it");
        let wrong = WorkerSeries { failure: Some("parity".into()), ..worker(&[], &[]) };
        assert_eq!(failure(&campaign(vec![worker(&[1.0], &[1.0]), wrong])), "parity");
    }

    #[test]
    fn calibration_kernels_are_reported_with_their_movement() {
        let result = campaign(vec![worker(&[1.0, 1.0], &[1.0, 1.0]), worker(&[1.0], &[1.2])]);
        let kernels = calibrations("cpu", &result, 1).expect("`cpu` is a word");
        assert_eq!(kernels.len(), 1);
        assert_eq!(kernels[0].benchmark.id(), "cpu/calibration_copy{bytes=100} @calibration");
        assert_eq!((kernels[0].role, kernels[0].estimates[0].value), (Role::Reported, 1.1));
        assert_eq!(kernels[0].estimates[1].metric.name, "bytes_per_s");
        let movement = calibration_movement(&result)[&COPY];
        assert!((movement - 0.2).abs() < 1e-12, "{movement}");
    }

    #[test]
    fn intervals_need_several_processes_and_percentiles_many_samples() {
        let time = over_processes(Metric::time(), &[2.0, 4.0, 3.0], 9, 1).expect("there are processes");
        assert_eq!((time.value, &time.workers[..], time.n), (3.0, &[2.0, 4.0, 3.0][..], 9));
        let (low, high) = time.interval.expect("three processes give an interval");
        assert!(low > 0.0 && low < 2.0 && high > 4.0, "{low} {high}");
        assert!(time.detectable.is_some_and(|effect| effect > 0.1), "{time:?}");
        let rate = throughput("tiles_per_s", 10.0, &time);
        assert_eq!((rate.metric.name.as_str(), rate.value), ("tiles_per_s", 3.333333));
        assert_eq!(rate.workers, [5.0, 2.5, 3.333333]);
        assert!(rate.interval.is_some_and(|(low, high)| low <= rate.value && rate.value <= high));
        assert_eq!(over_processes(Metric::time(), &[], 0, 1), None);
        let single = over_processes(Metric::time(), &[1.0], 4, 1).expect("there is a process");
        assert_eq!((single.interval, single.detectable), (None, None));
        let samples: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(with_samples(single.clone(), &[]).p50, None);
        let few = with_samples(single.clone(), &samples[..99]);
        assert_eq!((few.p50, few.p95, few.min, few.n), (Some(50.0), None, Some(1.0), 99));
        let many = with_samples(single, &samples);
        assert_eq!((many.p50, many.p95, many.n), (Some(50.5), Some(95.05), 100));
    }
}
