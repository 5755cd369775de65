//! What pytest-benchmark saves: JSON of version 3 to 5, with or without the single rounds.
//!
//! A round is one observation, in seconds for one call. The commit, its branch and whether the working tree had changes
//! are told by the file; the name of the machine and of whoever committed are left there.

use std::collections::BTreeMap;

use serde_json::Value;

use super::frame::{Read, Recognised, Source, check_count};
use super::{Format, FormatError, field, json, peek};
use crate::{outputs, provenance};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, ImportedCommit, ImportedRun, Observation};
use sprag_model::metric::Metric;

pub(super) const FORMAT: Format = Format {
    name: "pytest-benchmark",
    title: "pytest-benchmark, JSON",
    files: &[".json"],
    recognised: Recognised::EachNamed(&[".json"], is_report),
    read: Read::Each("pytest-benchmark", read_file),
};

/// Figures of a benchmark that are kept beside its times, in seconds.
const FIGURES: [&str; 4] = ["stddev", "iqr", "q1", "q3"];

fn is_report(output: &Output) -> bool {
    let keys = peek::key_paths(output);
    let has = |all: [&str; 2]| all.iter().all(|key| keys.contains(*key));
    has(["machine_info", "commit_info"]) || has(["benchmarks.stats", "benchmarks.fullname"])
}

fn read_file(output: &Output, _: &[Output]) -> Result<Source, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let Some(Value::Array(benchmarks)) = value.get("benchmarks") else {
        return Err(outputs::schema(output, "is no report of pytest-benchmark: it has no list `benchmarks`"));
    };
    check_count(output, benchmarks.len())?;
    let mut entries = Vec::with_capacity(benchmarks.len());
    for (place, benchmark) in benchmarks.iter().enumerate() {
        let entry = entry(benchmark);
        entries.push(entry.ok_or_else(|| outputs::schema(output, format!("has no name at `benchmarks[{place}]`")))?);
    }
    let info = value.get("commit_info").unwrap_or(&Value::Null);
    let mut notes = Vec::new();
    let mut facts = facts(value.get("machine_info").unwrap_or(&Value::Null));
    if info.get("dirty").and_then(Value::as_bool) == Some(true) {
        facts.insert("dirty".to_owned(), "yes".to_owned());
        notes.push(format!("{} was measured on a working tree with changes", output.name));
    }
    let time = field::text(&value, "datetime").and_then(provenance::time);
    let run = ImportedRun { commit: commit(info), time, facts, entries, ..ImportedRun::default() };
    let tool_version = field::text(&value, "version").map(field::one_line);
    Ok(Source { run, tool_version, notes })
}

fn commit(info: &Value) -> Option<ImportedCommit> {
    let sha = field::text(info, "id").and_then(provenance::commit_id)?;
    let branch = field::text(info, "branch").map(field::one_line).filter(|branch| !branch.starts_with('('));
    let time = field::text(info, "time").and_then(provenance::time);
    Some(ImportedCommit { time, branch, ..provenance::commit(sha) })
}

/// What the file tells of the machine, without its name.
fn facts(machine: &Value) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let cpu = machine.get("cpu").unwrap_or(&Value::Null);
    let named = [
        // Older versions called it so.
        ("cpu_model", cpu.get("brand_raw").or_else(|| cpu.get("brand"))),
        ("cores", cpu.get("count")),
        ("compiler", machine.get("python_compiler")),
        ("python", machine.get("python_version")),
        ("python_implementation", machine.get("python_implementation")),
        ("os", machine.get("system")),
        ("os_release", machine.get("release")),
        ("architecture", machine.get("machine")),
    ];
    named.iter().for_each(|(name, value)| field::fact(&mut facts, name, *value));
    facts
}

fn entry(benchmark: &Value) -> Option<Entry> {
    let series = field::text(benchmark, "fullname").or_else(|| field::text(benchmark, "name"))?;
    let stats = benchmark.get("stats").unwrap_or(&Value::Null);
    let ending = field::text(benchmark, "param").map(|param| format!("[{param}]"));
    let name = ending.and_then(|ending| series.strip_suffix(ending.as_str())).unwrap_or(series);
    let params = field::params(benchmark.get("params"));
    let mut entry = Entry { series: series.to_owned(), name: name.to_owned(), params, ..Entry::default() };
    let retained = [
        ("group", benchmark.get("group")),
        ("rounds", stats.get("rounds")),
        ("iterations", stats.get("iterations")),
        (
            "extra_info",
            benchmark.get("extra_info").filter(|info| info.as_object().is_some_and(|info| !info.is_empty())),
        ),
    ];
    let retained = retained.iter().filter_map(|(name, value)| Some(((*name).to_owned(), field::plain((*value)?)?)));
    entry.extras.extend(retained);
    for figure in FIGURES {
        field::extra(&mut entry.extras, figure, stats.get(figure).and_then(Value::as_f64));
    }
    match time(stats) {
        Ok(time) => entry.observations.push(time),
        Err(reason) => entry.status = EntryStatus::Failed(reason),
    }
    Some(entry)
}

