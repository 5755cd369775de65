//! The schema of Sprag's own report of metrics: for programs that write one, so stricter than its reader.

use serde_json::Value;

use sprag_model::schema::frozen;

pub fn schema() -> Value {
    frozen(include_str!("../../schemas/metrics-1.json"))
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
