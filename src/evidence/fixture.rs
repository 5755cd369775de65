//! A replay fixture: what a selection is computed from, and what it must come to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::trace::{Selection, Trace, TraceError};
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
    /// The seed that its manifest bears; the inputs stand here and follow from nothing else.
    pub seed: u64,
    /// How many stages choose.
    pub mode: Mode,
    /// The settings that its manifest bears.
    pub config: Map<String, Value>,
    /// The arguments of the selection.
    pub inputs: Map<String, Value>,
    /// What it must come to; absent before it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
}

impl Fixture {
    /// The trace of a run of it that chose this.
    pub fn trace(&self, selections: Vec<Selection>) -> Result<Trace, TraceError> {
        let meta = json!({"fixture": self.name, "mode": self.mode, "seed": self.seed});
        Trace::new(meta.as_object().cloned().unwrap_or_default(), selections)
    }
}

impl Expected {
    /// In what a run that came to `found` differs, a sentence each.
    pub fn differences(&self, found: &Expected) -> Vec<String> {
        let mut faults = Vec::new();
        let names = self.summary.keys().chain(found.summary.keys().filter(|name| !self.summary.contains_key(*name)));
        for name in names {
            let [told, got] = [&self.summary, &found.summary].map(|all| all.get(name).map(json::to_canonical));
            if told != got {
                let shown = |text: Option<String>| text.unwrap_or_else(|| "nothing".to_owned());
                faults.push(format!("`summary.{name}` is {}, and this build gives {}", shown(told), shown(got)));
            }
        }
        let digests = [
            ("trace_sha256", &self.trace_sha256, &found.trace_sha256),
            ("manifest_sha256", &self.manifest_sha256, &found.manifest_sha256),
        ];
        for (name, told, got) in digests {
            if told != got {
                faults.push(format!("`{name}` is `{told}`, and this build gives `{got}`"));
            }
        }
        faults
    }
}