fn time(stats: &Value) -> Result<Observation, String> {
    let metric = Metric::time();
    let value = field::measured(stats, "median", &metric, 1.0)?;
    let samples = field::all_measured(stats, "data", &metric, 1.0)?;
    let rounds = field::count(stats, "rounds").unwrap_or_default();
    let n = rounds.max(samples.len() as u64);
    Ok(Observation { n, ..Observation::sampled(metric, "s", value, samples) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use sprag_model::imported::Imported;

    fn file(benchmarks: &str, more: &str) -> String {
        format!("{{\"benchmarks\": [{benchmarks}], \"machine_info\": {{}}{more}}}")
    }

    #[test]
    fn the_sample_is_read() {
        let imported = FORMAT.read(&golden::samples("pytest-benchmark")).expect("it is read");
        let run = &imported.runs[0];
        assert_eq!(imported.tool_version.as_deref(), Some("5.3.1"));
        let commit = run.commit.as_ref().expect("the file tells");
        assert_eq!((&commit.sha[..8], commit.branch.as_deref()), ("b629e6a8", Some("master")));
        assert_eq!(commit.time.map(|time| time.to_rfc3339()).as_deref(), Some("2026-11-21T01:53:04+00:00"));
        assert_eq!(run.time.map(|time| time.timestamp()), Some(1_795_226_033));
        assert_eq!(["cpu_model", "os_release"].map(|name| run.facts[name].as_str()), ["AMD EPYC", "6.18.44-fc-v669"]);
        assert!(!run.facts.values().any(|value| value == "vm"));
        let first = &run.entries[0];
        assert_eq!((first.name.as_str(), first.params["k"].as_str()), ("test_b1.py::test_tile_pack", "8"));
        assert_eq!(first.extras["extra_info"]["tiles"], 8);
    }

    #[test]
    fn every_supported_form_is_read() {
        // Without rounds, without a group, of one round, of a repository that is none.
        let one = r#"{"group":null,"name":"t","fullname":"f.py::t","params":null,"param":null,
                      "stats":{"median":2,"rounds":1,"iterations":5,"q1":null,"data":[]}}"#;
        let more = r#", "commit_info": {"id": null, "dirty": true, "branch": "(unknown)"}, "datetime": "2016-08-02T21:07:26.5""#;
        let Imported { runs, notes, .. } = golden::read(&FORMAT, "p.json", file(one, more));
        let run = &runs[0];
        assert_eq!((run.entries[0].observations[0].value, run.entries[0].observations[0].n), (2.0, 1));
        assert_eq!((&run.commit, run.facts["dirty"].as_str(), notes.len()), (&None, "yes", 1));
        assert_eq!(run.time.map(|time| time.to_rfc3339()).as_deref(), Some("2016-08-02T21:07:26.500+00:00"));
    }

    #[test]
    fn a_benchmark_at_fault_fails_alone() {
        let check = |stats: &str, words: &str| {
            let both = format!(r#"{{"fullname":"b","stats":{stats}}}, {{"fullname":"g","stats":{{"median":1}}}}"#);
            golden::failed_alone(&golden::entries(&FORMAT, "p.json", file(&both, "")), words);
        };
        check("null", "it has no `median`");
        check(r#"{"median": NaN}"#, "its `median` is NaN");
        check(r#"{"median": 0}"#, "more than zero");
        check(r#"{"median": 1, "data": [1, -Infinity]}"#, "its `data[1]` is -inf");
        check(r#"{"median": 1, "data": {}}"#, "no list");
        check(r#"{"median": 1e-320}"#, "too little");
    }

    #[test]
    fn what_is_no_report_is_refused() {
        let check = |text: &str, words: &str| golden::refused(&FORMAT, "p.json", text, words);
        check(&file("", ""), "lists no benchmark");
        check(&file("{}", ""), "no name at `benchmarks[0]`");
        check(&file("", ", \"benchmarks\": []"), "occurs twice");
        check("[1]", "no list `benchmarks`");
    }
}
