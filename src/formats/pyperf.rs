//! What pyperf writes: its JSON of version 1.0, plain or compressed by gzip.
//!
//! A benchmark is measured by several processes of a few values each. A value is of one iteration of the loop already:
//! seconds, bytes, or a plain number. Processes that only found out how many loops to take have no values and do not
//! count; warm-ups do not either.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use super::frame::{Read, Recognised, Source, check_count};
use super::{Format, FormatError, LONGEST_PREFIX, field, json, peek, provenance};
use crate::outputs;
use sprag_base::stats::describe;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, ImportedRun, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub(super) const FORMAT: Format = Format {
    name: "pyperf",
    title: "pyperf, JSON",
    files: FILES,
    recognised: Recognised::EachNamed(FILES, is_report),
    read: Read::Each("pyperf", read_file),
};

const FILES: &[&str] = &[".json", ".json.gz"];

const VERSION: &str = "1.0";

const GZIP: &[u8] = b"\x1f\x8b";

/// The most bytes that a compressed file may hold.
const MOST_BYTES: u64 = 256 << 20;

/// How many times its size a compressed file may unpack to, once that is more than [`LEAST_BYTES`]. Reports of pyperf shrink to a
/// quarter, those of equal values to a fiftieth; a file that is made to fill the memory unpacks to a thousand times its size.
const MOST_RATIO: u64 = 100;
const LEAST_BYTES: u64 = 1 << 20;

fn is_report(output: &Output) -> bool {
    let keys = if output.bytes.starts_with(GZIP) {
        // A file that is cut short is recognised by what it still holds.
        let mut start = Vec::new();
        let _ = MultiGzDecoder::new(&output.bytes[..]).take(64 << 10).read_to_end(&mut start);
        peek::paths(&start)
    } else {
        peek::key_paths(output)
    };
    ["benchmarks.runs.values", "benchmarks.runs.warmups"].iter().any(|key| keys.contains(*key))
}

fn read_file(output: &Output, _: &[Output]) -> Result<Source, FormatError> {
    if output.bytes.starts_with(GZIP) { read_one(&unpacked(output)?) } else { read_one(output) }
}

fn unpacked(output: &Output) -> Result<Output, FormatError> {
    let mut bytes = Vec::new();
    let most = (output.bytes.len() as u64).saturating_mul(MOST_RATIO).clamp(LEAST_BYTES, MOST_BYTES);
    let read = MultiGzDecoder::new(&output.bytes[..]).take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| outputs::schema(output, format!("cannot be unpacked: {error}")))?;
    if bytes.len() as u64 > most {
        let reason = match most {
            MOST_BYTES => format!("holds more than {} MiB, unpack it and split it", MOST_BYTES >> 20),
            _ => format!("unpacks to more than {MOST_RATIO} times its size; unpack it, and look at what it holds"),
        };
        return Err(outputs::schema(output, reason));
    }
    Ok(Output { name: output.name.clone(), bytes })
}

fn read_one(output: &Output) -> Result<Source, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let benchmarks = json::list(output, &value, "benchmarks", "file of pyperf")?;
    match value.get("version").and_then(Value::as_str) {
        Some(VERSION) | None => {}
        Some(version) => {
            let reason = format!("has version {}, this build reads {VERSION}", field::one_line(version).escape_debug());
            return Err(outputs::schema(output, reason));
        }
    }
    check_count(&output.name, benchmarks.len())?;
    let common = value.get("metadata").unwrap_or(&Value::Null);
    let entries = benchmarks.iter().enumerate().map(|(place, benchmark)| entry(benchmark, common, place)).collect();
    let time = benchmarks.iter().find_map(date).or_else(|| date_of(common));
    let facts = facts(common, benchmarks.first().unwrap_or(&Value::Null));
    let notes = time.map(|_| format!("the dates in {} have no time zone and are treated as UTC", output.name));
    let tool_version = field::text(common, "perf_version").map(field::one_line);
    let run = ImportedRun { time, facts, entries, ..ImportedRun::default() };
    Ok(Source { run, tool_version, notes: notes.into_iter().collect(), ..Source::default() })
}

fn date(benchmark: &Value) -> Option<chrono::DateTime<chrono::Utc>> {
    benchmark.get("runs")?.as_array()?.iter().find_map(|run| date_of(run.get("metadata")?))
}

fn date_of(metadata: &Value) -> Option<chrono::DateTime<chrono::Utc>> {
    field::text(metadata, "date").and_then(provenance::time)
}

