//! Recorded timings of identical code: nothing is expected of them but that the rule `interval` calls no difference.
//!
//! A case holds the samples of processes in the order in which they ran. Taken as pairs of two builds, in either order of
//! turns, at most one window of ten pairs in fifty may be called slower at a tolerance of zero, the strictest there is.

use serde_json::Value;

use crate::failure::{Outcome, read, require};
use crate::tensor::{Number, plain};
use sprag_analysis::interleaved::{self, PairOrder};

/// How many pairs of processes a window holds.
const PAIRS: usize = 10;

/// The share of windows that may be called slower.
const MOST_CALLED: f64 = 0.02;

pub(crate) fn run(case: Value) -> Outcome {
    let processes: Vec<Vec<Number>> = read("the case", case)?;
    require(processes.len() > 2 * PAIRS, || {
        format!("the case has {} processes, and more than {} are needed", processes.len(), 2 * PAIRS)
    })?;
    let processes: Vec<Vec<f64>> = processes.iter().map(|samples| plain(samples)).collect();
    for (place, samples) in processes.iter().enumerate() {
        require(!samples.is_empty(), || format!("process {place}: it has no samples"))?;
        let bad = samples.iter().find(|sample| !(sample.is_finite() && **sample > 0.0));
        require(bad.is_none(), || {
            format!("process {place}: a sample is {}, where more than zero is needed", bad.unwrap_or(&0.0))
        })?;
    }
    for order in [PairOrder::Same, PairOrder::Turned] {
        let called = interleaved::called(&processes, PAIRS, order, 1.0, 0.0);
        require(called.share() <= MOST_CALLED, || {
            format!(
                "expected at most {:.0} % of the windows called slower, got {} of {} ({:.1} %)",
                100.0 * MOST_CALLED,
                called.regressed,
                called.verdicts,
                100.0 * called.share()
            )
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn recorded_timings_are_called_alike_and_tampered_ones_are_not() {
        let text = include_str!("../../fixtures/golden/stats/aa_invocations.json");
        let golden: Value = serde_json::from_str(text).expect("the recording is JSON");
        let kernels = golden["kernels"].as_object().expect("there are kernels");
        assert_eq!(kernels.len(), 4);
        for (name, kernel) in kernels {
            run(kernel.clone()).expect("it passes");
            // Either order of turns sees what goes with its own current side.
            for slow in [[1, 3], [1, 2]] {
                let mut tampered = kernel.clone();
                for (place, process) in tampered.as_array_mut().expect("a list").iter_mut().enumerate() {
                    for sample in process.as_array_mut().expect("a list") {
                        let factor = if slow.contains(&(place % 4)) { 1.05 } else { 1.0 };
                        *sample = json!(sample.as_f64().expect("a number") * factor);
                    }
                }
                let error = run(tampered).expect_err(name).to_string();
                assert!(error.contains("called slower"), "{name}: {error}");
            }
        }
    }

    #[test]
    fn what_proves_nothing_fails() {
        let check = |case: Value, says: &str| {
            let error = run(case).expect_err("it proves nothing").to_string();
            assert!(error.contains(says), "{error}");
        };
        check(json!({}), "expected a sequence");
        check(json!(vec![[1.0]; 20]), "has 20 processes, and more than 20");
        check(json!(vec![Vec::<f64>::new(); 40]), "process 0: it has no samples");
        check(json!(vec![[0.0]; 40]), "a sample is 0");
        check(json!(vec![["NaN"]; 40]), "a sample is NaN");
    }
}
