//! Whole comparisons by tt-metal's check: those of a statistics oracle, which hold both texts, and those of `tt_metal`,
//! which name two files beside them. Texts, counts and orders are exact, numbers to a relative 1e-12.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::case::Fields;
use crate::cmd::foreign_gate::original_samples::{self, SampleGateError};
use sprag_analysis::rules::rank::Parameters;
use sprag_formats::compat::tt_metal::{gate_report, ground_truth};
use sprag_model::sample_gate::{RankFigures, RankOutcome, SampleMismatch, Section};

/// How far a number may lie from the recorded one, as a share of it.
const TOLERANCE: f64 = 1e-12;

/// The parameters that the original takes where none are given.
const DEFAULTS: Parameters = Parameters { noise_threshold_percent: 1.0, significance: 0.05, mad_multiplier: 3.0 };

/// The fields of a case with texts, those that it must have and those that it may.
const FIELDS: [&str; 12] = [
    "name",
    "baseline_json",
    "current_json",
    "options",
    "results",
    "summary",
    "error",
    "user_warnings",
    "other_warnings",
    "section_order",
    "subsection_order",
    "note",
];

/// The case of a file that names two others: what it holds, and its folder.
pub(super) fn case(file: &Path, case: Value) -> Value {
    json!({ "case": case, "folder": file.parent().unwrap_or(Path::new(".")) })
}

/// Runs a case that names two files.
pub(super) fn run_files(case: &Value) -> Result<()> {
    let folder = PathBuf::from(case["folder"].as_str().context("the case has no folder")?);
    let case = Fields::of(&case["case"], "the case", &["baseline", "current", "results", "summary"])?;
    let [baseline, current] = [named(&folder, case.text("baseline")?)?, named(&folder, case.text("current")?)?];
    let found = original_samples::judge(&baseline, &current, &DEFAULTS, &mut Vec::new());
    let found = found.map_err(|error| anyhow::anyhow!("expected a result, got a refusal: {error}"))?;
    results(case.get("results")?, &found)?;
    summary(case.get("summary")?, &found)?;
    Ok(())
}

/// The one file of a folder whose name ends with the word.
fn named(folder: &Path, word: &str) -> Result<Vec<u8>> {
    let listed = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let mut paths = listed
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&format!(".{word}.json"))));
    let path = paths.next().with_context(|| format!("no file `*.{word}.json` in {}", folder.display()))?;
    ensure!(paths.next().is_none(), "several files `*.{word}.json` in {}", folder.display());
    fs::read(&path).with_context(|| format!("read {}", path.display()))
}

pub(super) fn run(case: &Value) -> Result<()> {
    let case = Fields::of(case, "the case", &FIELDS)?;
    let (baseline, current) = (case.text("baseline_json")?, case.text("current_json")?);
    let options = ["noise_threshold_pct", "significance_level", "mad_multiplier"];
    let options = Fields::of(case.get("options")?, "`options`", &options)?;
    let option = |name: &str, default: f64| options.optional(name).map_or(Ok(default), |_| options.number(name));
    let parameters = Parameters {
        noise_threshold_percent: option("noise_threshold_pct", DEFAULTS.noise_threshold_percent)?,
        significance: option("significance_level", DEFAULTS.significance)?,
        mad_multiplier: option("mad_multiplier", DEFAULTS.mad_multiplier)?,
    };
    let mut warnings = Vec::new();
    let found = original_samples::judge(baseline.as_bytes(), current.as_bytes(), &parameters, &mut warnings);
    exact("user_warnings", case.get("user_warnings")?, &json!(warnings))?;
    exact("other_warnings", case.get("other_warnings")?, &json!(other_warnings(baseline)))?;
    match &found {
        Ok(found) => {
            exact("error", case.get("error")?, &Value::Null)?;
            results(case.get("results")?, found)?;
            summary(case.get("summary")?, found)?;
            let sections: Vec<&str> = found.iter().map(|section| section.name.as_str()).collect();
            exact("section_order", case.get("section_order")?, &json!(sections))?;
            let entries = |section: &Section<RankFigures>| {
                let names: Vec<&str> = section.entries.iter().map(|(name, _)| name.as_str()).collect();
                (section.name.clone(), json!(names))
            };
            let orders: Value = found.iter().map(entries).collect::<serde_json::Map<_, _>>().into();
            exact("subsection_order", case.get("subsection_order")?, &orders)?;
        }
        Err(error) => {
            exact("results", case.get("results")?, &Value::Null)?;
            exact("summary", case.get("summary")?, &Value::Null)?;
            for name in ["section_order", "subsection_order"] {
                ensure!(case.optional(name).is_none(), "`{name}`: expected an order, got a refusal: {error}");
            }
            refusal(case.get("error")?, error)?;
        }
    }
    Ok(())
}

