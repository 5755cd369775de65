//! The schema of Sprag's own report of metrics: for programs that write one, so stricter than its reader.

use serde_json::{Value, json};

use super::MOST_BENCHMARKS;
use super::custom::{MOST_METRICS, SCHEMA_VERSION};
use sprag_model::metric::LARGEST;
use sprag_model::metric::{Better, Metric};
use sprag_model::schema::{object, object_with, patterns, text, word, words};

pub fn schema() -> Value {
    let metric = json!({
        "type": "object",
        "required": ["name", "unit", "better"],
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": 100, "pattern": patterns::METRIC },
            "unit": words(&["s", "B", "1/s", "1"]),
            "better": words(&["lower", "higher"]),
            "value": number(),
            "samples": { "type": "array", "items": number(), "minItems": 1 },
        },
        "additionalProperties": false,
        "oneOf": [{ "required": ["value"] }, { "required": ["samples"] }],
        "allOf": Metric::reserved().iter().map(reserved).chain([above_zero()]).collect::<Vec<Value>>(),
    });
    let parameter = json!({ "anyOf": [
        word(patterns::PARAMETER),
        { "type": ["number", "boolean"] },
    ] });
    let params = json!({
        "type": "object",
        "propertyNames": word(patterns::PARAMETER),
        "additionalProperties": parameter,
    });
    let metrics = json!({ "type": "array", "items": metric, "minItems": 1, "maxItems": MOST_METRICS });
    let mut benchmark = object_with(
        &[("name", word(patterns::WORD))],
        &[
            ("params", params),
            ("variant", word(patterns::VARIANT)),
            ("version", json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX })),
            ("metrics", metrics),
            ("failure", text()),
        ],
    );
    benchmark["anyOf"] = json!([{ "required": ["metrics"] }, { "required": ["failure"] }]);
    let benchmarks = json!({ "type": "array", "items": benchmark, "minItems": 1, "maxItems": MOST_BENCHMARKS });
    object(&[("schema_version", json!({ "const": SCHEMA_VERSION })), ("benchmarks", benchmarks)])
}

fn number() -> Value {
    json!({ "type": "number", "minimum": -LARGEST, "maximum": LARGEST })
}

/// A name that bears a meaning has its unit and its direction.
fn reserved(metric: &Metric) -> Value {
    let better = if metric.better == Better::Lower { "lower" } else { "higher" };
    json!({
        "if": { "properties": { "name": { "const": metric.name } } },
        "then": { "properties": { "unit": { "const": metric.unit.symbol() }, "better": { "const": better } } },
    })
}

/// Times, rates and ratios are above zero.
fn above_zero() -> Value {
    let above = json!({ "minimum": 1.0 / LARGEST });
    json!({
        "if": { "anyOf": [
            { "properties": { "unit": { "enum": ["s", "1/s"] } } },
            { "properties": { "name": { "const": sprag_model::metric::RATIO } } },
        ] },
        "then": { "properties": { "value": above, "samples": { "items": above } } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::custom;
    use sprag_model::foreign::Output;

    #[test]
    fn a_report_that_follows_the_schema_is_read_and_one_that_does_not_fails() {
        let check = |benchmark: &str, expected: bool| {
            let text = format!("{{\"schema_version\": 1, \"benchmarks\": [{benchmark}]}}");
            let value: Value = serde_json::from_str(&text).expect("the case is JSON");
            assert_eq!(jsonschema::is_valid(&schema(), &value), expected, "{text}");
            let output = Output { name: "report".to_owned(), bytes: text.into_bytes() };
            let read = custom::read("kernels", &[output]).expect("the report can be read");
            let is_told = value["benchmarks"][0].get("failure").is_some();
            assert_eq!(read[0].result.is_ok() || is_told, expected, "{:?}", read[0]);
        };
        let metric = |metric: &str| format!("{{\"name\": \"b\", \"metrics\": [{metric}]}}");
        check(r#"{"name": "merge", "failure": "needs two cores"}"#, true);
        check(
            r#"{"name": "sort", "params": {"n": 1000, "of": "u64", "stable": true}, "variant": "fast", "version": 2,
                "metrics": [{"name": "time", "unit": "s", "better": "lower", "samples": [1.25e-5]},
                            {"name": "swaps", "unit": "1", "better": "lower", "value": 0}]}"#,
            true,
        );
        check(&metric(r#"{"name": "x", "unit": "1", "better": "higher", "value": -1}"#), true);
        check(&metric(r#"{"name": "x", "unit": "ms", "better": "lower", "value": 1}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "less", "value": 1}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "lower", "value": 0}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "lower", "value": "1"}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "lower"}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "lower", "value": 1, "samples": [1]}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "lower", "samples": []}"#), false);
        check(&metric(r#"{"name": "x", "unit": "s", "better": "lower", "value": 1, "more": 1}"#), false);
        check(&metric(r#"{"name": "a b", "unit": "s", "better": "lower", "value": 1}"#), false);
        check(&metric(r#"{"name": "time", "unit": "1", "better": "lower", "value": 1}"#), false);
        check(&metric(r#"{"name": "ratio", "unit": "1", "better": "lower", "value": 0}"#), false);
        check(&metric(r#"{"name": "x", "unit": "1", "better": "lower", "value": 1e31}"#), false);
        check(r#"{"name": "b"}"#, false);
        check(r#"{"name": "b", "metrics": []}"#, false);
        check(r#"{"name": "b{", "metrics": [{"name": "x", "unit": "1", "better": "lower", "value": 1}]}"#, false);
        check(
            r#"{"name": "b", "params": {"n": null}, "metrics": [{"name": "x", "unit": "1", "better": "lower", "value": 1}]}"#,
            false,
        );
    }
}
