//! What nvbench writes: JSON of version 1, and the files of single times with it (`--jsonbin`).
//!
//! A state is a benchmark on one device with one value of each axis. The time on the device of isolated launches counts
//! (`nv/cold/time/gpu`), by its median; files of before 2026 have the mean alone. The times of batches and of the host
//! are extras. Numbers are in quotes, infinite ones, too.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::frame::{Read, Recognised, Source, check_count};
use crate::{Format, FormatError, LONGEST_PREFIX, field, json, outputs, peek};
use sprag_base::digest::RunningHash;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, ImportedRun, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub(super) const FORMAT: Format = Format {
    name: "nvbench",
    title: "nvbench, JSON with or without files of times",
    files: &[".json", ".bin"],
    recognised: Recognised::EachNamed(&[".json"], is_report),
    read: Read::Each("nvbench", read_report),
};

fn is_report(output: &Output) -> bool {
    let keys = peek::key_paths(output);
    ["meta.version.nvbench", "devices.sm_version", "benchmarks.states"].iter().any(|key| keys.contains(*key))
}

const VERSION: u64 = 1;

/// `outputs` are all files, those of its times among them.
fn read_report(output: &Output, outputs: &[Output]) -> Result<Source, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let version = value.pointer("/meta/version/json/major").and_then(Value::as_u64);
    if let Some(version) = version.filter(|version| *version != VERSION) {
        let reason = format!("has version {version}, this build reads {VERSION}; a newer sprag may");
        return Err(outputs::schema(output, reason));
    }
    let benchmarks = json::list(output, &value, "benchmarks", "report of nvbench")?;
    let mut times = Times::new(output, outputs);
    let mut entries = Vec::new();
    for (place, benchmark) in benchmarks.iter().enumerate() {
        let fault = |what: &str| outputs::schema(output, format!("has no {what} at `benchmarks[{place}]`"));
        let name = field::text(benchmark, "name").ok_or_else(|| fault("name"))?;
        if name.len() > LONGEST_PREFIX {
            return Err(fault(&format!("name of {LONGEST_PREFIX} bytes or less")));
        }
        let states = benchmark.get("states").and_then(Value::as_array).ok_or_else(|| fault("list `states`"))?;
        for (place, state) in states.iter().enumerate() {
            entries.push(entry(name, state, place, &mut times));
        }
        check_count(&output.name, entries.len())?;
    }
    let mut notes = Vec::new();
    if times.missing > 0 {
        let count = times.missing;
        notes.push(format!("{} names {count} files of times that are missing: summaries are used", output.name));
    }
    let read: Vec<&Output> = std::iter::once(output).chain(times.used).collect();
    let digest = digest(&read);
    let devices = value.get("devices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let tool_version = value.pointer("/meta/version/nvbench/string").and_then(Value::as_str).map(field::one_line);
    let run = ImportedRun { facts: facts(devices), entries, digest, ..ImportedRun::default() };
    Ok(Source { run, tool_version, notes, ..Source::default() })
}

/// The digest of a report alone; with files of times, of all names within their common folder and all bytes. Records of
/// earlier imports hold it, so it differs from [`outputs::digest`].
fn digest(files: &[&Output]) -> String {
    if files.len() == 1 {
        return outputs::digest(files);
    }
    let mut hash = RunningHash::default();
    let folder = outputs::common_folder(files);
    for file in files {
        let length = file.bytes.len().to_string();
        for part in [&file.name.as_bytes()[folder..], &[0], length.as_bytes(), &[0], &file.bytes] {
            hash.add(part);
        }
    }
    hash.hex()
}

/// All facts of one device, or of several their models alone.
fn facts(devices: &[Value]) -> BTreeMap<String, String> {
    let mut models: Vec<String> =
        devices.iter().filter_map(|device| field::text(device, "name")).map(field::one_line).collect();
    models.dedup();
    models.truncate(16);
    let device = if let [device] = devices { device } else { &Value::Null };
    let capability = field::count(device, "sm_version")
        .map(|version| Value::from(format!("{}.{}", version / 100, version % 100 / 10)));
    field::facts([
        ("gpu_model", Some(&Value::from(models.join(", ")))),
        ("gpu_multiprocessors", device.get("number_of_sms")),
        ("gpu_memory_bytes", device.get("global_memory_size")),
        ("gpu_l2_bytes", device.get("l2_cache_size")),
        ("gpu_ecc", device.get("ecc_state")),
        ("gpu_compute_capability", capability.as_ref()),
    ])
}

/// The summary that names the file of single times.
const SAMPLE_TIMES: &str = "nv/json/bin:nv/cold/sample_times";

/// Summaries that become extras, by their names here and their tags; all in base units.
const SUMMARIES: [(&str, &str); 11] = [
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

struct Times<'a> {
    folder: &'a str,
    files: BTreeMap<&'a str, Option<&'a Output>>,
    /// In the order in which states name them.
    used: Vec<&'a Output>,
    /// The named ones that are not there.
    missing: usize,
}

