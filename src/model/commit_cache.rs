//! What is known of commits from before. A commit never changes, and its name is the digest of all that it is: what was read of
//! it once holds for ever.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Commits by their forty digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommitCache(BTreeMap<String, CachedCommit>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedCommit {
    pub parent: Option<String>,
    /// When it was committed and the first line of its message, where it can be measured; absent where it only adds records.
    pub code: Option<(DateTime<Utc>, String)>,
}

impl CommitCache {
    pub fn get(&self, sha: &str) -> Option<&CachedCommit> {
        self.0.get(sha)
    }

    pub fn insert(&mut self, sha: String, commit: CachedCommit) {
        self.0.insert(sha, commit);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("texts and times are JSON")
    }

    /// What was written; absent where the text is none of ours.
    pub fn from_text(text: &str) -> Option<CommitCache> {
        serde_json::from_str(text).ok()
    }
}
