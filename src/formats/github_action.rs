//! What github-action-benchmark reads and writes: its history `data.js`, of all the tools whose output it understands,
//! and the two plain lists that a program may give it, of numbers where smaller or bigger is better.
//!
//! ```text
//! window.BENCHMARK_DATA = {"lastUpdate": 0, "repoUrl": "", "entries": {"suite": [
//!   {"commit": {"id", "message", "timestamp"}, "date": 0, "tool": "cargo", "benches": [
//!     {"name", "value", "unit", "range"?, "extra"?}]}]}}
//! ```
//!
//! The assignment and a semicolon at the end may be absent. Several runs of one commit differ by their `date`. Of
//! a commit its id, time and the first line of its message are read, never its author. A list is the value of `benches`.
//! Rows of one name in a list are samples. Which way is better follows from the format that the user names, or from `smaller` or `bigger` in the name of the file.
//!
//! | tool | unit in the file | better |
//! |---|---|---|
//! | `cargo`, `googlecpp` | `ns/iter` and the like | smaller |
//! | `go` | `ns/op`, `B/op`, `allocs/op`, `MB/s`; older files have all of them in one text, the first counts | smaller, a rate bigger |
//! | `jmh` | `us/op`, `ops/s`, `ops/ms` | smaller, a rate bigger |
//! | `julia`, `catch2`, `benchmarkluau`, `benchmarkdotnet` | a unit of time | smaller |
//! | `pytest`, `benchmarkjs` | `iter/sec`, `ops/sec` | bigger, a time smaller |
//! | `customSmallerIsBetter`, `customBiggerIsBetter` | any | as the name says, but of a time smaller |

use std::fmt;

use rayon::prelude::*;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value, json};

use super::frame::{Format, PART, Read, Recognised, Source, Take, check_count};
use super::outputs::{self, Notes, sampled_entries};
use super::peek::{file_name, skip};
use super::provenance::commit_id;
use super::quantity::Quantity;
use super::{FormatError, LONGEST_PREFIX, MOST_BENCHMARKS, MOST_RUNS, field, json, provenance, quantity};
use sprag_base::digest;
use sprag_base::json::{Strict, to_canonical};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, Imported, ImportedCommit, ImportedRun, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub(crate) const HISTORY: Format = Format {
    name: "github-action-benchmark",
    title: "history of github-action-benchmark (data.js)",
    files: &["data.js"],
    recognised: Recognised::Each(is_history),
    read: Read::InParts(read_history),
};

pub(crate) const SMALLER_LIST: Format = Format {
    name: "custom-smaller-is-better",
    title: "list of numbers of which smaller is better",
    files: &[".json"],
    recognised: Recognised::Each(|output| is_list(output, "bigger")),
    read: Read::Each(SMALLER, |output, _| read_list(output, SMALLER)),
};

pub(crate) const BIGGER_LIST: Format = Format {
    name: "custom-bigger-is-better",
    title: "list of numbers of which bigger is better",
    files: &[".json"],
    recognised: Recognised::Each(|output| is_list(output, "smaller")),
    read: Read::Each(BIGGER, |output, _| read_list(output, BIGGER)),
};

/// The longest subject of a commit, in characters.
const MOST_SUBJECT: usize = 200;

/// The longest assignment before the data, in bytes.
const MOST_ASSIGNMENT: usize = 200;

fn is_history(output: &Output) -> bool {
    let start = outputs::start(output);
    let Some(body) = assigned(&start) else { return false };
    let mut key = "";
    let is_object = skip(body, "{\":", |string| key = string).is_some();
    let is_assigned = body.len() < start.trim_start().len();
    match key {
        "lastUpdate" | "repoUrl" => is_object && start.contains("\"entries\""),
        "entries" => is_object && (is_assigned || start.contains("\"benches\"")),
        _ => false,
    }
}

