//! Cases of `trt_sweep`: shape cases with their labels and faults, and the summary of a sweep. All exact.

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

use super::case::{Fields, Form, judge, list, unknown};
use sprag_formats::compat::apex_x::trt_report::{CaseMetrics, CaseOutcome, SweepCase, SweepSummary};
use sprag_model::shape_case::{ShapeCase, ShapeCaseError};

pub(super) fn run(case: &Value) -> Result<()> {
    match Fields::any(case, "the case")?.text("kind")? {
        "shape_cases" => run_shape_cases(case),
        "summary" => run_summary(case),
        kind => bail!("kind `{kind}` is unknown to this build"),
    }
}

/// The texts stand among what is expected: each is read, and what comes of it is compared with the rest of its entry.
fn run_shape_cases(case: &Value) -> Result<()> {
    let compute = |_, (): &()| Ok(());
    judge(
        case,
        &["kind"],
        Form::ONE,
        |_| Ok(()),
        compute,
        |name, expected, (): &()| {
            if name != "expected" {
                return unknown(name);
            }
            let entries = list(name, expected)?;
            ensure!(!entries.is_empty(), "`expected` holds nothing to compare");
            for (place, entry) in entries.iter().enumerate() {
                let raw = Fields::any(entry, "an entry")?.text("raw")?;
                // The first case of a sweep is the one without shapes, so the first that is written has the number 1.
                let got = match ShapeCase::parse(raw) {
                    Ok(shapes) => json!({"raw": raw, "specs": shapes.specs(), "label": shapes.label(place + 1)}),
                    Err(error) => json!({"raw": raw, "error": {"type": "ValueError", "message": wording(&error)}}),
                };
                ensure!(*entry == got, "`expected`[{place}]: expected {entry}, got {got} (exact)");
            }
            Ok(())
        },
    )
}

/// How the original words a fault.
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

fn run_summary(case: &Value) -> Result<()> {
    let read = |case: &Fields<'_>| {
        let cases = list("cases", case.get("cases")?)?;
        Ok(cases.iter().map(sweep_case).collect::<Result<Vec<SweepCase>>>()?)
    };
    let compute = |_, cases: &Vec<SweepCase>| Ok(SweepSummary::of(cases).to_json());
    // The whole, not name by name: a field too many is a fault as much as one that is absent.
    let whole = case.get("expected");
    judge(case, &["kind", "cases"], Form::ONE, read, compute, |_, _, summary: &Value| {
        ensure!(whole == Some(summary), "expected {}, got {summary} (exact)", whole.unwrap_or(&Value::Null));
        Ok(())
    })
}

fn sweep_case(case: &Value) -> Result<SweepCase> {
    let fields = Fields::of(case, "a case", &["status", "metrics"])?;
    let outcome = match fields.text("status")? {
        "ok" => {
            let p50_ms = Fields::of(fields.get("metrics")?, "`metrics`", &["p50_ms"])?.number("p50_ms")?;
            let metrics = CaseMetrics { p50_ms, p95_ms: p50_ms, frames_per_s: None };
            CaseOutcome::Ok { mode: String::new(), metrics }
        }
        "skipped" => CaseOutcome::Skipped(String::new()),
        _ => CaseOutcome::Failed(String::new()),
    };
    Ok(SweepCase { label: String::new(), input_shapes: Vec::new(), outcome })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_compared_whole() {
        let check = |expected: Value, passes: bool| {
            let case = json!({"kind": "summary", "cases": [{"status": "skipped"}], "expected": expected});
            assert_eq!(run(&case).is_ok(), passes, "{expected}");
        };
        check(json!({"ok_count": 0, "skipped_count": 1, "failed_count": 0}), true);
        check(json!({"ok_count": 0, "skipped_count": 1}), false);
        check(json!({"ok_count": 0, "skipped_count": 1, "failed_count": 0, "p50_ms_min": 1.0}), false);
        check(json!({"ok_count": 0, "skipped_count": 2, "failed_count": 0}), false);
    }
}
