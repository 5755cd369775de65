//! Repetitions of benchmarks, gathered to entries.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::field;
use sprag_base::stats::describe;
use sprag_model::imported::{Entry, EntryStatus, Observation};
use sprag_model::metric::Metric;

/// The most counters that are kept of a benchmark.
const MOST_COUNTERS: usize = 100;

/// The aggregates of which the first that is there stands for a benchmark without repetitions.
const STAND_INS: [&str; 2] = ["median", "mean"];

const FITS: [&str; 2] = ["BigO", "RMS"];

/// One line of a report.
#[derive(Clone, Debug, Default)]
pub(super) struct Repetition {
    /// The benchmark, without the name of an aggregate.
    pub(super) name: String,
    /// Which aggregate it is; none for a repetition.
    pub(super) aggregate: Option<String>,
    /// Why it was left out.
    pub(super) skipped: Option<String>,
    /// Seconds, or why there are none.
    pub(super) real_time: Option<Result<f64, String>>,
    /// Seconds of the processor.
    pub(super) cpu_time: Option<f64>,
    pub(super) time_unit: String,
    /// How many repetitions there were.
    pub(super) repetitions: Option<u64>,
    /// What the benchmark calls this case.
    pub(super) label: Option<String>,
    pub(super) counters: BTreeMap<String, f64>,
}

impl Repetition {
    /// Whether it is a fit over several benchmarks, which says nothing of a time.
    pub(super) fn is_fit(&self) -> bool {
        self.aggregate.as_deref().is_some_and(|aggregate| FITS.contains(&aggregate))
    }
}

/// Seconds in a unit of time that the library knows.
pub(super) fn seconds(time_unit: &str) -> Result<f64, String> {
    match time_unit {
        "ns" => Ok(1e-9),
        "us" => Ok(1e-6),
        "ms" => Ok(1e-3),
        "s" => Ok(1.0),
        _ => Err(format!("its `time_unit` is `{}`, where ns, us, ms or s is needed", field::told(time_unit))),
    }
}

/// Tells aggregates by their names, in reports that do not say which lines are such: `x_mean` is one where there is an
/// `x_stddev` too.
pub(super) fn name_aggregates(repetitions: &mut [Repetition]) {
    let names: BTreeSet<String> = repetitions.iter().map(|one| one.name.clone()).collect();
    let has = |name: &str, aggregate: &str| names.contains(&format!("{name}_{aggregate}"));
    for one in repetitions {
        let Some((name, aggregate)) = one.name.rsplit_once('_') else { continue };
        let is_aggregate = match aggregate {
            "mean" | "median" | "stddev" | "cv" => has(name, "mean") && has(name, "stddev"),
            "BigO" | "RMS" => has(name, "BigO") && has(name, "RMS"),
            _ => false,
        };
        if is_aggregate {
            one.aggregate = Some(aggregate.to_owned());
            one.name = name.to_owned();
        }
    }
}

/// One entry a benchmark, in the order of the first line of each; fits are left out.
pub(super) fn entries(repetitions: &[Repetition]) -> Vec<Entry> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Repetition>> = Vec::new();
    for one in repetitions.iter().filter(|one| !one.is_fit()) {
        let place = *places.entry(&one.name).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(one);
    }
    groups.iter().map(|group| entry(group)).collect()
}

fn entry(group: &[&Repetition]) -> Entry {
    let name = group.first().map(|one| one.name.clone()).unwrap_or_default();
    let mut entry = Entry { series: name.clone(), name, ..Entry::default() };
    let measured: Vec<&Repetition> =
        group.iter().copied().filter(|one| one.aggregate.is_none() && one.skipped.is_none()).collect();
    let skipped = group.iter().find_map(|one| one.skipped.as_deref());
    let result = match (&measured[..], skipped) {
        ([], Some(reason)) => {
            entry.status = EntryStatus::Skipped(field::reason(Some(reason)));
            return entry;
        }
        ([], None) => aggregated(group, &mut entry.extras),
        (repeated, _) => repeated_times(repeated, &mut entry.extras),
    };
    match result {
        Ok(observation) => entry.observations.push(observation),
        Err(reason) => entry.status = EntryStatus::Failed(reason),
    }
    entry
}

fn repeated_times(repeated: &[&Repetition], extras: &mut BTreeMap<String, Value>) -> Result<Observation, String> {
    let mut counters: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for one in repeated {
        for (name, value) in &one.counters {
            counters.entry(name).or_default().push(*value);
        }
    }
    for (name, values) in counters.iter().take(MOST_COUNTERS) {
        field::extra(extras, name, describe::median(values));
    }
    let cpu_times: Vec<f64> = repeated.iter().filter_map(|one| one.cpu_time).collect();
    field::extra(extras, "cpu_p50", describe::median(&cpu_times));
    let label = repeated.iter().find_map(|one| one.label.as_deref());
    extras.extend(label.map(|label| ("label".to_owned(), Value::from(field::told(label)))));
    let samples = repeated.iter().map(|one| time(one)).collect::<Result<Vec<f64>, String>>()?;
    let value = describe::median(&samples).ok_or_else(|| "it has no repetitions".to_owned())?;
    Ok(Observation::sampled(Metric::time(), &unit_of(repeated), value, samples))
}

/// The median of repetitions that the file itself does not have.
fn aggregated(group: &[&Repetition], extras: &mut BTreeMap<String, Value>) -> Result<Observation, String> {
    let named = |name: &str| group.iter().find(|one| one.aggregate.as_deref() == Some(name));
    let one = STAND_INS.iter().find_map(|name| named(name));
    let one = one.ok_or_else(|| "it has neither repetitions nor their median or mean".to_owned())?;
    for (name, value) in one.counters.iter().take(MOST_COUNTERS) {
        field::extra(extras, name, Some(*value));
    }
    extras.extend(one.aggregate.clone().map(|aggregate| ("statistic".to_owned(), Value::from(aggregate))));
    extras.extend(one.repetitions.map(|count| ("repetitions".to_owned(), Value::from(count))));
    let spread = named("stddev").and_then(|one| one.real_time.as_ref()?.as_ref().ok().copied());
    field::extra(extras, "stddev", spread);
    let observation = Observation::summary(Metric::time(), &unit_of(&[one]), time(one)?);
    Ok(Observation { n: one.repetitions.unwrap_or_default(), ..observation })
}

fn unit_of(repeated: &[&Repetition]) -> String {
    repeated.first().map(|one| one.time_unit.clone()).unwrap_or_default()
}

fn time(one: &Repetition) -> Result<f64, String> {
    one.real_time.clone().unwrap_or_else(|| Err("it has no `real_time`".to_owned()))
}
