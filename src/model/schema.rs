//! JSON Schema, draft 2020-12, derived from the types that Sprag writes.
//!
//! A schema demands what the readers demand: every written field is required, no other is allowed, and a text has its
//! pattern. Only the readers check what one field demands of another, such as a digest of other fields.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

pub mod patterns {
    pub const COMMIT: &str = "^[0-9a-f]{40}$";
    pub const EVENT: &str = "^e-[0-9a-f]{6,16}$";
    pub const SERIES: &str = "^[a-z0-9][a-z0-9-]{0,59}-[0-9a-f]{8}$";
    pub const DIGITS: &str = "^[0-9a-f]{16}$";
    pub const TIME: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z$";
    /// A moment in UTC, to the second, in the years 1970 to 9999.
    pub const SECOND: &str = "^(19[7-9][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$";
    pub const SUITE: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$";
    pub const WORD: &str = r"^(?=.*\S)[^{}@\u0000-\u001f\u007f-\u009f]+$";
    pub const VARIANT: &str = r"^(?=.*\S)[^{}@/\u0000-\u001f\u007f-\u009f]+$";
    pub const PARAMETER: &str = r"^(?=.*\S)[^{}=,\u0000-\u001f\u007f-\u009f]+$";
    pub const METRIC: &str = r"^[^\s\u0000-\u001f\u007f-\u009f]+$";
    pub const REASON: &str = r"\S";
}

/// The schema of what is written.
pub fn for_type<T: JsonSchema>() -> Value {
    generated::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// The schema of what users write and Sprag reads: fields with a default are optional.
pub fn for_input<T: JsonSchema>() -> Value {
    generated::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

fn generated<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|key, _| !["$schema", "title"].contains(&key.as_str()));
    }
    tidy(&mut schema);
    schema
}

/// As [`for_type`], of a type without `deny_unknown_fields`, whose objects still allow no other fields.
pub fn for_closed_type<T: JsonSchema>() -> Value {
    let mut schema = for_type::<T>();
    close(&mut schema);
    schema
}

/// A published schema in `schemas/` of files whose layout never changes again.
pub fn frozen(text: &str) -> Value {
    serde_json::from_str(text).expect("a test holds that every committed schema is one")
}

/// A schema with its name and title, as it is published.
pub fn published(name: &str, title: &str, schema: Value) -> Value {
    let mut fields = Map::new();
    fields.insert("$schema".to_owned(), Value::from("https://json-schema.org/draft/2020-12/schema"));
    fields.insert("$id".to_owned(), Value::from(format!("urn:sprag:schema:{name}")));
    fields.insert("title".to_owned(), Value::from(title));
    let Value::Object(rest) = schema else { return Value::Object(fields) };
    fields.extend(rest);
    Value::Object(fields)
}

/// Removes what concerns this program alone: links between its items, and the names of its number types.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace("[`", "`").replace("`]", "`");
            }
            let is_ours = |format: &str| ["uint", "int", "float", "double"].iter().any(|name| format.starts_with(name));
            if let Some(format) = fields.get("format").and_then(Value::as_str).filter(|format| is_ours(format)) {
                let is_small = format == "uint32";
                fields.remove("format");
                if is_small {
                    fields.insert("maximum".to_owned(), Value::from(u32::MAX));
                }
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(close);
            if fields.get("properties").is_some_and(Value::is_object) && !fields.contains_key("additionalProperties") {
                fields.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::json;

    use super::*;

    /// A document; see [`Written::size`].
    #[derive(JsonSchema, Serialize)]
    struct Written {
        size: u32,
        note: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        more: Option<Vec<f64>>,
    }

    #[test]
    fn a_schema_follows_from_the_type() {
        let schema = published("written-1", "Written", for_closed_type::<Written>());
        let expected = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "urn:sprag:schema:written-1",
            "title": "Written",
            "description": "A document; see `Written::size`.",
            "type": "object",
            "properties": {
                "size": { "type": "integer", "minimum": 0, "maximum": u32::MAX },
                "note": { "type": ["string", "null"] },
                "more": { "type": ["array", "null"], "items": { "type": "number" } },
            },
            "required": ["size", "note"],
            "additionalProperties": false,
        });
        assert_eq!(schema, expected);
    }
}
