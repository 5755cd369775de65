//! A baseline: the reference values of a suite on one class of machine, with the rule that judges each.
//!
//! A file holds all that a verdict needs: the rule and its parameters, how many sessions a value summarises, and the noise
//! of the series. With the file and a run, anyone can derive the same verdict without the history.

pub mod diff;
pub mod list;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::environment::Environment;
use super::evidence::SessionNoise;
use super::metric::{Better, LARGEST};
use super::record;
use super::rule::Rule;
use super::run::RunStatus;
use super::schema::{self, patterns};
use super::series::slug;
use super::unit::Unit;
use sprag_base::json;

/// The version of the baseline file that this build writes, and the newest it reads.
pub const SCHEMA_VERSION: u64 = 2;

/// The reference values of a suite.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u64,
    #[schemars(extend("pattern" = patterns::SUITE))]
    pub suite: String,
    /// The class of machine for which it is valid.
    pub machine_class: String,
    /// The environment of its run; a gate compares only under the same key.
    pub environment: Environment,
    pub commit: Option<String>,
    /// Whether the run measured uncommitted changes.
    pub dirty: bool,
    /// Whether it lacks benchmarks of its suite: the run was filtered, or some failed.
    pub partial: bool,
    /// The branch that was checked out then.
    pub branch: Option<String>,
    /// The name of the machine that measured it.
    pub machine: Option<String>,
    /// The id of its run, the newest where there are several.
    pub run: String,
    #[schemars(extend("pattern" = patterns::TIME))]
    pub timestamp_utc: DateTime<Utc>,
    /// The status that a run must have to pass. Runs of other statuses have no values.
    #[schemars(extend("const" = "ok"))]
    pub required_status: RunStatus,
    /// A remark of its author.
    pub notes: String,
    /// Who accepted it, when and why; absent in a proposal.
    pub accepted: Option<BaselineAcceptance>,
    /// The values, keyed by benchmark id, a blank, and metric name.
    #[schemars(extend("minProperties" = 1))]
    pub metrics: BTreeMap<String, BaselineMetric>,
}

/// Who accepted a baseline.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Acceptance")]
pub struct BaselineAcceptance {
    /// The author, as git knows them: `name <email>`.
    pub by: String,
    #[schemars(extend("pattern" = patterns::TIME))]
    pub at_utc: DateTime<Utc>,
    /// Why; may be empty.
    pub why: String,
    /// The path of the baseline that it replaced.
    pub replaces: Option<String>,
    /// The keys of the accepted metrics, where the others stayed.
    pub metrics: Option<Vec<String>>,
}

/// The value of one metric, its noise, and the rule that judges it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineMetric {
    /// In base units: the geometric mean over the sessions.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub value: f64,
    pub unit: Unit,
    pub better: Better,
    /// The 95 % interval of the newest run over its worker processes.
    pub interval: Option<(f64, f64)>,
    /// The version of the benchmark, which changes with the work behind its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    #[schemars(extend("minimum" = 1))]
    pub sessions: usize,
    /// How much the series moved from session to session.
    #[serde(rename = "restlessness")]
    pub session_noise: Option<SessionNoise>,
    pub rule: Rule,
}

