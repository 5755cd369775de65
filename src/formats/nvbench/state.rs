//! One state of a benchmark, and the times that it names.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::field;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

/// The summary that names the file of single times.
const SAMPLE_TIMES: &str = "nv/json/bin:nv/cold/sample_times";

/// Summaries that are kept beside the time: what they are called here, and their tags. Base units all.
const KEPT: [(&str, &str); 11] = [
    ("cold_mean", "nv/cold/time/gpu/mean"),
    ("cold_min", "nv/cold/time/gpu/min"),
    ("cold_max", "nv/cold/time/gpu/max"),
    ("cold_q1", "nv/cold/time/gpu/q1"),
    ("cold_q3", "nv/cold/time/gpu/q3"),
    ("cpu_mean", "nv/cold/time/cpu/mean"),
    ("batch_mean", "nv/batch/time/gpu/mean"),
    ("items_per_second", "nv/cold/bw/item_rate"),
    ("bytes_per_second", "nv/cold/bw/global/bytes_per_second"),
    ("bandwidth_share", "nv/cold/bw/global/utilization"),
    ("sm_clock_hz", "nv/cold/sm_clock_rate/mean"),
];

/// The files of times beside a report, by their names.
pub(super) struct Times<'a> {
    folder: &'a str,
    files: BTreeMap<&'a str, Option<&'a Output>>,
    /// Those that states have named, in that order.
    pub(super) used: Vec<&'a Output>,
    /// How many were named and are not there.
    pub(super) missing: usize,
}

impl<'a> Times<'a> {
    /// The files among `outputs` that lie where the report does, or below.
    pub(super) fn new(report: &'a Output, outputs: &'a [Output]) -> Times<'a> {
        let folder = report.name.rfind('/').map_or("", |end| &report.name[..=end]);
        let files = outputs.iter().map(|output| (output.name.as_str(), Some(output))).collect();
        Times { folder, files, used: Vec::new(), missing: 0 }
    }

    /// The seconds in a file of that name, relative to the report; none where it is not there.
    fn read(&mut self, filename: &str, size: Option<f64>) -> Result<Vec<f64>, String> {
        let relative = filename.replace('\\', "/");
        let name = format!("{}{}", self.folder, relative.trim_start_matches("./"));
        let Some(place) = self.files.get_mut(name.as_str()) else {
            self.missing += 1;
            return Ok(Vec::new());
        };
        let file = place.take().ok_or_else(|| format!("its times in `{}` are of another state", field::told(&name)))?;
        self.used.push(file);
        let (numbers, rest) = file.bytes.as_chunks::<4>();
        if !rest.is_empty() || size != Some(numbers.len() as f64) {
            let told = size.map_or_else(|| "an unknown number of".to_owned(), |size| size.to_string());
            return Err(format!(
                "its times in `{}` have {} bytes for {told} numbers",
                field::told(&name),
                file.bytes.len()
            ));
        }
        let metric = gpu_time();
        let one = |(place, bytes): (usize, &[u8; 4])| {
            field::possible(
                &format!("{}[{place}]", field::told(&name)),
                Some(f32::from_le_bytes(*bytes).into()),
                &metric,
                1.0,
            )
        };
        numbers.iter().enumerate().map(one).collect()
    }
}

pub(super) fn entry(benchmark: &str, state: &Value, place: usize, times: &mut Times) -> Entry {
    let called = field::text(state, "name").map_or_else(|| format!("states[{place}]"), str::to_owned);
    let mut entry = Entry {
        series: format!("{benchmark}/{called}"),
        name: benchmark.to_owned(),
        params: params(state),
        ..Entry::default()
    };
    if state.get("is_skipped").and_then(Value::as_bool) == Some(true) {
        entry.status = EntryStatus::Skipped(field::reason(field::text(state, "skip_reason")));
        return entry;
    }
    let Some(Value::Array(list)) = state.get("summaries") else {
        entry.status = EntryStatus::Failed("it has no summaries".to_owned());
        return entry;
    };
    let summaries: BTreeMap<&str, &Value> =
        list.iter().filter_map(|summary| Some((field::text(summary, "tag")?, summary))).collect();
    for (name, tag) in KEPT {
        let value = summaries.get(tag).and_then(|summary| number(datum(summary, "value")?));
        field::extra(&mut entry.extras, name, value);
    }
    match time(&summaries, times, &mut entry.extras) {
        Ok(observation) => entry.observations.push(observation),
        Err(reason) => entry.status = EntryStatus::Failed(reason),
    }
    entry
}

