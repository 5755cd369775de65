//! Cases of `autotune_registry`: what a registry answers to some operations, and what it then holds. All exact.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::case::judge;
use crate::expected::exactly;
use crate::failure::Outcome;
use sprag_formats::compat::apex_x::autotune::{Launched, Registry, Source, shape_bucket};

type Config = BTreeMap<String, Value>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    ops: Vec<Operation>,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
enum Operation {
    Bucket {
        fields: Config,
    },
    Lookup {
        op_name: String,
        shape_bucket: String,
    },
    /// The configuration of a launch and its source; without a key the registry is not asked.
    Resolve {
        op_name: Option<String>,
        shape_bucket: Option<String>,
        best_config: Option<Config>,
        fallback_config: Config,
    },
    Record {
        op_name: String,
        kernel_name: String,
        shape_bucket: String,
        selected_config: Config,
        selection_source: Source,
    },
}

pub(crate) fn run(case: Value) -> Outcome {
    judge(case, |case: &Case| {
        let (results, snapshot) = follow(&case.ops);
        Ok(vec![("results", exactly(results)), ("snapshot", exactly(snapshot))])
    })
}

/// The answers to the operations and what the registry holds in the end.
fn follow(operations: &[Operation]) -> (Vec<Value>, Value) {
    let mut registry = Registry::default();
    let mut answer = |operation: &Operation| match operation {
        Operation::Bucket { fields } => json!(shape_bucket(fields)),
        Operation::Lookup { op_name, shape_bucket } => json!(registry.lookup(op_name, shape_bucket)),
        Operation::Resolve { op_name, shape_bucket, best_config, fallback_config } => {
            let key = op_name.as_deref().zip(shape_bucket.as_deref());
            let (config, source) = registry.resolve(key, best_config.as_ref(), fallback_config);
            json!([config, source])
        }
        Operation::Record { op_name, kernel_name, shape_bucket, selected_config, selection_source } => {
            registry.record(Launched {
                op_name: op_name.clone(),
                kernel_name: kernel_name.clone(),
                shape_bucket: shape_bucket.clone(),
                selected_config: selected_config.clone(),
                selection_source: *selection_source,
            });
            Value::Null
        }
    };
    let results = operations.iter().map(&mut answer).collect();
    (results, json!(registry.snapshot()))
}
