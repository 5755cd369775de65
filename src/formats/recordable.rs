//! What a record can hold of an entry of another tool: its benchmark, and its metrics or why it has none.

use crate::word::{self, IdPart};
use sprag_base::text::{self, is_unsafe_in_name};
use sprag_model::benchmark::Benchmark;
use sprag_model::foreign::DEFAULT_VARIANT;
use sprag_model::imported::{Entry, EntryStatus, Observation};
use sprag_model::metric::Metric;
use sprag_model::sample::SKIPPED;

pub fn benchmark(suite: &str, entry: &Entry) -> Benchmark {
    let params = entry.params.iter();
    Benchmark {
        suite: suite.to_owned(),
        name: word::part(&entry.name, IdPart::Name),
        params: params
            .map(|(key, value)| (word::part(key, IdPart::Parameter), word::part(value, IdPart::Parameter)))
            .collect(),
        variant: entry.variant.as_ref().map_or(DEFAULT_VARIANT.to_owned(), |text| word::part(text, IdPart::Variant)),
        version: 1,
    }
}

/// At least one observation, each with the metric that is recorded of it; `reserved` are [`Metric::reserved`].
pub fn observations<'e>(entry: &'e Entry, reserved: &[Metric]) -> Result<Vec<(Metric, &'e Observation)>, String> {
    match &entry.status {
        EntryStatus::Ok if entry.observations.is_empty() => return Err("the source holds no value of it".to_owned()),
        EntryStatus::Ok => {}
        EntryStatus::Skipped(reason) => return Err(format!("{SKIPPED}{}", one_line(reason))),
        EntryStatus::Failed(reason) => return Err(one_line(reason)),
    }
    let mut metrics: Vec<(Metric, &Observation)> = Vec::with_capacity(entry.observations.len());
    for observation in &entry.observations {
        let metric = metric(&observation.metric, reserved);
        if metrics.iter().any(|(other, _)| other.name == metric.name) {
            return Err(format!("it has the metric `{}` twice", metric.name));
        }
        let Observation { samples, processes, value, .. } = observation;
        let mut numbers = samples.iter().chain(processes).chain([value]);
        if let Some(fault) = numbers.find_map(|number| metric.fault(*number)) {
            return Err(format!("its metric `{}` is {fault}", metric.name));
        }
        metrics.push((metric, observation));
    }
    Ok(metrics)
}

fn one_line(reason: &str) -> String {
    let short: String = text::one_line(reason).chars().take(500).collect();
    if short.is_empty() { "it did not run, and the source does not say why".to_owned() } else { short }
}

fn metric(metric: &Metric, reserved: &[Metric]) -> Metric {
    let safe = |c: char| if c.is_whitespace() || is_unsafe_in_name(c) { '_' } else { c };
    let short: String = metric.name.chars().take(60).map(safe).collect();
    let name = if short.is_empty() { "value".to_owned() } else { short };
    let clashes =
        reserved.iter().any(|other| other.name == name && (other.unit != metric.unit || other.better != metric.better));
    Metric { name: if clashes { format!("{name}_value") } else { name }, unit: metric.unit, better: metric.better }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_metrics_are_made_recordable() {
        let check = |name: &str, like: Metric, expected: &str| {
            let named = Metric { name: name.to_owned(), ..like };
            assert_eq!(metric(&named, &Metric::reserved()).name, expected);
        };
        check("time", Metric::time(), "time");
        check("time", Metric::ratio(), "time_value");
        check("cpu time", Metric::time(), "cpu_time");
        check("", Metric::time(), "value");
    }
}