/// The value of each axis, and the device.
fn params(state: &Value) -> BTreeMap<String, String> {
    let axes = state.get("axis_values").and_then(Value::as_array).into_iter().flatten();
    let axis = |axis: &Value| {
        let value = axis.get("value")?;
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some((field::told(field::text(axis, "name")?), field::told(&value)))
    };
    let mut params: BTreeMap<String, String> = axes.take(100).filter_map(axis).collect();
    params.extend(field::count(state, "device").map(|device| ("Device".to_owned(), device.to_string())));
    params
}

/// The time on the device, or of a benchmark of the host alone its time there; the median, else the mean.
fn time(
    summaries: &BTreeMap<&str, &Value>,
    times: &mut Times,
    extras: &mut BTreeMap<String, Value>,
) -> Result<Observation, String> {
    let ways = [
        (gpu_time(), "nv/cold/time/gpu", "nv/cold/sample_size"),
        (Metric::time(), "nv/cpu_only/time/cpu", "nv/cpu_only/sample_size"),
    ];
    for (metric, start, sample_size) in ways {
        let told = ["median", "mean"].into_iter().find_map(|statistic| {
            let tag = format!("{start}/{statistic}");
            summaries.get(tag.as_str()).map(|summary| (statistic, tag, number_of(summary)))
        });
        let Some((statistic, tag, value)) = told else { continue };
        if statistic != "median" {
            extras.insert("statistic".to_owned(), Value::from(statistic));
        }
        let value = field::possible(&tag, value, &metric, 1.0)?;
        let samples = match summaries.get(SAMPLE_TIMES).filter(|_| metric.name != Metric::time().name) {
            Some(summary) => {
                let filename = datum(summary, "filename").and_then(Value::as_str);
                let filename = filename.ok_or_else(|| format!("its `{SAMPLE_TIMES}` names no file"))?;
                times.read(filename, datum(summary, "size").and_then(number))?
            }
            None => Vec::new(),
        };
        let size = summaries.get(sample_size).and_then(|summary| number_of(summary));
        // A count that is no number, or negative, becomes zero.
        let n = size.map_or(0, |size| size as u64).max(samples.len() as u64);
        return Ok(Observation { n, ..Observation::sampled(metric, "s", value, samples) });
    }
    Err("it has neither `nv/cold/time/gpu/median` nor `nv/cold/time/gpu/mean`".to_owned())
}

fn gpu_time() -> Metric {
    Metric { name: "gpu_time".to_owned(), unit: Unit::Second, better: Better::Lower }
}

/// The value of a summary's datum of that name.
fn datum<'a>(summary: &'a Value, name: &str) -> Option<&'a Value> {
    let data = summary.get("data")?.as_array()?;
    data.iter().find(|datum| field::text(datum, "name") == Some(name))?.get("value")
}

fn number_of(summary: &Value) -> Option<f64> {
    number(datum(summary, "value")?)
}

