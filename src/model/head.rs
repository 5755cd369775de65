//! The head of a run: all that is known of it but what it measured.
//!
//! A history of ten thousand runs has room in memory as heads, not as runs. Lists, the choice of a gate and most
//! findings need no more; the few runs that are judged or shown in full are read on demand.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::commit::Commit;
use super::environment::{Environment, Machine};
use super::run::{Quality, RecordedRun, RunStatus};

/// A run of the history without its measurements. Runs may share what is the same of them.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHead {
    pub path: String,
    /// The sixteen digits of its content that the name bears.
    pub id: String,
    pub suite: String,
    pub timestamp: DateTime<Utc>,
    /// What was measured; absent outside a repository or before the first commit.
    pub commit: Option<Arc<Commit>>,
    pub machine: Arc<Machine>,
    pub environment: Arc<Environment>,
    pub config: Arc<BTreeMap<String, Value>>,
    pub status: RunStatus,
    pub reason: Option<String>,
    pub quality: Quality,
    pub benchmarks: usize,
    pub failed: usize,
}

impl RunHead {
    pub fn new(recorded: &RecordedRun) -> RunHead {
        let run = &recorded.run;
        RunHead {
            path: recorded.path.clone(),
            id: recorded.id.clone(),
            suite: run.suite.clone(),
            timestamp: run.timestamp,
            commit: run.commit.clone().map(Arc::new),
            machine: run.machine.clone().into(),
            environment: run.environment.clone().into(),
            config: run.config.clone().into(),
            status: run.status,
            reason: run.reason.clone(),
            quality: run.quality.clone(),
            benchmarks: run.measurements.len(),
            failed: run.measurements.iter().filter(|measurement| measurement.failed().is_some()).count(),
        }
    }

    /// What newest means: the time, and where two are equal the id.
    pub fn age(&self) -> (DateTime<Utc>, &str) {
        (self.timestamp, &self.id)
    }
}
