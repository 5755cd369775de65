//! A command suite from its build step to its measurements.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::campaign::{Pace, StopReason};
use crate::command::{self, CommandFault, Invocation};
use crate::plan::Protocol;
use crate::process::{WorkerCommand, padding_variable};
use crate::protocol::{self, SuiteResult};
use crate::{MeasureError, pinning, pool};
use sprag_base::files::open;
use sprag_base::glob;
use sprag_base::stats::describe;
use sprag_formats::{OutputFormat, SIDECAR};
use sprag_model::foreign::{Output, Reported, ReportedMetric};
use sprag_model::metric::TIME;
use sprag_model::{Benchmark, Better, Estimate, Measurement, Metric, Role};

/// Reads the output of one process; an error follows after "process 1:".
pub type OutputReader<'a> = dyn Fn(&[Output]) -> Result<Vec<Reported>, String> + 'a;

const STANDARD_OUTPUT: &str = "standard output";

/// Quoted lines of standard error of a failed build.
pub(super) const BUILD_LINES: usize = 5;

#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// Not empty; run without a shell.
    pub command: Vec<String>,
    /// Relative to the root of the project.
    pub folder: Option<PathBuf>,
    pub variables: BTreeMap<String, String>,
    /// The variables that it gets besides those of toolchains; absent where it gets the whole environment.
    pub passed: Option<Vec<String>>,
    /// Run once before; empty where there is nothing to build.
    pub build: Vec<String>,
    pub time_out: Duration,
    pub build_time_out: Duration,
    /// Nothing goes on after this, whatever the time-outs; absent where the time is not limited.
    pub until: Option<Instant>,
    /// For each output of a process.
    pub most_bytes: u64,
    pub format: OutputFormat,
    /// A file, a folder, or a pattern of files; standard output where absent.
    pub output: Option<PathBuf>,
    /// The benchmark of a command that is timed itself, from start to end; what it writes is ignored.
    pub timed: Option<Benchmark>,
}

/// A command in a tree of files.
#[derive(Clone, Debug)]
pub struct CommandSuite {
    pub settings: CommandSettings,
    pub folder: PathBuf,
    pub without: &'static [&'static str],
    pub protocol: Protocol,
    /// Standard output where absent.
    pub results: Option<ResultPlace>,
    /// Starts a guard, which ends the command where this process dies.
    pub guard: Option<WorkerCommand>,
}

impl CommandSuite {
    /// What is left of a time-out.
    fn left(&self, time_out: Duration) -> Duration {
        self.settings.until.map_or(time_out, |until| time_out.min(until.saturating_duration_since(Instant::now())))
    }

    pub(super) fn is_over(&self) -> bool {
        self.left(Duration::MAX).is_zero()
    }

    /// The fault with the setting of the limit that was exceeded; a budget is not a setting, and `sprag bench` has none.
    pub(super) fn with_setting(&self, fault: &CommandFault, setting: &str) -> String {
        match fault {
            CommandFault::TimeOut(text) if !self.is_over() && self.settings.timed.is_none() => {
                format!("{text}; `{setting}` sets this limit")
            }
            fault => fault.text().to_owned(),
        }
    }
}

pub fn build(suite: &CommandSuite) -> Result<(), MeasureError> {
    let settings = &suite.settings;
    if settings.build.is_empty() {
        return Ok(());
    }
    let program = Invocation {
        variables: &settings.variables,
        passed: settings.passed.as_deref(),
        without: suite.without,
        guard: suite.guard.as_ref(),
        ..Invocation::new(&settings.build, &suite.folder, suite.left(settings.build_time_out))
    };
    match command::run(&program, BUILD_LINES) {
        Ok(_) => Ok(()),
        Err(fault) => Err(MeasureError::Build(suite.with_setting(&fault, "build_timeout_seconds"))),
    }
}

/// Runs the command without counting it, as what is cold is slower, and gives the seconds of the last time; zero for no time.
pub fn warm_up(suite: &CommandSuite, times: u32) -> Result<f64, MeasureError> {
    let mut seconds = 0.0;
    for number in 0..times {
        let start = Instant::now();
        one_process(suite, &|_| Ok(Vec::new()), number).map_err(|fault| match fault {
            CommandFault::Start(text) => MeasureError::Start(text),
            fault => MeasureError::Command(fault.text().to_owned()),
        })?;
        seconds = start.elapsed().as_secs_f64();
    }
    Ok(seconds)
}

