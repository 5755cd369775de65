//! What Google Benchmark writes: JSON of version 1.0 to 1.9, and CSV.
//!
//! A repetition is one observation: it is the mean over its iterations already. Repetitions of one benchmark make one
//! entry; where a file has aggregates alone, their median counts. Fits of complexity are no measurements. With several
//! threads the real time means something else in some versions of the library, which is why `threads` is kept.

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

/// The most counters that are kept of a benchmark.
const MOST_COUNTERS: usize = 100;

/// The aggregates of which the first that is there stands for a benchmark without repetitions.
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
    /// Whether it is a fit over several benchmarks, which says nothing of a time.
    fn is_fit(&self) -> bool {
        self.aggregate.as_deref().is_some_and(|aggregate| FITS.contains(&aggregate))
    }
}

/// Seconds in a unit of time that the library knows.
fn seconds(time_unit: &str) -> Result<f64, String> {
    match time_unit {
        "ns" => Ok(1e-9),
        "us" => Ok(1e-6),
        "ms" => Ok(1e-3),
        "s" => Ok(1.0),
        _ => Err(format!("its `time_unit` is `{}`, where ns, us, ms or s is needed", field::one_line(time_unit))),
    }
}

/// Tells aggregates by their names, in reports that do not say which lines are such: `x_mean` is one where there is an
/// `x_stddev` too.
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
    match result {
        Ok(observation) => entry.observations.push(observation),
        Err(reason) => entry.status = EntryStatus::Failed(reason),
    }
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

/// The version of the form that this build knows; files from before it was counted bear none.
const SCHEMA_VERSION: u64 = 1;

/// The most lines: some for each repetition of a benchmark.
const MOST_LINES: usize = 100 * MOST_BENCHMARKS;

/// Numbers of a line that are no counters.
const JSON_FIELDS: [&str; 5] =
    ["family_index", "per_family_instance_index", "repetition_index", "real_time", "cpu_time"];

fn read_json(output: &Output) -> Result<Source, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let context = value.get("context").unwrap_or(&Value::Null);
    if let Some(version) = field::count(context, "json_schema_version").filter(|version| *version > SCHEMA_VERSION) {
        let reason = format!("has schema version {version}, this build reads {SCHEMA_VERSION}; a newer sprag can");
        return Err(outputs::schema(output, reason));
    }
    let Some(Value::Array(lines)) = value.get("benchmarks") else {
        return Err(outputs::schema(output, "is no report of Google Benchmark: it has no list `benchmarks`"));
    };
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
    let commit = field::text(context, "git_commit").and_then(provenance::commit_id);
    let run = ImportedRun {
        commit: commit.map(provenance::commit),
        time: field::text(context, "date").and_then(provenance::time),
        facts: facts(context),
        entries: entries(&repetitions),
        ..ImportedRun::default()
    };
    let tool_version =
        field::text(context, "library_version").map(|version| field::one_line(version.trim_start_matches('v')));
    let fits = repetitions.iter().filter(|one| one.is_fit()).count();
    let notes = (fits > 0).then(|| format!("{} has {fits} lines of fits, which are no measurements", output.name));
    Ok(Source { run, tool_version, notes: notes.into_iter().collect() })
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

/// What the library tells of the machine: neither its host name nor the path of the program.
fn facts(context: &Value) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let load = context.get("load_avg").and_then(|loads| loads.get(0));
    let named = [
        ("cores", context.get("num_cpus")),
        ("cpu_mhz", context.get("mhz_per_cpu")),
        ("cpu_scaling", context.get("cpu_scaling_enabled")),
        ("aslr", context.get("aslr_enabled")),
        ("load_1m", load),
        ("library_build", context.get("library_build_type")),
    ];
    named.iter().for_each(|(name, value)| field::fact(&mut facts, name, *value));
    for cache in context.get("caches").and_then(Value::as_array).into_iter().flatten().take(16) {
        let name = match (field::count(cache, "level"), field::text(cache, "type")) {
            (Some(1), Some("Data" | "Unified")) => "cache_l1d_bytes",
            (Some(1), Some("Instruction")) => "cache_l1i_bytes",
            (Some(2), _) => "cache_l2_bytes",
            (Some(3), _) => "cache_l3_bytes",
            (Some(4), _) => "cache_l4_bytes",
            _ => continue,
        };
        field::fact(&mut facts, name, cache.get("size"));
    }
    facts
}

