//! The folder that an attestation wrote, checked against a repository.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

use crate::bundle::{self, ARTIFACTS, ListedFile, VERIFY_MD};
use crate::envelope::{self, ENVELOPE};
use crate::file;
use crate::filled::{self, CHECKLIST_JSON, CHECKLIST_MD};
use crate::release::artifacts::{Artifacts, ReleaseArtifact};
use crate::release::error::first_difference;
use crate::release::reviewed::read_inside;
use crate::release::sign::{self, Trusted};
use crate::release::{Fault, ReleaseError, Result, branch, identity, reviewed};
use crate::statement::STATEMENT;
use crate::sums::{self, SUMS};
use sprag_base::digest::sha256_hex;
use sprag_base::files::sha256_of_file;
use sprag_history::{self as history, Entries, Store, Target};
use sprag_model::Statement;
use sprag_model::checklist::FilledChecklist;
use sprag_model::run::RECORD_ROOT;
use sprag_model::statement::{PAYLOAD_TYPE, SHA256, pre_authentication};

/// Of a file that is compared as a whole.
const MOST_BYTES: usize = 256 << 20;

const CLOCK_TOLERANCE: TimeDelta = TimeDelta::days(1);

pub struct EvidenceFolder {
    pub path: PathBuf,
    pub checklist: FilledChecklist,
    pub sums: BTreeMap<String, String>,
}

impl EvidenceFolder {
    /// Opens a folder whose files are those that its sums list.
    pub fn open(path: &Path, store: &Store) -> Result<EvidenceFolder> {
        let read = || {
            read_inside(path, CHECKLIST_JSON, MOST_BYTES).map_err(ReleaseError::io("read", &path.join(CHECKLIST_JSON)))
        };
        let claimed = read().ok().and_then(|bytes| file::read(&bytes).ok());
        let expected = |name: &str, digest: &str| expected_content(store, claimed.as_ref(), name, digest);
        let sums = check_files(path, &expected)?;
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

    pub(super) fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        read_inside(&self.path, name, MOST_BYTES).map_err(ReleaseError::io("read", &self.path.join(name)))
    }

