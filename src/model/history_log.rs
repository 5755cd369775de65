//! The JSON of `sprag history log` and `sprag history root`.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::environment::Machine;
use super::head::RunHead;
use super::run::{Quality, RunStatus};
use sprag_base::digest::Digest;

/// The version of both documents.
pub const SCHEMA_VERSION: u64 = 1;

/// The runs of a history, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryLog {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u64,
    pub reference: String,
    /// The commit it is at; absent where there is no history yet.
    pub tip: Option<String>,
    /// The number of runs that match the filters; `runs` may have fewer, by `--limit`.
    pub matching: u64,
    /// The number of files of the history that are not records and not listed.
    pub quarantined: u64,
    pub runs: Vec<LoggedRun>,
}

/// A run in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoggedRun {
    /// The sixteen digits in its name.
    pub id: String,
    /// Its path in the tree of the branch.
    pub path: String,
    pub timestamp_utc: DateTime<Utc>,
    pub suite: String,
    pub status: RunStatus,
    pub reason: Option<String>,
    /// The commit it measured, in full; absent where there was none.
    pub commit: Option<String>,
    /// Whether the working tree differed from the commit.
    pub dirty: bool,
    pub machine: Machine,
    pub benchmarks: u64,
    pub failed: u64,
    pub quality: Quality,
}

impl LoggedRun {
    pub fn new(head: RunHead) -> LoggedRun {
        LoggedRun {
            id: head.id,
            path: head.path,
            timestamp_utc: head.timestamp,
            suite: head.suite,
            status: head.status,
            reason: head.reason,
            dirty: head.commit.as_ref().is_some_and(|commit| commit.dirty),
            commit: head.commit.map(|commit| commit.sha.clone()),
            machine: Arc::unwrap_or_clone(head.machine),
            benchmarks: head.benchmarks as u64,
            failed: head.failed as u64,
            quality: head.quality,
        }
    }
}

/// The root over a history, to be kept elsewhere with its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryRoot {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u64,
    pub reference: String,
    /// The commit it is at; absent where there is no history yet.
    pub tip: Option<String>,
    pub size: u64,
    /// The root over their digests, in the order in which they entered.
    pub root: Digest,
}
