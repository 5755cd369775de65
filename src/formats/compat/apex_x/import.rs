//! Apex-X's files as runs to import: reports of its three suites, baselines, and trend files.
//!
//! A figure has one place however its file spells it. `infer_p50_ms` of a CPU report,
//! `benchmarks.tile_ops.tilepack.dispatch.p50_ms` of a baseline and the field `p50_ms` of a block of a GPU report are all
//! medians: the metric `time` of `infer` and of `tile_ops.tilepack.dispatch`. The 95th percentile is `time_p95`.
//! Milliseconds become seconds. Shapes and data types that a report says it ran with are parameters of its benchmarks.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use crate::frame::{Format, Read, Recognised};
use crate::{FormatError, LONGEST_PREFIX, field, json, outputs, quantity};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, Imported, ImportedRun, Observation};
use sprag_model::metric::{Better, Metric, TIME};
use sprag_model::unit::Unit;

pub(crate) const FORMAT: Format = Format {
    name: "apex-x",
    title: "a report, a baseline or a trend file of Apex-X",
    files: &[".json"],
    recognised: Recognised::Any(is_apex_x),
    read: Read::Together(read),
};

/// How the names of Apex-X's suites begin.
const SUITES: &str = "\"apex_x_";

/// Facts of a report by their paths in `environment`, and their names in a record.
const FACTS: [(&str, &str); 9] = [
    ("/platform", "platform"),
    ("/python", "python"),
    ("/torch", "torch"),
    ("/device", "device"),
    ("/effective_dtype", "effective_dtype"),
    ("/runtime_caps/cuda/device_name", "gpu_model"),
    ("/runtime_caps/cuda/compute_capability", "gpu_compute_capability"),
    ("/runtime_caps/triton/version", "triton"),
    ("/runtime_caps/tensorrt/python_version", "tensorrt"),
];

fn is_apex_x(output: &Output) -> bool {
    let start = outputs::start(output);
    let names_suite =
        |after: &str| after.trim_start().strip_prefix(':').is_some_and(|one| one.trim_start().starts_with(SUITES));
    start.trim_start().starts_with('{') && start.split("\"suite\"").skip(1).any(names_suite)
}

/// Each file is a run; of several, one without a benchmark is passed over with a note.
fn read(outputs: &[&Output]) -> Result<Imported, FormatError> {
    let (mut notes, mut runs) = (Vec::new(), Vec::new());
    for output in outputs {
        let document = json::parse_with_not_finite(output)?;
        if !document.is_object() {
            return Err(outputs::schema(output, "is not an object"));
        }
        let entries = entries(&document, output, &mut notes)?;
        if entries.is_empty() {
            let reason = document.get("reason").and_then(Value::as_str).unwrap_or("it lists none");
            let reason = format!("holds no benchmark: {}", reason.escape_debug());
            if outputs.len() == 1 {
                return Err(outputs::schema(output, reason));
            }
            notes.push(format!("{} {reason}", output.name));
            continue;
        }
        runs.push(ImportedRun {
            suite: document.get("suite").and_then(Value::as_str).map(str::to_owned),
            time: time(&document, output, &mut notes),
            facts: facts(&document),
            ..outputs::run(entries, &[output])
        });
    }
    Ok(outputs::imported("apex-x", runs, notes))
}

fn entries(document: &Value, output: &Output, notes: &mut Vec<String>) -> Result<Vec<Entry>, FormatError> {
    let config = document.get("config").unwrap_or(&Value::Null);
    let fault = |reason: String| outputs::schema(output, reason);
    let count = |key: &str| match document.get(key) {
        Some(Value::Array(items)) => items.len(),
        Some(Value::Object(fields)) => fields.len(),
        _ => 0,
    };
    if let Some(count) = ["metrics", "cases"].map(count).into_iter().find(|count| *count > outputs::MOST_READ) {
        return Err(FormatError::Many { name: output.name.clone(), count });
    }
    let is_baseline = |metrics: &Map<String, Value>| metrics.values().any(Value::is_object);
    match (document.get("metrics"), document.get("benchmarks"), document.get("cases")) {
        (Some(Value::Array(items)), ..) => trend(items, notes, &output.name).map_err(fault),
        (Some(Value::Object(metrics)), ..) if is_baseline(metrics) => Ok(baseline(metrics)),
        (Some(Value::Object(metrics)), ..) => Ok(cpu(metrics, config)),
        (None, Some(Value::Object(benchmarks)), _) => {
            let dtype = document.pointer("/environment/effective_dtype").or_else(|| config.get("dtype"));
            gpu(benchmarks, config, dtype.and_then(Value::as_str)).map_err(fault)
        }
        (None, None, Some(Value::Array(cases))) => trt(document, cases, config).map_err(fault),
        _ => Err(outputs::schema(output, "has neither `metrics` nor `benchmarks` nor `cases`")),
    }
}

