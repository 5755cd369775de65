//! A trend as JSON: every fact of it, with a schema; what is not finite is null. ASCII, so that no character is invisible.

use serde_json::{Map, Value, json as value};

use sprag_base::json;
use sprag_model::Trend;
use sprag_model::schema as of_types;

const SCHEMA_VERSION: u32 = 1;

pub fn json(trend: &Trend) -> Vec<u8> {
    let mut document = Map::new();
    document.insert("schema_version".to_owned(), Value::from(SCHEMA_VERSION));
    document.insert("sprag".to_owned(), Value::from(env!("CARGO_PKG_VERSION")));
    if let Value::Object(fields) = serde_json::to_value(trend).expect("keys are text and numbers have a form") {
        document.extend(fields);
    }
    (json::to_indented(&Value::Object(document)) + "\n").into_bytes()
}

pub fn schema() -> Value {
    let mut schema = of_types::for_closed_type::<Trend>();
    let mut properties = Map::new();
    properties.insert(
        "schema_version".to_owned(),
        value!({ "description": "The version of the document.", "type": "integer", "const": SCHEMA_VERSION }),
    );
    properties
        .insert("sprag".to_owned(), value!({ "description": "The version of Sprag that wrote it.", "type": "string" }));
    let of_model = schema["properties"].as_object().cloned().expect("a structure has fields");
    properties.extend(of_model);
    let names: Vec<Value> = properties.keys().map(|name| Value::from(name.as_str())).collect();
    schema["properties"] = Value::Object(properties);
    schema["required"] = Value::from(names);
    // A level with too few points has bounds that are null.
    for bound in ["lower", "upper"] {
        schema["$defs"]["Level"]["properties"][bound]["type"] = value!(["number", "null"]);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trend::example;

    #[track_caller]
    fn valid(trend: &Trend) -> Value {
        let text = String::from_utf8(json(trend)).expect("it is text");
        assert!(text.is_ascii() && text.ends_with("}\n") && text.starts_with("{\n  \"schema_version\": 1,"), "{text}");
        let document: Value = serde_json::from_str(&text).expect("it is JSON");
        let schema = schema();
        let validator = jsonschema::validator_for(&schema).expect("the schema is one");
        let faults: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        document
    }

    #[test]
    fn every_trend_follows_its_schema() {
        let document = valid(&example::trend());
        assert_eq!(document["events"].as_array().map(Vec::len), Some(example::trend().events.len()));
        assert_eq!(document["events"][0]["suspects"][0]["measured"], Value::Bool(true));
        assert!(document["series"][0].get("pooled").is_none());
        valid(&example::empty());
        valid(&example::hostile());
    }

    #[test]
    fn what_is_not_finite_is_null_and_other_fields_are_faults() {
        let mut trend = example::trend();
        trend.events[0].members[0].before.lower = f64::NEG_INFINITY;
        trend.events[0].members[0].before.upper = f64::NAN;
        let document = valid(&trend);
        let before = &document["events"][0]["members"][0]["before"];
        assert_eq!((&before["lower"], &before["upper"]), (&Value::Null, &Value::Null));
        let validator = jsonschema::validator_for(&schema()).expect("the schema is one");
        let (mut other, mut kind) = (document.clone(), document);
        other["other"] = Value::from(1);
        kind["events"][0]["kind"] = Value::from("miracle");
        assert!(!validator.is_valid(&other) && !validator.is_valid(&kind));
    }
}
