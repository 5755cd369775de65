//! The folder of an attestation verified: every status is derived again from the records of a clone.

use std::path::Path;

use super::findings;
use super::load::{LoadedRelease, read_declared};
use crate::project::Project;
use crate::{Advice, Error};
use sprag_evidence::release::folder::{self, EvidenceFolder};
use sprag_evidence::release::identity::{self, Identity};
use sprag_evidence::release::inputs::ReleaseInputs;
use sprag_evidence::release::sign::Trusted;
use sprag_evidence::release::{Fault, ReleaseError, branch, rederive};
use sprag_history::{self as history, Entries, HistoryError};
use sprag_measure::clock;
use sprag_model::checklist::FilledChecklist;
use sprag_model::ledger::day;

pub struct Verified {
    pub checklist: FilledChecklist,
    /// How many files are listed.
    pub files: usize,
    /// Who signed, in words.
    pub signature: String,
    pub notes: Vec<String>,
}

/// Verifies a folder against a clone of the repository that it is about.
///
/// # Errors
/// All disagreements; else that something cannot be read, the history was rewritten, or a tag moved.
pub fn verify(folder: &Path, repository: &Path, trusted: Trusted<'_>) -> crate::Result<Verified> {
    let store = history::open(repository).map_err(|error| match error {
        HistoryError::NoRepository(_) => Error::from(Advice {
            message: error.to_string(),
            hint: "name a clone of the repository that the release is of with `--repository`".to_owned(),
        }),
        error => error.into(),
    })?;
    let evidence = EvidenceFolder::open(folder, &store)?;
    let project = Project::at(folder, repository, &evidence.checklist.history.commit)?;
    // The clone decides which branch has the history; a bare one has no settings of its own.
    let clone = Project::open(repository)?;
    let recorded = project.config.history.reference.as_deref();
    let configured = if clone.is_bare { recorded } else { clone.config.history.reference.as_deref() };
    evidence.check_branch(configured, recorded)?;
    let target = branch::source(&store, configured)?;
    let entries = evidence.check_history(&store, &project.source()?, &target)?;
    let mut faults = evidence.unreviewed(&store, &target)?;
    match rederived_differences(project, &entries, &evidence) {
        Ok(more) | Err(Error::Release(ReleaseError::Disagreement(more))) => faults.extend(more),
        // Files that nobody reviewed need not make sense.
        Err(_) if !faults.is_empty() => {}
        Err(error) => return Err(error),
    }
    let signature = match evidence.check_signature(trusted) {
        Ok(signature) if faults.is_empty() => signature,
        Ok(_) => return Err(ReleaseError::Disagreement(faults).into()),
        Err(ReleaseError::Disagreement(more)) => {
            faults.extend(more);
            return Err(ReleaseError::Disagreement(faults).into());
        }
        Err(error) => return Err(error.into()),
    };
    let notes = evidence.notes(day(clock::now()));
    Ok(Verified { files: evidence.sums.len(), checklist: evidence.checklist, signature, notes })
}

/// Derives the checklist again, where `entries` is the history that it names, and compares all that follows from it.
fn rederived_differences(project: Project, entries: &Entries, evidence: &EvidenceFolder) -> crate::Result<Vec<Fault>> {
    let recorded = &evidence.checklist;
    let declared = read_declared(&project)?;
    let release = declared.find(&recorded.release)?.clone();
    let store = project.store()?;
    identity::check_tags(store, &declared.releases)?;
    identity::check_history(store, &declared.releases, entries)?;
    let identity = Identity::recorded(store, &release, &recorded.commit, recorded.tagged)?;
    folder::check_time(store, recorded, clock::now())?;
    let inputs = ReleaseInputs {
        root: project.root.clone(),
        declared,
        release,
        identity,
        as_of: recorded.as_of,
        history: recorded.history.clone(),
        branch: recorded.branch.clone(),
        reviewed: recorded.reviewed.clone(),
        artifacts: evidence.artifacts()?,
    };
    let mut faults = rederive::unknown_files(evidence, &inputs, store)?;
    let filled = findings::fill(&LoadedRelease { project, inputs })?;
    faults.extend(rederive::differences(evidence, filled)?);
    Ok(faults)
}
