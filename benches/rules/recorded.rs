//! Recorded timings of identical code: eighty processes of each of four kernels on a shared machine.

use serde_json::Value;
use sprag_analysis::interleaved::{self, Order};

use crate::table::Table;

/// The row of what must not be called.
pub(crate) const ALIKE: &str = "interval, 10 pairs, tolerance 0 %";

/// The share of windows that may be called slower at a tolerance of zero.
pub(crate) const MOST_CALLED: f64 = 0.02;

/// The rows: a factor by which one side is slower, and a tolerance.
const ROWS: [(&str, f64, f64); 4] = [
    (ALIKE, 1.0, 0.0),
    ("interval, 10 pairs, tolerance 1 %", 1.0, 0.01),
    ("a change by 5 % found, tolerance 0 %", 1.05, 0.0),
    ("a change by 5 % found, tolerance 1 %", 1.05, 0.01),
];

pub(crate) fn table() -> Table {
    let text = include_str!("../../fixtures/golden/stats/aa_invocations.json");
    let recording: Value = serde_json::from_str(text).expect("the recording is JSON");
    let kernels = recording["kernels"].as_object().expect("there are kernels");
    let mut table = Table::new(ROWS.map(|(name, ..)| name), kernels.keys().map(String::as_str));
    for (name, processes) in kernels {
        let numbers = |samples: &Value| -> Vec<f64> {
            samples.as_array().expect("a list").iter().map(|one| one.as_f64().expect("a number")).collect()
        };
        let processes: Vec<Vec<f64>> = processes.as_array().expect("a list").iter().map(numbers).collect();
        let share = |(_, slowdown, tolerance): (&str, f64, f64)| {
            interleaved::called(&processes, 10, Order::Turned, slowdown, tolerance).share()
        };
        table.set(name, ROWS.map(share).to_vec());
    }
    table
}
