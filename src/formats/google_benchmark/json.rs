//! The JSON form.

use std::collections::BTreeMap;

use serde_json::Value;

use super::repetition::{self, Repetition};
use crate::commit_id;
use crate::outputs;
use crate::source::{self, Source};
use crate::{FormatError, MOST_BENCHMARKS, field, json};
use sprag_model::foreign::Output;
use sprag_model::imported::{ImportedCommit, ImportedRun};
use sprag_model::metric::Metric;

/// The version of the form that this build knows; files from before it was counted bear none.
const SCHEMA_VERSION: u64 = 1;

/// The most lines: some for each repetition of a benchmark.
const MOST_LINES: usize = 100 * MOST_BENCHMARKS;

/// Numbers of a line that are no counters.
const NO_COUNTERS: [&str; 5] =
    ["family_index", "per_family_instance_index", "repetition_index", "real_time", "cpu_time"];

pub(super) fn read(output: &Output) -> Result<Source, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let context = value.get("context").unwrap_or(&Value::Null);
    if let Some(version) = field::count(context, "json_schema_version").filter(|version| *version > SCHEMA_VERSION) {
        let reason = format!("has schema version {version}, this build reads {SCHEMA_VERSION}; a newer sprag can");
        return Err(outputs::schema(output, reason));
    }
    let Some(Value::Array(lines)) = value.get("benchmarks") else {
        return Err(outputs::schema(output, "is no report of Google Benchmark: it has no list `benchmarks`"));
    };
    if lines.len() > MOST_LINES {
        return Err(outputs::schema(output, format!("has {} lines, at most {MOST_LINES} are read", lines.len())));
    }
    let mut repetitions = Vec::with_capacity(lines.len());
    for (place, line) in lines.iter().enumerate() {
        let read = repetition(line);
        repetitions.push(read.ok_or_else(|| outputs::schema(output, format!("has no name at `benchmarks[{place}]`")))?);
    }
    if lines.iter().all(|line| line.get("run_type").is_none()) {
        repetition::name_aggregates(&mut repetitions);
    }
    let commit = field::text(context, "git_commit").and_then(commit_id::commit_id);
    let run = ImportedRun {
        commit: commit.map(|sha| ImportedCommit { sha, named_at: None, time: None, subject: None, branch: None }),
        time: field::text(context, "date").and_then(source::time),
        facts: facts(context),
        entries: repetition::entries(&repetitions),
        ..ImportedRun::default()
    };
    let tool_version =
        field::text(context, "library_version").map(|version| field::told(version.trim_start_matches('v')));
    let fits = repetitions.iter().filter(|one| one.is_fit()).count();
    let notes = (fits > 0).then(|| format!("{} has {fits} lines of fits, which are no measurements", output.name));
    Ok(Source { run, tool_version, notes: notes.into_iter().collect() })
}

fn repetition(line: &Value) -> Option<Repetition> {
    let name = field::text(line, "run_name").or_else(|| field::text(line, "name"))?.to_owned();
    let time_unit = field::text(line, "time_unit").unwrap_or_default().to_owned();
    let is = |key: &str| line.get(key).and_then(Value::as_bool) == Some(true);
    let skipped = (is("error_occurred") || is("skipped")).then(|| {
        field::text(line, "error_message").or_else(|| field::text(line, "skip_message")).unwrap_or_default().to_owned()
    });
    let time = |key: &str| field::measured(line, key, &Metric::time(), repetition::seconds(&time_unit)?);
    let is_aggregate = line.get("run_type").and_then(Value::as_str) == Some("aggregate");
    let aggregate = line.get("aggregate_name").and_then(Value::as_str).filter(|_| is_aggregate);
    Some(Repetition {
        name,
        aggregate: aggregate.map(str::to_owned).or_else(|| is_aggregate.then(String::new)),
        skipped,
        real_time: Some(time("real_time")),
        cpu_time: time("cpu_time").ok(),
        repetitions: field::count(line, "repetitions"),
        label: field::text(line, "label").map(str::to_owned),
        counters: counters(line),
        time_unit,
    })
}

