//! Schemas of the seed's files as we write them: what its own tools may rely on. Their layout is settled, so the published
//! files are the schemas.
//!
//! Where a summary or a trend holds numbers that are not finite, the seed writes words that are no JSON, so no schema
//! describes such a file.

use serde_json::Value;

use sprag_model::schema::frozen;

pub fn cpu() -> Value {
    frozen(include_str!("../../../../schemas/apex-x-cpu-report-1.json"))
}

pub fn gpu() -> Value {
    frozen(include_str!("../../../../schemas/apex-x-gpu-report-1.json"))
}

pub fn trt() -> Value {
    frozen(include_str!("../../../../schemas/apex-x-trt-report-1.json"))
}

pub fn summary() -> Value {
    frozen(include_str!("../../../../schemas/apex-x-summary-1.json"))
}

pub fn trend() -> Value {
    frozen(include_str!("../../../../schemas/apex-x-trend-1.json"))
}

pub fn baseline() -> Value {
    frozen(include_str!("../../../../schemas/apex-x-baseline-1.json"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
                "snapshots/sprag_formats__compat__apex_x__gpu_report__tests__a_measured_report_has_every_figure.snap"
            ),
            include_str!(
                "snapshots/sprag_formats__compat__apex_x__gpu_report__tests__a_skipped_report_has_every_key.snap"
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