    /// Checks that the clone uses the history of the folder: `configured` is the ref of the clone, and `recorded` that of the
    /// settings in the folder.
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
                let what = format!("uses the history branch `{branch}`, but this clone uses `{own}`");
                Err(Fault::new(CHECKLIST_JSON, what).into())
            }
            _ => Ok(()),
        }
    }

    /// Compares the records of the folder with those of the repository. `then` is the history that the folder names, and `now` the
    /// branch that has it today.
    pub fn check_history(&self, store: &Store, then: &Target, now: &Target) -> Result<Entries> {
        let point = &self.checklist.history;
        let entries = branch::undamaged_entries(store, then)?;
        let mut faults = Vec::new();
        let mut records: BTreeMap<String, Vec<u8>> =
            history::files_of(store, &point.commit, RECORD_ROOT)?.into_iter().collect();
        for path in self.sums.keys().filter(|path| is_record(path)) {
            match records.remove(path) {
                None => faults.push(Fault::new(path, "is not a record of the history")),
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

    /// The files of the project that differ from a commit which the clone trusts.
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
        let listed: Vec<ListedFile> = file::read(&bytes).map_err(|error| Fault::new(ARTIFACTS, error.to_string()))?;
        if let Some(fault) = Fault::compare(ARTIFACTS, &bytes, &file::to_bytes(&listed), "is not in the written form") {
            return Err(fault.into());
        }
        let mut artifacts = Artifacts::new();
        for ListedFile { key, path, file } in listed {
            let place = bundle::place(&key, &path);
            if file.as_ref().is_some_and(|file| *file != place) || file.is_some() != self.sums.contains_key(&place) {
                return Err(Fault::new(ARTIFACTS, format!("gives a wrong place for `{key}`")).into());
            }
            let artifact = ReleaseArtifact { folder: self.path.clone(), file: PathBuf::from(place), path };
            if artifacts.insert(key.clone(), artifact).is_some() {
                return Err(Fault::new(ARTIFACTS, format!("names `{key}` twice")).into());
            }
        }
        Ok(artifacts)
    }

    /// Checks the envelope, if there is one; says who signed.
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

    /// Expired waivers, and another version of Sprag.
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

/// Checks that the time by which waivers expire is neither before the history nor in the future.
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

/// A hint that another version wrote a folder whose files are intact: it may word the same finding differently.
pub fn other_version(folder: &Path) -> Option<String> {
    check_files(folder, &|_, _| None).ok()?;
    let checklist: serde_json::Value =
        serde_json::from_slice(&read_inside(folder, CHECKLIST_JSON, MOST_BYTES).ok()?).ok()?;
    let version = checklist.get("version")?.as_str()?;
    let own = env!("CARGO_PKG_VERSION");
    (version != own).then(|| {
        sprag_base::text::printable(&format!(
            "written by sprag {version}, and this is {own}: verify with sprag {version} before you suspect tampering"
        ))
    })
}

/// The content of a file with that digest, from the checklist or from git.
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

// The files of an attestation, compared with `SHA256SUMS` and the statement.

/// Not listed in `SHA256SUMS`: itself, and the files that contain its digest.
const UNLISTED: [&str; 3] = [SUMS, STATEMENT, ENVELOPE];

/// The content of a file by its path and its listed digest, if it is available elsewhere.
type ExpectedContent<'a> = dyn Fn(&str, &str) -> Option<Vec<u8>> + 'a;

/// Compares the files of a folder with its sums; gives their digests. Where they differ, the statement decides which is right.
fn check_files(folder: &Path, expected: &ExpectedContent<'_>) -> Result<BTreeMap<String, String>> {
    let Scan { digests: actual, empty_folders, mut faults } = scan(folder)?;
    let mut read = |name: &str| match read_inside(folder, name, MOST_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            faults.push(Fault::new(name, "is missing"));
            Ok(Vec::new())
        }
        read => read.map_err(ReleaseError::io("read", &folder.join(name))),
    };
    let (written, statement) = (read(SUMS)?, read(STATEMENT)?);
    if !faults.is_empty() {
        return Err(ReleaseError::Disagreement(faults));
    }
    let right = sums::text(&actual).into_bytes();
    if written == right {
        // Whether the statement is about these sums is checked where it is derived again.
        return if empty_folders.is_empty() { Ok(actual) } else { Err(ReleaseError::Disagreement(empty_folders)) };
    }
    let is_stated = sums_digest(&statement).is_some_and(|digest| digest == sha256_hex(&right));
    let what = match sums::parse(&written) {
        Ok(listed) if !is_stated => {
            return Err(ReleaseError::Disagreement(differences(folder, &listed, &actual, expected)));
        }
        Ok(_) => "is not what the statement names; the files are".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Fault { byte: first_difference(&written, &right), ..Fault::new(SUMS, what) }.into())
}

/// The digest of the sums that a statement names; absent where it cannot be read.
fn sums_digest(statement: &[u8]) -> Option<String> {
    let statement: Statement = file::read(statement).ok()?;
    let sums = statement.predicate.configuration.into_iter().find(|one| one.name == SUMS)?;
    sums.digest.get(SHA256).cloned()
}

/// The digests of the files of a folder by path, without those that the sums never list.
struct Scan {
    digests: BTreeMap<String, String>,
    empty_folders: Vec<Fault>,
    faults: Vec<Fault>,
}

fn scan(root: &Path) -> Result<Scan> {
    let (mut digests, mut empty_folders, mut faults) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut folders = vec![String::new()];
    while let Some(below) = folders.pop() {
        let folder = root.join(&below);
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let entries = entries.map_err(ReleaseError::io("read", &folder))?;
        if entries.is_empty() && !below.is_empty() {
            empty_folders
                .push(Fault::new(below.trim_end_matches('/'), "is an empty folder, which an attestation never has"));
        }
        for entry in entries {
            let path = format!("{below}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().map_err(ReleaseError::io("read", &entry.path()))?;
            if kind.is_dir() {
                folders.push(path + "/");
            } else if !kind.is_file() {
                faults.push(Fault::new(&path, "is a link or a device, and no file"));
            } else if !UNLISTED.contains(&path.as_str()) {
                digests.insert(path, sha256_of_file(&entry.path()).map_err(ReleaseError::io("read", &entry.path()))?);
            }
        }
    }
    Ok(Scan { digests, empty_folders, faults })
}

fn differences(
    folder: &Path,
    listed: &BTreeMap<String, String>,
    actual: &BTreeMap<String, String>,
    expected: &ExpectedContent<'_>,
) -> Vec<Fault> {
    let unlisted = || actual.iter().filter(|(path, _)| !listed.contains_key(*path));
    let fault = |(path, digest): (&String, &String)| match actual.get(path) {
        Some(actual) if actual == digest => None,
        Some(actual) => Some(difference(folder, path, [digest, actual], listed, expected)),
        None => Some(Fault::new(
            path,
            match unlisted().find(|(_, other)| *other == digest) {
                Some((now, _)) => format!("was renamed: its content is at {now}"),
                None => format!("is listed in {SUMS} and missing"),
            },
        )),
    };
    let extra = unlisted().map(|(path, _)| Fault::new(path, format!("is not listed in {SUMS}")));
    listed.iter().filter_map(fault).chain(extra).collect()
}

fn difference(
    folder: &Path,
    path: &str,
    [digest, actual_digest]: [&str; 2],
    listed: &BTreeMap<String, String>,
    expected: &ExpectedContent<'_>,
) -> Fault {
    let expected = expected(path, digest);
    let actual = read_inside(folder, path, MOST_BYTES).unwrap_or_default();
    let swapped = listed.iter().find(|(other, of)| *other != path && *of == actual_digest);
    let what = match (swapped, &expected) {
        (Some((other, _)), _) => format!("has the content of {other}"),
        (None, Some(all)) if all.starts_with(&actual) => {
            format!("is cut short: {} of {} bytes", actual.len(), all.len())
        }
        (None, _) if actual.is_empty() => "is empty".to_owned(),
        (None, _) => format!("has the digest {actual_digest}, and {SUMS} lists {digest}"),
    };
    Fault { byte: expected.and_then(|expected| first_difference(&actual, &expected)), ..Fault::new(path, what) }
}
