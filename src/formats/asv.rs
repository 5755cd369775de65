//! The results folder of asv (airspeed velocity), versions 1 and 2 of its files: a whole history.
//!
//! `benchmarks.json` tells the units, names of parameters and version of each benchmark. `<machine>/machine.json` describes
//! a machine. Each other `<machine>/*.json` holds the results of one commit in one environment and becomes a run. Of a
//! benchmark with parameters, `result` has one value a combination, the last parameter varying fastest: `null` failed, and
//! `NaN`, which is no JSON, was skipped. The values are in seconds, bytes, or a unit that the benchmark tells.
//!
//! A file alone is read too; the units of its benchmarks are then told by their names, as asv's convention has it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::asv_result::{ResultFile, Suite, entries};
use super::frame::{Format, Read, Recognised};
use super::outputs::{self, Notes, unique_entries};
use super::peek::file_name;
use super::{FormatError, LONGEST_PREFIX, MOST_BENCHMARKS, json};
use sprag_base::digest;
use sprag_model::foreign::Output;
use sprag_model::imported::{Imported, ImportedRun};

pub(crate) const FORMAT: Format = Format {
    name: "asv",
    title: "results folder of airspeed velocity, or one file of it",
    files: &[".json"],
    recognised: Recognised::Folder(recognises),
    read: Read::Together(read),
};

const BENCHMARKS: &str = "benchmarks.json";

const MACHINE: &str = "machine.json";

/// The longest fact that is kept, in characters.
const MOST_FACT: usize = 200;

/// Whether the outputs are a results folder, or one result.
fn recognises(outputs: &[Output]) -> bool {
    let outputs: Vec<&Output> = outputs.iter().collect();
    match &outputs[..] {
        [one] => is_result(one),
        outputs => root(outputs).is_some() && results(outputs).into_iter().next().is_some_and(is_result),
    }
}

/// Reads a results folder, or one result, a run each file of results.
fn read(outputs: &[&Output]) -> Result<Imported, FormatError> {
    let mut notes = Notes::default();
    let suite = match root(outputs) {
        Some((_, list)) => Suite::read(&json::parse(list)?).map_err(|reason| outputs::schema(list, reason))?,
        None => Suite::default(),
    };
    let mut machines: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for output in outputs.iter().filter(|output| file_name(output) == MACHINE && outputs.len() > 1) {
        if let Value::Object(fields) = json::parse(output)? {
            machines.insert(folder(output), fields);
        }
    }
    let mut runs = Vec::new();
    for output in results(outputs) {
        let file =
            ResultFile::read(json::parse_with_not_finite(output)?).map_err(|reason| outputs::schema(output, reason))?;
        let run = run(output, &file, &suite, machines.get(folder(output)), &mut notes)?;
        if run.entries.is_empty() {
            notes.add("no benchmark that is still the same has a result in it", || output.name.clone());
        } else {
            runs.push(run);
        }
    }
    outputs::imported("asv", runs, notes.sentences())
}

/// The folder in which the list of benchmarks lies, with a slash at its end, and the list.
fn root<'a>(outputs: &[&'a Output]) -> Option<(&'a str, &'a Output)> {
    let lists = outputs.iter().copied().filter(|output| file_name(output) == BENCHMARKS);
    let list = lists.min_by_key(|output| (output.name.matches('/').count(), &output.name))?;
    Some((list.name.strip_suffix(BENCHMARKS).unwrap_or_default(), list))
}

/// The files of results: those one folder below the list of benchmarks; where there is no list, all.
fn results<'a>(outputs: &[&'a Output]) -> Vec<&'a Output> {
    let root = root(outputs).map(|(root, _)| root);
    let fits = |output: &&Output| {
        let place = match root {
            Some(root) => output.name.strip_prefix(root).is_some_and(|rest| rest.matches('/').count() == 1),
            None => true,
        };
        place && output.name.ends_with(".json") && ![MACHINE, BENCHMARKS].contains(&file_name(output))
    };
    outputs.iter().copied().filter(fits).collect()
}

