//! Schemas of Apex-X's files as we write them: what its own tools may rely on. Their layout is settled, so the published
//! files are the schemas.
//!
//! Where a summary or a trend holds numbers that are not finite, Apex-X writes words that are not JSON, so no schema
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
    use super::*;

    #[test]
    fn what_the_seed_writes_of_comparisons_follows_their_schemas() {
        let golden = include_str!("../../../../fixtures/golden/apex-x/perf_compare.json");
        let golden: Value = serde_json::from_str(golden).expect("the golden cases are JSON");
        for (field, schema) in [("summary_json_text", summary()), ("trend_json_text", trend())] {
            let texts = golden["cases"].as_array().into_iter().flatten();
            let texts = texts.filter_map(|case| case["expected"][field].as_str());
            let values: Vec<Value> = texts.filter_map(|text| serde_json::from_str(text).ok()).collect();
            assert!(values.len() > 10, "{field}: what is not finite is no strict JSON, but few are that");
            for value in values {
                jsonschema::validate(&schema, &value).unwrap_or_else(|error| panic!("{error}: {value}"));
            }
        }
    }
}