fn time(document: &Value, output: &Output, notes: &mut Vec<String>) -> Option<DateTime<Utc>> {
    let text = document.get("timestamp_utc")?.as_str()?;
    let time = text.parse::<DateTime<Utc>>().ok();
    if time.is_none() {
        notes.push(format!("{}: its `timestamp_utc` is not a time", output.name));
    }
    time
}

fn facts(document: &Value) -> BTreeMap<String, String> {
    let fact = |(path, name): &(&str, &str)| {
        let text = document.get("environment")?.pointer(path)?.as_str().filter(|text| !text.is_empty())?;
        Some(((*name).to_owned(), field::one_line(text)))
    };
    FACTS.iter().filter_map(fact).collect()
}

const TIME_P95: &str = "time_p95";

/// The endings of flat names, and their metrics; those of the summary of a sweep come first.
const ENDINGS: [(&str, &str); 8] = [
    (".p50_ms_min", "time_min"),
    (".p50_ms_max", "time_max"),
    (".p50_ms_median", TIME),
    (".p50_ms", TIME),
    (".p95_ms", TIME_P95),
    ("_p50_ms", TIME),
    ("_p95_ms", TIME_P95),
    ("_ms", TIME),
];

/// The benchmark and the metric of a flat name.
fn place(name: &str) -> (String, Metric) {
    let short = name.strip_prefix("benchmarks.").unwrap_or(name);
    let result = ENDINGS.iter().find_map(|(end, metric)| Some((short.strip_suffix(end)?, *metric)));
    let (series, metric) = result.filter(|(series, _)| !series.is_empty()).unwrap_or((short, TIME));
    (series.strip_suffix(".metrics").unwrap_or(series).to_owned(), seconds(metric))
}

fn seconds(name: &str) -> Metric {
    Metric { name: name.to_owned(), unit: Unit::Second, better: Better::Lower }
}

/// A figure as an observation of so many calls; the fault names the field.
fn observed(metric: Metric, unit: &str, name: &str, value: &Value, n: u64) -> Result<Observation, String> {
    let number = field::any_number(value).ok_or_else(|| format!("its `{}` is not a number", name.escape_debug()))?;
    let number = quantity::to_base(number, quantity::quantity(unit).factor);
    Ok(Observation { n, ..outputs::summary(metric, unit, name, number)? })
}

/// The benchmarks of a file in the order of its figures.
#[derive(Default)]
struct Entries {
    entries: Vec<Entry>,
    places: BTreeMap<String, usize>,
}

impl Entries {
    /// The benchmark of that name, which is new where no figure of it came yet.
    fn entry(&mut self, series: &str) -> &mut Entry {
        let place = *self.places.entry(series.to_owned()).or_insert(self.entries.len());
        if place == self.entries.len() {
            self.entries.push(outputs::entry(series, Ok(Vec::new())));
        }
        &mut self.entries[place]
    }

    /// Adds an observation of a benchmark; the first fault fails it.
    fn add(&mut self, series: &str, result: Result<Observation, String>) -> &mut Entry {
        let entry = self.entry(series);
        let is_twice = |metric: &Metric| entry.observations.iter().any(|one| one.metric.name == metric.name);
        match result {
            _ if entry.status != EntryStatus::Ok => {}
            Ok(Observation { metric, .. }) if is_twice(&metric) => {
                outputs::fail(entry, format!("its `{}` comes more than once", metric.name));
            }
            Ok(observation) => entry.observations.push(observation),
            Err(reason) => outputs::fail(entry, reason),
        }
        entry
    }
}

/// In a trend file, the name of the status of the report.
const STATUS: &str = "__status__";

/// The benchmarks of a baseline. The extras `tolerances` are, by metric, a share and seconds.
fn baseline(metrics: &Map<String, Value>) -> Vec<Entry> {
    let mut entries = Entries::default();
    for (name, spec) in metrics {
        let (series, metric) = place(name);
        let metric_name = metric.name.clone();
        let result = match spec.get("value_ms") {
            Some(value) => observed(metric, "ms", "value_ms", value, 0),
            None => Err(format!("the baseline names no `value_ms` of `{}`", name.escape_debug())),
        };
        let tolerances = [("max_regression_ratio", "ratio", 1.0), ("max_regression_abs_ms", "absolute", 1e-3)];
        let entry = entries.add(&series, result);
        note(entry, "tolerances", &metric_name, spec, &tolerances);
    }
    entries.entries
}

