//! What pytest-benchmark saves: JSON of version 3 to 5, with or without the single rounds.
//!
//! A round is one observation, in seconds for one call. The commit, its branch and whether the working tree had changes
//! are read; the names of the machine and of the committer are not.

use std::collections::BTreeMap;

use serde_json::Value;

use super::frame::{Read, Recognised, Source, check_count};
use super::{Format, FormatError, field, json, peek};
use crate::{outputs, provenance};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, ImportedCommit, ImportedRun, Observation};
use sprag_model::metric::Metric;

pub(super) const FORMAT: Format = Format {
    name: "pytest-benchmark",
    title: "pytest-benchmark, JSON",
    files: &[".json"],
    recognised: Recognised::EachNamed(&[".json"], is_report),
    read: Read::Each("pytest-benchmark", read_file),
};

/// Figures of a benchmark that become extras, in seconds.
const FIGURES: [&str; 4] = ["stddev", "iqr", "q1", "q3"];

fn is_report(output: &Output) -> bool {
    let keys = peek::key_paths(output);
    let has = |all: [&str; 2]| all.iter().all(|key| keys.contains(*key));
    has(["machine_info", "commit_info"]) || has(["benchmarks.stats", "benchmarks.fullname"])
}

fn read_file(output: &Output, _: &[Output]) -> Result<Source, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let benchmarks = json::list(output, &value, "benchmarks", "report of pytest-benchmark")?;
    check_count(&output.name, benchmarks.len())?;
    let mut entries = Vec::with_capacity(benchmarks.len());
    for (place, benchmark) in benchmarks.iter().enumerate() {
        let entry = entry(benchmark);
        entries.push(entry.ok_or_else(|| outputs::schema(output, format!("has no name at `benchmarks[{place}]`")))?);
    }
    let info = value.get("commit_info").unwrap_or(&Value::Null);
    let mut notes = Vec::new();
    let mut facts = facts(value.get("machine_info").unwrap_or(&Value::Null));
    if info.get("dirty").and_then(Value::as_bool) == Some(true) {
        facts.insert("dirty".to_owned(), "yes".to_owned());
        notes.push(format!("{} was measured on a working tree with changes", output.name));
    }
    let time = field::text(&value, "datetime").and_then(provenance::time);
    let run = ImportedRun { commit: commit(info), time, facts, entries, ..ImportedRun::default() };
    let tool_version = field::text(&value, "version").map(field::one_line);
    Ok(Source { run, tool_version, notes, ..Source::default() })
}

fn commit(info: &Value) -> Option<ImportedCommit> {
    let sha = field::text(info, "id").and_then(provenance::commit_id)?;
    let branch = field::text(info, "branch").map(field::one_line).filter(|branch| !branch.starts_with('('));
    let time = field::text(info, "time").and_then(provenance::time);
    Some(ImportedCommit { time, branch, ..provenance::commit(sha) })
}

/// Without the machine's name.
fn facts(machine: &Value) -> BTreeMap<String, String> {
    let cpu = machine.get("cpu").unwrap_or(&Value::Null);
    field::facts([
        // Older versions called it so.
        ("cpu_model", cpu.get("brand_raw").or_else(|| cpu.get("brand"))),
        ("cores", cpu.get("count")),
        ("compiler", machine.get("python_compiler")),
        ("python", machine.get("python_version")),
        ("python_implementation", machine.get("python_implementation")),
        ("os", machine.get("system")),
        ("os_release", machine.get("release")),
        ("architecture", machine.get("machine")),
    ])
}

fn entry(benchmark: &Value) -> Option<Entry> {
    let series = field::text(benchmark, "fullname").or_else(|| field::text(benchmark, "name"))?;
    let stats = benchmark.get("stats").unwrap_or(&Value::Null);
    let ending = field::text(benchmark, "param").map(|param| format!("[{param}]"));
    let name = ending.and_then(|ending| series.strip_suffix(ending.as_str())).unwrap_or(series);
    let params = field::params(benchmark.get("params"));
    let observed = time(stats).map(|time| vec![time]);
    let mut entry = Entry { name: name.to_owned(), params, ..outputs::entry(series, observed) };
    let retained = [
        ("group", benchmark.get("group")),
        ("rounds", stats.get("rounds")),
        ("iterations", stats.get("iterations")),
        (
            "extra_info",
            benchmark.get("extra_info").filter(|info| info.as_object().is_some_and(|info| !info.is_empty())),
        ),
    ];
    let retained = retained.iter().filter_map(|(name, value)| Some(((*name).to_owned(), field::plain((*value)?)?)));
    entry.extras.extend(retained);
    for figure in FIGURES {
        field::extra(&mut entry.extras, figure, stats.get(figure).and_then(Value::as_f64));
    }
    Some(entry)
}

fn time(stats: &Value) -> Result<Observation, String> {
    let metric = Metric::time();
    let value = field::measured(stats, "median", &metric, 1.0)?;
    let samples = field::all_measured(stats, "data", &metric, 1.0)?;
    let rounds = field::count(stats, "rounds").unwrap_or_default();
    let n = rounds.max(samples.len() as u64);
    Ok(Observation { n, ..Observation::sampled(metric, "s", value, samples) })
}
