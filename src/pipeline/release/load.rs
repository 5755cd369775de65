//! Loads a release with what it depends on.

use std::path::Path;

use crate::project::Project;
use crate::{ledger, text};
use sprag_evidence::release::declared::Declared;
use sprag_evidence::release::identity::{self, Identity};
use sprag_evidence::release::inputs::{ReleaseInputs, head};
use sprag_evidence::release::{Fault, ReleaseError, artifacts, branch};
use sprag_history::Entries;
use sprag_measure::clock;
use sprag_model::checklist::HistoryPoint;

pub struct LoadedRelease {
    /// Pinned to the history of `inputs`.
    pub project: Project,
    pub inputs: ReleaseInputs,
}

impl LoadedRelease {
    /// `artifacts` are `KEY=PATH`. Warns of waivers without effect and unjudged suites; fails if a tag or the history changed.
    pub fn open(folder: &Path, name: &str, artifacts: &[String]) -> crate::Result<LoadedRelease> {
        let mut project = Project::open(folder)?;
        let declared = read_declared(&project)?;
        let release = declared.find(name)?.clone();
        let store = project.store()?;
        identity::check_tags(store, &declared.releases)?;
        let identity = Identity::find(store, &release)?;
        let source = branch::source(store, project.config.history.reference.as_deref())?;
        let entries = branch::entries(store, &source)?;
        let history = history_point(&entries).ok_or_else(|| {
            ReleaseError::refused("nothing is recorded yet", "measure the release first: `sprag weekly`")
        })?;
        identity::check_history(store, &declared.releases, &entries)?;
        for warning in declared.warnings(&release, store, &source, &identity.measured)? {
            text::warn(&warning);
        }
        let inputs = ReleaseInputs {
            root: project.root.clone(),
            reviewed: head(store)?,
            artifacts: artifacts::locate(&project.root, folder, &declared.checklist, artifacts)?,
            declared,
            release,
            identity,
            as_of: clock::now(),
            branch: branch::short_name(&entries.reference).map(str::to_owned),
            history,
        };
        project.pinned = Some(inputs.history.commit.clone());
        Ok(LoadedRelease { project, inputs })
    }

    /// Files of the release that differ from the checked-out commit.
    pub fn unreviewed(&self) -> crate::Result<Vec<Fault>> {
        Ok(self.inputs.unreviewed(self.project.store()?)?)
    }
}

pub(super) fn read_declared(project: &Project) -> crate::Result<Declared> {
    Ok(Declared::read(&project.root, ledger::read(project)?)?)
}

/// `None` if the history is empty.
pub(super) fn history_point(entries: &Entries) -> Option<HistoryPoint> {
    let (size, root) = (entries.tree.len() as u64, entries.tree.root().to_string());
    Some(HistoryPoint { commit: entries.tip.clone()?, size, root })
}
