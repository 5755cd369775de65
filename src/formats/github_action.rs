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
//! a commit its id, time and the first line of its message are read, never who wrote it. A list is the value of `benches`.
//! The format that the user names says which way is better in it, or the name of the file where that holds `smaller` or
//! `bigger`.
//!
//! | tool | unit in the file | better |
//! |---|---|---|
//! | `cargo`, `googlecpp` | `ns/iter` and the like | smaller |
//! | `go` | `ns/op`, `B/op`, `allocs/op`, `MB/s`; older files have all of them in one text, the first counts | smaller, a rate bigger |
//! | `jmh` | `us/op`, `ops/s`, `ops/ms` | smaller, a rate bigger |
//! | `julia`, `catch2`, `benchmarkluau`, `benchmarkdotnet` | a unit of time | smaller |
//! | `pytest`, `benchmarkjs` | `iter/sec`, `ops/sec` | bigger |
//! | `customSmallerIsBetter`, `customBiggerIsBetter` | any | as the name says |

use std::fmt;

use rayon::prelude::*;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::outputs;
use super::outputs::{Notes, unique_entries};
use super::peek::{file_name, head, skip};
use super::provenance::commit_id;
use super::quantity::Quantity;
use super::{FormatError, LONGEST_PREFIX, MOST_BENCHMARKS, MOST_RUNS, field, json, provenance, quantity};
use crate::Format;
use sprag_base::digest;
use sprag_base::json::{Strict, to_canonical};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, Imported, ImportedCommit, ImportedRun, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub(crate) const HISTORY: Format = Format {
    name: "github-action-benchmark",
    title: "history of github-action-benchmark (data.js)",
    recognises: recognises_history,
    read: read_history,
    files: &["data.js"],
};

pub(crate) const SMALLER_LIST: Format = Format {
    name: "custom-smaller-is-better",
    title: "list of numbers of which smaller is better",
    recognises: recognises_smaller,
    read: read_smaller,
    files: &[".json"],
};

pub(crate) const BIGGER_LIST: Format = Format {
    name: "custom-bigger-is-better",
    title: "list of numbers of which bigger is better",
    recognises: recognises_bigger,
    read: read_bigger,
    files: &[".json"],
};

/// The longest subject of a commit that is kept, in characters.
const MOST_SUBJECT: usize = 200;

/// The longest assignment before the data, in bytes.
const MOST_ASSIGNMENT: usize = 200;

fn recognises_history(outputs: &[Output]) -> bool {
    let fits = |output: &Output| {
        let head = head(output);
        let Some(body) = assigned(&head) else { return false };
        let mut key = "";
        let is_object = skip(body, "{\":", |string| key = string).is_some();
        let is_assigned = body.len() < head.trim_start().len();
        match key {
            "lastUpdate" | "repoUrl" => is_object && head.contains("\"entries\""),
            "entries" => is_object && (is_assigned || head.contains("\"benches\"")),
            _ => false,
        }
    };
    !outputs.is_empty() && outputs.iter().all(fits)
}

/// Reads histories, all runs of all suites in the order of the files.
fn read_history(outputs: &[Output]) -> Result<Imported, FormatError> {
    let mut runs = Vec::new();
    let mut notes = Notes::default();
    for output in outputs {
        let name = &output.name;
        let Some(body) = assigned(json::text(output)?) else {
            let reason = "is no data.js: it holds neither JSON nor an assignment of JSON".to_owned();
            return Err(FormatError::Schema { name: name.clone(), reason });
        };
        let body = body.trim_end();
        let body = body.strip_suffix(';').unwrap_or(body);
        let page: Page = typed(name, body, "data.js")?;
        if page.entries.0.iter().map(|(_, parts)| parts.len()).sum::<usize>() > MOST_RUNS {
            return Err(FormatError::ManyRuns(name.clone()));
        }
        for (suite, parts) in page.entries.0 {
            if suite.len() > LONGEST_PREFIX {
                let reason = format!("has a suite with a name of more than {LONGEST_PREFIX} bytes");
                return Err(FormatError::Schema { name: name.clone(), reason });
            }
            let read = parts.into_par_iter().enumerate().map(|(place, part)| read_run(name, &suite, place, part));
            for one in read.collect::<Vec<_>>() {
                let (run, odd) = one?;
                runs.extend(run);
                notes.append(odd);
            }
        }
    }
    if runs.is_empty() {
        let name = outputs.first().map_or("data.js", file_name);
        return Err(FormatError::Nothing(name.to_owned()));
    }
    let tool = "github-action-benchmark".to_owned();
    Ok(Imported { tool, tool_version: None, runs, notes: notes.sentences() })
}

