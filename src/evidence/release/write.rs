//! The folder of an attestation, written: all files that a release depends on, their sums, and a statement about them.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use super::artifacts::ReleaseArtifact;
use super::inputs::ReleaseInputs;
use super::{ReleaseError, Result, reviewed, sign};
use crate::bundle::{self, ARTIFACTS, ListedFile, VERIFY_MD};
use crate::envelope::{self, ENVELOPE};
use crate::file;
use crate::filled::{self, CHECKLIST_JSON, CHECKLIST_MD};
use crate::statement::{self, STATEMENT};
use crate::sums::{self, SUMS};
use sprag_base::digest::sha256_hex;
use sprag_base::files::{sha256_of_file, write_atomic};
use sprag_history::{self as history, Store};
use sprag_model::checklist::FilledChecklist;
use sprag_model::run::RECORD_ROOT;
use sprag_model::statement::{PAYLOAD_TYPE, pre_authentication};

/// Writes the evidence into an empty folder, signed where there is a key.
pub fn write(
    inputs: &ReleaseInputs,
    store: &Store,
    checklist: &FilledChecklist,
    into: &Path,
    key: Option<&Path>,
) -> Result<()> {
    let mut files = ListedFiles { into, sums: BTreeMap::new() };
    for path in reviewed::project_files(&inputs.root)? {
        files.write(&path, &inputs.bytes(store, &path)?)?;
    }
    for (path, bytes) in history::files_of(store, &inputs.history.commit, RECORD_ROOT)? {
        files.write(&path, &bytes)?;
    }
    let mut listed = Vec::new();
    for (key, artifact) in &inputs.artifacts {
        let file = artifact.is_there().then(|| bundle::place(key, &artifact.path));
        if let Some(path) = &file {
            files.copy(path, artifact)?;
        }
        listed.push(ListedFile { key: key.clone(), path: artifact.path.clone(), file });
    }
    files.write(ARTIFACTS, &file::to_bytes(&listed))?;
    files.write(CHECKLIST_JSON, &file::to_bytes(checklist))?;
    files.write(CHECKLIST_MD, filled::to_markdown(checklist).as_bytes())?;
    files.write(VERIFY_MD, bundle::to_markdown(checklist).as_bytes())?;
    let sums = sums::text(&files.sums);
    write_atomic(&into.join(SUMS), sums.as_bytes())?;
    let statement = file::to_bytes(&statement::statement(checklist, &files.sums, &sha256_hex(sums.as_bytes())));
    write_atomic(&into.join(STATEMENT), &statement)?;
    if let Some(key) = key {
        let (keyid, signature) = sign::sign(key, &pre_authentication(PAYLOAD_TYPE, &statement))?;
        write_atomic(&into.join(ENVELOPE), &file::to_bytes(&envelope::seal(&statement, keyid, &signature)))?;
    }
    Ok(())
}

struct ListedFiles<'a> {
    into: &'a Path,
    sums: BTreeMap<String, String>,
}

impl ListedFiles<'_> {
    fn write(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        let file = self.into.join(path);
        let written = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, bytes));
        written.map_err(ReleaseError::io("write", &file))?;
        self.list(path, sha256_hex(bytes))
    }

    fn copy(&mut self, path: &str, from: &ReleaseArtifact) -> Result<()> {
        let file = self.into.join(path);
        let copy = |mut from| io::copy(&mut from, &mut fs::File::create(&file)?);
        let copied = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| from.open().and_then(copy));
        let digest = copied.and_then(|_| sha256_of_file(&file)).map_err(ReleaseError::io("copy", &from.file))?;
        self.list(path, digest)
    }

    fn list(&mut self, path: &str, digest: String) -> Result<()> {
        if !sums::is_plain(path) {
            return Err(ReleaseError::refused(
                format!("`{path}` cannot be listed in {SUMS}: its name has unusual characters"),
                "rename it: letters, digits, `.`, `_` and `-`, and no `.` or `-` at its beginning",
            ));
        }
        self.sums.insert(path.to_owned(), digest);
        Ok(())
    }
}
