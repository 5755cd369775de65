//! Converts runs of other tools to runs of the history.
//!
//! A record depends on nothing but its source: equal input gives equal bytes, so repeated imports are recognised.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Datelike as _, SubsecRound as _, Utc};
use serde_json::{Value, json};

use sprag_base::stats::{bootstrap, describe};
use sprag_base::text::is_unsafe_in_name;
use sprag_formats::recordable;
use sprag_model::environment::NO_MACHINE;
use sprag_model::imported::Entry;
use sprag_model::record::YEARS;
use sprag_model::run::IMPORT;
use sprag_model::{
    Attributes, Benchmark, Commit, EntryStatus, Environment, Estimate, ImportedCommit, ImportedRun, Machine,
    Measurement, Metric, Observation, Parity, ParityStatus, Quality, Role, Run, RunStatus,
};

/// With fewer samples a 95th percentile is just one of the largest.
const FEWEST_FOR_P95: usize = 100;

/// Beyond, only the interval is recorded.
const MOST_WORKERS: usize = 30;

/// Of one benchmark; the longest in characters.
const MOST_ATTRIBUTES: usize = 16;
const LONGEST_ATTRIBUTE: usize = 200;

pub struct ImportTarget {
    pub suite: String,
    pub commit: Option<Commit>,
    pub machine: String,
    pub time: DateTime<Utc>,
}

pub struct ImportSource {
    pub format: &'static str,
    pub tool: String,
    pub tool_version: Option<String>,
}

pub fn run(source: &ImportSource, run: ImportedRun, place: ImportTarget) -> Run {
    let class = ["gpu_model", "cpu_model"].iter().find_map(|name| run.facts.get(*name));
    let class = class.map_or(NO_MACHINE, String::as_str);
    let measurements = measurements(&place.suite, &run.entries);
    let (status, reason) = status(&measurements, &run.entries);
    let tool = match &source.tool_version {
        Some(version) => format!("{} {version}", source.tool),
        None => source.tool.clone(),
    };
    Run {
        machine: Machine::named(&place.machine, class),
        suite: place.suite,
        timestamp: place.time.trunc_subsecs(0),
        environment: Environment::from_facts(run.facts.clone()),
        config: BTreeMap::from([(IMPORT.to_owned(), provenance(source, &run))]),
        status,
        reason,
        quality: Quality {
            clean: false,
            reasons: vec![format!("imported: measured by {tool}, and how noisy the machine was is unknown")],
        },
        measurements,
        autotune: Vec::new(),
        commit: place.commit,
    }
}

/// Describes a commit that is not in this repository; `None` without a full id.
pub fn described(named: &ImportedCommit, time: DateTime<Utc>) -> Option<Commit> {
    let time = time.trunc_subsecs(0);
    (named.named_at.is_none() && named.sha.len() == 40).then(|| Commit {
        subject: named.subject.clone().unwrap_or_default(),
        branch: named.branch.clone(),
        ..Commit::new(named.sha.clone(), time)
    })
}

pub fn is_recordable(time: &DateTime<Utc>) -> bool {
    YEARS.contains(&time.year())
}

fn provenance(source: &ImportSource, run: &ImportedRun) -> Value {
    let mut provenance = json!({ "format": source.format, "tool": source.tool, "sha256": run.digest });
    let optional = [
        ("tool_version", source.tool_version.clone()),
        ("suite", run.suite.clone()),
        ("commit", run.commit.as_ref().map(|commit| commit.sha.clone())),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            provenance[key] = Value::from(value);
        }
    }
    provenance
}

fn status(measurements: &[Measurement], entries: &[Entry]) -> (RunStatus, Option<String>) {
    if measurements.iter().any(|one| one.failure.is_none()) {
        return (RunStatus::Ok, None);
    }
    let reason = measurements.iter().find_map(|one| one.failure.clone());
    let reason = reason.unwrap_or_else(|| "the source holds no benchmark".to_owned());
    let skipped = entries.iter().all(|entry| matches!(entry.status, EntryStatus::Skipped(_)));
    (if skipped && !entries.is_empty() { RunStatus::Skipped } else { RunStatus::Failed }, Some(reason))
}

/// Several entries of one id cannot be distinguished, so they fail.
fn measurements(suite: &str, entries: &[Entry]) -> Vec<Measurement> {
    let reserved = Metric::reserved();
    let mut places: HashMap<Arc<Benchmark>, usize> = HashMap::with_capacity(entries.len());
    let mut measurements: Vec<Measurement> = Vec::with_capacity(entries.len());
    for entry in entries {
        let one = measurement(suite, entry, &reserved);
        match places.get(&one.benchmark) {
            Some(place) => {
                let other = &mut measurements[*place];
                other.estimates.clear();
                other.failure = Some(format!("`{}` is in the source more than once", other.benchmark.id()));
            }
            None => {
                places.insert(Arc::clone(&one.benchmark), measurements.len());
                measurements.push(one);
            }
        }
    }
    measurements
}

