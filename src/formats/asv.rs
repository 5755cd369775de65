//! The results folder of asv (airspeed velocity), versions 1 and 2 of its files.
//!
//! `benchmarks.json` has the units, names of parameters and version of each benchmark. `<machine>/machine.json` describes
//! a machine. Each other `<machine>/*.json` holds the results of one commit in one environment and becomes a run. Of a
//! benchmark with parameters, `result` has one value a combination, the last parameter varying fastest: `null` failed, and
//! `NaN`, which is not JSON, was skipped. The values are in seconds, bytes, or the benchmark's own unit.
//!
//! A file alone is read too; the units of its benchmarks then follow from their names, by asv's convention.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::asv_result::{ResultFile, Suite, entries};
use super::frame::{Format, PART, Read, Recognised, Take};
use super::outputs::{self, Notes, unique_entries};
use super::peek::file_name;
use super::{FormatError, LONGEST_PREFIX, MOST_BENCHMARKS, json};
use sprag_base::digest;
use sprag_model::foreign::Output;
use sprag_model::imported::ImportedRun;

pub(crate) const FORMAT: Format = Format {
    name: "asv",
    title: "results folder of airspeed velocity, or one file of it",
    files: &[".json"],
    recognised: Recognised::Folder(recognises),
    read: Read::InParts(read),
};

const BENCHMARKS: &str = "benchmarks.json";

/// Runs of more bytes of source are no more in memory at once: their results take many times as much.
const PART_BYTES: usize = 2 << 20;

const MACHINE: &str = "machine.json";

/// The longest fact, in characters.
const MOST_FACT: usize = 200;

fn recognises(outputs: &[Output]) -> bool {
    let outputs: Vec<&Output> = outputs.iter().collect();
    match &outputs[..] {
        [one] => is_result(one),
        outputs => root(outputs).is_some() && results(outputs).into_iter().next().is_some_and(is_result),
    }
}

/// A run each file of results.
fn read(outputs: &[&Output], take: Take<'_>) -> Result<(), FormatError> {
    let mut notes = Notes::default();
    let suite = match root(outputs) {
        Some((_, list)) => Suite::read(&json::parse(list)?).map_err(|reason| outputs::schema(list, reason))?,
        None => Suite::default(),
    };
    let mut machines: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for output in outputs.iter().filter(|output| file_name(output) == MACHINE && outputs.len() > 1) {
        if let Value::Object(fields) = json::parse(output)? {
            machines.insert(folder(output), fields);
        }
    }
    let (mut runs, mut bytes) = (Vec::new(), 0);
    for output in results(outputs) {
        let file = ResultFile::read(json::parse_with_not_finite(output)?);
        let file = file.map_err(|reason| outputs::schema(output, reason))?;
        let run = run(output, &file, &suite, machines.get(folder(output)), &mut notes)?;
        if run.entries.is_empty() {
            notes.add("no benchmark that is still the same has a result in it", || output.name.clone());
        } else {
            runs.push(run);
        }
        bytes += output.bytes.len();
        if runs.len() == PART || bytes > PART_BYTES {
            take(outputs::imported("asv", std::mem::take(&mut runs), Vec::new()));
            bytes = 0;
        }
    }
    take(outputs::imported("asv", runs, notes.sentences()));
    Ok(())
}

/// The folder in which the list of benchmarks lies, with a slash at its end, and the list.
fn root<'a>(outputs: &[&'a Output]) -> Option<(&'a str, &'a Output)> {
    let lists = outputs.iter().copied().filter(|output| file_name(output) == BENCHMARKS);
    let list = lists.min_by_key(|output| (output.name.matches('/').count(), &output.name))?;
    Some((list.name.strip_suffix(BENCHMARKS).unwrap_or_default(), list))
}

/// The files of results: those one folder below the list of benchmarks; where there is no list, all.
fn results<'a>(outputs: &[&'a Output]) -> Vec<&'a Output> {
    let root = root(outputs).map(|(root, _)| root);
    let fits = |output: &&Output| {
        let place = match root {
            Some(root) => output.name.strip_prefix(root).is_some_and(|rest| rest.matches('/').count() == 1),
            None => true,
        };
        place && output.name.ends_with(".json") && ![MACHINE, BENCHMARKS].contains(&file_name(output))
    };
    outputs.iter().copied().filter(fits).collect()
}

