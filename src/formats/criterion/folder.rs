//! The folder that a Criterion bench leaves (`target/criterion`), of Criterion 0.3 to 0.8: read for a suite, and imported as
//! a run of its own.
//!
//! Each benchmark has a folder, whose `new/` is of the newest run: `benchmark.json` names it, and `sample.json` holds
//! `times[i]`, the nanoseconds that `iters[i]` calls took together. The samples are `times[i] / iters[i]`. Criterion's
//! own estimates are extras of an import: `typical`, which it prints (the slope, else the mean), and `median_estimate`.
//!
//! A benchmark is called after its group and function; the parameter of a parametrised one is a parameter here too.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::frame::{Format, Read, Recognised};
use crate::outputs::unique;
use crate::{FormatError, MOST_BENCHMARKS, outputs, quantity};
use sprag_model::benchmark::Benchmark;
use sprag_model::foreign::{DEFAULT_VARIANT, Output, Reported, ReportedMetric, recordable};
use sprag_model::imported::{Entry, Imported, Observation};
use sprag_model::metric::{LARGEST, Metric};

pub(crate) const FORMAT: Format = Format {
    name: "criterion",
    title: "the folder that a bench of Criterion leaves",
    files: &["/new/benchmark.json", "/new/sample.json", "/new/estimates.json"],
    recognised: Recognised::Folder(recognises),
    read: Read::Together(import),
};

const PARAMETER: &str = "parameter";

/// The files of a folder of results, named relative to it, as the benchmarks of a suite.
pub fn read(suite: &str, outputs: &[Output]) -> Result<Vec<Reported>, FormatError> {
    let folders = folders(outputs.iter())?;
    let read = |(place, (folder, files)): (usize, (&&str, &Files<'_>))| {
        benchmark(suite, files).unwrap_or_else(|reason| Reported::failed(suite, folder, place + 1, reason))
    };
    Ok(unique(folders.iter().enumerate().map(read).collect()))
}

/// The files of the newest run of one benchmark, by name.
type Files<'a> = BTreeMap<&'a str, &'a [u8]>;

fn folders<'a>(outputs: impl Iterator<Item = &'a Output>) -> Result<BTreeMap<&'a str, Files<'a>>, FormatError> {
    let mut folders: BTreeMap<&str, Files<'a>> = BTreeMap::new();
    for output in outputs {
        if let Some((folder, file)) = folder_and_file(output) {
            folders.entry(folder).or_default().insert(file, &output.bytes);
        }
    }
    let name = "the folder of Criterion".to_owned();
    match folders.len() {
        0 => Err(FormatError::Nothing(name)),
        count if count > MOST_BENCHMARKS => Err(FormatError::Many { name, count }),
        _ => Ok(folders),
    }
}

/// The folder of the benchmark and the name of the file, where it is of a newest run.
fn folder_and_file(output: &Output) -> Option<(&str, &str)> {
    output.name.rsplit_once("/new/")
}

#[derive(Deserialize)]
struct Identity {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
    throughput: Option<Value>,
    full_id: Option<String>,
}

impl Identity {
    fn name(&self) -> String {
        let parts = [Some(&self.group_id), self.function_id.as_ref()].into_iter().flatten();
        parts.map(String::as_str).filter(|part| !part.is_empty()).collect::<Vec<&str>>().join("/")
    }

    fn parameter(&self) -> Option<&str> {
        self.value_str.as_deref().filter(|value| !value.is_empty())
    }
}

#[derive(Deserialize)]
struct Sampled {
    iters: Vec<f64>,
    times: Vec<f64>,
}

fn benchmark(suite: &str, files: &Files<'_>) -> Result<Reported, String> {
    let identity: Identity = json(files, "benchmark.json")?;
    let params: Vec<(&str, String)> =
        identity.parameter().map(|value| (PARAMETER, recordable(value))).into_iter().collect();
    let benchmark = Benchmark::new(suite, &recordable(&identity.name()), &params, DEFAULT_VARIANT)
        .map_err(|error| error.to_string())?;
    let result = json(files, "sample.json").and_then(samples);
    let result = result.map(|samples| vec![ReportedMetric { metric: Metric::time(), samples }]);
    Ok(Reported { benchmark, result, work: work(identity.throughput.as_ref()) })
}

fn json<T: for<'a> Deserialize<'a>>(files: &Files<'_>, name: &str) -> Result<T, String> {
    let bytes = files.get(name).ok_or_else(|| format!("this run of the bench wrote no `new/{name}` for it"))?;
    serde_json::from_slice(bytes).map_err(|error| format!("its `new/{name}` cannot be read: {error}"))
}