/// Runs the command repeatedly and takes the median over what its processes report; `progress` receives how many ended.
pub fn measure(
    suite: &CommandSuite,
    read: &OutputReader<'_>,
    progress: &mut dyn FnMut(u32),
) -> Result<SuiteResult, MeasureError> {
    let protocol = &suite.protocol;
    let (mut reports, mut faults) = (Vec::new(), Vec::new());
    let (mut stop, mut pace) = (StopReason::Processes, Pace::start(protocol));
    for process in 0..protocol.processes {
        progress(process);
        let is_precise = || pool(&reports, protocol.seed).iter().all(|one| protocol::is_precise(one, protocol));
        let is_over = (process > 0 && suite.is_over()).then_some(StopReason::Budget);
        if let Some(reason) = is_over.or_else(|| pace.stop(process, reports.len(), is_precise)) {
            stop = reason;
            break;
        }
        match one_process(suite, read, process) {
            // None of its benchmarks is asked for, so no other process would report one.
            Ok(series) if series.is_empty() => {
                return Ok(SuiteResult { measurements: Vec::new(), reasons: Vec::new(), stop, workers: 0 });
            }
            Ok(series) => reports.push(Report { process: process + 1, series }),
            Err(CommandFault::Start(text)) => return Err(MeasureError::Command(text)),
            // It would probably hang again for the whole time-out.
            Err(CommandFault::TimeOut(text)) if reports.is_empty() => {
                let others = if process + 1 < protocol.processes { "; it was not tried again" } else { "" };
                let fault = CommandFault::TimeOut(format!("{text}{others}"));
                return Err(MeasureError::Command(suite.with_setting(&fault, "timeout_seconds")));
            }
            Err(fault) => faults.push((process + 1, fault.text().to_owned())),
        }
    }
    if reports.is_empty() {
        return Err(MeasureError::Command(summary("process", &faults)));
    }
    Ok(SuiteResult {
        measurements: pool(&reports, protocol.seed),
        reasons: reasons(protocol, &reports, &faults, pace.seconds()),
        stop,
        workers: reports.len(),
    })
}

fn reasons(protocol: &Protocol, reports: &[Report], faults: &[(u32, String)], seconds: f64) -> Vec<String> {
    let mut reasons = fault_texts("process", faults);
    reasons.extend(protocol::over_budget(protocol, reports.len(), seconds));
    reasons.extend(protocol::too_few(reports.len(), "", "of the command"));
    reasons.extend(unpinned(protocol));
    reasons
}

/// A sentence where the command cannot be pinned to the processor of the protocol.
pub(super) fn unpinned(protocol: &Protocol) -> Option<String> {
    let processor = protocol.pin?;
    let permitted = std::thread::scope(|scope| scope.spawn(|| pinning::pin(processor)).join()).unwrap_or(false);
    (!permitted).then(|| format!("the system did not allow the command to be pinned to processor {processor}"))
}

pub(super) fn fault_texts(unit: &str, faults: &[(u32, String)]) -> Vec<String> {
    faults.iter().map(|(number, text)| format!("{unit} {number}: {text}")).collect()
}

/// All faults in one sentence, equal ones once.
pub(super) fn summary(unit: &str, faults: &[(u32, String)]) -> String {
    match faults {
        [first, rest @ ..] if rest.iter().all(|fault| fault.1 == first.1) => first.1.clone(),
        _ => fault_texts(unit, faults).join("; "),
    }
}

/// Runs a process, numbered from 0, and reads its output.
pub(super) fn one_process(
    suite: &CommandSuite,
    read: &OutputReader<'_>,
    process: u32,
) -> Result<Vec<Reported>, CommandFault> {
    let settings = &suite.settings;
    let mut variables = settings.variables.clone();
    let (padding, value) = padding_variable(suite.protocol.seed, process);
    variables.insert(padding.to_owned(), value);
    let program = Invocation {
        variables: &variables,
        passed: settings.passed.as_deref(),
        without: suite.without,
        most_bytes: settings.most_bytes,
        keep_output: suite.results.is_none() && settings.timed.is_none(),
        pin: suite.protocol.pin,
        guard: suite.guard.as_ref(),
        ..Invocation::new(&settings.command, &suite.folder, suite.left(settings.time_out))
    };
    if let Some(benchmark) = &settings.timed {
        let samples = vec![command::completed(&program, 1)?.elapsed.as_secs_f64()];
        let result = Ok(vec![ReportedMetric { metric: Metric::time(), samples }]);
        return Ok(vec![Reported { benchmark: benchmark.clone(), result, work: Vec::new() }]);
    }
    let before = suite.results.as_ref().map(Before::note).transpose().map_err(CommandFault::Failed)?;
    let bytes = command::run(&program, 1)?;
    let outputs = match suite.results.as_ref().zip(before) {
        None => vec![Output { name: STANDARD_OUTPUT.to_owned(), bytes }],
        Some((place, before)) => before.collect(place, settings.most_bytes).map_err(CommandFault::Failed)?,
    };
    read(&outputs).map_err(CommandFault::Failed)
}

