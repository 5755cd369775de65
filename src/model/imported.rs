//! Runs of other tools, as read from a foreign format and before they become records.
//!
//! Names are spelled as in the source; values are in base units.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::metric::Metric;

#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The program that measured, such as `criterion`.
    pub tool: String,
    pub tool_version: Option<String>,
    /// The runs, at least one, in the order of the source.
    pub runs: Vec<ImportedRun>,
    /// What was left out, one sentence each that names the place.
    pub notes: Vec<String>,
    /// What the source says of which direction is better and its units do not, one sentence each.
    pub doubts: Vec<String>,
    /// Whether the source has several suites.
    pub has_suites: bool,
}

/// One suite on one commit and machine. What the source does not state is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedRun {
    pub suite: Option<String>,
    pub commit: Option<ImportedCommit>,
    /// Never a host name.
    pub machine: Option<String>,
    pub time: Option<DateTime<Utc>>,
    /// Facts of the environment from a list of each format, never a host, a user or a path; under the names of records
    /// where those have one, such as `cpu_model`, `os_release`, `compiler`.
    pub facts: BTreeMap<String, String>,
    pub entries: Vec<Entry>,
    /// The lower-case SHA-256 of the source; where that has many runs, of the canonical JSON of this one, so that the digest
    /// stays the same when the source grows.
    pub digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedCommit {
    /// Seven or more hexadecimal digits in lower case; where `named_at` is present, a name such as a tag.
    pub sha: String,
    /// The place in the source that names the commit by something other than an id, which the importer resolves.
    pub named_at: Option<String>,
    pub time: Option<DateTime<Utc>>,
    pub subject: Option<String>,
    pub branch: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Its full name in the source, parameters included.
    pub series: String,
    /// Its name without parameters, where the format separates them; else the same as `series`.
    pub name: String,
    pub params: BTreeMap<String, String>,
    /// The variant, where the format has variants, such as tango's `baseline` and `candidate`.
    pub variant: Option<String>,
    pub status: EntryStatus,
    /// Empty where it did not run.
    pub observations: Vec<Observation>,
    /// Other values of the source under its names, quantities in base units: texts, numbers, booleans, or small objects of
    /// them.
    pub extras: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EntryStatus {
    #[default]
    Ok,
    /// Its program left it out, for this reason.
    Skipped(String),
    /// It failed, or the source states impossible values.
    Failed(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub metric: Metric,
    /// The unit as the source spells it, such as `ms` or `frames/s`.
    pub source_unit: String,
    /// The number that a reader of the source would track, in the base unit as those below.
    pub value: f64,
    /// Empty where the source has only a summary.
    pub samples: Vec<f64>,
    /// One median a process, where the source distinguishes processes.
    pub processes: Vec<f64>,
    /// How many observations the source summarises; not fewer than `samples`.
    pub n: u64,
}

impl Observation {
    pub fn summary(metric: Metric, source_unit: &str, value: f64) -> Observation {
        let source_unit = source_unit.to_owned();
        Observation { metric, source_unit, value, samples: Vec::new(), processes: Vec::new(), n: 0 }
    }

    pub fn sampled(metric: Metric, source_unit: &str, value: f64, samples: Vec<f64>) -> Observation {
        let n = samples.len() as u64;
        Observation { samples, n, ..Observation::summary(metric, source_unit, value) }
    }
}
