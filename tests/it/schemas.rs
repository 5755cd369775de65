//! The published schemas: as the program prints them, and true of everything that it writes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sprag_formats::custom;
use sprag_model::autotune::Store;
use sprag_model::baseline::Baseline;
use sprag_model::event_record::{EVENT_ROOT, EventRecord};
use sprag_model::foreign::Output;
use sprag_model::run::Run;
use sprag_pipeline::config::Config;

use crate::sandbox::Sandbox;

/// Rewrites `schemas/` in place of comparing.
const UPDATE: &str = "UPDATE_SCHEMAS";

/// Fails the test unless a document follows the committed schema of that name.
#[track_caller]
pub(crate) fn follows(name: &str, text: &str) {
    let document: Value = serde_json::from_str(text).expect("the document is JSON");
    let schema = schema(name);
    let faults: Vec<String> = jsonschema::validator_for(&schema)
        .expect("the schema is one")
        .iter_errors(&document)
        .map(|error| format!("{error} at `{}`", error.instance_path))
        .collect();
    assert!(faults.is_empty(), "{name}: {}", faults.join("\n"));
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

/// Every JSON file below a folder of the project.
fn files_below(folder: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be listed") {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn the_committed_schemas_are_those_that_the_program_prints() {
    let sandbox = Sandbox::empty();
    let list = sandbox.sprag(&["schema"]).expect(0).out;
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 10, "{list}");
    for name in &names {
        let printed = sandbox.sprag(&["schema", name]).expect(0).out;
        let file = root(&format!("schemas/{name}.json"));
        if std::env::var_os(UPDATE).is_some() {
            fs::write(&file, &printed).expect("the file can be written");
        }
        let committed = fs::read_to_string(&file).unwrap_or_default();
        assert!(committed == printed, "schemas/{name}.json is out of date; run the test with {UPDATE}=1");
    }
    let committed = files_below("schemas").len();
    assert_eq!(committed, names.len(), "schemas/ holds a file that the program does not print");
    sandbox
        .sprag(&["schema", "run-99"])
        .expect(2)
        .says(&["there is no schema `run-99`", "hint: `sprag schema` lists them"]);
}

