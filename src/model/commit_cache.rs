//! What is known of commits from before. A commit never changes, and its name is the digest of all that it is: what was read of
//! it once holds for ever.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

/// Commits by their forty digits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommitCache(HashMap<String, CachedCommit>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedCommit {
    /// Its first parent; absent where it has none.
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
        let mut lines: Vec<String> = self.0.iter().filter_map(|(sha, commit)| line(sha, commit)).collect();
        lines.sort_unstable();
        lines.concat()
    }

    /// What was kept; absent where the text is none of ours.
    pub fn from_text(text: &str) -> Option<CommitCache> {
        text.split_terminator('\n').map(read).collect::<Option<_>>().map(CommitCache)
    }
}

/// The name, the first parent, the time and the subject; a subject of several lines is not kept.
fn line(sha: &str, commit: &CachedCommit) -> Option<String> {
    let parent = commit.parent.as_deref().unwrap_or("-");
    match &commit.code {
        None => Some(format!("{sha} {parent}\n")),
        Some((_, subject)) if subject.contains('\n') => None,
        Some((time, subject)) => Some(format!("{sha} {parent} {} {subject}\n", time.timestamp())),
    }
}

fn read(line: &str) -> Option<(String, CachedCommit)> {
    let mut words = line.splitn(4, ' ');
    let (sha, parent) = (words.next()?, words.next()?);
    let code = match (words.next(), words.next()) {
        (None, _) => None,
        (Some(time), subject) => Some((DateTime::from_timestamp(time.parse().ok()?, 0)?, subject?.to_owned())),
    };
    let parent = Some(parent).filter(|parent| *parent != "-").map(str::to_owned);
    Some((sha.to_owned(), CachedCommit { parent, code }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_read_back() {
        let commit = |parent: Option<&str>, subject: Option<&str>| CachedCommit {
            parent: parent.map(str::to_owned),
            code: subject
                .map(|subject| (DateTime::from_timestamp(1_700_000_000, 0).expect("a time"), subject.to_owned())),
        };
        let mut known = CommitCache::default();
        known.insert("a1".to_owned(), commit(None, Some("Begin")));
        known.insert("b2".to_owned(), commit(Some("a1"), None));
        known.insert("c3".to_owned(), commit(Some("b2"), Some("")));
        known.insert("d4".to_owned(), commit(Some("c3"), Some(" two  blanks \r and a \u{2028} line")));
        assert_eq!(CommitCache::from_text(&known.to_text()), Some(known.clone()));
        let kept = known.clone();
        known.insert("e5".to_owned(), commit(None, Some("two\nlines")));
        assert_eq!(CommitCache::from_text(&known.to_text()), Some(kept));
        assert!(CommitCache::from_text("").is_some_and(|none| none.is_empty()));
        for wrong in ["a1", "a1 b2 x y", "a1 b2 17", "a1 - \n\n"] {
            assert_eq!(CommitCache::from_text(wrong), None, "{wrong}");
        }
    }
}
