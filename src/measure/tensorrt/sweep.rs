//! A sweep: an engine timed in several cases, process by process, the cases in turn.

use std::collections::{BTreeMap, BTreeSet};

use crate::campaign::{Pace, StopReason};
use crate::tensorrt::once;
pub use crate::tensorrt::once::profile;
pub use crate::tensorrt::{CaseResult, NumberedCase, ShapeCaseFault, Sweep, TimingSettings, number_cases};
use crate::tensorrt::{Reason, ReasonCode, Version, benchmark};
use crate::{pool, protocol};
use sprag_base::stats::describe;
use sprag_model::{Estimate, Measurement, Metric, Role};

#[derive(Clone, Debug, PartialEq)]
pub struct SweepResult {
    pub version: Version,
    pub cases: Vec<CaseResult>,
    pub reasons: Vec<String>,
    /// Why no further process was started.
    pub stop: StopReason,
    /// The most processes of a case.
    pub processes: usize,
}

impl SweepResult {
    pub fn recorded(&self) -> impl Iterator<Item = &CaseResult> {
        self.cases.iter().filter(|case| case.left_out().is_none())
    }

    pub fn measurements(&self, sweep: &Sweep) -> Vec<Measurement> {
        self.recorded().map(|case| measurement(sweep, case)).collect()
    }
}

/// The state of a case during the sweep.
#[derive(Default)]
struct Course {
    samples: Vec<Vec<f64>>,
    batch: Option<u64>,
    faults: Vec<(u32, Reason)>,
    remarks: BTreeSet<&'static str>,
    is_over: bool,
}

/// Times the engine; `progress` receives the number of ended processes.
pub fn measure(sweep: &Sweep, progress: &mut dyn FnMut(u64)) -> Result<SweepResult, Reason> {
    let protocol = &sweep.protocol;
    check_paths(sweep)?;
    let version = once::version(sweep)?;
    let mut courses: Vec<Course> = sweep.cases.iter().map(|_| Course::default()).collect();
    let (mut stop, mut pace, mut done) = (StopReason::Processes, Pace::start(protocol), 0);
    for process in 0..protocol.processes {
        let is_precise = || {
            let results = results(sweep, &courses);
            let cases = results.iter().map(|case| measurement(sweep, case));
            cases.filter(|one| one.failure.is_none()).all(|one| protocol::is_precise(&one, protocol))
        };
        let fewest = courses.iter().filter(|course| !course.is_over).map(|course| course.samples.len()).min();
        if let Some(reason) = pace.stop(process, fewest.unwrap_or(0), is_precise) {
            stop = reason;
            break;
        }
        if fewest.is_none() {
            break;
        }
        let mut places: Vec<usize> = (0..sweep.cases.len()).collect();
        if process % 2 == 1 {
            // Drift must not affect one case alone.
            places.reverse();
        }
        for place in places {
            progress(done);
            done += 1;
            if courses[place].is_over {
                continue;
            }
            let case = &sweep.cases[place];
            match once::time(sweep, version, case, process) {
                Ok(timed) => {
                    courses[place].samples.push(timed.seconds);
                    courses[place].batch = case.shapes.batch().or(timed.batch);
                    courses[place].remarks.extend(timed.remarks);
                }
                // It would affect the others, too.
                Err(reason) if reason.code.is_of_all() && courses.iter().all(|course| course.samples.is_empty()) => {
                    return Err(reason);
                }
                Err(reason) => {
                    let course = &mut courses[place];
                    // It would probably hang again for the whole time-out.
                    course.is_over =
                        reason.code.is_final() || (reason.code == ReasonCode::TimeOut && course.samples.is_empty());
                    course.faults.push((process + 1, reason));
                }
            }
        }
    }
    let cases = results(sweep, &courses);
    let mut reasons = reasons(sweep, &courses, pace.seconds());
    reasons.extend(cases.iter().filter_map(|case| {
        let reason = case.left_out()?;
        Some(format!("{} is left out, because dimensions without a shape were set to 1: {reason}", case.case.label()))
    }));
    Ok(SweepResult {
        version,
        reasons,
        cases,
        stop,
        processes: courses.iter().map(|course| course.samples.len()).max().unwrap_or(0),
    })
}

/// Arguments are text, so paths must be UTF-8.
fn check_paths(sweep: &Sweep) -> Result<(), Reason> {
    let paths = [
        (ReasonCode::TrtexecNotFound, Some(&sweep.trtexec)),
        (ReasonCode::EngineMissing, Some(&sweep.engine)),
        (ReasonCode::PluginMissing, sweep.plugin.as_ref()),
    ];
    for (code, path) in paths {
        if path.is_some_and(|path| path.to_str().is_none()) {
            return Err(Reason::new(code, "its path is not UTF-8 text"));
        }
    }
    match &sweep.plugin {
        Some(plugin) if !plugin.is_file() => {
            let name = plugin.file_name().unwrap_or_default().to_string_lossy();
            Err(Reason::new(ReasonCode::PluginMissing, format!("there is no library `{name}`")))
        }
        _ => Ok(()),
    }
}