fn exact(name: &str, expected: &Value, got: &Value) -> Result<()> {
    ensure!(expected == got, "`{name}`: expected {expected}, got {got} (exact)");
    Ok(())
}

/// What NumPy warns of beside: where the distance of an infinity from itself is asked for.
fn other_warnings(baseline: &str) -> Vec<&'static str> {
    let truth = ground_truth::read(baseline.as_bytes(), &mut Vec::new()).unwrap_or_default();
    let mut all = truth.sections.iter().flat_map(|section| &section.entries).map(|(_, series)| &series.samples);
    let halved = |samples: &[f64]| samples.iter().filter(|one| **one == f64::INFINITY).count() * 2 > samples.len();
    if all.any(|samples| halved(samples)) { vec!["RuntimeWarning"] } else { Vec::new() }
}

/// Compares what was found of every benchmark.
fn results(expected: &Value, found: &[Section<RankFigures>]) -> Result<()> {
    let expected = expected.as_object().context("`results` is no object")?;
    let names = found.iter().map(|section| &section.name);
    ensure!(expected.keys().eq(names), "`results`: expected other sections, or in another order");
    for section in found {
        let entries = expected[&section.name].as_object().context("a section of `results` is no object")?;
        let names = section.entries.iter().map(|(name, _)| name);
        ensure!(entries.keys().eq(names), "`results`: expected other names in `{}`", section.name);
        for (name, figures) in &section.entries {
            entry(&entries[name], &section.name, name, figures)
                .with_context(|| format!("`results` of {}.{name}", section.name))?;
        }
    }
    Ok(())
}

fn entry(expected: &Value, section: &str, name: &str, found: &RankFigures) -> Result<()> {
    let numbers = [
        ("delta_median_pct", found.delta_percent),
        ("p_value", found.p_value),
        ("noise_band_pct", found.band_percent),
        ("current_median", found.current_median),
        ("baseline_median", found.baseline_median),
    ];
    let known = ["is_regression", "message"].into_iter().chain(numbers.iter().map(|(name, _)| *name));
    let fields = Fields::of(expected, "it", &known.collect::<Vec<_>>())?;
    exact("is_regression", fields.get("is_regression")?, &json!(found.outcome == RankOutcome::Up))?;
    exact("message", fields.get("message")?, &json!(gate_report::message(section, name, found)))?;
    for (name, got) in numbers {
        let expected = number(fields.get(name)?)?;
        let same = expected == got || (expected.is_nan() && got.is_nan());
        if !(same || (got - expected).abs() <= TOLERANCE * expected.abs() && expected.is_finite()) {
            bail!("`{name}`: expected {expected:?}, got {got:?} (tolerance {TOLERANCE:e} * |expected|)");
        }
    }
    Ok(())
}

/// A number, or the oracle's word for one that is not finite.
fn number(value: &Value) -> Result<f64> {
    match value.as_str() {
        Some("nan") => Ok(f64::NAN),
        Some("inf") => Ok(f64::INFINITY),
        Some("-inf") => Ok(f64::NEG_INFINITY),
        _ => value.as_f64().with_context(|| format!("{value} is not a number")),
    }
}

fn summary(expected: &Value, found: &[Section<RankFigures>]) -> Result<()> {
    let summary = gate_report::summary(found);
    let got = json!({
        "total_tests": summary.total_tests,
        "regressions": summary.regressions,
        "improvements": summary.improvements,
        "no_change": summary.no_change,
        "regression_messages": summary.regression_messages,
        "improvement_messages": summary.improvement_messages,
    });
    exact("summary", expected, &got)
}