impl<'a> Times<'a> {
    fn new(report: &'a Output, outputs: &'a [Output]) -> Times<'a> {
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
        let file =
            place.take().ok_or_else(|| format!("its times in `{}` are of another state", field::one_line(&name)))?;
        self.used.push(file);
        let (numbers, rest) = file.bytes.as_chunks::<4>();
        if !rest.is_empty() || size != Some(numbers.len() as f64) {
            let (name, bytes) = (field::one_line(&name), file.bytes.len());
            let count = size.map_or_else(|| "an unknown number of".to_owned(), |size| size.to_string());
            return Err(format!("its times in `{name}` have {bytes} bytes for {count} numbers"));
        }
        let one = |(place, bytes): (usize, &[u8; 4])| {
            let number = f32::from_le_bytes(*bytes).into();
            field::possible(&format!("{}[{place}]", field::one_line(&name)), Some(number), &gpu_time(), 1.0)
        };
        numbers.iter().enumerate().map(one).collect()
    }
}

fn entry(benchmark: &str, state: &Value, place: usize, times: &mut Times) -> Entry {
    let called = field::text(state, "name").map_or_else(|| format!("states[{place}]"), str::to_owned);
    let series = format!("{benchmark}/{called}");
    let mut entry = Entry { series, name: benchmark.to_owned(), params: params(state), ..Entry::default() };
    if state.get("is_skipped").and_then(Value::as_bool) == Some(true) {
        entry.status = EntryStatus::Skipped(field::reason(field::text(state, "skip_reason")));
        return entry;
    }
    let Some(Value::Array(list)) = state.get("summaries") else {
        outputs::fail(&mut entry, "it has no summaries".to_owned());
        return entry;
    };
    let summaries: BTreeMap<&str, &Value> =
        list.iter().filter_map(|summary| Some((field::text(summary, "tag")?, summary))).collect();
    for (name, tag) in SUMMARIES {
        field::extra(&mut entry.extras, name, summaries.get(tag).and_then(|summary| number_of(summary)));
    }
    let time = time(&summaries, times, &mut entry.extras);
    outputs::fill(&mut entry, time.map(|time| vec![time]));
    entry
}

fn params(state: &Value) -> BTreeMap<String, String> {
    let axes = state.get("axis_values").and_then(Value::as_array).into_iter().flatten();
    let axis = |axis: &Value| Some((field::text(axis, "name")?.to_owned(), axis.get("value")?.clone()));
    let axes: Value = axes.filter_map(axis).collect();
    let mut params = field::params(Some(&axes));
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
        let rows = ["median", "mean"].into_iter().find_map(|statistic| {
            let tag = format!("{start}/{statistic}");
            summaries.get(tag.as_str()).map(|summary| (statistic, tag, number_of(summary)))
        });
        let Some((statistic, tag, value)) = rows else { continue };
        if statistic != "median" {
            extras.insert("statistic".to_owned(), Value::from(statistic));
        }
        let value = field::possible(&tag, value, &metric, 1.0)?;
        let samples = match summaries.get(SAMPLE_TIMES).filter(|_| metric.name != Metric::time().name) {
            Some(summary) => {
                let filename = datum(summary, "filename").and_then(Value::as_str);
                let filename = filename.ok_or_else(|| format!("its `{SAMPLE_TIMES}` names no file"))?;
                times.read(filename, datum(summary, "size").and_then(field::any_number))?
            }
            None => Vec::new(),
        };
        let size = summaries.get(sample_size).and_then(|summary| number_of(summary));
        let n = size.map_or(0, |size| size as u64).max(samples.len() as u64);
        return Ok(Observation { n, ..Observation::sampled(metric, "s", value, samples) });
    }
    Err("it has neither `nv/cold/time/gpu/median` nor `nv/cold/time/gpu/mean`".to_owned())
}

fn gpu_time() -> Metric {
    Metric { name: "gpu_time".to_owned(), unit: Unit::Second, better: Better::Lower }
}

fn datum<'a>(summary: &'a Value, name: &str) -> Option<&'a Value> {
    let data = summary.get("data")?.as_array()?;
    data.iter().find(|datum| field::text(datum, "name") == Some(name))?.get("value")
}

fn number_of(summary: &Value) -> Option<f64> {
    field::any_number(datum(summary, "value")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::output;

    #[test]
    fn a_file_of_times_is_of_one_state() {
        let report = output("d/n.json", "");
        let times = [1e-6_f32, 3e-6].map(f32::to_le_bytes).concat();
        let outputs = [report.clone(), output("d/x.bin", times), output("d/nan.bin", f32::NAN.to_le_bytes())];
        let check = |name: &str, size: Option<f64>, expected: Result<Vec<f32>, &str>| {
            let mut times = Times::new(&report, &outputs);
            let expected = expected.map(|list| list.into_iter().map(f64::from).collect()).map_err(str::to_owned);
            assert_eq!(times.read(name, size), expected);
            times
        };
        let mut times = check("./x.bin", Some(2.0), Ok(vec![1e-6, 3e-6]));
        assert_eq!(times.read("x.bin", Some(2.0)), Err("its times in `d/x.bin` are of another state".to_owned()));
        check("x.bin", Some(3.0), Err("its times in `d/x.bin` have 8 bytes for 3 numbers"));
        check("x.bin", Some(-1.0), Err("its times in `d/x.bin` have 8 bytes for -1 numbers"));
        check("x.bin", None, Err("its times in `d/x.bin` have 8 bytes for an unknown number of numbers"));
        check("nan.bin", Some(1.0), Err("its `d/nan.bin[0]` is NaN, which is not a number"));
        assert_eq!(check("../x.bin", None, Ok(Vec::new())).missing, 1);
    }
}
