//! The published schemas: the program prints them, and everything that it writes follows them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sprag_base::json::to_canonical;
use sprag_formats::custom;
use sprag_model::autotune::TuneStore;
use sprag_model::event_record::EVENT_ROOT;
use sprag_model::foreign::Output;
use sprag_model::{Baseline, EventRecord, Run, event_record, flat};
use sprag_pipeline::config::Config;

use crate::sandbox::{Sandbox, files, json};

/// Rewrites `schemas/` instead of comparing.
const UPDATE: &str = "UPDATE_SCHEMAS";

/// The document of a text; fails unless it follows the committed schema of that name.
#[track_caller]
pub(crate) fn follows(name: &str, text: &str) -> Value {
    let (document, schema) = (json(text), schema(name));
    let faults: Vec<String> = jsonschema::validator_for(&schema)
        .expect("the schema is one")
        .iter_errors(&document)
        .map(|error| format!("{error} at `{}`", error.instance_path))
        .collect();
    assert!(faults.is_empty(), "{name}: {}", faults.join("\n"));
    document
}

fn root(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

#[track_caller]
fn read(path: &str) -> String {
    fs::read_to_string(root(path)).unwrap_or_else(|error| panic!("`{path}`: {error}"))
}

fn schema(name: &str) -> Value {
    serde_json::from_str(&read(&format!("schemas/{name}.json"))).expect("a schema is JSON")
}

/// The texts of the JSON files below a folder of the project, by path.
fn texts_below(folder: &str) -> Vec<(String, String)> {
    let files = files(&root(folder)).into_iter().filter(|(path, _)| path.ends_with(".json"));
    files.map(|(path, bytes)| (path, String::from_utf8(bytes).expect("JSON is text"))).collect()
}

#[test]
fn the_committed_schemas_are_those_that_the_program_prints() {
    let sandbox = Sandbox::empty();
    let list = sandbox.ends(0, &["schema"]).out;
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 10, "{list}");
    for name in &names {
        let printed = sandbox.ends(0, &["schema", name]).out;
        let file = root(&format!("schemas/{name}.json"));
        if std::env::var_os(UPDATE).is_some() {
            fs::write(&file, &printed).expect("the file can be written");
        }
        let committed = fs::read_to_string(&file).unwrap_or_default();
        assert!(committed == printed, "schemas/{name}.json is out of date; run the test with {UPDATE}=1");
    }
    let committed = texts_below("schemas").len();
    assert_eq!(committed, names.len(), "schemas/ holds a file that the program does not print");
    sandbox.ends(2, &["schema", "run-99"]).says(&["there is no schema `run-99`", "hint: `sprag schema` lists them"]);
}

