//! What `BenchmarkTools.save` of Julia writes: groups of trials, each with its times in nanoseconds.
//!
//! ```text
//! [{"Julia": "1.10.0", ...}, [["BenchmarkGroup", {"data": {"sum": ["Trial", {"times": [...], "memory": 0}]}}]]]
//! ```

use serde_json::Value;

use super::frame::{Format, Read, Recognised, Source};
use super::{FormatError, field, json, outputs};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, ImportedRun, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub(crate) const FORMAT: Format = Format {
    name: "benchmark-tools",
    title: "BenchmarkTools of Julia, JSON",
    files: &[".json"],
    recognised: Recognised::Each(is_file),
    read: Read::Each("benchmark-tools", read),
};

fn is_file(output: &Output) -> bool {
    let start = outputs::start(output);
    start.trim_start().starts_with('[') && ["\"Julia\"", "\"BenchmarkTools\""].iter().all(|key| start.contains(key))
}

fn read(output: &Output, _: &[Output]) -> Result<Source, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let mut entries = Vec::new();
    let saved = value.get(1).and_then(Value::as_array);
    let saved =
        saved.ok_or_else(|| outputs::schema(output, "is not a file of BenchmarkTools: it holds no list of values"))?;
    for value in saved {
        take(output, String::new(), value, &mut entries)?;
    }
    let facts = field::facts([("julia", value.get(0).and_then(|versions| versions.get("Julia")))]);
    Ok(Source { run: ImportedRun { facts, entries, ..ImportedRun::default() }, ..Source::default() })
}

/// A value with its type: a group, whose members it takes, or a trial.
fn take(output: &Output, name: String, value: &Value, entries: &mut Vec<Entry>) -> Result<(), FormatError> {
    let kind = value.get(0).and_then(Value::as_str).unwrap_or_default();
    let fields = value.get(1).unwrap_or(&Value::Null);
    if kind.ends_with("BenchmarkGroup") {
        for (key, member) in fields.get("data").and_then(Value::as_object).into_iter().flatten() {
            let path = if name.is_empty() { key.clone() } else { format!("{name}/{key}") };
            if path.len() > super::LONGEST_PREFIX {
                return Err(outputs::schema(output, "has groups with names of more than 4096 bytes"));
            }
            take(output, path, member, entries)?;
        }
    } else if kind.ends_with("Trial") {
        let name = if name.is_empty() { "trial" } else { &name };
        outputs::push(output, entries, outputs::entry(name, trial(fields)))?;
    }
    Ok(())
}

fn trial(fields: &Value) -> Result<Vec<Observation>, String> {
    let samples = field::all_measured(fields, "times", &Metric::time(), 1e-9)?;
    let mut observations = vec![outputs::sampled(Metric::time(), "ns", "times", samples)?];
    let counts = [("memory", "allocated_bytes", "B", Unit::Byte), ("allocs", "allocations", "1", Unit::One)];
    for (key, name, symbol, unit) in counts {
        let metric = Metric { name: name.to_owned(), unit, better: Better::Lower };
        if fields.get(key).is_some() {
            let value = field::measured(fields, key, &metric, 1.0)?;
            observations.push(Observation::summary(metric, symbol, value));
        }
    }
    Ok(observations)
}
