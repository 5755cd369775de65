//! The commit that a run measured, and the order in which commits stand.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema::patterns;

/// What a file name bears in place of a commit where there is none.
pub const NO_COMMIT: &str = "000000000000";

/// The commit a run measured, as it was when the run took place.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// Forty lower-case hexadecimal digits.
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub sha: String,
    /// The parents, first parent first.
    pub parents: Vec<String>,
    #[schemars(extend("pattern" = patterns::TIME))]
    pub author_time: DateTime<Utc>,
    #[schemars(extend("pattern" = patterns::TIME))]
    pub commit_time: DateTime<Utc>,
    /// The first line of its message.
    pub subject: String,
    /// The branch that was checked out; absent on a detached head.
    pub branch: Option<String>,
    /// Whether tracked files differed from the commit, so that the work measured is not the commit's.
    pub dirty: bool,
}

impl Commit {
    /// The twelve digits that file names bear.
    pub fn short(&self) -> &str {
        self.sha.get(..12).unwrap_or(&self.sha)
    }
}

/// The first-parent line of a branch, oldest first, without commits that only add records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitLine {
    /// The commits that can be measured, oldest first.
    pub commits: Vec<CommitOnLine>,
    /// Whether the repository holds no more than the newest part of its history.
    pub shallow: bool,
    /// Whether somebody named the commit at which it ends: then nothing else is meant, and runs of other commits count nowhere.
    pub named: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitOnLine {
    /// Forty lower-case hexadecimal digits.
    pub sha: String,
    pub commit_time: DateTime<Utc>,
    /// The first line of its message.
    pub subject: String,
    pub tags: Vec<String>,
}

impl CommitLine {
    pub fn positions(&self) -> HashMap<&str, usize> {
        self.commits.iter().enumerate().map(|(position, commit)| (commit.sha.as_str(), position)).collect()
    }
}