fn counters(line: &Value) -> BTreeMap<String, f64> {
    let Some(fields) = line.as_object() else { return BTreeMap::new() };
    let is_counter = |(key, _): &(&String, &Value)| !NO_COUNTERS.contains(&key.as_str());
    let number = |(key, value): (&String, &Value)| Some((field::told(key), value.as_f64()?));
    fields.iter().filter(is_counter).filter_map(number).collect()
}

/// What the library tells of the machine: neither its host name nor the path of the program.
fn facts(context: &Value) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let load = context.get("load_avg").and_then(|loads| loads.get(0));
    let named = [
        ("cores", context.get("num_cpus")),
        ("cpu_mhz", context.get("mhz_per_cpu")),
        ("cpu_scaling", context.get("cpu_scaling_enabled")),
        ("aslr", context.get("aslr_enabled")),
        ("load_1m", load),
        ("library_build", context.get("library_build_type")),
    ];
    named.iter().for_each(|(name, value)| field::fact(&mut facts, name, *value));
    for cache in context.get("caches").and_then(Value::as_array).into_iter().flatten().take(16) {
        let name = match (field::count(cache, "level"), field::text(cache, "type")) {
            (Some(1), Some("Data" | "Unified")) => "cache_l1d_bytes",
            (Some(1), Some("Instruction")) => "cache_l1i_bytes",
            (Some(2), _) => "cache_l2_bytes",
            (Some(3), _) => "cache_l3_bytes",
            (Some(4), _) => "cache_l4_bytes",
            _ => continue,
        };
        field::fact(&mut facts, name, cache.get("size"));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use sprag_model::imported::{Entry, EntryStatus};

    fn file(context: &str, lines: &str) -> Output {
        let text = format!("{{\"context\": {{{context}}}, \"benchmarks\": [{lines}]}}");
        Output { name: "gb.json".to_owned(), bytes: text.into_bytes() }
    }

    fn entries(lines: &str) -> Vec<Entry> {
        read(&file("", lines)).unwrap_or_else(|error| panic!("{error}")).run.entries
    }

    #[test]
    fn the_run_is_described_without_host_and_path() {
        let run = read(&golden::sample("google-benchmark", "out.json")).expect("it is read").run;
        assert_eq!(run.commit.map(|commit| commit.sha).as_deref(), Some("deadbeef"));
        assert_eq!(run.time.map(|time| time.to_rfc3339()).as_deref(), Some("2026-11-21T01:53:55+00:00"));
        assert_eq!((run.facts["cores"].as_str(), run.facts["cache_l1d_bytes"].as_str()), ("2", "49152"));
        assert!(!run.facts.values().any(|value| value.contains("vm") || value.contains("gb")), "{:?}", run.facts);
        assert_eq!(run.entries[1].extras["tiles_per_s"], 8_724_936.677_806_985);
        assert_eq!(run.entries[1].extras["label"], "cpu_ref");
    }

    #[test]
    fn every_known_form_is_read() {
        // A skip with a message, of 1.8; aggregates alone; lines without `run_type`, of before 1.5; a fit.
        let entries = entries(
            r#"{"name":"a","run_name":"a","run_type":"iteration","skipped":true,"skip_message":"no device"},
               {"name":"b_mean","run_name":"b","run_type":"aggregate","aggregate_name":"mean","repetitions":5,
                "real_time":3,"cpu_time":3,"time_unit":"ms"},
               {"name":"b_median","run_name":"b","run_type":"aggregate","aggregate_name":"median","repetitions":5,
                "real_time":2,"cpu_time":2,"time_unit":"ms","items_per_second":4},
               {"name":"b_stddev","run_name":"b","run_type":"aggregate","aggregate_name":"stddev","repetitions":5,
                "real_time":0.5,"cpu_time":0,"time_unit":"ms"},
               {"name":"c_BigO","run_name":"c","run_type":"aggregate","aggregate_name":"BigO","cpu_coefficient":1,
                "real_coefficient":1,"big_o":"N","time_unit":"ns"}"#,
        );
        let [a, b] = &entries[..] else { panic!("two benchmarks: {entries:?}") };
        assert_eq!(a.status, EntryStatus::Skipped("no device".to_owned()));
        assert_eq!((b.observations[0].value, b.observations[0].n), (0.002, 5));
        assert_eq!((&b.extras["repetitions"], &b.extras["stddev"]), (&Value::from(5), &Value::from(0.0005)));
        let old = self::entries(
            r#"{"name":"x","iterations":9,"real_time":4,"cpu_time":4,"time_unit":"us"},
               {"name":"x","iterations":9,"real_time":6,"cpu_time":6,"time_unit":"us"},
               {"name":"x_mean","iterations":2,"real_time":5,"cpu_time":5,"time_unit":"us"},
               {"name":"x_stddev","iterations":2,"real_time":1,"cpu_time":1,"time_unit":"us"},
               {"name":"take_mean","iterations":2,"real_time":7,"cpu_time":7,"time_unit":"s"}"#,
        );
        let [x, take] = &old[..] else { panic!("two benchmarks: {old:?}") };
        assert_eq!((x.observations[0].value, take.series.as_str()), (5.0 * 1e-6, "take_mean"));
    }

    #[test]
    fn a_benchmark_at_fault_fails_alone() {
        let check = |fields: &str, words: &str| {
            let good =
                r#"{"name":"g","run_name":"g","run_type":"iteration","real_time":1,"cpu_time":0,"time_unit":"s"}"#;
            let bad = format!(r#"{{"name":"b","run_name":"b","run_type":"iteration"{fields}}}"#);
            let entries = entries(&format!("{bad}, {good}"));
            let EntryStatus::Failed(reason) = &entries[0].status else { panic!("{fields}: {entries:?}") };
            assert!(reason.contains(words), "{reason}");
            assert!(entries[1].status == EntryStatus::Ok && !entries[1].extras.contains_key("cpu_p50"));
        };
        check("", "its `time_unit` is ``");
        check(r#","time_unit":"ns""#, "it has no `real_time`");
        check(r#","time_unit":"ns","real_time":NaN"#, "its `real_time` is NaN, which is no number");
        check(r#","time_unit":"ns","real_time":-Infinity"#, "which is no number");
        check(r#","time_unit":"ns","real_time":0"#, "more than zero");
        check(r#","time_unit":"ns","real_time":1e-40"#, "too little");
        check(r#","time_unit":"s","real_time":1e300"#, "beyond 1e30");
        check(r#","time_unit":"s","real_time":"1""#, "no number");
        check(r#","time_unit":"parsec","real_time":1"#, "`parsec`, where ns");
    }

    #[test]
    fn what_is_no_report_is_refused() {
        let check = |output: Output, words: &str| {
            let error = read(&output).map(|_| ()).expect_err("it is refused").to_string();
            assert!(error.starts_with("gb.json ") && error.contains(words), "{error}");
        };
        check(file("\"json_schema_version\": 2", ""), "has schema version 2");
        check(file("", "{}"), "no name at `benchmarks[0]`");
        check(file("\"a\": 1, \"a\": 2", ""), "`a` stands twice");
        check(file("", "7"), "`benchmarks[0]`");
        check(file("", &vec!["7"; MOST_LINES + 1].join(",")), "has 500001 lines, at most 500000 are read");
        check(file("", &"[".repeat(200)), "recursion limit");
        check(Output { name: "gb.json".to_owned(), bytes: b"{\"benchmarks\": 1}".to_vec() }, "no list `benchmarks`");
    }
}