/// The run of a suite that stands at that place, and what is odd about it.
fn read_run(name: &str, suite: &str, place: usize, part: Part) -> Result<(Option<ImportedRun>, Notes), FormatError> {
    let mut notes = Notes::default();
    let place = || format!("{name}, entries.`{}`[{place}]", shortened(suite).escape_debug());
    if part.benches.len() > MOST_BENCHMARKS {
        return Err(FormatError::Many { name: place(), count: part.benches.len() });
    }
    if part.benches.is_empty() {
        notes.add("the run lists no benchmark and is passed over", place);
        return Ok((None, notes));
    }
    let run = run(suite, part, &mut notes, place);
    Ok((Some(run), notes))
}

/// What stands behind the assignment, or all of it where there is none.
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
    if !is_known_tool(&part.tool) {
        let what = format!(
            "the tool `{}` is not known, so smaller is taken as better, but for rates",
            shortened(&part.tool).escape_debug()
        );
        notes.add(&what, &place);
    }
    let time = part.date.as_ref().and_then(|Strict(date)| provenance::time_of_millis(date));
    if time.is_none() {
        notes.add("`date` is no moment in milliseconds, so the run has no time", &place);
    }
    let commit = part.commit.as_ref().and_then(commit);
    if commit.is_none() {
        notes.add("`commit.id` is no hexadecimal id, so the run has no commit", &place);
    }
    let entries =
        part.benches.iter().map(|bench| bench.entry(&part.tool, format!("{suite}/{}", bench.name.0))).collect();
    ImportedRun {
        suite: Some(suite.to_owned()),
        commit,
        machine: None,
        time,
        facts: Some(&part.tool)
            .filter(|tool| !tool.is_empty())
            .map(|tool| ("tool".to_owned(), shortened(tool)))
            .into_iter()
            .collect(),
        entries: unique_entries(entries),
        digest: digest::sha256_hex(to_canonical(&into_json(suite, part)).as_bytes()),
    }
}

fn commit(part: &CommitPart) -> Option<ImportedCommit> {
    Some(ImportedCommit {
        sha: commit_id(part.id.as_deref()?)?,
        named_at: None,
        time: part.timestamp.as_deref().and_then(provenance::time_of_rfc3339),
        subject: part.message.as_deref().and_then(|message| message.lines().next()).map(shortened),
        branch: None,
    })
}

/// What of the run its digest is taken of: all that is read, and nothing that the file as a whole tells.
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

/// Reads lists where smaller is better, a run each.
fn read_smaller(outputs: &[Output]) -> Result<Imported, FormatError> {
    read(outputs, SMALLER)
}

/// Reads lists where bigger is better, a run each.
fn read_bigger(outputs: &[Output]) -> Result<Imported, FormatError> {
    read(outputs, BIGGER)
}

/// Whether all outputs are such lists, and none is called after the other direction.
fn recognises_smaller(outputs: &[Output]) -> bool {
    recognises(outputs, "bigger")
}

/// As [`recognises_smaller`], of the other direction.
fn recognises_bigger(outputs: &[Output]) -> bool {
    recognises(outputs, "smaller")
}

fn recognises(outputs: &[Output], other: &str) -> bool {
    let fits = |output: &Output| {
        let head = head(output);
        let start: String = head.chars().filter(|c| !c.is_whitespace()).take(2).collect();
        let keys = ["\"name\"", "\"unit\"", "\"value\""];
        start == "[{" && keys.iter().all(|key| head.contains(key)) && !file_name(output).to_lowercase().contains(other)
    };
    !outputs.is_empty() && outputs.iter().all(fits)
}

