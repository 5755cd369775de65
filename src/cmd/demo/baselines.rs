//! The baselines of the generated project.

use std::collections::BTreeMap;

use anyhow::Context;

use crate::model::baseline::{Baseline, BaselineMetric, SCHEMA_VERSION};
use crate::model::metric::TIME;
use crate::model::run::{Run, RunStatus};
use crate::model::series::slug;

use super::machines::BENCHES;
use super::runs::median;

/// Of how many runs before the baseline the median is taken.
const RUNS: usize = 5;

/// The allowed relative worsening.
const RATIO: f64 = 0.05;

/// A baseline for the suite `cpu` on each class of machine: path and content.
pub(super) fn files(runs: &[Run]) -> anyhow::Result<Vec<(String, String)>> {
    let machines = BENCHES.iter().filter(|bench| bench.suite == "cpu").map(|bench| bench.machine());
    machines
        .map(|machine| {
            let of_machine: Vec<&Run> = runs.iter().filter(|run| run.machine == machine).collect();
            let last = &of_machine[of_machine.len().saturating_sub(RUNS)..];
            let baseline =
                take(last).with_context(|| format!("no runs of `{}` to take a baseline from", machine.name))?;
            let path = format!("baselines/cpu.{}.json", slug(&machine.class, 60));
            Ok((path, baseline.to_json()))
        })
        .collect()
}

fn take(runs: &[&Run]) -> Option<Baseline> {
    let newest = runs.last()?;
    let (id, ..) = newest.to_record();
    let mut metrics = BTreeMap::new();
    for measurement in &newest.measurements {
        let estimate = measurement.estimate(TIME)?;
        let same =
            runs.iter().flat_map(|run| &run.measurements).filter(|other| other.benchmark == measurement.benchmark);
        let values: Vec<f64> = same.filter_map(|other| Some(other.estimate(TIME)?.value)).collect();
        let metric = BaselineMetric {
            value: median(&values),
            unit: estimate.metric.unit,
            better: estimate.metric.better,
            max_regression_ratio: RATIO,
            max_regression_abs: 0.0,
        };
        metrics.insert(Baseline::key(&measurement.benchmark.id(), TIME), metric);
    }
    Some(Baseline {
        schema_version: SCHEMA_VERSION,
        suite: newest.suite.clone(),
        machine_class: newest.machine.class.clone(),
        environment: newest.environment.clone(),
        commit: newest.commit.as_ref().map(|commit| commit.sha.clone()),
        run: id,
        timestamp_utc: newest.timestamp,
        required_status: RunStatus::Ok,
        notes: format!("the median of the last {} runs, taken after v0.3.0", runs.len()),
        metrics,
    })
}
