//! The folder of Criterion as a run of its own, with what Criterion made of its samples.
//!
//! Read are the samples of each benchmark's newest run, as for a suite. Beside them stand Criterion's own estimates:
//! `typical`, which it prints (the slope, else the mean), and `median_estimate`. A benchmark is called after its full
//! id, and has the name and the parameter that a suite gives it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::folder::{self, Files, Identity, PARAMETER};
use crate::unique;
use crate::{FormatError, outputs, quantity};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, Imported, ImportedRun, Observation};
use sprag_model::metric::Metric;

/// The files of a folder of results that are read.
pub const FILES: &[&str] = &["/new/benchmark.json", "/new/sample.json", "/new/estimates.json"];

/// Whether these are files of a folder of Criterion.
pub fn recognises(outputs: &[Output]) -> bool {
    let has = |file: &str| outputs.iter().any(|output| output.name.ends_with(file));
    has("/new/benchmark.json") && has("/new/sample.json")
}

/// Reads a folder of results.
///
/// # Errors
/// When there is no benchmark in it, or too many. One that is at fault alone is part of the result.
pub fn read(outputs: &[Output]) -> Result<Imported, FormatError> {
    let folders = folder::folders(outputs)?;
    let read = |(folder, files): (&&str, &Files<'_>)| {
        benchmark(files).unwrap_or_else(|reason| outputs::entry(folder, Err(reason)))
    };
    let entries = unique::unique_entries(folders.iter().map(read).collect());
    let used: Vec<&Output> = outputs.iter().filter(|output| folder::folder_and_file(output).is_some()).collect();
    let run = ImportedRun { entries, digest: outputs::digest(&used), ..ImportedRun::default() };
    Ok(Imported { tool: "criterion".to_owned(), tool_version: None, runs: vec![run], notes: Vec::new() })
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

fn benchmark(files: &Files<'_>) -> Result<Entry, String> {
    let identity: Identity = folder::json(files, "benchmark.json")?;
    let parameter = identity.parameter();
    let full_id = || [&identity.name()].into_iter().map(String::as_str).chain(parameter).collect::<Vec<_>>().join("/");
    let series = identity.full_id.clone().filter(|id| !id.is_empty()).unwrap_or_else(full_id);
    let found = folder::json(files, "sample.json")
        .and_then(folder::samples)
        .and_then(|samples| outputs::sampled(Metric::time(), "ns", "times", samples));
    let found = found.map(|time| with_work(time, identity.throughput.as_ref()));
    let mut entry = outputs::entry(&series, found);
    entry.name = identity.name();
    entry.params.extend(parameter.map(|value| (PARAMETER.to_owned(), value.to_owned())));
    if let Ok(estimates) = folder::json::<Estimates>(files, "estimates.json") {
        let typical = quantity::to_base(estimates.slope.unwrap_or(estimates.mean).point_estimate, 1e-9);
        entry.extras.insert("typical".to_owned(), json!(typical));
        entry
            .extras
            .insert("median_estimate".to_owned(), json!(quantity::to_base(estimates.median.point_estimate, 1e-9)));
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
    let rates: Vec<Observation> = folder::work(throughput).into_iter().filter_map(rate).collect();
    std::iter::once(time).chain(rates).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use sprag_model::imported::EntryStatus;

    fn output(name: &str, text: &str) -> Output {
        Output { name: name.to_owned(), bytes: text.as_bytes().to_vec() }
    }

    const SAMPLED: &str = r#"{"iters":[2.0,4.0],"times":[20.0,44.0]}"#;

    #[test]
    fn the_golden_folder_gives_the_expected_rows() {
        golden::check("criterion", read);
        let run = &read(&golden::samples("criterion")).expect("it is fine").runs[0];
        assert_eq!(run.entries.len(), 3);
        let first = &run.entries[0];
        assert_eq!((first.name.as_str(), first.params["parameter"].as_str()), ("tile_pack/cpu_ref", "kmax32"));
        let rate = &first.observations[1];
        assert_eq!((rate.metric.name.as_str(), rate.n), ("elements_per_s", 20));
        assert_eq!(rate.value, 32.0 / first.observations[0].value);
        golden::recognised(recognises, &["criterion"]);
    }

    #[test]
    fn an_older_folder_without_estimates_is_read() {
        let named = r#"{"group_id":"g","function_id":"f","value_str":"8","throughput":{"Bytes":4}}"#;
        let outputs = [output("g/f/8/new/benchmark.json", named), output("g/f/8/new/sample.json", SAMPLED)];
        let imported = read(&outputs).expect("it is fine");
        let [entry] = &imported.runs[0].entries[..] else { panic!("one entry") };
        assert_eq!((entry.series.as_str(), entry.name.as_str()), ("g/f/8", "g/f"));
        assert_eq!(entry.params.get("parameter").map(String::as_str), Some("8"));
        assert_eq!(entry.extras.keys().collect::<Vec<_>>(), ["throughput"]);
        assert_eq!(entry.observations[1].metric.name, "bytes_per_s");
    }

    #[test]
    fn a_benchmark_at_fault_fails_alone() {
        let named = |id: &str| format!(r#"{{"group_id":"{id}","full_id":"{id}"}}"#);
        let check = |benchmark: &str, sample: &str, series: &str, words: &str| {
            let outputs = [
                output("bad/new/benchmark.json", benchmark),
                output("bad/new/sample.json", sample),
                output("fine/new/benchmark.json", &named("fine")),
                output("fine/new/sample.json", SAMPLED),
            ];
            let run = read(&outputs).expect("there are benchmarks").runs.remove(0);
            let EntryStatus::Failed(reason) = &run.entries[0].status else { panic!("it has failed") };
            assert!(reason.contains(words), "{reason}");
            assert_eq!((run.entries[0].series.as_str(), run.entries[0].observations.len()), (series, 0));
            assert!(run.entries.len() == 1 || run.entries[1].status == EntryStatus::Ok);
        };
        check("{", SAMPLED, "bad", "cannot be read");
        check(&named("x"), r#"{"iters":[1],"times":[NaN]}"#, "x", "cannot be read");
        check(&named("x"), r#"{"iters":[1],"times":[0]}"#, "x", "more than zero is needed");
        check(&named("fine"), SAMPLED, "fine", "is reported more than once");
        assert!(matches!(read(&[output("a.json", "{}")]), Err(FormatError::Nothing(_))));
    }

    #[test]
    fn damage_is_no_panic() {
        golden::survives(&golden::samples("criterion"), read);
    }
}
