//! The list of runs in the order in which they entered the branch, and the Merkle tree over it.
//!
//! A run enters with the first commit of the first-parent line that has its record: a file at a path of the layout whose
//! name bears the start of the digest of its content. Commits count from the oldest on, the files of one commit by
//! path; a run that is there already does not enter again. So appending only makes the list longer, and neither
//! damaging, removing, setting aside nor restoring a record changes it; rewriting the commits does.

use std::collections::{HashMap, HashSet};

use git2::{Odb, Oid, Repository};

use crate::commits::target::{Target, tip};
use crate::error::HistoryError;
use crate::layout;
use crate::layout::Kind;
use crate::objects::loose::LooseObjects;
use crate::reading::past::{Past, reason};
use crate::store::{Store, failed};
use sprag_base::digest::Digest;
use sprag_model::merkle::MerkleTree;
use sprag_model::record::MAX_RECORD_BYTES;

/// The runs of a branch in the order in which they entered.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    /// The ref they were read from.
    pub reference: String,
    /// The commit it is at; absent where there is no history yet.
    pub tip: Option<String>,
    pub runs: Vec<Entered>,
    /// The tree over their digests.
    pub tree: MerkleTree,
}

/// A run that entered the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The SHA-256 of its canonical JSON.
    pub digest: Digest,
    /// Where its record lay first.
    pub path: String,
    pub commit: String,
}

/// Reads the list of the branch.
///
/// # Errors
/// When the ref cannot be read, and when a shallow clone or a missing object leaves a part of the list out.
pub fn entries(store: &Store, target: &Target) -> Result<Entries, HistoryError> {
    let Some((commit, reference)) = tip(&store.repository, target)? else {
        return Ok(Entries { reference: target.reference.clone(), ..Entries::default() });
    };
    let past = Past::read(&store.repository, commit.id())?;
    let digests = Digests::new(&store.repository)?;
    let entries = Contents { digests, unreadable: Vec::new() }.complete_list(&past)?;
    Ok(Entries { reference, tip: Some(commit.id().to_string()), ..entries })
}

/// The digests of contents, each computed once.
pub(crate) struct Digests<'r> {
    loose: LooseObjects,
    odb: Odb<'r>,
    digests: HashMap<Oid, Option<Digest>>,
}

impl<'r> Digests<'r> {
    pub(crate) fn new(repository: &'r Repository) -> Result<Digests<'r>, HistoryError> {
        let odb = repository.odb().map_err(failed("open the object database"))?;
        Ok(Digests { loose: LooseObjects::new(repository), odb, digests: HashMap::new() })
    }

    /// Tells the digest of a content that somebody else has read.
    pub(crate) fn insert(&mut self, blob: Oid, digest: Option<Digest>) {
        self.digests.insert(blob, digest);
    }

    /// The digest that names of records bear; absent where the content is none that a record may have.
    pub(crate) fn get(&mut self, blob: Oid) -> Result<Option<Digest>, git2::Error> {
        if let Some(known) = self.digests.get(&blob) {
            return Ok(*known);
        }
        self.loose.check(blob)?;
        let (size, _) = self.odb.read_header(blob)?;
        let digest = if size > MAX_RECORD_BYTES { None } else { record_digest(self.odb.read(blob)?.data()) };
        self.digests.insert(blob, digest);
        Ok(digest)
    }
}

/// The digest of a record with these bytes: that of all but the line feed at the end.
pub(crate) fn record_digest(bytes: &[u8]) -> Option<Digest> {
    bytes.strip_suffix(b"\n").map(|json| Digest::from_parts(&[json]))
}

/// Whether the name of a record, of a run or an event, bears the start of this digest.
pub(crate) fn vouches(path: &str, digest: Option<&Digest>) -> bool {
    digest.is_some_and(|digest| layout::digits_of(path) == Some(&digest.short()))
}

/// The contents of a past, as far as they can be read.
pub(crate) struct Contents<'r> {
    pub(crate) digests: Digests<'r>,
    /// Paths whose content cannot be read, and why.
    pub(crate) unreadable: Vec<(String, String)>,
}

impl Contents<'_> {
    /// The list of the runs of a past that must be here as a whole.
    pub(crate) fn complete_list(&mut self, past: &Past) -> Result<Entries, HistoryError> {
        if let Some(gap) = past.unreadable.first() {
            return Err(HistoryError::Incomplete(format!("{} cannot be read, {}", gap.what, gap.why)));
        }
        if !past.is_whole {
            return Err(HistoryError::Incomplete("this is a shallow clone".to_owned()));
        }
        let entries = self.list(past);
        match self.unreadable.first() {
            Some((path, why)) => Err(HistoryError::Incomplete(format!("`{path}` cannot be read, {why}"))),
            None => Ok(entries),
        }
    }

    /// The list of the runs of a past.
    pub(crate) fn list(&mut self, past: &Past) -> Entries {
        let mut entries = Entries::default();
        let mut entered = HashSet::new();
        let mut files: Vec<_> = past.files.iter().filter(|file| file.kind == Kind::Run).collect();
        files.sort_by(|a, b| (a.commit, &a.path).cmp(&(b.commit, &b.path)));
        for file in files {
            let digest = match self.digests.get(file.blob) {
                Ok(digest) => digest,
                Err(error) => {
                    self.unreadable.push((file.path.clone(), reason(&error)));
                    continue;
                }
            };
            let Some(digest) = digest.filter(|digest| vouches(&file.path, Some(digest))) else { continue };
            if entered.insert(digest) {
                let (commit, _) = past.commits[file.commit];
                entries.runs.push(Entered { digest, path: file.path.clone(), commit: commit.to_string() });
                entries.tree.push(digest);
            }
        }
        entries
    }
}
