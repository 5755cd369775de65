//! The state of each release of a project, for its site.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use super::findings;
use super::load::{LoadedRelease, history_point, read_declared};
use crate::project::Project;
use crate::study::{self, Along, Loaded};
use crate::{ledger, text};
use sprag_evidence::release::declared::{self, Declared};
use sprag_evidence::release::fill::FilledWithFigures;
use sprag_evidence::release::identity::{self, Identity};
use sprag_evidence::release::inputs::{ReleaseInputs, head};
use sprag_evidence::release::{artifacts, branch, published};
use sprag_evidence::releases::RELEASES_PATH;
use sprag_history::{self as history, Entries};
use sprag_model::checklist::HistoryPoint;
use sprag_model::release::{Release, ReleaseReport, Released};

/// How many of the newest releases have a page.
const NEWEST: usize = 20;

/// The state of the newest releases, in the order of their list. Each is judged by the history that it names, else by all of
/// it; the present is the newest run of that, so that equal histories give equal pages.
///
/// # Errors
/// When the list of releases or the ledger cannot be read. A fault of one release is reported as its state.
pub fn reports(project: &Project) -> crate::Result<Released> {
    if project.is_bare || !project.root.join(RELEASES_PATH).is_file() {
        return Ok(Released::default());
    }
    let all = declared::releases(&project.root)?.0;
    // A ledger that cannot be read concerns all of them.
    ledger::read(project)?;
    let newest = &all[all.len().saturating_sub(NEWEST)..];
    let mut released = Released { older: all.len() - newest.len(), ..Released::default() };
    let shared = match Shared::load(project) {
        Ok(None) => return Ok(Released::default()),
        Ok(Some(shared)) => {
            let unused = shared.declared.unused_waivers();
            released.unused_waivers = unused.map(|(one, what)| (one.terms.entry.clone(), what)).collect();
            Ok(shared)
        }
        Err(error) => Err(error.chain()),
    };
    let report = |release: &Release| {
        let filled = shared.as_ref().map_err(Clone::clone);
        match filled.and_then(|shared| fill(project, shared, release).map_err(|error| error.chain())) {
            Ok((filled, figures)) => {
                let statement = published::read(&project.root, &filled);
                ReleaseReport { name: release.name.clone(), checklist: Ok(filled), figures, statement }
            }
            Err(fault) => {
                let fault = text::printable(&fault);
                text::warn(&format!("the release `{}` is no-go: {fault}", release.name));
                ReleaseReport {
                    name: release.name.clone(),
                    checklist: Err(fault),
                    figures: BTreeMap::new(),
                    statement: None,
                }
            }
        }
    };
    released.newest = newest.iter().map(report).collect();
    Ok(released)
}

struct Shared {
    declared: Declared,
    entries: Entries,
    now: HistoryPoint,
    loaded: Loaded,
}

impl Shared {
    fn load(project: &Project) -> crate::Result<Option<Shared>> {
        let store = project.store()?;
        let entries = branch::entries(store, &project.source()?)?;
        let Some(now) = history_point(&entries) else { return Ok(None) };
        Ok(Some(Shared { declared: read_declared(project)?, entries, now, loaded: study::load(project, store)? }))
    }
}

fn fill(project: &Project, shared: &Shared, release: &Release) -> crate::Result<FilledWithFigures> {
    let Shared { declared, entries, now, loaded } = shared;
    let mut own = Project::open(&project.root)?;
    own.has_cache = project.has_cache;
    declared.check_roles(release)?;
    identity::check_tag(own.store()?, release)?;
    let identity = Identity::find(own.store()?, release)?;
    if let Some(point) = &release.history {
        identity::check_point(own.store()?, &release.name, point, entries)?;
    }
    let point = release.history.as_ref().unwrap_or(now);
    own.pinned = Some(point.commit.clone());
    let store = own.store()?;
    let along = Along { revision: Some(&identity.measured), all_parents: false };
    let study = study::study_loaded(&own, loaded.as_of(&own, store)?, along)?;
    let inputs = ReleaseInputs {
        root: own.root.clone(),
        declared: declared.clone(),
        release: release.clone(),
        identity,
        as_of: present(release, declared, point, study.present(), &own)?,
        history: point.clone(),
        branch: branch::short_name(&entries.reference).map(str::to_owned),
        reviewed: head(store)?,
        artifacts: artifacts::locate(&own.root, &own.root, &declared.checklist, &[])?,
    };
    findings::fill_studied(&LoadedRelease { project: own, inputs }, Some(study))
}

/// The present of a page: the newest run, or the commit that is checked out where that is later. For a release that names its
/// history, the commit of that, the first days of its own waivers and those of its signatures take the place of the commit
/// that is checked out, so that later entries change nothing.
fn present(
    release: &Release,
    declared: &Declared,
    point: &HistoryPoint,
    newest: DateTime<Utc>,
    project: &Project,
) -> crate::Result<DateTime<Utc>> {
    let now = ledger::time(project, newest)?;
    if release.history.is_none() {
        return Ok(now);
    }
    let attested = history::find_commit(project.store()?, &point.commit)?.map(|commit| commit.commit_time);
    let waivers = declared.ledger.waivers.iter().filter(|one| one.release == release.name).map(|one| one.terms.date);
    let signed = release.signed.iter().filter_map(|(.., day)| day.parse().ok());
    let days = waivers.chain(signed).map(|day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc());
    Ok(days.chain(attested).filter(|time| *time <= now).fold(newest, DateTime::max))
}
