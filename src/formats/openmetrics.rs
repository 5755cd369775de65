//! The newest value of each series as OpenMetrics text, version 1.0, as Prometheus and its relatives read it.
//!
//! A metric is a family of gauges, `sprag_<metric>_<unit>`: `time` in seconds is `sprag_time_seconds`, `tiles_per_s` is
//! `sprag_tiles_per_second`, and a pure number has no unit. Samples have no time stamps, so that a collector of text files
//! takes them; `sprag_newest_run_timestamp_seconds` is the age of a suite. The labels of a series are bounded by the suites;
//! the commit moves with the value.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sprag_base::digest;
use sprag_base::json;
use sprag_model::flat::Row;
use sprag_model::unit::Unit;

const NEWEST_RUN: &str = "sprag_newest_run_timestamp_seconds";

#[derive(Clone, Debug, Default)]
pub struct NewestSamples {
    /// By name and unit of the metric, then by the labels of the series.
    values: BTreeMap<(String, Unit), BTreeMap<String, Sample>>,
    runs: BTreeMap<String, f64>,
}

#[derive(Clone, Debug)]
struct Sample {
    commit: String,
    value: f64,
}

impl NewestSamples {
    /// Takes the rows of a run, the newest run last.
    pub fn take(&mut self, rows: &[Row<'_>]) {
        for row in rows {
            let run = &row.recorded.run;
            let machine = [("machine", run.machine.name.as_str()), ("machine_id", &run.machine.id)];
            let place = labels([("suite", run.suite.as_str())].into_iter().chain(machine));
            self.runs.insert(place, run.timestamp.timestamp() as f64);
            let (Some(measurement), Some(estimate)) = (row.measurement, row.estimate) else { continue };
            let benchmark = &measurement.benchmark;
            let name = format!("{}{}", benchmark.name, benchmark.params_text());
            let version = benchmark.version.to_string();
            let series = [
                ("suite", run.suite.as_str()),
                ("benchmark", &name),
                ("variant", &benchmark.variant),
                ("version", &version),
            ];
            let commit = run.commit.as_ref().map_or("", |commit| commit.sha.as_str());
            let sample = Sample { commit: labels([("commit", commit)].into_iter()), value: estimate.value };
            let metric = (estimate.metric.name.clone(), estimate.metric.unit);
            self.values.entry(metric).or_default().insert(labels(series.into_iter().chain(machine)), sample);
        }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        if !self.runs.is_empty() {
            let help = "When the newest run of a suite began, in seconds since 1970.";
            head(&mut text, NEWEST_RUN, Some("seconds"), help);
            for (labels, time) in &self.runs {
                sample(&mut text, NEWEST_RUN, labels, *time);
            }
        }
        let mut taken = vec![NEWEST_RUN.to_owned()];
        for ((metric, unit), samples) in &self.values {
            let (family, suffix) = family(metric, *unit, &mut taken);
            let help = match unit {
                Unit::One => format!("The newest {metric} of each series."),
                unit => format!("The newest {metric} of each series, in {unit}."),
            };
            head(&mut text, &family, suffix, &help);
            for (labels, newest) in samples {
                sample(&mut text, &family, &format!("{labels},{}", newest.commit), newest.value);
            }
        }
        text.push_str("# EOF\n");
        text
    }
}

/// The name of the family of a metric and the unit at its end. Of two metrics with the same family one gets a digest.
fn family(metric: &str, unit: Unit, taken: &mut Vec<String>) -> (String, Option<&'static str>) {
    let suffix = match unit {
        Unit::Second => Some("seconds"),
        Unit::Byte => Some("bytes"),
        Unit::PerSecond => Some("per_second"),
        Unit::One => None,
    };
    let stem = if unit == Unit::PerSecond { metric.strip_suffix("_per_s").unwrap_or(metric) } else { metric };
    let stem: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let name = |stem: &str| match suffix {
        Some(suffix) => format!("sprag_{stem}_{suffix}"),
        None => format!("sprag_{stem}"),
    };
    let mut family = name(&stem);
    if taken.contains(&family) {
        family = name(&format!("{stem}_{}", &digest::sha256_hex(metric.as_bytes())[..8]));
    }
    taken.push(family.clone());
    (family, suffix)
}

fn head(text: &mut String, family: &str, unit: Option<&str>, help: &str) {
    writeln!(text, "# TYPE {family} gauge").expect("writing to a String cannot fail");
    if let Some(unit) = unit {
        writeln!(text, "# UNIT {family} {unit}").expect("writing to a String cannot fail");
    }
    writeln!(text, "# HELP {family} {}", escaped(help)).expect("writing to a String cannot fail");
}

fn sample(text: &mut String, family: &str, labels: &str, value: f64) {
    let value = json::float_text(value);
    writeln!(text, "{family}{{{labels}}} {value}").expect("writing to a String cannot fail");
}

fn labels<'a>(list: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    list.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect::<Vec<_>>().join(",")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::flat::example::{estimate, measurement, recorded, skipped};
    use sprag_model::flat::value_rows;
    use sprag_model::metric::{Better, Metric};
    use sprag_model::run::Run;

    fn newest(runs: &[Run]) -> String {
        let mut newest = NewestSamples::default();
        for run in runs {
            newest.take(&value_rows(&run.clone().into()));
        }
        newest.text()
    }

    #[test]
    fn the_newest_value_of_a_series_is_written() {
        let old = recorded().run;
        let mut new = old.clone();
        new.timestamp += chrono::TimeDelta::hours(2);
        new.measurements[0].estimates[0].value = 0.5;
        new.measurements.truncate(1);
        insta::assert_snapshot!(newest(&[old, new, skipped().run]));
        assert_eq!(newest(&[]), "# EOF\n");
    }

    #[test]
    fn odd_names_are_escaped_and_distinguished() {
        let metric = |name: &str| Metric { name: name.to_owned(), unit: Unit::One, better: Better::Lower };
        let mut run = recorded().run;
        let odd = [estimate(metric("a-b"), 1.0), estimate(metric("a_b"), 2.0), estimate(metric("µ"), 3.0)];
        let stamp = Metric { unit: Unit::Second, ..metric("newest_run_timestamp") };
        let odd = odd.into_iter().chain([estimate(stamp, 4.0)]).collect();
        run.measurements = vec![measurement("so \"r\\t\"", &[], "v", odd)];
        run.machine.name = "a\nb\\".to_owned();
        insta::assert_snapshot!(newest(&[run]));
    }
}