/// Seconds a call, one a sample.
fn samples(sampled: Sampled) -> Result<Vec<f64>, String> {
    let (iters, times) = (sampled.iters, sampled.times);
    if iters.len() != times.len() || iters.is_empty() {
        return Err(format!("its `new/sample.json` has {} times of {} samples", times.len(), iters.len()));
    }
    let seconds: Vec<f64> = times.iter().zip(&iters).map(|(time, iters)| time / 1e9 / iters).collect();
    match seconds.iter().find_map(|seconds| Metric::time().fault(*seconds)) {
        Some(fault) => Err(format!("a sample is {fault}")),
        None => Ok(seconds),
    }
}

/// The throughputs that a bench declares, such as `{"Elements": 32}`, of the kinds below.
fn work(throughput: Option<&Value>) -> Vec<(String, f64)> {
    let Some(kinds) = throughput.and_then(Value::as_object) else { return Vec::new() };
    // `ElementsAndBytes` holds an object of both.
    let both = kinds.get("ElementsAndBytes").and_then(Value::as_object).into_iter().flatten();
    let rate = |(kind, count): (&String, &Value)| {
        let name = match kind.as_str() {
            "Elements" | "elements" => "elements_per_s",
            "Bytes" | "BytesDecimal" | "bytes" => "bytes_per_s",
            "Bits" => "bits_per_s",
            _ => return None,
        };
        Some((name.to_owned(), count.as_f64().filter(|count| (1.0..=LARGEST).contains(count))?))
    };
    kinds.iter().chain(both).filter_map(rate).collect()
}

fn recognises(outputs: &[Output]) -> bool {
    let has = |file: &str| outputs.iter().any(|output| output.name.ends_with(file));
    has("/new/benchmark.json") && has("/new/sample.json")
}

fn import(outputs: &[&Output]) -> Result<Imported, FormatError> {
    let folders = folders(outputs.iter().copied())?;
    let read = |(folder, files): (&&str, &Files<'_>)| {
        imported_benchmark(files).unwrap_or_else(|reason| outputs::entry(folder, Err(reason)))
    };
    let entries = outputs::unique_entries(folders.iter().map(read).collect());
    let used: Vec<&Output> = outputs.iter().copied().filter(|output| folder_and_file(output).is_some()).collect();
    Ok(outputs::imported("criterion", vec![outputs::run(entries, &used)], Vec::new()))
}

/// `estimates.json`, in nanoseconds.
#[derive(Deserialize)]
struct Estimates {
    mean: Estimate,
    median: Estimate,
    slope: Option<Estimate>,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

fn imported_benchmark(files: &Files<'_>) -> Result<Entry, String> {
    let identity: Identity = json(files, "benchmark.json")?;
    let parameter = identity.parameter();
    let full_id = || [&identity.name()].into_iter().map(String::as_str).chain(parameter).collect::<Vec<_>>().join("/");
    let series = identity.full_id.clone().filter(|id| !id.is_empty()).unwrap_or_else(full_id);
    let outcome = json(files, "sample.json")
        .and_then(samples)
        .and_then(|samples| outputs::sampled(Metric::time(), "ns", "times", samples));
    let outcome = outcome.map(|time| with_work(time, identity.throughput.as_ref()));
    let mut entry = outputs::entry(&series, outcome);
    entry.name = identity.name();
    entry.params.extend(parameter.map(|value| (PARAMETER.to_owned(), value.to_owned())));
    if let Ok(Estimates { mean, median, slope }) = json::<Estimates>(files, "estimates.json") {
        for (name, estimate) in [("typical", slope.unwrap_or(mean)), ("median_estimate", median)] {
            let seconds = quantity::to_base(estimate.point_estimate, 1e-9);
            entry.extras.insert(name.to_owned(), Value::from(seconds));
        }
    }
    if let Some(throughput) = identity.throughput.filter(Value::is_object) {
        entry.extras.insert("throughput".to_owned(), throughput);
    }
    Ok(entry)
}

/// The time, and the throughputs that follow from it and the declared work.
fn with_work(time: Observation, throughput: Option<&Value>) -> Vec<Observation> {
    let n = time.n;
    let rate = |(name, count): (String, f64)| {
        let rate = outputs::summary(Metric::throughput(&name), "1/s", &name, count / time.value).ok()?;
        Some(Observation { n, ..rate })
    };
    let rates: Vec<Observation> = work(throughput).into_iter().filter_map(rate).collect();
    std::iter::once(time).chain(rates).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, output};

    const NAMED: &str = r#"{"group_id":"g","function_id":"f","value_str":null,"throughput":null,"full_id":"g/f"}"#;
    const SAMPLED: &str = r#"{"sampling_mode":"Flat","iters":[2.0,4.0,5.0],"times":[20.0,44.0,500.0]}"#;

    fn folder(name: &str, benchmark: &str, sample: &str) -> [Output; 2] {
        [("benchmark", benchmark), ("sample", sample)]
            .map(|(file, text)| output(&format!("{name}/new/{file}.json"), text))
    }

