//! A command suite from its build step to its measurements.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::pool::{self, Report};
use super::process::{self, CommandFault, Invocation};
use super::results::{Before, ResultPlace};
use crate::campaign::{Precision, StopReason, should_stop};
use crate::messages::TAIL;
use crate::plan::Protocol;
use crate::process::WorkerCommand;
use crate::protocol::{self, SuiteResult};
use crate::{MeasureError, padding, pinning, quality};
use sprag_model::foreign::{Output, Reported};

/// Reads what one process wrote; the fault reads after "process 1:".
pub type Reader<'a> = dyn Fn(&[Output]) -> Result<Vec<Reported>, String> + 'a;

const STANDARD_OUTPUT: &str = "standard output";

/// Lines of standard error that the reason of a failed build quotes.
pub(super) const BUILD_LINES: usize = 5;

#[derive(Clone, Debug)]
pub struct CommandSuite {
    /// The program and its arguments; not empty.
    pub command: Vec<String>,
    pub folder: PathBuf,
    pub variables: BTreeMap<String, String>,
    pub without: &'static [&'static str],
    /// A program and its arguments to run once before; empty where there is nothing to build.
    pub build: Vec<String>,
    /// How often the command is run, and within which time all in all.
    pub protocol: Protocol,
    pub time_out: Duration,
    pub build_time_out: Duration,
    /// Bytes that one process may write to each of its outputs, and to its results.
    pub most_bytes: u64,
    /// Where the command leaves its results; absent for its standard output.
    pub results: Option<ResultPlace>,
    /// How to start a guard, which ends the command where this process dies; see `super::guard`.
    pub guard: Option<WorkerCommand>,
}

pub fn build(suite: &CommandSuite) -> Result<(), MeasureError> {
    if suite.build.is_empty() {
        return Ok(());
    }
    let program = Invocation {
        command: &suite.build,
        folder: &suite.folder,
        variables: &suite.variables,
        without: suite.without,
        time_out: suite.build_time_out,
        // Compilers are talkative, and no more than the end of what they say is kept.
        most_bytes: u64::MAX,
        keep_output: false,
        keep_error: TAIL,
        pin: None,
        guard: suite.guard.as_ref(),
    };
    match process::run(&program, BUILD_LINES) {
        Ok(_) => Ok(()),
        Err(fault) => Err(MeasureError::Build(fault.text().to_owned())),
    }
}

/// Runs the command again and again, reads what each process wrote, and takes the median over processes; `progress`
/// hears how many have ended.
pub fn measure(
    suite: &CommandSuite,
    read: &Reader<'_>,
    progress: &mut dyn FnMut(u32),
) -> Result<SuiteResult, MeasureError> {
    let protocol = &suite.protocol;
    let start = Instant::now();
    let mut reports = Vec::new();
    let mut faults = Vec::new();
    let (mut stop, mut precision) = (StopReason::Processes, Precision::default());
    for process in 0..protocol.processes {
        progress(process);
        if let Some(reason) = should_stop(protocol, process, start.elapsed().as_secs_f64()) {
            stop = reason;
            break;
        }
        let is_precise = || pool::pool(&reports, protocol.seed).iter().all(|one| protocol::is_precise(one, protocol));
        if protocol.precision.is_some() && precision.check(reports.len(), is_precise) {
            stop = StopReason::Precision;
            break;
        }
        match one_process(suite, read, process) {
            Ok(series) => reports.push(Report { process: process + 1, series }),
            Err(CommandFault::Start(text)) => return Err(MeasureError::Command(text)),
            // What hangs at once would hang again, and each time costs the whole time-out.
            Err(CommandFault::TimeOut(text)) if reports.is_empty() => {
                let others = if process + 1 < protocol.processes { "; it was not tried again" } else { "" };
                return Err(MeasureError::Command(format!("{text}{others}")));
            }
            Err(fault) => faults.push((process + 1, fault.text().to_owned())),
        }
    }
    if reports.is_empty() {
        return Err(MeasureError::Command(summary(&faults)));
    }
    Ok(SuiteResult {
        measurements: pool::pool(&reports, protocol.seed),
        reasons: reasons(protocol, &reports, &faults, start.elapsed().as_secs_f64()),
        stop,
        workers: reports.len(),
    })
}

fn reasons(protocol: &Protocol, reports: &[Report], faults: &[(u32, String)], seconds: f64) -> Vec<String> {
    let mut reasons: Vec<String> = faults.iter().map(fault_text).collect();
    reasons.extend(quality::over_budget(protocol, reports.len(), seconds));
    let count = reports.len();
    reasons.extend(quality::too_few(count, "", "of the command"));
    if let Some(processor) = protocol.pin {
        let permitted = std::thread::scope(|scope| scope.spawn(|| pinning::pin(processor)).join());
        if !permitted.unwrap_or(false) {
            reasons.push(format!("the system did not allow the command to be pinned to processor {processor}"));
        }
    }
    reasons
}

fn fault_text((process, text): &(u32, String)) -> String {
    format!("process {process}: {text}")
}

