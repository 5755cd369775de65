//! How a command suite reads what one process wrote: Sprag's own report, or any format that can be imported.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use crate::criterion::folder;
use crate::frame::Read;
use crate::outputs::{self, merged};
use crate::registry::{FORMATS, named, recognise};
use crate::{Format, FormatError, criterion, custom, recordable};
use sprag_model::foreign::{Output, Reported, ReportedMetric};
use sprag_model::imported::{Entry, Imported, ImportedRun, Observation};
use sprag_model::metric::Metric;

#[derive(Clone, Copy, Debug)]
pub enum OutputFormat {
    Custom,
    /// The time of the whole process; nothing is read.
    Time,
    Imported(&'static Format),
}

const CUSTOM: &str = "custom";

const TIME: &str = "time";

static NAMES: [&str; FORMATS.len() + 2] = names();

const fn names() -> [&'static str; FORMATS.len() + 2] {
    let mut names = [CUSTOM; FORMATS.len() + 2];
    names[1] = TIME;
    let mut place = 0;
    while place < FORMATS.len() {
        names[place + 2] = FORMATS[place].name;
        place += 1;
    }
    names
}

impl OutputFormat {
    pub fn named(name: &str) -> Option<OutputFormat> {
        match name {
            CUSTOM => Some(OutputFormat::Custom),
            TIME => Some(OutputFormat::Time),
            name => named(name).map(OutputFormat::Imported),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            OutputFormat::Custom => CUSTOM,
            OutputFormat::Time => TIME,
            OutputFormat::Imported(format) => format.name,
        }
    }

    /// The endings of the names of a folder's files that are read.
    pub fn files(self) -> &'static [&'static str] {
        match self {
            OutputFormat::Custom => custom::FILES,
            OutputFormat::Time => &[],
            OutputFormat::Imported(format) => format.files,
        }
    }

    /// Where its tool leaves results, unless the user has it leave them elsewhere.
    pub fn usual_place(self) -> Option<&'static str> {
        (self.name() == folder::FORMAT.name).then_some("target/criterion")
    }

    /// The benchmarks that a process of the suite reported; rows with the same id are samples of one benchmark.
    ///
    /// # Errors
    /// Says what cannot be read, and which format it looks like.
    pub fn read(self, suite: &str, outputs: &[Output]) -> Result<Vec<Reported>, String> {
        self.reported(suite, outputs).map_err(|error| match recognise(outputs)[..] {
            [other] if other.name != self.name() => {
                format!("{error}; it looks like {}: set `format = \"{}\"`", other.title, other.name)
            }
            _ if matches!((self, &error), (OutputFormat::Custom, FormatError::Json { .. } | FormatError::Empty(_))) => {
                format!(
                    "{error}; print a report as `sprag schema metrics-1` describes it, or set `format`; \
                     `format = \"time\"` times the whole command"
                )
            }
            _ => error.to_string(),
        })
    }

    fn reported(self, suite: &str, outputs: &[Output]) -> Result<Vec<Reported>, FormatError> {
        match self {
            OutputFormat::Custom => custom::read(suite, outputs),
            OutputFormat::Time => Ok(Vec::new()),
            // Its ids have another spelling than those of an import, and work is declared.
            OutputFormat::Imported(format) if format.name == folder::FORMAT.name => criterion::read(suite, outputs),
            OutputFormat::Imported(format) => {
                let mut imported = format.read(outputs)?;
                if !matches!(format.read, Read::Each(..)) {
                    keep_newest(&mut imported.runs);
                }
                Ok(benchmarks(suite, &imported))
            }
        }
    }
}

/// Of a history, the newest run of each suite and environment.
fn keep_newest(runs: &mut [ImportedRun]) {
    let moment = |run: &ImportedRun| run.time.or_else(|| run.commit.as_ref()?.time);
    let mut newest: BTreeMap<_, Option<DateTime<Utc>>> = BTreeMap::new();
    for run in runs.iter() {
        for entry in &run.entries {
            let latest = newest.entry((run.suite.clone(), entry.variant.clone())).or_default();
            *latest = moment(run).max(*latest);
        }
    }
    for run in runs {
        let (suite, at) = (run.suite.clone(), moment(run));
        run.entries.retain(|entry| newest[&(suite.clone(), entry.variant.clone())] == at);
    }
}