/// How the header begins; what stands above it is the context, for people.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    #[test]
    fn a_csv_is_read_only_without_its_json() {
        let both = FORMAT.read(&golden::samples("google-benchmark")).expect("it is read");
        assert_eq!((both.runs.len(), &*both.notes[0]), (1, "out.csv is passed over, out.json tells more"));
        let csv = FORMAT.read(&[golden::sample("google-benchmark", "out.csv")]).expect("it is read");
        assert_eq!(csv.runs[0].entries[0].extras["items_per_second"], 2.76435e8);
    }

    fn file(context: &str, lines: &str) -> String {
        format!("{{\"context\": {{{context}}}, \"benchmarks\": [{lines}]}}")
    }

    fn entries_of(lines: &str) -> Vec<Entry> {
        golden::entries(&FORMAT, "gb.json", file("", lines))
    }

    #[test]
    fn the_run_is_described_without_host_and_path() {
        let run = FORMAT.read(&[golden::sample("google-benchmark", "out.json")]).expect("it is read").runs.remove(0);
        assert_eq!(run.commit.map(|commit| commit.sha).as_deref(), Some("deadbeef"));
        assert_eq!(run.time.map(|time| time.to_rfc3339()).as_deref(), Some("2026-11-21T01:53:55+00:00"));
        assert_eq!((run.facts["cores"].as_str(), run.facts["cache_l1d_bytes"].as_str()), ("2", "49152"));
        assert!(!run.facts.values().any(|value| value.contains("vm") || value.contains("gb")), "{:?}", run.facts);
        assert_eq!(run.entries[1].extras["label"], "cpu_ref");
    }

    #[test]
    fn every_supported_form_is_read() {
        // A skip with a message, of 1.8; aggregates alone; lines without `run_type`, of before 1.5; a fit.
        let entries = entries_of(
            r#"{"name":"a","run_name":"a","run_type":"iteration","skipped":true,"skip_message":"no device"},
               {"name":"b_mean","run_name":"b","run_type":"aggregate","aggregate_name":"mean","repetitions":5,
                "real_time":3,"cpu_time":3,"time_unit":"ms"},
               {"name":"b_median","run_name":"b","run_type":"aggregate","aggregate_name":"median","repetitions":5,
                "real_time":2,"cpu_time":2,"time_unit":"ms","items_per_second":4},
               {"name":"b_stddev","run_name":"b","run_type":"aggregate","aggregate_name":"stddev","repetitions":5,
                "real_time":0.5,"cpu_time":0,"time_unit":"ms"},
               {"name":"c_BigO","run_name":"c","run_type":"aggregate","aggregate_name":"BigO","cpu_coefficient":1,
                "real_coefficient":1,"big_o":"N","time_unit":"ns"}"#,
        );
        let [a, b] = &entries[..] else { panic!("two benchmarks: {entries:?}") };
        assert_eq!(a.status, EntryStatus::Skipped("no device".to_owned()));
        assert_eq!((b.observations[0].value, b.observations[0].n), (0.002, 5));
        assert_eq!((&b.extras["repetitions"], &b.extras["stddev"]), (&Value::from(5), &Value::from(0.0005)));
        let old = entries_of(
            r#"{"name":"x","iterations":9,"real_time":4,"cpu_time":4,"time_unit":"us"},
               {"name":"x","iterations":9,"real_time":6,"cpu_time":6,"time_unit":"us"},
               {"name":"x_mean","iterations":2,"real_time":5,"cpu_time":5,"time_unit":"us"},
               {"name":"x_stddev","iterations":2,"real_time":1,"cpu_time":1,"time_unit":"us"},
               {"name":"take_mean","iterations":2,"real_time":7,"cpu_time":7,"time_unit":"s"}"#,
        );
        let [x, take] = &old[..] else { panic!("two benchmarks: {old:?}") };
        assert_eq!((x.observations[0].value, take.series.as_str()), (5.0 * 1e-6, "take_mean"));
    }

    #[test]
    fn a_benchmark_at_fault_fails_alone() {
        let check = |fields: &str, words: &str| {
            let good =
                r#"{"name":"g","run_name":"g","run_type":"iteration","real_time":1,"cpu_time":0,"time_unit":"s"}"#;
            let bad = format!(r#"{{"name":"b","run_name":"b","run_type":"iteration"{fields}}}"#);
            golden::failed_alone(&entries_of(&format!("{bad}, {good}")), words);
        };
        check("", "its `time_unit` is ``");
        check(r#","time_unit":"ns""#, "it has no `real_time`");
        check(r#","time_unit":"ns","real_time":-Infinity"#, "its `real_time` is -inf, which is no number");
        check(r#","time_unit":"ns","real_time":1e-40"#, "too little");
        check(r#","time_unit":"s","real_time":"1""#, "no number");
        check(r#","time_unit":"parsec","real_time":1"#, "`parsec`, where ns");
    }

    #[test]
    fn what_is_no_report_is_refused() {
        let check = |text: &str, words: &str| golden::refused(&FORMAT, "gb.json", text, words);
        check(&file("\"json_schema_version\": 2", ""), "has schema version 2");
        check(&file("", "{}"), "no name at `benchmarks[0]`");
        check(&file("\"a\": 1, \"a\": 2", ""), "`a` occurs twice");
        check(&file("", &vec!["7"; MOST_LINES + 1].join(",")), "has 500001 lines, at most 500000 are read");
        check("{\"benchmarks\": 1}", "no list `benchmarks`");
    }

    #[test]
    fn lines_are_read_below_a_context() {
        let header = "2026-11-21T01:53:55+00:00\nRunning ./gb\nname,iterations,real_time,cpu_time,time_unit,\
                      bytes_per_second,items_per_second,label,error_occurred,error_message,\"hits\"\n";
        let rows = "\"a\"\"b,c\",9,4,3,ns,,,\"x y\",,,2.5\r\n\"b\",,,,,,,,true,\"no \"\"device\"\"\",\r\n\
                    \"n\",1,nan,1,ms,,,,,,\n\"m_mean\",2,5,5,us,,,,,,\n\"m_stddev\",2,1,1,us,,,,,,\n";
        let entries = golden::entries(&FORMAT, "gb.csv", format!("{header}{rows}"));
        let [a, b, n, m] = &entries[..] else { panic!("four benchmarks: {entries:?}") };
        let hits = &a.extras["hits"];
        assert_eq!((a.series.as_str(), a.observations[0].value, hits), ("a\"b,c", 4.0 * 1e-9, &2.5.into()));
        assert_eq!(a.extras["label"], "x y");
        assert_eq!(b.status, EntryStatus::Skipped("no \"device\"".to_owned()));
        assert_eq!(n.status, EntryStatus::Failed("its `real_time` is NaN, which is no number".to_owned()));
        assert_eq!((m.series.as_str(), &m.extras["statistic"]), ("m", &"mean".into()));
        let narrow = format!("{header}\"a\",9,4,3,ns\n");
        golden::refused(&FORMAT, "gb.csv", narrow, "has 5 cells in line 4, its header has 11");
    }
}
