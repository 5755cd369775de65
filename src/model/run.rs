//! A run: one suite on one commit, machine and time.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::commit::{Commit, NO_COMMIT};
use super::environment::{Environment, Machine};
use super::sample::Measurement;
use super::shard::{SHARD, Shard};
use sprag_base::words;

pub const LAYOUT_VERSION: u64 = 1;

/// The folder of records in the tree of the history.
pub const RECORD_ROOT: &str = "history/v1";

/// The setting that lists the texts of `--filter`.
pub const FILTER: &str = "filter";

pub const IMPORT: &str = "import";

#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub suite: String,
    pub timestamp: DateTime<Utc>,
    /// Absent outside a repository or before the first commit.
    pub commit: Option<Commit>,
    pub machine: Machine,
    pub environment: Environment,
    pub config: BTreeMap<String, Value>,
    pub status: RunStatus,
    pub reason: Option<String>,
    pub quality: Quality,
    /// In the order of the suite.
    pub measurements: Vec<Measurement>,
    /// Configurations that a tuner chose, one object each; empty where nothing is tuned.
    pub autotune: Vec<Value>,
}

/// Whether a suite ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It ran; single benchmarks may have failed.
    Ok,
    /// It could not run here, such as a GPU suite on a machine without a GPU.
    Skipped,
    Failed,
}

words!(RunStatus { Ok: "ok", Skipped: "skipped", Failed: "failed" });

/// How the reason of [`Quality`] begins where other programs could have slowed a run.
pub const BUSY: &str = "the machine was busy";

/// Whether the numbers of a run are trustworthy, and the reasons for doubt.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    pub clean: bool,
    /// The reasons, one sentence each.
    pub reasons: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRun {
    pub path: String,
    /// The sixteen digits of its content in its name.
    pub id: String,
    pub run: Run,
}

impl From<Run> for RecordedRun {
    fn from(run: Run) -> RecordedRun {
        let (id, path, _) = run.to_record();
        RecordedRun { path, id, run }
    }
}

/// A file of the history that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    pub path: String,
    pub reason: FileFault,
}

/// Why a file of the history cannot be used, as it reads after its path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    #[error("cannot be read: {0} is not in this repository, as in a partial clone")]
    Absent(&'static str),
    #[error("{0}")]
    Unusable(String),
}

impl From<String> for FileFault {
    fn from(reason: String) -> FileFault {
        FileFault::Unusable(reason)
    }
}

impl Run {
    /// A clean run of no commit that measured nothing yet, in an environment without facts.
    pub fn new(suite: &str, timestamp: DateTime<Utc>, machine: Machine) -> Run {
        Run {
            suite: suite.to_owned(),
            timestamp,
            commit: None,
            machine,
            environment: Environment::from_facts(BTreeMap::new()),
            config: BTreeMap::new(),
            status: RunStatus::Ok,
            reason: None,
            quality: Quality { clean: true, reasons: Vec::new() },
            measurements: Vec::new(),
            autotune: Vec::new(),
        }
    }

    /// Whether the run is limited to some benchmarks of its suite, by a filter or as one of several shards.
    pub fn is_partial(&self) -> bool {
        is_partial(&self.config)
    }

    pub fn is_imported(&self) -> bool {
        self.config.contains_key(IMPORT)
    }

    /// Whether it was measured in one process, for a first look.
    pub fn is_quick(&self) -> bool {
        self.config.get("effort").and_then(Value::as_str) == Some("quick")
    }

    pub fn is_filtered(&self) -> bool {
        is_filtered(&self.config)
    }

    pub fn filters(&self) -> Vec<&str> {
        let texts = self.config.get(FILTER).and_then(|filter| filter.as_array());
        texts.into_iter().flatten().filter_map(|text| text.as_str()).collect()
    }

    /// The path of its record: `history/v1/<suite>/<yyyy>/<mm>/<commit12>-<machine8>-<run16>.json`.
    pub fn path(&self, id: &str) -> String {
        let commit = self.commit.as_ref().map_or(NO_COMMIT, Commit::short);
        let (suite, year, month) = (&self.suite, self.timestamp.year(), self.timestamp.month());
        format!("{RECORD_ROOT}/{suite}/{year:04}/{month:02}/{commit}-{}-{id}.json", self.machine.short_id())
    }

    /// The subject of the commit that records this run.
    pub fn subject(&self) -> String {
        let commit = self.commit.as_ref().map_or(NO_COMMIT, Commit::short);
        format!("sprag: {} {} at {commit}", self.suite, self.status.word())
    }
}

/// As [`Run::is_partial`], by the settings of the run.
pub(super) fn is_partial(config: &BTreeMap<String, Value>) -> bool {
    // A shard that cannot be read is treated as one of several.
    let divided = config.contains_key(SHARD) && Shard::from_config(config).is_none_or(|shard| shard.count() > 1);
    is_filtered(config) || divided
}

pub fn is_filtered(config: &BTreeMap<String, Value>) -> bool {
    config.get(FILTER).is_some_and(|filter| filter.as_array().is_some_and(|texts| !texts.is_empty()))
}
