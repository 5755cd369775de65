//! Which of the seed's files one is, and what it tells of time and circumstances.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::{kept, report};
use crate::{FormatError, field, json, outputs};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, Imported, ImportedRun};

/// How the names of the files end.
pub const FILES: &[&str] = &[".json"];

/// What the names of the seed's suites begin with.
const SUITES: &str = "\"apex_x_";

/// What a report tells of its circumstances, by where it stands, and what a record calls it.
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

/// Whether there is a file of the seed among the outputs: an object whose `suite` is one of its own.
pub fn recognises(outputs: &[Output]) -> bool {
    outputs.iter().any(is_ours)
}

fn is_ours(output: &Output) -> bool {
    let start = outputs::start(output);
    let names_suite =
        |after: &str| after.trim_start().strip_prefix(':').is_some_and(|one| one.trim_start().starts_with(SUITES));
    start.trim_start_matches('\u{feff}').trim_start().starts_with('{')
        && start.split("\"suite\"").skip(1).any(names_suite)
}

/// Reads files, each as a run; of several outputs those that are the seed's.
///
/// # Errors
/// When one cannot be read, or when none holds a benchmark, as of a suite that was skipped.
pub fn read(outputs: &[Output]) -> Result<Imported, FormatError> {
    let (mut notes, mut runs) = (Vec::new(), Vec::new());
    let alone = outputs.len() == 1;
    for output in outputs.iter().filter(|output| alone || is_ours(output)) {
        let Value::Object(fields) = json::parse_with_not_finite(output)? else {
            return Err(outputs::schema(output, "is no object"));
        };
        let document = Value::Object(fields);
        let entries = entries(&document, output, &mut notes)?;
        if entries.is_empty() {
            let reason = document.get("reason").and_then(Value::as_str).unwrap_or("it lists none");
            let reason = format!("holds no benchmark: {}", reason.escape_debug());
            if alone {
                return Err(outputs::schema(output, reason));
            }
            notes.push(format!("{} {reason}", output.name));
            continue;
        }
        runs.push(ImportedRun {
            suite: document.get("suite").and_then(Value::as_str).map(str::to_owned),
            time: time(&document, output, &mut notes),
            facts: facts(&document),
            entries: outputs::counted(&output.name, entries)?,
            digest: outputs::digest(&[output]),
            ..ImportedRun::default()
        });
    }
    match runs.is_empty() {
        true => Err(FormatError::Nothing("the folder of Apex-X".to_owned())),
        false => Ok(Imported { tool: "apex-x".to_owned(), tool_version: None, runs, notes }),
    }
}

/// The benchmarks of a file of whichever kind.
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
        (Some(Value::Array(items)), ..) => kept::trend(items, notes, &output.name).map_err(fault),
        (Some(Value::Object(metrics)), ..) if is_baseline(metrics) => Ok(kept::baseline(metrics)),
        (Some(Value::Object(metrics)), ..) => Ok(report::cpu(metrics, config)),
        (None, Some(Value::Object(benchmarks)), _) => {
            let dtype = document.pointer("/environment/effective_dtype").or_else(|| config.get("dtype"));
            report::gpu(benchmarks, config, dtype.and_then(Value::as_str)).map_err(fault)
        }
        (None, None, Some(Value::Array(cases))) => report::trt(document, cases, config).map_err(fault),
        _ => Err(outputs::schema(output, "has neither `metrics` nor `benchmarks` nor `cases`")),
    }
}

fn time(document: &Value, output: &Output, notes: &mut Vec<String>) -> Option<DateTime<Utc>> {
    let text = document.get("timestamp_utc")?.as_str()?;
    let time = text.parse::<DateTime<Utc>>().ok();
    if time.is_none() {
        notes.push(format!("{}: its `timestamp_utc` is no time", output.name));
    }
    time
}

