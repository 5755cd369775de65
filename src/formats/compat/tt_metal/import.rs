//! The ground truth that tt-metal holds its benchmarks against: an object of sections, such as `rank_2`, of objects that
//! list the clock cycles of each call by configuration.
//!
//! A benchmark is called `<section>/<configuration>`; its metric is `cycles`. The file tells neither commit nor machine.

use serde_json::Value;

use crate::Format;
use crate::{FormatError, LONGEST_PREFIX, json, outputs};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, Imported};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub(crate) const FORMAT: Format = Format {
    name: "tt-metal",
    title: "ground truth of tt-metal: cycles by rank and configuration",
    recognises,
    read,
    files: &[".json"],
};

/// Whether there is such an object among the outputs.
pub fn recognises(outputs: &[Output]) -> bool {
    outputs.iter().any(is_ground_truth)
}

/// Whether the text begins with an object of an object of a list of numbers.
fn is_ground_truth(output: &Output) -> bool {
    let start = outputs::start(output);
    let mut rest = start.trim_start_matches('\u{feff}');
    for part in ["{", "\"", "{", "\"", "["] {
        rest = match rest.trim_start().strip_prefix(part) {
            // A name reaches to the next quote: those with escapes are not recognised, but read.
            Some(after) if part == "\"" => match after.split_once('"') {
                Some((_, after)) => after.trim_start().strip_prefix(':').unwrap_or("-"),
                None => return false,
            },
            Some(after) => after,
            None => return false,
        };
    }
    let list = rest.split(']').next().unwrap_or_default();
    rest.contains(']') && list.split(',').all(|number| number.trim().parse::<f64>().is_ok())
}

/// Reads files, each as a run; of several outputs those that are recognised.
pub fn read(outputs: &[Output]) -> Result<Imported, FormatError> {
    let mut runs = Vec::new();
    for output in outputs.iter().filter(|output| outputs.len() == 1 || is_ground_truth(output)) {
        let entries = outputs::counted(&output.name, entries(output)?)?;
        runs.push(outputs::run(entries, &[output]));
    }
    outputs::imported("tt-metal", runs, Vec::new())
}

fn entries(output: &Output) -> Result<Vec<Entry>, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let Value::Object(sections) = value else { return Err(outputs::schema(output, "is no object of sections")) };
    let mut entries = Vec::new();
    for (section, configurations) in sections {
        let Value::Object(configurations) = configurations else {
            let reason = format!("holds no object under `{}`", section.escape_debug());
            return Err(outputs::schema(output, reason));
        };
        if section.len() > LONGEST_PREFIX {
            return Err(outputs::schema(
                output,
                format!("has a section with a name of more than {LONGEST_PREFIX} bytes"),
            ));
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
    let found = match samples.iter().position(|sample| *sample < 0.0) {
        Some(place) => Err(format!("sample {} of its `cycles` is less than zero", place + 1)),
        None => outputs::sampled(metric, "cycles", "cycles", samples),
    };
    outputs::entry(series, found.map(|cycles| vec![cycles]))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::golden;

    fn output(text: &str) -> Output {
        Output { name: "gt.json".to_owned(), bytes: text.as_bytes().to_vec() }
    }

    const SMALL: &str = r#"{"rank_1": {"A_01": [10, 12.5, 11], "A_10": [7, 7]}, "rank_2": {"A_01": [3]}}"#;

    #[test]
    fn each_configuration_of_a_section_is_a_benchmark() {
        let run = read(&[output(SMALL)]).expect("it is fine").runs.remove(0);
        let told: Vec<_> = run
            .entries
            .iter()
            .map(|one| (one.series.as_str(), one.observations[0].value, one.observations[0].n))
            .collect();
        assert_eq!(told, [("rank_1/A_01", 11.0, 3), ("rank_1/A_10", 7.0, 2), ("rank_2/A_01", 3.0, 1)]);
        assert_eq!(run.entries[0].observations[0].samples, [10.0, 12.5, 11.0]);
    }

    #[test]
    fn it_is_recognised_by_its_shape() {
        let check = |text: &str, expected: bool| assert_eq!(recognises(&[output(text)]), expected, "{text}");
        check(SMALL, true);
        check("\u{feff}{\n \"a\" : {\n \"b\":[ 1.5,\n2 ]}}", true);
        check(r#"{"a": {"b": []}}"#, false);
        check(r#"{"a": {"b": ["x"]}}"#, false);
        check(r#"{"a": {"b": {"value": 1}}}"#, false);
        check(r#"{"a": {"b": [1"#, false);
        check(r#"[1, 2]"#, false);
        check(r#"{"a" {"b": [1]}}"#, false);
    }

    #[test]
    fn an_impossible_sample_fails_alone() {
        let check = |samples: &str, words: &str| {
            let text = format!(r#"{{"a": {{"bad": {samples}, "fine": [1]}}}}"#);
            let run = read(&[output(&text)]).expect("it is read").runs.remove(0);
            golden::failed_alone(&run.entries, words);
        };
        check("[]", "its `cycles` has no samples");
        check("[1, NaN]", "sample 2 of its `cycles` is NaN");
        check("[1, null]", "sample 2");
        check("[1, \"2\"]", "sample 2");
        check("[-1]", "sample 1 of its `cycles` is less than zero");
        check("[1e31]", "beyond");
    }

    #[test]
    fn what_is_no_ground_truth_is_refused() {
        let check = |text: &str, words: &str| golden::refused(read(&[output(text)]), "gt.json", words);
        check("", "is empty");
        check("[]", "is no object of sections");
        check("{}", "lists no benchmark");
        check(r#"{"a\n": 1}"#, "holds no object under `a\\n`");
        check(r#"{"a": {"b": 1}}"#, "holds no list of samples under `a/b`");
        check(r#"{"a": {"b": [1], "b": [2]}}"#, "occurs twice");
        check(&format!(r#"{{"{}": {{}}}}"#, "a".repeat(LONGEST_PREFIX + 1)), "a name of more than 4096 bytes");
        golden::survives(&[output(SMALL)], read);
    }

    /// The recordings of tt-metal are other people's data and no part of this project; where they lie beside it, they
    /// are read whole.
    #[test]
    fn recordings_beside_the_project_are_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden/tt-metal");
        let Ok(listed) = fs::read_dir(&folder) else {
            eprintln!("skipped: there is no folder of recordings beside the project");
            return;
        };
        let paths = listed.map(|entry| entry.expect("the folder can be listed").path());
        for path in paths.filter(|path| path.to_string_lossy().contains("manual_pages")) {
            let output = Output { name: "gt.json".to_owned(), bytes: fs::read(&path).expect("it can be read") };
            assert!(recognises(std::slice::from_ref(&output)));
            let run = read(&[output]).expect("it is fine").runs.remove(0);
            assert_eq!(run.entries.len(), 6);
            assert!(run.entries.iter().all(|entry| entry.observations[0].samples.len() == 125));
        }
    }
}
