//! Comparisons by tt-metal's check: those of a statistics oracle, which hold both texts, and those of `tt_metal`, which
//! name two files next to them. Texts, counts and orders are exact, numbers to a relative 1e-12.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::expected::{Tolerance, exact};
use crate::failure::{Outcome, fails, read, require};
use crate::folder::MOST_BYTES;
use crate::tensor::Number;
use sprag_analysis::rules::rank::RankParameters;
use sprag_analysis::sample_gate;
use sprag_base::files::read_bounded;
use sprag_formats::compat::json;
use sprag_formats::compat::tt_metal::gate::{self, GateRows, SampleGateError};
use sprag_formats::compat::tt_metal::ground_truth;
use sprag_model::sample_gate::{RankFigures, SampleMismatch, Section};

const FIGURES: Tolerance = Tolerance::new(0.0, 1e-12);

/// A case that names two files next to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCase {
    baseline: String,
    current: String,
    results: Value,
    summary: Value,
}

/// A case that holds both texts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextCase {
    #[serde(rename = "name")]
    _name: String,
    #[serde(default, rename = "note")]
    _note: Option<String>,
    baseline_json: String,
    current_json: String,
    options: Options,
    #[serde(deserialize_with = "Option::deserialize")]
    results: Option<Value>,
    #[serde(deserialize_with = "Option::deserialize")]
    summary: Option<Value>,
    #[serde(deserialize_with = "Option::deserialize")]
    error: Option<Refusal>,
    user_warnings: Vec<String>,
    other_warnings: Vec<String>,
    section_order: Option<Vec<String>>,
    subsection_order: Option<Value>,
}

/// The parameters, each with what the original takes where none is given.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    noise_threshold_pct: f64,
    significance_level: f64,
    mad_multiplier: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { noise_threshold_pct: 1.0, significance_level: 0.05, mad_multiplier: 3.0 }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusal {
    r#type: String,
    message: String,
    stage: String,
    message_order_arbitrary: bool,
}

impl Options {
    fn judge(&self, baseline: &[u8], current: &[u8], warnings: &mut Vec<String>) -> Result<GateRows, SampleGateError> {
        let parameters = RankParameters {
            noise_threshold_percent: self.noise_threshold_pct,
            significance: self.significance_level,
            mad_multiplier: self.mad_multiplier,
        };
        gate::judge(baseline, current, warnings, |was, is| sample_gate::check(was, is, &parameters))
    }
}

/// Runs a case that names two files of its folder.
pub(crate) fn run_files(case: Value, folder: &Path) -> Outcome {
    let case: FileCase = read("the case", case)?;
    let [baseline, current] = [named(folder, &case.baseline)?, named(folder, &case.current)?];
    let result = Options::default().judge(&baseline, &current, &mut Vec::new());
    let result = result.map_err(|error| fails(format!("expected a result, got a refusal: {error}")))?;
    check_results(&case.results, &case.summary, &result)
}

/// The one file of a folder whose name ends with the word.
fn named(folder: &Path, word: &str) -> Outcome<Vec<u8>> {
    let failed = |error: std::io::Error| fails(format!("cannot read {}: {error}", folder.display()));
    let end = format!(".{word}.json");
    let listed = fs::read_dir(folder).map_err(failed)?.filter_map(Result::ok).map(|entry| entry.path());
    let paths: Vec<_> = listed.filter(|path| path.to_string_lossy().ends_with(&end)).collect();
    let [path] = &paths[..] else {
        return Err(fails(format!("{} files `*{end}` in {}, and one is needed", paths.len(), folder.display())));
    };
    read_bounded(path, MOST_BYTES).map_err(failed)
}

