//! The benchmarks of a report: of its `metrics` (CPU), of the blocks below `benchmarks` (GPU), or of its `cases` (TRT).
//!
//! A block holds `p50_ms`, `p95_ms`, `peak_memory_mb` and one rate. Shapes and data types that the report says it ran
//! with are parameters of its benchmarks.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::figures::{Entries, milliseconds, number, place, seconds};
use crate::unique;
use crate::{LONGEST_PREFIX, field, outputs, quantity};
use sprag_model::imported::{Entry, EntryStatus};
use sprag_model::metric::{Metric, TIME};

/// How many names deep a block of a GPU report lies at most.
const DEEPEST: usize = 8;

/// Bytes of what the seed calls a megabyte.
const MEBIBYTE: f64 = 1_048_576.0;

/// The fields of the configuration that are parameters of the GPU suite.
const GPU_PARAMETERS: [&str; 7] = ["batch", "channels", "height", "width", "tile_size", "kmax", "steps"];

/// The benchmarks of a CPU report.
pub(super) fn cpu(metrics: &Map<String, Value>, config: &Value) -> Vec<Entry> {
    let mut entries = Entries::default();
    let of_model = parameters(config, &["input_shape"]);
    let of_kernels = parameters(config, &["tile_shape", "tile_size"]);
    for (name, value) in metrics.iter().filter(|(_, value)| !value.is_null()) {
        let (series, metric) = place(name);
        let is_infer = series == "infer";
        let n = config.get(if is_infer { "infer_iters" } else { "micro_iters" }).and_then(Value::as_u64);
        let entry = entries.add(&series, milliseconds(metric, name, value, n.unwrap_or(0)));
        entry.params.extend(if is_infer { &of_model } else { &of_kernels }.clone());
    }
    entries.into_vec()
}

/// The benchmarks of a GPU report.
///
/// # Errors
/// Where the names on the way to one are very long; to be read after the file's name.
pub(super) fn gpu(benchmarks: &Map<String, Value>, config: &Value, dtype: Option<&str>) -> Result<Vec<Entry>, String> {
    let mut entries = Entries::default();
    let n = config.get("iters").and_then(Value::as_u64).unwrap_or(0);
    walk(&mut entries, &mut Vec::new(), benchmarks, n)?;
    let mut entries = entries.into_vec();
    let mut params = parameters(config, &GPU_PARAMETERS);
    params.extend(dtype.map(|dtype| ("dtype".to_owned(), field::told(dtype))));
    for entry in &mut entries {
        entry.params.extend(params.clone());
        if let Some((name, variant)) = entry.series.rsplit_once('.') {
            (entry.name, entry.variant) = (name.to_owned(), Some(variant.to_owned()));
        }
    }
    Ok(entries)
}

/// Takes every block below an object.
fn walk<'a>(
    entries: &mut Entries,
    path: &mut Vec<&'a str>,
    holder: &'a Map<String, Value>,
    n: u64,
) -> Result<(), String> {
    for (key, value) in holder {
        let Some(fields) = value.as_object().filter(|_| path.len() < DEEPEST) else { continue };
        path.push(key);
        let series = path.join(".");
        if series.len() > LONGEST_PREFIX {
            return Err(format!("has a block whose names take more than {LONGEST_PREFIX} bytes below `benchmarks`"));
        }
        let status = fields.get("status").and_then(Value::as_str);
        if let Some(status) = status.filter(|status| *status != "ok") {
            entries.of(&series).status = not_run(status, fields);
        } else if fields.contains_key("p50_ms") {
            block(entries, &series, fields, n);
            // Only what goes by way of the dispatcher is of its backend.
            for told in ["backend", "fallback_reason"].iter().filter(|_| key.contains("dispatch")) {
                let value = holder.get(*told).filter(|value| value.is_string());
                entries.of(&series).extras.extend(value.map(|value| ((*told).to_owned(), value.clone())));
            }
        } else if let (Some(_), Some(metrics)) = (status, fields.get("metrics").and_then(Value::as_object)) {
            block(entries, &series, metrics, n);
        } else {
            walk(entries, path, fields, n)?;
        }
        if entries.count() > outputs::MOST_READ {
            return Err(format!("has more than {} blocks below `benchmarks`", outputs::MOST_READ));
        }
        path.pop();
    }
    Ok(())
}

