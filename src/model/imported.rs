//! What a reader of a foreign format makes of a file or a folder: runs of other people's tools, not yet records.
//!
//! Names are kept as the source spells them, values are in base units. What a record may hold of it is decided by
//! whoever makes a record of it.

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
    /// What was passed over, one sentence each that names the place.
    pub notes: Vec<String>,
}

/// One suite on one commit and machine, as the source tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedRun {
    /// The suite, in the words of the source; absent where it names none.
    pub suite: Option<String>,
    /// What was measured; absent where the source does not tell.
    pub commit: Option<ImportedCommit>,
    /// What the source calls the machine. Never a host name.
    pub machine: Option<String>,
    pub time: Option<DateTime<Utc>>,
    /// What the source tells of the circumstances, from a list each format keeps: never a host, a user or a path. Facts
    /// that a record knows bear its names, such as `cpu_model`, `os_release`, `compiler`.
    pub facts: BTreeMap<String, String>,
    pub entries: Vec<Entry>,
    /// The lower-case SHA-256 of the bytes that this run was read from; where a source holds many runs, of the canonical
    /// JSON of its part, so that it stays when the source grows.
    pub digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedCommit {
    /// Its hexadecimal digits in lower case, seven or more: a source may shorten them. Where `named_at` is there, a name
    /// for it, such as a tag.
    pub sha: String,
    /// Where the source names the commit by something else than an id, the place that does so: whoever imports looks it up.
    pub named_at: Option<String>,
    pub time: Option<DateTime<Utc>>,
    pub subject: Option<String>,
    pub branch: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Its whole name in the spelling of the source, parameters included.
    pub series: String,
    /// Its name without parameters, where the format tells them apart; else the same as `series`.
    pub name: String,
    pub params: BTreeMap<String, String>,
    /// The variant, where the format knows one; tango's `baseline` and `candidate`, for example.
    pub variant: Option<String>,
    pub status: EntryStatus,
    /// What was found; empty where it did not run.
    pub observations: Vec<Observation>,
    /// What the source tells beside, under the source's names, in base units where it is a quantity: text, numbers and
    /// booleans, or small objects of them.
    pub extras: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EntryStatus {
    #[default]
    Ok,
    /// Its program left it out, for this reason.
    Skipped(String),
    /// It broke, or what the source says of it cannot be.
    Failed(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// What was measured, in a base unit.
    pub metric: Metric,
    /// The unit as the source spells it, such as `ms` or `frames/s`.
    pub source_unit: String,
    /// The number that a reader of the source would track, in the base unit.
    pub value: f64,
    /// The single observations, in the base unit; empty where the source holds a summary alone.
    pub samples: Vec<f64>,
    /// One median a process, where the source tells processes apart; in the base unit.
    pub processes: Vec<f64>,
    /// How many observations the source says that it summarises; not fewer than `samples`.
    pub n: u64,
}

impl Observation {
    /// An observation of which the source gives one number.
    pub fn summary(metric: Metric, source_unit: &str, value: f64) -> Observation {
        let source_unit = source_unit.to_owned();
        Observation { metric, source_unit, value, samples: Vec::new(), processes: Vec::new(), n: 0 }
    }

    pub fn sampled(metric: Metric, source_unit: &str, value: f64, samples: Vec<f64>) -> Observation {
        let n = samples.len() as u64;
        Observation { samples, n, ..Observation::summary(metric, source_unit, value) }
    }
}
