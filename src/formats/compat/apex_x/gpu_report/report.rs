//! The report as a whole.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::benchmarks::Benchmarks;
use super::config::GpuConfig;
use super::environment::Environment;
use sprag_base::json;
use sprag_model::autotune::Snapshot;

/// The suite's name in the report.
pub const SUITE: &str = "apex_x_gpu_benchmark";

pub const SCHEMA_VERSION: u64 = 1;

/// A report of the seed's GPU suite.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuReport {
    /// When it was written.
    pub timestamp: DateTime<Utc>,
    pub environment: Environment,
    pub config: GpuConfig,
    pub outcome: Outcome,
    /// Which configurations the tuned kernels ran with.
    pub autotune: Snapshot,
}

/// What came of measuring.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nothing, for this reason, such as `cuda_unavailable`.
    Skipped(String),
    Measured(Box<Benchmarks>),
}

impl GpuReport {
    /// The report as a value.
    ///
    /// # Errors
    /// Names the benchmark that has no times, or one that is not finite.
    pub fn to_value(&self) -> Result<Value, String> {
        let (status, reason, benchmarks) = match &self.outcome {
            Outcome::Skipped(reason) => ("skipped", Some(reason), json!({})),
            Outcome::Measured(benchmarks) => ("ok", None, benchmarks.to_json(&self.config)?),
        };
        let mut report = json!({
            "schema_version": SCHEMA_VERSION,
            "suite": SUITE,
            "timestamp_utc": self.timestamp.to_rfc3339_opts(SecondsFormat::Micros, false),
            "environment": self.environment.to_json(),
            "config": self.config,
            "status": status,
            "benchmarks": benchmarks,
            "triton_autotune": self.autotune,
        });
        if let Some(reason) = reason {
            report["reason"] = json!(reason);
        }
        Ok(report)
    }