fn measurement(suite: &str, entry: &Entry, reserved: &[Metric]) -> Measurement {
    let (estimates, failure) = match recordable::observations(entry, reserved) {
        Ok(observations) => (observations.into_iter().map(|(metric, one)| estimate(metric, one)).collect(), None),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    Measurement {
        benchmark: recordable::benchmark(suite, entry).into(),
        role: Role::Tracked,
        attributes: attributes(entry),
        parity: Parity { status: ParityStatus::Unchecked, max_abs_error: None, tolerance: None },
        estimates,
        failure,
    }
}

fn estimate(metric: Metric, observation: &Observation) -> Estimate {
    let Observation { value, samples, processes, n, .. } = observation;
    let all = (samples.len() >= FEWEST_FOR_P95).then_some(samples);
    let few = !processes.is_empty() && processes.len() <= MOST_WORKERS;
    Estimate {
        metric,
        value: *value,
        workers: if few { processes.clone() } else { vec![*value] },
        p50: describe::median(samples),
        p95: all.and_then(|samples| describe::quantile(samples, 0.95)),
        min: samples.iter().copied().reduce(f64::min),
        interval: bootstrap::median_interval(processes).filter(|(low, high)| low <= high),
        detectable: None,
        n: (*n).max(1),
    }
}

/// Extras of the source, and units that differ from the recorded ones.
fn attributes(entry: &Entry) -> Attributes {
    let mut attributes = Attributes::new();
    let mut put = |key: &str, value: String| {
        if attributes.len() < MOST_ATTRIBUTES && !value.is_empty() {
            let clean = |text: &str| text.chars().filter(|c| !is_unsafe_in_name(*c)).take(LONGEST_ATTRIBUTE).collect();
            attributes.insert(clean(key), clean(&value));
        }
    };
    for observation in &entry.observations {
        if observation.source_unit != observation.metric.unit.symbol() {
            put(&format!("unit.{}", observation.metric.name), observation.source_unit.clone());
        }
    }
    for (key, value) in &entry.extras {
        match value {
            Value::Null => {}
            Value::String(text) => put(key, text.clone()),
            Value::Object(fields) => {
                for (field, value) in fields.iter().filter(|(_, value)| !value.is_object() && !value.is_array()) {
                    put(&format!("{key}.{field}"), value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                }
            }
            single => put(key, single.to_string()),
        }
    }
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, observations: Vec<Observation>) -> Entry {
        Entry { series: name.to_owned(), name: name.to_owned(), observations, ..Entry::default() }
    }

    fn time(samples: &[f64]) -> Observation {
        Observation::sampled(Metric::time(), "ns", samples[0], samples.to_vec())
    }

    fn converted(entries: Vec<Entry>) -> Run {
        let digest = "00".to_owned();
        let imported = ImportedRun { entries, digest, suite: Some("S x".to_owned()), ..Default::default() };
        let version = Some("1.2".to_owned());
        let source = ImportSource { format: "tool-json", tool: "tool".to_owned(), tool_version: version };
        let time = "2026-01-02T03:04:05.678Z".parse().expect("a time");
        let place = ImportTarget { suite: "s".to_owned(), commit: None, machine: "m".to_owned(), time };
        let run = run(&source, imported, place);
        let (_, _, bytes) = run.to_record();
        assert_eq!(Run::from_record(&bytes).expect("it can be recorded").1, run);
        run
    }

    #[test]
    fn a_record_names_its_source() {
        let mut observation = time(&[2e-6, 1e-6, 4e-6]);
        let run = converted(vec![entry("a", vec![observation.clone()])]);
        let import =
            json!({"format": "tool-json", "tool": "tool", "tool_version": "1.2", "sha256": "00", "suite": "S x"});
        assert_eq!(run.config[IMPORT], import);
        assert!(run.quality.reasons[0].contains("measured by tool 1.2"), "{:?}", run.quality);
        let estimate = &run.measurements[0].estimates[0];
        assert_eq!((estimate.value, estimate.p50, estimate.min, estimate.n), (2e-6, Some(2e-6), Some(1e-6), 3));
        assert_eq!((estimate.p95, estimate.interval), (None, None));
        assert_eq!(run.measurements[0].attributes, BTreeMap::from([("unit.time".to_owned(), "ns".to_owned())]));
        observation.processes = vec![1e-6, 2e-6, 3e-6, 2e-6, 2e-6];
        let run = converted(vec![entry("a", vec![observation.clone()])]);
        let estimate = &run.measurements[0].estimates[0];
        assert!(estimate.workers.len() == 5 && estimate.interval.is_some(), "{estimate:?}");
        observation.processes = vec![1e-6; 100];
        let run = converted(vec![entry("a", vec![observation])]);
        assert_eq!(run.measurements[0].estimates[0].workers, [2e-6]);
    }

    #[test]
    fn a_bad_entry_fails_alone() {
        let failed = |one: Entry, words: &str| {
            let run = converted(vec![one, entry("fine", vec![time(&[1e-6])])]);
            let reason = run.measurements[0].failure.as_deref().unwrap_or_default();
            assert!(run.status == RunStatus::Ok && reason.contains(words), "{reason}");
        };
        failed(entry("a", vec![]), "holds no value");
        failed(entry("a", vec![time(&[0.0])]), "more than zero is needed");
        failed(entry("a", vec![time(&[f64::NAN])]), "which is not a number");
        failed(entry("a", vec![time(&[1.0]), time(&[1.0])]), "twice");
        let skipped = |why: &str| Entry { status: EntryStatus::Skipped(why.to_owned()), ..entry("a", vec![]) };
        failed(skipped("no\n GPU"), "skipped: no GPU");
        let twice = converted(vec![entry("a", vec![time(&[1.0])]), entry("a", vec![time(&[2.0])])]);
        assert_eq!((twice.measurements.len(), twice.status), (1, RunStatus::Failed));
        assert_eq!(converted(vec![skipped("why")]).status, RunStatus::Skipped);
        assert_eq!(converted(vec![]).status, RunStatus::Failed);
    }
}
