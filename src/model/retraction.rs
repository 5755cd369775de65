//! The record of a retraction in `history/`: which run every analysis leaves out from then on, and why.
//!
//! The record of the run stays, since nothing in the history is removed. As with runs, a retraction is canonical JSON and one line
//! feed, and its name is the start of the SHA-256 of that JSON.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record;
use crate::run::RECORD_ROOT;
use crate::schema::patterns;
use sprag_base::text;

pub const SCHEMA_VERSION: u64 = 1;

pub const RETRACTION_ROOT: &str = "history/v1/_retracted";

/// Of records that undo a retraction. A build that does not know them leaves the run out.
pub const RESTORATION_ROOT: &str = "history/v1/_restored";

/// In characters.
const LONGEST_REASON: usize = 1000;

/// A run that is withdrawn, or used again. The newest record of a run decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retraction {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u64,
    /// The path of its record in the tree of the branch.
    #[schemars(extend("pattern" = "^history/v1/[A-Za-z0-9]"))]
    pub run: String,
    #[schemars(extend("pattern" = patterns::REASON))]
    pub reason: String,
    /// When it was retracted, by the clock of that machine, to the second; later than what it undoes.
    #[schemars(extend("pattern" = patterns::SECOND))]
    pub time: DateTime<Utc>,
    /// Whether it undoes a retraction; absent where it does not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
}

impl Retraction {
    /// The path of the record, its bytes, and the subject of the commit that adds it.
    pub fn to_file(&self) -> (String, Vec<u8>, String) {
        let (root, verb) = if self.undo { (RESTORATION_ROOT, "restore") } else { (RETRACTION_ROOT, "retract") };
        let (path, bytes) = record::to_named(root, self.time, self);
        let run = self.run.rsplit('/').next().unwrap_or_default().trim_end_matches(".json");
        (path, bytes, format!("sprag: {verb} {run}"))
    }

    /// Reads the file at `path`, which must be as [`Retraction::to_file`] writes it. The fault reads after the path.
    pub fn from_file(path: &str, bytes: &[u8]) -> Result<Retraction, String> {
        let retraction: Retraction = record::read_named(bytes, SCHEMA_VERSION, "a retraction of a run")?;
        retraction.check()?;
        let (own_path, own_bytes, _) = retraction.to_file();
        record::check_named(path, bytes, &(own_path, own_bytes)).map(|()| retraction)
    }

    /// The fault reads after what holds the values.
    pub fn check(&self) -> Result<(), String> {
        let length = self.reason.chars().count();
        if self.reason.trim().is_empty() || length > LONGEST_REASON || self.reason.contains(text::is_unsafe) {
            return Err(format!("has a reason that is not one line of 1 to {LONGEST_REASON} plain characters"));
        }
        if !self.run.starts_with(&format!("{RECORD_ROOT}/")) || self.run.starts_with(&format!("{RECORD_ROOT}/_")) {
            return Err("names no run".to_owned());
        }
        Ok(())
    }

    /// Reads after the run.
    pub fn words(&self) -> String {
        let what = if self.undo { "restored" } else { "retracted" };
        format!("was {what} on {}: {}", self.time.format("%Y-%m-%d"), self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written_and_not_otherwise() {
        let one = Retraction {
            schema_version: 1,
            run: "history/v1/cpu/2026/05/0123456789ab-01234567-0123456789abcdef.json".to_owned(),
            reason: "the fan was broken".to_owned(),
            time: "2026-05-04T03:02:01Z".parse().expect("a time"),
            undo: false,
        };
        let (path, bytes, subject) = one.to_file();
        assert!(path.starts_with("history/v1/_retracted/2026/05/"), "{path}");
        assert_eq!(subject, "sprag: retract 0123456789ab-01234567-0123456789abcdef");
        assert_eq!(Retraction::from_file(&path, &bytes).as_ref(), Ok(&one));
        assert_eq!(one.words(), "was retracted on 2026-05-04: the fan was broken");
        let text = String::from_utf8(bytes).expect("it is text");
        let check = |path: &str, text: &str, words: &str| {
            let fault = Retraction::from_file(path, text.as_bytes()).expect_err(words);
            assert!(fault.contains(words), "{fault}");
        };
        check(&path.replace("/05/", "/06/"), &text, "should be at");
        check(&path.replace("_retracted", "_restored"), &text, "should be at");
        let undone = Retraction { undo: true, ..one };
        let (undone_path, bytes, subject) = undone.to_file();
        assert!(undone_path.starts_with("history/v1/_restored/2026/05/") && subject.starts_with("sprag: restore"));
        assert_eq!(Retraction::from_file(&undone_path, &bytes).as_ref(), Ok(&undone));
        check(&path, text.trim_end(), "not in canonical form");
        check(&path, "{", "is not JSON");
        check(&path, "{}", "is not a retraction");
        check(&path, &text.replace("\"schema_version\":1", "\"schema_version\":2"), "has schema version 2");
        check(&path, &text.replace("v1/cpu", "v1/_events"), "names no run");
        check(&path, &text.replace("the fan was broken", " "), "has a reason");
        check(&path, &text.replace("the fan", "\\u001b"), "has a reason");
    }
}