/// The benchmarks of a trend file, with Apex-X's verdicts by metric as extras, in seconds. A figure that the report lacked
/// was skipped.
fn trend(items: &[Value], notes: &mut Vec<String>, file: &str) -> Result<Vec<Entry>, String> {
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
            Some(current) => entries.add(&series, observed(metric, "ms", "current_ms", current, 0)),
            None => entries.entry(&series),
        };
        let fields = [
            ("status", "status", 1.0),
            ("baseline_ms", "baseline", 1e-3),
            ("allowed_max_ms", "allowed_max", 1e-3),
            ("regression_ratio", "regression_ratio", 1.0),
        ];
        note(entry, "verdicts", &metric_name, item, &fields);
    }
    let mut entries = entries.entries;
    for entry in entries.iter_mut().filter(|entry| entry.status == EntryStatus::Ok && entry.observations.is_empty()) {
        entry.status = EntryStatus::Skipped("the report does not hold it".to_owned());
    }
    Ok(entries)
}

/// Adds fields to the extras of a benchmark, by metric; numbers in base units.
fn note(entry: &mut Entry, key: &str, metric: &str, holder: &Value, fields: &[(&str, &str, f64)]) {
    let mut noted = Map::new();
    for (field, name, factor) in fields {
        let value = match holder.get(field) {
            Some(Value::String(word)) if word.parse::<f64>().is_err() => json!(word),
            value => match value.and_then(field::any_number).filter(|number| number.is_finite()) {
                Some(number) => json!(quantity::to_base(number, *factor)),
                None => continue,
            },
        };
        noted.insert((*name).to_owned(), value);
    }
    if !noted.is_empty() {
        let all = entry.extras.entry(key.to_owned()).or_insert_with(|| Value::Object(Map::new()));
        all[metric] = Value::Object(noted);
    }
}

/// How many names deep a block of a GPU report lies at most.
const DEEPEST: usize = 8;

const GPU_PARAMETERS: [&str; 7] = ["batch", "channels", "height", "width", "tile_size", "kmax", "steps"];

fn cpu(metrics: &Map<String, Value>, config: &Value) -> Vec<Entry> {
    let mut entries = Entries::default();
    let of_model = parameters(config, &["input_shape"]);
    let of_kernels = parameters(config, &["tile_shape", "tile_size"]);
    for (name, value) in metrics.iter().filter(|(_, value)| !value.is_null()) {
        let (series, metric) = place(name);
        let is_infer = series == "infer";
        let n = config.get(if is_infer { "infer_iters" } else { "micro_iters" }).and_then(Value::as_u64);
        let entry = entries.add(&series, observed(metric, "ms", name, value, n.unwrap_or(0)));
        entry.params.extend(if is_infer { &of_model } else { &of_kernels }.clone());
    }
    entries.entries
}

fn gpu(benchmarks: &Map<String, Value>, config: &Value, dtype: Option<&str>) -> Result<Vec<Entry>, String> {
    let mut entries = Entries::default();
    let n = config.get("iters").and_then(Value::as_u64).unwrap_or(0);
    walk(&mut entries, &mut Vec::new(), benchmarks, n)?;
    let mut entries = entries.entries;
    let mut params = parameters(config, &GPU_PARAMETERS);
    params.extend(dtype.map(|dtype| ("dtype".to_owned(), field::one_line(dtype))));
    for entry in &mut entries {
        entry.params.extend(params.clone());
        if let Some((name, variant)) = entry.series.rsplit_once('.') {
            (entry.name, entry.variant) = (name.to_owned(), Some(variant.to_owned()));
        }
    }
    Ok(entries)
}

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
            entries.entry(&series).status = not_run(status, fields);
        } else if fields.contains_key("p50_ms") {
            block(entries, &series, fields, n);
            // Only what goes by way of the dispatcher is of its backend.
            for name in ["backend", "fallback_reason"].iter().filter(|_| key.contains("dispatch")) {
                let value = holder.get(*name).filter(|value| value.is_string());
                entries.entry(&series).extras.extend(value.map(|value| ((*name).to_owned(), value.clone())));
            }
        } else if let (Some(_), Some(metrics)) = (status, fields.get("metrics").and_then(Value::as_object)) {
            block(entries, &series, metrics, n);
        } else {
            walk(entries, path, fields, n)?;
        }
        if entries.entries.len() > outputs::MOST_READ {
            return Err(format!("has more than {} blocks below `benchmarks`", outputs::MOST_READ));
        }
        path.pop();
    }
    Ok(())
}

