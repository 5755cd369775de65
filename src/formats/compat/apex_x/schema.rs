//! Schemas of the seed's files as we write them: what its own tools may rely on.
//!
//! Numbers that are not finite stand in a summary and a trend as the seed writes them, which is no JSON; such a file has
//! no schema.

use serde_json::{Value, json};

use super::suite::SeedSuite;
use super::{cpu_report, gpu_report, trt_report};
use sprag_model::autotune::Snapshot;
use sprag_model::schema::{count, for_type, list, not_negative, object, object_with, or_null, positive, text, words};

/// A moment as Python writes it.
const MOMENT: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}\+00:00$";

fn moment() -> Value {
    json!({ "type": "string", "pattern": MOMENT })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

fn just(value: impl Into<Value>) -> Value {
    json!({ "const": value.into() })
}

/// The report of the CPU suite.
pub fn cpu() -> Value {
    let milliseconds = ["infer_p50_ms", "infer_p95_ms", "tile_pack_p50_ms", "tile_unpack_p50_ms", "fusion_gate_p50_ms"]
        .map(|name| (name, not_negative()));
    object(&[
        ("schema_version", just(cpu_report::SCHEMA_VERSION)),
        ("suite", just(cpu_report::SUITE)),
        (
            "environment",
            object(&[
                ("python", just("none")),
                ("torch", just("none")),
                ("platform", text()),
                ("device", just("cpu")),
                ("cuda_available", flag()),
            ]),
        ),
        (
            "config",
            object(&[
                ("infer_warmup", count()),
                ("infer_iters", count()),
                ("micro_warmup", count()),
                ("micro_iters", count()),
                ("seed", count()),
                ("tile_size", just(cpu_report::TILE_SIZE)),
                ("input_shape", json!({ "const": cpu_report::INPUT_SHAPE })),
                ("tile_shape", json!({ "const": cpu_report::TILE_SHAPE })),
            ]),
        ),
        ("metrics", object(&milliseconds)),
    ])
}

/// The block `runtime_caps`.
fn runtime_caps() -> Value {
    let unused = || just("not_used_by_sprag");
    object(&[
        (
            "cuda",
            object(&[
                ("available", flag()),
                ("device_count", count()),
                ("device_name", or_null(text())),
                ("compute_capability", or_null(text())),
                ("reason", or_null(text())),
            ]),
        ),
        ("triton", object(&[("available", just(false)), ("version", just(Value::Null)), ("reason", unused())])),
        (
            "tensorrt",
            object(&[
                ("python_available", just(false)),
                ("python_version", just(Value::Null)),
                ("python_reason", unused()),
                ("headers_available", just(false)),
                ("header_path", just(Value::Null)),
                ("int8_available", just(false)),
                ("int8_reason", unused()),
            ]),
        ),
        (
            "fp8",
            object(&[
                ("available", flag()),
                ("dtype_available", flag()),
                ("supported_dtypes", list(just("float8_e4m3fn"))),
                ("reason", or_null(text())),
            ]),
        ),
        ("any_gpu_runtime", flag()),
    ])
}

/// The report of the GPU suite.
pub fn gpu() -> Value {
    let environment = object(&[
        ("python", just("none")),
        ("torch", just("none")),
        ("platform", text()),
        ("device", words(&["cuda", "cpu"])),
        ("dtype", text()),
        ("requested_dtype", text()),
        ("effective_dtype", text()),
        ("fp8_requested", flag()),
        ("fp8_enabled", flag()),
        ("fp8_fallback_reason", or_null(text())),
        ("runtime_caps", runtime_caps()),
    ]);
    let counts = ["batch", "channels", "height", "width", "tile_size", "kmax", "steps", "warmup", "iters", "seed"];
    let numbers = ["budget_b1", "budget_b2", "budget_total"].map(|name| (name, not_negative()));
    let texts = ["dtype", "trt_engine_path", "trt_plugin_lib"].map(|name| (name, text()));
    let mut config = counts.map(|name| (name, count())).to_vec();
    config.extend(numbers);
    config.extend(texts);
    config.push(("trt_input_shapes", list(text())));
    let mut autotune = for_type::<Snapshot>();
    let definitions = autotune.as_object_mut().and_then(|fields| fields.remove("$defs")).unwrap_or_default();
    let mut schema = object_with(
        &[
            ("schema_version", just(gpu_report::SCHEMA_VERSION)),
            ("suite", just(gpu_report::SUITE)),
            ("timestamp_utc", moment()),
            ("environment", environment),
            ("config", object(&config)),
            ("status", words(&["ok", "skipped"])),
            ("benchmarks", json!({ "type": "object" })),
            ("triton_autotune", autotune),
        ],
        &[("reason", text())],
    );
    schema["if"] = json!({ "properties": { "status": { "const": "skipped" } } });
    schema["then"] = json!({ "required": ["reason"], "properties": { "benchmarks": { "maxProperties": 0 } } });
    schema["else"] = json!({ "properties": { "reason": false, "benchmarks": gpu_benchmarks() } });
    schema["$defs"] = definitions;
    schema
}

/// The figures of one form of an operation; `rate` names its throughput.
fn block(rate: &'static str, more: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let figures = [
        ("p50_ms", not_negative()),
        ("p95_ms", not_negative()),
        ("peak_memory_mb", or_null(not_negative())),
        (rate, or_null(positive())),
    ];
    object_with(&figures.into_iter().chain(more.iter().cloned()).collect::<Vec<_>>(), optional)
}

