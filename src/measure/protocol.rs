//! The parent: spawns fresh worker processes one after another and turns their reports into measurements.
//!
//! The unit of replication is the process. Within a worker, the median of block medians; over workers, the median
//! of those, with a bootstrap interval over workers. Samples of one process are never treated as independent.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::model::metric::Metric;
use crate::model::sample::{Measurement, Role};
use crate::stats::describe;
use crate::stats::random::SplitMix64;

use super::plan::{PLAN_VERSION, Plan, Protocol, WorkerReport, WorkerSeries};
use super::workload::Workload;
use super::{MeasureError, estimate, worker};

/// The most random padding of a worker's environment, in bytes: its size shifts the stack, which moves results
/// (Mytkowicz and others, "Producing wrong data without doing anything obviously wrong", ASPLOS 2009).
const MOST_PADDING: usize = 4096;

/// The variable that the padding is handed over in.
const PADDING_VARIABLE: &str = "SPRAG_PADDING";

/// How to start a worker process: it reads a plan from standard input and writes a report to standard output.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// What a suite measured, and what went wrong on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteResult {
    /// One measurement a benchmark, in the order of the suite.
    pub measurements: Vec<Measurement>,
    /// Workers that gave no report, one sentence each.
    pub faults: Vec<String>,
}

/// Measures workloads in fresh worker processes; `progress` hears how many of how many have ended.
///
/// # Errors
/// When a worker cannot be started or none at all gave a report.
pub fn measure(
    suite: &str,
    workloads: &[&Workload],
    protocol: &Protocol,
    command: &WorkerCommand,
    progress: &mut dyn FnMut(u32, u32),
) -> Result<SuiteResult, MeasureError> {
    let mut reports = Vec::new();
    let mut faults = Vec::new();
    for worker in 0..protocol.processes {
        progress(worker, protocol.processes);
        match spawn(command, &plan(suite, workloads, protocol, worker))? {
            Ok(report) => reports.push(report),
            Err(fault) => faults.push(format!("worker {} of {}: {fault}", worker + 1, protocol.processes)),
        }
    }
    progress(protocol.processes, protocol.processes);
    if reports.is_empty() {
        return Err(MeasureError::Workers(faults.join("; ")));
    }
    Ok(SuiteResult { measurements: pool(workloads, &reports, protocol.seed), faults })
}

/// Measures workloads inside this process: for tests and for programs that use the library.
///
/// # Errors
/// As [`worker::follow`].
pub fn measure_in_process(
    suite: &str,
    workloads: &[Workload],
    protocol: &Protocol,
) -> Result<SuiteResult, MeasureError> {
    let selected: Vec<&Workload> = workloads.iter().collect();
    let report = worker::follow(&plan(suite, &selected, protocol, 0), workloads)?;
    Ok(SuiteResult { measurements: pool(&selected, &[report], protocol.seed), faults: Vec::new() })
}

fn plan(suite: &str, workloads: &[&Workload], protocol: &Protocol, worker: u32) -> Plan {
    Plan {
        version: PLAN_VERSION,
        suite: suite.to_owned(),
        benchmarks: workloads.iter().map(|workload| workload.benchmark.id()).collect(),
        protocol: protocol.clone(),
        worker,
    }
}

/// Runs one worker: its report, or what went wrong with it alone.
fn spawn(command: &WorkerCommand, plan: &Plan) -> Result<Result<WorkerReport, String>, MeasureError> {
    let seed = plan.protocol.seed.wrapping_add(u64::from(plan.worker)) ^ u64::from(std::process::id());
    let padding = "x".repeat(SplitMix64::new(seed).below(MOST_PADDING));
    let mut child = Command::new(&command.program)
        .args(&command.arguments)
        .env(PADDING_VARIABLE, padding)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(MeasureError::Spawn)?;
    let text = serde_json::to_string(plan).expect("a plan holds nothing that JSON cannot");
    if let Some(mut stdin) = child.stdin.take() {
        // A worker that ends before it reads breaks the pipe; its exit status then says why.
        let _ = stdin.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().map_err(MeasureError::Spawn)?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message").trim().to_owned();
        return Ok(Err(format!("{} ({last})", output.status)));
    }
    let report: WorkerReport = match serde_json::from_slice(&output.stdout) {
        Ok(report) => report,
        Err(error) => return Ok(Err(format!("its report cannot be read: {error}"))),
    };
    if report.version != PLAN_VERSION {
        return Ok(Err(format!("its report has version {}, {PLAN_VERSION} is needed", report.version)));
    }
    Ok(Ok(report))
}

fn pool(workloads: &[&Workload], reports: &[WorkerReport], seed: u64) -> Vec<Measurement> {
    let by_id: Vec<BTreeMap<&str, &WorkerSeries>> = reports
        .iter()
        .map(|report| report.series.iter().map(|series| (series.id.as_str(), series)).collect())
        .collect();
    workloads
        .iter()
        .map(|workload| {
            let id = workload.benchmark.id();
            let series: Vec<&WorkerSeries> = by_id.iter().filter_map(|map| map.get(id.as_str()).copied()).collect();
            measurement(workload, &series, seed)
        })
        .collect()
}