/// Compares a refusal: its kind, its words, and where it comes from.
fn refusal(expected: &Value, error: &SampleGateError) -> Result<()> {
    let fields = Fields::of(expected, "`error`", &["type", "message", "stage", "message_order_arbitrary"])?;
    let stage = match error {
        SampleGateError::Baseline(_) => "load_baseline",
        SampleGateError::Current(_) => "load_current",
        SampleGateError::Mismatch(_) => "check",
    };
    let is_arbitrary = match error {
        SampleGateError::Mismatch(SampleMismatch::Entries { baseline, current, .. }) => {
            baseline.len() > 1 || current.len() > 1
        }
        _ => false,
    };
    exact("type", fields.get("type")?, &json!(error.kind()))?;
    exact("stage", fields.get("stage")?, &json!(stage))?;
    exact("message_order_arbitrary", fields.get("message_order_arbitrary")?, &json!(is_arbitrary))?;
    let (expected, got) = (fields.text("message")?, error.to_string());
    let same = if is_arbitrary { sorted_sets(expected) == sorted_sets(&got) } else { expected == got };
    ensure!(same, "`message`: expected {expected:?}, got {got:?}");
    Ok(())
}

/// A message with the names inside of braces sorted.
fn sorted_sets(message: &str) -> String {
    let mut sorted = String::new();
    for part in message.split_inclusive('}') {
        match part.strip_suffix('}').and_then(|part| part.rsplit_once('{')) {
            Some((before, names)) => {
                let mut names: Vec<&str> = names.split(", ").collect();
                names.sort_unstable();
                sorted.push_str(&format!("{before}{{{}}}", names.join(", ")));
            }
            None => sorted.push_str(part),
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pointers to all values inside, empty lists and objects among them.
    fn leaves(value: &Value, path: &str) -> Vec<String> {
        let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                fields.iter().flat_map(|(name, value)| leaves(value, &format!("{path}/{}", escaped(name)))).collect()
            }
            Value::Array(items) if !items.is_empty() => {
                items.iter().enumerate().flat_map(|(place, value)| leaves(value, &format!("{path}/{place}"))).collect()
            }
            _ => vec![path.to_owned()],
        }
    }

    fn tampered(value: &Value) -> Value {
        match value {
            Value::Null => json!({"more": 1}),
            Value::Bool(flag) => json!(!flag),
            Value::Number(number) => number.as_i64().map_or_else(
                || json!(number.as_f64().expect("a float") * (1.0 + 1e-11) + 1e-300),
                |whole| json!(whole + 1),
            ),
            Value::String(text) => json!(format!("{text}0")),
            Value::Array(_) => json!(["more"]),
            Value::Object(_) => json!({"more": {}}),
        }
    }

    /// Fails unless every recorded value of a case is compared, and none can be absent.
    fn check(case: &Value, at: &str, given: &[&str], run: fn(&Value) -> Result<()>) -> usize {
        run(case).expect("it passes");
        let fields = case.pointer(at).and_then(Value::as_object).expect("an object");
        let mut compared = 0;
        for (field, value) in fields.iter().filter(|(name, _)| !given.contains(&name.as_str())) {
            for leaf in leaves(value, &format!("{at}/{field}")) {
                let mut other = case.clone();
                let place = other.pointer_mut(&leaf).expect("it is there");
                *place = tampered(place);
                assert!(run(&other).is_err(), "{leaf} of {} is not compared", case["name"]);
                compared += 1;
            }
            let mut less = case.clone();
            less.pointer_mut(at).and_then(Value::as_object_mut).expect("an object").shift_remove(field);
            assert!(run(&less).is_err(), "{field} of {} can be absent", case["name"]);
        }
        compared
    }

    #[test]
    fn every_recorded_value_of_a_case_with_texts_is_compared() {
        let text = include_str!("../../../../fixtures/golden/stats/check_regression.json");
        let golden: Value = serde_json::from_str(text).expect("the golden cases are JSON");
        let cases = golden["cases"].as_array().expect("there are cases");
        assert_eq!(cases.len(), 55);
        let given = ["name", "note", "options", "baseline_json", "current_json"];
        let compared: usize = cases.iter().map(|case| check(case, "", &given, run)).sum();
        assert!(compared > 800, "only {compared} values were tried");
    }

    #[test]
    fn recordings_beside_the_project_are_judged_as_the_original_judges_them() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden/tt-metal");
        let file = folder.join("expected_ec903f28_vs_d7f5bddf.json");
        let Ok(text) = fs::read(&file) else {
            eprintln!("skipped: there is no folder of recordings beside the project");
            return;
        };
        let case = case(&file, serde_json::from_slice(&text).expect("it is JSON"));
        let compared = check(&case, "/case", &["baseline", "current"], run_files);
        assert!(compared >= 48, "only {compared} values were tried");
    }
}
