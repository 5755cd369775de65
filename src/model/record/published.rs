//! The published schemas of the record, one a version.

use serde_json::{Value, json};

use super::SCHEMA_VERSION;
use super::fields::RunRecord;
use crate::metric::RATIO;
use crate::schema::{self, patterns};
use crate::shard::SHARD;

/// The schema of records of that version, where there is one.
pub fn schema(version: u64) -> Option<Value> {
    if !(1..=SCHEMA_VERSION).contains(&version) {
        return None;
    }
    let mut schema = schema::of::<RunRecord>();
    schema["properties"]["schema_version"] = json!({ "description": "The version of the record.", "const": version });
    let benchmark = &mut schema["$defs"]["BenchmarkRecord"]["properties"];
    if version == 1 {
        // What the second version added, and what an older reader would take for the whole.
        remove(benchmark, "role");
        let metric = &mut schema["$defs"]["MetricRecord"]["properties"];
        remove(metric, "min");
        remove(metric, "detectable");
        schema["properties"]["config"]["properties"] = json!({ SHARD: false });
    } else {
        // The role of an ordinary benchmark is left out.
        benchmark["role"]["enum"] = json!(["reported", "control"]);
    }
    if version == 1 {
        remove(&mut schema["$defs"], "Role");
    }
    Some(schema)
}

fn remove(object: &mut Value, field: &str) {
    object.as_object_mut().and_then(|fields| fields.remove(field)).expect("the schema of the type has the field");
}

/// A time, a rate and a ratio are above zero.
pub(super) fn positive() -> Value {
    let is = json!({ "anyOf": [
        { "properties": { "unit": { "enum": ["s", "1/s"] } } },
        { "properties": { "name": { "const": RATIO } } },
    ] });
    let above = json!({ "exclusiveMinimum": 0 });
    let all = json!({ "items": above });
    json!({ "if": is, "then": { "properties": {
        "value": above, "p50": above, "p95": above, "min": above, "workers": all, "interval": all,
    } } })
}

/// What did not run says why.
pub(super) fn reasoned() -> Value {
    json!({
        "if": { "properties": { "status": { "enum": ["skipped", "failed"] } } },
        "then": { "properties": { "reason": { "type": "string", "pattern": patterns::REASON } } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flat::example::{recorded, skipped};
    use crate::run::Run;
    use crate::sample::Role;

    fn value(run: &Run) -> Value {
        serde_json::from_slice(&run.to_record().2).expect("a record is JSON")
    }

    #[test]
    fn a_schema_takes_what_readers_take_and_refuses_what_they_refuse() {
        let newer = recorded().run;
        let mut older = newer.clone();
        let time = &mut older.measurements[0].estimates[0];
        (time.min, time.detectable) = (None, None);
        let [first, second] = [1, 2].map(|version| schema(version).expect("the version is known"));
        let takes = |schema: &Value, value: &Value| jsonschema::is_valid(schema, value);
        assert!(takes(&first, &value(&older)) && !takes(&second, &value(&older)));
        assert!(takes(&second, &value(&newer)) && !takes(&first, &value(&newer)));
        assert!(takes(&first, &value(&skipped().run)));
        let mut control = newer.clone();
        control.measurements[0].role = Role::Control;
        assert!(takes(&second, &value(&control)));
        assert_eq!((schema(0), schema(3)), (None, None));

        let check = |pointer: &str, wrong: Option<Value>| {
            let mut damaged = value(&newer);
            let (parent, field) = pointer.rsplit_once('/').expect("a pointer has a slash");
            let parent = damaged.pointer_mut(parent).expect("the parent is there");
            match wrong {
                Some(wrong) => parent[field] = wrong,
                None => assert!(parent.as_object_mut().expect("an object").remove(field).is_some(), "{pointer}"),
            }
            assert!(!takes(&second, &damaged), "the schema takes {pointer}: {damaged}");
            let bytes = serde_json::to_vec(&damaged).expect("a value is JSON");
            let read = Run::from_json(&bytes).is_ok_and(|(_, run)| value(&run) == damaged);
            assert!(!read, "the reader takes {pointer}");
        };
        // A field that is missing.
        for field in ["schema_version", "suite", "commit", "machine", "reason", "quality", "autotune"] {
            check(&format!("/{field}"), None);
        }
        for field in
            ["commit/dirty", "machine/class", "environment/key", "benchmarks/0/failure", "benchmarks/0/metrics"]
        {
            check(&format!("/{field}"), None);
        }
        check("/benchmarks/0/metrics/0/n", None);
        // One that nobody knows.
        for parent in ["", "/commit", "/machine", "/environment", "/quality", "/benchmarks/0", "/benchmarks/0/parity"] {
            check(&format!("{parent}/other"), Some(json!(1)));
        }
        check("/benchmarks/0/metrics/0/other", Some(json!(1)));
        // A value of the wrong type, unit, form or size.
        check("/schema_version", Some(json!("2")));
        check("/schema_version", Some(json!(3)));
        check("/suite", Some(json!("../cpu")));
        check("/suite", Some(json!("_cpu")));
        check("/timestamp_utc", Some(json!("2026-05-04 03:02:01")));
        check("/timestamp_utc", Some(json!("2026-05-04T03:02:01.5Z")));
        check("/timestamp_utc", Some(json!("1969-05-04T03:02:01Z")));
        check("/commit/sha", Some(json!("0123")));
        check("/commit/commit_time", Some(json!("yesterday")));
        check("/machine/id", Some(json!("0123456789ABCDEF")));
        check("/status", Some(json!("fine")));
        check("/status", Some(json!("skipped")));
        check("/quality/clean", Some(json!("yes")));
        check("/benchmarks/0/name", Some(json!("a{b")));
        check("/benchmarks/0/name", Some(json!("x".repeat(201))));
        check("/benchmarks/0/variant", Some(json!(" ")));
        check("/benchmarks/0/version", Some(json!(-1)));
        check("/benchmarks/0/version", Some(json!(5_000_000_000_u64)));
        check("/benchmarks/0/params/c", Some(json!(64)));
        check("/benchmarks/0/params/c", Some(json!("a,b")));
        check("/benchmarks/0/role", Some(json!("tracked")));
        check("/benchmarks/0/parity/status", Some(json!("right")));
        check("/benchmarks/0/metrics/0/name", Some(json!("a time")));
        check("/benchmarks/0/metrics/0/unit", Some(json!("ms")));
        check("/benchmarks/0/metrics/0/better", Some(json!("smaller")));
        check("/benchmarks/0/metrics/0/value", Some(json!("0.25")));
        check("/benchmarks/0/metrics/0/value", Some(json!(0.0)));
        check("/benchmarks/0/metrics/0/workers", Some(json!([0.25, -1.0])));
        check("/benchmarks/0/metrics/0/interval", Some(json!([0.25])));
        check("/benchmarks/0/metrics/0/min", Some(json!(null)));
        check("/benchmarks/0/metrics/0/detectable", Some(json!(-0.5)));
        check("/benchmarks/0/metrics/0/n", Some(json!(1.5)));
        check("/benchmarks/0/metrics/1/value", Some(json!(-1.5)));
    }
}