/// What TensorRT did, or why nothing.
fn engine(path_key: &'static str, rate: &'static str) -> Value {
    let measured = [("status", just("ok")), ("metrics", block(rate, &[], &[])), (path_key, text())];
    let skipped = [("status", just("skipped")), ("reason", text())];
    json!({ "oneOf": [object_with(&measured, &[("mode", text())]), object(&skipped)] })
}

fn gpu_benchmarks() -> Value {
    let backend = || ("backend", words(&["cuda", "reference"]));
    let reason = || ("fallback_reason", or_null(text()));
    let operation = |rate: &'static str| {
        object(&[backend(), reason(), ("reference", block(rate, &[], &[])), ("dispatch", block(rate, &[], &[]))])
    };
    let selection = [
        ("selected_l0_per_call", count()),
        ("selected_l1_per_call", count()),
        ("budget_b1_spent", not_negative()),
        ("budget_b2_spent", not_negative()),
    ];
    let path = || block("frames_per_s", &selection, &[("fallback_reason", text())]);
    object(&[
        (
            "tile_ops",
            object(&[
                ("tilepack", operation("tiles_per_s")),
                ("tileunpack", operation("tiles_per_s")),
                ("fusion_gate", operation("elements_per_s")),
            ]),
        ),
        (
            "tilessm",
            object(&[
                backend(),
                reason(),
                ("torch_reference", block("tokens_per_s", &[], &[])),
                ("triton_dispatch", block("tokens_per_s", &[], &[])),
                ("tensorrt_plugin", engine("plugin_library", "tokens_per_s")),
            ]),
        ),
        (
            "end_to_end_infer",
            object(&[
                ("torch_eager", path()),
                ("torch_triton_fastpath", path()),
                ("tensorrt_engine", engine("engine_path", "frames_per_s")),
            ]),
        ),
    ])
}

/// The report of the TensorRT sweep.
pub fn trt() -> Value {
    let name = || [("label", text()), ("input_shapes", list(text()))];
    let case = |fields: &[(&str, Value)]| object(&name().into_iter().chain(fields.iter().cloned()).collect::<Vec<_>>());
    let figures = object(&[
        ("p50_ms", not_negative()),
        ("p95_ms", not_negative()),
        ("peak_memory_mb", just(Value::Null)),
        ("frames_per_s", or_null(positive())),
    ]);
    let cases = json!({ "oneOf": [
        case(&[("status", just("ok")), ("mode", text()), ("metrics", figures)]),
        case(&[("status", words(&["skipped", "failed"])), ("reason", text())]),
    ] });
    let counts = ["ok_count", "skipped_count", "failed_count"].map(|name| (name, count()));
    let medians = ["p50_ms_min", "p50_ms_max", "p50_ms_median"].map(|name| (name, not_negative()));
    let mut schema = object_with(
        &[
            ("schema_version", just(trt_report::SCHEMA_VERSION)),
            ("suite", just(trt_report::SUITE)),
            ("timestamp_utc", moment()),
            (
                "environment",
                object(&[
                    ("python", just("none")),
                    ("platform", text()),
                    ("torch", just("none")),
                    ("runtime_caps", runtime_caps()),
                ]),
            ),
            (
                "config",
                object(&[
                    ("trt_engine_path", text()),
                    ("shape_cases", list(text())),
                    ("warmup", count()),
                    ("iters", count()),
                    ("seed", count()),
                ]),
            ),
            ("status", words(&["ok", "partial", "skipped"])),
            ("cases", list(cases)),
            ("summary", object_with(&counts, &medians)),
        ],
        &[("reason", text())],
    );
    schema["if"] = json!({ "properties": { "status": { "const": "skipped" } } });
    schema["then"] = json!({ "required": ["reason"], "properties": { "cases": { "maxItems": 0 } } });
    schema["else"] = json!({ "properties": { "reason": false } });
    schema
}

