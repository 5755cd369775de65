//! One report: its devices, and the states of its benchmarks.

use std::collections::BTreeMap;

use serde_json::Value;

use super::state::{self, Times};
use crate::outputs;
use crate::source::{self, Source};
use crate::{FormatError, LONGEST_PREFIX, field, json};
use sprag_model::foreign::Output;
use sprag_model::imported::ImportedRun;

/// The version of the file that this build reads.
const VERSION: u64 = 1;

/// Reads a report; `outputs` are all files, among which those of its times are.
pub(super) fn read(output: &Output, outputs: &[Output]) -> Result<Source, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let version = value.pointer("/meta/version/json/major").and_then(Value::as_u64);
    if let Some(version) = version.filter(|version| *version != VERSION) {
        let reason = format!("has version {version}, this build reads {VERSION}; a newer sprag may");
        return Err(outputs::schema(output, reason));
    }
    let Some(Value::Array(benchmarks)) = value.get("benchmarks") else {
        return Err(outputs::schema(output, "is no report of nvbench: it has no list `benchmarks`"));
    };
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
            entries.push(state::entry(name, state, place, &mut times));
        }
        source::check_count(output, entries.len())?;
    }
    let mut notes = Vec::new();
    if times.missing > 0 {
        let count = times.missing;
        notes.push(format!("{} names {count} files of times that are not there: summaries are taken", output.name));
    }
    let read: Vec<&Output> = std::iter::once(output).chain(times.used).collect();
    let digest = source::digest(&read);
    let devices = value.get("devices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let tool_version = value.pointer("/meta/version/nvbench/string").and_then(Value::as_str).map(field::told);
    let run = ImportedRun { facts: facts(devices), entries, digest, ..ImportedRun::default() };
    Ok(Source { run, tool_version, notes })
}

/// What the report tells of its devices: all facts of one device, or of several their models alone.
fn facts(devices: &[Value]) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut models: Vec<String> =
        devices.iter().filter_map(|device| field::text(device, "name")).map(field::told).collect();
    models.dedup();
    models.truncate(16);
    if !models.is_empty() {
        facts.insert("gpu_model".to_owned(), models.join(", "));
    }
    let [device] = devices else { return facts };
    let named = [
        ("gpu_multiprocessors", "number_of_sms"),
        ("gpu_memory_bytes", "global_memory_size"),
        ("gpu_l2_bytes", "l2_cache_size"),
        ("gpu_ecc", "ecc_state"),
    ];
    named.iter().for_each(|(name, key)| field::fact(&mut facts, name, device.get(key)));
    if let Some(version) = field::count(device, "sm_version") {
        let capability = format!("{}.{}", version / 100, version % 100 / 10);
        facts.insert("gpu_compute_capability".to_owned(), capability);
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    #[test]
    fn a_device_is_described_as_records_do() {
        let sample = golden::sample("nvbench", "nvbench.json");
        let source = read(&sample, std::slice::from_ref(&sample)).expect("it is read");
        let check = |name: &str, value: &str| assert_eq!(source.run.facts[name], value);
        check("gpu_model", "NVIDIA H200");
        check("gpu_compute_capability", "9.0");
        check("gpu_multiprocessors", "132");
        check("gpu_memory_bytes", "150754820096");
        check("gpu_ecc", "on");
        assert_eq!(source.tool_version.as_deref(), Some("0.1.0"));
        assert_eq!(source.run.commit, None, "the commit in the file is that of nvbench");
    }

    #[test]
    fn what_is_no_report_is_refused() {
        let check = |text: &str, words: &str| {
            let output = Output { name: "n.json".to_owned(), bytes: text.as_bytes().to_vec() };
            let error =
                read(&output, std::slice::from_ref(&output)).map(|_| ()).expect_err("it is refused").to_string();
            assert!(error.starts_with("n.json ") && error.contains(words), "{error}");
        };
        check("{}", "no list `benchmarks`");
        check(r#"{"meta":{"version":{"json":{"major":2}}},"benchmarks":[]}"#, "has version 2");
        check(r#"{"benchmarks":[{"states":[]}]}"#, "no name at `benchmarks[0]`");
        let long = "n".repeat(LONGEST_PREFIX + 1);
        check(
            &format!(r#"{{"benchmarks":[{{"name":"{long}"}}]}}"#),
            "no name of 4096 bytes or less at `benchmarks[0]`",
        );
        check(r#"{"benchmarks":[{"name":"a"}]}"#, "no list `states` at `benchmarks[0]`");
        check(r#"{"benchmarks":[],"benchmarks":[]}"#, "stands twice");
        check(r#"{"benchmarks":[{"name":"a","states":[}]}"#, "line 1");
    }
}
