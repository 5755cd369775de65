//! tt-metal's own check, from the bytes of two files to a message a benchmark, the summary, both as JSON, and why two sides
//! do not match.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::ground_truth;
use super::ground_truth::GroundTruthError;
use crate::compat::json;
use crate::compat::python::{fixed, quoted};
use sprag_model::sample_gate::{GroundTruth, RankFigures, RankOutcome, SampleMismatch, Section};

/// Why the original ends without a result, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleGateError {
    #[error(transparent)]
    Baseline(GroundTruthError),
    #[error(transparent)]
    Current(GroundTruthError),
    #[error("{}", mismatch(.0))]
    Mismatch(SampleMismatch),
}

impl SampleGateError {
    /// What Python calls such an error.
    pub fn kind(&self) -> &'static str {
        match self {
            SampleGateError::Baseline(error) | SampleGateError::Current(error) => error.kind(),
            SampleGateError::Mismatch(SampleMismatch::Long) => "TypeError",
            SampleGateError::Mismatch(_) => "ValueError",
        }
    }
}

/// By section and benchmark.
pub type GateRows = Vec<Section<RankFigures>>;

/// Compares two ground truths by the rule; what the original warns of goes to `warnings`.
pub fn judge(
    baseline: &[u8],
    current: &[u8],
    warnings: &mut Vec<String>,
    rule: impl FnOnce(&GroundTruth, &GroundTruth) -> Result<GateRows, SampleMismatch>,
) -> Result<GateRows, SampleGateError> {
    let baseline = ground_truth::read(baseline, warnings).map_err(SampleGateError::Baseline)?;
    let current = ground_truth::read(current, warnings).map_err(SampleGateError::Current)?;
    rule(&baseline, &current).map_err(SampleGateError::Mismatch)
}

/// The level of an improvement in the summary, whatever the level of the check.
const IMPROVEMENT_LEVEL: f64 = 0.05;

pub type Results = [Section<RankFigures>];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GateSummary {
    pub total_tests: usize,
    pub regressions: usize,
    /// By the band and a fixed level, so that a message may say otherwise.
    pub improvements: usize,
    pub no_change: usize,
    pub regression_messages: Vec<String>,
    pub improvement_messages: Vec<String>,
}

pub fn message(section: &str, entry: &str, figures: &RankFigures) -> String {
    let (delta, p, band) = (fixed(figures.delta_percent, 3), fixed(figures.p_value, 3), fixed(figures.band_percent, 1));
    match figures.outcome {
        RankOutcome::ZeroBase => format!("Baseline median is zero for {section}.{entry}"),
        RankOutcome::Up => format!("Performance regression: +{delta}% (p={p}, threshold={band}%)"),
        RankOutcome::Down => format!("Performance improvement: {delta}% (p={p})"),
        RankOutcome::Unchanged => format!("No significant change: {delta}% (p={p})"),
    }
}

pub fn summary(results: &Results) -> GateSummary {
    let mut summary = GateSummary::default();
    for (section, entry, figures) in each(results) {
        let message = || format!("{section}.{entry}: {}", message(section, entry, figures));
        summary.total_tests += 1;
        if figures.outcome == RankOutcome::Up {
            summary.regressions += 1;
            summary.regression_messages.push(message());
        } else if figures.delta_percent < -figures.band_percent && figures.p_value < IMPROVEMENT_LEVEL {
            summary.improvements += 1;
            summary.improvement_messages.push(message());
        } else {
            summary.no_change += 1;
        }
    }
    summary
}

fn each(results: &Results) -> impl Iterator<Item = (&str, &str, &RankFigures)> {
    results.iter().flat_map(|section| {
        section.entries.iter().map(|(entry, figures)| (section.name.as_str(), entry.as_str(), figures))
    })
}

