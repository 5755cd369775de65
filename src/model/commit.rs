//! The commit that a run measured, and the order of commits.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema::patterns;

/// The placeholder in file names of runs without a commit.
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
    /// A clean commit without parents, a subject and a branch.
    pub fn new(sha: String, time: DateTime<Utc>) -> Commit {
        Commit {
            sha,
            parents: Vec::new(),
            author_time: time,
            commit_time: time,
            subject: String::new(),
            branch: None,
            dirty: false,
        }
    }

    /// The twelve digits in file names.
    pub fn short(&self) -> &str {
        self.sha.get(..12).unwrap_or(&self.sha)
    }
}

/// The first-parent line of a branch, oldest first, without commits that only add records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitLine {
    pub commits: Vec<CommitOnLine>,
    /// Whether the repository is a shallow clone.
    pub shallow: bool,
    /// Whether the user named the commit at which it ends. Runs of other commits then do not count.
    pub named: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitOnLine {
    /// Forty lower-case hexadecimal digits.
    pub sha: String,
    pub commit_time: DateTime<Utc>,
    /// The first line of its message.
    pub subject: String,
    pub author: String,
    pub tags: Vec<String>,
}

impl CommitOnLine {
    /// Without an author and tags.
    pub fn new(sha: String, commit_time: DateTime<Utc>, subject: String) -> CommitOnLine {
        CommitOnLine { sha, commit_time, subject, author: String::new(), tags: Vec::new() }
    }
}

impl CommitLine {
    pub fn positions(&self) -> HashMap<&str, usize> {
        self.commits.iter().enumerate().map(|(position, commit)| (commit.sha.as_str(), position)).collect()
    }
}

/// Commits read before, by their forty digits. Entries never go stale, as the name of a commit is the digest of its content.
pub type CommitCache = BTreeMap<String, CachedCommit>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedCommit {
    pub parent: Option<String>,
    /// Its time, the first line of its message, and its author; absent for a commit that only adds records, which is never measured.
    pub code: Option<(DateTime<Utc>, String, String)>,
}
