//! A small run for tests, and how long their loops are. `tests/it` includes this file, too.

use chrono::{DateTime, TimeDelta, Utc};
use sprag_model::benchmark::Benchmark;
use sprag_model::environment::{Environment, Machine};
use sprag_model::metric::Metric;
use sprag_model::run::Run;
use sprag_model::sample::{Estimate, Measurement};

pub(crate) fn minute(number: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_767_600_000, 0).expect("a time") + TimeDelta::minutes(number)
}

/// A run of the suite `cpu` that differs with `number` in time and value.
pub(crate) fn run(number: i64) -> Run {
    let value = 1e-3 * (1.0 + number as f64 / 100.0);
    let estimate =
        Estimate { workers: vec![value, value * 1.01], p50: Some(value), ..Estimate::new(Metric::time(), value, 20) };
    let benchmark = Benchmark::new("cpu", "tile_pack", &[("t", "8".into())], "fast").expect("plain words");
    Run {
        environment: Environment::from_facts([("cpu_model".to_owned(), "Example".to_owned())].into()),
        measurements: vec![Measurement::new(benchmark, vec![estimate])],
        ..Run::new("cpu", minute(number), Machine::named("bench-1", "Example CPU"))
    }
}

/// How many rounds a loop of kills or faults runs: `few` for each change, `all` where `SPRAG_LONG_TESTS=1` is set.
pub(crate) fn rounds(few: u64, all: u64) -> u64 {
    if std::env::var_os("SPRAG_LONG_TESTS").is_some_and(|value| value == "1") { all } else { few }
}