fn benchmarks(suite: &str, imported: &Imported) -> Vec<Reported> {
    let reserved = Metric::reserved();
    let has_several = imported.runs.iter().any(|run| run.suite != imported.runs[0].suite);
    let mut reported = Vec::new();
    for run in &imported.runs {
        for entry in &run.entries {
            let benchmark = match &run.suite {
                Some(of) if has_several => {
                    let name = format!("{of}/{}", entry.name);
                    recordable::benchmark(suite, &Entry { name, ..entry.clone() })
                }
                _ => recordable::benchmark(suite, entry),
            };
            let result = recordable::observations(entry, &reserved).map(|observations| {
                let metric =
                    |(metric, one): (Metric, &Observation)| ReportedMetric { metric, samples: outputs::samples(one) };
                observations.into_iter().map(metric).collect()
            });
            reported.push(Reported { benchmark, result, work: Vec::new() });
        }
    }
    merged(reported, |one| one.benchmark.id(), merge)
}

fn merge(first: &mut Reported, later: Reported) {
    let metrics = |list: &[ReportedMetric]| list.iter().map(|one| one.metric.clone()).collect::<Vec<_>>();
    match (&mut first.result, later.result) {
        (Err(_), _) => {}
        (Ok(_), Err(reason)) => first.result = Err(reason),
        (Ok(earlier), Ok(more)) if metrics(earlier) == metrics(&more) => {
            for (one, more) in earlier.iter_mut().zip(more) {
                one.samples.extend(more.samples);
            }
        }
        (Ok(_), Ok(_)) => first.result = Err("it is reported more than once, with different metrics".to_owned()),
    }
}

impl PartialEq for OutputFormat {
    fn eq(&self, other: &OutputFormat) -> bool {
        self.name() == other.name()
    }
}

impl<'de> Deserialize<'de> for OutputFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OutputFormat, D::Error> {
        let name = String::deserialize(deserializer)?;
        OutputFormat::named(&name).ok_or_else(|| D::Error::unknown_variant(&name, &NAMES))
    }
}