/// The report of one process.
struct Report {
    /// From 1.
    process: u32,
    series: Vec<Reported>,
}

/// The measurements of all benchmarks, in the order in which they were first reported.
fn pool(reports: &[Report], seed: u64) -> Vec<Measurement> {
    let mut ids: Vec<String> = Vec::new();
    let mut by_id: BTreeMap<String, Vec<(u32, &Reported)>> = BTreeMap::new();
    for report in reports {
        for reported in &report.series {
            let id = reported.benchmark.id();
            let series = by_id.entry(id.clone()).or_insert_with(|| {
                ids.push(id);
                Vec::new()
            });
            series.push((report.process, reported));
        }
    }
    ids.iter().map(|id| measurement(reports, &by_id[id], seed)).collect()
}

fn measurement(reports: &[Report], series: &[(u32, &Reported)], seed: u64) -> Measurement {
    let first = series[0].1;
    let mut measurement = pool::empty(first.benchmark.clone(), Role::Tracked);
    match estimates(reports, series, seed) {
        Ok(estimates) => measurement.estimates = estimates,
        Err(reason) => measurement.failure = Some(reason),
    }
    measurement
}

/// All processes must report the benchmark with the same metrics.
fn estimates(reports: &[Report], series: &[(u32, &Reported)], seed: u64) -> Result<Vec<Estimate>, String> {
    let count = reports.len();
    let mut processes: Vec<&[ReportedMetric]> = Vec::with_capacity(count);
    for (process, reported) in series {
        match &reported.result {
            Ok(metrics) => processes.push(metrics),
            Err(reason) if count == 1 => return Err(reason.clone()),
            Err(reason) => return Err(format!("{reason} (process {process})")),
        }
    }
    if let Some(report) = reports.iter().find(|report| !series.iter().any(|(process, _)| *process == report.process)) {
        return Err(format!("process {} did not report it, others did", report.process));
    }
    let (first, metrics) = (series[0].1, processes[0]);
    for ((process, reported), other) in series.iter().zip(&processes) {
        let names = |metrics: &[ReportedMetric]| metrics.iter().map(|one| one.metric.clone()).collect::<Vec<_>>();
        let (version, work) = (reported.benchmark.version, &reported.work);
        if version != first.benchmark.version || *work != first.work || names(other) != names(metrics) {
            return Err(format!("process {process} reported different metrics, versions or work than the first"));
        }
    }
    let mut estimates: Vec<Estimate> =
        (0..metrics.len()).filter_map(|place| one_metric(&processes, place, seed)).collect();
    if let Some(time) = estimates.iter().find(|estimate| estimate.metric.name == TIME).cloned() {
        let taken = |name: &str, estimates: &[Estimate]| estimates.iter().any(|one| one.metric.name == name);
        for (name, work) in &first.work {
            if !taken(name, &estimates) {
                estimates.push(pool::throughput(name, *work, &time));
            }
        }
    }
    // The time goes first.
    estimates.sort_by_key(|estimate| estimate.metric.name != TIME);
    Ok(estimates)
}

fn one_metric(processes: &[&[ReportedMetric]], place: usize, seed: u64) -> Option<Estimate> {
    let metric = &processes.first()?[place].metric;
    let values: Vec<f64> = processes.iter().filter_map(|metrics| describe::median(&metrics[place].samples)).collect();
    let samples: Vec<f64> = processes.iter().flat_map(|metrics| metrics[place].samples.iter().copied()).collect();
    let estimate = pool::over_processes(metric.clone(), &values, samples.len(), seed)?;
    Some(match metric.better {
        Better::Lower => pool::with_samples(estimate, &samples),
        // The percentile and the minimum would be the wrong end.
        Better::Higher => Estimate { p50: describe::median(&samples).map(pool::round), ..estimate },
    })
}

