//! The releases of a project, as `release/releases.toml` lists them.

use std::collections::{BTreeMap, BTreeSet};

use super::checklist::{FilledChecklist, HistoryPoint, RuntimeTarget};
use super::ledger::LedgerEntry;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub name: String,
    /// The commit that was released; absent before it is tagged.
    pub commit: Option<String>,
    pub previous: Option<String>,
    /// At least one.
    pub targets: BTreeSet<RuntimeTarget>,
    /// Who signed: role, name, day.
    pub signed: Vec<(String, String, String)>,
    pub history: Option<HistoryPoint>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Releases(pub Vec<Release>);

impl Releases {
    pub fn find(&self, name: &str) -> Option<&Release> {
        self.0.iter().find(|one| one.name == name)
    }

    pub fn before(&self, release: &Release) -> Option<&Release> {
        self.find(release.previous.as_deref()?)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseReport {
    pub name: String,
    /// The error where the records are damaged.
    pub checklist: Result<FilledChecklist, String>,
    /// By the ids of the items that it needs.
    pub figures: BTreeMap<String, Figures>,
    /// The published statement, or why it is rejected.
    pub statement: Option<Result<PublishedStatement, String>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedStatement {
    /// Its folder, from the root of the project.
    pub folder: String,
    pub statement: Vec<u8>,
    pub sealed: Option<Sealed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    pub bytes: Vec<u8>,
    pub keyid: String,
    /// Whether the signature was verified. An invalid one never gets here.
    pub checked: bool,
}

/// The figures of an item, in a few words each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub limit: String,
    pub measured: String,
    /// Empty where there is none.
    pub margin: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Released {
    pub newest: Vec<ReleaseReport>,
    /// How many older releases have no page.
    pub older: usize,
    /// The places of waivers without effect, and the reasons.
    pub unused_waivers: BTreeMap<LedgerEntry, String>,
}