/// Takes a block of metrics: its times, its memory, its rate, and what else it tells in a word.
fn block(entries: &mut Entries, series: &str, fields: &Map<String, Value>, n: u64) {
    for (field, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        if field == "p50_ms" || field == "p95_ms" {
            let (_, metric) = place(&format!("{series}.{field}"));
            entries.add(series, milliseconds(metric, field, value, n));
            continue;
        }
        let known = match field.as_str() {
            "peak_memory_mb" => Some((Metric::peak_memory(), "MiB", MEBIBYTE)),
            rate if rate.ends_with("_per_s") && Metric::is_word(rate) => Some((Metric::throughput(rate), "1/s", 1.0)),
            _ => None,
        };
        if let Some((metric, unit, factor)) = known {
            let found = number(value).ok_or_else(|| format!("its `{field}` is no number"));
            entries.add(
                series,
                found.and_then(|value| outputs::summary(metric, unit, field, quantity::to_base(value, factor))),
            );
        } else if !value.is_array() && !value.is_object() {
            entries.of(series).extras.insert(field.clone(), value.clone());
        }
    }
    let entry = entries.of(series);
    if entry.status == EntryStatus::Ok && !entry.observations.iter().any(|one| one.metric.name == TIME) {
        entry.status = EntryStatus::Failed("its `p50_ms` is no number".to_owned());
        entry.observations.clear();
    }
}

/// The benchmarks of a sweep: its cases, each by its label, and the summary over them.
///
/// # Errors
/// Where a case has no label; to be read after the file's name.
pub(super) fn trt(report: &Value, cases: &[Value], config: &Value) -> Result<Vec<Entry>, String> {
    let n = config.get("iters").and_then(Value::as_u64).unwrap_or(0);
    let mut all = Vec::with_capacity(cases.len() + 1);
    for (number, case) in cases.iter().enumerate() {
        let label = case.get("label").and_then(Value::as_str).filter(|label| !label.is_empty());
        let (Some(label), Some(fields)) = (label, case.as_object()) else {
            return Err(format!("has no `label` of case {}", number + 1));
        };
        let mut entries = Entries::default();
        let series = format!("case.{label}");
        match (fields.get("status").and_then(Value::as_str), fields.get("metrics").and_then(Value::as_object)) {
            (Some("ok") | None, Some(metrics)) => block(&mut entries, &series, metrics, n),
            (status, _) => entries.of(&series).status = not_run(status.unwrap_or("failed"), fields),
        }
        let shapes: Vec<&str> = fields
            .get("input_shapes")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if !shapes.is_empty() {
            entries.of(&series).params.insert("input_shapes".to_owned(), shapes.join(" "));
        }
        all.extend(entries.into_vec());
    }
    let mut entries = Entries::default();
    for figure in ["p50_ms_min", "p50_ms_median", "p50_ms_max"] {
        if let Some(value) = report.get("summary").and_then(|summary| summary.get(figure)).filter(|one| !one.is_null())
        {
            let (series, metric) = place(&format!("summary.{figure}"));
            entries.add(&series, milliseconds(seconds(&metric.name), figure, value, 0));
        }
    }
    all.extend(entries.into_vec());
    Ok(unique::unique_entries(all))
}

/// The status of what did not run, with its reason.
fn not_run(status: &str, fields: &Map<String, Value>) -> EntryStatus {
    let reason = fields.get("reason").and_then(Value::as_str).unwrap_or("without a reason").to_owned();
    if status == "skipped" { EntryStatus::Skipped(reason) } else { EntryStatus::Failed(reason) }
}

/// The fields of the configuration of those names as parameters: numbers and words as they are, a shape as
/// `1x3x128x128`.
fn parameters(config: &Value, keys: &[&str]) -> BTreeMap<String, String> {
    let text = |key: &&str| {
        let text = match config.get(key)? {
            Value::Number(number) => number.to_string(),
            Value::String(text) if !text.is_empty() => text.clone(),
            Value::Array(sides) => sides.iter().map(Value::to_string).collect::<Vec<_>>().join("x"),
            _ => return None,
        };
        Some(((*key).to_owned(), field::told(&text)))
    };
    keys.iter().filter_map(text).collect()
}
