//! What the checklist of a release is filled from: the files of the project, its history as of a commit, and artifacts.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::artifacts::{Artifacts, ReleaseArtifact};
use super::declared::Declared;
use super::identity::Identity;
use super::{Fault, ReleaseError, Result, reviewed};
use sprag_base::digest::sha256_hex;
use sprag_history::{self as history, Store};
use sprag_model::checklist::{HistoryPoint, Rests};
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::release::Release;
use sprag_model::run::RECORD_ROOT;

pub struct ReleaseInputs {
    pub root: PathBuf,
    pub declared: Declared,
    pub release: Release,
    pub identity: Identity,
    /// The time by which waivers expire.
    pub as_of: DateTime<Utc>,
    pub history: HistoryPoint,
    /// The branch of that history; absent where it is a commit.
    pub branch: Option<String>,
    /// The commit that the files of the project must be those of.
    pub reviewed: String,
    pub artifacts: Artifacts,
}

impl ReleaseInputs {
    pub fn previous(&self) -> Option<&Release> {
        self.declared.releases.before(&self.release)
    }

    /// The bytes of a file of the project: of a record as the history has it, of any other as it is on disk.
    pub fn bytes(&self, store: &Store, path: &str) -> Result<Vec<u8>> {
        if path.starts_with(RECORD_ROOT) {
            let mut files = history::files_of(store, &self.history.commit, path)?.into_iter();
            let gone = || std::io::Error::from(std::io::ErrorKind::NotFound);
            return files
                .next()
                .map(|(_, bytes)| bytes)
                .ok_or_else(|| ReleaseError::io("read", Path::new(path))(gone()));
        }
        reviewed::read_inside(&self.root, path, MAX_RECORD_BYTES).map_err(ReleaseError::io("read", Path::new(path)))
    }

    pub fn rests(&self, store: &Store, path: &str) -> Result<Rests> {
        let bytes = self.bytes(store, path)?;
        Ok(Rests { path: path.to_owned(), sha256: sha256_hex(&bytes), bytes: bytes.len() as u64 })
    }

    /// The files of the project, and artifacts inside it, that are not those of the commit that is checked out.
    pub fn unreviewed(&self, store: &Store) -> Result<Vec<Fault>> {
        let paths = reviewed::project_files(&self.root)?;
        let mut faults = reviewed::compare_files(store, &self.reviewed, &self.root, &paths)?;
        let shown = |_: &str, artifact: &ReleaseArtifact| artifact.path.clone();
        let checklist = &self.declared.checklist;
        faults.extend(reviewed::compare_artifacts(store, &self.reviewed, checklist, &self.artifacts, shown)?);
        Ok(faults)
    }
}

pub fn head(store: &Store) -> Result<String> {
    history::facts(store)?.commit.ok_or_else(|| {
        let message = "no commit is checked out, so nobody can have reviewed the files of the release";
        ReleaseError::refused(message, "commit `release/` first")
    })
}