/// The faults of all processes in one sentence; once, where each says the same.
fn summary(faults: &[(u32, String)]) -> String {
    match faults {
        [first, rest @ ..] if rest.iter().all(|fault| fault.1 == first.1) => first.1.clone(),
        _ => faults.iter().map(fault_text).collect::<Vec<_>>().join("; "),
    }
}

/// Runs the process of that number, from 0, and reads what it wrote.
pub(super) fn one_process(
    suite: &CommandSuite,
    read: &Reader<'_>,
    process: u32,
) -> Result<Vec<Reported>, CommandFault> {
    let mut variables = suite.variables.clone();
    let (padding, value) = padding::variable(suite.protocol.seed, process);
    variables.insert(padding.to_owned(), value);
    let program = Invocation {
        command: &suite.command,
        folder: &suite.folder,
        variables: &variables,
        without: suite.without,
        time_out: suite.time_out,
        most_bytes: suite.most_bytes,
        keep_output: suite.results.is_none(),
        keep_error: TAIL,
        pin: suite.protocol.pin,
        guard: suite.guard.as_ref(),
    };
    let before = suite.results.as_ref().map(Before::note).transpose().map_err(CommandFault::Failed)?;
    let bytes = process::run(&program, 1)?;
    let outputs = match suite.results.as_ref().zip(before) {
        None => vec![Output { name: STANDARD_OUTPUT.to_owned(), bytes }],
        Some((place, before)) => before.collect(place, suite.most_bytes).map_err(CommandFault::Failed)?,
    };
    read(&outputs).map_err(CommandFault::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::benchmark::Benchmark;
    use sprag_model::foreign::ReportedMetric;
    use sprag_model::metric::Metric;

    /// Reads each line of standard output as a time of the benchmark `a`.
    fn read(outputs: &[Output]) -> Result<Vec<Reported>, String> {
        let text = String::from_utf8_lossy(&outputs[0].bytes);
        let samples: Result<Vec<f64>, _> = text.lines().map(str::parse).collect();
        let samples = samples.map_err(|error| error.to_string())?;
        let result = Ok(vec![ReportedMetric { metric: Metric::time(), samples }]);
        let benchmark = Benchmark::new("s", "a", &[], "default").expect("the name is a word");
        Ok(vec![Reported { benchmark, result, work: Vec::new() }])
    }

    fn suite(script: &str, protocol: Protocol) -> CommandSuite {
        CommandSuite {
            command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            folder: PathBuf::from("/"),
            variables: BTreeMap::new(),
            without: &[],
            build: Vec::new(),
            protocol,
            time_out: Duration::from_secs(60),
            build_time_out: Duration::from_secs(60),
            most_bytes: 1000,
            results: None,
            guard: None,
        }
    }

    fn run(script: &str, protocol: Protocol) -> Result<SuiteResult, String> {
        measure(&suite(script, protocol), &read, &mut |_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_budget_ends_with_precision_or_with_time() {
        // Equal values have an interval without width, which two looks in a row from the fifth process on must see.
        let precise = run("echo 0.5", Protocol::within(60.0)).expect("it reports");
        assert_eq!((precise.stop, precise.workers, precise.reasons), (StopReason::Precision, 6, Vec::new()));
        // The first process takes all the time there is.
        let spent = run("sleep 1; echo 0.5", Protocol::within(1.0)).expect("it reports");
        assert_eq!((spent.stop, spent.workers), (StopReason::Budget, 1));
        assert!(
            spent.reasons.contains(&"only 1 process of the command: a confidence interval needs at least 3".to_owned())
        );
        let all = run("echo 0.5", Protocol::ordinary(4)).expect("it reports");
        assert_eq!((all.stop, all.workers), (StopReason::Processes, 4));
    }

    #[test]
    fn what_every_process_says_is_said_once() {
        let fault = |script: &str| run(script, Protocol::ordinary(2)).expect_err("it comes to nothing");
        assert_eq!(fault("exit 3"), "the command gave no result: it ended with exit code 3");
        assert_eq!(fault("echo x"), "the command gave no result: invalid float literal");
        let differing = [(1, "a".to_owned()), (2, "b".to_owned())];
        assert_eq!(summary(&differing), "process 1: a; process 2: b");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_command_is_kept_on_the_processor_that_was_asked_for() {
        let Some(processor) = pinning::allowed().last().copied() else { return };
        if !std::thread::spawn(move || pinning::pin(processor)).join().expect("the thread ends by itself") {
            return;
        }
        let script = format!("grep -q '^Cpus_allowed_list:[[:space:]]*{processor}$' /proc/self/status && echo 1");
        let protocol = Protocol { pin: Some(processor), ..Protocol::ordinary(3) };
        let result = run(&script, protocol).expect("it may run there");
        assert!(result.reasons.is_empty(), "{:?}", result.reasons);
        let absent = run("echo 1", Protocol { pin: Some(1 << 20), ..Protocol::ordinary(3) }).expect("it runs");
        assert_eq!(absent.reasons, ["the system did not allow the command to be pinned to processor 1048576"]);
    }
}
