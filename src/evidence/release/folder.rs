//! The folder that an attestation wrote, checked against a repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

use super::artifacts::{Artifact, Artifacts};
use super::sign::{self, Trusted};
use super::{Fault, ReleaseError, Result, branch, identity, listed_files, reviewed};
use crate::bundle::{self, ARTIFACTS, Listed, VERIFY_MD};
use crate::envelope::{self, ENVELOPE};
use crate::file;
use crate::filled::{self, CHECKLIST_JSON, CHECKLIST_MD};
use crate::statement::STATEMENT;
use sprag_base::digest::sha256_hex;
use sprag_history::{self as history, Entries, Store, Target};
use sprag_model::checklist::FilledChecklist;
use sprag_model::run::RECORD_ROOT;
use sprag_model::statement::{PAYLOAD_TYPE, pre_authentication};

/// How far the clocks of two machines may be apart.
const CLOCK_TOLERANCE: TimeDelta = TimeDelta::days(1);

pub struct EvidenceFolder {
    pub path: PathBuf,
    pub checklist: FilledChecklist,
    pub sums: BTreeMap<String, String>,
}

impl EvidenceFolder {
    /// Opens a folder whose files are those that its sums list.
    pub fn open(path: &Path, store: &Store) -> Result<EvidenceFolder> {
        let read = || fs::read(path.join(CHECKLIST_JSON)).map_err(ReleaseError::io("read", &path.join(CHECKLIST_JSON)));
        let claimed = read().ok().and_then(|bytes| file::read(&bytes).ok());
        let expected = |name: &str, digest: &str| expected_content(store, claimed.as_ref(), name, digest);
        let sums = listed_files::check(path, &expected)?;
        let checklist: FilledChecklist =
            file::read(&read()?).map_err(|error| Fault::new(CHECKLIST_JSON, error.to_string()))?;
        if !history::has_commit(store, &checklist.history.commit) {
            return Err(ReleaseError::damaged(
                format!("the history of this evidence, {}, is not in the repository", checklist.history.commit),
                "use a clone of the right repository, and fetch the branch that has the history; else it was rewritten",
            ));
        }
        Ok(EvidenceFolder { path: path.to_owned(), checklist, sums })
    }

    /// The bytes of a file of the folder.
    pub(super) fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.path.join(name);
        fs::read(&path).map_err(ReleaseError::io("read", &path))
    }

    /// Checks that the folder is about the history that a clone uses: `configured` is the ref of the clone, and `recorded`
    /// that of the settings in the folder.
    pub fn check_branch(&self, configured: Option<&str>, recorded: Option<&str>) -> Result<()> {
        let words = |one: Option<&str>| one.map_or_else(|| "no branch".to_owned(), |one| format!("`{one}`"));
        let short = |one: &str| one.strip_prefix("refs/heads/").unwrap_or(one).to_owned();
        if configured.map(short) != recorded.map(short) {
            let (recorded, configured) = (words(recorded), words(configured));
            let what = format!(
                "names {recorded} as the ref of the history, and this clone {configured}: check out a commit with the same setting"
            );
            return Err(Fault::new(reviewed::SETTINGS_PATH, what).into());
        }
        match (configured.map(short), &self.checklist.branch) {
            (Some(own), Some(branch)) if own != *branch => {
                let what = format!("uses the history on the branch `{branch}`, and this clone that on `{own}`");
                Err(Fault::new(CHECKLIST_JSON, what).into())
            }
            _ => Ok(()),
        }
    }

    /// Compares the records of the folder with those of the repository, and their list with its root; `then` is the history
    /// that the folder names, and `now` the branch that has it today.
    pub fn check_history(&self, store: &Store, then: &Target, now: &Target) -> Result<Entries> {
        let point = &self.checklist.history;
        let entries = branch::undamaged_entries(store, then)?;
        let mut faults = Vec::new();
        let mut records: BTreeMap<String, Vec<u8>> =
            history::files_of(store, &point.commit, RECORD_ROOT)?.into_iter().collect();
        for path in self.sums.keys().filter(|path| is_record(path)) {
            match records.remove(path) {
                None => faults.push(Fault::new(path, "is no record of the history")),
                Some(expected) => {
                    let what = "is not the record of the history";
                    faults.extend(Fault::compare(path, &self.bytes(path)?, &expected, what));
                }
            }
        }
        faults.extend(records.keys().map(|path| Fault::new(path, "is a record of the history, and missing here")));
        let (size, root) = (entries.tree.len() as u64, entries.tree.root().to_string());
        if faults.is_empty() && (size, &root) != (point.size, &point.root) {
            let what = format!(
                "names {} runs with the Merkle root {}, and the history at {} has {size} with {root}",
                point.size, point.root, point.commit
            );
            faults.push(Fault::new(CHECKLIST_JSON, what));
        }
        if !faults.is_empty() {
            return Err(ReleaseError::Disagreement(faults));
        }
        if history::list(store, now)?.tip != entries.tip {
            let now = branch::undamaged_entries(store, now)?;
            identity::check_point(store, &self.checklist.release, point, &now)?;
        }
        Ok(entries)
    }

    /// The files of the project that are not those of a commit which the clone trusts.
    pub fn unreviewed(&self, store: &Store, target: &Target) -> Result<Vec<Fault>> {
        let commit = &self.checklist.reviewed;
        for tip in branch::trusted_tips(store, target)? {
            if history::comes_after(store, &tip, commit)? {
                let paths = self.sums.keys().filter(|path| reviewed::is_project_file(path));
                return reviewed::compare_files(store, commit, &self.path, paths);
            }
        }
        let what = format!(
            "takes the files of the project from the commit {commit}, which is an ancestor neither of HEAD nor of the history"
        );
        Ok(vec![Fault::new(CHECKLIST_JSON, what)])
    }

    pub fn artifacts(&self) -> Result<Artifacts> {
        let bytes = self.bytes(ARTIFACTS)?;
        let listed: Vec<Listed> = file::read(&bytes).map_err(|error| Fault::new(ARTIFACTS, error.to_string()))?;
        if let Some(fault) = Fault::compare(ARTIFACTS, &bytes, &file::to_bytes(&listed), "is not in the written form") {
            return Err(fault.into());
        }
        let mut artifacts = Artifacts::new();
        for Listed { key, path, file } in listed {
            let place = bundle::place(&key, &path);
            if file.as_ref().is_some_and(|file| *file != place) || file.is_some() != self.sums.contains_key(&place) {
                return Err(Fault::new(ARTIFACTS, format!("gives a wrong place for `{key}`")).into());
            }
            let artifact = Artifact { file: self.path.join(place), path };
            if artifacts.insert(key.clone(), artifact).is_some() {
                return Err(Fault::new(ARTIFACTS, format!("names `{key}` twice")).into());
            }
        }
        Ok(artifacts)
    }

    /// Checks the envelope, where there is one: who signed, in words.
    pub fn check_signature(&self, trusted: Trusted<'_>) -> Result<String> {
        if !self.path.join(ENVELOPE).is_file() {
            return match trusted {
                Trusted::Nobody => Ok("none".to_owned()),
                _ => Err(Fault::new(ENVELOPE, "is missing, and a signature is required").into()),
            };
        }
        let statement = self.bytes(STATEMENT)?;
        let (keyid, signature) = envelope::open(&self.bytes(ENVELOPE)?, &statement)?;
        let who = sign::check(&keyid, &signature, &pre_authentication(PAYLOAD_TYPE, &statement), trusted)?;
        Ok(format!("by {who}"))
    }

    /// What a reader should know though nothing disagrees.
    pub fn notes(&self, today: NaiveDate) -> Vec<String> {
        let waivers = self.checklist.items.iter().filter_map(|item| Some((&item.id, item.waiver.as_ref()?)));
        let expired = waivers.filter(|(_, waiver)| waiver.in_force && waiver.expires < today);
        let mut notes: Vec<String> = expired
            .map(|(id, waiver)| format!("the waiver of `{id}` expired on {}: it is open again", waiver.expires))
            .collect();
        let (version, own) = (&self.checklist.version, env!("CARGO_PKG_VERSION"));
        if version != own {
            notes.push(format!("it was written by sprag {version}, and this is {own}"));
        }
        notes
    }
}

