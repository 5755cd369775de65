//! The head of a run: the run without its measurements.
//!
//! The heads of ten thousand runs fit in memory. Lists, the choice of a gate's run and most findings need no more; the few
//! runs that are judged or shown in full are read on demand.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::commit::Commit;
use super::environment::{Environment, Machine};
use super::run::{Quality, RecordedRun, RunStatus};

/// A run of the history without its measurements. Runs share equal values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHead {
    pub path: String,
    /// The sixteen digits of its content in its name.
    pub id: String,
    pub suite: String,
    pub timestamp: DateTime<Utc>,
    /// Absent outside a repository or before the first commit.
    #[serde(with = "shared::option")]
    pub commit: Option<Arc<Commit>>,
    #[serde(with = "shared")]
    pub machine: Arc<Machine>,
    #[serde(with = "shared")]
    pub environment: Arc<Environment>,
    #[serde(with = "shared")]
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

    /// Orders runs by time, and those of equal time by id.
    pub fn age(&self) -> (DateTime<Utc>, &str) {
        (self.timestamp, &self.id)
    }
}

/// Serializes shared values as plain ones.
pub mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer>(value: &Arc<T>, out: S) -> Result<S::Ok, S::Error> {
        T::serialize(value, out)
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(input: D) -> Result<Arc<T>, D::Error> {
        T::deserialize(input).map(Arc::new)
    }

    pub(super) mod option {
        use super::{Arc, Deserialize, Deserializer, Serialize, Serializer};

        pub(crate) fn serialize<T: Serialize, S: Serializer>(
            value: &Option<Arc<T>>,
            out: S,
        ) -> Result<S::Ok, S::Error> {
            value.as_deref().serialize(out)
        }

        pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
            input: D,
        ) -> Result<Option<Arc<T>>, D::Error> {
            Ok(Option::deserialize(input)?.map(Arc::new))
        }
    }
}
