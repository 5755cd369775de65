//! Flat rows as JSON Lines: one object a run, benchmark and metric, each on a line of its own, UTF-8.
//!
//! Text is as it is recorded: what is unsafe in a spreadsheet is not here. A row without a value in a column has null.

use chrono::SecondsFormat;
use serde_json::{Map, Value, json};

use sprag_model::flat::{Cell, ColumnKind, Row, SCHEMA_VERSION, VALUES};

/// The name of the field with the version.
const VERSION: &str = "schema_version";

pub fn lines(rows: &[Row<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in rows {
        let cells = VALUES.columns().map(|column| (column.name.to_owned(), value(&(column.cell)(row))));
        let object: Map<String, Value> =
            std::iter::once((VERSION.to_owned(), SCHEMA_VERSION.into())).chain(cells).collect();
        serde_json::to_writer(&mut bytes, &object).expect("memory takes every line");
        bytes.push(b'\n');
    }
    bytes
}

fn value(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::Absent => Value::Null,
        Cell::Text(text) => Value::from(text.as_ref()),
        Cell::Integer(integer) => Value::from(*integer),
        Cell::Number(number) => Value::from(*number),
        Cell::Time(time) => Value::from(time.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
        Cell::Flag(flag) => Value::from(*flag),
        Cell::Numbers(numbers) => numbers.iter().copied().collect(),
    }
}

pub fn schema() -> Value {
    let mut properties = Map::new();
    properties.insert(VERSION.to_owned(), json!({ "const": SCHEMA_VERSION }));
    for column in VALUES.columns() {
        let mut schema = match column.kind {
            ColumnKind::Text => json!({ "type": "string" }),
            ColumnKind::Small => json!({ "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX }),
            ColumnKind::Integer => json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX }),
            ColumnKind::Number => json!({ "type": "number" }),
            ColumnKind::Time => json!({ "type": "string", "format": "date-time", "pattern": "Z$" }),
            ColumnKind::Flag => json!({ "type": "boolean" }),
            ColumnKind::Numbers => json!({ "type": "array", "items": { "type": "number" } }),
        };
        let words: Option<&[&str]> = match column.name {
            "unit" => Some(&["s", "B", "1/s", "1"]),
            "better" => Some(&["lower", "higher"]),
            "status" => Some(&["ok", "skipped", "failed"]),
            "role" => Some(&["tracked", "reported", "control"]),
            "backend" => Some(&["cpu", "cuda", "tensorrt"]),
            _ => None,
        };
        let fields = schema.as_object_mut().expect("each schema above is an object");
        if let Some(words) = words {
            let absent = (!column.is_given).then_some(Value::Null);
            fields.insert("enum".to_owned(), words.iter().map(|word| Value::from(*word)).chain(absent).collect());
        }
        if !column.is_given {
            let kind = fields["type"].clone();
            fields.insert("type".to_owned(), json!([kind, "null"]));
        }
        fields.insert("description".to_owned(), Value::from(column.meaning));
        properties.insert(column.name.to_owned(), schema);
    }
    json!({
        "description": "One run, benchmark and metric; one line for a benchmark or a run that has none.",
        "type": "object",
        "required": properties.keys().cloned().collect::<Vec<String>>(),
        "properties": properties,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::flat::example::{recorded, skipped};
    use sprag_model::flat::value_rows;

    #[test]
    fn a_line_is_an_object_and_numbers_are_exact() {
        let mut recorded = recorded();
        recorded.run.measurements[0].estimates[0].value = 0.1 + 0.2;
        let text = String::from_utf8(lines(&value_rows(&recorded))).expect("it is UTF-8");
        let objects: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
        assert_eq!(objects.len(), 6);
        assert!(text.starts_with("{\"schema_version\":1,\"run_id\":\""));
        assert_eq!(objects[0]["value"].as_f64(), Some(0.1 + 0.2));
        assert_eq!(objects[0]["samples"], json!([0.2, 0.25, 0.3]));
        assert_eq!(objects[5]["value"], Value::Null);
        assert_eq!(objects[5]["reason"], "needs two cores");
        let text = String::from_utf8(lines(&value_rows(&skipped()))).expect("it is UTF-8");
        assert_eq!(text.lines().count(), 1);
        assert!(text.contains("\"status\":\"skipped\"") && text.contains("\"commit\":null"));
    }
}
