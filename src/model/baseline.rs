//! A baseline: the values a suite is held against on one class of machine, with the tolerance of each.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::environment::Environment;
use super::metric::Better;
use super::run::RunStatus;
use super::schema::{self, patterns};
use super::series::slug;
use super::strict_json;
use super::unit::Unit;

/// The version of the baseline file that this build writes, and the newest it reads.
pub const SCHEMA_VERSION: u64 = 1;

/// The values a suite is held against.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The version of the file.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u64,
    /// The suite.
    #[schemars(extend("pattern" = patterns::SUITE))]
    pub suite: String,
    /// The class of machine it holds for.
    pub machine_class: String,
    /// Where it was recorded: a gate compares only under the same key.
    pub environment: Environment,
    /// The commit it was taken from.
    pub commit: Option<String>,
    /// The id of the run it was taken from.
    pub run: String,
    /// When that run took place.
    #[schemars(extend("pattern" = patterns::TIME))]
    pub timestamp_utc: DateTime<Utc>,
    /// The status that a run must have to pass.
    pub required_status: RunStatus,
    /// A word of the one who took it.
    pub notes: String,
    /// The values, keyed by benchmark id, a blank, and metric name.
    #[schemars(extend("minProperties" = 1))]
    pub metrics: BTreeMap<String, BaselineMetric>,
}

/// The value of one metric, and how much worse it may get.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineMetric {
    /// In base units.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub value: f64,
    /// The unit of `value` and of `max_regression_abs`.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Allowed relative worsening: 0.25 allows a quarter more.
    #[schemars(extend("minimum" = 0))]
    pub max_regression_ratio: f64,
    /// Allowed absolute worsening on top, in base units.
    #[schemars(extend("minimum" = 0))]
    pub max_regression_abs: f64,
}

/// Why a file is no usable baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// Not JSON; NaN and infinities are no JSON either.
    #[error("is not JSON: {0}")]
    Json(serde_json::Error),
    /// Without `schema_version`.
    #[error("is not a baseline: it has no `schema_version` from 1 on")]
    Foreign,
    /// Written by a newer Sprag.
    #[error("has schema version {0}, this build reads up to {SCHEMA_VERSION}; a newer sprag can read it")]
    Newer(u64),
    /// A field is missing, unknown or of the wrong kind.
    #[error("does not follow schema version 1: {0}")]
    Schema(serde_json::Error),
    /// It would pass anything.
    #[error("has empty `metrics`, so it would pass anything")]
    Empty,
    /// A value that no measurement can be held against.
    #[error("has `{field}` = {value} for `{metric}`, where {wanted} is needed")]
    Value {
        /// The metric's key.
        metric: String,
        /// Which field.
        field: &'static str,
        /// What it says.
        value: f64,
        /// What it should be.
        wanted: &'static str,
    },
    /// The environment key does not follow from the facts.
    #[error("has an `environment.key` that does not follow from its facts")]
    Key,
}

/// A baseline file of a project, as it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineFile {
    /// Its path in the project, with `/`.
    pub path: String,
    /// What it holds, or what is wrong with it.
    pub content: Result<Baseline, String>,
}

impl Baseline {
    /// The schema of the file.
    pub fn schema() -> Value {
        schema::of::<Baseline>()
    }

    /// Where the baseline of a suite for a class of machine lies in a project.
    pub fn path(suite: &str, machine_class: &str) -> String {
        format!("baselines/{suite}.{}.json", slug(machine_class, 60))
    }

    /// The key under which a metric of a benchmark stands.
    pub fn key(benchmark: &str, metric: &str) -> String {
        format!("{benchmark} {metric}")
    }

    /// The benchmark id and metric name of a key.
    pub fn split_key(key: &str) -> Option<(&str, &str)> {
        key.rsplit_once(' ')
    }

    /// Reads a baseline and checks that something can be held against it.
    ///
    /// # Errors
    /// Names the field and, for a value, the metric that cannot stand.
    pub fn from_json(bytes: &[u8]) -> Result<Baseline, BaselineError> {
        let value: Value = strict_json::parse(bytes).map_err(BaselineError::Json)?;
        match value.get("schema_version").and_then(Value::as_u64) {
            None | Some(0) => return Err(BaselineError::Foreign),
            Some(version) if version > SCHEMA_VERSION => return Err(BaselineError::Newer(version)),
            Some(_) => {}
        }
        let baseline: Baseline = serde_json::from_value(value).map_err(BaselineError::Schema)?;
        baseline.check()?;
        Ok(baseline)
    }

    /// The file: JSON with sorted keys and two blanks of indent, for people to review.
    pub fn to_json(&self) -> String {
        let value = serde_json::to_value(self).expect("a baseline holds nothing that JSON cannot");
        let mut text = serde_json::to_string_pretty(&value).expect("a JSON value has a text");
        text.push('\n');
        text
    }

    fn check(&self) -> Result<(), BaselineError> {
        if self.metrics.is_empty() {
            return Err(BaselineError::Empty);
        }
        if self.environment.key != Environment::key_of(&self.environment.facts) {
            return Err(BaselineError::Key);
        }
        for (metric, entry) in &self.metrics {
            let fault = |field, value, wanted| BaselineError::Value { metric: metric.clone(), field, value, wanted };
            if !(entry.value.is_finite() && entry.value > 0.0) {
                return Err(fault("value", entry.value, "a number above zero"));
            }
            if !(entry.max_regression_ratio.is_finite() && entry.max_regression_ratio >= 0.0) {
                return Err(fault("max_regression_ratio", entry.max_regression_ratio, "zero or more"));
            }
            if !(entry.max_regression_abs.is_finite() && entry.max_regression_abs >= 0.0) {
                return Err(fault("max_regression_abs", entry.max_regression_abs, "zero or more"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        let text = "{\"schema_version\": 1, \"metrics\": {\"a time\": {\"value\": 1},\n\"a time\": {\"value\": 9}}}";
        let error = Baseline::from_json(text.as_bytes()).expect_err("it is refused").to_string();
        assert!(error.contains("the key `a time` stands twice in one object at line 2"), "{error}");
    }
}
