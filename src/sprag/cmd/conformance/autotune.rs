//! Cases of `autotune_registry`: what a registry answers to some operations, and what it then holds. All exact.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::case::{Fields, Form, judge, list, unknown};
use sprag_base::json;
use sprag_model::autotune::{Launched, Registry, Source, shape_bucket};

enum Operation {
    Bucket(BTreeMap<String, Value>),
    Lookup { op_name: String, shape_bucket: String },
    Record(Launched),
}

pub(super) fn run(case: &Value) -> Result<()> {
    let read = |case: &Fields<'_>| {
        let operations = list("ops", case.get("ops")?)?.iter().map(operation).collect::<Result<Vec<_>>>()?;
        Ok(operations)
    };
    let compute = |_, operations: &Vec<Operation>| Ok(follow(operations));
    judge(case, &["ops"], Form::ONE, read, compute, |name, expected, (results, snapshot): &(Value, Value)| {
        let got = match name {
            "results" => results,
            "snapshot" => snapshot,
            _ => return unknown(name),
        };
        let [expected, got] = [expected, got].map(json::to_canonical);
        ensure!(expected == got, "`{name}`: expected {expected}, got {got} (exact)");
        Ok(())
    })
}

/// The answers to the operations and what the registry holds in the end.
fn follow(operations: &[Operation]) -> (Value, Value) {
    let mut registry = Registry::default();
    let mut answer = |operation: &Operation| match operation {
        Operation::Bucket(fields) => Value::from(shape_bucket(fields)),
        Operation::Lookup { op_name, shape_bucket } => {
            let found = registry.lookup(op_name, shape_bucket).cloned();
            found.map_or(Value::Null, |config| Value::Object(config.into_iter().collect()))
        }
        Operation::Record(launched) => {
            registry.record(launched.clone());
            Value::Null
        }
    };
    let results = operations.iter().map(&mut answer).collect();
    let snapshot = serde_json::to_value(registry.snapshot()).expect("texts and numbers are JSON");
    (results, snapshot)
}

fn operation(value: &Value) -> Result<Operation> {
    let word = Fields::any(value, "an operation")?.text("op")?;
    let fields = |names: &[&str]| Fields::of(value, "an operation", &[&["op"], names].concat());
    match word {
        "bucket" => Ok(Operation::Bucket(map(&fields(&["fields"])?, "fields")?)),
        "lookup" => {
            let fields = fields(&["op_name", "shape_bucket"])?;
            let (op_name, shape_bucket) = (fields.text("op_name")?.into(), fields.text("shape_bucket")?.into());
            Ok(Operation::Lookup { op_name, shape_bucket })
        }
        "record" => {
            let names = ["op_name", "kernel_name", "shape_bucket", "selected_config", "selection_source"];
            let fields = fields(&names)?;
            let source = fields.text("selection_source")?;
            Ok(Operation::Record(Launched {
                op_name: fields.text("op_name")?.into(),
                kernel_name: fields.text("kernel_name")?.into(),
                shape_bucket: fields.text("shape_bucket")?.into(),
                selected_config: map(&fields, "selected_config")?,
                selection_source: Source::parse(source).with_context(|| format!("source `{source}` is unknown"))?,
            }))
        }
        other => bail!("operation `{other}` is unknown to this build"),
    }
}

fn map(fields: &Fields<'_>, name: &str) -> Result<BTreeMap<String, Value>> {
    let object = fields.get(name)?.as_object().with_context(|| format!("`{name}` is not an object"))?;
    Ok(object.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
}
