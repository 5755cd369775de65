//! A sweep: an engine timed in each of several cases, process by process, the cases in turn.

use std::collections::BTreeSet;
use std::time::Instant;

use super::layers::LayerProfile;
use super::measurements;
use super::once::{self, TrtexecTurn};
use super::reason::{Reason, ReasonCode};
use super::transcript::Version;
use crate::campaign::{Precision, StopReason, should_stop};
use crate::{protocol, quality};
use sprag_model::sample::Measurement;

pub use super::arguments::TimingSettings;
pub use super::plan::{CaseResult, NumberedCase, ShapeCaseFault, Sweep, number_cases};

#[derive(Clone, Debug, PartialEq)]
pub struct SweepResult {
    pub version: Version,
    pub cases: Vec<CaseResult>,
    pub reasons: Vec<String>,
    /// Why no further process was started.
    pub stop: StopReason,
    /// How many processes the case got that got most.
    pub processes: usize,
}

impl SweepResult {
    pub fn recorded(&self) -> impl Iterator<Item = &CaseResult> {
        self.cases.iter().filter(|case| case.left_out().is_none())
    }

    pub fn measurements(&self, sweep: &Sweep) -> Vec<Measurement> {
        self.recorded().map(|case| measurements::measurement(sweep, case)).collect()
    }
}

/// What is known of a case while the sweep is under way.
#[derive(Default)]
struct Course {
    samples: Vec<Vec<f64>>,
    batch: Option<u64>,
    faults: Vec<(u32, Reason)>,
    remarks: BTreeSet<&'static str>,
    is_over: bool,
}

/// Times the engine; `progress` hears how many processes have ended.
pub fn measure(sweep: &Sweep, progress: &mut dyn FnMut(u64)) -> Result<SweepResult, Reason> {
    let protocol = &sweep.protocol;
    check_paths(sweep)?;
    let version = once::version(sweep)?;
    let start = Instant::now();
    let mut courses: Vec<Course> = sweep.cases.iter().map(|_| Course::default()).collect();
    let (mut stop, mut precision, mut done) = (StopReason::Processes, Precision::default(), 0);
    for process in 0..protocol.processes {
        if let Some(reason) = should_stop(protocol, process, start.elapsed().as_secs_f64()) {
            stop = reason;
            break;
        }
        if courses.iter().all(|course| course.is_over) {
            break;
        }
        let is_precise = || {
            let results = results(sweep, &courses);
            let found = results.iter().map(|case| measurements::measurement(sweep, case));
            found.filter(|one| one.failure.is_none()).all(|one| protocol::is_precise(&one, protocol))
        };
        let fewest = courses.iter().filter(|course| !course.is_over).map(|course| course.samples.len()).min();
        if protocol.precision.is_some() && precision.check(fewest.unwrap_or(0), is_precise) {
            stop = StopReason::Precision;
            break;
        }
        for place in order(sweep.cases.len(), process) {
            progress(done);
            done += 1;
            if courses[place].is_over {
                continue;
            }
            let case = &sweep.cases[place];
            let turn = TrtexecTurn { case: &case.shapes, number: case.number, process };
            match once::time(sweep, version, turn) {
                Ok(timed) => {
                    courses[place].samples.push(timed.seconds);
                    courses[place].batch = case.shapes.batch().or(timed.batch);
                    courses[place].remarks.extend(timed.remarks);
                }
                // The others would meet with it, too.
                Err(reason) if reason.code.is_of_all() && courses.iter().all(|course| course.samples.is_empty()) => {
                    return Err(reason);
                }
                Err(reason) => {
                    let course = &mut courses[place];
                    // What hangs at once would hang again, and each time costs the whole time-out.
                    course.is_over =
                        reason.code.is_final() || (reason.code == ReasonCode::TimeOut && course.samples.is_empty());
                    course.faults.push((process + 1, reason));
                }
            }
        }
    }
    let cases = results(sweep, &courses);
    let mut reasons = reasons(sweep, &courses, start.elapsed().as_secs_f64());
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

pub fn profile(sweep: &Sweep, version: Version, case: &NumberedCase) -> Result<LayerProfile, Reason> {
    once::profile(sweep, version, TrtexecTurn { case: &case.shapes, number: case.number, process: 0 })
}

/// The places of the cases in a round: turned every other round, so that what drifts meets none of them alone.
fn order(count: usize, round: u32) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    if round % 2 == 1 {
        places.reverse();
    }
    places
}

/// Arguments are text, so no path may be anything else.
fn check_paths(sweep: &Sweep) -> Result<(), Reason> {
    let paths = [
        (ReasonCode::TrtexecNotFound, Some(&sweep.trtexec)),
        (ReasonCode::EngineMissing, Some(&sweep.engine)),
        (ReasonCode::PluginMissing, sweep.plugin.as_ref()),
    ];
    for (code, path) in paths {
        if path.is_some_and(|path| path.to_str().is_none()) {
            return Err(Reason::new(code, "its path is no UTF-8 text"));
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
            // A case that came to a certain end has no number, whatever went before.
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
        reasons.extend(quality::over_budget(protocol, fewest, seconds));
        reasons.extend(quality::too_few(fewest, "", "of a case"));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_take_turns() {
        assert_eq!((0..3).flat_map(|round| order(2, round)).collect::<Vec<_>>(), [0, 1, 1, 0, 0, 1]);
        assert_eq!(order(0, 1), Vec::<usize>::new());
    }
}