fn facts(document: &Value) -> BTreeMap<String, String> {
    let fact = |(path, name): &(&str, &str)| {
        let text = document.get("environment")?.pointer(path)?.as_str().filter(|text| !text.is_empty())?;
        Some(((*name).to_owned(), field::told(text)))
    };
    FACTS.iter().filter_map(fact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use sprag_model::imported::EntryStatus;

    fn output(text: &str) -> Output {
        Output { name: "r.json".to_owned(), bytes: text.as_bytes().to_vec() }
    }

    fn run(text: &str) -> ImportedRun {
        read(&[output(text)]).expect("it is fine").runs.remove(0)
    }

    fn told(run: &ImportedRun) -> Vec<String> {
        let of = |entry: &Entry| {
            let found: Vec<String> = entry
                .observations
                .iter()
                .map(|one| format!("{}={}", one.metric.name, (one.value * 1e9).round()))
                .collect();
            format!("{} {}", entry.series, found.join(" "))
        };
        run.entries.iter().map(of).collect()
    }

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

    #[test]
    fn a_report_of_the_cpu_suite_is_read() {
        let (name, text) = golden_texts("perf_compare", "/current_json_text").remove(0);
        assert_eq!(name, "shipped_baseline_vs_recorded_run");
        let run = run(&text);
        let expected = [
            "fusion_gate time=3039750",
            "infer time=266833 time_p95=782500",
            "tile_pack time=457584",
            "tile_unpack time=1902625",
        ];
        assert_eq!(told(&run), expected);
        assert_eq!((run.suite.as_deref(), run.entries[1].observations[0].n), (Some("apex_x_cpu_perf_regression"), 15));
        assert_eq!(run.entries[1].params["input_shape"], "1x3x128x128");
        assert_eq!(run.entries[0].params.keys().collect::<Vec<_>>(), ["tile_shape", "tile_size"]);
        assert_eq!(run.facts["platform"], "macOS-26.3-arm64-arm-64bit-Mach-O");
    }

    #[test]
    fn a_report_of_the_gpu_suite_is_read() {
        let (_, text) = golden_texts("report_markdown", "/report").remove(0);
        let run = run(&text);
        assert_eq!(run.entries.len(), 12);
        let pack = &run.entries[1];
        assert_eq!((pack.series.as_str(), pack.name.as_str()), ("tile_ops.tilepack.dispatch", "tile_ops.tilepack"));
        assert_eq!((pack.variant.as_deref(), pack.params["dtype"].as_str()), (Some("dispatch"), "float16"));
        let found: Vec<_> = pack.observations.iter().map(|one| (one.metric.name.as_str(), one.value)).collect();
        let memory = 12.5 * 1_048_576.0;
        let expected = [("time", 0.001), ("time_p95", 0.0015), ("peak_memory", memory), ("tiles_per_s", 32000.0)];
        assert_eq!(found, expected);
        assert_eq!((&pack.extras["backend"], run.entries[0].extras.len()), (&Value::from("triton"), 0));
        let plugin = run.entries.iter().find(|entry| entry.series == "tilessm.tensorrt_plugin").expect("it is there");
        assert_eq!(plugin.status, EntryStatus::Skipped("missing_plugin_library".to_owned()));
        assert_eq!(run.time.map(|time| time.to_rfc3339()).as_deref(), Some("2026-02-11T00:00:00+00:00"));
    }

    #[test]
    fn a_sweep_is_read_with_its_summary() {
        let texts = golden_texts("perf_compare", "/current_json_text");
        let (_, text) = texts.iter().find(|(name, _)| name == "trt_pass").expect("it is there");
        let run = run(text);
        let expected = [
            "case.default time=2500000 time_p95=3000000 frames_per_s=400000000000",
            "case.case_001_1_3_128_128 time=3500000 time_p95=4100000",
            "case.case_002_1_3_256_256 ",
            "summary time_min=2000000 time=3000000 time_max=4000000",
        ];
        assert_eq!(told(&run), expected);
        assert_eq!(run.entries[2].status, EntryStatus::Skipped("engine_not_found".to_owned()));
    }

    #[test]
    fn baselines_keep_tolerances_and_trends_verdicts() {
        let (_, text) = golden_texts("perf_compare", "/baseline_json_text").remove(0);
        let infer = &run(&text).entries[1];
        assert_eq!((infer.series.as_str(), infer.observations.len()), ("infer", 2));
        let tolerance = &infer.extras["tolerances"]["time_p95"];
        assert_eq!((tolerance["ratio"].as_f64(), tolerance["absolute"].as_f64()), (Some(1.0), Some(0.005)));
        let trends = golden_texts("perf_compare", "/expected/trend_json_text");
        let (_, text) = trends.iter().find(|(name, _)| name == "gpu_skipped_status_and_missing").expect("it is there");
        let text = text.replace("__TIMESTAMP__", "2026-11-21T01:41:59.155515Z");
        let mut imported = read(&[output(&text)]).expect("it is fine");
        let run = imported.runs.remove(0);
        assert!(imported.notes[0].contains("did not have the status"), "{:?}", imported.notes);
        assert_eq!(run.entries[0].status, EntryStatus::Skipped("the report does not hold it".to_owned()));
        assert_eq!(run.entries[0].extras["verdicts"]["time"]["status"], "missing");
        assert_eq!(run.time.map(|time| time.timestamp_subsec_micros()), Some(155_515));
        let (_, text) = trends.iter().find(|(name, _)| name == "nan_current_fails").expect("it is there");
        let failed = read(&[output(text)]).expect("it is read").runs.remove(0);
        assert!(matches!(&failed.entries[0].status, EntryStatus::Failed(why) if why.contains("`current_ms` is NaN")));
    }

    /// A trend file has the times of its report, wherever both have them.
    #[test]
    fn a_trend_and_its_report_tell_the_same() {
        let reports: BTreeMap<String, String> =
            golden_texts("perf_compare", "/current_json_text").into_iter().collect();
        let mut compared = 0;
        for (name, trend) in golden_texts("perf_compare", "/expected/trend_json_text") {
            let (Ok(trend), Ok(report)) = (read(&[output(&trend)]), read(&[output(&reports[&name])])) else { continue };
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
    fn an_impossible_figure_fails_alone() {
        let check = |value: &str, words: &str| {
            let run = run(&format!(r#"{{"metrics": {{"bad_p50_ms": {value}, "fine_p50_ms": 1, "none_ms": null}}}}"#));
            let EntryStatus::Failed(reason) = &run.entries[0].status else { panic!("it has failed") };
            assert!(reason.contains(words), "{reason}");
            assert_eq!((run.entries.len(), &run.entries[1].status), (2, &EntryStatus::Ok));
        };
        check("0", "its `bad_p50_ms` is 0 s, where more than zero is needed");
        check("NaN", "its `bad_p50_ms` is NaN");
        check("-Infinity", "its `bad_p50_ms` is -inf");
        check("\"fast\"", "its `bad_p50_ms` is no number");
        check("true", "is no number");
    }

    #[test]
    fn what_holds_no_benchmark_is_refused() {
        let check = |text: &str, words: &str| {
            let error = read(&[output(text)]).expect_err("it is refused").to_string();
            assert!(error.contains("r.json") && error.contains(words), "{error}");
        };
        check("", "is empty");
        check("[]", "is no object");
        check("{}", "has neither `metrics` nor `benchmarks` nor `cases`");
        check(r#"{"metrics": 1}"#, "has neither");
        check(r#"{"benchmarks": {}, "reason": "cuda_unavailable"}"#, "holds no benchmark: cuda_unavailable");
        check(r#"{"metrics": [{"status": "pass"}]}"#, "names no `metric` in item 1");
        check(r#"{"cases": [{"status": "ok"}]}"#, "has no `label` of case 1");
        check(r#"{"metrics": {"a_ms": 1, "a_ms": 2}}"#, "stands twice");
        let long = "n".repeat(4097);
        check(
            &format!(r#"{{"benchmarks": {{"{long}": {{"p50_ms": 1}}}}}}"#),
            "more than 4096 bytes below `benchmarks`",
        );
        let many: Vec<String> = (0..=outputs::MOST_READ).map(|number| format!(r#""{number}_ms": 1"#)).collect();
        check(&format!(r#"{{"metrics": {{{}}}}}"#, many.join(",")), "lists 50001 benchmarks");
        assert!(matches!(read(&[output("{}"), output("{}")]), Err(FormatError::Nothing(_))));
    }

    #[test]
    fn the_suite_is_what_is_recognised_and_damage_is_no_panic() {
        golden::recognised(recognises, &[]);
        let check = |text: &str, expected: bool| assert_eq!(recognises(&[output(text)]), expected, "{text}");
        check(r#"{"metrics": {}, "suite" : "apex_x_cpu_perf_regression"}"#, true);
        check(r#"{"suite": "other"}"#, false);
        check(r#"["suite", "apex_x_gpu_benchmark"]"#, false);
        for (_, text) in golden_texts("report_markdown", "/report") {
            golden::survives(&[output(&text)], read);
        }
    }
}
