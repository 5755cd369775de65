//! The statement about a release that its project keeps, in `release/<name>/`: what a site hands out.

use std::io::ErrorKind;
use std::path::Path;

use super::sign::{self, Trusted};
use sprag_base::files::read_bounded;
use sprag_evidence::envelope::{self, ENVELOPE};
use sprag_evidence::statement::{self, STATEMENT};
use sprag_model::checklist::FilledChecklist;
use sprag_model::release::{PublishedStatement, Sealed};
use sprag_model::statement::{GIT_COMMIT, PAYLOAD_TYPE, pre_authentication};

/// The most bytes of either file.
const MOST_BYTES: usize = 1 << 20;

/// What is kept of a release; nothing where there is no statement, and why it does not count where one is wrong.
pub(super) fn kept(root: &Path, filled: &FilledChecklist) -> Option<Result<PublishedStatement, String>> {
    let folder = format!("release/{}", filled.release);
    let read = |name: &str| match read_bounded(&root.join(&folder).join(name), MOST_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(format!("`{folder}/{name}` cannot be read: {error}")),
    };
    let found = read(STATEMENT).and_then(|bytes| {
        let Some(bytes) = bytes else { return Ok(None) };
        check(&bytes, filled).map_err(|why| format!("`{folder}/{STATEMENT}` {why}"))?;
        let sealed = read(ENVELOPE)?
            .map(|envelope| sealed(envelope, &bytes).map_err(|why| format!("`{folder}/{ENVELOPE}` {why}")));
        Ok(Some(PublishedStatement { folder: folder.clone(), sealed: sealed.transpose()?, statement: bytes }))
    });
    found.transpose()
}

/// Checks that a statement is of this release.
fn check(bytes: &[u8], filled: &FilledChecklist) -> Result<(), String> {
    let statement = statement::read(bytes).map_err(|error| format!("is no statement of ours: {error}"))?;
    let is_it = |one: &sprag_model::statement::Resource| {
        one.name == filled.release && one.digest.get(GIT_COMMIT) == Some(&filled.commit)
    };
    match &statement.subject[..] {
        [one] if is_it(one) => Ok(()),
        _ => Err(format!("is not about {} at {}", filled.release, filled.commit)),
    }
}

/// An envelope around a statement. Signatures of SSH are not checked: that takes a program that is not everywhere, and equal
/// repositories give equal sites.
fn sealed(bytes: Vec<u8>, statement: &[u8]) -> Result<Sealed, String> {
    let (keyid, signature) = envelope::opened(&bytes, statement).map_err(|(_, what)| what)?;
    let checked = keyid != sign::SSH;
    if checked {
        let message = pre_authentication(PAYLOAD_TYPE, statement);
        let fits = sign::check(&keyid, &signature, &message, &Trusted::Nobody).map_err(|error| error.to_string())?;
        fits.map_err(|why| format!("bears a signature that does not count: {why}"))?;
    }
    Ok(Sealed { bytes, keyid, checked })
}