/// Whether the keys of a result stand in it. They may stand behind the results, so all of it is searched.
fn is_result(output: &Output) -> bool {
    let Ok(text) = std::str::from_utf8(&output.bytes) else { return false };
    let keys = ["\"commit_hash\"", "\"requirements\"", "\"results\""];
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{') && keys.iter().all(|key| text.contains(key))
}

fn folder(output: &Output) -> &str {
    output.name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn last_folder(output: &Output) -> Option<String> {
    folder(output).rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

fn run(
    output: &Output,
    file: &ResultFile,
    suite: &Suite,
    machine: Option<&Map<String, Value>>,
    notes: &mut Notes,
) -> Result<ImportedRun, FormatError> {
    let described = |key: &str| {
        let text = match file.params.get(key).or_else(|| machine?.get(key))? {
            Value::String(text) => text.trim().chars().take(MOST_FACT).collect(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
        };
        Some(text).filter(|text: &String| !text.is_empty())
    };
    let variant = environment(file);
    if variant.as_ref().is_some_and(|variant| variant.len() > LONGEST_PREFIX) {
        let reason = format!("has in `python` and `requirements` more than {LONGEST_PREFIX} bytes");
        return Err(outputs::schema(output, reason));
    }
    let mut result = Vec::new();
    for row in &file.rows {
        if suite.is_outdated(&row.name, row.version()) {
            let what = "the result is of another version of its benchmark and is passed over";
            notes.add(what, || format!("{}, `{}`", output.name, row.name.escape_debug()));
            continue;
        }
        result.extend(entries(row, suite, variant.as_deref()));
        if result.len() > MOST_BENCHMARKS {
            return Err(FormatError::Many { name: output.name.clone(), count: result.len() });
        }
    }
    Ok(ImportedRun {
        suite: None,
        commit: Some(file.commit.clone()),
        machine: described("machine").or_else(|| last_folder(output)),
        time: file.rows.iter().filter_map(|row| row.started_at()).min(),
        facts: facts(file, described),
        entries: unique_entries(result),
        digest: digest::sha256_hex(&output.bytes),
    })
}

/// What tells the runs of a matrix of environments apart, as asv does: the version of Python and what was installed. A
/// path of an interpreter says nothing to others.
fn environment(file: &ResultFile) -> Option<String> {
    let python = python(file).map(|version| format!("py{version}"));
    let requirements = file.requirements.iter().map(|(name, version)| format!("{name}{version}"));
    let parts: Vec<String> = python.into_iter().chain(requirements).collect();
    (!parts.is_empty()).then(|| parts.join("-"))
}

fn python(file: &ResultFile) -> Option<&str> {
    file.python.as_deref().filter(|python| !python.is_empty() && !python.contains(['/', '\\']))
}

/// The facts that may be told, under the names of a record where it has them.
fn facts(file: &ResultFile, described: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let os = described("os");
    let release = os.as_deref().and_then(|os| os.strip_prefix("Linux ")).map(str::to_owned);
    // asv asks the user for the memory and proposes kilobytes.
    let kilobytes = described("ram").and_then(|ram| ram.parse::<u32>().ok()).map(f64::from);
    let requirements: Vec<String> =
        file.requirements.iter().map(|(name, version)| format!("{name} {version}").trim().to_owned()).collect();
    let facts = [
        ("cpu_model", described("cpu")),
        ("cores", described("num_cpu").filter(|count| count.parse::<u32>().is_ok())),
        ("memory_gib", kilobytes.map(|ram| (ram / 1_048_576.0).round().to_string())),
        ("os_release", release),
        ("os", os),
        ("arch", described("arch")),
        ("python", python(file).map(str::to_owned)),
        ("requirements", (!requirements.is_empty()).then(|| requirements.join(", "))),
    ];
    facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::golden;
    use sprag_model::imported::Entry;

    const SAMPLE: &str = "results/ci-2core/6a580d9d-existing-py_opt_venv_bin_python.json";

    fn file(name: &str, value: &Value) -> Output {
        Output { name: name.to_owned(), bytes: value.to_string().into_bytes() }
    }

    /// A result of version 2 with the given results, of which only the first two columns are there.
    fn second(results: Value) -> Value {
        json!({"commit_hash": "6a580d9da358a59f7833bbf1ef3e0ec22c7807db", "env_name": "e", "date": 1_795_226_071_000_u64,
            "params": {"machine": "box", "cpu": "A CPU", "num_cpu": "8", "ram": "16777216", "os": "Linux 6.1.0", "arch": "x86_64"},
            "python": "3.12", "requirements": {"numpy": "1.26", "six": ""}, "env_vars": {"TOKEN": "secret"},
            "result_columns": ["result", "params", "version"], "results": results, "durations": {}, "version": 2})
    }

    fn one(results: Value) -> ImportedRun {
        FORMAT.read(&[file("box/a.json", &second(results))]).expect("it is read").runs.remove(0)
    }

    fn value_of(entry: &Entry) -> (&str, Option<f64>) {
        (&entry.series, entry.observations.first().map(|observation| observation.value))
    }

    #[test]
    fn the_sample_is_read_with_its_times() {
        let run = FORMAT.read(&golden::samples("asv")).expect("it is read").runs.remove(0);
        let entry = &run.entries[0];
        assert_eq!((entry.name.as_str(), entry.params["kmax"].as_str()), ("b.TimeKernels.time_pack", "8"));
        assert_eq!(
            (&entry.variant, &entry.extras["number"], &entry.extras["q_75"]),
            (&None, &json!(1.0), &json!(0.000_103_52))
        );
        let time = |time: chrono::DateTime<chrono::Utc>| time.timestamp_millis();
        assert_eq!(run.time.map(time), Some(1_795_226_076_871));
        assert_eq!(run.commit.and_then(|commit| commit.time).map(time), Some(1_795_226_071_000));
        assert!(run.facts.is_empty(), "{:?}", run.facts);
    }

    #[test]
    fn a_file_alone_is_read_by_the_names_of_its_benchmarks() {
        let run = FORMAT.read(&[golden::sample("asv", SAMPLE)]).expect("it is read").runs.remove(0);
        let names: Vec<_> =
            run.entries.iter().flat_map(|entry| &entry.observations).map(|one| one.metric.name.as_str()).collect();
        assert_eq!(names, ["time", "time", "time", "time", "memory", "track"]);
        assert!(run.entries[0].params.contains_key("param1") && run.machine.as_deref() == Some("ci-2core"));
    }

    #[test]
    fn facts_are_those_that_may_be_published() {
        let run = one(json!({"a.time_x": [[1.5]]}));
        let facts: Vec<String> = run.facts.iter().map(|(name, fact)| format!("{name}: {fact}")).collect();
        let expected = [
            "arch: x86_64",
            "cores: 8",
            "cpu_model: A CPU",
            "memory_gib: 16",
            "os: Linux 6.1.0",
            "os_release: 6.1.0",
            "python: 3.12",
            "requirements: numpy 1.26, six",
        ];
        assert_eq!(facts, expected);
        assert_eq!(run.entries[0].variant.as_deref(), Some("py3.12-numpy1.26-six"));
    }

    #[test]
    fn the_first_version_is_read_too() {
        let value = json!({"commit_hash": "6a580d9da3", "date": 1_500_000_000_000_u64, "params": {}, "python": "2.7",
            "requirements": {}, "version": 1, "started_at": {"a.time_y": 1_500_000_001_000_u64},
            "benchmark_version": {"a.time_y": "old", "a.time_x": "v"},
            "results": {"a.time_x": 0.5, "a.time_null": null,
                "a.time_y": {"params": [["1", "2"]], "result": [2.0, null], "samples": [[1.0, 3.0], null],
                    "stats": [{"ci_99": [1.0, 3.0], "q_25": 1.5, "number": 10, "repeat": 2}, null]},
                "a.time_z": {"result": 4, "stats": {"repeat": 7}}}});
        let run = FORMAT.read(&[file("box/a.json", &value)]).expect("it is read").runs.remove(0);
        let result: Vec<_> = run.entries.iter().map(value_of).collect();
        let expected = [
            ("a.time_x", Some(0.5)),
            ("a.time_null", None),
            ("a.time_y(1)", Some(2.0)),
            ("a.time_y(2)", None),
            ("a.time_z", Some(4.0)),
        ];
        assert_eq!(result, expected);
        let observation = &run.entries[2].observations[0];
        assert_eq!((&observation.samples, observation.n), (&vec![1.0, 3.0], 2));
        assert_eq!((&run.entries[2].extras["ci_99_b"], run.entries[4].observations[0].n), (&json!(3.0), 7));
        assert_eq!((run.machine.as_deref(), run.time.is_some()), (Some("box"), true));
    }

    #[test]
    fn results_of_replaced_code_are_passed_over() {
        let list = json!({"a.time_x": {"unit": "seconds", "version": "new", "param_names": []}, "version": 2});
        let results = json!({"a.time_x": [[1.0], [], "old"], "a.time_gone": [[2.0], [], "any"]});
        let outputs = [
            file("r/benchmarks.json", &list),
            file("r/box/a.json", &second(results)),
            file("r/box/b.json", &second(json!({"a.time_x": [[1.0], [], "old"]}))),
            file("r/box/machine.json", &json!({"cpu": "B", "machine": "other"})),
            file("r/graphs/x/y.json", &json!(1)),
        ];
        let imported = FORMAT.read(&outputs).expect("it is read");
        assert_eq!(imported.runs.len(), 1);
        assert_eq!(imported.runs[0].entries.iter().map(value_of).collect::<Vec<_>>(), [("a.time_gone", Some(2.0))]);
        assert_eq!(imported.notes.len(), 2);
        assert!(
            imported.notes[1].contains("r/box/a.json, `a.time_x`: the result is of another version"),
            "{:?}",
            imported.notes
        );
    }

    #[test]
    fn a_benchmark_at_fault_fails_alone() {
        let check = |cells: &str, words: &str| {
            let good = second(json!({"a.time_x": [[1]], "a.time_y": [[1]]})).to_string();
            let text = good.replace("\"a.time_x\":[[1]]", &format!("\"a.time_x\":{cells}"));
            golden::failed_alone(&golden::entries(&FORMAT, "a.json", text), words);
        };
        check("[]", FAILED_WORDS);
        check("[null]", FAILED_WORDS);
        check("[[NaN]]", "asv recorded that it was skipped");
        check("[[Infinity]]", "its `result` is inf, which is no number");
        check("[[0]]", "more than zero");
        check("[[{}]]", "an object");
        check("[[1,2]]", "its `result` has 2 values");
        check("[[1],[[\"a\",\"b\"]]]", "its `result` has 1 values");
        check("[[1],[[null]]]", "no lists of words");
        check("[[1],7]", "its `params` are no list");
        let bomb = format!("[null,[{}[\"a\"]]]", "[1,2,3,4,5,6,7,8,9,10],".repeat(60));
        check(&bomb, "more than 5000 combinations");
        check(&format!("[[1,2],[[\"{}\",\"b\"]]]", "x".repeat(LONGEST_PREFIX)), "more than 4096 bytes for each of 2");
    }

    const FAILED_WORDS: &str = "asv recorded that it failed";

    #[test]
    fn what_is_not_of_asv_is_refused_with_its_file() {
        let check = |value: Value, words: &str| {
            let error = FORMAT.read(&[file("box/a.json", &value)]).expect_err("it is refused").to_string();
            assert!(error.contains(words), "{error}");
        };
        check(json!([]), "box/a.json is no result of asv");
        check(json!({"commit_hash": "main"}), "box/a.json is no result of asv: its `commit_hash`");
        check(json!({"commit_hash": "6a580d9"}), "it has no object `results`");
        check(json!({"commit_hash": "6a580d9", "version": 3}), "box/a.json has version 3, this build reads up to 2");
        check(json!({"commit_hash": "6a580d9", "result_columns": [1], "results": {}}), "`result_columns`");
        check(second(json!({"a": 1})), "`results`.`a` no list of columns");
        check(second(json!({"a": [1, [], "v", 4]})), "more cells than columns");
        check(second(json!({})), "the folder of asv lists no benchmark");
        let long = "x".repeat(LONGEST_PREFIX + 1);
        check(json!({"commit_hash": "6a580d9", "result_columns": [long], "results": {}}), "a name of more than 4096");
        let mut required = second(json!({"a": [[1]]}));
        required["requirements"] = json!({"numpy": long});
        check(required, "`python` and `requirements` more than 4096 bytes");
        let many: Vec<usize> = (1..=MOST_BENCHMARKS + 1).collect();
        check(second(json!({"a": [many, [many]]})), "lists 5001 benchmarks");
        assert!(FORMAT.read(&[]).is_err() && !FORMAT.recognises(&[]));
        golden::refused(&FORMAT, "a.json", "{\"results\":{},\n\"results\":{}}", "occurs twice in one object at line 2");
    }
}
