//! The report of Apex-X's TensorRT sweep, `apex_x_trt_engine_shape_sweep`, schema version 1.
//!
//! Unlike its other files the JSON has its keys in a fixed order that is not sorted, and no line feed at the end. What
//! the figures mean here: `p50_ms` is the median of all samples of all processes and `p95_ms` the order statistic at the
//! floor of `0.95 * (n - 1)`, as in Apex-X's other reports; `frames_per_s` is the batch of the case, the first size of
//! its first shape or input, over `p50_ms`, and null where that is not known; `peak_memory_mb` is null, as `trtexec`
//! does not show it.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::report_parts::{CallSummary, RuntimeCaps};
use sprag_base::json;
use sprag_base::stats::describe;

pub const SUITE: &str = "apex_x_trt_engine_shape_sweep";

pub const SCHEMA_VERSION: u64 = 1;

#[derive(Clone, Debug, PartialEq)]
pub struct SweepReport {
    pub timestamp: DateTime<Utc>,
    /// Operating system, its release, architecture and C library, joined as Python joins them.
    pub platform: String,
    pub caps: RuntimeCaps,
    pub config: SweepConfig,
    pub outcome: SweepOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepConfig {
    pub trt_engine_path: String,
    pub shape_cases: Vec<String>,
    pub warmup: u32,
    /// Timed calls, at least.
    pub iters: u32,
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SweepOutcome {
    Skipped(String),
    /// First the case without shapes.
    Measured(Vec<SweepCase>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct SweepCase {
    /// Such as `case_001_1_3_128_128`.
    pub label: String,
    /// Each `name=AxB`.
    pub input_shapes: Vec<String>,
    pub outcome: CaseOutcome,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CaseOutcome {
    Ok {
        /// Such as `modern_io_tensors`.
        mode: String,
        metrics: CaseMetrics,
    },
    /// The engine does not take it, for this reason.
    Skipped(String),
    Failed(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaseMetrics {
    pub p50_ms: f64,
    pub p95_ms: f64,
    /// At the median; absent where that is zero or the batch is not known.
    pub frames_per_s: Option<f64>,
}

impl CaseMetrics {
    /// Of calls on `batch` images; `None` without samples.
    pub fn from_samples(milliseconds: &[f64], batch: Option<u64>) -> Option<CaseMetrics> {
        let summary = CallSummary::from_calls(milliseconds)?;
        let frames_per_s = batch.and_then(|batch| summary.throughput(batch as f64));
        Some(CaseMetrics { p50_ms: summary.p50, p95_ms: summary.p95, frames_per_s })
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepSummary {
    pub ok: usize,
    pub skipped: usize,
    pub failed: usize,
    /// The median of each measured case.
    pub p50_ms: Vec<f64>,
}

impl SweepSummary {
    pub fn from_cases(cases: &[SweepCase]) -> SweepSummary {
        let mut summary = SweepSummary::default();
        for case in cases {
            match &case.outcome {
                CaseOutcome::Ok { metrics, .. } => {
                    summary.ok += 1;
                    summary.p50_ms.push(metrics.p50_ms);
                }
                CaseOutcome::Skipped(_) => summary.skipped += 1,
                CaseOutcome::Failed(_) => summary.failed += 1,
            }
        }
        summary
    }

    pub fn to_json(&self) -> Value {
        let mut fields = json!({"ok_count": self.ok, "skipped_count": self.skipped, "failed_count": self.failed});
        if let Some(median) = describe::median(&self.p50_ms) {
            let extreme = |pick: fn(f64, f64) -> f64| self.p50_ms.iter().copied().fold(median, pick);
            fields["p50_ms_min"] = json!(extreme(f64::min));
            fields["p50_ms_max"] = json!(extreme(f64::max));
            fields["p50_ms_median"] = json!(median);
        }
        fields
    }
}

impl SweepReport {
    /// With the keys in the order of Apex-X.
    pub fn to_value(&self) -> Value {
        let mut report = json!({
            "schema_version": SCHEMA_VERSION,
            "suite": SUITE,
            "timestamp_utc": self.timestamp.to_rfc3339_opts(SecondsFormat::Micros, false),
            "environment": {
                "python": "none",
                "platform": self.platform,
                "torch": "none",
                "runtime_caps": self.caps.to_json(),
            },
            "config": {
                "trt_engine_path": self.config.trt_engine_path,
                "shape_cases": self.config.shape_cases,
                "warmup": self.config.warmup,
                "iters": self.config.iters,
                "seed": self.config.seed,
            },
        });
        match &self.outcome {
            SweepOutcome::Skipped(reason) => {
                report["status"] = json!("skipped");
                report["reason"] = json!(reason);
                report["cases"] = json!([]);
                // Apex-X counts one skipped case where it tried none.
                report["summary"] = SweepSummary { skipped: 1, ..SweepSummary::default() }.to_json();
            }
            SweepOutcome::Measured(cases) => {
                let summary = SweepSummary::from_cases(cases);
                report["cases"] = cases.iter().map(case).collect();
                report["summary"] = summary.to_json();
                report["status"] = json!(if summary.ok > 0 && summary.failed == 0 { "ok" } else { "partial" });
            }
        }
        report
    }

    pub fn to_json(&self) -> String {
        json::to_indented(&self.to_value())
    }
}

fn case(case: &SweepCase) -> Value {
    let mut fields = json!({"label": case.label, "input_shapes": case.input_shapes});
    let (status, reason) = match &case.outcome {
        CaseOutcome::Ok { mode, metrics } => {
            fields["status"] = json!("ok");
            fields["mode"] = json!(mode);
            fields["metrics"] = json!({
                "p50_ms": metrics.p50_ms,
                "p95_ms": metrics.p95_ms,
                "peak_memory_mb": null,
                "frames_per_s": metrics.frames_per_s,
            });
            return fields;
        }
        CaseOutcome::Skipped(reason) => ("skipped", reason),
        CaseOutcome::Failed(reason) => ("failed", reason),
    };
    fields["status"] = json!(status);
    fields["reason"] = json!(reason);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::apex_x::report_parts::{CudaDevice, Fp8};

    fn report(outcome: SweepOutcome) -> SweepReport {
        let device = CudaDevice { count: 1, name: "NVIDIA H200".into(), compute_capability: "9.0".into() };
        SweepReport {
            timestamp: "2026-11-01T04:00:00.5Z".parse().expect("a time"),
            platform: "Linux-6.1".into(),
            caps: RuntimeCaps { cuda: Ok(device), fp8: Fp8::NotUsed, has_runtime: true },
            config: SweepConfig {
                trt_engine_path: "m.plan".into(),
                shape_cases: vec!["a=2".into()],
                warmup: 3,
                iters: 10,
                seed: 123,
            },
            outcome,
        }
    }

    fn case(label: &str, outcome: CaseOutcome) -> SweepCase {
        SweepCase { label: label.into(), input_shapes: Vec::new(), outcome }
    }

    fn ok(p50_ms: f64) -> CaseOutcome {
        let metrics = CaseMetrics { p50_ms, p95_ms: 2.5, frames_per_s: Some(500.0) };
        CaseOutcome::Ok { mode: "modern_io_tensors".into(), metrics }
    }

    #[test]
    fn keys_are_in_the_order_of_apex_x() {
        let cases = vec![case("default", ok(2.0)), case("b", CaseOutcome::Skipped("r".into()))];
        let text = report(SweepOutcome::Measured(cases)).to_json();
        let place = |word: &str| text.find(&format!("\"{word}\":")).unwrap_or_else(|| panic!("no `{word}` in {text}"));
        let order = "schema_version suite timestamp_utc environment python platform torch runtime_caps cuda triton config \
                     trt_engine_path shape_cases warmup iters seed cases label input_shapes mode metrics p50_ms p95_ms \
                     peak_memory_mb frames_per_s summary ok_count skipped_count failed_count p50_ms_min p50_ms_max \
                     p50_ms_median";
        let places: Vec<usize> = order.split(' ').map(place).collect();
        assert!(places.is_sorted(), "{text}");
        assert!(text.starts_with("{\n  \"schema_version\": 1,") && text.ends_with("  \"status\": \"ok\"\n}"), "{text}");
        assert!(text.contains("\"2026-11-01T04:00:00.500000+00:00\"") && text.contains("\"p50_ms\": 2.0,"), "{text}");
    }

    #[test]
    fn the_status_follows_from_the_cases() {
        let check = |outcome: SweepOutcome, status: &str, counts: [u64; 3]| {
            let value = report(outcome).to_value();
            assert_eq!(value["status"], status);
            let summary = ["ok_count", "skipped_count", "failed_count"].map(|name| value["summary"][name].as_u64());
            assert_eq!(summary, counts.map(Some));
        };
        let measured = |outcomes: Vec<CaseOutcome>| {
            SweepOutcome::Measured(outcomes.into_iter().map(|outcome| case("x", outcome)).collect())
        };
        check(measured(vec![ok(1.0), CaseOutcome::Skipped("r".into())]), "ok", [1, 1, 0]);
        check(measured(vec![ok(1.0), CaseOutcome::Failed("r".into())]), "partial", [1, 0, 1]);
        check(measured(vec![CaseOutcome::Skipped("r".into())]), "partial", [0, 1, 0]);
        check(SweepOutcome::Skipped("cuda_unavailable".into()), "skipped", [0, 1, 0]);
    }

    #[test]
    fn figures_follow_from_samples() {
        let metrics = CaseMetrics::from_samples(&[4.0, 1.0, 2.0, 3.0], Some(8)).expect("there are samples");
        assert_eq!(metrics, CaseMetrics { p50_ms: 2.5, p95_ms: 3.0, frames_per_s: Some(3200.0) });
        assert_eq!(CaseMetrics::from_samples(&[], Some(1)), None);
        let alone = CaseMetrics { p50_ms: 2.0, p95_ms: 2.0, frames_per_s: None };
        assert_eq!(CaseMetrics::from_samples(&[2.0], None), Some(alone));
        assert_eq!(CaseMetrics::from_samples(&[0.0], Some(1)).and_then(|metrics| metrics.frames_per_s), None);
    }
}
