//! The folder that a Criterion bench leaves (`target/criterion`), of Criterion 0.3 to 0.8: read for a suite, and imported as
//! a run of its own.
//!
//! Each benchmark has a folder, whose `new/` is of the newest run: `benchmark.json` names it, and `sample.json` holds
//! `times[i]`, the nanoseconds that `iters[i]` calls took together. The samples are `times[i] / iters[i]`. Criterion's
//! own estimates are extras of an import: `typical`, which it prints (the slope, else the mean), and `median_estimate`. A
//! mean or a slope moves with every interruption, the median of samples does not.
//!
//! A benchmark is called after its group and function; the parameter of a parametrised one is a parameter here too.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::Format;
use crate::outputs::unique;
use crate::{FormatError, MOST_BENCHMARKS, outputs, quantity};
use sprag_model::benchmark::Benchmark;
use sprag_model::foreign::{DEFAULT_VARIANT, Output, Reported, ReportedMetric, recordable};
use sprag_model::imported::{Entry, Imported, Observation};
use sprag_model::metric::{LARGEST, Metric};

pub(crate) const FORMAT: Format = Format {
    name: "criterion",
    title: "the folder that a bench of Criterion leaves",
    recognises,
    read: import,
    files: &["/new/benchmark.json", "/new/sample.json", "/new/estimates.json"],
};

/// The files of a folder of results that are read.
pub const FILES: &[&str] = &["/new/benchmark.json", "/new/sample.json"];

/// The name of the parameter of a parametrised bench.
const PARAMETER: &str = "parameter";

