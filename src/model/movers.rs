//! Rows of the tables of recent changes and of noise.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unit::Unit;

/// The level of a judged series in its newest window of days compared with the window before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MoverRow {
    pub series: String,
    pub suite: String,
    pub machine: String,
    pub unit: Unit,
    /// The median of the window before, in base units.
    pub before: f64,
    /// The median of the newest window, in base units.
    pub now: f64,
    /// How many runs the window before has.
    pub runs_before: usize,
    /// How many runs the newest window has.
    pub runs_now: usize,
    /// `now / before - 1`; absent where `before` is not above zero.
    pub change: Option<f64>,
    /// The same with positive as worse: `before / now - 1` where larger values are better; absent where
    /// either is not above zero.
    pub worse: Option<f64>,
    /// `now - before`, in base units.
    pub difference: f64,
    /// The rank among the rows of its unit by the difference, from 1 for the worst.
    pub rank_in_unit: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WeekMovers {
    /// The Monday the week begins with (ISO 8601), in UTC.
    pub week: NaiveDate,
    /// The judged series of the week compared with the last week before with a value: the worst relative change first.
    pub movers: Vec<MoverRow>,
}

/// The changes of one suite on one machine, of one element type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeomeanRow {
    pub suite: String,
    pub machine: String,
    pub machine_name: String,
    /// The parameter `dtype` of the benchmarks; absent for those that have none.
    pub dtype: Option<String>,
    /// How many judged series have a change.
    pub series: usize,
    /// The geometric mean of their changes; positive is worse.
    pub change: f64,
    /// Its 95 % interval, by Student's t over the logarithms of the series' changes; absent below three series.
    pub interval: Option<(f64, f64)>,
    /// The worst of the single changes; positive is worse.
    pub worst: f64,
    /// The series with the worst change.
    pub worst_series: String,
}

/// The noise of the judged series of a suite on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteNoiseRow {
    pub suite: String,
    pub machine: String,
    pub machine_name: String,
    pub series: usize,
    /// The median over them of the spread of worker processes.
    pub between_workers_median: Option<f64>,
    /// The 90th percentile of that.
    pub between_workers_p90: Option<f64>,
    /// The median over them of the spread of runs.
    pub between_runs_median: Option<f64>,
    /// The 90th percentile of that.
    pub between_runs_p90: Option<f64>,
}

/// All judged series of a suite on a machine, in one week.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WeekRow {
    /// The Monday the week begins with (ISO 8601), in UTC.
    pub week: NaiveDate,
    pub suite: String,
    pub machine: String,
    pub machine_name: String,
    /// How many runs of the suite measured something.
    pub runs: usize,
    /// How many judged series have a value.
    pub series: usize,
    /// How many of them also have a value in the week before that was measured.
    pub compared: usize,
    /// The geometric mean over those of weekly median / weekly median before, minus 1; positive is worse.
    pub change: Option<f64>,
    /// The worst of the single changes; positive is worse.
    pub worst: Option<f64>,
    /// The series with the worst change.
    pub worst_series: Option<String>,
    /// The best of the single changes; negative is better.
    pub best: Option<f64>,
}
