//! What JMH writes with `-rf json`: the score of each benchmark, mode and set of parameters, and what each fork measured.
//!
//! The mode is the variant. The score is the value; the raw numbers are samples, and each fork is a process.

use serde_json::Value;

use super::frame::{Format, Read, Recognised, Source};
use super::github_action::reading;
use super::{FormatError, field, json, outputs, peek};
use sprag_base::stats::describe;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, ImportedRun, Observation};
use sprag_model::metric::Metric;

pub(crate) const FORMAT: Format = Format {
    name: "jmh",
    title: "JMH, JSON",
    files: &[".json"],
    recognised: Recognised::Each(is_report),
    read: Read::Each("jmh", read),
};

fn is_report(output: &Output) -> bool {
    let keys = peek::key_paths(output);
    ["benchmark", "mode", "primaryMetric.scoreUnit"].iter().all(|key| keys.contains(*key))
}

fn read(output: &Output, _: &[Output]) -> Result<Source, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let fault = |reason: &str| outputs::schema(output, format!("is not a report of JMH: {reason}"));
    let results = value.as_array().ok_or_else(|| fault("a list of results is needed"))?;
    let mut entries = Vec::new();
    for (place, result) in results.iter().enumerate() {
        let name =
            field::text(result, "benchmark").ok_or_else(|| fault(&format!("result {place} has no `benchmark`")))?;
        outputs::push(output, &mut entries, entry(name, result))?;
    }
    let first = results.first().unwrap_or(&Value::Null);
    let facts = field::facts([("jdk", first.get("jdkVersion")), ("vm", first.get("vmName"))]);
    let tool_version = field::text(first, "jmhVersion").map(field::one_line);
    Ok(Source { run: ImportedRun { facts, entries, ..ImportedRun::default() }, tool_version, ..Source::default() })
}

fn entry(name: &str, result: &Value) -> Entry {
    let params = field::params(result.get("params"));
    let mode = field::text(result, "mode").unwrap_or("thrpt");
    let listed: String = params.iter().map(|(key, value)| format!(" {key}={value}")).collect();
    let mut entry = outputs::entry(&format!("{name}{listed} {mode}"), observed(result).map(|one| vec![one]));
    (entry.name, entry.params, entry.variant) = (name.to_owned(), params, Some(mode.to_owned()));
    entry
}

fn observed(result: &Value) -> Result<Observation, String> {
    let primary = result.get("primaryMetric").unwrap_or(&Value::Null);
    let unit = field::text(primary, "scoreUnit").ok_or("it has no `scoreUnit`")?;
    let (metric, factor) = reading("jmh", unit);
    let value = field::measured(primary, "score", &metric, factor)?;
    let forks = primary.get("rawData").and_then(Value::as_array).into_iter().flatten();
    let forks = forks.map(|fork| numbers(fork, &metric, factor)).collect::<Result<Vec<Vec<f64>>, String>>()?;
    let processes =
        if forks.len() > 1 { forks.iter().filter_map(|fork| describe::median(fork)).collect() } else { Vec::new() };
    Ok(Observation { processes, ..Observation::sampled(metric, unit, value, forks.concat()) })
}

fn numbers(fork: &Value, metric: &Metric, factor: f64) -> Result<Vec<f64>, String> {
    let list = fork.as_array().ok_or("its `rawData` is not a list of lists")?;
    list.iter().map(|number| field::possible("rawData", field::number(number), metric, factor)).collect()
}