/// All runs of all suites in the order of the files.
fn read_history(outputs: &[&Output], take: Take<'_>) -> Result<(), FormatError> {
    let mut suites = Vec::new();
    for output in outputs {
        let body = assigned(json::text(output)?);
        let fault = || outputs::schema(output, "is not a data.js: it holds neither JSON nor an assignment of JSON");
        let body = body.ok_or_else(fault)?.trim_end();
        let page: Page = typed(output, body.strip_suffix(';').unwrap_or(body), "data.js")?;
        if page.entries.0.iter().map(|(_, parts)| parts.len()).sum::<usize>() > MOST_RUNS {
            return Err(FormatError::ManyRuns(output.name.clone()));
        }
        for (suite, parts) in page.entries.0 {
            if suite.len() > LONGEST_PREFIX {
                let reason = format!("has a suite with a name of more than {LONGEST_PREFIX} bytes");
                return Err(outputs::schema(output, reason));
            }
            if parts.iter().any(|part| !part.benches.is_empty()) {
                suites.push((output, suite, parts));
            }
        }
    }
    let has_suites = suites.windows(2).any(|pair| pair[0].1 != pair[1].1);
    let (mut notes, mut doubts) = (Notes::default(), Notes::default());
    for (output, suite, parts) in suites {
        let mut parts = parts.into_iter().enumerate().peekable();
        while parts.peek().is_some() {
            let some: Vec<(usize, Part)> = parts.by_ref().take(PART).collect();
            let read = some.into_par_iter().map(|(place, part)| read_run(&output.name, &suite, place, part));
            let mut runs = Vec::new();
            for one in read.collect::<Vec<_>>() {
                let (run, odd, doubtful) = one?;
                runs.extend(run);
                notes.append(odd);
                doubts.append(doubtful);
            }
            take(Imported { has_suites, ..outputs::imported(TOOL, runs, Vec::new()) });
        }
    }
    take(Imported { doubts: doubts.sentences(), ..outputs::imported(TOOL, Vec::new(), notes.sentences()) });
    Ok(())
}

/// The run at a place of a suite, what is odd about it, and what is doubtful.
fn read_run(
    name: &str,
    suite: &str,
    place: usize,
    part: Part,
) -> Result<(Option<ImportedRun>, Notes, Notes), FormatError> {
    let (mut notes, mut doubts) = (Notes::default(), Notes::default());
    let place = || format!("{name}, entries.`{}`[{place}]", shortened(suite).escape_debug());
    if part.benches.len() > MOST_BENCHMARKS {
        return Err(FormatError::Many { name: place(), count: part.benches.len() });
    }
    if part.benches.is_empty() {
        notes.add("the run lists no benchmark and is skipped", place);
        return Ok((None, notes, doubts));
    }
    part.benches.iter().for_each(|bench| bench.doubt(&part.tool, &mut doubts, place));
    let run = run(suite, part, &mut notes, place);
    Ok((Some(run), notes, doubts))
}

/// The text after the assignment, or all of it where there is none.
fn assigned(text: &str) -> Option<&str> {
    let (before, _) = text.split_once('{')?;
    let name = before.trim();
    let fits = name.is_empty() || (name.ends_with('=') && name.len() <= MOST_ASSIGNMENT && !name.contains('['));
    if fits { text.get(before.len()..) } else { None }
}

#[derive(Deserialize)]
struct Page {
    entries: Suites,
}

/// The suites in the order of the file.
struct Suites(Vec<(String, Vec<Part>)>);

#[derive(Deserialize)]
struct Part {
    commit: Option<CommitPart>,
    date: Option<Strict>,
    #[serde(default)]
    tool: String,
    benches: Vec<Bench>,
}

#[derive(Deserialize)]
struct CommitPart {
    id: Option<String>,
    message: Option<String>,
    timestamp: Option<String>,
}

impl<'de> Deserialize<'de> for Suites {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Suites, D::Error> {
        struct SuitesVisitor;