/// Results and summary as the original writes them.
pub fn to_value(results: &Results) -> Value {
    let figures = |section: &str, entry: &str, figures: &RankFigures| {
        json!({
            "is_regression": figures.outcome == RankOutcome::Up,
            "delta_median_pct": json::number(figures.delta_percent),
            "p_value": json::number(figures.p_value),
            "noise_band_pct": json::number(figures.band_percent),
            "message": message(section, entry, figures),
            "current_median": json::number(figures.current_median),
            "baseline_median": json::number(figures.baseline_median),
        })
    };
    let section = |section: &Section<RankFigures>| {
        let entries =
            section.entries.iter().map(|(entry, result)| (entry.clone(), figures(&section.name, entry, result)));
        (section.name.clone(), Value::Object(entries.collect()))
    };
    json!({
        "results": results.iter().map(section).collect::<Map<String, Value>>(),
        "summary": summary(results),
    })
}

/// As [`to_value`], in a text. What is not finite is written as Python writes it, so a strict reader refuses it.
pub fn json(results: &Results) -> String {
    json::to_indented(&to_value(results))
}

/// Why two sides do not match, in the words of the original, but with the names of a section sorted.
pub fn mismatch(fault: &SampleMismatch) -> String {
    let shown = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    match fault {
        SampleMismatch::Sections { baseline, current } => {
            format!("Section mismatch: baseline has [{}], current has [{}]", shown(baseline), shown(current))
        }
        SampleMismatch::Entries { section, baseline, current } => {
            let set =
                |names: &[String]| if names.is_empty() { "set()".to_owned() } else { format!("{{{}}}", shown(names)) };
            let (baseline, current) = (set(baseline), set(current));
            format!("Subsection mismatch in section '{section}': baseline has {baseline}, current has {current}")
        }
        SampleMismatch::Counts { section, entry, baseline, current } => {
            format!("Sample count mismatch in {section}.{entry}: baseline has {baseline}, current has {current}")
        }
        SampleMismatch::Long => "ufunc 'isnan' not supported for the input types, and the inputs could not be safely \
             coerced to any supported types according to the casting rule ''safe''"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(delta_percent: f64, p_value: f64, outcome: RankOutcome) -> RankFigures {
        let (current_median, baseline_median) = (f64::INFINITY, 6384.0);
        RankFigures { current_median, baseline_median, delta_percent, p_value, band_percent: 1.0, outcome }
    }

    fn results(entries: &[(&str, RankFigures)]) -> Vec<Section<RankFigures>> {
        let entries = entries.iter().map(|(name, figures)| ((*name).to_owned(), *figures)).collect();
        vec![Section { name: "s".to_owned(), entries }, Section { name: "ü".to_owned(), entries: Vec::new() }]
    }

    #[test]
    fn the_summary_counts_improvements_by_a_level_of_its_own() {
        let findings = results(&[
            ("up", figures(5.0, 0.001, RankOutcome::Up)),
            ("told_as_none", figures(-5.0, 0.01, RankOutcome::Unchanged)),
            ("told_as_one", figures(-5.0, 0.1, RankOutcome::Down)),
            ("nan", figures(f64::NAN, f64::NAN, RankOutcome::Unchanged)),
            ("zero", figures(0.0, 1.0, RankOutcome::ZeroBase)),
        ]);
        let summary = summary(&findings);
        assert_eq!((summary.total_tests, summary.regressions, summary.improvements, summary.no_change), (5, 1, 1, 3));
        assert_eq!(summary.regression_messages, ["s.up: Performance regression: +5.000% (p=0.001, threshold=1.0%)"]);
        assert_eq!(summary.improvement_messages, ["s.told_as_none: No significant change: -5.000% (p=0.010)"]);
    }

    #[test]
    fn the_json_is_that_of_python() {
        let findings = results(&[("a", figures(5.0, f64::NAN, RankOutcome::Up))]);
        insta::assert_snapshot!(json(&findings));
        assert!(json(&[]).starts_with("{\n  \"results\": {},\n  \"summary\": {\n"));
    }
}
