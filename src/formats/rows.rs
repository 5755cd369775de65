//! Canonical rows, as golden cases hold them, against what a reader made of the samples beside them.
//!
//! A row has `series`, `metric`, `unit`, `better`, `value`, `n`, `status`, where there are samples `p50`, `p95`, `min`,
//! `max` and `mean`, and more of its tool's own. Every key of every row is compared; a quantile is interpolated linearly
//! at `p * (n - 1)`.

use serde_json::Value;

use super::quantity::quantity;
use sprag_base::stats::describe;
use sprag_model::imported::{Entry, EntryStatus, Imported, ImportedRun, Observation};
use sprag_model::metric::Better;

/// How far two numbers may be apart, relative to the larger: the rounding of a few operations.
const TOLERANCE: f64 = 1e-12;

/// What was read from one file or folder.
pub struct ReadSource {
    /// Its name; that of a file without folders.
    pub name: String,
    pub imported: Imported,
}

/// Holds the rows against the sources: each row must agree in every key with what one of them holds, and none may
/// hold a series that no row has.
///
/// # Errors
/// Says what differs, one line each.
pub fn compare(rows: &[Value], sources: &[ReadSource]) -> Result<(), Vec<String>> {
    let mut faults = Vec::new();
    for row in rows {
        if let Err(fault) = find(row, sources) {
            faults.push(format!("{}: {fault}", called(row)));
        }
    }
    for source in sources {
        for entry in source.imported.runs.iter().flat_map(|run| &run.entries) {
            if !rows
                .iter()
                .any(|row| row["series"].as_str().is_some_and(|series| names(series, &run_of(source, entry).1)))
            {
                faults.push(format!("{}: `{}` is in no row", source.name, entry.series));
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn called(row: &Value) -> String {
    format!("{} {}", row["series"].as_str().unwrap_or("?"), row["metric"].as_str().unwrap_or("?"))
}

/// The names that a row may bear for the entry: its own, and where a source holds several suites that with the suite.
fn run_of<'a>(source: &'a ReadSource, entry: &'a Entry) -> (Option<&'a ImportedRun>, Vec<String>) {
    let runs = &source.imported.runs;
    let run = runs.iter().find(|run| run.entries.iter().any(|one| std::ptr::eq(one, entry)));
    (run, spellings(run, entry))
}

fn spellings(run: Option<&ImportedRun>, entry: &Entry) -> Vec<String> {
    let with_suite = run.and_then(|run| run.suite.as_ref()).map(|suite| format!("{suite}/{}", entry.series));
    let with_variant = entry.variant.as_ref().map(|variant| format!("{}@{variant}", entry.series));
    std::iter::once(entry.series.clone()).chain(with_suite).chain(with_variant).collect()
}

fn names(series: &str, spellings: &[String]) -> bool {
    spellings.iter().any(|spelling| spelling == series)
}

/// The best agreement that a source has with the row: none missing, or what differs in the nearest entry.
fn find(row: &Value, sources: &[ReadSource]) -> Result<(), String> {
    let series = row["series"].as_str().ok_or("the row has no series")?;
    let mut nearest: Option<Vec<String>> = None;
    for source in sources {
        for run in &source.imported.runs {
            for entry in run.entries.iter().filter(|entry| names(series, &spellings(Some(run), entry))) {
                let faults = differences(row, source, run, entry);
                if faults.is_empty() {
                    return Ok(());
                }
                if nearest.as_ref().is_none_or(|known| faults.len() < known.len()) {
                    nearest = Some(faults);
                }
            }
        }
    }
    Err(nearest.map_or_else(|| "no source has it".to_owned(), |faults| faults.join("; ")))
}

fn differences(row: &Value, source: &ReadSource, run: &ImportedRun, entry: &Entry) -> Vec<String> {
    let mut faults = Vec::new();
    let unit = row["unit"].as_str().unwrap_or_default();
    let wanted = quantity(unit);
    let metric = row["metric"].as_str().unwrap_or_default();
    let is_named = |one: &&Observation| one.metric.name == metric || metric == "value";
    let observation = entry.observations.iter().find(is_named);
    let status = match &entry.status {
        EntryStatus::Ok => "ok",
        EntryStatus::Skipped(_) => "skipped",
        EntryStatus::Failed(_) => "failed",
    };
    if status == "ok" && observation.is_none() {
        let found: Vec<&str> = entry.observations.iter().map(|one| one.metric.name.as_str()).collect();
        return vec![format!("it has the metrics {found:?}")];
    }
    let keys = row.as_object().into_iter().flatten();
    for (key, expected) in keys {
        let found = match key.as_str() {
            "series" | "metric" => continue,
            "unit" => {
                let same = observation.is_none_or(|one| one.metric.unit == wanted.unit);
                if !same {
                    faults.push(format!("unit {unit}, found {:?}", observation.map(|one| one.metric.unit)));
                }
                continue;
            }
            "better" => observation.map(|one| match one.metric.better {
                Better::Lower => Value::from("lower"),
                Better::Higher => Value::from("higher"),
            }),
            "status" => Some(Value::from(status)),
            "reason" => match &entry.status {
                EntryStatus::Skipped(reason) | EntryStatus::Failed(reason) => Some(Value::from(reason.as_str())),
                EntryStatus::Ok => None,
            },
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
        // What is no part of an observation is told beside it, such as the mean of a source without samples.
        let found = found.or_else(|| beside(entry, metric, key).cloned());
        // A better direction of what has no value cannot be told.
        if key == "better" && found.is_none() {
            continue;
        }
        let is_quantity = !matches!(key.as_str(), "n" | "date_ms");
        let factor = if is_quantity { wanted.factor } else { 1.0 };
        if !agree(expected, found.as_ref().unwrap_or(&Value::Null), factor) {
            faults.push(format!("{key} {expected} {unit}, found {}", found.unwrap_or(Value::Null)));
        }
    }
    faults
}

/// What a source tells beside an entry under that key; where it tells so of each metric, under the metric's name.
fn beside<'a>(entry: &'a Entry, metric: &str, key: &str) -> Option<&'a Value> {
    let own = entry.extras.get(metric).and_then(Value::as_object);
    own.map_or_else(|| entry.extras.get(key), |own| own.get(key))
}

fn of_samples(observation: Option<&Observation>, of: impl Fn(&[f64]) -> Option<f64>) -> Option<Value> {
    let samples = &observation?.samples;
    if samples.is_empty() { None } else { of(samples).map(Value::from) }
}

/// Whether two values agree, numbers within rounding; `factor` turns an expected one into base units.
fn agree(expected: &Value, found: &Value, factor: f64) -> bool {
    match (expected, found) {
        (Value::Number(expected), Value::Number(found)) => {
            let (Some(expected), Some(found)) = (expected.as_f64(), found.as_f64()) else { return false };
            let expected = expected * factor;
            (expected - found).abs() <= TOLERANCE * expected.abs().max(found.abs())
        }
        (Value::Object(expected), Value::Object(found)) => {
            expected.len() == found.len()
                && expected.iter().all(|(key, value)| found.get(key).is_some_and(|found| agree(value, found, factor)))
        }
        // An empty object is what a source that says nothing has.
        (Value::Object(expected), Value::Null) => expected.is_empty(),
        _ => expected == found,
    }
}
