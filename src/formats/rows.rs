//! Canonical rows of golden cases, compared with what a reader makes of the samples next to them.
//!
//! A row has `series`, `metric`, `unit`, `better`, `value`, `n`, `status`, where there are samples `p50`, `p95`, `min`,
//! `max` and `mean`, and more of its tool's own. Every key of every row is compared; a quantile is interpolated linearly
//! at `p * (n - 1)`.

use serde_json::Value;

use super::quantity::quantity;
use sprag_base::stats::describe;
use sprag_model::imported::{Entry, EntryStatus, Imported, ImportedRun, Observation};

/// Of two numbers, relative to the larger: the rounding of a few operations.
const TOLERANCE: f64 = 1e-12;

pub struct ReadSource {
    /// The name of the file, without folders.
    pub name: String,
    pub imported: Imported,
}

/// Each row must agree in every key with an entry of a source, and each entry must have a row. Errors say what differs, one
/// line each.
pub fn compare(rows: &[Value], sources: &[ReadSource]) -> Result<(), Vec<String>> {
    let runs = sources.iter().flat_map(|source| source.imported.runs.iter().map(move |run| (source, run)));
    let entries: Vec<(&ReadSource, &ImportedRun, &Entry)> =
        runs.flat_map(|(source, run)| run.entries.iter().map(move |entry| (source, run, entry))).collect();
    let mut faults = Vec::new();
    for row in rows {
        let named = entries.iter().filter(|(_, run, entry)| is_named(row, run, entry));
        let nearest = named.map(|(source, run, entry)| differences(row, source, run, entry)).min_by_key(Vec::len);
        let differing = nearest.unwrap_or_else(|| vec!["no source has it".to_owned()]);
        if !differing.is_empty() {
            let word = |key: &str| row[key].as_str().unwrap_or("?").to_owned();
            faults.push(format!("{} {}: {}", word("series"), word("metric"), differing.join("; ")));
        }
    }
    for (source, run, entry) in entries {
        if !rows.iter().any(|row| is_named(row, run, entry)) {
            faults.push(format!("{}: `{}` is in no row", source.name, entry.series));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Whether a row is of the entry: it may have the suite before its series, where a source holds several, or the variant
/// behind it.
fn is_named(row: &Value, run: &ImportedRun, entry: &Entry) -> bool {
    let Some(series) = row["series"].as_str() else { return false };
    let with_suite = || run.suite.as_ref().is_some_and(|suite| format!("{suite}/{}", entry.series) == series);
    let with_variant = || entry.variant.as_ref().is_some_and(|variant| format!("{}@{variant}", entry.series) == series);
    series == entry.series || with_suite() || with_variant()
}

fn differences(row: &Value, source: &ReadSource, run: &ImportedRun, entry: &Entry) -> Vec<String> {
    let mut faults = Vec::new();
    let unit = row["unit"].as_str().unwrap_or_default();
    let wanted = quantity(unit);
    let metric = row["metric"].as_str().unwrap_or_default();
    let observation = entry.observations.iter().find(|one| one.metric.name == metric || metric == "value");
    let (status, reason) = match &entry.status {
        EntryStatus::Ok => ("ok", None),
        EntryStatus::Skipped(reason) => ("skipped", Some(reason.as_str())),
        EntryStatus::Failed(reason) => ("failed", Some(reason.as_str())),
    };
    if status == "ok" && observation.is_none() {
        let metrics: Vec<&str> = entry.observations.iter().map(|one| one.metric.name.as_str()).collect();
        return vec![format!("it has the metrics {metrics:?}")];
    }
    for (key, expected) in row.as_object().into_iter().flatten() {
        let value = match key.as_str() {
            "series" | "metric" => continue,
            "unit" => {
                if observation.is_some_and(|one| one.metric.unit != wanted.unit) {
                    faults.push(format!("unit {unit}, found {:?}", observation.map(|one| one.metric.unit)));
                }
                continue;
            }
            "better" => observation.map(|one| Value::from(one.metric.better.word())),
            "status" => Some(Value::from(status)),
            "reason" => reason.map(Value::from),
            "n" => Some(Value::from(observation.map_or(0, |one| one.samples.len()))),
            "value" => observation.map(|one| Value::from(one.value)),
            "p50" => of_samples(observation, describe::median),
            "p95" => of_samples(observation, |samples| describe::quantile(samples, 0.95)),
            "min" => of_samples(observation, |samples| samples.iter().copied().reduce(f64::min)),
            "max" => of_samples(observation, |samples| samples.iter().copied().reduce(f64::max)),
            "mean" => of_samples(observation, |samples| Some(samples.iter().sum::<f64>() / samples.len() as f64)),
            "file" => Some(Value::from(source.name.as_str())),
            "machine" => run.machine.as_deref().map(Value::from),
            "commit" => run.commit.as_ref().map(|commit| Value::from(commit.sha.as_str())),
            "date_ms" => run.time.map(|time| Value::from(time.timestamp_millis())),
            _ => None,
        };
        let value = value.or_else(|| extra(entry, metric, key).cloned());
        // What has no value has no direction.
        if key == "better" && value.is_none() {
            continue;
        }
        let factor = if matches!(key.as_str(), "n" | "date_ms") { 1.0 } else { wanted.factor };
        if !agree(expected, value.as_ref().unwrap_or(&Value::Null), factor) {
            faults.push(format!("{key} {expected} {unit}, found {}", value.unwrap_or(Value::Null)));
        }
    }
    faults
}

/// The extra of an entry under that key, or under the metric's name where it has extras of each metric.
fn extra<'a>(entry: &'a Entry, metric: &str, key: &str) -> Option<&'a Value> {
    let own = entry.extras.get(metric).and_then(Value::as_object);
    own.map_or_else(|| entry.extras.get(key), |own| own.get(key))
}

fn of_samples(observation: Option<&Observation>, of: impl Fn(&[f64]) -> Option<f64>) -> Option<Value> {
    let samples = &observation?.samples;
    if samples.is_empty() { None } else { of(samples).map(Value::from) }
}

/// Whether two values agree, numbers within rounding; `factor` turns an expected one into base units.
fn agree(expected: &Value, result: &Value, factor: f64) -> bool {
    match (expected, result) {
        (Value::Number(expected), Value::Number(result)) => {
            let (Some(expected), Some(result)) = (expected.as_f64(), result.as_f64()) else { return false };
            let expected = expected * factor;
            (expected - result).abs() <= TOLERANCE * expected.abs().max(result.abs())
        }
        (Value::Object(expected), Value::Object(result)) => {
            expected.len() == result.len()
                && expected
                    .iter()
                    .all(|(key, value)| result.get(key).is_some_and(|result| agree(value, result, factor)))
        }
        // An empty object is what a source that says nothing has.
        (Value::Object(expected), Value::Null) => expected.is_empty(),
        _ => expected == result,
    }
}