/// Reads the files of a folder of results, named relative to it, as the benchmarks of a suite.
pub fn read(suite: &str, outputs: &[Output]) -> Result<Vec<Reported>, FormatError> {
    let folders = folders(outputs)?;
    let read = |(place, (folder, files)): (usize, (&&str, &Files<'_>))| {
        benchmark(suite, files).unwrap_or_else(|reason| Reported::failed(suite, folder, place + 1, reason))
    };
    Ok(unique(folders.iter().enumerate().map(read).collect()))
}

/// The files of the newest run of one benchmark, by name.
type Files<'a> = BTreeMap<&'a str, &'a [u8]>;

/// The benchmarks of a folder of results: their folders, each with its files.
fn folders(outputs: &[Output]) -> Result<BTreeMap<&str, Files<'_>>, FormatError> {
    let mut folders: BTreeMap<&str, Files<'_>> = BTreeMap::new();
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

/// The folder of the benchmark that a file is of, and its name, where it is of a newest run.
fn folder_and_file(output: &Output) -> Option<(&str, &str)> {
    output.name.rsplit_once("/new/")
}

/// `benchmark.json`; what it holds beyond is of no use here.
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

/// `sample.json`.
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

/// The file of a benchmark; the fault says which and why.
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

/// The throughputs that a bench declares, such as `{"Elements": 32}`; a kind that is not known is left alone.
fn work(throughput: Option<&Value>) -> Vec<(String, f64)> {
    let count = |value: &Value| value.as_f64().filter(|count| (1.0..=LARGEST).contains(count));
    let Some(kinds) = throughput.and_then(Value::as_object) else { return Vec::new() };
    let mut work = Vec::new();
    for (kind, value) in kinds {
        match (kind.as_str(), value) {
            ("Elements", value) => work.extend(count(value).map(|count| ("elements_per_s".to_owned(), count))),
            ("Bytes" | "BytesDecimal", value) => {
                work.extend(count(value).map(|count| ("bytes_per_s".to_owned(), count)))
            }
            ("Bits", value) => work.extend(count(value).map(|count| ("bits_per_s".to_owned(), count))),
            ("ElementsAndBytes", Value::Object(both)) => {
                let named = [("elements", "elements_per_s"), ("bytes", "bytes_per_s")];
                work.extend(named.iter().filter_map(|(key, name)| Some(((*name).to_owned(), count(both.get(*key)?)?))));
            }
            _ => {}
        }
    }
    work
}

/// Whether these are files of a folder of Criterion.
fn recognises(outputs: &[Output]) -> bool {
    let has = |file: &str| outputs.iter().any(|output| output.name.ends_with(file));
    has("/new/benchmark.json") && has("/new/sample.json")
}

fn import(outputs: &[Output]) -> Result<Imported, FormatError> {
    let folders = folders(outputs)?;
    let read = |(folder, files): (&&str, &Files<'_>)| {
        imported_benchmark(files).unwrap_or_else(|reason| outputs::entry(folder, Err(reason)))
    };
    let entries = outputs::unique_entries(folders.iter().map(read).collect());
    let used: Vec<&Output> = outputs.iter().filter(|output| folder_and_file(output).is_some()).collect();
    outputs::imported("criterion", vec![outputs::run(entries, &used)], Vec::new())
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
    let found = json(files, "sample.json")
        .and_then(samples)
        .and_then(|samples| outputs::sampled(Metric::time(), "ns", "times", samples));
    let found = found.map(|time| with_work(time, identity.throughput.as_ref()));
    let mut entry = outputs::entry(&series, found);
    entry.name = identity.name();
    entry.params.extend(parameter.map(|value| (PARAMETER.to_owned(), value.to_owned())));
    if let Ok(estimates) = json::<Estimates>(files, "estimates.json") {
        let typical = quantity::to_base(estimates.slope.unwrap_or(estimates.mean).point_estimate, 1e-9);
        entry.extras.insert("typical".to_owned(), serde_json::json!(typical));
        entry.extras.insert(
            "median_estimate".to_owned(),
            serde_json::json!(quantity::to_base(estimates.median.point_estimate, 1e-9)),
        );
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
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::golden;
    use sprag_base::stats::describe;
    use sprag_model::imported::EntryStatus;

    fn output(name: &str, text: &str) -> Output {
        Output { name: name.to_owned(), bytes: text.as_bytes().to_vec() }
    }

    const NAMED: &str = r#"{"group_id":"g","function_id":"f","value_str":null,"throughput":null,"full_id":"g/f"}"#;
    const SAMPLED: &str = r#"{"sampling_mode":"Flat","iters":[2.0,4.0,5.0],"times":[20.0,44.0,500.0]}"#;

    fn one(benchmark: &str, sample: &str) -> Reported {
        let outputs = [output("g/f/new/benchmark.json", benchmark), output("g/f/new/sample.json", sample)];
        let reported = read("crate", &outputs).expect("there is a benchmark");
        assert_eq!(reported.len(), 1);
        reported.into_iter().next().expect("there is one")
    }

    /// Every file below a folder, named relative to it.
    fn tree(root: &Path) -> Vec<Output> {
        let (mut folders, mut outputs): (Vec<PathBuf>, Vec<Output>) = (vec![root.to_owned()], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("the folder can be listed") {
                let path = entry.expect("the folder can be listed").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(root).expect("it lies below").to_string_lossy().into_owned();
                    outputs.push(Output { name, bytes: fs::read(path).expect("it can be read") });
                }
            }
        }
        outputs
    }

    #[test]
    fn the_golden_folder_gives_the_expected_rows() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/formats/criterion");
        let expected = fs::read(golden.join("expected.json")).expect("it is there");
        let expected: Vec<Value> = serde_json::from_slice(&expected).expect("it is JSON");
        let reported = read("crate", &tree(&golden.join("criterion"))).expect("there are benchmarks");
        assert_eq!(reported.len(), expected.len());
        for (reported, row) in reported.iter().zip(&expected) {
            let parameter =
                reported.benchmark.params.get(PARAMETER).map(|value| format!("/{value}")).unwrap_or_default();
            assert_eq!(format!("{}{parameter}", reported.benchmark.name), row["series"]);
            let [time] = &reported.result.as_ref().expect("it is fine")[..] else { panic!("one metric") };
            assert_eq!(
                (time.metric.clone(), time.samples.len() as u64),
                (Metric::time(), row["n"].as_u64().expect("a count"))
            );
            let close = |value: Option<f64>, key: &str| {
                let (value, wanted) = (value.expect("there are samples"), row[key].as_f64().expect("a number"));
                assert!((value / wanted - 1.0).abs() < 1e-12, "{key}: {value} for {wanted}");
            };
            close(describe::median(&time.samples), "value");
            close(describe::median(&time.samples), "p50");
            close(describe::quantile(&time.samples, 0.95), "p95");
            close(time.samples.iter().copied().reduce(f64::min), "min");
            let elements = row["throughput"]["Elements"].as_f64();
            assert_eq!(reported.work.first().map(|(_, count)| *count), elements);
        }
    }

    #[test]
    fn a_benchmark_is_called_after_group_function_and_parameter() {
        let check = |group: &str, function: &str, value: &str, id: &str| {
            let text =
                format!(r#"{{"group_id":"{group}","function_id":{function},"value_str":{value},"throughput":null}}"#);
            let reported = one(&text, SAMPLED);
            assert_eq!((reported.benchmark.id().as_str(), reported.result.is_ok()), (id, true));
        };
        check("sort", "null", "null", "crate/sort @default");
        check("sort", "\"quick\"", "null", "crate/sort/quick @default");
        check("sort", "\"quick\"", "\"1000\"", "crate/sort/quick{parameter=1000} @default");
        check("sort", "null", "\"1000\"", "crate/sort{parameter=1000} @default");
        check("a{b}", "\"@c\"", "\"(1, 2)\"", "crate/a_b_/_c{parameter=(1_ 2)} @default");
    }

    #[test]
    fn a_sample_is_time_over_calls() {
        let reported = one(NAMED, SAMPLED);
        let samples = &reported.result.expect("it is fine")[0].samples;
        assert_eq!(samples.iter().map(|seconds| (seconds * 1e10).round()).collect::<Vec<_>>(), [100.0, 110.0, 1000.0]);
    }

    #[test]
    fn work_follows_from_the_declared_throughput() {
        let check = |throughput: &str, expected: &[(&str, f64)]| {
            let work =
                one(&NAMED.replace("\"throughput\":null", &format!("\"throughput\":{throughput}")), SAMPLED).work;
            assert_eq!(work.iter().map(|(name, count)| (name.as_str(), *count)).collect::<Vec<_>>(), expected);
        };
        check("null", &[]);
        check(r#"{"Elements":32}"#, &[("elements_per_s", 32.0)]);
        check(r#"{"BytesDecimal":10}"#, &[("bytes_per_s", 10.0)]);
        check(r#"{"ElementsAndBytes":{"elements":3,"bytes":12}}"#, &[("elements_per_s", 3.0), ("bytes_per_s", 12.0)]);
        check(r#"{"Elements":0}"#, &[]);
        check(r#"{"Furlongs":1}"#, &[]);
    }

    #[test]
    fn a_benchmark_at_fault_fails_alone() {
        let check = |benchmark: &str, sample: &str, words: &str| {
            let outputs = [
                output("bad/new/benchmark.json", benchmark),
                output("bad/new/sample.json", sample),
                output("g/f/new/benchmark.json", NAMED),
                output("g/f/new/sample.json", SAMPLED),
            ];
            let reported = read("crate", &outputs).expect("there are benchmarks");
            let reason = reported[0].result.as_ref().expect_err("it is at fault");
            assert!(reason.contains(words), "{reason}");
            assert!(reported.len() == 2 && reported[1].result.is_ok(), "the other stands");
        };
        let named = NAMED.replace("\"g\"", "\"bad\"");
        check("{", SAMPLED, "`new/benchmark.json` cannot be read");
        check(&named, "[]", "`new/sample.json` cannot be read");
        check(&named, r#"{"iters":[1],"times":[]}"#, "has 0 times of 1 samples");
        check(&named, r#"{"iters":[],"times":[]}"#, "has 0 times of 0 samples");
        check(&named, r#"{"iters":[0],"times":[1]}"#, "a sample is inf, which is no number");
        check(&named, r#"{"iters":[1],"times":[-1]}"#, "more than zero is needed");
        check(&named.replace("bad", &"x".repeat(200)), "{}", "cannot be read");
    }

    #[test]
    fn a_missing_file_or_a_shared_name_is_told() {
        let lone = read("crate", &[output("g/f/new/benchmark.json", NAMED)]).expect("there is a benchmark");
        assert_eq!(lone[0].result, Err("this run of the bench wrote no `new/sample.json` for it".to_owned()));
        let nameless = read("crate", &[output("g/f/new/sample.json", SAMPLED)]).expect("there is a benchmark");
        assert_eq!(nameless[0].benchmark.id(), "crate/g/f @default");
        assert!(nameless[0].result.is_err());
        let twice: Vec<Output> = ["a", "b"]
            .iter()
            .flat_map(|folder| {
                [
                    output(&format!("{folder}/new/benchmark.json"), NAMED),
                    output(&format!("{folder}/new/sample.json"), SAMPLED),
                ]
            })
            .collect();
        let reported = read("crate", &twice).expect("there is a benchmark");
        assert!(reported.len() == 1 && reported[0].result.is_err(), "{reported:?}");
        assert!(matches!(read("crate", &[]), Err(FormatError::Nothing(_))));
    }

    const TWO_SAMPLES: &str = r#"{"iters":[2.0,4.0],"times":[20.0,44.0]}"#;

    #[test]
    fn the_golden_folder_is_imported() {
        let run = &import(&golden::samples("criterion")).expect("it is fine").runs[0];
        assert_eq!(run.entries.len(), 3);
        let first = &run.entries[0];
        assert_eq!((first.name.as_str(), first.params["parameter"].as_str()), ("tile_pack/cpu_ref", "kmax32"));
        let rate = &first.observations[1];
        assert_eq!((rate.metric.name.as_str(), rate.n), ("elements_per_s", 20));
        assert_eq!(rate.value, 32.0 / first.observations[0].value);
    }

    #[test]
    fn an_older_folder_without_estimates_is_read() {
        let named = r#"{"group_id":"g","function_id":"f","value_str":"8","throughput":{"Bytes":4}}"#;
        let outputs = [output("g/f/8/new/benchmark.json", named), output("g/f/8/new/sample.json", TWO_SAMPLES)];
        let imported = import(&outputs).expect("it is fine");
        let [entry] = &imported.runs[0].entries[..] else { panic!("one entry") };
        assert_eq!((entry.series.as_str(), entry.name.as_str()), ("g/f/8", "g/f"));
        assert_eq!(entry.params.get("parameter").map(String::as_str), Some("8"));
        assert_eq!(entry.extras.keys().collect::<Vec<_>>(), ["throughput"]);
        assert_eq!(entry.observations[1].metric.name, "bytes_per_s");
    }

    #[test]
    fn an_imported_benchmark_at_fault_fails_alone() {
        let named = |id: &str| format!(r#"{{"group_id":"{id}","full_id":"{id}"}}"#);
        let check = |benchmark: &str, sample: &str, series: &str, words: &str| {
            let outputs = [
                output("bad/new/benchmark.json", benchmark),
                output("bad/new/sample.json", sample),
                output("fine/new/benchmark.json", &named("fine")),
                output("fine/new/sample.json", TWO_SAMPLES),
            ];
            let run = import(&outputs).expect("there are benchmarks").runs.remove(0);
            let EntryStatus::Failed(reason) = &run.entries[0].status else { panic!("it has failed") };
            assert!(reason.contains(words), "{reason}");
            assert_eq!((run.entries[0].series.as_str(), run.entries[0].observations.len()), (series, 0));
            assert!(run.entries.len() == 1 || run.entries[1].status == EntryStatus::Ok);
        };
        check("{", TWO_SAMPLES, "bad", "cannot be read");
        check(&named("x"), r#"{"iters":[1],"times":[NaN]}"#, "x", "cannot be read");
        check(&named("x"), r#"{"iters":[1],"times":[0]}"#, "x", "more than zero is needed");
        check(&named("fine"), TWO_SAMPLES, "fine", "is reported more than once");
        assert!(matches!(import(&[output("a.json", "{}")]), Err(FormatError::Nothing(_))));
    }
}