        impl<'de> Visitor<'de> for SuitesVisitor {
            type Value = Suites;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("suites with their runs")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Suites, A::Error> {
                let mut suites = Vec::new();
                let mut names = std::collections::BTreeSet::new();
                while let Some((name, parts)) = map.next_entry::<String, Vec<Part>>()? {
                    if !names.insert(name.clone()) {
                        return Err(A::Error::custom(format!("the suite `{}` occurs twice", name.escape_debug())));
                    }
                    suites.push((name, parts));
                }
                Ok(Suites(suites))
            }
        }
        deserializer.deserialize_map(SuitesVisitor)
    }
}

fn run(suite: &str, part: Part, notes: &mut Notes, place: impl Fn() -> String) -> ImportedRun {
    if !is_supported_tool(&part.tool) {
        let what = format!(
            "the tool `{}` is unknown, so lower is treated as better, except for rates",
            shortened(&part.tool).escape_debug()
        );
        notes.add(&what, &place);
    }
    let time = part.date.as_ref().and_then(|Strict(date)| provenance::time_of_millis(date));
    if time.is_none() {
        notes.add("`date` is not a moment in milliseconds, so the run has no time", &place);
    }
    let commit = part.commit.as_ref().and_then(commit);
    if commit.is_none() {
        notes.add("`commit.id` is not a hexadecimal id, so the run has no commit", &place);
    }
    let entries =
        part.benches.iter().map(|bench| bench.entry(&part.tool, format!("{suite}/{}", bench.name.0))).collect();
    ImportedRun {
        suite: Some(suite.to_owned()),
        commit,
        machine: None,
        time,
        facts: [&part.tool]
            .into_iter()
            .filter(|tool| !tool.is_empty())
            .map(|tool| ("tool".to_owned(), shortened(tool)))
            .collect(),
        entries: sampled_entries(entries),
        digest: digest::sha256_hex(to_canonical(&into_json(suite, part)).as_bytes()),
    }
}

fn commit(part: &CommitPart) -> Option<ImportedCommit> {
    let time = part.timestamp.as_deref().and_then(provenance::time_of_rfc3339);
    let subject = part.message.as_deref().and_then(|message| message.lines().next()).map(shortened);
    Some(ImportedCommit { time, subject, ..provenance::commit(commit_id(part.id.as_deref()?)?) })
}

/// What the digest of the run is taken of: all that is read of it alone.
fn into_json(suite: &str, part: Part) -> Value {
    let commit = part.commit.map(|commit| json!([commit.id, commit.message, commit.timestamp]));
    let date = part.date.map(|Strict(date)| date);
    let benches: Vec<Value> = part.benches.into_iter().map(Bench::into_json).collect();
    // In place of `json!`, which would copy all of the benchmarks.
    Value::Array(vec![
        Value::from(suite),
        commit.unwrap_or_default(),
        date.unwrap_or_default(),
        Value::from(part.tool),
        Value::Array(benches),
    ])
}

fn shortened(text: &str) -> String {
    text.chars().take(MOST_SUBJECT).collect()
}

/// Whether it is a list of numbers, and not called after the other direction.
fn is_list(output: &Output, other: &str) -> bool {
    let start = outputs::start(output);
    let keys = ["\"name\"", "\"unit\"", "\"value\""];
    let is_list = skip(&start, "[{", |_| {}).is_some() && keys.iter().all(|key| start.contains(key));
    is_list && !file_name(output).to_lowercase().contains(other)
}

fn read_list(output: &Output, tool: &str) -> Result<Source, FormatError> {
    let benches: Vec<Bench> = typed(output, json::text(output)?, "list of benchmarks")?;
    check_count(&output.name, benches.len())?;
    let mut doubts = Notes::default();
    benches.iter().for_each(|bench| bench.doubt(tool, &mut doubts, || output.name.clone()));
    let entries = benches.iter().map(|bench| bench.entry(tool, bench.name.0.clone())).collect();
    let run = outputs::run(sampled_entries(entries), &[output]);
    Ok(Source { run, doubts: doubts.sentences(), ..Source::default() })
}