fn results(sweep: &Sweep, courses: &[Course]) -> Vec<CaseResult> {
    let result = |(case, course): (&NumberedCase, &Course)| {
        let last = course.faults.last();
        let outcome = match last {
            // A case with a final fault has no number.
            Some((_, reason)) if course.samples.is_empty() || course.is_over => Err(reason.clone()),
            None if course.samples.is_empty() => {
                Err(Reason::new(ReasonCode::Failed, "it did not run within the time budget"))
            }
            _ => Ok(course.samples.clone()),
        };
        CaseResult { case: case.clone(), batch: course.batch, outcome }
    };
    sweep.cases.iter().zip(courses).map(result).collect()
}

fn reasons(sweep: &Sweep, courses: &[Course], seconds: f64) -> Vec<String> {
    let protocol = &sweep.protocol;
    let mut reasons = Vec::new();
    for (case, course) in sweep.cases.iter().zip(courses) {
        if course.is_over || course.samples.is_empty() {
            continue;
        }
        let fault_text = |(process, reason): &(u32, Reason)| format!("{}, process {process}: {reason}", case.label());
        reasons.extend(course.faults.iter().map(fault_text));
        reasons.extend(course.remarks.iter().map(|remark| format!("{}: {remark}", case.label())));
    }
    let measured = courses.iter().filter(|course| !course.is_over && !course.samples.is_empty());
    if let Some(fewest) = measured.map(|course| course.samples.len()).min() {
        reasons.extend(protocol::over_budget(protocol, fewest, seconds));
        reasons.extend(protocol::too_few(fewest, "", "of a case"));
    }
    reasons
}

const FRAMES: &str = "frames_per_s";

/// The median over processes, and images a second where the images of a call are known.
fn measurement(sweep: &Sweep, result: &CaseResult) -> Measurement {
    let mut measurement = Measurement {
        attributes: BTreeMap::from([("case".to_owned(), result.case.label())]),
        ..pool::empty(benchmark(&sweep.suite, &result.case.shapes), Role::Tracked)
    };
    match &result.outcome {
        Ok(processes) => measurement.estimates = estimates(sweep, result, processes),
        Err(reason) => measurement.failure = Some(reason.to_string()),
    }
    measurement
}

fn estimates(sweep: &Sweep, result: &CaseResult, processes: &[Vec<f64>]) -> Vec<Estimate> {
    let medians: Vec<f64> = processes.iter().filter_map(|seconds| describe::median(seconds)).collect();
    let samples = processes.concat();
    let time = pool::over_processes(Metric::time(), &medians, samples.len(), sweep.protocol.seed);
    let Some(time) = time.map(|time| pool::with_samples(time, &samples)) else { return Vec::new() };
    let frames = result.batch.map(|batch| pool::throughput(FRAMES, batch as f64, &time));
    [Some(time), frames].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sprag_model::ShapeCase;

    use super::*;
    use crate::plan::Protocol;

    #[test]
    fn a_case_is_identified_by_its_shapes() {
        let check = |text: &str, expected: &str| {
            let case = ShapeCase::parse(text).expect("the case is fine");
            assert_eq!(benchmark("trt", &case).id(), expected);
            assert_eq!(benchmark("trt", &case).check(), Ok(()));
        };
        check("image=1x3x128x128;centers=1024x2", "trt/engine{centers=1024x2,image=1x3x128x128} @tensorrt");
        check("a{b}@=2", "trt/engine{a_b__=2} @tensorrt");
        check(&format!("{}=2", "n".repeat(500)), &format!("trt/engine{{{}=2}} @tensorrt", "n".repeat(200)));
        assert_eq!(benchmark("trt", &ShapeCase::default()).id(), "trt/engine{case=default} @tensorrt");
    }

    #[test]
    fn a_process_counts_once_and_a_failure_has_no_numbers() {
        let sweep = Sweep {
            suite: "trt".into(),
            trtexec: "t".into(),
            engine: "e".into(),
            plugin: None,
            cases: Vec::new(),
            settings: TimingSettings { warmup_milliseconds: 0, skipped_calls: 0, iterations: 1, duration_seconds: 0 },
            time_out: Duration::from_secs(1),
            protocol: Protocol::ordinary(3),
            guard: None,
        };
        let shapes = ShapeCase::parse("a=8x3").expect("the case is fine");
        let case = NumberedCase { number: 1, shapes };
        let outcome = Ok(vec![vec![1.0, 1.0, 1.0, 9.0], vec![3.0], vec![2.0]]);
        let measured = |batch, outcome| measurement(&sweep, &CaseResult { case: case.clone(), batch, outcome });
        let result = measured(Some(8), outcome.clone());
        assert_eq!(result.attributes["case"], "case_001_8_3");
        let [time, frames] = &result.estimates[..] else { panic!("two metrics: {result:?}") };
        assert_eq!((time.value, &time.workers[..], time.n), (2.0, &[1.0, 3.0, 2.0][..], 6));
        assert_eq!((frames.metric.name.as_str(), frames.value), ("frames_per_s", 4.0));
        let unknown = measured(None, outcome);
        assert_eq!(unknown.estimates.len(), 1, "an unknown batch has no rate: {unknown:?}");
        let failed = measured(None, Err(Reason::new(ReasonCode::TimeOut, "it hung")));
        assert_eq!(failed.failure.as_deref(), Some("tensorrt_timeout: it hung"));
        assert!(failed.estimates.is_empty());
    }
}