fn read(outputs: &[Output], tool: &str) -> Result<Imported, FormatError> {
    let mut runs = Vec::with_capacity(outputs.len());
    for output in outputs {
        let name = &output.name;
        let benches: Vec<Bench> = typed(name, json::text(output)?, "list of benchmarks")?;
        match benches.len() {
            0 => return Err(FormatError::Nothing(name.clone())),
            1..=MOST_BENCHMARKS => {}
            count => return Err(FormatError::Many { name: name.clone(), count }),
        }
        let entries = benches.iter().map(|bench| bench.entry(tool, bench.name.0.clone())).collect();
        let digest = digest::sha256_hex(&output.bytes);
        runs.push(ImportedRun { entries: unique_entries(entries), digest, ..ImportedRun::default() });
    }
    outputs::imported(tool, runs, Vec::new())
}

/// The longest free text that is kept, in characters.
const MOST_TEXT: usize = 500;

/// One element of a list of benchmarks. `value` may be digits in quotes, `range` a number or any text.
#[derive(Deserialize)]
struct Bench {
    name: Word,
    unit: Word,
    value: Strict,
    range: Option<Strict>,
    extra: Option<Strict>,
}

/// A text; a number counts as its digits.
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
    /// The benchmark as it is imported, under the name of its whole series. One whose number cannot be has failed.
    fn entry(&self, tool: &str, series: String) -> Entry {
        let (metric, factor) = reading(tool, &self.unit.0);
        let (status, observations) = match field::figure("value", &self.value.0, &metric, factor) {
            Ok(value) => (EntryStatus::Ok, vec![Observation::summary(metric, &self.unit.0, value)]),
            Err(reason) => (EntryStatus::Failed(reason), Vec::new()),
        };
        let mut entry = Entry { series, name: self.name.0.clone(), status, observations, ..Entry::default() };
        // The range is in no unit that can be relied on: the action rescales values, and leaves it as it was.
        for (key, source) in [("range", &self.range), ("extra", &self.extra)] {
            if let Some(value) = source.as_ref().and_then(|Strict(value)| plain(value)) {
                entry.extras.insert(key.to_owned(), value);
            }
        }
        entry
    }

    /// The element as JSON, for the digest of the run: its fields in a list.
    fn into_json(self) -> Value {
        let source = |part: Option<Strict>| part.map_or(Value::Null, |Strict(value)| value);
        let (name, unit) = (Value::String(self.name.0), Value::String(self.unit.0));
        Value::Array(vec![name, unit, self.value.0, source(self.range), source(self.extra)])
    }
}

