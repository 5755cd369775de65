//! Comparisons by tt-metal's check: those of a statistics oracle, which hold both texts, and those of `tt_metal`, which
//! name two files beside them. Texts, counts and orders are exact, numbers to a relative 1e-12.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::expected::{Tolerance, exact};
use crate::failure::{Outcome, fails, read, require};
use crate::tensor::Number;
use sprag_analysis::rules::rank::Parameters;
use sprag_analysis::sample_gate;
use sprag_formats::compat::tt_metal::gate::{self, Found, SampleGateError};
use sprag_formats::compat::tt_metal::ground_truth;
use sprag_model::sample_gate::{RankFigures, RankOutcome, SampleMismatch};

const FIGURES: Tolerance = Tolerance::new(0.0, 1e-12);

/// What the check finds, by section and name, in the order in which it finds it.
type Results = Map<String, Value>;

/// A case that names two files beside it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCase {
    baseline: String,
    current: String,
    results: Results,
    summary: Summary,
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
    results: Option<Results>,
    #[serde(deserialize_with = "Option::deserialize")]
    summary: Option<Summary>,
    #[serde(deserialize_with = "Option::deserialize")]
    error: Option<Refusal>,
    user_warnings: Vec<String>,
    other_warnings: Vec<String>,
    section_order: Option<Vec<String>>,
    subsection_order: Option<Map<String, Value>>,
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

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Summary {
    total_tests: usize,
    regressions: usize,
    improvements: usize,
    no_change: usize,
    regression_messages: Vec<String>,
    improvement_messages: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusal {
    r#type: String,
    message: String,
    stage: String,
    message_order_arbitrary: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    is_regression: bool,
    message: String,
    delta_median_pct: Number,
    p_value: Number,
    noise_band_pct: Number,
    current_median: Number,
    baseline_median: Number,
}

impl Options {
    fn judge(&self, baseline: &[u8], current: &[u8], warnings: &mut Vec<String>) -> Result<Found, SampleGateError> {
        let parameters = Parameters {
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
    let found = Options::default().judge(&baseline, &current, &mut Vec::new());
    let found = found.map_err(|error| fails(format!("expected a result, got a refusal: {error}")))?;
    check_results(&case.results, &found)?;
    exact("summary", &case.summary, &summary(&found))
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
    fs::read(path).map_err(failed)
}

pub(crate) fn run(case: Value) -> Outcome {
    let case: TextCase = read("the case", case)?;
    let mut warnings = Vec::new();
    let found = case.options.judge(case.baseline_json.as_bytes(), case.current_json.as_bytes(), &mut warnings);
    exact("user_warnings", &case.user_warnings, &warnings)?;
    exact("other_warnings", &case.other_warnings, &other_warnings(&case.baseline_json))?;
    let (found, error) = match (&found, &case.error) {
        (Ok(found), None) => (found, None),
        (Err(error), Some(refusal)) => (&Found::new(), Some((error, refusal))),
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
    check_results(&case.results.ok_or_else(|| fails("`results` is null"))?, found)?;
    exact("summary", &case.summary, &Some(summary(found)))?;
    let sections: Vec<String> = found.iter().map(|section| section.name.clone()).collect();
    exact("section_order", &case.section_order, &Some(sections))?;
    let names = |entries: &[(String, RankFigures)]| entries.iter().map(|(name, _)| name.clone()).collect::<Value>();
    let orders = found.iter().map(|section| (section.name.clone(), names(&section.entries))).collect();
    exact("subsection_order", &case.subsection_order, &Some(orders))
}

/// What NumPy warns of as well: where the distance of an infinity from itself is asked for.
fn other_warnings(baseline: &str) -> Vec<&'static str> {
    let truth = ground_truth::read(baseline.as_bytes(), &mut Vec::new()).unwrap_or_default();
    let mut all = truth.sections.iter().flat_map(|section| &section.entries).map(|(_, series)| &series.samples);
    let is_halved = |samples: &[f64]| samples.iter().filter(|one| **one == f64::INFINITY).count() * 2 > samples.len();
    if all.any(|samples| is_halved(samples)) { vec!["RuntimeWarning"] } else { Vec::new() }
}

fn check_results(expected: &Results, found: &Found) -> Outcome {
    require(expected.keys().eq(found.iter().map(|section| &section.name)), || {
        "`results`: expected other sections, or in another order".to_owned()
    })?;
    for section in found {
        let name = &section.name;
        let entries: Results = read("a section of `results`", expected[name].clone())?;
        require(entries.keys().eq(section.entries.iter().map(|(name, _)| name)), || {
            format!("`results`: expected other names in `{name}`")
        })?;
        for (benchmark, figures) in &section.entries {
            let expected: Figures = read("a result", entries[benchmark].clone())?;
            let checked = expected.check(name, benchmark, figures);
            checked.map_err(|failure| failure.at(format_args!("`results` of {name}.{benchmark}")))?;
        }
    }
    Ok(())
}

impl Figures {
    fn check(&self, section: &str, benchmark: &str, found: &RankFigures) -> Outcome {
        exact("is_regression", &self.is_regression, &(found.outcome == RankOutcome::Up))?;
        exact("message", &self.message, &gate::message(section, benchmark, found))?;
        FIGURES.check("delta_median_pct", self.delta_median_pct.0, found.delta_percent)?;
        FIGURES.check("p_value", self.p_value.0, found.p_value)?;
        FIGURES.check("noise_band_pct", self.noise_band_pct.0, found.band_percent)?;
        FIGURES.check("current_median", self.current_median.0, found.current_median)?;
        FIGURES.check("baseline_median", self.baseline_median.0, found.baseline_median)
    }
}

fn summary(found: &Found) -> Summary {
    let summary = gate::summary(found);
    Summary {
        total_tests: summary.total_tests,
        regressions: summary.regressions,
        improvements: summary.improvements,
        no_change: summary.no_change,
        regression_messages: summary.regression_messages,
        improvement_messages: summary.improvement_messages,
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
