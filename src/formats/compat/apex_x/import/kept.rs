//! The benchmarks of what the seed keeps: a baseline with its tolerances, and a trend file with its verdicts.

use serde_json::{Map, Value, json};

use super::figures::{Entries, milliseconds, number, place};
use crate::quantity;
use sprag_model::imported::{Entry, EntryStatus};

/// The name of the line of a trend file that is about the status of the report.
const STATUS: &str = "__status__";

/// The benchmarks of a baseline. What may be worse stands under `tolerances`, by metric: a share, and seconds.
pub(super) fn baseline(metrics: &Map<String, Value>) -> Vec<Entry> {
    let mut entries = Entries::default();
    for (name, spec) in metrics {
        let (series, metric) = place(name);
        let metric_name = metric.name.clone();
        let found = match spec.get("value_ms") {
            Some(value) => milliseconds(metric, "value_ms", value, 0),
            None => Err(format!("the baseline names no `value_ms` of `{}`", name.escape_debug())),
        };
        let tolerances = [("max_regression_ratio", "ratio", 1.0), ("max_regression_abs_ms", "absolute", 1e-3)];
        let entry = entries.add(&series, found);
        note(entry, "tolerances", &metric_name, spec, &tolerances);
    }
    entries.into_vec()
}

/// The benchmarks of a trend file. What the seed made of them stands under `verdicts`, by metric, in seconds. A figure
/// that the report lacked was skipped.
///
/// # Errors
/// Where an item names no metric; to be read after the file's name.
pub(super) fn trend(items: &[Value], notes: &mut Vec<String>, file: &str) -> Result<Vec<Entry>, String> {
    let mut entries = Entries::default();
    for (number, item) in items.iter().enumerate() {
        let Some(name) = item.get("metric").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            return Err(format!("names no `metric` in item {}", number + 1));
        };
        if name == STATUS {
            notes.push(format!("{file}: the report did not have the status that its baseline requires"));
            continue;
        }
        let (series, metric) = place(name);
        let metric_name = metric.name.clone();
        let entry = match item.get("current_ms").filter(|current| !current.is_null()) {
            Some(current) => entries.add(&series, milliseconds(metric, "current_ms", current, 0)),
            None => entries.of(&series),
        };
        let fields = [
            ("status", "status", 1.0),
            ("baseline_ms", "baseline", 1e-3),
            ("allowed_max_ms", "allowed_max", 1e-3),
            ("regression_ratio", "regression_ratio", 1.0),
        ];
        note(entry, "verdicts", &metric_name, item, &fields);
    }
    let mut entries = entries.into_vec();
    for entry in entries.iter_mut().filter(|entry| entry.status == EntryStatus::Ok && entry.observations.is_empty()) {
        entry.status = EntryStatus::Skipped("the report does not hold it".to_owned());
    }
    Ok(entries)
}

/// Keeps fields of a holder beside a benchmark, by metric; numbers in base units.
fn note(entry: &mut Entry, key: &str, metric: &str, holder: &Value, fields: &[(&str, &str, f64)]) {
    let mut kept = Map::new();
    for (field, name, factor) in fields {
        let value = match holder.get(field) {
            Some(Value::String(word)) if word.parse::<f64>().is_err() => json!(word),
            Some(value) => match number(value).filter(|number| number.is_finite()) {
                Some(number) => json!(quantity::to_base(number, *factor)),
                None => continue,
            },
            None => continue,
        };
        kept.insert((*name).to_owned(), value);
    }
    if !kept.is_empty() {
        let all = entry.extras.entry(key.to_owned()).or_insert_with(|| Value::Object(Map::new()));
        all[metric] = Value::Object(kept);
    }
}