/// Takes a block of metrics: its times, memory and rate, and as extras its other words and numbers.
fn block(entries: &mut Entries, series: &str, fields: &Map<String, Value>, n: u64) {
    for (field, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let (metric, unit, n) = match field.as_str() {
            "p50_ms" => (Metric::time(), "ms", n),
            "p95_ms" => (seconds(TIME_P95), "ms", n),
            "peak_memory_mb" => (Metric::peak_memory(), "MiB", 0),
            rate if rate.ends_with("_per_s") && Metric::is_word(rate) => (Metric::throughput(rate), "1/s", 0),
            _ => {
                if !value.is_array() && !value.is_object() {
                    entries.entry(series).extras.insert(field.clone(), value.clone());
                }
                continue;
            }
        };
        entries.add(series, observed(metric, unit, field, value, n));
    }
    let entry = entries.entry(series);
    if entry.status == EntryStatus::Ok && !entry.observations.iter().any(|one| one.metric.name == TIME) {
        outputs::fail(entry, "its `p50_ms` is not a number".to_owned());
    }
}

/// The benchmarks of a sweep: its cases, each by its label, and the summary over them.
fn trt(report: &Value, cases: &[Value], config: &Value) -> Result<Vec<Entry>, String> {
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
            (status, _) => entries.entry(&series).status = not_run(status.unwrap_or("failed"), fields),
        }
        let shapes = fields.get("input_shapes").and_then(Value::as_array).into_iter().flatten();
        let shapes: Vec<&str> = shapes.filter_map(Value::as_str).collect();
        if !shapes.is_empty() {
            entries.entry(&series).params.insert("input_shapes".to_owned(), shapes.join(" "));
        }
        all.extend(entries.entries);
    }
    let mut entries = Entries::default();
    for figure in ["p50_ms_min", "p50_ms_median", "p50_ms_max"] {
        if let Some(value) = report.get("summary").and_then(|summary| summary.get(figure)).filter(|one| !one.is_null())
        {
            let (series, metric) = place(&format!("summary.{figure}"));
            entries.add(&series, observed(metric, "ms", figure, value, 0));
        }
    }
    all.extend(entries.entries);
    Ok(outputs::unique_entries(all))
}

fn not_run(status: &str, fields: &Map<String, Value>) -> EntryStatus {
    let reason = fields.get("reason").and_then(Value::as_str).unwrap_or("without a reason").to_owned();
    if status == "skipped" { EntryStatus::Skipped(reason) } else { EntryStatus::Failed(reason) }
}

/// Fields of the configuration as parameters; a shape is `1x3x128x128`.
fn parameters(config: &Value, keys: &[&str]) -> BTreeMap<String, String> {
    let text = |key: &&str| {
        let text = match config.get(key)? {
            Value::Number(number) => number.to_string(),
            Value::String(text) if !text.is_empty() => text.clone(),
            Value::Array(sides) => sides.iter().map(Value::to_string).collect::<Vec<_>>().join("x"),
            _ => return None,
        };
        Some(((*key).to_owned(), field::one_line(&text)))
    };
    keys.iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    /// The texts of a kind in the golden cases of a family.
    fn golden_texts(family: &str, kind: &str) -> Vec<(String, String)> {
        let path = format!("{}/../../fixtures/golden/apex-x/{family}.json", env!("CARGO_MANIFEST_DIR"));
        let cases: Value = serde_json::from_slice(&std::fs::read(path).expect("it is there")).expect("it is JSON");
        let of = |case: &Value| {
            let text = case.pointer(kind)?;
            let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
            Some((case["name"].as_str()?.to_owned(), text))
        };
        cases["cases"].as_array().expect("there are cases").iter().filter_map(of).collect()
    }

    /// A trend file has the times of its report, wherever both have them.
    #[test]
    fn a_trend_and_its_report_tell_the_same() {
        let reports: BTreeMap<String, String> =
            golden_texts("perf_compare", "/current_json_text").into_iter().collect();
        let mut compared = 0;
        for (name, trend) in golden_texts("perf_compare", "/expected/trend_json_text") {
            let [trend, report] = [&trend, &reports[&name]].map(|text| FORMAT.read(&[golden::output("r.json", text)]));
            let (Ok(trend), Ok(report)) = (trend, report) else { continue };
            for entry in &trend.runs[0].entries {
                let other = report.runs[0].entries.iter().find(|other| other.series == entry.series);
                for one in &entry.observations {
                    let other = other.and_then(|other| other.observations.iter().find(|two| two.metric == one.metric));
                    assert_eq!(other.map(|other| other.value), Some(one.value), "{name} {}", entry.series);
                    compared += 1;
                }
            }
        }
        assert!(compared >= 20, "{compared} figures were compared");
    }

    #[test]
    fn damage_is_no_panic() {
        for (_, text) in golden_texts("report_markdown", "/report") {
            golden::survives(&[golden::output("r.json", text)], &FORMAT);
        }
    }
}
