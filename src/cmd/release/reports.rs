//! What each release of a project came to, for its site.

use std::path::Path;

use anyhow::Context as _;

use super::found::Look;
use super::gather::{Gathered, Stated};
use super::{artifacts, fill, identity};
use crate::cmd::project::Project;
use crate::cmd::study::{self, Along};
use crate::cmd::{Exit, exit_of, publish};
use crate::evidence::releases::RELEASES_PATH;
use crate::history::{self, Entries, HistoryError};
use crate::model::checklist::{FilledChecklist, HistoryPoint, RuntimeTarget};
use crate::model::release::{Release, ReleaseReport};

/// How many of the newest releases are looked at.
const NEWEST: usize = 20;

/// The releases in the order of their list. Each is looked at by the history that it names, else by all of it; the present is
/// the newest run of that, so that equal histories give equal pages.
///
/// # Errors
/// When what the project says about its releases cannot be read, or the history. That a part of it is not here, or that it does
/// not hold together, is told of the release.
pub(in crate::cmd) fn reports(project: &Project) -> anyhow::Result<Vec<ReleaseReport>> {
    if project.is_bare || !project.root.join(RELEASES_PATH).is_file() {
        return Ok(Vec::new());
    }
    let stated = Stated::read(project)?;
    let all = &stated.releases.0;
    let newest = &all[all.len().saturating_sub(NEWEST)..];
    let entries = match history::entries(project.store()?, &project.source()?) {
        Ok(entries) => entries,
        Err(error @ HistoryError::Incomplete(_)) => {
            let report = |release: &Release| ReleaseReport { name: release.name.clone(), came: Err(error.to_string()) };
            return Ok(newest.iter().map(report).collect());
        }
        Err(error) => return Err(error).context("cannot read the history"),
    };
    let Some(tip) = &entries.tip else { return Ok(Vec::new()) };
    let now =
        HistoryPoint { commit: tip.clone(), size: entries.tree.len() as u64, root: entries.tree.root().to_string() };
    let report = |release: &Release| match filled(&project.root, project, &stated, release, &now, &entries) {
        Ok(filled) => Ok(ReleaseReport { name: release.name.clone(), came: Ok(filled) }),
        Err(error) if exit_of(&error) == Exit::Integrity => {
            Ok(ReleaseReport { name: release.name.clone(), came: Err(error.to_string()) })
        }
        Err(error) => Err(error),
    };
    newest.iter().map(report).collect()
}

fn filled(
    root: &Path,
    project: &Project,
    stated: &Stated,
    release: &Release,
    now: &HistoryPoint,
    entries: &Entries,
) -> anyhow::Result<FilledChecklist> {
    let mut own = Project::open(root)?;
    if let (Some(commit), Some(tag)) = (&release.commit, history::tagged(own.store()?, &release.name)?)
        && tag != *commit
    {
        return Err(identity::moved(&release.name, &tag, commit).into());
    }
    let identity = identity::of(&own, release)?;
    let point = match &release.history {
        Some(point) => {
            identity::check_point(&own, &release.name, point, entries)?;
            point
        }
        None => now,
    };
    own.has_cache = project.has_cache;
    own.pinned = Some(point.commit.clone());
    let study = study::study_along(&own, Along { revision: Some(&identity.measured), all_parents: false })?;
    let gathered = Gathered {
        previous: stated.releases.before(release).cloned(),
        checklist: stated.checklist.clone(),
        ledger: stated.ledger.clone(),
        release: release.clone(),
        identity,
        targets: [RuntimeTarget::Cpu].into(),
        as_of: publish::present(&study),
        history: point.clone(),
        artifacts: artifacts::named(&own, root, &stated.checklist, &[])?,
        project: own,
    };
    let look = Look::of(&gathered, Some(study))?;
    fill::fill_by(&gathered, &look)
}
