//! The JSON of `sprag baseline diff`.

use schemars::JsonSchema;
use serde::Serialize;

use super::list::BaselineSummary;
use super::{BaselineMetric, Better, Rule, Unit};
use crate::schema;

pub const SCHEMA_VERSION: u64 = 1;

/// Pairs of baselines and their differences.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BaselineDiffs {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u64,
    pub diffs: Vec<BaselineDiff>,
}

/// Two baselines and their differences.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BaselineDiff {
    pub from: DiffSide,
    pub to: DiffSide,
    /// Why their values cannot be compared, such as `compiler 1.94 → 1.95`; empty where they can.
    pub differences: Vec<String>,
    /// One entry a metric of either, the largest change first.
    pub metrics: Vec<MetricDiff>,
}

/// One of the two.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct DiffSide {
    /// The path of the file, or of a run in the history.
    pub path: String,
    pub baseline: BaselineSummary,
}

/// How a metric differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffKind {
    /// It has another unit or direction, so that the values cannot be compared.
    Redefined,
    /// It exists only before.
    Removed,
    /// It exists only after.
    Added,
    /// Its value is worse, by more than its new rule tolerates.
    Worse,
    /// Its value is better, by as much.
    Better,
    /// Its value differs, by no more than the rule tolerates.
    Moved,
    /// Its value is the same, and its rule differs.
    Rule,
    /// Nothing.
    Same,
}

/// A metric on both sides.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct MetricDiff {
    /// The benchmark id, a blank, and the metric's name.
    pub key: String,
    pub kind: DiffKind,
    /// After / before - 1; absent without two comparable values.
    pub change: Option<f64>,
    pub from: Option<MetricSide>,
    pub to: Option<MetricSide>,
}

/// A metric on one side.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct MetricSide {
    /// In base units.
    pub value: f64,
    pub unit: Unit,
    pub better: Better,
    pub sessions: usize,
    pub rule: Rule,
}

impl BaselineDiffs {
    pub fn schema() -> serde_json::Value {
        schema::for_closed_type::<BaselineDiffs>()
    }
}

impl MetricSide {
    pub fn new(metric: &BaselineMetric) -> MetricSide {
        let &BaselineMetric { value, unit, better, sessions, rule, .. } = metric;
        MetricSide { value, unit, better, sessions, rule }
    }
}
