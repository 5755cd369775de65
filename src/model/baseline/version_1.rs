//! Baselines of schema version 1: every metric is judged by the rule `tolerance`.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::environment::Environment;
use crate::metric::Better;
use crate::run::RunStatus;
use crate::schema::patterns;
use crate::unit::Unit;

/// The values a suite is held against.
#[derive(Clone, Debug, PartialEq, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Baseline {
    /// The version of the file.
    #[schemars(extend("const" = 1))]
    pub(super) schema_version: u64,
    /// The suite.
    #[schemars(extend("pattern" = patterns::SUITE))]
    pub(super) suite: String,
    /// The class of machine it holds for.
    pub(super) machine_class: String,
    /// Where it was recorded: a gate compares only under the same key.
    pub(super) environment: Environment,
    /// The commit it was taken from.
    pub(super) commit: Option<String>,
    /// The id of the run it was taken from.
    pub(super) run: String,
    /// When that run took place.
    #[schemars(extend("pattern" = patterns::TIME))]
    pub(super) timestamp_utc: DateTime<Utc>,
    /// The status that a run must have to pass. A run of any other has no values, so that no other is taken.
    #[schemars(extend("const" = "ok"))]
    pub(super) required_status: RunStatus,
    /// A word of the one who took it.
    pub(super) notes: String,
    /// The values, keyed by benchmark id, a blank, and metric name.
    #[schemars(extend("minProperties" = 1))]
    pub(super) metrics: BTreeMap<String, BaselineMetric>,
}

/// The value of one metric, and how much worse it may get.
#[derive(Clone, Debug, PartialEq, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BaselineMetric {
    /// In base units.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub(super) value: f64,
    /// The unit of `value` and of `max_regression_abs`.
    pub(super) unit: Unit,
    /// Which way is better.
    pub(super) better: Better,
    /// Allowed relative worsening: 0.25 allows a quarter more.
    #[schemars(extend("minimum" = 0))]
    pub(super) max_regression_ratio: f64,
    /// Allowed absolute worsening on top, in base units.
    #[schemars(extend("minimum" = 0))]
    pub(super) max_regression_abs: f64,
}
