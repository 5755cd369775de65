//! From the times of a case to its measurement.

use std::collections::BTreeMap;

use super::plan::{CaseResult, Sweep, benchmark};
use crate::{estimate, parity};
use sprag_base::stats::describe;
use sprag_model::metric::Metric;
use sprag_model::sample::{Estimate, Measurement, Role};

/// The metric of images a second.
const FRAMES: &str = "frames_per_s";

/// The measurement of a case: the median over processes, and images a second where it is known how many a call takes.
pub(super) fn measurement(sweep: &Sweep, result: &CaseResult) -> Measurement {
    let mut measurement = Measurement {
        benchmark: benchmark(&sweep.suite, &result.case.shapes).into(),
        role: Role::Tracked,
        attributes: BTreeMap::from([("case".to_owned(), result.case.label())]),
        // What an engine computes is not looked at.
        parity: parity::unchecked(),
        estimates: Vec::new(),
        failure: None,
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
    let time = estimate::over_processes(Metric::time(), &medians, samples.len(), sweep.protocol.seed);
    let Some(time) = time.map(|time| estimate::with_samples(time, &samples)) else { return Vec::new() };
    let frames = result.batch.map(|batch| estimate::throughput(FRAMES, batch as f64, &time));
    [Some(time), frames].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::Protocol;
    use crate::tensorrt::reason::{Reason, ReasonCode};
    use crate::tensorrt::sweep::{NumberedCase, TimingSettings};
    use sprag_model::shape_case::ShapeCase;

    fn sweep() -> Sweep {
        Sweep {
            suite: "trt".into(),
            trtexec: "t".into(),
            engine: "e".into(),
            plugin: None,
            cases: Vec::new(),
            settings: TimingSettings { warmup_milliseconds: 0, skipped_calls: 0, iterations: 1, duration_seconds: 0 },
            time_out: Duration::from_secs(1),
            protocol: Protocol::ordinary(3),
            guard: None,
        }
    }

    #[test]
    fn a_case_is_known_by_its_shapes() {
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
        let shapes = ShapeCase::parse("a=8x3").expect("the case is fine");
        let case = NumberedCase { number: 1, shapes };
        let outcome = Ok(vec![vec![1.0, 1.0, 1.0, 9.0], vec![3.0], vec![2.0]]);
        let result = |batch, outcome| CaseResult { case: case.clone(), batch, outcome };
        let found = measurement(&sweep(), &result(Some(8), outcome.clone()));
        assert_eq!(found.attributes["case"], "case_001_8_3");
        let [time, frames] = &found.estimates[..] else { panic!("two metrics: {found:?}") };
        assert_eq!((time.value, &time.workers[..], time.n), (2.0, &[1.0, 3.0, 2.0][..], 6));
        assert_eq!((frames.metric.name.as_str(), frames.value), ("frames_per_s", 4.0));
        let unknown = measurement(&sweep(), &result(None, outcome));
        assert_eq!(unknown.estimates.len(), 1, "there is no rate of what is unknown: {unknown:?}");
        let failed = measurement(&sweep(), &result(None, Err(Reason::new(ReasonCode::TimeOut, "it hung"))));
        assert_eq!(failed.failure.as_deref(), Some("tensorrt_timeout: it hung"));
        assert!(failed.estimates.is_empty());
    }
}
