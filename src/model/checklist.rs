//! The checklist of a release: what it asks, the rule that derives each status from evidence, and the results.
//!
//! No file states the status of an item: a named rule always derives it from recorded bytes. The checklist also holds what
//! people do: the rollback plan and the sign-off.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sprag_base::text::nearest;
use sprag_base::words;

/// The version of the filled checklist that this build writes.
pub const SCHEMA_VERSION: u64 = 1;

/// The runtime targets of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuntimeTarget {
    /// Processors alone.
    Cpu,
    /// Torch.
    Torch,
    /// Triton.
    Triton,
    /// TensorRT.
    Tensorrt,
}

impl RuntimeTarget {
    pub const ALL: [RuntimeTarget; 4] =
        [RuntimeTarget::Cpu, RuntimeTarget::Torch, RuntimeTarget::Triton, RuntimeTarget::Tensorrt];

    pub fn parse(word: &str) -> Option<RuntimeTarget> {
        RuntimeTarget::ALL.into_iter().find(|target| target.word() == word)
    }

    /// The target that an unknown word probably means.
    pub fn near(word: &str) -> Option<RuntimeTarget> {
        nearest(word, &RuntimeTarget::ALL.map(RuntimeTarget::word)).and_then(RuntimeTarget::parse)
    }

    pub fn list<'a>(targets: impl IntoIterator<Item = &'a RuntimeTarget>) -> String {
        let words: Vec<&str> = targets.into_iter().map(|target| target.word()).collect();
        words.join(", ")
    }
}

words!(RuntimeTarget { Cpu: "cpu", Torch: "torch", Triton: "triton", Tensorrt: "tensorrt" });

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ItemBase {
    /// The baseline of its class, else the previous release.
    #[default]
    Usual,
    /// The baseline of its class only.
    Baseline,
    /// The previous release only.
    Previous,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    SuiteVerdict {
        suite: String,
        against: ItemBase,
    },
    /// All files exist, and none is empty.
    File,
    /// Every kernel timed at this commit agrees with its reference, within its tolerance.
    Parity {
        suite: String,
    },
    /// The first file is a replay manifest or fixture that verifies against the other files or against this build.
    Replay,
    /// No regression that reaches this commit is open.
    EventsResolved,
    /// Every judged series of these suites, of all where there are none, can be judged at this commit.
    Coverage {
        suites: BTreeSet<String>,
    },
    /// The runs of a suite at this commit have a clean tree, and record these facts of their environment.
    Environment {
        suite: String,
        facts: Vec<String>,
    },
}

impl Need {
    pub const NAMES: [&str; 7] =
        ["suite_verdict", "file", "parity", "replay", "events_resolved", "coverage", "environment"];

    pub fn name(&self) -> &'static str {
        match self {
            Need::SuiteVerdict { .. } => "suite_verdict",
            Need::File => "file",
            Need::Parity { .. } => "parity",
            Need::Replay => "replay",
            Need::EventsResolved => "events_resolved",
            Need::Coverage { .. } => "coverage",
            Need::Environment { .. } => "environment",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededFile {
    /// The key by which `--artifact` names it.
    pub key: String,
    /// Its default path, from the root of the project.
    pub path: String,
    pub sha256: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub id: String,
    pub title: String,
    /// The targets that need it; all where empty.
    pub targets: BTreeSet<RuntimeTarget>,
    pub files: Vec<NeededFile>,
    pub producer: String,
    pub rule: Need,
}

impl Item {
    pub fn is_needed(&self, targets: &BTreeSet<RuntimeTarget>) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|one| targets.contains(one))
    }
}

/// How to roll back to the previous release.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollback {
    #[serde(default)]
    pub triggers: Vec<String>,
    /// What to do then, step by step.
    #[serde(default)]
    pub steps: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checklist {
    pub items: Vec<Item>,
    pub rollback: Rollback,
    pub sign_off: Vec<String>,
}

/// The status of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The evidence proves it.
    Pass,
    /// The evidence disproves it.
    Fail,
    /// The evidence is missing or insufficient.
    Pending,
    /// It failed or is pending, and the ledger waives it at this time.
    Waived,
    /// Releases for these targets do not need it.
    NotApplicable,
}

impl Status {
    pub fn blocks(self) -> bool {
        matches!(self, Status::Fail | Status::Pending)
    }
}

words!(Status { Pass: "pass", Fail: "fail", Pending: "pending", Waived: "waived", NotApplicable: "not applicable" });

/// A file or record as evidence of a status.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rests {
    /// Its path: from the root of the project, or for named files below `artifacts/`.
    pub path: String,
    /// The digest of its bytes.
    pub sha256: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// The waiver of an item in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiving {
    pub entry: String,
    pub author: String,
    pub reason: String,
    /// The first day of its validity.
    pub date: NaiveDate,
    pub expires: NaiveDate,
    /// Whether it is valid on the day of the checklist.
    pub in_force: bool,
}

/// An item with its status.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filled {
    pub id: String,
    pub title: String,
    pub rule: String,
    pub status: Status,
    /// The evidence in a sentence.
    pub why: String,
    /// Whether the evidence is damaged, which no waiver excuses.
    pub integrity: bool,
    pub rests_on: Vec<Rests>,
    pub producer: String,
    /// What to do next where it blocks the release.
    pub mend: Option<String>,
    /// Its waiver in the ledger, even where that is expired or not yet in force and has no effect.
    pub waiver: Option<Waiving>,
}

/// A point of the history, to be kept elsewhere, so that a rewritten history can be detected.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryPoint {
    pub commit: String,
    pub size: u64,
    pub root: String,
}

/// Who signed, as `release/releases.toml` says.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    pub role: String,
    /// Who signed; absent where nobody has.
    pub owner: Option<String>,
    /// The day, as written.
    pub date: Option<String>,
}

/// A checklist filled for a release.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilledChecklist {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u64,
    pub release: String,
    /// Its commit; before it is tagged, the reviewed one.
    pub commit: String,
    /// Whether the tag exists, at that commit.
    pub tagged: bool,
    /// The commit whose runs count: the nearest one that does not only add records.
    pub measured: String,
    pub previous: Option<String>,
    /// The targets of the release, as `release/releases.toml` lists them.
    pub targets: BTreeSet<RuntimeTarget>,
    /// The current time, by which waivers expire and values are stale.
    pub as_of: DateTime<Utc>,
    pub history: HistoryPoint,
    /// The branch that contains it; absent where a commit was named.
    pub branch: Option<String>,
    /// The checked-out commit, from which checklist, releases, ledger, baselines and settings are read.
    pub reviewed: String,
    pub go: bool,
    pub items: Vec<Filled>,
    pub rollback: Rollback,
    pub sign_off: Vec<Signed>,
    /// The version of the program that filled it.
    pub version: String,
}

impl FilledChecklist {
    pub fn blocking(&self) -> impl Iterator<Item = &Filled> {
        self.items.iter().filter(|item| item.status.blocks())
    }

    pub fn is_damaged(&self) -> bool {
        self.items.iter().any(|item| item.integrity)
    }

    /// How many items have each status, by its word.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for item in &self.items {
            *counts.entry(item.status.word()).or_default() += 1;
        }
        counts
    }

    pub fn word(&self) -> &'static str {
        if self.go { "go" } else { "no-go" }
    }
}
