//! The baseline that the seed's tool makes of a report: its figures with the tolerances that the seed starts from.
//!
//! Of the CPU suite every figure is taken, of the GPU suite twelve by name, of a sweep all that lie flat. What the
//! report lacks is left out in silence, so a skipped report gives an empty baseline, which would let anything pass:
//! who calls this looks at [`Template::metrics`] first.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::metrics::{self, Figures, MetricsError};
use super::suite::SeedSuite;
use crate::compat::json::Json;
use sprag_base::json;

/// The figures of a GPU report that a baseline holds: these, each with both percentiles.
const GPU_FIGURES: [&str; 6] = [
    "benchmarks.tile_ops.tilepack.dispatch",
    "benchmarks.tile_ops.tileunpack.dispatch",
    "benchmarks.tile_ops.fusion_gate.dispatch",
    "benchmarks.tilessm.triton_dispatch",
    "benchmarks.end_to_end_infer.torch_eager",
    "benchmarks.end_to_end_infer.torch_triton_fastpath",
];

/// What the seed notes in a baseline of each suite.
fn usual_notes(suite: SeedSuite) -> &'static str {
    match suite {
        SeedSuite::Cpu => "CPU baseline with tolerant thresholds for CI variance.",
        SeedSuite::Gpu => {
            "GPU baseline template; regenerate on the target self-hosted GPU runner and adjust tolerances for stable CI."
        }
        SeedSuite::Trt => {
            "TensorRT shape-sweep baseline template; regenerate on the target deployment GPU runner with a production \
             engine and shape-case set."
        }
    }
}

/// How much worse a figure may get: by a share, and by milliseconds on top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    pub ratio: f64,
    pub abs: f64,
}

impl Tolerance {
    /// What the seed starts from, by the suite and the name of the figure.
    pub fn usual(suite: SeedSuite, name: &str) -> Tolerance {
        let (ratio, abs) = match suite {
            SeedSuite::Cpu if name.contains("infer_p95") => (1.0, 5.0),
            SeedSuite::Cpu => (0.75, 2.0),
            SeedSuite::Gpu if name.contains("end_to_end_infer") => {
                (0.5, if name.ends_with(".p50_ms") { 1.0 } else { 2.0 })
            }
            SeedSuite::Trt if name.starts_with("summary.") => (0.5, 1.0),
            SeedSuite::Gpu | SeedSuite::Trt if name.ends_with(".p95_ms") => (0.8, 0.5),
            SeedSuite::Gpu | SeedSuite::Trt => (0.6, 0.25),
        };
        Tolerance { ratio, abs }
    }
}

/// Why no baseline can be made of a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// `metrics` is no object.
    #[error("`metrics` is no object")]
    NoObject,
    /// A figure that is no number, or no finite one, which nothing can be held against.
    #[error("`{0}` is no finite number")]
    NoNumber(String),
}

/// A baseline of the seed, ready to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    pub suite: SeedSuite,
    /// The figures, in milliseconds.
    pub metrics: BTreeMap<String, f64>,
}

impl Template {
    /// Takes the figures of a report.
    ///
    /// # Errors
    /// When one of them is no number that a report could be held against.
    pub fn from_report(suite: SeedSuite, report: &Json) -> Result<Template, TemplateError> {
        let fault = |error| match error {
            MetricsError::NoObject => TemplateError::NoObject,
            MetricsError::NoNumber(name) => TemplateError::NoNumber(name),
        };
        let metrics = match suite {
            SeedSuite::Trt => metrics::flat(report),
            SeedSuite::Cpu | SeedSuite::Gpu => {
                let names: Vec<String> = match suite {
                    SeedSuite::Gpu => GPU_FIGURES
                        .iter()
                        .flat_map(|figure| [format!("{figure}.p50_ms"), format!("{figure}.p95_ms")])
                        .collect(),
                    _ => {
                        let fields = report.get("metrics").and_then(Json::fields).unwrap_or_default();
                        fields.iter().map(|(name, _)| name.clone()).collect()
                    }
                };
                let figures = Figures::from_report(suite, report).map_err(fault)?;
                let mut found = BTreeMap::new();
                for name in names {
                    if let Some(value) = figures.get(&name).map_err(fault)? {
                        found.insert(name, value);
                    }
                }
                found
            }
        };
        match metrics.iter().find(|(_, value)| !value.is_finite()) {
            Some((name, _)) => Err(TemplateError::NoNumber(name.clone())),
            None => Ok(Template { suite, metrics }),
        }
    }

