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
    /// How many sound records the tip has.
    pub runs: u64,
    /// How many runs ever entered the branch: the size of the tree below `root`.
    pub entries: u64,
    /// The root over the digests of those; absent where not all of them can be read.
    pub root: Option<Digest>,
    /// Whether anything is wrong.
    pub status: FsckStatus,
    /// What was found, damage first, then warnings, then notes; within each by kind and path.
    pub findings: Vec<Finding>,
    /// The files that were set aside, by path.
    pub quarantined: Vec<String>,
    /// What became of the root of `--against`.
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

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub severity: Severity,
    pub kind: FindingKind,
    /// Where, in the tree of the branch or in the working tree; absent where it is about no single file.
    pub path: Option<String>,
    /// What is wrong, as a fragment that reads after the path.
    pub what: String,
    pub advice: Option<String>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The history does not hold together.
    Damage,
    /// The history holds together, and somebody should look.
    Warning,
    /// All is well, and worth knowing.
    Note,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Damage: an object is missing or corrupt.
    Unreadable,
    /// Damage: a record that an earlier commit had is gone.
    Lost,
    /// Damage: a record has other content than an earlier commit gave it.
    Changed,
    /// Damage: the content contradicts the name.
    Name,
    /// Damage: the content is no record.
    Schema,
    /// Damage: the content is a record, written in other bytes than digests are taken of.
    NotCanonical,
    /// Damage: not a plain file.
    Mode,
    /// Damage: a file where a folder should be, or a folder where a file should be.
    Shape,
    /// Damage: a name that is not UTF-8.
    NotUtf8,
    /// Damage: a file that the layout has no place for.
    Unknown,
    /// Damage: two paths that are one where case or Unicode form do not count.
    Collision,
    /// Damage: the root of `--against` is not one that this history ever had.
    Against,
    /// Warning: the repository does not have all commits or files, or is told of others.
    Incomplete,
    /// Warning: runs measured commits that this repository does not hold.
    AbsentCommit,
    /// Warning: the same run twice.
    Duplicate,
    /// Warning: times that cannot be.
    Clock,
    /// Warning: something that a process left behind.
    Leftover,
    /// Warning: a run that waits to be recorded.
    Pending,
    /// Warning: the working tree has something else than the branch.
    WorkingTree,
    /// Warning: a sound record, or a note of a lost one, lies among those that were set aside.
    SetAside,
    /// Note: a record or a layout of a newer version.
    Newer,
    /// Note: a folder beside the layout.
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

/// Whether the history still begins with what it had when its root was noted down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Against {
    pub root: Digest,
    pub met: Met,
    /// How many runs the history had then; absent where it was not met.
    pub size: Option<u64>,
    /// The commit on whose own line it was met, where a merge changed the order since.
    pub commit: Option<String>,
}

/// How an earlier root was met.
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