    /// The text of the report: keys sorted, two spaces a level, one line feed at the end.
    ///
    /// # Errors
    /// As [`GpuReport::to_value`].
    pub fn to_json(&self) -> Result<String, String> {
        Ok(json::to_pretty(&self.to_value()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::apex_x::gpu_report::{
        Backend, Calls, Device, EndToEnd, Operation, Path, Selection, TensorRt, to_markdown,
    };

    fn config() -> GpuConfig {
        GpuConfig {
            batch: 1,
            channels: 128,
            height: 128,
            width: 128,
            tile_size: 8,
            kmax: 32,
            steps: 256,
            warmup: 10,
            iters: 50,
            seed: 123,
            dtype: "fp16".into(),
            budget_b1: 16.0,
            budget_b2: 8.0,
            budget_total: 32.0,
            trt_engine_path: String::new(),
            trt_plugin_lib: String::new(),
            trt_input_shapes: Vec::new(),
        }
    }

    fn skipped() -> GpuReport {
        GpuReport {
            timestamp: DateTime::from_timestamp(1_790_000_000, 547_213_000).expect("a date"),
            environment: Environment {
                platform: "Linux-6.1.0-x86_64-with-glibc2.36".into(),
                device: Err("cuda_unavailable".into()),
                requested_dtype: "fp16".into(),
                effective_dtype: "float32".into(),
                fp8_fallback_reason: None,
                fp8_unavailable: Some("fp8_requires_cuda".into()),
            },
            config: config(),
            outcome: Outcome::Skipped("cuda_unavailable".into()),
            autotune: Snapshot::default(),
        }
    }

    /// Calls of so many milliseconds and twice as many.
    fn calls(milliseconds: f64) -> Calls {
        Calls { milliseconds: vec![milliseconds, 2.0 * milliseconds, milliseconds], peak_bytes: Some(3 << 19) }
    }

    fn operation(milliseconds: f64) -> Operation {
        let (reference, dispatch) = (calls(2.0 * milliseconds), calls(milliseconds));
        Operation { reference, dispatch, backend: Backend::Cuda, fallback_reason: None }
    }

    fn measured() -> GpuReport {
        let selection =
            Selection { level_0: 20, level_1: 32, budget_b1_spent: 16.000000000000004, budget_b2_spent: 8.0 };
        let engine = TensorRt::Measured {
            path: "model.plan".into(),
            mode: Some("modern_io_tensors".into()),
            work: 2.0,
            calls: calls(4.0),
        };
        let benchmarks = Benchmarks {
            tilepack: operation(0.5),
            tileunpack: operation(1.0),
            fusion_gate: Operation {
                backend: Backend::Reference,
                fallback_reason: Some("cuda_launch_failed".into()),
                ..operation(1.0)
            },
            tilessm: operation(0.0),
            tilessm_plugin: TensorRt::Skipped("missing_plugin_library".into()),
            end_to_end: EndToEnd {
                reference: Path { calls: calls(8.0), selection, fallback_reason: None },
                dispatch: Path { calls: Calls { peak_bytes: None, ..calls(4.0) }, selection, fallback_reason: None },
                engine,
            },
        };
        let device =
            Device { count: 1, name: "NVIDIA H200".into(), compute_capability: Some("9.0".into()), can_compile: true };
        let environment = Environment {
            device: Ok(device),
            requested_dtype: "fp8".into(),
            effective_dtype: "float8_e4m3fn".into(),
            fp8_unavailable: None,
            ..skipped().environment
        };
        GpuReport { environment, outcome: Outcome::Measured(Box::new(benchmarks)), ..skipped() }
    }

    #[test]
    fn a_skipped_report_has_every_key() {
        let text = skipped().to_json().expect("nothing is missing");
        insta::assert_snapshot!(text);
        assert!(text.ends_with("}\n") && !text.ends_with("\n\n"));
    }

    #[test]
    fn a_measured_report_has_every_figure() {
        let text = measured().to_json().expect("nothing is missing");
        insta::assert_snapshot!(text);
        let markdown = to_markdown(&measured().to_value().expect("nothing is missing")).expect("it can be shown");
        assert!(markdown.contains("| TilePack | cuda | 1.0000 | 0.5000 | 1.0000 | 0.5000 |"), "{markdown}");
        assert!(markdown.contains("- fp8: `enabled`\n"), "{markdown}");
    }

    /// The paths that the seed's comparison looks up in a report.
    #[test]
    fn what_the_seed_compares_is_there() {
        let report = measured().to_value().expect("nothing is missing");
        let forms = ["tilepack", "tileunpack", "fusion_gate"].map(|name| format!("tile_ops/{name}/dispatch"));
        let others =
            ["tilessm/triton_dispatch", "end_to_end_infer/torch_eager", "end_to_end_infer/torch_triton_fastpath"];
        for form in forms.iter().map(String::as_str).chain(others) {
            for metric in ["p50_ms", "p95_ms"] {
                let found = report.pointer(&format!("/benchmarks/{form}/{metric}"));
                assert!(found.is_some_and(Value::is_f64), "{form} {metric}");
            }
        }
    }

    #[test]
    fn a_path_that_fell_back_says_so() {
        let mut report = measured();
        let key = "/benchmarks/end_to_end_infer/torch_triton_fastpath/fallback_reason";
        assert_eq!(report.to_value().expect("nothing is missing").pointer(key), None);
        if let Outcome::Measured(benchmarks) = &mut report.outcome {
            benchmarks.end_to_end.dispatch.fallback_reason = Some("parity: off".to_owned());
        }
        assert_eq!(report.to_value().expect("nothing is missing").pointer(key), Some(&json!("parity: off")));
    }

    #[test]
    fn a_report_without_times_is_none() {
        let check = |break_it: fn(&mut Benchmarks), expected: &str| {
            let mut report = measured();
            if let Outcome::Measured(benchmarks) = &mut report.outcome {
                break_it(benchmarks);
            }
            assert_eq!(report.to_json(), Err(format!("there are no times of {expected}")));
        };
        check(|all| all.tilepack.dispatch.milliseconds.clear(), "tilepack");
        check(|all| all.tilessm.reference.milliseconds.push(f64::NAN), "tilessm by plain kernels");
        check(|all| all.end_to_end.dispatch.calls = Calls::default(), "end_to_end_infer");
    }
}
