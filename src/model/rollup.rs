//! Rows of the tables of the digest.

use chrono::{DateTime, NaiveDate, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The newest value of a series compared with the previous one and the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct LatestRow {
    pub series: String,
    /// In base units.
    pub current: f64,
    pub run: String,
    pub previous: Option<f64>,
    pub baseline: Option<f64>,
    /// `current / previous - 1`.
    pub change_previous: Option<f64>,
    /// `current / baseline - 1`.
    pub change_baseline: Option<f64>,
    pub points: usize,
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

/// One suite on one machine, over the whole history.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteRow {
    pub suite: String,
    pub machine: String,
    pub runs: usize,
    pub series: usize,
    /// The oldest run that measured something.
    pub first: DateTime<Utc>,
    pub last: DateTime<Utc>,
    /// The geometric mean of newest / previous over the judged series, minus 1; positive is worse.
    pub change_previous: Option<f64>,
    /// The geometric mean of newest / baseline over the judged series, minus 1; positive is worse.
    pub change_baseline: Option<f64>,
}
