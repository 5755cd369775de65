//! The summaries of gungraun, which was iai-callgrind before: instructions of a benchmark, counted under Callgrind.
//!
//! A summary is an object of JSON, alone in a file (`summary.json`) or one of many between the lines of a log. Version 7
//! (gungraun 0.18 and later) holds `{"new": n, "old": o}` of each event, version 6 `{"Both": [{"Int": n}, {"Int": o}]}`
//! or one side alone. Taken are `Ir` of Callgrind or Cachegrind, and of DHAT the bytes at the peak. A benchmark is
//! called after its module path and its id.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::frame::{Format, Read, Recognised};
use super::json::text;
use super::{FormatError, outputs};
use sprag_base::json::Strict;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, Imported, ImportedRun, Observation};
use sprag_model::metric::Metric;

pub(crate) const FORMAT: Format = Format {
    name: "gungraun",
    title: "summaries of gungraun or iai-callgrind",
    files: &["summary.json", ".ndjson"],
    recognised: Recognised::Any(is_summary),
    read: Read::Together(read),
};

/// What DHAT calls the bytes that were allocated at the peak.
const PEAK: &str = "AtTGmaxBytes";

fn is_summary(output: &Output) -> bool {
    let start = outputs::start(output);
    let kinds = ["\"LibraryBenchmark\"", "\"BinaryBenchmark\""];
    start.contains("\"module_path\"") && kinds.iter().any(|kind| start.contains(kind))
}

fn read(used: &[&Output]) -> Result<Imported, FormatError> {
    let (mut entries, mut notes, mut time) = (Vec::new(), Vec::new(), None::<DateTime<Utc>>);
    for output in used {
        for result in summaries(output)? {
            let (line, summary) = result?;
            let started = summary.get("started_at").and_then(Value::as_str).and_then(|text| text.parse().ok());
            time = [time, started].into_iter().flatten().min();
            let entry = benchmark(&summary)
                .map_err(|fault| outputs::schema(output, format!("holds a summary at line {line} that {fault}")))?;
            outputs::push(output, &mut entries, entry)?;
        }
    }
    let entries = outputs::newest_of_each(entries, &mut notes);
    Ok(outputs::imported("gungraun", vec![ImportedRun { time, ..outputs::run(entries, used) }], notes))
}

/// The objects in an output with the lines that they begin at; other lines are those of a log.
fn summaries(output: &Output) -> Result<impl Iterator<Item = Result<(usize, Value), FormatError>>, FormatError> {
    let (mut rest, mut line) = (text(output)?, 1);
    Ok(std::iter::from_fn(move || {
        while !rest.trim_start_matches([' ', '\t']).starts_with('{') {
            (_, rest) = rest.split_once('\n')?;
            line += 1;
        }
        let mut reader = serde_json::Deserializer::from_str(rest).into_iter::<Strict>();
        let result = reader.next()?.map(|Strict(value)| (line, value)).map_err(|error| {
            outputs::schema(output, format!("holds an object at line {line} that cannot be read: {error}"))
        });
        // After a fault nobody knows where the next object begins.
        let (read, after) = rest.split_at(if result.is_ok() { reader.byte_offset() } else { rest.len() });
        line += read.matches('\n').count();
        rest = after;
        Some(result)
    }))
}

#[derive(Deserialize)]
struct Identity {
    version: Value,
    module_path: String,
    id: Option<String>,
}

/// The benchmark of a summary; the fault is to be read after "a summary that".
fn benchmark(summary: &Value) -> Result<Entry, String> {
    let identity = Identity::deserialize(summary).map_err(|error| format!("names no benchmark: {error}"))?;
    let id = identity.id.filter(|id| !id.is_empty());
    let series = match &id {
        Some(id) => format!("{}::{id}", identity.module_path),
        None => identity.module_path.clone(),
    };
    let profiles = summary.get("profiles").and_then(Value::as_array);
    let events: Vec<Map<String, Value>> = profiles.into_iter().flatten().filter_map(events).collect();
    let mut entry = outputs::entry(&series, observations(&events));
    entry.name = identity.module_path;
    entry.params.extend(id.map(|id| ("id".to_owned(), id)));
    let schema = identity.version.as_str().map_or_else(|| identity.version.to_string(), str::to_owned);
    entry.extras.insert("schema".to_owned(), json!(schema));
    if let Some(counts) = events.iter().find(|events| events.contains_key("Ir")) {
        let cycles = counts.get("EstimatedCycles").and_then(|cycles| new_and_old(cycles).0);
        let old = counts.get("Ir").and_then(|instructions| new_and_old(instructions).1);
        entry.extras.extend(cycles.map(|cycles| ("estimated_cycles".to_owned(), json!(cycles))));
        entry.extras.extend(old.map(|old| ("old".to_owned(), json!(old))));
    }
    Ok(entry)
}

/// The events that a profile counted in all, of either version.
fn events(profile: &Value) -> Option<Map<String, Value>> {
    let in_7 = profile.pointer("/data/total/metrics");
    let in_6 = || profile.pointer("/summaries/total/summary")?.as_object()?.values().next();
    in_7.or_else(in_6)?.as_object().cloned()
}

fn observations(events: &[Map<String, Value>]) -> Result<Vec<Observation>, String> {
    let mut observations = Vec::new();
    for (event, metric, unit) in [("Ir", Metric::instructions(), "instructions"), (PEAK, Metric::peak_memory(), "B")] {
        let Some(counts) = events.iter().find_map(|events| events.get(event)) else { continue };
        let Some(count) = new_and_old(counts).0 else { return Err(format!("its `{event}` has no new value")) };
        if count <= 0.0 && event == "Ir" {
            return Err(format!("its `{event}` is {count}, where more than zero is needed"));
        }
        observations.push(outputs::summary(metric, unit, event, count)?);
    }
    if observations.is_empty() { Err(format!("it has no profile with `Ir` or `{PEAK}`")) } else { Ok(observations) }
}

/// The count of this run and that of the one before.
fn new_and_old(event: &Value) -> (Option<f64>, Option<f64>) {
    let number = |value: &Value| value.as_f64().or_else(|| value.get("Int").or_else(|| value.get("Float"))?.as_f64());
    if let Some(values) = event.get("values") {
        return (values.get("new").and_then(number), values.get("old").and_then(number));
    }
    let side = |path: &str| event.get("metrics").and_then(|metrics| metrics.pointer(path)).and_then(number);
    (side("/Both/0").or_else(|| side("/Left")), side("/Both/1").or_else(|| side("/Right")))
}
