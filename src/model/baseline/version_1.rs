//! Baselines of schema version 1: every metric is judged by the rule `tolerance`. The fields are those of today's.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::environment::Environment;
use crate::metric::Better;
use crate::run::RunStatus;
use crate::unit::Unit;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Baseline {
    #[serde(rename = "schema_version")]
    _schema_version: u64,
    pub(super) suite: String,
    pub(super) machine_class: String,
    pub(super) environment: Environment,
    pub(super) commit: Option<String>,
    pub(super) run: String,
    pub(super) timestamp_utc: DateTime<Utc>,
    pub(super) required_status: RunStatus,
    pub(super) notes: String,
    pub(super) metrics: BTreeMap<String, BaselineMetric>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BaselineMetric {
    pub(super) value: f64,
    pub(super) unit: Unit,
    pub(super) better: Better,
    pub(super) max_regression_ratio: f64,
    pub(super) max_regression_abs: f64,
}