#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    #[error("is not JSON: {0}")]
    Json(serde_json::Error),
    #[error("is not a baseline: it has no `schema_version` from 1 on")]
    Foreign,
    #[error("has schema version {0}, this build reads up to {SCHEMA_VERSION}; a newer sprag can read it")]
    Newer(u64),
    #[error("does not follow schema version {version}{place}: {error}")]
    Schema {
        version: u64,
        /// Such as ` in the metric `cpu/x @fast time``, or empty.
        place: String,
        error: serde_json::Error,
    },
    #[error("{0}")]
    Content(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct BaselineFile {
    pub path: String,
    /// What it holds, or what is wrong with it.
    pub content: Result<Baseline, String>,
}

impl Baseline {
    pub fn schema() -> Value {
        schema::for_type::<Baseline>()
    }

    pub fn schema_1() -> Value {
        schema::frozen(include_str!("../../schemas/baseline-1.json"))
    }

    pub fn path(suite: &str, machine_class: &str) -> String {
        format!("baselines/{suite}.{}.json", slug(machine_class, 60))
    }

    pub fn key(benchmark: &str, metric: &str) -> String {
        format!("{benchmark} {metric}")
    }

    /// The benchmark id and metric name of a key.
    pub fn split_key(key: &str) -> Option<(&str, &str)> {
        key.rsplit_once(' ')
    }

    pub fn from_json(bytes: &[u8]) -> Result<Baseline, BaselineError> {
        let value: Value = json::parse(bytes).map_err(BaselineError::Json)?;
        let version = match value.get("schema_version").and_then(Value::as_u64) {
            None | Some(0) => return Err(BaselineError::Foreign),
            Some(version) if version > SCHEMA_VERSION => return Err(BaselineError::Newer(version)),
            Some(version) => version,
        };
        let value = if version == 1 { upgraded(value) } else { value };
        let baseline = Baseline::deserialize(&value).map_err(|error| {
            let (place, error) = match faulty_metric(&value) {
                Some((key, error)) => (format!(" in the metric `{}`", key.escape_debug()), error),
                None => (String::new(), error),
            };
            BaselineError::Schema { version, place, error }
        })?;
        baseline.check().map_err(BaselineError::Content)?;
        Ok(baseline)
    }

    /// JSON with an indent of two spaces, for people to review.
    pub fn to_json(&self) -> String {
        let value = serde_json::to_value(self).expect("a baseline holds nothing that JSON cannot");
        let mut text = serde_json::to_string_pretty(&value).expect("a JSON value has a text");
        text.push('\n');
        text
    }

    /// Whether two baselines have the same values, whoever took and accepted them.
    pub fn is_same(&self, other: &Baseline) -> bool {
        let bare = |one: &Baseline| Baseline { notes: String::new(), accepted: None, ..one.clone() };
        bare(self) == bare(other)
    }

    fn check(&self) -> Result<(), String> {
        if !record::is_suite(&self.suite) {
            return Err(format!("is of the suite `{}`, which cannot name a file", self.suite.escape_debug()));
        }
        if self.required_status != RunStatus::Ok {
            let status = self.required_status.word();
            return Err(format!(
                "has `required_status` = \"{status}\", and only a run that is `ok` has values to compare with it"
            ));
        }
        if self.metrics.is_empty() {
            return Err("has empty `metrics`, so it would pass anything".to_owned());
        }
        if self.environment.key != Environment::key_of(&self.environment.facts) {
            return Err("has an `environment.key` that does not follow from its facts".to_owned());
        }
        self.metrics.iter().try_for_each(|(key, metric)| match metric.fault() {
            Some((field, value, wanted)) => Err(format!("has `{field}` = {value} for `{key}`: {wanted}")),
            None => Ok(()),
        })
    }
}

impl BaselineMetric {
    /// The first field with an invalid value: its name, the value and what is allowed.
    fn fault(&self) -> Option<(String, f64, &'static str)> {
        let fault = |field: &str, value: f64, wanted: &'static str| Some((field.to_owned(), value, wanted));
        if !(1.0 / LARGEST..=LARGEST).contains(&self.value) {
            return fault("value", self.value, "a number above zero, and none beyond measure, is needed");
        }
        let is_pair = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite() && low <= high;
        if let Some((low, high)) = self.interval.filter(|pair| !is_pair(pair)) {
            return fault("interval", if low.is_finite() { high } else { low }, "two numbers in order are needed");
        }
        if self.sessions == 0 {
            return fault("sessions", 0.0, "one or more is needed");
        }
        if let Some(noise) = self.session_noise {
            // A series that moves by more than a hundredfold from session to session is none.
            if !(0.0..=5.0).contains(&noise.deviation) {
                return fault("restlessness.deviation", noise.deviation, "from 0 to 5 is allowed");
            }
            if !(noise.freedom.is_finite() && noise.freedom > 0.0) {
                return fault("restlessness.freedom", noise.freedom, "a number above zero is needed");
            }
        }
        self.rule.fault().map(|(name, value, wanted)| (format!("rule.{name}"), value, wanted))
    }
}

/// The first metric of a file that cannot be read, and why. The error of the whole file does not name the metric.
fn faulty_metric(file: &Value) -> Option<(&str, serde_json::Error)> {
    let metrics = file.get("metrics")?.as_object()?;
    metrics.iter().find_map(|(key, entry)| Some((key.as_str(), BaselineMetric::deserialize(entry).err()?)))
}

/// A file of version 1, in which the rule `tolerance` judges every metric, as one of today.
fn upgraded(mut file: Value) -> Value {
    file["schema_version"] = SCHEMA_VERSION.into();
    file["dirty"] = file["commit"].is_null().into();
    file["partial"] = false.into();
    let metrics = file.get_mut("metrics").and_then(Value::as_object_mut);
    for metric in metrics.into_iter().flat_map(|metrics| metrics.values_mut()).filter_map(Value::as_object_mut) {
        let (ratio, abs) = (metric.remove("max_regression_ratio"), metric.remove("max_regression_abs"));
        metric.insert("sessions".to_owned(), json!(1));
        metric.insert("rule".to_owned(), json!({ "name": "tolerance", "ratio": ratio, "abs": abs }));
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_that_cannot_be_read_is_named() {
        let frozen = include_str!("../../fixtures/records/baseline-2.json");
        let check = |from: &str, to: &str, words: &[&str]| {
            assert!(frozen.contains(from), "{from}");
            let error = Baseline::from_json(frozen.replacen(from, to, 1).as_bytes()).expect_err("it is refused");
            let error = error.to_string();
            assert!(words.iter().all(|words| error.contains(words)), "{error}");
        };
        let metric = "does not follow schema version 2 in the metric `";
        check("\"name\": \"interval\"", "\"name\": \"magic\"", &[metric, "unknown variant `magic`, expected one of"]);
        check("\"better\": \"lower\"", "\"better\": \"less\"", &[metric, "unknown variant `less`"]);
        check("\"partial\"", "\"parts\"", &["does not follow schema version 2: unknown field `parts`"]);
    }

    #[test]
    fn a_repeated_key_is_refused() {
        let text = "{\"schema_version\": 1, \"metrics\": {\"a time\": {\"value\": 1},\n\"a time\": {\"value\": 9}}}";
        let error = Baseline::from_json(text.as_bytes()).expect_err("it is refused").to_string();
        assert!(error.contains("the key `a time` occurs twice in one object at line 2"), "{error}");
    }
}