    /// The file: sorted keys, two spaces a level, a line feed at the end. `notes` take the place of the seed's own.
    pub fn to_json(&self, notes: Option<&str>) -> String {
        let metric = |(name, value): (&String, &f64)| {
            let Tolerance { ratio, abs } = Tolerance::usual(self.suite, name);
            let spec = json!({"value_ms": value, "max_regression_ratio": ratio, "max_regression_abs_ms": abs});
            (name.clone(), spec)
        };
        let mut file = json!({
            "schema_version": 1,
            "suite": self.suite.name(),
            "baseline_notes": notes.unwrap_or(usual_notes(self.suite)),
            "metrics": self.metrics.iter().map(metric).collect::<Map<String, Value>>(),
        });
        if self.suite.has_status() {
            file["required_status"] = Value::from("ok");
        }
        json::to_pretty(&file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_follow_suite_and_name() {
        let check = |suite: SeedSuite, name: &str, ratio: f64, abs: f64| {
            assert_eq!(Tolerance::usual(suite, name), Tolerance { ratio, abs }, "{name}");
        };
        check(SeedSuite::Cpu, "infer_p95_ms", 1.0, 5.0);
        check(SeedSuite::Cpu, "infer_p50_ms", 0.75, 2.0);
        check(SeedSuite::Gpu, "benchmarks.end_to_end_infer.torch_eager.p50_ms", 0.5, 1.0);
        check(SeedSuite::Gpu, "benchmarks.end_to_end_infer.torch_eager.p95_ms", 0.5, 2.0);
        check(SeedSuite::Gpu, "benchmarks.tilessm.triton_dispatch.p95_ms", 0.8, 0.5);
        check(SeedSuite::Gpu, "benchmarks.tilessm.triton_dispatch.p50_ms", 0.6, 0.25);
        check(SeedSuite::Trt, "summary.p95_ms", 0.5, 1.0);
        check(SeedSuite::Trt, "case.default.p95_ms", 0.8, 0.5);
        check(SeedSuite::Trt, "case.default.p50_ms", 0.6, 0.25);
    }

    #[test]
    fn what_nothing_can_be_held_against_is_refused() {
        let of = |suite: SeedSuite, text: &str| {
            Template::from_report(suite, &Json::parse(text).expect("the report is JSON"))
        };
        let bad = |name: &str| Err(TemplateError::NoNumber(name.to_owned()));
        assert_eq!(of(SeedSuite::Cpu, r#"{"metrics": {"a": NaN}}"#), bad("a"));
        assert_eq!(of(SeedSuite::Cpu, r#"{"metrics": {"a": "x"}}"#), bad("a"));
        assert_eq!(of(SeedSuite::Cpu, r#"{"metrics": []}"#), Err(TemplateError::NoObject));
        assert_eq!(of(SeedSuite::Trt, r#"{"summary": {"p50_ms_min": Infinity}}"#), bad("summary.p50_ms_min"));
        let gpu =
            r#"{"benchmarks": {"tilessm": {"triton_dispatch": {"p50_ms": 2}, "torch_reference": {"p50_ms": 3}}}}"#;
        let template = of(SeedSuite::Gpu, gpu).expect("the figures are numbers");
        assert_eq!(template.metrics.keys().collect::<Vec<_>>(), ["benchmarks.tilessm.triton_dispatch.p50_ms"]);
        assert!(template.to_json(Some("mine")).contains("\"baseline_notes\": \"mine\""));
    }
}