/// A number in quotes, as nvbench writes them, or without.
fn number(value: &Value) -> Option<f64> {
    value.as_str().map_or_else(|| field::number(value), |text| text.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The entry of a state with those summaries, beside a file `d/x.bin` of two times.
    fn entry_of(summaries: &Value) -> Entry {
        let report = Output { name: "d/n.json".to_owned(), bytes: Vec::new() };
        let bytes = [1e-6_f32.to_le_bytes(), 3e-6_f32.to_le_bytes()].concat();
        let outputs = [report.clone(), Output { name: "d/x.bin".to_owned(), bytes }];
        let state = json!({"name": "Device=0 T=I32", "device": 0, "is_skipped": false, "summaries": summaries,
                           "axis_values": [{"name": "T", "type": "type", "value": "int"}, {"name": "n", "value": 7}]});
        entry("b", &state, 0, &mut Times::new(&report, &outputs))
    }

    fn summary(tag: &str, value: &str) -> Value {
        json!({"tag": tag, "data": [{"name": "value", "type": "float64", "value": value}]})
    }

    fn times(filename: &str, size: &str) -> Value {
        json!({"tag": SAMPLE_TIMES, "data": [{"name": "filename", "value": filename}, {"name": "size", "value": size}]})
    }

    #[test]
    fn every_known_form_is_read() {
        let check = |summaries: Value, metric: &str, value: f64, n: u64| {
            let entry = entry_of(&summaries);
            let [observation] = &entry.observations[..] else { panic!("{entry:?}") };
            assert_eq!((observation.metric.name.as_str(), observation.value, observation.n), (metric, value, n));
            assert_eq!(
                entry.params,
                [("Device", "0"), ("T", "int"), ("n", "7")].map(|(k, v)| (k.into(), v.into())).into()
            );
        };
        let (mean, size) = (summary("nv/cold/time/gpu/mean", "2e-6"), summary("nv/cold/sample_size", "9"));
        check(json!([mean, size, summary("nv/cold/time/gpu/median", "1e-6")]), "gpu_time", 1e-6, 9);
        check(json!([mean]), "gpu_time", 2e-6, 0);
        check(json!([mean, times("x.bin", "2")]), "gpu_time", 2e-6, 2);
        check(json!([mean, size, times("y.bin", "2")]), "gpu_time", 2e-6, 9);
        check(json!([mean, summary("nv/cold/sample_size", "-inf")]), "gpu_time", 2e-6, 0);
        check(json!([summary("nv/cpu_only/time/cpu/mean", "1e-3")]), "time", 1e-3, 0);
        let old = entry_of(&json!([mean, summary("nv/cold/bw/global/utilization", "nan")]));
        assert_eq!((&old.extras["statistic"], old.extras.contains_key("bandwidth_share")), (&json!("mean"), false));
    }

    #[test]
    fn a_state_at_fault_fails_alone() {
        let check = |summaries: Value, words: &str| {
            let entry = entry_of(&summaries);
            let EntryStatus::Failed(reason) = &entry.status else { panic!("{entry:?}") };
            assert!(reason.contains(words) && entry.observations.is_empty(), "{reason}");
        };
        let mean = |value: &str| summary("nv/cold/time/gpu/mean", value);
        check(Value::Null, "no summaries");
        check(json!([]), "it has neither `nv/cold/time/gpu/median` nor");
        check(json!([mean("inf")]), "its `nv/cold/time/gpu/mean` is inf");
        check(json!([mean("0")]), "more than zero");
        check(json!([mean("fast")]), "no number");
        check(json!([mean("1e-6"), times("x.bin", "3")]), "its times in `d/x.bin` have 8 bytes for 3 numbers");
        check(json!([mean("1e-6"), times("x.bin", "-1")]), "for -1 numbers");
        check(json!([mean("1e-6"), summary(SAMPLE_TIMES, "x")]), "names no file");
    }

    #[test]
    fn a_file_of_times_is_of_one_state() {
        let report = Output { name: "n.json".to_owned(), bytes: Vec::new() };
        let outputs = [Output { name: "x.bin".to_owned(), bytes: f32::NAN.to_le_bytes().to_vec() }];
        let mut times = Times::new(&report, &outputs);
        assert_eq!(times.read("./x.bin", Some(1.0)), Err("its `x.bin[0]` is NaN, which is no number".to_owned()));
        assert_eq!(times.read("x.bin", Some(1.0)), Err("its times in `x.bin` are of another state".to_owned()));
        assert_eq!((times.read("../x.bin", None), times.missing), (Ok(Vec::new()), 1));
    }
}