/// What a check of one figure found.
fn check(with_ratio: bool) -> Value {
    let number = || json!({ "type": "number" });
    let mut fields = vec![
        ("allowed_max_ms", or_null(number())),
        ("baseline_ms", or_null(number())),
        ("current_ms", or_null(number())),
        ("metric", text()),
        ("status", words(&["pass", "fail", "missing"])),
    ];
    if with_ratio {
        fields.push(("regression_ratio", or_null(number())));
    }
    object(&fields)
}

/// The fields of a comparison of two reports that have a status.
fn statuses() -> [(&'static str, Value); 2] {
    [("current_status", text()), ("required_status", text())]
}

pub fn summary() -> Value {
    let status =
        object(&[("metric", just("__status__")), ("status", just("fail")), ("current", text()), ("expected", text())]);
    let fields = [
        ("checks", list(json!({ "oneOf": [check(true), check(false), status] }))),
        ("status", words(&["pass", "fail"])),
        ("suite", or_null(text())),
    ];
    object_with(&fields, &statuses())
}

/// The trend artifact of a comparison.
pub fn trend() -> Value {
    let fields = [
        ("schema_version", just(1)),
        ("suite", or_null(text())),
        ("timestamp_utc", text()),
        ("overall_status", words(&["pass", "fail"])),
        ("total_metrics", count()),
        ("failed_metrics", count()),
        ("metrics", list(check(true))),
    ];
    object_with(&fields, &statuses())
}

/// A baseline of the seed.
pub fn baseline() -> Value {
    let figure = object(&[
        ("value_ms", json!({ "type": "number" })),
        ("max_regression_ratio", not_negative()),
        ("max_regression_abs_ms", not_negative()),
    ]);
    let suites = [SeedSuite::Cpu, SeedSuite::Gpu, SeedSuite::Trt].map(SeedSuite::name);
    let fields = [
        ("schema_version", just(1)),
        ("suite", words(&suites)),
        ("baseline_notes", text()),
        ("metrics", json!({ "type": "object", "minProperties": 1, "additionalProperties": figure })),
    ];
    object_with(&fields, &[("required_status", just("ok"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every strict JSON text that the golden cases give for a field, under that schema.
    fn golden_texts(file: &str, field: &str, schema: &Value) -> usize {
        let file: Value = serde_json::from_str(file).expect("the golden cases are JSON");
        let cases = file["cases"].as_array().expect("there are cases");
        let texts = cases.iter().filter_map(|case| case["expected"][field].as_str());
        let values = texts.filter_map(|text| serde_json::from_str::<Value>(text).ok());
        values.inspect(|value| valid(schema, value)).count()
    }

    #[track_caller]
    fn valid(schema: &Value, value: &Value) {
        if let Err(error) = jsonschema::validate(schema, value) {
            panic!("{error} at {}: {value}", error.instance_path);
        }
    }

    #[test]
    fn what_the_seed_writes_of_comparisons_follows_their_schemas() {
        let compare = include_str!("../../../../fixtures/golden/apex-x/perf_compare.json");
        assert!(golden_texts(compare, "summary_json_text", &summary()) > 10);
        assert!(golden_texts(compare, "trend_json_text", &trend()) > 10);
    }

    #[test]
    fn a_snapshot_of_a_report_follows_its_schema() {
        let texts = [
            include_str!(
                "gpu_report/snapshots/sprag_formats__compat__apex_x__gpu_report__report__tests__a_measured_report_has_every_figure.snap"
            ),
            include_str!(
                "gpu_report/snapshots/sprag_formats__compat__apex_x__gpu_report__report__tests__a_skipped_report_has_every_key.snap"
            ),
        ];
        for text in texts {
            let json = &text[text.find("\n{").expect("a report")..];
            let report: Value = serde_json::from_str(json).expect("a report is JSON");
            valid(&gpu(), &report);
            let check = |pointer: &str, wrong: Value| {
                let mut damaged = report.clone();
                let (parent, field) = pointer.rsplit_once('/').expect("a pointer has a slash");
                damaged.pointer_mut(parent).expect("the parent is there")[field] = wrong;
                assert!(!jsonschema::is_valid(&gpu(), &damaged), "{pointer}");
            };
            check("/schema_version", json!(2));
            check("/other", json!(2));
            check("/status", json!("fine"));
            check("/benchmarks/other", json!({}));
            check("/config/batch", json!("1"));
            check("/environment/device", json!("tpu"));
            check("/triton_autotune/summary/launches", json!(-1));
            check("/timestamp_utc", json!("2026-05-04T03:02:01Z"));
        }
    }
}