/// Whether it has the keys of a result. They may come after the results, so all of it is searched.
fn is_result(output: &Output) -> bool {
    let Ok(text) = std::str::from_utf8(&output.bytes) else { return false };
    let keys = ["\"commit_hash\"", "\"requirements\"", "\"results\""];
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{') && keys.iter().all(|key| text.contains(key))
}

fn folder(output: &Output) -> &str {
    output.name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn last_folder(output: &Output) -> Option<String> {
    folder(output).rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

fn run(
    output: &Output,
    file: &ResultFile,
    suite: &Suite,
    machine: Option<&Map<String, Value>>,
    notes: &mut Notes,
) -> Result<ImportedRun, FormatError> {
    let described = |key: &str| {
        let text = match file.params.get(key).or_else(|| machine?.get(key))? {
            Value::String(text) => text.trim().chars().take(MOST_FACT).collect(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
        };
        Some(text).filter(|text: &String| !text.is_empty())
    };
    let variant = environment(file);
    if variant.as_ref().is_some_and(|variant| variant.len() > LONGEST_PREFIX) {
        let reason = format!("has in `python` and `requirements` more than {LONGEST_PREFIX} bytes");
        return Err(outputs::schema(output, reason));
    }
    let mut result = Vec::new();
    for row in &file.rows {
        if suite.is_outdated(&row.name, row.version()) {
            let what = "the result is of another version of its benchmark and is skipped";
            notes.add(what, || format!("{}, `{}`", output.name, row.name.escape_debug()));
            continue;
        }
        result.extend(entries(row, suite, variant.as_deref()));
        if result.len() > MOST_BENCHMARKS {
            return Err(FormatError::Many { name: output.name.clone(), count: result.len() });
        }
    }
    Ok(ImportedRun {
        suite: None,
        commit: Some(file.commit.clone()),
        machine: described("machine").or_else(|| last_folder(output)),
        time: file.rows.iter().filter_map(|row| row.started_at()).min(),
        facts: facts(file, described),
        entries: unique_entries(result),
        digest: digest::sha256_hex(&output.bytes),
    })
}

/// The variant in a matrix of environments, as asv has it: the version of Python and what was installed. A path of an
/// interpreter means nothing to others.
fn environment(file: &ResultFile) -> Option<String> {
    let python = python(file).map(|version| format!("py{version}"));
    let requirements = file.requirements.iter().map(|(name, version)| format!("{name}{version}"));
    let parts: Vec<String> = python.into_iter().chain(requirements).collect();
    (!parts.is_empty()).then(|| parts.join("-"))
}

fn python(file: &ResultFile) -> Option<&str> {
    file.python.as_deref().filter(|python| !python.is_empty() && !python.contains(['/', '\\']))
}

/// The facts that may be published, under the names of a record where it has them.
fn facts(file: &ResultFile, described: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let os = described("os");
    let release = os.as_deref().and_then(|os| os.strip_prefix("Linux ")).map(str::to_owned);
    // asv asks the user for the memory and proposes kilobytes.
    let kilobytes = described("ram").and_then(|ram| ram.parse::<u32>().ok()).map(f64::from);
    let requirements: Vec<String> =
        file.requirements.iter().map(|(name, version)| format!("{name} {version}").trim().to_owned()).collect();
    let facts = [
        ("cpu_model", described("cpu")),
        ("cores", described("num_cpu").filter(|count| count.parse::<u32>().is_ok())),
        ("memory_gib", kilobytes.map(|ram| (ram / 1_048_576.0).round().to_string())),
        ("os_release", release),
        ("os", os),
        ("arch", described("arch")),
        ("python", python(file).map(str::to_owned)),
        ("requirements", (!requirements.is_empty()).then(|| requirements.join(", "))),
    ];
    facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
}