#[derive(Clone, Debug)]
pub struct ResultPlace {
    path: PathBuf,
    /// The ends of the names of the result files in a folder.
    names: &'static [&'static str],
    /// Which files of the folder are results, in place of the ends.
    pattern: Option<String>,
}

impl ResultPlace {
    /// The place that `output` names, relative to a folder; `*`, `**` and `?` make it a pattern.
    pub fn new(folder: &Path, output: &Path, names: &'static [&'static str]) -> ResultPlace {
        let text = output.to_string_lossy().replace('\\', "/");
        let Some(wildcard) = text.find(['*', '?']) else {
            return ResultPlace { path: folder.join(output), names, pattern: None };
        };
        let start = text[..wildcard].rfind('/').map_or(0, |slash| slash + 1);
        ResultPlace { path: folder.join(&text[..start]), names, pattern: Some(text[start..].to_owned()) }
    }

    fn is_result(&self, path: &Path) -> bool {
        match &self.pattern {
            Some(pattern) => glob::fits(pattern, &self.name(path)),
            None => {
                let path = path.to_string_lossy().replace('\\', "/");
                self.names.iter().any(|name| path.ends_with(name))
            }
        }
    }

    /// Relative to the folder; of the file itself, or one next to it, its name.
    fn name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.path).ok().filter(|name| !name.as_os_str().is_empty());
        let next_to = || self.path.parent().and_then(|parent| path.strip_prefix(parent).ok());
        inside.or_else(next_to).unwrap_or(path).to_string_lossy().replace('\\', "/")
    }

    /// How many folders deep results are looked for.
    fn depth(&self) -> usize {
        match &self.pattern {
            Some(pattern) if !pattern.contains("**") => pattern.matches('/').count(),
            _ => DEEPEST,
        }
    }
}

/// Results deeper below a folder are ignored.
const DEEPEST: usize = 16;

/// More files in a folder are an error.
const MOST_FILES: usize = 200_000;

/// File systems may note times in steps of a tick (4 to 10 ms), so a file written twice within one may look unchanged. A
/// process starts when all results are older than this.
const TICK: Duration = Duration::from_millis(25);

/// What distinguishes a file from the same one rewritten: length, modification, on Unix device, inode and change.
type State = (u64, Option<SystemTime>, [i64; 4]);

/// The state of every result before a process starts.
#[derive(Debug, Default)]
struct Before {
    states: BTreeMap<PathBuf, State>,
}

impl Before {
    fn note(place: &ResultPlace) -> Result<Before, String> {
        let states: BTreeMap<PathBuf, State> = list(place)?.into_iter().collect();
        let now = SystemTime::now();
        let young =
            |state: &State| state.1.and_then(|time| now.duration_since(time).ok()).is_some_and(|age| age < TICK);
        if states.values().any(young) {
            std::thread::sleep(TICK);
        }
        Ok(Before { states })
    }

    /// The results that were written since, ordered by name, together at most `most_bytes`.
    fn collect(&self, place: &ResultPlace, most_bytes: u64) -> Result<Vec<Output>, String> {
        let files = list(place)?;
        let stale = files.iter().filter(|(path, state)| self.states.get(path) == Some(state)).count();
        let mut outputs = Vec::new();
        let mut left = most_bytes;
        for (path, state) in &files {
            if self.states.get(path) == Some(state) {
                continue;
            }
            let name = place.name(path);
            let mut bytes = Vec::new();
            let file = open(path).map_err(|error| format!("`{name}` cannot be read: {error}"))?;
            file.take(left + 1).read_to_end(&mut bytes).map_err(|error| format!("`{name}` cannot be read: {error}"))?;
            left = match left.checked_sub(bytes.len() as u64) {
                Some(left) => left,
                None => return Err(format!("its results hold more than {most_bytes} bytes")),
            };
            outputs.push(Output { name, bytes });
        }
        if outputs.is_empty() {
            let older = if stale > 0 { format!("; {stale} older there were left alone") } else { String::new() };
            let place = place.path.join(place.pattern.as_deref().unwrap_or_default());
            let place = place.to_string_lossy();
            return Err(format!("it wrote no results to `{}`{older}", place.trim_end_matches('/')));
        }
        Ok(outputs)
    }
}

