//! The releases of a project, as `release/releases.toml` lists them.

use std::collections::{BTreeMap, BTreeSet};

use super::checklist::{FilledChecklist, HistoryPoint, RuntimeTarget};
use super::ledger::Entry;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its name, which is that of its tag.
    pub name: String,
    /// The commit that was released; absent before it is tagged.
    pub commit: Option<String>,
    pub previous: Option<String>,
    /// What it is for; at least one.
    pub targets: BTreeSet<RuntimeTarget>,
    /// Who signed: role, name, day.
    pub signed: Vec<(String, String, String)>,
    pub history: Option<HistoryPoint>,
}

/// The releases, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Releases(pub Vec<Release>);

impl Releases {
    pub fn find(&self, name: &str) -> Option<&Release> {
        self.0.iter().find(|one| one.name == name)
    }

    /// The release before one: the one that it names.
    pub fn before(&self, release: &Release) -> Option<&Release> {
        self.find(release.previous.as_deref()?)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseReport {
    pub name: String,
    /// Its checklist; why there is none where what is recorded does not hold together.
    pub came: Result<FilledChecklist, String>,
    /// What its items were held to and what was found, by their names; nothing of those that were not looked at.
    pub figures: BTreeMap<String, Figures>,
    /// The statement about it that the project keeps, where there is one; why that does not count.
    pub kept: Option<Result<PublishedStatement, String>>,
}

/// The statement about a release that its project keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedStatement {
    /// The folder that holds it, from the root of the project.
    pub folder: String,
    pub statement: Vec<u8>,
    pub sealed: Option<Sealed>,
}

/// The envelope around a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    pub bytes: Vec<u8>,
    pub keyid: String,
    /// Whether the signature was found to be of this statement and this key; else nobody looked.
    pub checked: bool,
}

/// What an item is held to, what was found and how much room there is, in a few words each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub limit: String,
    pub measured: String,
    /// How far that is from the limit; empty where nothing tells.
    pub margin: String,
}

/// What the releases of a project came to, for its site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// The newest ones, in the order of the list.
    pub newest: Vec<ReleaseReport>,
    /// How many older ones the list has; nobody looked at them.
    pub older: usize,
    /// Waivers that answer for nothing: where each stands, and what there is not.
    pub astray: BTreeMap<Entry, String>,
}