fn measurement(workload: &Workload, workers: &[&WorkerSeries], seed: u64) -> Measurement {
    let failed = workers.iter().find(|worker| worker.failure.is_some());
    let told = failed.or(workers.first());
    let mut measurement = Measurement {
        benchmark: workload.benchmark.clone(),
        role: Role::Tracked,
        attributes: BTreeMap::new(),
        parity: told.map_or_else(unchecked, |worker| worker.parity.clone()),
        estimates: Vec::new(),
        failure: failed.and_then(|worker| worker.failure.clone()),
    };
    if measurement.failure.is_some() {
        return measurement;
    }
    let medians: Vec<f64> = workers.iter().filter_map(|worker| describe::median(&worker.blocks)).collect();
    let samples: Vec<f64> = workers.iter().flat_map(|worker| worker.samples.iter().copied()).collect();
    if let Some(bad) = samples.iter().find(|sample| !(sample.is_finite() && **sample > 0.0)) {
        measurement.failure = Some(format!("a sample of {bad} s is no time"));
        return measurement;
    }
    match estimate::over_processes(Metric::time(), &medians, samples.len(), seed) {
        None => measurement.failure = Some("no worker timed it".to_owned()),
        Some(time) => {
            let time = estimate::with_samples(time, &samples);
            let throughput = estimate::throughput(workload.work.0, workload.work.1, &time);
            measurement.estimates = vec![time, throughput];
            let calls: Vec<String> = workers.iter().map(|worker| worker.calls.to_string()).collect();
            measurement.attributes.insert("calls_per_sample".to_owned(), calls.join(" "));
        }
    }
    measurement
}

fn unchecked() -> crate::model::benchmark::Parity {
    let status = crate::model::benchmark::ParityStatus::Unchecked;
    crate::model::benchmark::Parity { status, max_abs_error: None, tolerance: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::workload::{self, Prepared};
    use crate::model::benchmark::Benchmark;

    fn suite() -> Vec<Workload> {
        vec![Workload {
            benchmark: Benchmark::new("cpu", "spin", &[], "fast").expect("the name is a word"),
            work: ("tiles_per_s", 10.0),
            prepare: Box::new(|_| {
                let mut sum = 0_u64;
                let call = move || sum = std::hint::black_box(sum.wrapping_mul(3).wrapping_add(1));
                Ok(Prepared { parity: workload::compare(&[1.0], &[1.0], 0.0), call: Box::new(call) })
            }),
        }]
    }

    fn series(blocks: &[f64]) -> WorkerSeries {
        WorkerSeries {
            id: "cpu/spin @fast".into(),
            parity: workload::compare(&[1.0], &[1.0], 0.0),
            failure: None,
            calls: 7,
            blocks: blocks.to_vec(),
            samples: blocks.to_vec(),
        }
    }

    #[test]
    fn the_tracked_number_is_the_median_over_workers() {
        let suite = suite();
        let reports: Vec<WorkerReport> = [[1.0, 2.0, 9.0], [4.0, 4.0, 4.0], [3.0, 3.0, 30.0]]
            .iter()
            .map(|blocks| WorkerReport { version: PLAN_VERSION, series: vec![series(blocks)] })
            .collect();
        let workloads: Vec<&Workload> = suite.iter().collect();
        let measurements = pool(&workloads, &reports, 1);
        let time = &measurements[0].estimates[0];
        assert_eq!((time.value, &time.workers[..], time.n), (3.0, &[2.0, 4.0, 3.0][..], 9));
        let (low, high) = time.interval.expect("three workers give an interval");
        assert!((2.0..=3.0).contains(&low) && (3.0..=4.0).contains(&high));
        assert_eq!(time.p95, None);
        let rate = &measurements[0].estimates[1];
        assert_eq!((rate.metric.name.as_str(), rate.value), ("tiles_per_s", 3.333333));
        assert_eq!(rate.workers, [5.0, 2.5, 3.333333]);
        assert!(rate.interval.is_some_and(|(low, high)| low <= rate.value && rate.value <= high));
    }

    #[test]
    fn a_sample_that_is_no_time_fails_the_benchmark() {
        let suite = suite();
        let mut bad = series(&[1.0]);
        bad.samples = vec![1.0, 0.0];
        let measured = measurement(&suite[0], &[&bad], 1);
        assert_eq!(measured.failure.as_deref(), Some("a sample of 0 s is no time"));
        assert!(measured.estimates.is_empty());
    }

    #[test]
    fn a_worker_that_dies_or_babbles_is_a_fault() {
        let command =
            |script: &str| WorkerCommand { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] };
        let run = |script: &str| {
            let protocol = Protocol { processes: 2, ..Protocol::quick() };
            let suite = suite();
            let workloads: Vec<&Workload> = suite.iter().collect();
            measure("cpu", &workloads, &protocol, &command(script), &mut |_, _| {})
                .expect_err("no worker gives a report")
                .to_string()
        };
        let died = run("echo out of luck >&2; exit 3");
        assert!(died.contains("worker 1 of 2: exit status: 3 (out of luck)"), "{died}");
        assert!(run("echo hello").contains("its report cannot be read"));
        assert!(run("echo '{\"version\":9,\"series\":[]}'").contains("its report has version 9"));
        assert!(run("kill -9 $$").contains("signal: 9"));
        let missing = WorkerCommand { program: "/nonexistent/sprag".into(), arguments: Vec::new() };
        let spawned = measure("cpu", &[&suite()[0]], &Protocol::quick(), &missing, &mut |_, _| {});
        assert!(matches!(spawned, Err(MeasureError::Spawn(_))));
    }

    #[test]
    fn the_library_measures_in_process() {
        let protocol = Protocol { rounds: 3, block_samples: 4, sample_seconds: 1e-6, ..Protocol::quick() };
        let result = measure_in_process("cpu", &suite(), &protocol).expect("the suite can be measured");
        let time = result.measurements[0].estimate("time").expect("it was timed");
        assert!(time.value > 0.0 && time.n == 9 && time.interval.is_none());
    }
}
