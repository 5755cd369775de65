//! The statement about a release that its project publishes, in `release/<name>/`.

use std::io::ErrorKind;
use std::path::Path;

use super::reviewed::read_inside;
use super::sign::{self, Trusted};
use super::{Fault, ReleaseError};
use crate::envelope::{self, ENVELOPE};
use crate::file;
use crate::statement::STATEMENT;
use sprag_model::checklist::FilledChecklist;
use sprag_model::release::{PublishedStatement, Sealed};
use sprag_model::statement::{GIT_COMMIT, PAYLOAD_TYPE, pre_authentication};
use sprag_model::{Resource, Statement};

const MOST_BYTES: usize = 1 << 20;

/// The statement of a release; absent where there is none, and why it is rejected where it is wrong.
pub fn read(root: &Path, filled: &FilledChecklist) -> Option<Result<PublishedStatement, String>> {
    let folder = format!("release/{}", filled.release);
    let read = |name: &str| match read_inside(root, &format!("{folder}/{name}"), MOST_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(format!("`{folder}/{name}` cannot be read: {error}")),
    };
    let sealed = |statement: &[u8]| {
        let Some(bytes) = read(ENVELOPE)? else { return Ok(None) };
        sealed(bytes, statement).map(Some).map_err(|why| format!("`{folder}/{ENVELOPE}`: {why}"))
    };
    let published = |statement: Vec<u8>| {
        check(&statement, filled).map_err(|why| format!("`{folder}/{STATEMENT}` {why}"))?;
        Ok(PublishedStatement { folder: folder.clone(), sealed: sealed(&statement)?, statement })
    };
    read(STATEMENT).and_then(|bytes| bytes.map(published).transpose()).transpose()
}

fn check(bytes: &[u8], filled: &FilledChecklist) -> Result<(), String> {
    let statement: Statement = file::read(bytes).map_err(|error| format!("is not a statement of Sprag: {error}"))?;
    let is_subject = |one: &Resource| one.name == filled.release && one.digest.get(GIT_COMMIT) == Some(&filled.commit);
    match &statement.subject[..] {
        [one] if is_subject(one) => Ok(()),
        _ => Err(format!("is not about {} at {}", filled.release, filled.commit)),
    }
}

/// An envelope around a statement. SSH signatures are not checked: `ssh-keygen` is not everywhere, and sites must be equal.
fn sealed(bytes: Vec<u8>, statement: &[u8]) -> Result<Sealed, String> {
    let (keyid, signature) = envelope::open(&bytes, statement).map_err(|fault| fault.what)?;
    let checked = keyid != sign::SSH;
    if checked {
        let message = pre_authentication(PAYLOAD_TYPE, statement);
        sign::check(&keyid, &signature, &message, Trusted::Nobody).map_err(|error| match error {
            ReleaseError::Disagreement(faults) => faults.into_iter().map(|Fault { what, .. }| what).collect(),
            error => error.to_string(),
        })?;
    }
    Ok(Sealed { bytes, keyid, checked })
}
