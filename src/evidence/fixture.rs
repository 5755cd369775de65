//! A replay fixture: what a selection is computed from, and what it must come to.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use sprag_base::digest::sha256_hex;
use sprag_base::json;

/// How many stages choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One level.
    Greedy,
    /// A level, and the split of what was chosen there.
    TwoStage,
}

/// What it must come to.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// What was chosen and spent.
    pub summary: Map<String, Value>,
    /// The digest of the canonical text of the trace.
    pub trace_sha256: String,
    /// The digest of the manifest over seed, configuration and the file of the trace.
    pub manifest_sha256: String,
}

/// What a selection is computed from, and what it must come to.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixture {
    /// Its name.
    pub name: String,
    /// The seed that its manifest has; the inputs are listed here and follow from nothing else.
    pub seed: u64,
    /// How many stages choose.
    pub mode: Mode,
    /// The settings that its manifest has.
    pub config: Map<String, Value>,
    /// The arguments of the selection.
    pub inputs: Map<String, Value>,
    /// What it must come to; absent before it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
}

impl Expected {
    /// In what a run that came to `actual` differs, a sentence each.
    pub fn differences(&self, actual: &Expected) -> Vec<String> {
        let mut faults = Vec::new();
        let names = self.summary.keys().chain(actual.summary.keys().filter(|name| !self.summary.contains_key(*name)));
        for name in names {
            let [recorded, actual] = [self, actual].map(|one| one.summary.get(name).map(json::to_canonical));
            if recorded != actual {
                let [recorded, actual] = [recorded, actual].map(|text| text.unwrap_or_else(|| "nothing".to_owned()));
                faults.push(format!("`summary.{name}` is {recorded}, and this build gives {actual}"));
            }
        }
        let digests = [
            ("trace_sha256", &self.trace_sha256, &actual.trace_sha256),
            ("manifest_sha256", &self.manifest_sha256, &actual.manifest_sha256),
        ];
        for (name, recorded, actual) in digests {
            if recorded != actual {
                faults.push(format!("`{name}` is `{recorded}`, and this build gives `{actual}`"));
            }
        }
        faults
    }
}

#[derive(Debug, Serialize)]
pub struct LevelSelection {
    pub level: &'static str,
    /// In the order in which they were taken.
    pub indices: Vec<u32>,
    /// The same in the order in which they are worked on.
    pub ordered_indices: Vec<u32>,
    /// Candidates, scores and buffers.
    pub meta: Value,
    /// By the name of the budget.
    pub budgets_used: BTreeMap<&'static str, f64>,
}

/// What a selection chose, from the coarsest level on. Runs that came out the same have the same digest of it.
#[derive(Debug, Serialize)]
pub struct Trace {
    pub run_meta: Value,
    pub selections: Vec<LevelSelection>,
}

impl Trace {
    pub fn sha256(&self) -> String {
        sha256_hex(json::to_canonical(self).as_bytes())
    }
}