pub(super) fn is_record(path: &str) -> bool {
    path.strip_prefix(RECORD_ROOT).is_some_and(|rest| rest.starts_with('/'))
}

/// Checks the time by which waivers expire: not before the history, and not in the future.
pub fn check_time(store: &Store, checklist: &FilledChecklist, now: DateTime<Utc>) -> Result<()> {
    let as_of = checklist.as_of;
    let commit = history::find_commit(store, &checklist.history.commit)?;
    let is_before = commit.is_some_and(|commit| commit.commit_time > as_of + CLOCK_TOLERANCE);
    let why = match (is_before, as_of > now + CLOCK_TOLERANCE) {
        (true, _) => "before the history that it uses",
        (false, true) => "in the future",
        (false, false) => return Ok(()),
    };
    let what = format!("is as of {}, {why}", as_of.format("%Y-%m-%d %H:%M UTC"));
    Err(Fault::new(CHECKLIST_JSON, what).into())
}

/// That another version wrote a folder whose files are those that are listed: it may word the same finding differently.
pub fn other_version(folder: &Path) -> Option<String> {
    listed_files::check(folder, &|_, _| None).ok()?;
    let checklist: serde_json::Value = serde_json::from_slice(&fs::read(folder.join(CHECKLIST_JSON)).ok()?).ok()?;
    let version = checklist.get("version")?.as_str()?;
    let own = env!("CARGO_PKG_VERSION");
    (version != own).then(|| {
        sprag_base::text::printable(&format!(
            "written by sprag {version}, and this is {own}: verify with sprag {version} before you suspect tampering"
        ))
    })
}

/// The content with that digest of a file, from the checklist or from git.
fn expected_content(store: &Store, checklist: Option<&FilledChecklist>, path: &str, digest: &str) -> Option<Vec<u8>> {
    let derived = checklist.and_then(|checklist| match path {
        CHECKLIST_JSON => Some(file::to_bytes(checklist)),
        CHECKLIST_MD => Some(filled::to_markdown(checklist).into_bytes()),
        VERIFY_MD => Some(bundle::to_markdown(checklist).into_bytes()),
        _ => None,
    });
    let commits = checklist.map(|one| [&one.reviewed, &one.history.commit, &one.commit].map(String::as_str));
    let in_git = commits.into_iter().flatten().chain(["HEAD"]).filter_map(|commit| {
        let files = history::files_of(store, commit, path).ok()?;
        files.into_iter().find(|(name, _)| name == path).map(|(_, bytes)| bytes)
    });
    derived.into_iter().chain(in_git).find(|bytes| sha256_hex(bytes) == digest)
}
