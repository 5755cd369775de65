//! The JSON of `sprag baseline list`.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Baseline, BaselineAcceptance, BaselineFile};
use crate::schema;
use crate::schema::patterns;

pub const SCHEMA_VERSION: u64 = 1;

/// The baselines of a project.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BaselineList {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u64,
    /// One entry a file: those in use by path, then those of the archive.
    pub baselines: Vec<ListedBaseline>,
}

/// A file of baselines.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ListedBaseline {
    /// Its path in the project, with `/`.
    pub path: String,
    /// Whether it was replaced.
    pub archived: bool,
    /// What is wrong with it, so that it cannot be used.
    pub fault: Option<String>,
    /// Its summary; absent where something is wrong.
    pub baseline: Option<BaselineSummary>,
}

/// A baseline without its values.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BaselineSummary {
    pub suite: String,
    /// The class of machine for which it is valid.
    pub machine_class: String,
    /// The name of the machine that measured it.
    pub machine: Option<String>,
    /// The key of the environment for which it is valid.
    pub environment_key: String,
    pub commit: Option<String>,
    /// Whether the run measured uncommitted changes.
    pub dirty: bool,
    /// Whether it lacks benchmarks of its suite.
    pub partial: bool,
    /// The branch that was checked out then.
    pub branch: Option<String>,
    /// The id of its run.
    pub run: String,
    #[schemars(extend("pattern" = patterns::TIME))]
    pub timestamp_utc: DateTime<Utc>,
    /// A remark of its author.
    pub notes: String,
    /// Who accepted it, when and why.
    pub accepted: Option<BaselineAcceptance>,
    pub metrics: usize,
    /// The number of metrics that each rule judges.
    pub rules: BTreeMap<String, usize>,
    /// The fewest and the most sessions of a value.
    pub sessions: (usize, usize),
}

impl BaselineList {
    pub fn schema() -> serde_json::Value {
        schema::for_closed_type::<BaselineList>()
    }
}

impl ListedBaseline {
    pub fn new(file: &BaselineFile, archived: bool) -> ListedBaseline {
        ListedBaseline {
            path: file.path.clone(),
            archived,
            fault: file.content.as_ref().err().cloned(),
            baseline: file.content.as_ref().ok().map(BaselineSummary::new),
        }
    }
}

impl BaselineSummary {
    pub fn new(baseline: &Baseline) -> BaselineSummary {
        let mut rules: BTreeMap<String, usize> = BTreeMap::new();
        for metric in baseline.metrics.values() {
            *rules.entry(metric.rule.name().to_owned()).or_default() += 1;
        }
        let sessions = || baseline.metrics.values().map(|metric| metric.sessions);
        BaselineSummary {
            suite: baseline.suite.clone(),
            machine_class: baseline.machine_class.clone(),
            machine: baseline.machine.clone(),
            environment_key: baseline.environment.key.clone(),
            commit: baseline.commit.clone(),
            dirty: baseline.dirty,
            partial: baseline.partial,
            branch: baseline.branch.clone(),
            run: baseline.run.clone(),
            timestamp_utc: baseline.timestamp_utc,
            notes: baseline.notes.clone(),
            accepted: baseline.accepted.clone(),
            metrics: baseline.metrics.len(),
            rules,
            sessions: (sessions().min().unwrap_or(0), sessions().max().unwrap_or(0)),
        }
    }
}