impl JsonSchema for OutputFormat {
    fn schema_name() -> Cow<'static, str> {
        "OutputFormat".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = |(name, title): (&str, &str)| json!({"type": "string", "const": name, "description": title});
        let own = (CUSTOM, "Sprag's own report, `sprag schema metrics-1`.");
        let time = (TIME, "The wall time of the whole process; what it prints is ignored.");
        let all = [own, time].into_iter().chain(FORMATS.iter().map(|format| (format.name, format.title)));
        json_schema!({"oneOf": all.map(one).collect::<Vec<_>>()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, output};

    fn read(format: &str, outputs: &[Output]) -> Result<Vec<Reported>, String> {
        OutputFormat::named(format).expect("it is a format").read("theirs", outputs)
    }

    /// The ids with the samples of their first metric.
    fn shown(reported: &[Reported]) -> Vec<String> {
        let one = |one: &Reported| match &one.result {
            Ok(metrics) => format!("{} {} {:?}", one.benchmark.id(), metrics[0].metric.name, metrics[0].samples),
            Err(reason) => format!("{} failed: {reason}", one.benchmark.id()),
        };
        reported.iter().map(one).collect()
    }

    #[test]
    fn each_format_reads_its_sample_as_a_suite() {
        let mut formats = 0;
        for tool in golden::tools() {
            let mut outputs = golden::samples(&tool);
            // Tables for people are recognised, so that they are refused with a reason.
            outputs.retain(|output| !output.name.ends_with(".md"));
            for outputs in std::iter::once(&outputs[..]).chain(outputs.chunks(1)) {
                let [format] = recognise(outputs)[..] else { continue };
                // Samples of several versions of a tool have different metrics.
                let is_folder = |one: &Output| recognise(std::slice::from_ref(one)).is_empty();
                if outputs.len() > 1 && !outputs.iter().all(is_folder) {
                    continue;
                }
                let reported = read(format.name, outputs).unwrap_or_else(|error| panic!("{tool}: {error}"));
                formats += 1;
                assert!(!reported.is_empty() && reported.iter().any(|one| one.result.is_ok()), "{tool}: {reported:?}");
                for one in &reported {
                    assert_eq!(one.benchmark.check(), Ok(()), "{tool}");
                    let samples = |metrics: &Vec<ReportedMetric>| metrics.iter().all(|one| !one.samples.is_empty());
                    assert!(one.result.as_ref().is_ok_and(samples) || one.result.is_err(), "{tool}: {one:?}");
                }
            }
        }
        assert!(formats > 20, "{formats}");
    }

    #[test]
    fn repeated_rows_are_samples_and_a_failed_one_fails_the_benchmark() {
        let row = |name: &str, time: &str| {
            format!(r#"{{"name": "{name}", "run_type": "iteration", "real_time": {time}, "time_unit": "s"}}"#)
        };
        let report = |rows: &[String]| {
            output("r.json", format!(r#"{{"context": {{"num_cpus": 1}}, "benchmarks": [{}]}}"#, rows.join(",")))
        };
        let files = [report(&[row("a", "1"), row("b", "5"), row("a", "2")]), report(&[row("a", "3"), row("b", "-1")])];
        let reported = read("google-benchmark", &files).expect("both are reports");
        let expected = ["theirs/a @default time [1.0, 2.0, 3.0]", "theirs/b @default failed: its `real_time` is -1"];
        let shown = shown(&reported);
        assert!(shown.len() == 2 && shown[0] == expected[0] && shown[1].starts_with(expected[1]), "{shown:?}");
    }

    #[test]
    fn of_a_history_the_newest_run_of_each_suite_is_read() {
        let run = |date: u64, value: u64| {
            let bench = format!(r#"{{"name": "a", "value": {value}, "unit": "s"}}"#);
            format!(r#"{{"date": {date}, "tool": "go", "commit": {{"id": "6a580d9"}}, "benches": [{bench}, {bench}]}}"#)
        };
        let data = |suites: &str| output("data.js", format!("window.BENCHMARK_DATA = {{\"entries\": {{{suites}}}}}"));
        let one = data(&format!(r#""x": [{}, {}]"#, run(2000, 2), run(1000, 1)));
        let check = |data, expected: &[&str]| {
            let reported = read("github-action-benchmark", &[data]).expect("it is a history");
            assert_eq!(shown(&reported), expected);
        };
        check(one, &["theirs/a @default time [2.0, 2.0]"]);
        let two = data(&format!(r#""x": [{}], "y": [{}, {}]"#, run(2000, 2), run(1000, 1), run(3000, 3)));
        check(two, &["theirs/x/a @default time [2.0, 2.0]", "theirs/y/a @default time [3.0, 3.0]"]);
    }

    #[test]
    fn the_format_that_was_meant_is_named() {
        let check = |format: &str, text: &[u8], words: &[&str]| {
            let error = read(format, &[output("standard output", text)]).expect_err("it is another format");
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        };
        let google = golden::samples("google-benchmark");
        let google = google.iter().find(|one| one.name == "out.json").expect("there is a report");
        check("custom", &google.bytes, &["no `schema_version`", "set `format = \"google-benchmark\"`"]);
        check("hyperfine", &google.bytes, &["set `format = \"google-benchmark\"`"]);
        check("hyperfine", b"", &["standard output is empty, where a report was expected"]);
        let own = "; print a report as `sprag schema metrics-1` describes it, or set `format`";
        check("custom", b"time: 3 s", &["standard output is not JSON", own]);
        check("custom", b"", &["standard output is empty, where a report was expected", own]);
        let unknown = serde_json::from_str::<OutputFormat>("\"gogle-benchmark\"").map_err(|error| error.to_string());
        assert!(unknown.is_err_and(|error| error.starts_with("unknown variant `gogle-benchmark`, expected one of")));
    }
}