pub(crate) fn run(case: Value) -> Outcome {
    let case: TextCase = read("the case", case)?;
    let mut warnings = Vec::new();
    let result = case.options.judge(case.baseline_json.as_bytes(), case.current_json.as_bytes(), &mut warnings);
    exact("user_warnings", &case.user_warnings, &warnings)?;
    exact("other_warnings", &case.other_warnings, &other_warnings(&case.baseline_json))?;
    let (result, error) = match (&result, &case.error) {
        (Ok(result), None) => (result, None),
        (Err(error), Some(refusal)) => (&GateRows::new(), Some((error, refusal))),
        (Ok(_), Some(refusal)) => return Err(fails(format!("`error`: expected {}, got a result", refusal.message))),
        (Err(error), None) => return Err(fails(format!("`error`: expected a result, got a refusal: {error}"))),
    };
    if let Some((error, refusal)) = error {
        let is_empty = case.results.is_none()
            && case.summary.is_none()
            && case.section_order.is_none()
            && case.subsection_order.is_none();
        require(is_empty, || format!("expected results, got a refusal: {error}"))?;
        return refusal.check(error);
    }
    let (results, summary) = case.results.zip(case.summary).ok_or_else(|| fails("`results` or `summary` is null"))?;
    check_results(&results, &summary, result)?;
    let sections = result.iter().map(|section| section.name.clone()).collect();
    exact("section_order", &case.section_order, &Some(sections))?;
    let names =
        |section: &Section<RankFigures>| section.entries.iter().map(|(name, _)| name.clone()).collect::<Value>();
    let orders = result.iter().map(|section| (section.name.clone(), names(section))).collect();
    exact("subsection_order", &case.subsection_order, &Some(Value::Object(orders)))
}

/// What NumPy warns of as well: where the distance of an infinity from itself is asked for.
fn other_warnings(baseline: &str) -> Vec<&'static str> {
    let truth = ground_truth::read(baseline.as_bytes(), &mut Vec::new()).unwrap_or_default();
    let mut all = truth.sections.iter().flat_map(|section| &section.entries).map(|(_, series)| &series.samples);
    let is_halved = |samples: &[f64]| samples.iter().filter(|one| **one == f64::INFINITY).count() * 2 > samples.len();
    if all.any(|samples| is_halved(samples)) { vec!["RuntimeWarning"] } else { Vec::new() }
}

fn check_results(results: &Value, summary: &Value, result: &GateRows) -> Outcome {
    let got = gate::to_value(result);
    check_value("results", results, &got["results"])?;
    check_value("summary", summary, &got["summary"])
}

/// Compares values with all fields of objects, in their order.
fn check_value(name: &str, expected: &Value, got: &Value) -> Outcome {
    match (expected, got) {
        (Value::Object(expected), Value::Object(fields)) => {
            require(expected.keys().eq(fields.keys()), || {
                format!("`{name}`: expected the fields {:?}, got {:?}", expected.keys(), fields.keys())
            })?;
            let mut pairs = expected.iter().zip(fields.values());
            pairs.try_for_each(|((field, expected), got)| check_value(&format!("{name}.{field}"), expected, got))
        }
        (expected, got) if !got.is_boolean() => match json::plain_number(got) {
            Some(number) => FIGURES.check(name, read::<Number>(name, expected.clone())?.0, number),
            None => exact(name, expected, got),
        },
        (expected, got) => exact(name, expected, got),
    }
}

impl Refusal {
    /// Compares a refusal: its kind, its words, and where it comes from.
    fn check(&self, error: &SampleGateError) -> Outcome {
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
        exact("type", &self.r#type, &error.kind())?;
        exact("stage", &self.stage, &stage)?;
        exact("message_order_arbitrary", &self.message_order_arbitrary, &is_arbitrary)?;
        let worded = |text: &str| if is_arbitrary { with_sorted_sets(text) } else { text.to_owned() };
        exact("message", &worded(&self.message), &worded(&error.to_string()))
    }
}

/// A message with the names inside of braces sorted.
fn with_sorted_sets(message: &str) -> String {
    let sorted = |part: &str| match part.strip_suffix('}').and_then(|part| part.rsplit_once('{')) {
        Some((before, names)) => {
            let mut names: Vec<&str> = names.split(", ").collect();
            names.sort_unstable();
            format!("{before}{{{}}}", names.join(", "))
        }
        None => part.to_owned(),
    };
    message.split_inclusive('}').map(sorted).collect()
}
