//! What columns read off a row, where that takes more than a field.

use super::{Cell, Row};
use crate::benchmark::Benchmark;
use crate::commit::Commit;
use crate::metric::{Better, PEAK_MEMORY, TIME};
use crate::sample::Estimate;
use crate::unit::Unit;

pub(super) fn commit<'a>(row: &Row<'a>) -> Option<&'a Commit> {
    row.recorded.run.commit.as_ref()
}

pub(super) fn benchmark<'a>(row: &Row<'a>) -> Option<&'a Benchmark> {
    row.measurement.map(|one| &*one.benchmark)
}

pub(super) fn attribute<'a>(row: &Row<'a>, name: &str) -> Option<&'a str> {
    row.measurement?.attributes.get(name).map(String::as_str)
}

/// What measured it. A GPU suite records its compiler and a TensorRT suite its version; of the others only our own CPU
/// kernels have a class.
pub(super) fn backend(row: &Row<'_>) -> Option<&'static str> {
    let facts = &row.recorded.run.environment.facts;
    if facts.contains_key("tensorrt") {
        Some("tensorrt")
    } else if facts.contains_key("nvrtc") {
        Some("cuda")
    } else {
        attribute(row, "class").map(|_| "cpu")
    }
}

/// The model of what it ran on: the class of a machine names its GPU where a suite runs on one.
pub(super) fn device<'a>(row: &Row<'a>) -> &'a str {
    let run = &row.recorded.run;
    let cpu = run.environment.facts.get("cpu_model").filter(|_| !matches!(backend(row), Some("cuda" | "tensorrt")));
    cpu.unwrap_or(&run.machine.class)
}

/// All parameters as `k=v`, joined by commas.
pub(super) fn shape(row: &Row<'_>) -> Option<String> {
    let text = benchmark(row)?.params_text();
    (!text.is_empty()).then(|| text.trim_matches(['{', '}']).to_owned())
}

/// A parameter that is a whole number of 32 bits.
pub(super) fn integer_parameter<'a>(row: &Row<'a>, name: &str) -> Cell<'a> {
    let number = benchmark(row).and_then(|one| one.params.get(name)?.parse::<i32>().ok());
    Cell::integer(number)
}

/// The time, where it is in seconds.
pub(super) fn time<'a>(row: &Row<'a>) -> Option<&'a Estimate> {
    row.valid_estimate(TIME).filter(|one| one.metric.unit == Unit::Second)
}

pub(super) fn throughput<'a>(row: &Row<'a>) -> Option<&'a Estimate> {
    row.first_estimate(|metric| metric.unit == Unit::PerSecond && metric.better == Better::Higher)
}

/// Working memory in whole bytes.
pub(super) fn peak_memory(row: &Row<'_>) -> Option<i64> {
    let bytes = row.valid_estimate(PEAK_MEMORY).filter(|one| one.metric.unit == Unit::Byte)?.value.round();
    // Beyond 2^53 a float counts no single bytes any more.
    (0.0..=9_007_199_254_740_992.0).contains(&bytes).then_some(bytes as i64)
}

/// The share of samples during which the thread was kept from running.
pub(super) fn share(row: &Row<'_>) -> Option<f64> {
    attribute(row, "preempted_share")?.parse().ok().filter(|share: &f64| share.is_finite())
}

pub(super) fn estimate<'a>(row: &Row<'a>, number: impl Fn(&Estimate) -> Option<f64>) -> Cell<'a> {
    Cell::number(row.estimate.and_then(number))
}