#[test]
fn what_the_project_has_recorded_follows_its_schema() {
    let mut seen = [0, 0];
    for (path, text) in texts_below("history/v1") {
        let version = json(&text)["schema_version"].as_u64().expect("a record has a version");
        let is_event = root("history/v1").join(path).starts_with(root(EVENT_ROOT));
        follows(&format!("{}-{version}", if is_event { "event" } else { "run" }), &text);
        if !is_event {
            seen[version as usize - 1] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    let baselines = texts_below("baselines");
    assert!(!baselines.is_empty());
    for (_, text) in baselines {
        follows(&format!("baseline-{}", json(&text)["schema_version"]), &text);
    }
}

/// The example of the documentation has most settings; a misspelt one fits neither the reader nor the schema.
#[test]
fn the_documented_settings_follow_the_schema() {
    let page = read("docs/CONFIGURATION.md");
    let example = page.split("```").nth(1).and_then(|block| block.strip_prefix("toml\n")).expect("an example");
    for text in [example, &read("sprag.toml")] {
        Config::parse(text, Path::new("sprag.toml")).unwrap_or_else(|error| panic!("{error}"));
        let settings: Value = toml::from_str(text).expect("the settings are TOML");
        follows("config-1", &settings.to_string());
    }
    let validator = jsonschema::validator_for(&schema("config-1")).expect("the schema is one");
    assert!(!validator.is_valid(&json!({ "site": { "download": true } })));
}

/// Frozen files of every version are read, and written again to the same bytes.
#[test]
fn every_past_version_is_read_for_ever() {
    for version in [1, 2] {
        let text = read(&format!("fixtures/records/run-{version}.json"));
        follows(&format!("run-{version}"), &text);
        let (_, run) = Run::from_record(text.as_bytes()).unwrap_or_else(|error| panic!("run-{version} {error}"));
        assert!(run.to_record().2 == text.as_bytes(), "run-{version} is written otherwise");
    }
    let text = read("fixtures/records/event-1.json");
    follows("event-1", &text);
    let path = "history/v1/_events/2026/05/e-7c1f03-retracted-df33ebb686792717.json";
    let event = EventRecord::from_file(path, text.as_bytes()).unwrap_or_else(|error| panic!("event-1 {error}"));
    assert_eq!(event.to_file(), (path.to_owned(), text.into_bytes(), event.subject()));
    let text = read("fixtures/records/baseline-2.json");
    follows("baseline-2", &text);
    assert_eq!(Baseline::from_json(text.as_bytes()).expect("it can be read").to_json(), text);
    every_baseline_of_version_1_is_judged_by_tolerance();

    let text = read("fixtures/records/autotune-1.json");
    follows("autotune-1", &text);
    let reading = TuneStore::from_json(text.as_bytes()).expect("it is not a newer one");
    assert_eq!((reading.damage, reading.store.to_json()), (None, text));

    let text = read("fixtures/records/metrics-1.json");
    follows("metrics-1", &text);
    let reported = custom::read("kernels", &[Output { name: "report".to_owned(), bytes: text.into_bytes() }]);
    let reported = reported.expect("it can be read");
    assert!(reported[0].result.as_ref().is_ok_and(|metrics| metrics.len() == 2) && reported[1].result.is_err());
}

/// The first metric of a baseline, as a JSON pointer.
fn first_metric(document: &Value) -> String {
    let name = document["metrics"].as_object().and_then(|all| all.keys().next()).expect("there is a metric");
    name.replace('~', "~0").replace('/', "~1")
}

/// What a file of version 1 says stays the same in version 2.
fn every_baseline_of_version_1_is_judged_by_tolerance() {
    let text = read("fixtures/records/baseline-1.json");
    let old = follows("baseline-1", &text);
    let baseline = Baseline::from_json(text.as_bytes()).expect("it can be read");
    assert_eq!((&old["suite"], &old["run"]), (&json!(baseline.suite), &json!(baseline.run)));
    assert_eq!((&old["commit"], &old["environment"]), (&json!(baseline.commit), &json!(baseline.environment)));
    assert_eq!((baseline.dirty, baseline.partial, &baseline.accepted), (false, false, &None));
    let metrics = old["metrics"].as_object().expect("an object");
    assert_eq!(metrics.len(), baseline.metrics.len());
    for (key, was) in metrics {
        let is = &baseline.metrics[key];
        assert_eq!(
            (&was["value"], &was["unit"], &was["better"]),
            (&json!(is.value), &json!(is.unit), &json!(is.better))
        );
        let rule =
            json!({ "name": "tolerance", "ratio": was["max_regression_ratio"], "abs": was["max_regression_abs"] });
        assert_eq!((json!(is.rule), is.sessions, is.session_noise), (rule, 1, None));
    }
    let written = baseline.to_json();
    follows("baseline-2", &written);
    assert_eq!(Baseline::from_json(written.as_bytes()).expect("it can be read"), baseline);
}

/// Rows of `damages.txt`: a pointer, the value to put there or `-` to take the field away, and words of the refusal, if any. The
/// heading names the documents; `METRIC` is their first metric.
#[test]
fn what_no_reader_takes_no_schema_takes() {
    let mut names = "";
    for line in include_str!("damages.txt").lines() {
        match line.strip_prefix("# ") {
            Some(heading) => names = heading,
            None => names.split(' ').for_each(|name| is_refused(name, line)),
        }
    }
}

#[track_caller]
fn is_refused(name: &str, row: &str) {
    let mut document = match name {
        "run-2" => json(&String::from_utf8_lossy(&flat::example::recorded().run.to_record().2)),
        "event-2" => json(&String::from_utf8_lossy(&event_record::example::opened(1).to_file().1)),
        _ => json(&read(&format!("fixtures/records/{name}.json"))),
    };
    let cells: Vec<&str> = row.split(" | ").collect();
    let pointer = match cells[0].contains("METRIC") {
        true => cells[0].replace("METRIC", &format!("/metrics/{}", first_metric(&document))),
        false => cells[0].to_owned(),
    };
    let (parent, field) = pointer.rsplit_once('/').expect("a pointer has a slash");
    let parent = document.pointer_mut(parent).unwrap_or_else(|| panic!("{name} has no {pointer}"));
    match cells[1] {
        "-" => drop(parent.as_object_mut().expect("an object").remove(field).expect("the field is there")),
        wrong => parent[field] = json(wrong),
    }
    assert!(!jsonschema::is_valid(&schema(name), &document), "{name} takes {row}");
    let refusal = refusal(name, &document).unwrap_or_else(|| panic!("the reader of {name} takes {row}"));
    assert!(refusal.contains(cells.get(2).unwrap_or(&"")), "{name}: {row}: {refusal}");
}

/// Why the reader does not take a document.
fn refusal(name: &str, document: &Value) -> Option<String> {
    let text = format!("{}\n", to_canonical(document));
    let bytes = text.as_bytes();
    match name {
        "run-2" => match Run::from_json(bytes) {
            Ok((_, run)) => (run.to_record().2 != bytes).then(|| "it is read as another".to_owned()),
            Err(error) => Some(error.to_string()),
        },
        "event-2" => EventRecord::from_file(&event_record::example::opened(1).to_file().0, bytes).err(),
        "autotune-1" => {
            TuneStore::from_json(bytes).map_or_else(|error| Some(error.to_string()), |reading| reading.damage)
        }
        _ => Baseline::from_json(bytes).err().map(|error| error.to_string()),
    }
}

#[test]
fn a_newer_baseline_is_not_overwritten() {
    let sandbox = Sandbox::new();
    sandbox.ends(0, &["run", "--quick", "--record"]);
    let ended = sandbox.ends(0, &["baseline", "emit"]);
    let path = ended.out.split_whitespace().find(|word| word.starts_with("baselines/")).expect("the path is reported");
    let path = path.trim_end_matches(':');
    follows("baseline-2", &sandbox.read(path));
    follows("run-2", &sandbox.read(&sandbox.records("main")[0]));
    let newer = "{\"schema_version\": 3, \"whatever\": true}\n";
    sandbox.write(path, newer);
    let words = ["has schema version 3, this build reads up to 2", "hint: use the newer sprag"];
    sandbox.ends(2, &["baseline", "emit"]).says(&words);
    assert_eq!(sandbox.read(path), newer);
    assert!(!sandbox.project.join("baselines/archive").exists());
}