/// The longest free text, in characters.
const MOST_TEXT: usize = 500;

/// One element of a list of benchmarks. `value` may be digits in quotes, `range` a number or any text.
#[derive(Deserialize)]
struct Bench {
    name: Word,
    unit: Word,
    value: Small,
    range: Option<Small>,
    extra: Option<Box<Small>>,
}

/// A value that takes a third of the memory while it is a number or a text.
enum Small {
    Number(Number),
    Text(Box<str>),
    Other(Box<Value>),
}

impl<'de> Deserialize<'de> for Small {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Small, D::Error> {
        Ok(match Strict::deserialize(deserializer)?.0 {
            Value::Number(number) => Small::Number(number),
            Value::String(text) => Small::Text(text.into()),
            other => Small::Other(Box::new(other)),
        })
    }
}

impl Small {
    fn value(&self) -> Value {
        match self {
            Small::Number(number) => Value::Number(number.clone()),
            Small::Text(text) => Value::from(&**text),
            Small::Other(value) => (**value).clone(),
        }
    }
}

/// A text; a number is read as its digits.
struct Word(String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        match Strict::deserialize(deserializer)?.0 {
            Value::String(text) => Ok(Word(text)),
            Value::Number(number) => Ok(Word(number.to_string())),
            _ => Err(D::Error::custom("neither a text nor a number, where a name or a unit is needed")),
        }
    }
}

impl Bench {
    /// The benchmark as an entry; one with an impossible number has failed.
    fn entry(&self, tool: &str, series: String) -> Entry {
        let (metric, factor) = reading(tool, &self.unit.0);
        let value = field::figure("value", &self.value.value(), &metric, factor);
        let observed = value.map(|value| vec![Observation::summary(metric, &self.unit.0, value)]);
        let mut entry = Entry { name: self.name.0.clone(), ..outputs::entry(&series, observed) };
        // The unit of the range is uncertain: the action rescales values and not ranges.
        for (key, source) in [("range", self.range.as_ref()), ("extra", self.extra.as_deref())] {
            if let Some(value) = source.and_then(|small| plain(&small.value())) {
                entry.extras.insert(key.to_owned(), value);
            }
        }
        entry
    }

    /// Adds what the tool says of the direction and the unit does not.
    fn doubt(&self, tool: &str, doubts: &mut Notes, place: impl FnOnce() -> String) {
        let (metric, _) = reading(tool, &self.unit.0);
        let unit = shortened(&self.unit.0);
        let unit = unit.escape_debug();
        let what = match (metric.unit, metric.better) {
            (Unit::Second, _) if tool == BIGGER || RATES.contains(&tool) => {
                format!(
                    "the tool `{tool}` treats bigger as better, but `{unit}` is a time: smaller is treated as better"
                )
            }
            (Unit::PerSecond, Better::Lower) => {
                format!("the tool `{tool}` treats smaller as better, although `{unit}` is a rate")
            }
            _ => return,
        };
        doubts.add(&what, place);
    }

    /// Its fields in a list, for the digest of the run.
    fn into_json(self) -> Value {
        let source = |part: Option<&Small>| part.map_or(Value::Null, Small::value);
        let (name, unit) = (Value::String(self.name.0), Value::String(self.unit.0));
        Value::Array(vec![name, unit, self.value.value(), source(self.range.as_ref()), source(self.extra.as_deref())])
    }
}

