//! Every golden case passes, and fails whatever is changed in what it records: nothing goes uncompared.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::folder::{FORMATS, GoldenCase, IDENTICAL_CODE, SAMPLE_GATE, STATISTICS, TEXT_GATE, find};
use crate::{CaseTally, run};

/// How many golden cases the families have at least.
const FEWEST: [(&str, usize); 21] = [
    ("attestation", 6),
    ("autotune_registry", 4),
    ("baseline_template", 3),
    ("formats", 15),
    ("fused_pack_op_unpack", 3),
    ("fusion_gate", 6),
    ("identical_code", 4),
    ("infer", 3),
    ("ordering", 13),
    ("perf_compare", 19),
    ("replay_golden", 2),
    ("replay_manifest", 6),
    ("report_markdown", 2),
    ("selection", 7),
    ("statistics", 473),
    ("stats", 5),
    ("tile_pack", 10),
    ("tile_ssm_scan", 9),
    ("tile_unpack", 9),
    ("trt_sweep", 3),
    ("trueno", 31),
];

const STATISTICS_INPUTS: &[&str] = &[
    "name", "note", "options", "baseline_json", "current_json", "x", "index_x", "index_y", "percentile_q", "a", "b",
    "confidence", "cost_levels", "p", "f", "df",
];

/// The fields of a case that record a result: one field, or where inputs and results are next to each other all but the inputs.
#[derive(Clone, Copy)]
enum Results<'a> {
    In(&'a str),
    AllBut(&'static [&'static str]),
}

fn results(case: &GoldenCase) -> Results<'_> {
    let names = || case.value.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    match case.family.as_str() {
        STATISTICS => Results::AllBut(STATISTICS_INPUTS),
        TEXT_GATE => Results::AllBut(&["name", "note", "argv", "current_on_stdin"]),
        SAMPLE_GATE => Results::AllBut(&["baseline", "current"]),
        _ => Results::In(
            names().find(|name| name.starts_with("expected") && *name != "expected_error").unwrap_or("expected"),
        ),
    }
}

fn below(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

/// The golden cases, and some that were worked out by hand.
fn folders() -> [PathBuf; 2] {
    ["../../fixtures/golden", "cases"].map(below)
}

fn report(folders: &[PathBuf]) -> (CaseTally, String) {
    let mut out = Vec::new();
    let tally = run(folders, &mut out).expect("there are cases");
    (tally, String::from_utf8(out).expect("it is text"))
}

#[test]
fn every_golden_case_passes() {
    let (tally, text) = report(&folders());
    assert_eq!(tally.failed, 0, "{text}");
    assert!(text.ends_with(&format!("\n{} passed, 0 failed, 0 skipped\n", tally.passed)), "{text}");
    for (family, least) in FEWEST {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{family}: ")));
        let passed = line.and_then(|line| line.strip_suffix(" passed, 0 failed, 0 skipped")?.parse::<usize>().ok());
        assert!(passed.is_some_and(|passed| passed >= least), "{family} has fewer than {least} cases:\n{text}");
    }
}

/// The recordings of tt-metal are too large for the repository.
#[test]
fn every_recorded_value_is_compared() {
    let mut cases: Vec<GoldenCase> =
        folders().iter().flat_map(|folder| find(folder).expect("there are cases")).collect();
    match find(&below("../../../shared/golden/tt-metal")) {
        Ok(result) => cases.extend(result),
        Err(_) => eprintln!("skipped: there is no folder of recordings next to the project"),
    }
    let (mut compared, mut of_rows) = (0, 0);
    for case in &cases {
        // Recordings without results have a test of their own; profiles are of the same kinds, only large.
        match case.family.as_str() {
            IDENTICAL_CODE => {}
            _ if case.name.contains("profile") => {}
            FORMATS => of_rows += check_rows(case),
            _ => compared += check(case, results(case)),
        }
    }
    assert!(compared > 3000 && of_rows > 250, "only {compared} values and {of_rows} of rows were tried");
}

fn fails(case: &GoldenCase, value: &Value, what: &str) {
    let case = GoldenCase { value: value.clone(), ..case.clone() };
    assert!(case.run().is_err(), "{} {}: {what} is not compared", case.family, case.name);
}

/// Tampers with the first and the last row of a format; how many values they have.
fn check_rows(case: &GoldenCase) -> usize {
    let mut less = case.value.clone();
    less.as_array_mut().expect("rows are a list").pop();
    // Where files have no row left, they are not read.
    if case.value[0].get("file").is_none() {
        fails(case, &less, "the absence of the last row");
    }
    // What did not run has no observation, and so neither metric, unit nor direction.
    let is_compared = |leaf: &String| {
        let (row, key) = leaf.rsplit_once('/').expect("a pointer has a slash");
        let did_run = case.value.pointer(row).is_none_or(|row| !row["value"].is_null());
        did_run || !["better", "unit", "metric"].contains(&key)
    };
    let leaves: Vec<String> = leaves(&case.value, "").into_iter().filter(is_compared).collect();
    for leaf in &leaves {
        let mut other = case.value.clone();
        let place = other.pointer_mut(leaf).expect("it is there");
        *place = match (leaf.ends_with("/unit"), place.as_str()) {
            // Units that are not quantities are all plain numbers.
            (true, unit) => json!(if unit == Some("s") { "bytes" } else { "s" }),
            _ => match place.as_f64() {
                Some(number) => json!(number * 1.001 + 1.0),
                None => tampered(place, true),
            },
        };
        fails(case, &other, leaf);
    }
    leaves.len()
}

/// Tampers with every result of a case; how many there are.
fn check(case: &GoldenCase, results: Results<'_>) -> usize {
    let fails = |value: &Value, what: &str| fails(case, value, what);
    let fields = case.value.as_object().expect("a case is an object");
    let mut recorded: Vec<&str> = match results {
        Results::In(field) => vec![field],
        Results::AllBut(inputs) => fields.keys().map(String::as_str).filter(|name| !inputs.contains(name)).collect(),
    };
    // In some files of statistics `y` is an input.
    let is_input = fields.contains_key("x") && !fields.contains_key("f") || fields.contains_key("var_s");
    recorded.retain(|name| *name != "y" || !is_input);
    let mut compared = 0;
    for name in recorded {
        let mut less = case.value.clone();
        less.as_object_mut().expect("an object").shift_remove(name);
        if matches!(results, Results::AllBut(_)) && name != "y_hp" {
            fails(&less, &format!("the absence of `{name}`"));
        }
        if let (Results::In(_), Some(_)) = (results, fields.get(name)) {
            less["expected_error"] = json!({"type": "ValueError", "message": "none"});
            fails(&less, "a refusal");
        }
        for leaf in leaves(fields.get(name).unwrap_or(&Value::Null), &format!("/{name}")) {
            let mut other = case.value.clone();
            let Some(place) = other.pointer_mut(&leaf) else { continue };
            // What may be absent is not compared where it is null.
            if place.is_null() && matches!(results, Results::In(_)) {
                continue;
            }
            *place = tampered(place, matches!(results, Results::In(_)));
            fails(&other, &leaf);
            compared += 1;
        }
    }
    let mut more = case.value.clone();
    more["one_more"] = json!(1);
    fails(&more, "one more field");
    compared
}

/// Pointers to the values inside: all fields of objects, the first and the last element of lists.
fn leaves(value: &Value, path: &str) -> Vec<String> {
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().flat_map(|(name, value)| leaves(value, &format!("{path}/{}", escaped(name)))).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            let mut ends = vec![0, items.len() - 1];
            ends.dedup();
            ends.into_iter().flat_map(|place| leaves(&items[place], &format!("{path}/{place}"))).collect()
        }
        _ => vec![path.to_owned()],
    }
}

