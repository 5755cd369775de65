//! The Bencher metric format, version 0: `{benchmark: {measure: {"value", "lower_value"?, "upper_value"?}}}`.
//!
//! The file has no units. Those of Bencher's own measures are a convention, the table below; any other measure is a plain
//! number of which smaller is better. A measure is named or has its slug: `File Size` is `file-size`. Its bounds become
//! extras, `lower` and `upper` under its slug.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::frame::{Format, Read, Recognised, Source, check_count};
use super::outputs::{self, Notes};
use super::peek::skip;
use super::{FormatError, field, json, quantity};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub(crate) const FORMAT: Format = Format {
    name: "bencher",
    title: "Bencher metric format",
    files: &[".json"],
    recognised: Recognised::Each(is_report),
    read: Read::Each("bencher", read),
};

/// Bencher's own measures: slug, unit as its site names it, base unit, base units in one of it, direction.
const MEASURES: [(&str, &str, Unit, f64, Better); 14] = [
    ("latency", "ns", Unit::Second, 1e-9, Better::Lower),
    ("throughput", "ops/s", Unit::PerSecond, 1.0, Better::Higher),
    ("build-time", "s", Unit::Second, 1.0, Better::Lower),
    ("file-size", "bytes", Unit::Byte, 1.0, Better::Lower),
    ("instructions", "instructions", Unit::One, 1.0, Better::Lower),
    ("l1-accesses", "accesses", Unit::One, 1.0, Better::Lower),
    ("l2-accesses", "accesses", Unit::One, 1.0, Better::Lower),
    ("ram-accesses", "accesses", Unit::One, 1.0, Better::Lower),
    ("l1-hits", "hits", Unit::One, 1.0, Better::Lower),
    ("l2-hits", "hits", Unit::One, 1.0, Better::Lower),
    ("ll-hits", "hits", Unit::One, 1.0, Better::Lower),
    ("ram-hits", "hits", Unit::One, 1.0, Better::Lower),
    ("total-read-write", "accesses", Unit::One, 1.0, Better::Lower),
    ("estimated-cycles", "cycles", Unit::One, 1.0, Better::Lower),
];

/// The fields of a measure, of which the first is required.
const KEYS: [&str; 3] = ["value", "lower_value", "upper_value"];

const MOST_MEASURES: usize = 100;

/// Whether it begins with a benchmark that has a measure.
fn is_report(output: &Output) -> bool {
    let mut last = "";
    let start = outputs::start(output);
    skip(&start, "{\":{\":{\":", |string| last = string).is_some() && KEYS.contains(&last)
}

fn read(output: &Output, _: &[Output]) -> Result<Source, FormatError> {
    let mut notes = Notes::default();
    let Value::Object(benchmarks) = json::parse_with_not_finite(output)? else {
        let reason = "is not in the Bencher metric format: an object of benchmarks is needed";
        return Err(outputs::schema(output, reason));
    };
    check_count(&output.name, benchmarks.len())?;
    let entries = benchmarks.iter().map(|(name, measures)| entry(&output.name, name, measures, &mut notes));
    let entries = entries.collect::<Result<Vec<Entry>, String>>().map_err(|reason| outputs::schema(output, reason))?;
    Ok(Source { run: outputs::run(entries, &[output]), notes: notes.sentences(), ..Source::default() })
}

/// One benchmark. A measure with an impossible number makes it fail, another shape refuses the file.
fn entry(file: &str, benchmark: &str, measures: &Value, notes: &mut Notes) -> Result<Entry, String> {
    let shown = benchmark.escape_debug();
    let Value::Object(measures) = measures else {
        return Err(format!("has no object of measures in `{shown}`"));
    };
    if measures.is_empty() || measures.len() > MOST_MEASURES {
        return Err(format!("has {} measures in `{shown}`, 1 to {MOST_MEASURES} are read", measures.len()));
    }
    let mut entry = outputs::entry(benchmark, Ok(Vec::new()));
    let mut slugs = BTreeSet::new();
    for (measure, fields) in measures {
        let Value::Object(fields) = fields else {
            return Err(format!("has no object in `{shown}`.`{}`, where `value` is needed", measure.escape_debug()));
        };
        if !fields.contains_key("value") {
            return Err(format!("has no `value` in `{shown}`.`{}`", measure.escape_debug()));
        }
        let slug = slug(measure);
        if !slugs.insert(slug.clone()) {
            return Err(format!("has the measure `{}` twice in `{shown}`", slug.escape_debug()));
        }
        match observation(&slug, fields) {
            Ok((observation, bounds, is_of_bencher)) => {
                entry.observations.push(observation);
                if !bounds.is_empty() {
                    entry.extras.insert(slug.clone(), Value::Object(bounds));
                }
                if !is_of_bencher {
                    let short: String = slug.chars().take(100).collect();
                    let what = format!(
                        "the measure `{}` is not one of Bencher's, so it is treated as a number where \
                        lower is better",
                        short.escape_debug()
                    );
                    notes.add(&what, || format!("{file}, `{shown}`"));
                }
            }
            Err(reason) => entry.status = EntryStatus::Failed(reason),
        }
    }
    if entry.status != EntryStatus::Ok {
        entry.observations.clear();
        entry.extras.clear();
    }
    Ok(entry)
}

/// A measure as an observation, its bounds, and whether it is one of Bencher's.
fn observation(slug: &str, fields: &Map<String, Value>) -> Result<(Observation, Map<String, Value>, bool), String> {
    let own = MEASURES.iter().find(|(name, ..)| *name == slug);
    let (_, source_unit, unit, factor, better) = *own.unwrap_or(&("", "", Unit::One, 1.0, Better::Lower));
    if !Metric::is_word(slug) {
        return Err(format!("its measure `{}` cannot be the name of a metric", slug.escape_debug()));
    }
    let metric = Metric { name: slug.to_owned(), unit, better };
    let read = |key: &str, value: &Value| {
        let place = if key == "value" { slug.to_owned() } else { format!("{slug}.{key}") };
        field::figure(&place, value, &metric, factor)
    };
    let value = read("value", fields.get("value").unwrap_or(&Value::Null))?;
    let mut bounds = Map::new();
    for (key, bound) in [("lower_value", "lower"), ("upper_value", "upper")] {
        // The interval of a noisy time may reach below zero.
        let number = fields.get(key).and_then(Value::as_f64).map(|number| quantity::to_base(number, factor));
        if let Some(number) = number.filter(|number| number.is_finite()) {
            bounds.insert(bound.to_owned(), number.into());
        }
    }
    Ok((Observation::summary(metric, source_unit, value), bounds, own.is_some()))
}

/// A measure by its slug, whether it was given by that or by its name.
fn slug(measure: &str) -> String {
    let parts: Vec<&str> = measure.split_whitespace().collect();
    let joined = parts.join("-");
    let lower = joined.to_lowercase();
    if MEASURES.iter().any(|(name, ..)| *name == lower) { lower } else { joined }
}
