//! Whatever is changed in what a case records, it fails.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::run;

/// The files that this build runs, and fields of theirs that are inputs.
const FILES: [(&str, &[&str]); 10] = [
    ("bootstrap_ratio_of_medians", &["x", "y", "index_x", "index_y"]),
    ("cliffs_delta", &["x", "y"]),
    ("descriptive", &["x", "percentile_q"]),
    ("hodges_lehmann", &["x", "y"]),
    ("kalibera_jones", &["a", "b", "confidence", "cost_levels"]),
    ("mann_kendall", &["y"]),
    ("multiple_testing", &["p"]),
    ("special_functions", &["f", "x", "df"]),
    ("theil_sen", &["x", "y"]),
    ("welch_t", &["x", "y"]),
];

fn cases(file: &str) -> Vec<Map<String, Value>> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/stats").join(file).with_extension("json");
    let file: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    file["cases"].as_array().unwrap().iter().map(|case| case.as_object().unwrap().clone()).collect()
}

/// The values inside, each with the pointer to it.
fn leaves(value: &Value, path: String) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            fields.iter().flat_map(|(name, value)| leaves(value, format!("{path}/{name}"))).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().flat_map(|(place, value)| leaves(value, format!("{path}/{place}"))).collect()
        }
        _ => vec![path],
    }
}

/// Another value, a number by no more than a hundred millionth of itself.
fn tampered(value: &Value) -> Value {
    match value {
        Value::Null => json!(1.0),
        Value::Bool(flag) => json!(!flag),
        Value::Number(number) if number.is_u64() => json!(number.as_u64().unwrap() + 1),
        Value::Number(number) => {
            json!(number.as_f64().unwrap() * (1.0 + 1e-8) + 1e-12 * f64::from(number.as_f64() == Some(0.0)))
        }
        Value::String(text) => json!(format!("{text}s")),
        other => panic!("there is no way to tamper with {other}"),
    }
}

#[test]
fn every_recorded_value_is_compared() {
    let mut compared = 0;
    for (file, inputs) in FILES {
        for case in cases(file) {
            let case = Value::Object(case);
            run(&case).unwrap();
            for (name, value) in case.as_object().unwrap() {
                let fails = |other: Value, what: &str| assert!(run(&other).is_err(), "{file}: {what} passes: {other}");
                let mut without = case.clone();
                without.as_object_mut().unwrap().shift_remove(name);
                // What many digits say is recorded for some only.
                if name != "y_hp" {
                    fails(without, &format!("without {name}"));
                }
                for leaf in leaves(value, format!("/{name}")).into_iter().filter(|_| !inputs.contains(&name.as_str())) {
                    let mut other = case.clone();
                    let place = other.pointer_mut(&leaf).unwrap();
                    *place = tampered(place);
                    fails(other, &leaf);
                    compared += 1;
                }
            }
            let mut more = case.clone();
            more["more"] = json!(1);
            assert!(run(&more).is_err(), "{file}: an unknown field passes");
        }
    }
    assert!(compared >= 1950, "only {compared} values were tried");
}

/// A short list does not pass for a long one, and an input that cannot be read is no result.
#[test]
fn inputs_that_cannot_be_read_fail() {
    let check = |case: Value, says: &str| {
        let error = run(&case).map(|outcome| format!("{outcome:?}")).unwrap_err();
        assert!(format!("{error:#}").contains(says), "{error:#}");
    };
    check(json!({"x": [1]}), "no statistic known");
    check(json!({"f": "norm_pdf", "x": 0, "y": 0.4}), "`norm_pdf` is unknown");
    check(json!({"f": "t_sf", "x": 0, "y": 0.5}), "`df` is absent");
    check(json!({"f": "norm_ppf", "x": 2, "y": 0.5}), "got no answer");
    check(json!({"p": [2], "bh": [1], "by": [1], "holm": [1]}), "no p-value");
    check(json!({"p": [0.5], "bh": [], "by": [0.5], "holm": [0.5]}), "expected 0 elements");
    check(json!({"x": [], "y": [], "slope": 1}), "there is no line");
    check(json!({"a": [[1, 2], [3]], "b": [1], "cost_levels": [1]}), "not as deep or long");
    check(json!({"a": [[1, 2], 3], "b": [1], "cost_levels": [1]}), "is not a list");
    check(json!({"x": [1], "y": [1], "slope": 1, "t": 1, "df": 1}), "several statistics");
    check(json!({"x": [1], "y": [1], "u1": 1}), "`method` is absent");
}
