//! The folder that a Criterion bench leaves (`target/criterion`), of Criterion 0.3 to 0.8.
//!
//! Each benchmark has a folder, whose `new/` is of the newest run: `benchmark.json` names it, and `sample.json` holds
//! `times[i]`, the nanoseconds that `iters[i]` calls took together. The samples are `times[i] / iters[i]`. Criterion's
//! own estimates are left alone: a mean or a slope moves with every interruption, the median of samples does not.
//!
//! A benchmark is called after its group and function; the parameter of a parametrised one is a parameter here too.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::unique::unique;
use crate::{FormatError, MOST_BENCHMARKS};
use sprag_model::benchmark::Benchmark;
use sprag_model::foreign::{DEFAULT_VARIANT, Output, Reported, ReportedMetric, recordable};
use sprag_model::metric::{LARGEST, Metric};

/// The files of a folder of results that are read.
pub const FILES: &[&str] = &["/new/benchmark.json", "/new/sample.json"];

/// The name of the parameter of a parametrised bench.
pub(super) const PARAMETER: &str = "parameter";

/// Reads the files of a folder of results, named relative to it, as the benchmarks of a suite.
///
/// # Errors
/// When there is no benchmark in it, or too many. One that is at fault alone is part of the result.
pub fn read(suite: &str, outputs: &[Output]) -> Result<Vec<Reported>, FormatError> {
    let folders = folders(outputs)?;
    let read = |(place, (folder, files)): (usize, (&&str, &Files<'_>))| {
        benchmark(suite, files).unwrap_or_else(|reason| Reported::failed(suite, folder, place + 1, reason))
    };
    Ok(unique(folders.iter().enumerate().map(read).collect()))
}

/// The files of the newest run of one benchmark, by name.
pub(super) type Files<'a> = BTreeMap<&'a str, &'a [u8]>;

/// The benchmarks of a folder of results: their folders, each with its files.
pub(super) fn folders(outputs: &[Output]) -> Result<BTreeMap<&str, Files<'_>>, FormatError> {
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
pub(super) fn folder_and_file(output: &Output) -> Option<(&str, &str)> {
    output.name.rsplit_once("/new/")
}

/// `benchmark.json`; what it holds beyond is of no use here.
#[derive(Deserialize)]
pub(super) struct Identity {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
    pub(super) throughput: Option<Value>,
    pub(super) full_id: Option<String>,
}

impl Identity {
    /// Its group and its function.
    pub(super) fn name(&self) -> String {
        let parts = [Some(&self.group_id), self.function_id.as_ref()].into_iter().flatten();
        parts.map(String::as_str).filter(|part| !part.is_empty()).collect::<Vec<&str>>().join("/")
    }

    /// The value of a parametrised bench.
    pub(super) fn parameter(&self) -> Option<&str> {
        self.value_str.as_deref().filter(|value| !value.is_empty())
    }
}

/// `sample.json`.
#[derive(Deserialize)]
pub(super) struct Sampled {
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
pub(super) fn json<T: for<'a> Deserialize<'a>>(files: &Files<'_>, name: &str) -> Result<T, String> {
    let bytes = files.get(name).ok_or_else(|| format!("this run of the bench wrote no `new/{name}` for it"))?;
    serde_json::from_slice(bytes).map_err(|error| format!("its `new/{name}` cannot be read: {error}"))
}

/// Seconds a call, one a sample.
pub(super) fn samples(sampled: Sampled) -> Result<Vec<f64>, String> {
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
pub(super) fn work(throughput: Option<&Value>) -> Vec<(String, f64)> {
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use sprag_base::stats::describe;

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
}