#[test]
fn what_the_project_has_recorded_follows_its_schema() {
    let mut seen = [0, 0];
    for path in files_below("history/v1") {
        let text = fs::read_to_string(&path).expect("a record is text");
        let record: Value = serde_json::from_str(&text).expect("a record is JSON");
        let version = record["schema_version"].as_u64().expect("a record has a version");
        if path.starts_with(root(EVENT_ROOT)) {
            follows(&format!("event-{version}"), &text);
            continue;
        }
        follows(&format!("run-{version}"), &text);
        seen[version as usize - 1] += 1;
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    let baselines = files_below("baselines");
    assert!(!baselines.is_empty());
    for path in baselines {
        let text = fs::read_to_string(path).expect("a baseline is text");
        let baseline: Value = serde_json::from_str(&text).expect("a baseline is JSON");
        follows(&format!("baseline-{}", baseline["schema_version"]), &text);
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

/// Files of every version that was ever written, frozen: they are read, and written again to the same bytes.
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
    let reading = Store::from_json(text.as_bytes()).expect("it is no newer one");
    assert_eq!((reading.damage, reading.store.to_json()), (None, text));

    let text = read("fixtures/records/metrics-1.json");
    follows("metrics-1", &text);
    let reported = custom::read("kernels", &[Output { name: "report".to_owned(), bytes: text.into_bytes() }]);
    let reported = reported.expect("it can be read");
    assert!(reported[0].result.as_ref().is_ok_and(|metrics| metrics.len() == 2) && reported[1].result.is_err());
}

/// The key of the first metric of a baseline, as a pointer spells it.
fn first_metric(text: &str) -> String {
    let document: Value = serde_json::from_str(text).expect("the document is JSON");
    let name = document["metrics"].as_object().and_then(|all| all.keys().next()).expect("there is a metric");
    name.replace('~', "~0").replace('/', "~1")
}

/// A file of version 1 is written in version 2 once it is replaced; what it says must not change by that.
fn every_baseline_of_version_1_is_judged_by_tolerance() {
    let text = read("fixtures/records/baseline-1.json");
    follows("baseline-1", &text);
    let old: Value = serde_json::from_str(&text).expect("the document is JSON");
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
        assert_eq!((json!(is.rule), is.sessions, is.restlessness), (rule, 1, None));
    }
    let written = baseline.to_json();
    follows("baseline-2", &written);
    assert_eq!(Baseline::from_json(written.as_bytes()).expect("it can be read"), baseline);
}

#[test]
fn what_no_reader_takes_no_schema_takes() {
    let check = |name: &str, text: &str, reads: fn(&[u8]) -> bool, pointer: &str, wrong: Option<Value>| {
        let mut document: Value = serde_json::from_str(text).expect("the document is JSON");
        let (parent, field) = pointer.rsplit_once('/').expect("a pointer has a slash");
        let parent = document.pointer_mut(parent).unwrap_or_else(|| panic!("{name} has no {pointer}"));
        match wrong {
            Some(wrong) if parent.is_array() => parent[field.parse::<usize>().expect("a place")] = wrong,
            Some(wrong) => parent[field] = wrong,
            None => drop(parent.as_object_mut().expect("an object").remove(field).expect("the field is there")),
        }
        assert!(!jsonschema::is_valid(&schema(name), &document), "{name} takes {pointer}");
        assert!(!reads(document.to_string().as_bytes()), "the reader of {name} takes {pointer}");
    };
    let text = read("fixtures/records/baseline-1.json");
    let metric = format!("/metrics/{}", first_metric(&text));
    let baseline = |pointer: &str, wrong: Option<Value>| {
        check("baseline-1", &text, |bytes| Baseline::from_json(bytes).is_ok(), pointer, wrong);
    };
    baseline("/schema_version", Some(json!(2)));
    baseline("/suite", None);
    baseline("/other", Some(json!(1)));
    baseline("/required_status", Some(json!("fine")));
    baseline("/required_status", Some(json!("failed")));
    baseline("/timestamp_utc", Some(json!("yesterday")));
    baseline("/metrics", Some(json!({})));
    baseline("/environment/key", None);
    baseline(&format!("{metric}/unit"), Some(json!("ms")));
    baseline(&format!("{metric}/unit"), None);
    baseline(&format!("{metric}/value"), Some(json!(0.0)));
    baseline(&format!("{metric}/value"), Some(json!("1")));
    baseline(&format!("{metric}/max_regression_ratio"), Some(json!(-0.1)));
    baseline(&format!("{metric}/other"), Some(json!(1)));
    let text = read("fixtures/records/baseline-2.json");
    let metric = format!("/metrics/{}", first_metric(&text));
    let baseline = |pointer: &str, wrong: Option<Value>| {
        check("baseline-2", &text, |bytes| Baseline::from_json(bytes).is_ok(), pointer, wrong);
    };
    baseline("/required_status", Some(json!("skipped")));
    baseline("/required_status", None);
    baseline("/schema_version", Some(json!(3)));
    baseline("/dirty", Some(json!("no")));
    baseline("/suite", Some(json!("../cpu")));
    baseline("/other", Some(json!(1)));
    baseline("/accepted/by", None);
    baseline("/accepted/other", Some(json!(1)));
    baseline("/accepted/at_utc", Some(json!("yesterday")));
    baseline("/metrics", Some(json!({})));
    baseline(&format!("{metric}/value"), Some(json!(0.0)));
    baseline(&format!("{metric}/sessions"), Some(json!(0)));
    baseline(&format!("{metric}/other"), Some(json!(1)));
    baseline(&format!("{metric}/restlessness/deviation"), Some(json!(-0.1)));
    baseline(&format!("{metric}/restlessness/freedom"), Some(json!(0)));
    baseline(&format!("{metric}/rule"), None);
    baseline(&format!("{metric}/rule/name"), Some(json!("guess")));
    baseline(&format!("{metric}/rule/tolerance"), Some(json!("2 %")));
    baseline(&format!("{metric}/rule/tolerance"), Some(json!(-0.1)));
    baseline(&format!("{metric}/rule/tolerance"), Some(json!(101)));
    baseline(&format!("{metric}/rule/other"), Some(json!(1)));

    let text = read("fixtures/records/autotune-1.json");
    let store = |pointer: &str, wrong: Option<Value>| {
        let reads = |bytes: &[u8]| Store::from_json(bytes).is_ok_and(|reading| reading.damage.is_none());
        check("autotune-1", &text, reads, pointer, wrong);
    };
    store("/schema_version", Some(json!(2)));
    store("/choices", None);
    store("/other", Some(json!(1)));
    store("/choices/0/key/op", None);
    store("/choices/0/key/other", Some(json!("x")));
    store("/choices/0/choice/selected", Some(json!("")));
    store("/choices/0/choice/ratio", Some(json!(-1.0)));
    store("/choices/0/choice/date", Some(json!("noon")));
    store("/choices/0/choice/candidates/block64", Some(json!(0.0)));
    store("/choices/0/choice/candidates/block64", Some(json!("1")));
}

#[test]
fn a_newer_baseline_is_not_overwritten() {
    let sandbox = Sandbox::new();
    sandbox.sprag(&["run", "--quick", "--record"]).expect(0);
    let ended = sandbox.sprag(&["baseline", "emit"]).expect(0);
    let path = ended.out.split_whitespace().find(|word| word.starts_with("baselines/")).expect("the path is reported");
    let path = path.trim_end_matches(':');
    follows("baseline-2", &sandbox.read(path));
    follows("run-2", &sandbox.read(&sandbox.records("main")[0]));
    let newer = "{\"schema_version\": 3, \"whatever\": true}\n";
    sandbox.write(path, newer);
    let refused = sandbox.sprag(&["baseline", "emit"]).expect(2);
    refused.says(&["has schema version 3, this build reads up to 2", "hint: use the newer sprag"]);
    assert_eq!(sandbox.read(path), newer);
    assert!(!sandbox.project.join("baselines/archive").exists());
}
