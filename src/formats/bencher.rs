//! The Bencher metric format, version 0: `{benchmark: {measure: {"value", "lower_value"?, "upper_value"?}}}`.
//!
//! The file tells no units. Those of Bencher's own measures are a convention, the table below; any other measure is a
//! plain number of which smaller is better. A measure may be given by its name or its slug: `File Size` is `file-size`.
//! Its bounds are kept as `lower` and `upper` under its slug.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::outputs;
use super::outputs::Notes;
use super::peek::{head, skip};
use super::{FormatError, MOST_BENCHMARKS, field, json, quantity};
use crate::Format;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, Imported, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub(crate) const FORMAT: Format =
    Format { name: "bencher", title: "Bencher metric format", recognises, read, files: &[".json"] };

/// Bencher's own measures: slug, unit as it is told on its site, base unit, base units in one of it, direction.
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

/// The fields of a measure, of which at least the first must stand.
const KEYS: [&str; 3] = ["value", "lower_value", "upper_value"];

/// The most measures of one benchmark.
const MOST_MEASURES: usize = 100;

/// Whether all outputs begin as a benchmark with a measure does.
fn recognises(outputs: &[Output]) -> bool {
    let fits = |output: &Output| {
        let mut last = "";
        let head = head(output);
        skip(&head, "{\":{\":{\":", |string| last = string).is_some() && KEYS.contains(&last)
    };
    !outputs.is_empty() && outputs.iter().all(fits)
}

/// Reads files of metrics, a run each.
fn read(outputs: &[Output]) -> Result<Imported, FormatError> {
    let mut runs = Vec::with_capacity(outputs.len());
    let mut notes = Notes::default();
    for output in outputs {
        let name = &output.name;
        let schema = |reason: String| FormatError::Schema { name: name.clone(), reason };
        let Value::Object(benchmarks) = json::parse_with_not_finite(output)? else {
            return Err(schema("is not in the Bencher metric format: an object of benchmarks is needed".to_owned()));
        };
        match benchmarks.len() {
            0 => return Err(FormatError::Nothing(name.clone())),
            1..=MOST_BENCHMARKS => {}
            count => return Err(FormatError::Many { name: name.clone(), count }),
        }
        let entries: Result<Vec<Entry>, String> =
            benchmarks.iter().map(|(benchmark, measures)| entry(name, benchmark, measures, &mut notes)).collect();
        let entries = entries.map_err(schema)?;
        runs.push(outputs::run(entries, &[output]));
    }
    outputs::imported("bencher", runs, notes.sentences())
}

/// One benchmark. A measure whose number cannot be makes it fail, another shape refuses the file.
fn entry(file: &str, benchmark: &str, measures: &Value, notes: &mut Notes) -> Result<Entry, String> {
    let shown = benchmark.escape_debug();
    let Value::Object(measures) = measures else {
        return Err(format!("has no object of measures in `{shown}`"));
    };
    if measures.is_empty() || measures.len() > MOST_MEASURES {
        return Err(format!("has {} measures in `{shown}`, 1 to {MOST_MEASURES} are read", measures.len()));
    }
    let mut entry = Entry { series: benchmark.to_owned(), name: benchmark.to_owned(), ..Entry::default() };
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
            Ok((observation, bounds, is_known)) => {
                entry.observations.push(observation);
                if !bounds.is_empty() {
                    entry.extras.insert(slug.clone(), Value::Object(bounds));
                }
                if !is_known {
                    let short: String = slug.chars().take(100).collect();
                    let what = format!(
                        "the measure `{}` is none of Bencher's, so it is treated as a number where \
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
    let known = MEASURES.iter().find(|(name, ..)| *name == slug);
    let (_, source_unit, unit, factor, better) = *known.unwrap_or(&("", "", Unit::One, 1.0, Better::Lower));
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
    for (key, kept) in [("lower_value", "lower"), ("upper_value", "upper")] {
        // A bound of null is none, and one below zero is what an interval of a noisy time may give.
        let number = fields.get(key).and_then(Value::as_f64).map(|number| quantity::to_base(number, factor));
        if let Some(number) = number.filter(|number| number.is_finite()) {
            bounds.insert(kept.to_owned(), number.into());
        }
    }
    Ok((Observation::summary(metric, source_unit, value), bounds, known.is_some()))
}

/// A measure by its slug, whether it was given by that or by its name.
fn slug(measure: &str) -> String {
    let parts: Vec<&str> = measure.split_whitespace().collect();
    let joined = parts.join("-");
    let lower = joined.to_lowercase();
    if MEASURES.iter().any(|(name, ..)| *name == lower) { lower } else { joined }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    fn file(bytes: &[u8]) -> [Output; 1] {
        [Output { name: "bmf.json".to_owned(), bytes: bytes.to_vec() }]
    }

    #[test]
    fn measures_are_known_by_name_and_slug() {
        let text = r#"{"a": {"Build Time": {"value": 2, "upper_value": null}, "my score": {"value": -1, "more": 1}}}"#;
        let imported = read(&file(text.as_bytes())).expect("it is read");
        let entry = &imported.runs[0].entries[0];
        let found: Vec<_> = entry.observations.iter().map(|one| (one.metric.name.as_str(), one.value)).collect();
        assert_eq!(found, [("build-time", 2.0), ("my-score", -1.0)]);
        assert_eq!(entry.observations[0].metric.unit, Unit::Second);
        assert!(entry.extras.is_empty());
        assert!(imported.notes[0].starts_with("bmf.json, `a`: the measure `my-score` is none of Bencher's"));
    }

    #[test]
    fn a_number_that_cannot_be_fails_alone() {
        let check = |value: &str, words: &str| {
            let text = format!(r#"{{"a":{{"latency":{{"value":{value}}}}},"b":{{"latency":{{"value":1}}}}}}"#);
            let imported = read(&file(text.as_bytes())).expect("the file is read");
            let [a, b] = &imported.runs[0].entries[..] else { panic!("two entries") };
            assert!(matches!(&a.status, EntryStatus::Failed(reason) if reason.contains(words)), "{:?}", a.status);
            assert_eq!((a.observations.len(), b.observations.len(), &b.status), (0, 1, &EntryStatus::Ok));
        };
        check("0", "its `latency` is 0 s, where more than zero");
        check("NaN", "which is no number");
        check("-Infinity", "which is no number");
        check("1e400", "which is no number");
        check("[]", "a list");
    }

    #[test]
    fn another_shape_is_refused_with_its_place() {
        let check = |bytes: &[u8], words: &str| golden::refused(read(&file(bytes)), "bmf.json", words);
        check(b"", "is empty");
        check(b"[]", "an object of benchmarks is needed");
        check(b"{}", "lists no benchmark");
        check(b"{\"a\":1}", "no object of measures in `a`");
        check(b"{\"a\":{}}", "has 0 measures in `a`");
        check(b"{\"a\":{\"latency\":1}}", "no object in `a`.`latency`");
        check(b"{\"a\":{\"latency\":{\"lower_value\":1}}}", "no `value` in `a`.`latency`");
        check(b"{\"a\":{\"latency\":{\"value\":1},\"Latency\":{\"value\":1}}}", "the measure `latency` twice");
        check(b"{\"a\":{},\n\"a\":{}}", "the key `a` occurs twice in one object at line 2");
        check(b"{\"\xc3\x28\":{}}", "is not UTF-8");
        check("{\"a\":".repeat(3000).as_bytes(), "recursion limit");
    }
}