fn plain(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(Value::String(text.chars().take(MOST_TEXT).collect())),
        Value::Number(_) | Value::Bool(_) => Some(value.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The typed content of a text that stands in the output of that name; numbers that JSON lacks are read as their
/// spelling, so that the one benchmark fails which has such a number.
fn typed<T: for<'de> Deserialize<'de>>(name: &str, text: &str, what: &str) -> Result<T, FormatError> {
    json::check_size(name, text)?;
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
        return Err(FormatError::Schema { name: name.to_owned(), reason: format!("is no {what}: {error}") });
    }
    Err(FormatError::Json { name: name.to_owned(), error })
}

/// The list of numbers where smaller is better.
const SMALLER: &str = "customSmallerIsBetter";

/// The list of numbers where bigger is better.
const BIGGER: &str = "customBiggerIsBetter";

/// The other tools whose direction and units are known.
const TOOLS: [&str; 9] =
    ["cargo", "go", "googlecpp", "julia", "jmh", "catch2", "benchmarkluau", "benchmarkdotnet", "cargo-criterion"];

const RATES: [&str; 2] = ["pytest", "benchmarkjs"];

/// The metric of bytes that an operation allocates.
const ALLOCATED: &str = "allocated_bytes";

/// Whether the tool is one of the table above.
fn is_known_tool(tool: &str) -> bool {
    [SMALLER, BIGGER].contains(&tool) || TOOLS.contains(&tool) || RATES.contains(&tool)
}

/// What a benchmark of the tool measures whose unit is spelt so, and how many base units one of it is.
fn reading(tool: &str, unit: &str) -> (Metric, f64) {
    // Older files of `go` hold `ns/op`, a tab, and further numbers with their units.
    let unit = unit.split('\t').next().unwrap_or_default().trim();
    let better = |unit: Unit| match tool {
        SMALLER => Better::Lower,
        _ if tool == BIGGER || RATES.contains(&tool) => Better::Higher,
        // Where a tool reports times and rates, no one word fits both.
        _ if unit == Unit::PerSecond => Better::Higher,
        _ => Better::Lower,
    };
    if unit == "B/op" {
        let metric = Metric { name: ALLOCATED.to_owned(), unit: Unit::Byte, better: better(Unit::Byte) };
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

    fn history(text: &str) -> [Output; 1] {
        [Output { name: "data.js".to_owned(), bytes: text.as_bytes().to_vec() }]
    }

    fn part(id: &str, benches: &str) -> String {
        format!(
            r#"{{"commit":{{"id":"{id}","message":"one\ntwo"}},"date":1795226245061,"tool":"go","benches":[{benches}]}}"#
        )
    }

    const BENCH: &str = r#"{"name":"a","value":2,"unit":"ns/op"}"#;

    #[test]
    fn a_run_stays_itself_when_the_file_grows() {
        let [a, b] = [part("6A580D9D", BENCH), part("6a580d9d", BENCH).replace("061", "062")];
        let short = read_history(&history(&format!(r#"{{"entries":{{"s":[{a}]}}}}"#))).expect("it is read");
        let grown =
            format!("window.BENCHMARK_DATA = {{\"lastUpdate\":9,\"entries\":{{\"r\":[{b}],\"s\":[{a},{b}]}}}} ;\n");
        let long = read_history(&history(&grown)).expect("it is read");
        let plain = grown.split_once(" = ").map(|(_, plain)| plain).expect("it is assigned");
        assert!(
            recognises_history(&history(&grown))
                && recognises_history(&history(plain))
                && !recognises_history(&history("{\"entries\": []}"))
        );
        assert_eq!(short.runs[0], long.runs[1]);
        let digests: std::collections::BTreeSet<&str> = long.runs.iter().map(|run| run.digest.as_str()).collect();
        assert_eq!(digests.len(), 3);
        let commit = short.runs[0].commit.as_ref().expect("it has a commit");
        assert_eq!((commit.sha.as_str(), commit.subject.as_deref()), ("6a580d9d", Some("one")));
        assert!(short.notes.is_empty());
    }

    #[test]
    fn what_is_odd_is_told_once() {
        let parts = [part("main", BENCH), part("HEAD", BENCH).replace("\"go\"", "\"abacus\""), part("6a580d9d", "")];
        let text = format!(r#"{{"entries":{{"s":[{}]}}}}"#, parts.join(",")).replace("1795226245061", "-5");
        let imported = read_history(&history(&text)).expect("it is read");
        assert_eq!(imported.runs.len(), 2);
        assert!(imported.runs.iter().all(|run| run.commit.is_none() && run.time.is_none()));
        let has = |words: &str| imported.notes.iter().any(|note| note.contains(words));
        assert!(has("data.js, entries.`s`[0]: `commit.id` is no hexadecimal id"), "{:?}", imported.notes);
        assert!(has("more places") && has("`abacus`") && has("entries.`s`[2]: the run lists no benchmark"));
        assert_eq!(imported.notes.len(), 4);
    }

    #[test]
    fn a_benchmark_at_fault_fails_alone() {
        let odd = r#"{"name":"nan","value":NaN,"unit":"ns/op"},{"name":"null","value":null,"unit":"ns/op"},
            {"name":"twice","value":1,"unit":"ns/op"},{"name":"twice","value":1,"unit":"ns/op"}"#;
        let text = format!(r#"{{"entries":{{"s":[{}]}}}}"#, part("6a580d9d", &format!("{odd},{BENCH}")));
        let run = &read_history(&history(&text)).expect("it is read").runs[0];
        let failed: Vec<bool> = run.entries.iter().map(|entry| entry.status != EntryStatus::Ok).collect();
        assert_eq!(failed, [true, true, true, false]);
    }

    #[test]
    fn what_is_no_history_is_refused_with_its_place() {
        let check = |text: &str, words: &str| golden::refused(read_history(&history(text)), "data.js", words);
        check(" ", "is empty");
        check("alert(1)", "is no data.js");
        check("<script>{}", "is no data.js");
        check("{}", "missing field `entries`");
        check(r#"{"entries":{}}"#, "lists no benchmark");
        check(r#"{"entries":{"s":[],"s":[]}}"#, "the suite `s` occurs twice");
        check("{\"entries\":{\"s\":[{\"tool\":1}]}}", "invalid type: integer `1`, expected a string at line 1");
        check("window.BENCHMARK_DATA = {\n\"entries\": {\"s\": [{}]}}", "missing field `benches` at line 2");
        check("window.BENCHMARK_DATA = {\n\"entries\": {\"s\": [", "is not JSON: EOF");
        check("{\"entries\":{}} {}", "trailing characters");
        let long = "s".repeat(LONGEST_PREFIX + 1);
        check(&format!("{{\"entries\":{{\"{long}\":[]}}}}"), "a suite with a name of more than 4096 bytes");
        let runs = vec![r#"{"benches":[]}"#; MOST_RUNS + 1].join(",");
        check(&format!(r#"{{"entries":{{"s":[{runs}]}}}}"#), "data.js holds more than 100000 runs");
        let many = part("6a580d9d", &[BENCH; MOST_BENCHMARKS + 1].join(","));
        check(&format!(r#"{{"entries":{{"s":[{many}]}}}}"#), "entries.`s`[0] lists 5001 benchmarks");
    }

    #[test]
    fn published_histories_are_read_whole() {
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
                eprintln!("skipped: the history of {name} does not lie beside the project");
                continue;
            };
            let outputs = [Output { name: format!("{name}.data.js"), bytes }];
            assert!(recognises_history(&outputs));
            let imported = read_history(&outputs).expect("a published history is read");
            let entries: Vec<_> = imported.runs.iter().flat_map(|run| &run.entries).collect();
            assert_eq!((imported.runs.len(), entries.len(), imported.notes.len()), (runs, benches, 0), "{name}");
            let whole = imported.runs.iter().all(|run| {
                run.time.is_some()
                    && run.commit.as_ref().is_some_and(|commit| commit.sha.len() == 40 && commit.time.is_some())
            });
            assert!(whole && entries.iter().all(|entry| entry.status == EntryStatus::Ok), "{name}");
            assert!(entries.iter().all(|entry| entry.observations[0].metric.name == metric), "{name}");
        }
    }

    fn list(text: &str) -> Output {
        Output { name: "list.json".to_owned(), bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn the_name_of_the_file_tells_which_way_is_better() {
        let unnamed = [list(r#" [ {"name": "a", "unit": "s", "value": 1}]"#)];
        assert!(recognises_smaller(&unnamed) && recognises_bigger(&unnamed));
        assert!(!recognises_smaller(&[]) && !recognises_smaller(&[list("[1]")]));
    }

    #[test]
    fn texts_and_numbers_stand_for_one_another() {
        let text = r#"[{"name": 7, "unit": "ms", "value": "1.5", "range": 0.25, "extra": "a\nb", "more": {}}]"#;
        let imported = read_smaller(&[list(text)]).expect("it is a list");
        let entry = &imported.runs[0].entries[0];
        assert_eq!((entry.series.as_str(), entry.observations[0].value), ("7", 1.5e-3));
        assert_eq!((&entry.extras["range"], &entry.extras["extra"]), (&0.25.into(), &"a\nb".into()));
    }

    #[test]
    fn a_number_that_cannot_be_fails_alone() {
        let check = |value: &str, words: &str| {
            let text = format!(r#"[{{"name":"a","unit":"s","value":{value}}},{{"name":"b","unit":"s","value":1}}]"#);
            let imported = read_smaller(&[list(&text)]).expect("the list is read");
            let [a, b] = &imported.runs[0].entries[..] else { panic!("two entries") };
            assert!(matches!(&a.status, EntryStatus::Failed(reason) if reason.contains(words)), "{:?}", a.status);
            assert_eq!((&b.status, b.observations.len(), a.observations.len()), (&EntryStatus::Ok, 1, 0));
        };
        check("NaN", "its `value` is NaN");
        check("-Infinity", "its `value` is -inf");
        check("1e999", "its `value` is inf");
        check("0", "more than zero");
        check("-3", "more than zero");
        check("1e300", "beyond");
        check("5e-324", "too little");
        check("null", "its `value` is null");
        check("\"fast\"", "its `value` is `fast`");
        check("{}", "an object");
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_line() {
        let check = |bytes: &[u8], words: &str| {
            let output = Output { name: "list.json".to_owned(), bytes: bytes.to_vec() };
            let error = read_bigger(&[output]).expect_err("it is refused").to_string();
            assert!(error.contains("list.json") && error.contains(words), "{error}");
        };
        check(b"", "is empty");
        check(b"[]", "lists no benchmark");
        check(b"{}", "is no list of benchmarks: invalid type: map");
        check(b"[{\"name\":\"a\",\n\"value\":1}]", "missing field `unit` at line 2");
        check(b"[{\"name\":\"a\",\n\"unit\":\"s\",\"value\":1,\"value\":2}]", "duplicate field `value` at line 2");
        check(b"[{\"name\":[],\"unit\":\"s\",\"value\":1}]", "neither a text nor a number");
        check(b"[{\"name\":\"a\",\n\"unit", "is not JSON: EOF while parsing a string at line 2");
        check(b"[\xff]", "is not UTF-8 at byte 1");
        check("[".repeat(9000).as_bytes(), "recursion limit");
        let many = format!("[{}1]", r#"{"name":"a","unit":"s","value":1},"#.repeat(MOST_BENCHMARKS + 1));
        check(many.replace(",1]", "]").as_bytes(), "5001 benchmarks");
    }

    #[test]
    fn no_bytes_bring_it_down() {
        let outputs = [list(
            r#"[{"name":"a","unit":"s","value":1.5,"range":"± 3 %","extra":"n: 4"},{"name":"b","unit":"B","value":2}]"#,
        )];
        golden::survives(&outputs, read_smaller);
        golden::survives(&outputs, read_bigger);
    }

    #[test]
    fn units_and_directions_are_those_of_the_tool() {
        let check = |tool: &str, unit: &str, name: &str, base: &str, better: Better, factor: f64| {
            let (metric, found) = reading(tool, unit);
            assert_eq!(
                (metric.name.as_str(), metric.unit.symbol(), metric.better),
                (name, base, better),
                "{tool} {unit}"
            );
            assert!((found / factor - 1.0).abs() < 1e-12, "{tool} {unit}: {found}");
            assert!(is_known_tool(tool));
        };
        check("cargo", "ns/iter", "time", "s", Better::Lower, 1e-9);
        check("googlecpp", "us/iter", "time", "s", Better::Lower, 1e-6);
        check("go", "ns/op", "time", "s", Better::Lower, 1e-9);
        check("go", "ns/op\t       4 B/op\t       1 allocs/op", "time", "s", Better::Lower, 1e-9);
        check("go", "B/op", "allocated_bytes", "B", Better::Lower, 1.0);
        check("go", "allocs/op", "value", "1", Better::Lower, 1.0);
        check("go", "MB/s", "bytes_per_s", "1/s", Better::Higher, 1e6);
        check("jmh", "us/op", "time", "s", Better::Lower, 1e-6);
        check("jmh", "ops/ms", "ops_per_s", "1/s", Better::Higher, 1e3);
        check("jmh", "ops/s", "ops_per_s", "1/s", Better::Higher, 1.0);
        check("pytest", "iter/sec", "iter_per_s", "1/s", Better::Higher, 1.0);
        check("benchmarkjs", "ops/sec", "ops_per_s", "1/s", Better::Higher, 1.0);
        check("julia", "ns", "time", "s", Better::Lower, 1e-9);
        check("catch2", "ms", "time", "s", Better::Lower, 1e-3);
        check(SMALLER, "MiB", "peak_memory", "B", Better::Lower, 1_048_576.0);
        check(SMALLER, "frames/s", "frames_per_s", "1/s", Better::Lower, 1.0);
        check(BIGGER, "tiles/s", "tiles_per_s", "1/s", Better::Higher, 1.0);
        check(BIGGER, "points", "value", "1", Better::Higher, 1.0);
        assert!(!is_known_tool("abacus"));
        assert_eq!(reading("abacus", "ms").0.better, Better::Lower);
    }
}
