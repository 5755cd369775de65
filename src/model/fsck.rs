//! The report of `sprag history fsck`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;

/// The version of the JSON that `fsck --json` prints.
pub const SCHEMA_VERSION: u64 = 1;

/// The state of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FsckReport {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u64,
    pub reference: String,
    /// The commit it is at; absent where there is no history yet.
    pub tip: Option<String>,
    /// The number of valid records at the tip.
    pub runs: u64,
    /// The number of runs that left the branch for snapshots; absent where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub archived: u64,
    /// The number of runs that ever entered the branch: the size of the tree with that `root`.
    pub entries: u64,
    /// The root over their digests; absent where some cannot be read.
    pub root: Option<Digest>,
    /// Whether anything is wrong.
    pub status: FsckStatus,
    /// The findings: damage, then warnings, then notes; within each by kind and path.
    pub findings: Vec<Finding>,
    /// The quarantined files, by path.
    pub quarantined: Vec<String>,
    /// The result for the root of `--against`.
    pub against: Option<Against>,
    /// What `--repair` did, one sentence each.
    pub repaired: Vec<String>,
}

/// Whether anything is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FsckStatus {
    /// There is neither damage nor a warning.
    Clean,
    /// There are warnings.
    Warnings,
    /// There is damage.
    Damaged,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub severity: Severity,
    pub kind: FindingKind,
    /// The path in the tree of the branch or in the working tree; absent where it concerns no single file.
    pub path: Option<String>,
    /// What is wrong, as a fragment that reads after the path.
    pub what: String,
    pub advice: Option<String>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The history is damaged.
    Damage,
    /// The history is intact, but someone should check this.
    Warning,
    /// Nothing is wrong.
    Note,
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Damage: an object is missing or corrupt.
    Unreadable,
    /// Damage: a record of an earlier commit is missing.
    Lost,
    /// Damage: a record has other content than in an earlier commit.
    Changed,
    /// Damage: the content contradicts the name.
    Name,
    /// Damage: the content is not a record.
    Schema,
    /// Damage: the content is a record, but not in canonical form.
    NotCanonical,
    /// Damage: not a plain file.
    Mode,
    /// Damage: a file where a folder should be, or a folder where a file should be.
    Shape,
    /// Damage: a name that is not UTF-8.
    NotUtf8,
    /// Damage: a file outside of the layout.
    Unknown,
    /// Damage: two paths that differ only in case or Unicode form.
    Collision,
    /// Damage: this history never had the root of `--against`.
    Against,
    /// Warning: the repository lacks commits or files, or replaces some.
    Incomplete,
    /// Warning: runs measured commits that this repository lacks.
    AbsentCommit,
    /// Warning: the same run twice.
    Duplicate,
    /// Warning: impossible times.
    Clock,
    /// Warning: something that a process left behind.
    Leftover,
    /// Warning: a run that is not yet recorded.
    Pending,
    /// Warning: the working tree differs from the branch.
    WorkingTree,
    /// Warning: a valid record, or a note of a lost one, is in quarantine.
    SetAside,
    /// Note: a record or a layout of a newer version.
    Newer,
    /// Note: a folder outside of the layout.
    Foreign,
}

impl FindingKind {
    /// The kinds above are in the order of their severity.
    pub fn severity(self) -> Severity {
        if self <= FindingKind::Against {
            Severity::Damage
        } else if self <= FindingKind::SetAside {
            Severity::Warning
        } else {
            Severity::Note
        }
    }
}

/// Whether the history still begins with the runs of an earlier root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Against {
    pub root: Digest,
    pub met: Met,
    /// The number of runs of that root; absent where it was not found.
    pub size: Option<u64>,
    /// The commit on whose line it was found, where a merge changed the order since.
    pub commit: Option<String>,
}

/// How an earlier root was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Met {
    /// The history begins with those runs, by a consistency proof.
    Beginning,
    /// A line that was merged begins with those runs, and the history has all of them.
    Merged,
    /// Nothing here ever had that root.
    Never,
}

impl Finding {
    pub fn at(kind: FindingKind, path: &str, what: impl Into<String>) -> Finding {
        Finding { path: Some(path.to_owned()), ..Finding::overall(kind, what) }
    }

    pub fn overall(kind: FindingKind, what: impl Into<String>) -> Finding {
        Finding { severity: kind.severity(), kind, path: None, what: what.into(), advice: None }
    }

    pub fn advise(self, advice: impl Into<String>) -> Finding {
        Finding { advice: Some(advice.into()), ..self }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl FsckReport {
    /// Adds findings, and updates their order and the status.
    pub fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.findings
            .sort_by(|a, b| (a.severity, a.kind, &a.path, &a.what).cmp(&(b.severity, b.kind, &b.path, &b.what)));
        self.findings.dedup();
        self.status = match self.findings.first().map(|finding| finding.severity) {
            Some(Severity::Damage) => FsckStatus::Damaged,
            Some(Severity::Warning) => FsckStatus::Warnings,
            Some(Severity::Note) | None => FsckStatus::Clean,
        };
    }

    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}