/// What the file says of the machine: neither its host name, nor paths, nor options of a build, which hold paths.
fn facts(common: &Value, first: &Value) -> BTreeMap<String, String> {
    let own = first.get("metadata").unwrap_or(&Value::Null);
    let merged = |key: &str| own.get(key).or_else(|| common.get(key));
    let named = [
        ("cpu_model", "cpu_model_name"),
        ("cores", "cpu_count"),
        ("allowed_cpus", "cpu_affinity"),
        ("cpu_config", "cpu_config"),
        ("cpu_freq", "cpu_freq"),
        ("compiler", "python_compiler"),
        ("python", "python_version"),
        ("python_implementation", "python_implementation"),
        ("platform", "platform"),
        ("timer", "timer"),
        ("load_1m", "load_avg_1min"),
    ];
    let mut facts = field::facts(named.map(|(name, key)| (name, merged(key))));
    let aslr = match merged("aslr").and_then(Value::as_str) {
        Some("Full randomization") => Some("full"),
        Some("Conservative randomization") => Some("partial"),
        Some("No randomization") => Some("off"),
        Some(_) | None => None,
    };
    facts.extend(aslr.map(|word| ("aslr".to_owned(), word.to_owned())));
    facts
}

fn entry(benchmark: &Value, common: &Value, place: usize) -> Entry {
    let own = benchmark.get("metadata").unwrap_or(&Value::Null);
    let merged = |key: &str| field::text(own, key).or_else(|| field::text(common, key));
    let nameless = |reason: String| outputs::entry(&format!("benchmarks[{place}]"), Err(reason));
    let name = match merged("name") {
        None => return nameless("it has no name in its metadata".to_owned()),
        Some(name) if name.len() > LONGEST_PREFIX => {
            return nameless(format!("its name takes more than {LONGEST_PREFIX} bytes"));
        }
        Some(name) => name,
    };
    let observed = metric(merged("unit").unwrap_or("second"))
        .and_then(|(metric, unit)| Ok((processes(benchmark, &metric)?, metric, unit)));
    let (processes, metric, unit) = match observed {
        Ok(observed) => observed,
        Err(reason) => return outputs::entry(name, Err(reason)),
    };
    let samples = processes.concat();
    let observation = describe::median(&samples).map(|value| {
        let processes = processes.iter().filter_map(|values| describe::median(values)).collect();
        vec![Observation { processes, ..Observation::sampled(metric, unit, value, samples) }]
    });
    let observation = observation.ok_or_else(|| "it has no values, only calibrations or warm-ups".to_owned());
    let mut entry = outputs::entry(name, observation);
    entry.extras.insert("processes".to_owned(), Value::from(processes.len()));
    for key in ["loops", "inner_loops"] {
        entry.extras.extend(own.get(key).and_then(field::plain).map(|value| (key.to_owned(), value)));
    }
    entry
}

/// What a unit of pyperf is a quantity of, and how a table would spell it.
fn metric(unit: &str) -> Result<(Metric, &'static str), String> {
    let lower = |name: &str, unit: Unit| Metric { name: name.to_owned(), unit, better: Better::Lower };
    match unit {
        "second" => Ok((Metric::time(), "s")),
        "byte" => Ok((lower("memory", Unit::Byte), "B")),
        "integer" => Ok((lower("value", Unit::One), "")),
        _ => Err(format!("its `unit` is `{}`, where second, byte or integer is needed", field::one_line(unit))),
    }
}

fn processes(benchmark: &Value, metric: &Metric) -> Result<Vec<Vec<f64>>, String> {
    let Some(Value::Array(runs)) = benchmark.get("runs") else { return Err("it has no list `runs`".to_owned()) };
    let mut processes = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        let values = field::all_measured(run, "values", metric, 1.0);
        let values = values.map_err(|fault| format!("in `runs[{place}]`, {fault}"))?;
        if !values.is_empty() {
            processes.push(values);
        }
    }
    Ok(processes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::golden;

    #[test]
    fn a_compressed_file_reads_as_the_plain_one() {
        let plain = golden::samples("pyperf").remove(0);
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&plain.bytes).expect("memory takes it");
        let packed = [golden::output("p.json.gz", encoder.finish().expect("memory takes it"))];
        assert!(FORMAT.recognises(&packed));
        let [one, other] = [&packed, &[plain]].map(|outputs| FORMAT.read(outputs).expect("it is read"));
        assert_eq!(one.runs[0].entries, other.runs[0].entries);
        golden::survives(&packed, &FORMAT);
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        bomb.write_all(b"{\"benchmarks\":[{\"runs\":[{\"values\":[").expect("memory takes it");
        bomb.write_all(&vec![b' '; 4 << 20]).expect("memory takes it");
        let bomb = bomb.finish().expect("memory takes it");
        golden::refused(&FORMAT, "p.json.gz", &bomb, "more than 100 times its size");
        golden::refused(&FORMAT, "p.json.gz", &packed[0].bytes[..packed[0].bytes.len() / 2], "cannot be unpacked");
    }
}
