//! Whether the files of an attestation are those that `SHA256SUMS` and the statement name.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::error::first_difference;
use super::{Fault, ReleaseError, Result};
use crate::envelope::ENVELOPE;
use crate::file;
use crate::statement::STATEMENT;
use crate::sums::{self, SUMS};
use sprag_base::digest::sha256_hex;
use sprag_base::files::sha256_of_file;
use sprag_model::statement::{SHA256, Statement};

/// The files that `SHA256SUMS` does not list: itself, and those that name its digest.
const UNLISTED: [&str; 3] = [SUMS, STATEMENT, ENVELOPE];

/// The expected content of a file by its path and its listed digest, where that is available elsewhere.
pub type ExpectedContent<'a> = dyn Fn(&str, &str) -> Option<Vec<u8>> + 'a;

/// Checks the files of a folder against its sums, and these against the statement: the digests of the files. Where sums and
/// files disagree, the statement decides which of them is right.
pub fn check(folder: &Path, expected: &ExpectedContent<'_>) -> Result<BTreeMap<String, String>> {
    let Scan { digests: actual, empty_folders, mut faults } = scan(folder)?;
    let mut read = |name: &str| match fs::read(folder.join(name)) {
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

/// What lies in a folder: the digests of its files by path, without those that the sums never list.
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
        Some(found) if found == digest => None,
        Some(found) => Some(difference(folder, path, [digest, found], listed, expected)),
        None => Some(Fault::new(
            path,
            match unlisted().find(|(_, found)| *found == digest) {
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
    [digest, found]: [&str; 2],
    listed: &BTreeMap<String, String>,
    expected: &ExpectedContent<'_>,
) -> Fault {
    let expected = expected(path, digest);
    let actual = fs::read(folder.join(path)).unwrap_or_default();
    let swapped = listed.iter().find(|(other, of)| *other != path && *of == found);
    let what = match (swapped, &expected) {
        (Some((other, _)), _) => format!("has the content of {other}"),
        (None, Some(all)) if all.starts_with(&actual) => {
            format!("is cut short: {} of {} bytes", actual.len(), all.len())
        }
        (None, _) if actual.is_empty() => "is empty".to_owned(),
        (None, _) => format!("has the digest {found}, and {SUMS} lists {digest}"),
    };
    Fault { byte: expected.and_then(|expected| first_difference(&actual, &expected)), ..Fault::new(path, what) }
}
