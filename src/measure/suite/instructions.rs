//! `sprag run --count-instructions`: a count of instructions beside the times of each benchmark, or why there is none.

use serde_json::Value;

use super::draft;
use super::observer::Observer;
use crate::MeasureError;
use crate::instructions::{Count, CountPlan, LIMIT, Uncounted, Valgrind};
use crate::process::WorkerCommand;
use crate::protocol::Configurations;
use crate::workload::Workload;
use sprag_model::metric::Metric;
use sprag_model::run::Run;
use sprag_model::sample::{Estimate, Measurement, Role};

const SETTING: &str = "count_instructions";

/// The fact that names the version of Valgrind.
const VERSION_FACT: &str = "valgrind";

/// The attribute that names the widest instructions the counted code could choose.
const ISA: &str = "instructions_isa";

/// The attribute of a benchmark whose two counted calls differ: both counts.
const VARIED: &str = "instructions_varied";

/// The attribute of a benchmark that could not be counted: why.
const FAILURE: &str = "instructions_failure";

/// After so many benchmarks that took too long, the others are not tried.
const MOST_TIME_OUTS: usize = 2;

/// Counts the benchmarks of a run that were timed on one thread. What cannot be counted is told in the run.
pub(super) fn count(
    run: &mut Run,
    workloads: &[&Workload],
    configurations: &Configurations,
    seed: u64,
    observer: &dyn Observer,
) -> Result<(), MeasureError> {
    run.config.insert(SETTING.to_owned(), Value::from(true));
    let valgrind = match Valgrind::find() {
        Ok(valgrind) => valgrind,
        Err(reason) => {
            observer.end();
            observer.warn(&format!("instructions are not counted: {reason}"));
            observer.note("Valgrind is the package `valgrind` of most Linux distributions; times do not need it");
            doubt(run, format!("instructions were not counted: {reason}"));
            return Ok(());
        }
    };
    run.environment.facts.insert(VERSION_FACT.to_owned(), valgrind.version.clone());
    let counted: Vec<&&Workload> =
        workloads.iter().filter(|one| one.threads == 1 && one.role != Role::Control).collect();
    let benchmarks = draft::count(counted.len(), "benchmark");
    let message = format!("suite {}: counting instructions of {benchmarks}", run.suite);
    observer.begin(&message, counted.len() as u64);
    let command = WorkerCommand::for_task("count")?;
    let mut time_outs = 0;
    for (place, workload) in (1..).zip(counted) {
        let fits = |one: &&mut Measurement| *one.benchmark == workload.benchmark && one.failure.is_none();
        if let Some(measurement) = run.measurements.iter_mut().find(fits) {
            let id = workload.benchmark.id();
            let plan = CountPlan {
                suite: run.suite.clone(),
                configuration: configurations.get(&id).cloned(),
                benchmark: id,
                seed,
            };
            let found = if time_outs < MOST_TIME_OUTS {
                valgrind.count(&command, &plan, LIMIT)
            } else {
                let reason = format!("callgrind_failed: not tried after {MOST_TIME_OUTS} benchmarks took too long");
                Err(Uncounted { reason, time_is_up: false })
            };
            time_outs += usize::from(found.as_ref().is_err_and(|uncounted| uncounted.time_is_up));
            attach(measurement, found);
        }
        observer.step(place);
    }
    let failed = run.measurements.iter().filter(|one| one.attributes.contains_key(FAILURE)).count();
    if failed > 0 {
        let plural = if failed == 1 { "benchmark was" } else { "benchmarks were" };
        doubt(run, format!("instructions of {failed} {plural} not counted, see `{FAILURE}`"));
    }
    Ok(())
}

/// The count as an estimate of its own, after all others: no gate that looks at times sees it.
fn attach(measurement: &mut Measurement, found: Result<Count, Uncounted>) {
    let count = match found {
        Ok(count) => count,
        Err(uncounted) => {
            measurement.attributes.insert(FAILURE.to_owned(), uncounted.reason);
            return;
        }
    };
    measurement.attributes.insert(ISA.to_owned(), count.isa);
    if count.first != count.second {
        measurement.attributes.insert(VARIED.to_owned(), format!("{} {}", count.first, count.second));
    }
    measurement.estimates.push(Estimate {
        metric: Metric::instructions(),
        value: count.first as f64,
        workers: vec![count.first as f64],
        p50: None,
        p95: None,
        min: None,
        interval: None,
        detectable: None,
        n: 2,
    });
}

fn doubt(run: &mut Run, reason: String) {
    run.quality.clean = false;
    run.quality.reasons.push(reason);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use sprag_model::benchmark::{Benchmark, Parity, ParityStatus};

    fn measurement() -> Measurement {
        Measurement {
            benchmark: Benchmark::new("cpu", "x", &[], "fast").expect("the name is a word").into(),
            role: Role::Tracked,
            attributes: BTreeMap::new(),
            parity: Parity { status: ParityStatus::Exact, max_abs_error: None, tolerance: None },
            estimates: Vec::new(),
            failure: None,
        }
    }

    #[test]
    fn a_count_stands_beside_the_times_and_a_second_one_that_differs_is_shown() {
        let check = |second: u64, varied: Option<&str>| {
            let mut one = measurement();
            attach(&mut one, Ok(Count { first: 5_877_587, second, isa: "avx2".into() }));
            assert_eq!(one.estimate("instructions").map(|count| (count.value, count.n)), Some((5_877_587.0, 2)));
            assert_eq!(one.attributes.get(ISA).map(String::as_str), Some("avx2"));
            assert_eq!(one.attributes.get(VARIED).map(String::as_str), varied);
        };
        check(5_877_587, None);
        check(12, Some("5877587 12"));
    }

    #[test]
    fn what_was_not_counted_says_why() {
        let mut one = measurement();
        attach(&mut one, Err(Uncounted { reason: "callgrind_failed: x".into(), time_is_up: false }));
        assert!(one.estimates.is_empty() && one.failure.is_none());
        assert_eq!(one.attributes[FAILURE], "callgrind_failed: x");
    }
}