/// Another value: a number of a kernel by one, one of a library of statistics by little more than its tolerance.
fn tampered(value: &Value, is_loose: bool) -> Value {
    match value {
        Value::Null => json!({"more": 1}),
        Value::Bool(flag) => json!(!flag),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => json!(integer + 1),
            (None, float) if is_loose => json!(float.expect("a float") + 1.0),
            (None, float) => {
                json!(float.expect("a float") * (1.0 + 1e-8) + if float == Some(0.0) { 1e-12 } else { 0.0 })
            }
        },
        Value::String(text) => json!(format!("{text}0")),
        Value::Array(_) => json!(["more"]),
        Value::Object(_) => json!({"more": {}}),
    }
}

#[test]
fn a_tampered_copy_fails_by_name_in_any_folder() {
    let text =
        std::fs::read_to_string(below("../../fixtures/golden/apex-x/stats.json")).expect("the golden cases are there");
    let mut file: Value = serde_json::from_str(&text).expect("they are JSON");
    let place = file.pointer_mut("/cases/0/expected/p50_ms").expect("it is recorded");
    *place = tampered(place, true);
    let name = file["cases"][0]["name"].as_str().expect("a name").to_owned();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("a/b")).expect("a folder");
    std::fs::write(folder.path().join("a/b/renamed.dat"), file.to_string()).expect("it is written");
    let (tally, text) = report(&[folder.path().to_owned()]);
    assert_eq!((tally.passed, tally.failed), (4, 1), "{text}");
    assert!(text.contains(&format!("  FAILED stats/{name} (")), "{text}");
    assert!(text.contains("expected ") && text.contains(" got "), "{text}");
}

#[test]
fn unknown_families_and_kinds_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, value: Value| {
        std::fs::write(folder.path().join(name), value.to_string()).expect("it is written");
    };
    write("1.json", json!({"family": "tile_turn", "cases": [{"name": "quarter", "expected": 1}]}));
    write("2.json", json!({"family": "ordering", "cases": [{"kind": "spiral", "expected": []}, 7]}));
    let (tally, text) = report(&[folder.path().to_owned()]);
    assert_eq!(tally, CaseTally { passed: 0, failed: 3 });
    assert!(text.contains("FAILED tile_turn/quarter (") && text.contains("family `tile_turn` is unknown"));
    assert!(text.contains("FAILED ordering/2#0 (") && text.contains("kind `spiral` is unknown"));
    assert!(text.contains("FAILED ordering/2#1 (") && text.contains("the case is not an object"));
    assert!(text.ends_with("\n0 passed, 3 failed, 0 skipped\n"));
}
