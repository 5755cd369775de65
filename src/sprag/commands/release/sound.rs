//! Whether the files of an attestation are those that `SHA256SUMS` and the statement name.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context as _;

use super::fault::Fault;
use crate::commands::replay::digest_of;
use sprag_base::digest::sha256_hex;
use sprag_evidence::envelope::ENVELOPE;
use sprag_evidence::statement::{self, STATEMENT};
use sprag_evidence::sums::{self, SUMS, first_difference};
use sprag_model::statement::SHA256;

/// The files that the sums do not list, as they are about them.
const BESIDE: [&str; 3] = [SUMS, STATEMENT, ENVELOPE];

/// What a file must hold: by its path and the digest that is listed for it, where that is known from elsewhere.
pub(super) type Original<'a> = dyn Fn(&str, &str) -> Option<Vec<u8>> + 'a;

/// Holds the files of a folder against its sums, and these against the statement: the sums, or what disagrees. Where the sums
/// and the files disagree, the statement tells which of them is right.
///
/// # Errors
/// When the folder cannot be read, or it is none that an attestation wrote.
pub(super) fn check(
    folder: &Path,
    original: &Original<'_>,
) -> anyhow::Result<Result<BTreeMap<String, String>, Vec<Fault>>> {
    let mut faults = Vec::new();
    let (there, empty) = digests(folder, &mut faults)?;
    let read = |name: &str| match fs::read(folder.join(name)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", folder.join(name).display())),
    };
    let (written, stated) = (read(SUMS)?, read(STATEMENT)?);
    for (name, content) in [(SUMS, &written), (STATEMENT, &stated)] {
        if content.is_none() {
            faults.push(Fault::of(name, "is not there"));
        }
    }
    let (Some(written), Some(stated)) = (written, stated) else { return Ok(Err(faults)) };
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    let right = sums::text(&there).into_bytes();
    if written == right {
        // Whether the statement is of these sums is seen where all of it is derived again.
        return Ok(if empty.is_empty() { Ok(there) } else { Err(empty) });
    }
    let read = sums::parse(&written);
    let named = named_by(&stated);
    let is_named = |bytes: &[u8]| named.as_ref().is_some_and(|named| *named == sha256_hex(bytes));
    match read {
        Ok(listed) if !is_named(&right) => faults = differences(folder, &listed, &there, original),
        read => faults.push(Fault {
            path: SUMS.to_owned(),
            byte: first_difference(&written, &right),
            what: match read {
                Ok(_) => "is not what the statement names; the files are".to_owned(),
                Err(error) => error.to_string(),
            },
        }),
    }
    Ok(Err(faults))
}

/// The digest of the sums that a statement names; absent where it cannot be read.
fn named_by(stated: &[u8]) -> Option<String> {
    let statement = statement::read(stated).ok()?;
    let sums = statement.predicate.configuration.into_iter().find(|one| one.name == SUMS)?;
    sums.digest.get(SHA256).cloned()
}

/// The digests of all files in a folder that sums list, by path, and what is wrong with folders that hold nothing. What is no
/// file is a fault.
fn digests(root: &Path, faults: &mut Vec<Fault>) -> anyhow::Result<(BTreeMap<String, String>, Vec<Fault>)> {
    let (mut found, mut empty) = (BTreeMap::new(), Vec::new());
    let mut folders = vec![String::new()];
    while let Some(below) = folders.pop() {
        let folder = root.join(&below);
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let entries = entries.with_context(|| format!("cannot read `{}`", folder.display()))?;
        if entries.is_empty() && !below.is_empty() {
            let what = "is a folder that holds nothing, and none such is written";
            empty.push(Fault::of(below.trim_end_matches('/'), what));
        }
        for entry in entries {
            let path = format!("{below}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().with_context(|| format!("cannot read `{}`", entry.path().display()))?;
            if kind.is_dir() {
                folders.push(path + "/");
            } else if !kind.is_file() {
                faults.push(Fault::of(&path, "is a link or a device, and no file"));
            } else if !BESIDE.contains(&path.as_str()) {
                let digest = digest_of(&entry.path()).with_context(|| format!("cannot read `{path}`"))?;
                found.insert(path, digest);
            }
        }
    }
    Ok((found, empty))
}

/// What of the files is not as it is listed.
fn differences(
    folder: &Path,
    listed: &BTreeMap<String, String>,
    there: &BTreeMap<String, String>,
    original: &Original<'_>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let unlisted = || there.iter().filter(|(path, _)| !listed.contains_key(*path));
    for (path, digest) in listed {
        match there.get(path) {
            Some(found) if found == digest => {}
            Some(found) => faults.push(differs(folder, path, digest, found, listed, original)),
            None => {
                let renamed = unlisted().find(|(_, found)| *found == digest);
                faults.push(Fault::of(
                    path,
                    match renamed {
                        Some((now, _)) => format!("was renamed: its content lies at {now}"),
                        None => format!("is listed in {SUMS} and not there"),
                    },
                ));
            }
        }
    }
    faults.extend(unlisted().map(|(path, _)| Fault::of(path, format!("is there and not listed in {SUMS}"))));
    faults
}

fn differs(
    folder: &Path,
    path: &str,
    digest: &str,
    found: &str,
    listed: &BTreeMap<String, String>,
    original: &Original<'_>,
) -> Fault {
    let must = original(path, digest);
    let has = fs::read(folder.join(path)).unwrap_or_default();
    let byte = must.as_ref().and_then(|must| first_difference(&has, must));
    let swapped = listed.iter().find(|(other, of)| *other != path && *of == found);
    let what = match (swapped, &must) {
        (Some((other, _)), _) => format!("holds the content of {other}"),
        (None, Some(must)) if must.starts_with(&has) => format!("is cut short: {} of {} bytes", has.len(), must.len()),
        (None, _) if has.is_empty() => "is empty".to_owned(),
        (None, _) => format!("has the digest {found}, and {SUMS} lists {digest}"),
    };
    Fault { path: path.to_owned(), byte, what }
}
