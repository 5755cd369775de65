//! The ground truth that tt-metal holds its benchmarks against: an object of sections, such as `rank_2`, of objects that
//! list the clock cycles of each call by configuration.
//!
//! A benchmark is called `<section>/<configuration>`; its metric is `cycles`. The file names neither commit nor machine.

use serde_json::Value;

use crate::frame::{Format, Read, Recognised, Source};
use crate::{FormatError, LONGEST_PREFIX, json, outputs, peek};
use sprag_model::foreign::Output;
use sprag_model::imported::Entry;
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub const FORMAT: Format = Format {
    name: "tt-metal",
    title: "ground truth of tt-metal: cycles by rank and configuration",
    files: &[".json"],
    recognised: Recognised::Any(is_ground_truth),
    read: Read::Each("tt-metal", read),
};

/// Whether the text begins with an object of an object of a list of numbers.
fn is_ground_truth(output: &Output) -> bool {
    let start = outputs::start(output);
    let list = peek::skip(&start, "{\":{\":[", |_| {}).and_then(|rest| rest.split_once(']'));
    list.is_some_and(|(list, _)| list.split(',').all(|number| number.trim().parse::<f64>().is_ok()))
}

fn read(output: &Output, _: &[Output]) -> Result<Source, FormatError> {
    Ok(Source { run: outputs::run(entries(output)?, &[output]), ..Source::default() })
}

fn entries(output: &Output) -> Result<Vec<Entry>, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let Value::Object(sections) = value else { return Err(outputs::schema(output, "is not an object of sections")) };
    let mut entries = Vec::new();
    for (section, configurations) in sections {
        let Value::Object(configurations) = configurations else {
            let reason = format!("holds no object under `{}`", section.escape_debug());
            return Err(outputs::schema(output, reason));
        };
        if section.len() > LONGEST_PREFIX {
            let reason = format!("has a section with a name of more than {LONGEST_PREFIX} bytes");
            return Err(outputs::schema(output, reason));
        }
        for (configuration, samples) in configurations {
            let series = format!("{section}/{configuration}");
            let Value::Array(samples) = samples else {
                let reason = format!("holds no list of samples under `{}`", series.escape_debug());
                return Err(outputs::schema(output, reason));
            };
            outputs::push(output, &mut entries, entry(&series, &samples))?;
        }
    }
    // Two names can make one where a section has a `/`.
    Ok(outputs::unique_entries(entries))
}

fn entry(series: &str, samples: &[Value]) -> Entry {
    let metric = Metric { name: "cycles".to_owned(), unit: Unit::One, better: Better::Lower };
    let samples: Vec<f64> = samples.iter().map(|sample| sample.as_f64().unwrap_or(f64::NAN)).collect();
    let result = match samples.iter().position(|sample| *sample < 0.0) {
        Some(place) => Err(format!("sample {} of its `cycles` is less than zero", place + 1)),
        None => outputs::sampled(metric, "cycles", "cycles", samples),
    };
    outputs::entry(series, result.map(|cycles| vec![cycles]))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::golden;

    /// The recordings of tt-metal are other people's data and no part of this project; where they are next to it, they are
    /// read.
    #[test]
    fn recordings_next_to_the_project_are_read() {
        golden::survives(
            &[golden::output("gt.json", r#"{"rank_1": {"A_01": [10, 12.5, 11]}, "b": {"c": [3]}}"#)],
            &FORMAT,
        );
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden/tt-metal");
        let Ok(listed) = fs::read_dir(&folder) else {
            eprintln!("skipped: there is no folder of recordings next to the project");
            return;
        };
        let paths = listed.map(|entry| entry.expect("the folder can be listed").path());
        for path in paths.filter(|path| path.to_string_lossy().contains("manual_pages")) {
            let output = [golden::output("gt.json", fs::read(&path).expect("it can be read"))];
            assert!(FORMAT.recognises(&output));
            let entries = FORMAT.read(&output).expect("it is read").runs.remove(0).entries;
            assert_eq!(entries.len(), 6);
            assert!(entries.iter().all(|entry| entry.observations[0].samples.len() == 125));
        }
    }
}
