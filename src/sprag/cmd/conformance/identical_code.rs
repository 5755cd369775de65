//! Recorded timings of identical code: nothing is expected of them but that the rule `interval` calls no difference.
//!
//! A case holds the samples of processes in the order in which they ran. Taken as pairs of two builds, in either order of
//! turns, at most one window of ten pairs in fifty may be called slower at a tolerance of zero, the strictest there is.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::case::{list, number};
use sprag_analysis::interleaved::{self, Order};

/// How many pairs of processes a window holds.
const PAIRS: usize = 10;

/// The share of windows that may be called slower.
const MOST_CALLED: f64 = 0.02;

pub(super) fn run(case: &Value) -> Result<()> {
    let processes = list("the case", case)?;
    let enough = processes.len() > 2 * PAIRS;
    ensure!(enough, "the case has {} processes, and more than {} are needed", processes.len(), 2 * PAIRS);
    let processes: Vec<Vec<f64>> = processes
        .iter()
        .enumerate()
        .map(|(place, samples)| numbers(samples).with_context(|| format!("process {place}")))
        .collect::<Result<_>>()?;
    for order in [Order::Same, Order::Turned] {
        let called = interleaved::called(&processes, PAIRS, order, 1.0, 0.0);
        ensure!(
            called.share() <= MOST_CALLED,
            "expected at most {:.0} % of the windows called slower, got {} of {} ({:.1} %)",
            100.0 * MOST_CALLED,
            called.regressed,
            called.verdicts,
            100.0 * called.share()
        );
    }
    Ok(())
}

fn numbers(samples: &Value) -> Result<Vec<f64>> {
    let samples: Vec<f64> = list("the samples", samples)?.iter().map(number).collect::<Result<_>>()?;
    let bad = samples.iter().find(|sample| !(sample.is_finite() && **sample > 0.0));
    ensure!(bad.is_none(), "a sample is {}, where more than zero is needed", bad.copied().unwrap_or(0.0));
    ensure!(!samples.is_empty(), "it has no samples");
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn recorded_timings_are_called_alike_and_tampered_ones_are_not() {
        let text = include_str!("../../../../fixtures/golden/stats/aa_invocations.json");
        let golden: Value = serde_json::from_str(text).expect("the recording is JSON");
        let kernels = golden["kernels"].as_object().expect("there are kernels");
        assert_eq!(kernels.len(), 4);
        for (name, kernel) in kernels {
            run(kernel).expect("it passes");
            // Either order of turns sees what goes with its own current side.
            for slow in [[1, 3], [1, 2]] {
                let mut tampered = kernel.clone();
                for (place, process) in tampered.as_array_mut().expect("a list").iter_mut().enumerate() {
                    for sample in process.as_array_mut().expect("a list") {
                        let factor = if slow.contains(&(place % 4)) { 1.05 } else { 1.0 };
                        *sample = json!(sample.as_f64().expect("a number") * factor);
                    }
                }
                let error = format!("{:#}", run(&tampered).expect_err(name));
                assert!(error.contains("called slower"), "{name}: {error}");
            }
        }
    }

    #[test]
    fn what_proves_nothing_fails() {
        let check = |case: Value, says: &str| {
            let error = format!("{:#}", run(&case).expect_err("it proves nothing"));
            assert!(error.contains(says), "{error}");
        };
        check(json!({}), "is not a list");
        check(json!(vec![[1.0]; 20]), "has 20 processes, and more than 20");
        check(json!(vec![Vec::<f64>::new(); 40]), "process 0: it has no samples");
        check(json!(vec![[0.0]; 40]), "a sample is 0");
        check(json!(vec![["NaN"]; 40]), "a sample is NaN");
        check(json!([3]), "processes");
    }
}
