//! Cases of Apex-X's reports, all exact: `report_markdown`; `stats`, of single calls; `trt_sweep`, of shape cases and sweeps.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::case::{judge, take_kind, unknown_kind};
use crate::expected::{exact, exactly};
use crate::failure::{Failure, Outcome, fails, read, require};
use crate::tensor::{Number, plain};
use sprag_formats::compat::apex_x::markdown;
use sprag_formats::compat::apex_x::report_parts::CallSummary;
use sprag_formats::compat::apex_x::trt_report::SweepSummary;
use sprag_model::{ShapeCase, ShapeCaseError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkdownCase {
    #[serde(default, rename = "name")]
    _name: String,
    kind: ReportKind,
    report: Value,
    expected_markdown: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReportKind {
    GpuBench,
    TrtSweep,
}

pub(crate) fn run_markdown(case: Value) -> Outcome {
    let case: MarkdownCase = read("the case", case)?;
    let got = match case.kind {
        ReportKind::GpuBench => markdown::gpu_report(&case.report),
        ReportKind::TrtSweep => Ok(markdown::sweep(&case.report)),
    };
    exact("expected_markdown", &case.expected_markdown, &got.map_err(|fault| fails(format!("the report {fault}")))?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallsCase {
    timings_ms: Vec<Number>,
    work_items: f64,
}

pub(crate) fn run_calls(case: Value) -> Outcome {
    let compute = |case: &CallsCase| {
        let summary = CallSummary::from_calls(&plain(&case.timings_ms));
        let summary = summary.ok_or_else(|| Failure::Refused("there are no times".to_owned()))?;
        Ok(vec![
            ("p50_ms", exactly(summary.p50)),
            ("p95_ms", exactly(summary.p95)),
            ("throughput_per_s", exactly(summary.throughput(case.work_items))),
        ])
    };
    judge(case, compute)
}

pub(crate) fn run_sweep(mut case: Value) -> Outcome {
    match take_kind(&mut case)?.as_str() {
        "shape_cases" => check_shapes(&read::<ShapeCases>("the case", case)?.expected),
        "summary" => judge(case, |case: &SweepCases| Ok(vec![("expected", exactly(case.summary()))])),
        kind => Err(unknown_kind(kind)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapeCases {
    #[serde(default, rename = "name")]
    _name: String,
    expected: Vec<Value>,
}

/// The texts are among what is expected: each is read, and the result is compared with the rest of its entry.
fn check_shapes(entries: &[Value]) -> Outcome {
    require(!entries.is_empty(), || "`expected` holds nothing to compare".to_owned())?;
    for (place, entry) in entries.iter().enumerate() {
        let raw = entry.get("raw").and_then(Value::as_str).ok_or_else(|| fails("an entry has no text `raw`"))?;
        // The first case of a sweep is the one without shapes, so the first that is written has the number 1.
        let got = match ShapeCase::parse(raw) {
            Ok(shapes) => json!({"raw": raw, "specs": shapes.specs(), "label": shapes.label(place + 1)}),
            Err(error) => json!({"raw": raw, "error": {"type": "ValueError", "message": wording(&error)}}),
        };
        exact(&format!("expected[{place}]"), entry, &got)?;
    }
    Ok(())
}

fn wording(error: &ShapeCaseError) -> String {
    let entry = |what: &str, piece: &str| format!("{what} shape case entry: '{piece}'");
    match error {
        ShapeCaseError::Empty => "shape case must be non-empty".to_owned(),
        ShapeCaseError::NoPiece => "shape case must include at least one tensor shape".to_owned(),
        ShapeCaseError::NoEquals(piece) => entry("invalid", piece),
        ShapeCaseError::NoName(piece) => entry("invalid tensor name in", piece),
        ShapeCaseError::NoSizes(piece) => entry("invalid tensor dims in", piece),
        ShapeCaseError::NotPositive(piece) => entry("tensor dims must be > 0 in", piece),
        ShapeCaseError::NoNumber { size, .. } => format!("invalid literal for int() with base 10: '{size}'"),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepCases {
    cases: Vec<SweepCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepCase {
    status: String,
    metrics: Option<SweepMetrics>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepMetrics {
    p50_ms: Value,
}

impl SweepCases {
    /// As the original makes it of a report: a p50 that is not a float, such as a whole number, does not count.
    fn summary(&self) -> Value {
        let mut summary = SweepSummary::default();
        for case in &self.cases {
            match case.status.as_str() {
                "ok" => summary.ok += 1,
                "skipped" => summary.skipped += 1,
                _ => summary.failed += 1,
            }
            let p50 = case.metrics.as_ref().map(|metrics| &metrics.p50_ms).filter(|_| case.status == "ok");
            summary.p50_ms.extend(p50.filter(|p50| p50.is_f64()).and_then(Value::as_f64));
        }
        summary.to_json()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_compared_with_all_its_fields() {
        let check = |expected: Value, passes: bool| {
            let case = json!({"kind": "summary", "cases": [{"status": "skipped"}], "expected": expected});
            assert_eq!(run_sweep(case).is_ok(), passes, "{expected}");
        };
        check(json!({"ok_count": 0, "skipped_count": 1, "failed_count": 0}), true);
        check(json!({"ok_count": 0, "skipped_count": 1}), false);
        check(json!({"ok_count": 0, "skipped_count": 1, "failed_count": 0, "p50_ms_min": 1.0}), false);
        check(json!({"ok_count": 0, "skipped_count": 2, "failed_count": 0}), false);
    }
}
