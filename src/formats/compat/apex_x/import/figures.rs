//! Figures of the seed as observations, so that a figure has one place however the file that holds it spells it.
//!
//! `infer_p50_ms` of a CPU report, `benchmarks.tile_ops.tilepack.dispatch.p50_ms` of a baseline and the field `p50_ms` of
//! a block of a GPU report are all medians: the metric `time` of `infer` and of `tile_ops.tilepack.dispatch`. The 95th
//! percentile is `time_p95`. Milliseconds become seconds.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{outputs, quantity};
use sprag_model::imported::{Entry, EntryStatus, Observation};
use sprag_model::metric::{Better, Metric, TIME};
use sprag_model::unit::Unit;

/// The metric of a 95th percentile.
const TIME_P95: &str = "time_p95";

/// What a flat name ends with, and the metric it is of. What is of a summary of a sweep comes first.
const ENDINGS: [(&str, &str); 8] = [
    (".p50_ms_min", "time_min"),
    (".p50_ms_max", "time_max"),
    (".p50_ms_median", TIME),
    (".p50_ms", TIME),
    (".p95_ms", TIME_P95),
    ("_p50_ms", TIME),
    ("_p95_ms", TIME_P95),
    ("_ms", TIME),
];

/// The benchmark and the metric of a figure by its flat name.
pub(super) fn place(name: &str) -> (String, Metric) {
    let short = name.strip_prefix("benchmarks.").unwrap_or(name);
    let found = ENDINGS.iter().find_map(|(end, metric)| Some((short.strip_suffix(end)?, *metric)));
    let (series, metric) = found.filter(|(series, _)| !series.is_empty()).unwrap_or((short, TIME));
    (series.strip_suffix(".metrics").unwrap_or(series).to_owned(), seconds(metric))
}

/// A metric in seconds.
pub(super) fn seconds(name: &str) -> Metric {
    Metric { name: name.to_owned(), unit: Unit::Second, better: Better::Lower }
}

/// A figure in milliseconds as an observation of so many calls; the fault names the field.
pub(super) fn milliseconds(metric: Metric, field: &str, value: &Value, n: u64) -> Result<Observation, String> {
    let seconds = number(value).ok_or_else(|| format!("its `{}` is no number", field.escape_debug()))?;
    let seconds = quantity::to_base(seconds, 1e-3);
    Ok(Observation { n, ..outputs::summary(metric, "ms", field, seconds)? })
}

/// A number, or a text that reads as one: the seed's own comparison takes both, and NaN arrives as a text.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// The benchmarks of a file in the order of its figures.
#[derive(Default)]
pub(super) struct Entries {
    entries: Vec<Entry>,
    places: BTreeMap<String, usize>,
}

impl Entries {
    /// The benchmark of that name, which is new where no figure of it came yet.
    pub(super) fn of(&mut self, series: &str) -> &mut Entry {
        let place = *self.places.entry(series.to_owned()).or_insert(self.entries.len());
        if place == self.entries.len() {
            self.entries.push(outputs::entry(series, Ok(Vec::new())));
        }
        &mut self.entries[place]
    }

    /// Adds what was found of a benchmark; the first fault fails it.
    pub(super) fn add(&mut self, series: &str, found: Result<Observation, String>) -> &mut Entry {
        let entry = self.of(series);
        match found {
            Ok(observation) if entry.status == EntryStatus::Ok => {
                let twice = entry.observations.iter().any(|one| one.metric.name == observation.metric.name);
                match twice {
                    true => fail(entry, format!("its `{}` comes more than once", observation.metric.name)),
                    false => entry.observations.push(observation),
                }
            }
            Err(reason) if entry.status == EntryStatus::Ok => fail(entry, reason),
            _ => {}
        }
        entry
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn into_vec(self) -> Vec<Entry> {
        self.entries
    }
}

fn fail(entry: &mut Entry, reason: String) {
    entry.status = EntryStatus::Failed(reason);
    entry.observations.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_figure_has_one_place_however_it_is_spelt() {
        let check = |name: &str, series: &str, metric: &str| {
            assert_eq!(place(name), (series.to_owned(), seconds(metric)), "{name}");
        };
        check("infer_p50_ms", "infer", "time");
        check("infer_p95_ms", "infer", "time_p95");
        check("benchmarks.tile_ops.tilepack.dispatch.p95_ms", "tile_ops.tilepack.dispatch", "time_p95");
        check("benchmarks.end_to_end_infer.tensorrt_engine.metrics.p50_ms", "end_to_end_infer.tensorrt_engine", "time");
        check("case.case_001_1_3.p50_ms", "case.case_001_1_3", "time");
        check("summary.p50_ms_min", "summary", "time_min");
        check("summary.p50_ms_median", "summary", "time");
        check("a_ms", "a", "time");
        check("plain", "plain", "time");
        check("_ms", "_ms", "time");
    }

    #[test]
    fn a_fault_fails_its_benchmark() {
        let mut entries = Entries::default();
        let found = |metric: &str, value: Value| milliseconds(seconds(metric), "x", &value, 5);
        entries.add("a", found("time", json!("1.5")));
        entries.add("a", found("time_p95", json!(3)));
        entries.add("b", found("time", json!(true)));
        entries.add("b", found("time_p95", json!(1)));
        entries.add("c", found("time", json!(1)));
        entries.add("c", found("time", json!(2)));
        entries.add("d", found("time", json!("NaN")));
        let entries = entries.into_vec();
        assert_eq!(
            entries[0].observations.iter().map(|one| (one.value, one.n)).collect::<Vec<_>>(),
            [(0.0015, 5), (0.003, 5)]
        );
        let reasons = entries[1..].iter().map(|entry| match &entry.status {
            EntryStatus::Failed(reason) => reason.as_str(),
            _ => "",
        });
        let wanted = ["its `x` is no number", "its `time` comes more than once", "its `x` is NaN, which is no number"];
        assert_eq!(reasons.collect::<Vec<_>>(), wanted);
    }
}