fn plain(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(Value::String(text.chars().take(MOST_TEXT).collect())),
        Value::Number(_) | Value::Bool(_) => Some(value.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The typed content of a text of an output. Numbers that JSON lacks are read as their spelling, so that only the benchmark
/// with such a number fails.
fn typed<T: for<'de> Deserialize<'de>>(output: &Output, text: &str, what: &str) -> Result<T, FormatError> {
    json::check_size(&output.name, text)?;
    let mut error = match serde_json::from_str(text) {
        Ok(content) => return Ok(content),
        Err(error) => error,
    };
    if error.is_syntax() {
        match serde_json::from_str(&json::quote_not_finite(text)) {
            Ok(content) => return Ok(content),
            Err(second) => error = second,
        }
    }
    if error.is_data() {
        return Err(outputs::schema(output, format!("is not a {what}: {error}")));
    }
    Err(FormatError::Json { name: output.name.clone(), error })
}

const TOOL: &str = "github-action-benchmark";

const SMALLER: &str = "customSmallerIsBetter";

const BIGGER: &str = "customBiggerIsBetter";

/// The other tools of the table above.
const TOOLS: [&str; 9] =
    ["cargo", "go", "googlecpp", "julia", "jmh", "catch2", "benchmarkluau", "benchmarkdotnet", "cargo-criterion"];

const RATES: [&str; 2] = ["pytest", "benchmarkjs"];

fn is_supported_tool(tool: &str) -> bool {
    [SMALLER, BIGGER].contains(&tool) || TOOLS.contains(&tool) || RATES.contains(&tool)
}

/// The metric of a benchmark with that unit, and how many base units one of it is.
pub(super) fn reading(tool: &str, unit: &str) -> (Metric, f64) {
    // Older files of `go` hold `ns/op`, a tab, and further numbers with their units.
    let unit = unit.split('\t').next().unwrap_or_default().trim();
    let better = |unit: Unit| match tool {
        // A time is better where it is smaller, whatever the tool is called.
        _ if unit == Unit::Second => Better::Lower,
        SMALLER => Better::Lower,
        _ if tool == BIGGER || RATES.contains(&tool) => Better::Higher,
        _ if unit == Unit::PerSecond => Better::Higher,
        _ => Better::Lower,
    };
    if unit == "B/op" {
        let metric = Metric { name: "allocated_bytes".to_owned(), unit: Unit::Byte, better: better(Unit::Byte) };
        return (metric, 1.0);
    }
    // Operations in a unit of time other than the second.
    let span = unit.strip_prefix("ops/").map(quantity::quantity);
    if let Some(Quantity { unit: Unit::Second, factor }) = span {
        return (quantity::metric_of("ops/s", better(Unit::PerSecond)), 1.0 / factor);
    }
    let Quantity { unit: base, factor } = quantity::quantity(unit);
    (quantity::metric_of(unit, better(base)), factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use sprag_model::imported::EntryStatus;

    #[test]
    fn published_histories_are_read_completely() {
        let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/real"));
        // Which runs and benchmarks a file lists, counted by another program.
        let files = [
            ("KomaMRI.jl", 62, 1164, "time"),
            ("jagua-rs", 57, 507, "time"),
            ("mountpoint-s3.incremental_upload.peak_mem", 30, 150, "peak_memory"),
            ("mountpoint-s3.mem_limited.peak_mem", 30, 660, "peak_memory"),
            ("neureka", 105, 840, "value"),
        ];
        for (name, runs, benches, metric) in files {
            let Ok(bytes) = std::fs::read(folder.join(format!("{name}.data.js"))) else {
                eprintln!("skipped: the history of {name} is not next to the project");
                continue;
            };
            let outputs = [golden::output(&format!("{name}.data.js"), bytes)];
            assert!(HISTORY.recognises(&outputs));
            let imported = HISTORY.read(&outputs).expect("a published history is read");
            let entries: Vec<_> = imported.runs.iter().flat_map(|run| &run.entries).collect();
            assert_eq!((imported.runs.len(), entries.len(), imported.notes.len()), (runs, benches, 0), "{name}");
            let has_commit = |run: &ImportedRun| {
                run.commit.as_ref().is_some_and(|commit| commit.sha.len() == 40 && commit.time.is_some())
            };
            assert!(imported.runs.iter().all(|run| run.time.is_some() && has_commit(run)), "{name}");
            assert!(entries.iter().all(|entry| entry.status == EntryStatus::Ok), "{name}");
            assert!(entries.iter().all(|entry| entry.observations[0].metric.name == metric), "{name}");
        }
    }
}
