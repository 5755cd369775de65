//! What Google Benchmark writes: JSON of version 1.0 to 1.9, and CSV.
//!
//! A repetition is one observation: it is the mean over its iterations already. Repetitions of one benchmark make one
//! entry; where a file has aggregates alone, their median counts. Fits of complexity are not measurements. With several
//! threads the real time means something else in some versions of the library, which is why `threads` is an extra.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::frame::{Read, Recognised, Source};
use crate::{Format, FormatError, MOST_BENCHMARKS, field, json, outputs, peek, provenance, table};
use sprag_base::stats::describe;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, ImportedRun, Observation};
use sprag_model::metric::Metric;

pub(super) const FORMAT: Format = Format {
    name: "google-benchmark",
    title: "Google Benchmark, JSON or CSV",
    files: FILES,
    recognised: Recognised::EachNamed(FILES, |output| is_json(output) || is_csv(output)),
    read: Read::Each("google-benchmark", |output, _| if is_csv(output) { read_csv(output) } else { read_json(output) }),
};

const FILES: &[&str] = &[".json", ".csv"];

fn is_json(output: &Output) -> bool {
    let keys = peek::key_paths(output);
    let is_benchmark = ["benchmarks.real_time", "benchmarks.cpu_coefficient", "context.num_cpus"];
    keys.contains("context") && is_benchmark.iter().any(|key| keys.contains(*key))
}

const MOST_COUNTERS: usize = 100;

/// The aggregates of which the first one counts for a benchmark without repetitions.
const STAND_INS: [&str; 2] = ["median", "mean"];

const FITS: [&str; 2] = ["BigO", "RMS"];

#[derive(Debug)]
struct Repetition {
    /// The benchmark, without the name of an aggregate.
    name: String,
    /// Which aggregate it is; none for a repetition.
    aggregate: Option<String>,
    skipped: Option<String>,
    /// Seconds, or why there are none.
    real_time: Result<f64, String>,
    /// Seconds of the processor.
    cpu_time: Option<f64>,
    time_unit: String,
    repetitions: Option<u64>,
    label: Option<String>,
    counters: BTreeMap<String, f64>,
}

impl Repetition {
    /// Whether it is a fit over several benchmarks and not a time.
    fn is_fit(&self) -> bool {
        self.aggregate.as_deref().is_some_and(|aggregate| FITS.contains(&aggregate))
    }
}

fn seconds(time_unit: &str) -> Result<f64, String> {
    match time_unit {
        "ns" => Ok(1e-9),
        "us" => Ok(1e-6),
        "ms" => Ok(1e-3),
        "s" => Ok(1.0),
        _ => Err(format!("its `time_unit` is `{}`, where ns, us, ms or s is needed", field::one_line(time_unit))),
    }
}

/// Recognises aggregates by their names, for reports that do not mark them: `x_mean` is one where there is an `x_stddev`
/// too.
fn name_aggregates(repetitions: &mut [Repetition]) {
    let names: BTreeSet<String> = repetitions.iter().map(|one| one.name.clone()).collect();
    let has = |name: &str, aggregate: &str| names.contains(&format!("{name}_{aggregate}"));
    for one in repetitions {
        let Some((name, aggregate)) = one.name.rsplit_once('_') else { continue };
        let is_aggregate = match aggregate {
            "mean" | "median" | "stddev" | "cv" => has(name, "mean") && has(name, "stddev"),
            "BigO" | "RMS" => has(name, "BigO") && has(name, "RMS"),
            _ => false,
        };
        if is_aggregate {
            one.aggregate = Some(aggregate.to_owned());
            one.name = name.to_owned();
        }
    }
}

/// One entry a benchmark, in the order of the first line of each; fits are left out.
fn entries(repetitions: &[Repetition]) -> Vec<Entry> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Repetition>> = Vec::new();
    for one in repetitions.iter().filter(|one| !one.is_fit()) {
        let place = *places.entry(&one.name).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(one);
    }
    groups.iter().map(|group| entry(group)).collect()
}

fn entry(group: &[&Repetition]) -> Entry {
    let name = group.first().map(|one| one.name.clone()).unwrap_or_default();
    let mut entry = Entry { series: name.clone(), name, ..Entry::default() };
    let measured: Vec<&Repetition> =
        group.iter().copied().filter(|one| one.aggregate.is_none() && one.skipped.is_none()).collect();
    let skipped = group.iter().find_map(|one| one.skipped.as_deref());
    let result = match (&measured[..], skipped) {
        ([], Some(reason)) => {
            entry.status = EntryStatus::Skipped(field::reason(Some(reason)));
            return entry;
        }
        ([], None) => aggregated(group, &mut entry.extras),
        (repeated, _) => repeated_times(repeated, &mut entry.extras),
    };
    outputs::fill(&mut entry, result.map(|observation| vec![observation]));
    entry
}