    fn one(benchmark: &str) -> Reported {
        let mut reported = read("crate", &folder("g/f", benchmark, SAMPLED)).expect("there is a benchmark");
        assert_eq!(reported.len(), 1);
        reported.remove(0)
    }

    #[test]
    fn the_golden_folder_reads_alike_for_a_suite_and_to_import() {
        let outputs = golden::samples("criterion");
        let run = &FORMAT.read(&outputs).expect("it is fine").runs[0];
        let reported = read("crate", &outputs).expect("it is fine");
        assert_eq!(reported.len(), run.entries.len());
        for (entry, reported) in run.entries.iter().zip(&reported) {
            assert_eq!((&entry.name, &entry.params), (&reported.benchmark.name, &reported.benchmark.params));
            let [time] = &reported.result.as_ref().expect("it is fine")[..] else { panic!("one metric") };
            assert_eq!((&entry.observations[0].metric, &entry.observations[0].samples), (&time.metric, &time.samples));
        }
    }

    #[test]
    fn a_benchmark_is_called_after_group_function_and_parameter() {
        let check = |group: &str, function: &str, value: &str, id: &str| {
            let reported = one(&format!(r#"{{"group_id":"{group}","function_id":{function},"value_str":{value}}}"#));
            assert_eq!((reported.benchmark.id().as_str(), reported.result.is_ok()), (id, true));
        };
        check("sort", "null", "null", "crate/sort @default");
        check("sort", "\"quick\"", "null", "crate/sort/quick @default");
        check("sort", "\"quick\"", "\"1000\"", "crate/sort/quick{parameter=1000} @default");
        check("sort", "null", "\"1000\"", "crate/sort{parameter=1000} @default");
        check("a{b}", "\"@c\"", "\"(1, 2)\"", "crate/a_b_/_c{parameter=(1_ 2)} @default");
    }

    #[test]
    fn work_follows_from_the_declared_throughput() {
        let check = |throughput: &str, expected: &[(&str, f64)]| {
            let work = one(&NAMED.replace("\"throughput\":null", &format!("\"throughput\":{throughput}"))).work;
            assert_eq!(work.iter().map(|(name, count)| (name.as_str(), *count)).collect::<Vec<_>>(), expected);
        };
        check("null", &[]);
        check(r#"{"BytesDecimal":10}"#, &[("bytes_per_s", 10.0)]);
        check(r#"{"ElementsAndBytes":{"elements":3,"bytes":12}}"#, &[("elements_per_s", 3.0), ("bytes_per_s", 12.0)]);
        check(r#"{"Elements":0}"#, &[]);
        check(r#"{"Furlongs":1}"#, &[]);
    }

    /// As the cases have it of an import.
    #[test]
    fn a_benchmark_at_fault_fails_alone_in_a_suite() {
        let check = |benchmark: &str, sample: &str, words: &str| {
            let outputs = [folder("bad", benchmark, sample), folder("g/f", NAMED, SAMPLED)].concat();
            let reported = read("crate", &outputs).expect("there are benchmarks");
            assert!(reported[0].result.as_ref().is_err_and(|reason| reason.contains(words)), "{reported:?}");
            assert!(reported.len() == 2 && reported[1].result.is_ok(), "the other one is read");
        };
        let named = NAMED.replace("\"g\"", "\"bad\"").replace("\"g/f\"", "\"bad/f\"");
        check("{", SAMPLED, "`new/benchmark.json` cannot be read");
        check(&named, "[]", "`new/sample.json` cannot be read");
        check(&named, r#"{"iters":[1],"times":[]}"#, "has 0 times of 1 samples");
        check(&named, r#"{"iters":[],"times":[]}"#, "has 0 times of 0 samples");
        check(&named, r#"{"iters":[0],"times":[1]}"#, "a sample is inf, which is not a number");
        check(&named, r#"{"iters":[1],"times":[-1]}"#, "more than zero is needed");
    }

    #[test]
    fn what_is_missing_or_there_twice_fails_alone() {
        let [named, sampled] = folder("g/f", NAMED, SAMPLED);
        let lone = read("crate", &[named]).expect("there is a benchmark");
        assert_eq!(lone[0].result, Err("this run of the bench wrote no `new/sample.json` for it".to_owned()));
        let nameless = read("crate", &[sampled]).expect("there is a benchmark");
        assert_eq!((nameless[0].benchmark.id().as_str(), nameless[0].result.is_err()), ("crate/g/f @default", true));
        let twice = ["a", "b"].map(|name| folder(name, NAMED, SAMPLED)).concat();
        let reported = read("crate", &twice).expect("there is a benchmark");
        assert!(reported.len() == 1 && reported[0].result.is_err(), "{reported:?}");
        assert!(matches!(read("crate", &[]), Err(FormatError::Nothing(_))));
    }
}
