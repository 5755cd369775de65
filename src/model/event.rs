//! Events: changes of many series that have one cause.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// Levels changed at a commit.
    Change,
    /// Levels moved evenly over commits, so that no single one is to blame.
    Drift,
    /// Levels changed with the environment, and no commit is to blame.
    Environment,
}

/// Which way the levels of an event's series went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// All became worse.
    Worse,
    /// All became better.
    Better,
    /// Some became worse and some better.
    Mixed,
}