fn repeated_times(repeated: &[&Repetition], extras: &mut BTreeMap<String, Value>) -> Result<Observation, String> {
    let mut counters: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for one in repeated {
        for (name, value) in &one.counters {
            counters.entry(name).or_default().push(*value);
        }
    }
    for (name, values) in counters.iter().take(MOST_COUNTERS) {
        field::extra(extras, name, describe::median(values));
    }
    let cpu_times: Vec<f64> = repeated.iter().filter_map(|one| one.cpu_time).collect();
    field::extra(extras, "cpu_p50", describe::median(&cpu_times));
    let label = repeated.iter().find_map(|one| one.label.as_deref());
    extras.extend(label.map(|label| ("label".to_owned(), Value::from(field::one_line(label)))));
    let samples = repeated.iter().map(|one| one.real_time.clone()).collect::<Result<Vec<f64>, String>>()?;
    let value = describe::median(&samples).ok_or_else(|| "it has no repetitions".to_owned())?;
    Ok(Observation::sampled(Metric::time(), &repeated[0].time_unit, value, samples))
}

/// The median of repetitions that the file itself does not have.
fn aggregated(group: &[&Repetition], extras: &mut BTreeMap<String, Value>) -> Result<Observation, String> {
    let named = |name: &str| group.iter().find(|one| one.aggregate.as_deref() == Some(name));
    let one = STAND_INS.iter().find_map(|name| named(name));
    let one = one.ok_or_else(|| "it has neither repetitions nor their median or mean".to_owned())?;
    for (name, value) in one.counters.iter().take(MOST_COUNTERS) {
        field::extra(extras, name, Some(*value));
    }
    extras.extend(one.aggregate.clone().map(|aggregate| ("statistic".to_owned(), Value::from(aggregate))));
    extras.extend(one.repetitions.map(|count| ("repetitions".to_owned(), Value::from(count))));
    let spread = named("stddev").and_then(|one| one.real_time.as_ref().ok().copied());
    field::extra(extras, "stddev", spread);
    let observation = Observation::summary(Metric::time(), &one.time_unit, one.real_time.clone()?);
    Ok(Observation { n: one.repetitions.unwrap_or_default(), ..observation })
}

/// The newest version that is read; older files have none.
const SCHEMA_VERSION: u64 = 1;

/// The most lines: some for each repetition of a benchmark.
const MOST_LINES: usize = 25 * MOST_BENCHMARKS;

/// Numbers of a line that are not counters.
const JSON_FIELDS: [&str; 5] =
    ["family_index", "per_family_instance_index", "repetition_index", "real_time", "cpu_time"];

fn read_json(output: &Output) -> Result<Source, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let context = value.get("context").unwrap_or(&Value::Null);
    if let Some(version) = field::count(context, "json_schema_version").filter(|version| *version > SCHEMA_VERSION) {
        let reason = format!("has schema version {version}, this build reads {SCHEMA_VERSION}; a newer sprag can");
        return Err(outputs::schema(output, reason));
    }
    let lines = json::list(output, &value, "benchmarks", "report of Google Benchmark")?;
    if lines.len() > MOST_LINES {
        return Err(outputs::schema(output, format!("has {} lines, at most {MOST_LINES} are read", lines.len())));
    }
    let mut repetitions = Vec::with_capacity(lines.len());
    for (place, line) in lines.iter().enumerate() {
        let read = json_line(line);
        repetitions.push(read.ok_or_else(|| outputs::schema(output, format!("has no name at `benchmarks[{place}]`")))?);
    }
    if lines.iter().all(|line| line.get("run_type").is_none()) {
        name_aggregates(&mut repetitions);
    }
    let run = ImportedRun {
        commit: commit(context).map(provenance::commit),
        time: field::text(context, "date").and_then(provenance::time),
        facts: facts(context),
        entries: entries(&repetitions),
        ..ImportedRun::default()
    };
    let tool_version =
        field::text(context, "library_version").map(|version| field::one_line(version.trim_start_matches('v')));
    let fits = repetitions.iter().filter(|one| one.is_fit()).count();
    let notes = (fits > 0).then(|| format!("{} has {fits} lines of fits, which are not measurements", output.name));
    Ok(Source { run, tool_version, notes: notes.into_iter().collect(), ..Source::default() })
}