/// The results, ordered by name, with the folder of samples of a file; none where the place does not exist.
fn list(place: &ResultPlace) -> Result<Vec<(PathBuf, State)>, String> {
    let mut files = Vec::new();
    let Ok(metadata) = fs::metadata(&place.path) else { return Ok(files) };
    if metadata.is_file() {
        let mut sidecar = place.path.clone().into_os_string();
        sidecar.push(SIDECAR);
        files = list_folder(&ResultPlace { path: sidecar.into(), pattern: Some("**/*".to_owned()), ..place.clone() })?;
        files.insert(0, (place.path.clone(), state(&metadata)));
        return Ok(files);
    }
    if !metadata.is_dir() {
        return Err(format!("`{}` is neither a file nor a folder", place.path.display()));
    }
    list_folder(place)
}

fn list_folder(place: &ResultPlace) -> Result<Vec<(PathBuf, State)>, String> {
    let mut files = Vec::new();
    if !place.path.is_dir() {
        return Ok(files);
    }
    let mut folders = vec![(place.path.clone(), 0)];
    let mut seen = 0;
    while let Some((folder, depth)) = folders.pop() {
        let entries =
            fs::read_dir(&folder).map_err(|error| format!("`{}` cannot be listed: {error}", folder.display()))?;
        for entry in entries.flatten() {
            seen += 1;
            if seen > MOST_FILES {
                let path = place.path.display();
                return Err(format!(
                    "`{path}` holds more than {MOST_FILES} files; name the folder of the results alone"
                ));
            }
            // Links are not followed.
            let Ok(metadata) = entry.metadata() else { continue };
            let path = entry.path();
            if metadata.is_dir() && depth < place.depth() {
                folders.push((path, depth + 1));
            } else if metadata.is_file() && place.is_result(&path) {
                files.push((path, state(&metadata)));
            }
        }
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(files)
}

fn state(metadata: &Metadata) -> State {
    #[cfg(unix)]
    let identity = {
        use std::os::unix::fs::MetadataExt as _;
        [metadata.dev().cast_signed(), metadata.ino().cast_signed(), metadata.ctime(), metadata.ctime_nsec()]
    };
    #[cfg(not(unix))]
    let identity = [0; 4];
    (metadata.len(), metadata.modified().ok(), identity)
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use std::path::Path;

    /// Reads each line of standard output as a time of the benchmark `a`.
    pub(crate) fn read(outputs: &[Output]) -> Result<Vec<Reported>, String> {
        let text = String::from_utf8_lossy(&outputs[0].bytes);
        let samples: Result<Vec<f64>, _> = text.lines().map(str::parse).collect();
        let samples = samples.map_err(|error| error.to_string())?;
        let result = Ok(vec![ReportedMetric { metric: Metric::time(), samples }]);
        let benchmark = Benchmark::new("s", "a", &[], "default").expect("the name is a word");
        Ok(vec![Reported { benchmark, result, work: Vec::new() }])
    }

    pub(crate) fn shell(folder: &Path, script: &str, protocol: Protocol) -> CommandSuite {
        let settings = CommandSettings {
            command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            folder: None,
            variables: BTreeMap::new(),
            passed: Some(Vec::new()),
            build: Vec::new(),
            time_out: Duration::from_secs(60),
            build_time_out: Duration::from_secs(60),
            until: None,
            most_bytes: 1000,
            format: OutputFormat::Time,
            output: None,
            timed: None,
        };
        CommandSuite { settings, folder: folder.to_owned(), without: &[], protocol, results: None, guard: None }
    }
}

#[cfg(test)]
mod tests {
    use sprag_model::foreign::ReportedMetric;
    use sprag_model::{ParityStatus, Unit};

    use super::testing::{read, shell};
    use super::*;

    fn run(script: &str, protocol: Protocol) -> Result<SuiteResult, String> {
        measure(&shell(Path::new("/"), script, protocol), &read, &mut |_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_budget_ends_with_precision_or_with_time() {
        // Two checks in a row from the fifth process on must find the interval narrow; equal values have no width.
        let precise = run("echo 0.5", Protocol::within(60.0)).expect("it reports");
        assert_eq!((precise.stop, precise.workers, precise.reasons), (StopReason::Precision, 6, Vec::new()));
        let spent = run("sleep 1; echo 0.5", Protocol::within(1.0)).expect("it reports");
        assert_eq!((spent.stop, spent.workers), (StopReason::Budget, 1));
        assert!(
            spent.reasons.contains(&"only 1 process of the command: a confidence interval needs at least 3".to_owned())
        );
        let all = run("echo 0.5", Protocol::ordinary(4)).expect("it reports");
        assert_eq!((all.stop, all.workers), (StopReason::Processes, 4));
    }

    #[test]
    fn a_fault_of_every_process_is_reported_once() {
        let fault = |script: &str| run(script, Protocol::ordinary(2)).expect_err("no process reports");
        assert_eq!(fault("exit 3"), "the command gave no result: it ended with exit code 3");
        assert_eq!(fault("echo x"), "the command gave no result: invalid float literal");
        let differing = [(1, "a".to_owned()), (2, "b".to_owned())];
        assert_eq!(summary("process", &differing), "process 1: a; process 2: b");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_command_is_pinned_to_the_processor_that_was_asked_for() {
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

    fn reported(name: &str, metrics: &[(Metric, &[f64])]) -> Reported {
        let metrics = metrics
            .iter()
            .map(|(metric, samples)| ReportedMetric { metric: metric.clone(), samples: samples.to_vec() });
        Reported {
            benchmark: Benchmark::new("s", name, &[], "default").expect("the name is a word"),
            result: Ok(metrics.collect()),
            work: Vec::new(),
        }
    }

    fn pooled(processes: &[Vec<Reported>]) -> Vec<Measurement> {
        let reports: Vec<Report> =
            processes.iter().zip(1..).map(|(series, process)| Report { process, series: series.clone() }).collect();
        pool(&reports, 1)
    }

    fn failure(processes: &[Vec<Reported>]) -> String {
        let measurements = pooled(processes);
        let measurement = &measurements[0];
        assert!(measurement.estimates.is_empty(), "what failed has no values");
        measurement.failure.clone().expect("it has failed")
    }

    #[test]
    fn a_process_counts_once_with_any_number_of_samples() {
        let process = |samples: &[f64]| vec![reported("a", &[(Metric::time(), samples)])];
        let measurements = pooled(&[process(&[1.0, 1.0, 1.0, 1.0, 9.0]), process(&[3.0]), process(&[2.0, 2.2])]);
        let [time] = &measurements[0].estimates[..] else { panic!("one metric: {measurements:?}") };
        assert_eq!((time.value, &time.workers[..], time.n), (2.1, &[1.0, 3.0, 2.1][..], 8));
        assert_eq!((time.p50, time.p95, time.min), (Some(1.5), None, Some(1.0)));
        assert!(time.interval.is_some_and(|(low, high)| low <= 2.1 && 2.1 <= high));
        assert_eq!(measurements[0].parity.status, ParityStatus::Unchecked);
        assert_eq!(pooled(&[process(&[1.0])])[0].estimates[0].interval, None);
    }

    #[test]
    fn time_goes_first_and_throughput_follows_from_it() {
        let rate = Metric { name: "hits".into(), unit: Unit::One, better: Better::Higher };
        let mut one = reported("a", &[(rate, &[5.0; 120]), (Metric::time(), &[2.0; 120])]);
        one.work = vec![("elements_per_s".to_owned(), 10.0), ("hits".to_owned(), 1.0)];
        let measurements = pooled(&[vec![one]]);
        let names: Vec<&str> = measurements[0].estimates.iter().map(|one| one.metric.name.as_str()).collect();
        assert_eq!(names, ["time", "hits", "elements_per_s"]);
        let p95: Vec<Option<f64>> = measurements[0].estimates.iter().map(|one| one.p95).collect();
        assert_eq!(p95, [Some(2.0), None, None]);
        assert_eq!(measurements[0].estimates[2].value, 5.0);
    }

    #[test]
    fn what_failed_once_or_differs_between_processes_fails() {
        let fine = || reported("a", &[(Metric::time(), &[1.0])]);
        let broken = Reported { result: Err("wrong sum".to_owned()), ..fine() };
        assert_eq!(failure(&[vec![fine()], vec![broken.clone()]]), "wrong sum (process 2)");
        assert_eq!(failure(&[vec![broken]]), "wrong sum");
        assert_eq!(failure(&[vec![fine()], vec![fine()], vec![]]), "process 3 did not report it, others did");
        let bytes = reported("a", &[(Metric::peak_memory(), &[1.0])]);
        assert!(failure(&[vec![fine()], vec![bytes]]).contains("process 2 reported different metrics"));
        let mut newer = fine();
        newer.benchmark.version = 2;
        assert!(failure(&[vec![fine()], vec![newer]]).contains("different metrics, versions or work"));
        // The other benchmark of the same processes is valid.
        let other = reported("b", &[(Metric::time(), &[1.0])]);
        let both = pooled(&[vec![fine(), other.clone()], vec![other]]);
        assert!(both[0].failure.is_some() && both[1].failure.is_none());
    }

    fn place(path: PathBuf) -> ResultPlace {
        ResultPlace::new(Path::new("/"), &path, &["/new/sample.json"])
    }

    fn names(outputs: &[Output]) -> Vec<&str> {
        outputs.iter().map(|output| output.name.as_str()).collect()
    }

    #[test]
    fn only_results_written_since_count() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = place(folder.path().join("results"));
        let write = |name: &str, text: &str| {
            let path = place.path.join(name);
            fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        let before = Before::note(&place).expect("a place that is not there yet");
        assert_eq!(before.collect(&place, 100), Err(format!("it wrote no results to `{}`", place.path.display())));
        write("a/new/sample.json", "1");
        write("b/new/sample.json", "2");
        write("b/new/else.json", "3");
        write("new.json", "4");
        let outputs = before.collect(&place, 100).expect("there are results");
        assert_eq!(names(&outputs), ["a/new/sample.json", "b/new/sample.json"]);

        let before = Before::note(&place).expect("the place is there");
        let fault = before.collect(&place, 100).expect_err("nothing was written");
        assert!(fault.ends_with("; 2 older there were left alone"), "{fault}");
        // The same bytes again.
        write("b/new/sample.json", "2");
        assert_eq!(names(&before.collect(&place, 100).expect("there is a result")), ["b/new/sample.json"]);
    }

    #[test]
    fn a_single_file_counts_when_it_is_written_or_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = place(folder.path().join("out.json"));
        fs::write(&place.path, "1").expect("a file");
        let before = Before::note(&place).expect("the file is there");
        assert!(before.collect(&place, 100).is_err());
        let other = folder.path().join("other");
        fs::write(&other, "1").expect("a file");
        fs::rename(other, &place.path).expect("it can be moved");
        let outputs = before.collect(&place, 100).expect("it is new");
        assert_eq!((names(&outputs), outputs[0].bytes.as_slice()), (vec!["out.json"], &b"1"[..]));
    }

    #[test]
    fn a_pattern_selects_files_and_a_file_brings_its_folder_of_samples() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let collected = |output: &str| {
            let place = ResultPlace::new(folder.path(), Path::new(output), &[".json"]);
            let outputs = Before::default().collect(&place, 100).expect("there are results");
            names(&outputs).join(" ")
        };
        for name in ["r/a.json", "r/b.json", "r/b.txt", "r/c/d.json", "r/b.json-bin/0.bin"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
            fs::write(path, "1").expect("a file");
        }
        assert_eq!(collected("r/?.json"), "a.json b.json");
        assert_eq!(collected("*/**/*.json"), "r/a.json r/b.json r/c/d.json");
        assert_eq!(collected("r/b.json"), "b.json b.json-bin/0.bin");
        assert_eq!(collected("r"), "a.json b.json c/d.json");
        let fault = Before::default().collect(&ResultPlace::new(folder.path(), Path::new("x/*.json"), &[]), 100);
        assert!(fault.is_err_and(|fault| fault.ends_with("/x/*.json`")));
    }

    #[test]
    fn results_are_bounded_and_links_are_not_followed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = place(folder.path().join("results"));
        let before = Before::note(&place).expect("a place that is not there yet");
        fs::create_dir_all(place.path.join("a/new")).expect("a folder");
        fs::write(place.path.join("a/new/sample.json"), "12345").expect("a file");
        assert_eq!(before.collect(&place, 4), Err("its results hold more than 4 bytes".to_owned()));
        assert_eq!(before.collect(&place, 5).map(|outputs| outputs.len()), Ok(1));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&place.path, place.path.join("again")).expect("a link");
            assert_eq!(before.collect(&place, 5).map(|outputs| outputs.len()), Ok(1));
        }
    }
}
