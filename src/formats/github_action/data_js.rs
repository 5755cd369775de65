//! `data.js`, the history that github-action-benchmark keeps beside its page: every run of every suite.
//!
//! ```text
//! window.BENCHMARK_DATA = {"lastUpdate": 0, "repoUrl": "", "entries": {"suite": [
//!   {"commit": {"id", "message", "timestamp"}, "date": 0, "tool": "cargo", "benches": [
//!     {"name", "value", "unit", "range"?, "extra"?}]}]}}
//! ```
//!
//! The assignment and a semicolon at the end may be absent. Several runs of one commit are told apart by their `date`. Of
//! a commit its id, time and the first line of its message are read, never who wrote it.

use std::fmt;

use rayon::prelude::*;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::super::commit_id::commit_id;
use super::super::head::{file_name, head, skip};
use super::super::json;
use super::super::notes::Notes;
use super::super::unique::unique_entries;
use super::super::{FormatError, LONGEST_PREFIX, MOST_BENCHMARKS, MOST_RUNS, moment};
use super::bench::{self, Bench};
use super::tool;
use sprag_base::digest;
use sprag_base::json::Strict;
use sprag_base::json::to_canonical;
use sprag_model::foreign::Output;
use sprag_model::imported::{Imported, ImportedCommit, ImportedRun};

/// The longest subject of a commit that is kept, in characters.
const MOST_SUBJECT: usize = 200;

/// The longest assignment before the data, in bytes.
const MOST_ASSIGNMENT: usize = 200;

/// Whether all outputs are such histories.
pub(crate) fn recognises(outputs: &[Output]) -> bool {
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
///
/// # Errors
/// Names the file and the line that is no such history.
pub(crate) fn read(outputs: &[Output]) -> Result<Imported, FormatError> {
    let mut runs = Vec::new();
    let mut notes = Notes::default();
    for output in outputs {
        let name = &output.name;
        let Some(body) = assigned(json::text(output)?) else {
            let reason = "is no data.js: neither JSON nor an assignment of it stands in it".to_owned();
            return Err(FormatError::Schema { name: name.clone(), reason });
        };
        let body = body.trim_end();
        let body = body.strip_suffix(';').unwrap_or(body);
        let page: Page = bench::typed(name, body, "data.js")?;
        if page.entries.0.iter().map(|(_, parts)| parts.len()).sum::<usize>() > MOST_RUNS {
            return Err(FormatError::ManyRuns(name.clone()));
        }
        for (suite, parts) in page.entries.0 {
            if suite.len() > LONGEST_PREFIX {
                let reason = format!("has a suite with a name of more than {LONGEST_PREFIX} bytes");
                return Err(FormatError::Schema { name: name.clone(), reason });
            }
            let read = parts.into_par_iter().enumerate().map(|(place, part)| one(name, &suite, place, part));
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
fn one(name: &str, suite: &str, place: usize, part: Part) -> Result<(Option<ImportedRun>, Notes), FormatError> {
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

/// What is read of the whole.
#[derive(Deserialize)]
struct Page {
    entries: Suites,
}

/// The suites in the order of the file.
struct Suites(Vec<(String, Vec<Part>)>);

/// One run of a suite.
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
                        return Err(A::Error::custom(format!("the suite `{}` stands twice", name.escape_debug())));
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
    if !tool::is_known(&part.tool) {
        let what = format!(
            "the tool `{}` is not known, so smaller is taken as better, but for rates",
            shortened(&part.tool).escape_debug()
        );
        notes.add(&what, &place);
    }
    let time = part.date.as_ref().and_then(|Strict(date)| moment::of_millis(date));
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
        time: part.timestamp.as_deref().and_then(moment::of_text),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use sprag_model::imported::EntryStatus;

    fn file(text: &str) -> [Output; 1] {
        [Output { name: "data.js".to_owned(), bytes: text.as_bytes().to_vec() }]
    }

    fn part(id: &str, benches: &str) -> String {
        format!(
            r#"{{"commit":{{"id":"{id}","message":"one\ntwo"}},"date":1795226245061,"tool":"go","benches":[{benches}]}}"#
        )
    }

    const BENCH: &str = r#"{"name":"a","value":2,"unit":"ns/op"}"#;

    #[test]
    fn the_sample_gives_the_expected_rows() {
        golden::check("github-action-benchmark", read);
        golden::recognised(recognises, &["github-action-benchmark"]);
    }

    #[test]
    fn a_run_stays_itself_when_the_file_grows() {
        let [a, b] = [part("6A580D9D", BENCH), part("6a580d9d", BENCH).replace("061", "062")];
        let short = read(&file(&format!(r#"{{"entries":{{"s":[{a}]}}}}"#))).expect("it is read");
        let grown =
            format!("window.BENCHMARK_DATA = {{\"lastUpdate\":9,\"entries\":{{\"r\":[{b}],\"s\":[{a},{b}]}}}} ;\n");
        let long = read(&file(&grown)).expect("it is read");
        let plain = grown.split_once(" = ").map(|(_, plain)| plain).expect("it is assigned");
        assert!(recognises(&file(&grown)) && recognises(&file(plain)) && !recognises(&file("{\"entries\": []}")));
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
        let imported = read(&file(&text)).expect("it is read");
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
        let run = &read(&file(&text)).expect("it is read").runs[0];
        let failed: Vec<bool> = run.entries.iter().map(|entry| entry.status != EntryStatus::Ok).collect();
        assert_eq!(failed, [true, true, true, false]);
    }

    #[test]
    fn what_is_no_history_is_refused_with_its_place() {
        let check = |text: &str, words: &str| {
            let error = read(&file(text)).expect_err("it is refused").to_string();
            assert!(error.contains("data.js") && error.contains(words), "{error}");
        };
        check(" ", "is empty");
        check("alert(1)", "is no data.js");
        check("<script>{}", "is no data.js");
        check("{}", "missing field `entries`");
        check(r#"{"entries":{}}"#, "lists no benchmark");
        check(r#"{"entries":{"s":[],"s":[]}}"#, "the suite `s` stands twice");
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
            assert!(recognises(&outputs));
            let imported = read(&outputs).expect("a published history is read");
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

    #[test]
    fn no_bytes_bring_it_down() {
        golden::survives(&[golden::sample("github-action-benchmark", "data.js")], read);
    }
}