/// How programs call the commit that they were built from, without case and signs, the surest first. `--benchmark_context` and
/// `AddCustomContext` take any name.
const COMMIT_NAMES: [&str; 18] = [
    "gitcommit", "gitcommithash", "gitcommitid", "gitcommitsha", "gitsha", "gitsha1", "githash", "githead", "gitrev",
    "gitrevision", "gitdescribe", "gitversion", "githubsha", "commit", "commithash", "commitid", "commitsha", "sha",
];

/// The commit, by its id or at the end of what `git describe` prints.
fn commit(context: &Value) -> Option<String> {
    let plain = |key: &str| key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let id = |name: &&str| {
        let fields = context.as_object()?.iter().filter(|(key, _)| plain(key) == **name);
        fields.filter_map(|(_, value)| value.as_str()).find_map(|text| {
            let described = || provenance::commit_id(text.rsplit_once("-g")?.1);
            provenance::commit_id(text).or_else(described)
        })
    };
    COMMIT_NAMES.iter().find_map(id)
}

fn json_line(line: &Value) -> Option<Repetition> {
    let name = field::text(line, "run_name").or_else(|| field::text(line, "name"))?.to_owned();
    let time_unit = field::text(line, "time_unit").unwrap_or_default().to_owned();
    let is = |key: &str| line.get(key).and_then(Value::as_bool) == Some(true);
    let skipped = (is("error_occurred") || is("skipped")).then(|| {
        field::text(line, "error_message").or_else(|| field::text(line, "skip_message")).unwrap_or_default().to_owned()
    });
    let time = |key: &str| field::measured(line, key, &Metric::time(), seconds(&time_unit)?);
    let is_aggregate = line.get("run_type").and_then(Value::as_str) == Some("aggregate");
    let aggregate = line.get("aggregate_name").and_then(Value::as_str).filter(|_| is_aggregate);
    Some(Repetition {
        name,
        aggregate: aggregate.map(str::to_owned).or_else(|| is_aggregate.then(String::new)),
        skipped,
        real_time: time("real_time"),
        cpu_time: time("cpu_time").ok(),
        repetitions: field::count(line, "repetitions"),
        label: field::text(line, "label").map(str::to_owned),
        counters: counters(line),
        time_unit,
    })
}

fn counters(line: &Value) -> BTreeMap<String, f64> {
    let Some(fields) = line.as_object() else { return BTreeMap::new() };
    let is_counter = |(key, _): &(&String, &Value)| !JSON_FIELDS.contains(&key.as_str());
    let number = |(key, value): (&String, &Value)| Some((field::one_line(key), value.as_f64()?));
    fields.iter().filter(is_counter).filter_map(number).collect()
}

/// Facts about the machine: neither its host name nor the path of the program.
fn facts(context: &Value) -> BTreeMap<String, String> {
    let load = context.get("load_avg").and_then(|loads| loads.get(0));
    let mut facts = field::facts([
        ("cores", context.get("num_cpus")),
        ("cpu_mhz", context.get("mhz_per_cpu")),
        ("cpu_scaling", context.get("cpu_scaling_enabled")),
        ("aslr", context.get("aslr_enabled")),
        ("load_1m", load),
        ("library_build", context.get("library_build_type")),
    ]);
    for cache in context.get("caches").and_then(Value::as_array).into_iter().flatten().take(16) {
        let name = match (field::count(cache, "level"), field::text(cache, "type")) {
            (Some(1), Some("Data" | "Unified")) => "cache_l1d_bytes",
            (Some(1), Some("Instruction")) => "cache_l1i_bytes",
            (Some(2), _) => "cache_l2_bytes",
            (Some(3), _) => "cache_l3_bytes",
            (Some(4), _) => "cache_l4_bytes",
            _ => continue,
        };
        facts.extend(field::facts([(name, cache.get("size"))]));
    }
    facts
}

/// How the header begins; above it is the context, for people.
const HEADER: &str = "name,iterations,real_time,cpu_time,time_unit";

fn is_csv(output: &Output) -> bool {
    table::begins(output, HEADER)
}

fn read_csv(output: &Output) -> Result<Source, FormatError> {
    let is_text = |column: &str| ["name", "time_unit", "label", "error_message", "skip_message"].contains(&column);
    let mut repetitions = Vec::new();
    for row in table::rows(output, HEADER, is_text)? {
        let read = json_line(&row.cells);
        repetitions.push(read.ok_or_else(|| outputs::schema(output, format!("has no name in line {}", row.line)))?);
    }
    name_aggregates(&mut repetitions);
    Ok(Source { run: ImportedRun { entries: entries(&repetitions), ..ImportedRun::default() }, ..Source::default() })
}
