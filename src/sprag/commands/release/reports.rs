//! What each release of a project came to, for its site.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use super::found::Look;
use super::gather::{self, Gathered};
use super::stated::{self, Stated};
use super::{artifacts, branch, fill, identity, kept, waivers};
use crate::commands::project::Project;
use crate::commands::study::{self, Along, Loaded};
use crate::commands::{Advice, Trouble, ledger, text, warn};
use sprag_evidence::releases::RELEASES_PATH;
use sprag_history::{self as history, Entries};
use sprag_model::checklist::{FilledChecklist, HistoryPoint};
use sprag_model::release::{Figures, Release, ReleaseReport, Released};

/// How many of the newest releases are looked at.
const NEWEST: usize = 20;

/// What the releases came to, in the order of their list. Each is looked at by the history that it names, else by all of it; the present is
/// the newest run of that, so that equal histories give equal pages.
///
/// # Errors
/// When the list of releases or the ledger cannot be read. What is wrong with one release is told of it, and holds up neither
/// the others nor the site.
pub(in crate::commands) fn reports(project: &Project) -> sprag_pipeline::Result<Released> {
    read_reports(project).map_err(|error| match error.downcast::<sprag_pipeline::Error>() {
        Ok(error) => error,
        Err(error) => match error.downcast::<Trouble>() {
            Ok(trouble) => trouble.into(),
            Err(error) => match error.downcast::<Advice>() {
                Ok(advice) => advice.into(),
                Err(error) => sprag_pipeline::Error::message(format!("{error:#}")),
            },
        },
    })
}

fn read_reports(project: &Project) -> anyhow::Result<Released> {
    if project.is_bare || !project.root.join(RELEASES_PATH).is_file() {
        return Ok(Released::default());
    }
    let releases = stated::releases(&project.root)?;
    // A ledger that cannot be read is nobody's alone.
    ledger::read(project)?;
    let all = &releases.0;
    let newest = &all[all.len().saturating_sub(NEWEST)..];
    let told = |release: &Release, error: &anyhow::Error| {
        let fault = text::printable(&format!("{error:#}"));
        warn(&format!("the release `{}` is no-go: {fault}", text::printable(&release.name)));
        ReleaseReport { name: release.name.clone(), came: Err(fault), figures: BTreeMap::new(), kept: None }
    };
    let mut released = Released { older: all.len() - newest.len(), ..Released::default() };
    let common = match common(project) {
        Ok(Some(common)) => common,
        Ok(None) => return Ok(Released::default()),
        Err(error) => {
            released.newest = newest.iter().map(|release| told(release, &error)).collect();
            return Ok(released);
        }
    };
    released.astray = waivers::astray(&common.stated).map(|(one, what)| (one.terms.entry.clone(), what)).collect();
    let report = |release: &Release| match filled(project, &common, release) {
        Ok((filled, figures)) => {
            let kept = kept::kept(&project.root, &filled);
            ReleaseReport { name: release.name.clone(), came: Ok(filled), figures, kept }
        }
        Err(error) => told(release, &error),
    };
    released.newest = newest.iter().map(report).collect();
    Ok(released)
}

/// What all releases are looked at by.
struct Common {
    stated: Stated,
    entries: Entries,
    /// The whole of the history, and its runs.
    now: HistoryPoint,
    loaded: Loaded,
}

/// Reads it; absent where nothing is recorded yet.
fn common(project: &Project) -> anyhow::Result<Option<Common>> {
    let store = project.store()?;
    let entries = branch::entries(store, &project.source()?)?;
    let Some(tip) = &entries.tip else { return Ok(None) };
    let now =
        HistoryPoint { commit: tip.clone(), size: entries.tree.len() as u64, root: entries.tree.root().to_string() };
    Ok(Some(Common { stated: Stated::read(project)?, entries, now, loaded: study::load(project, store)? }))
}

fn filled(
    project: &Project,
    common: &Common,
    release: &Release,
) -> anyhow::Result<(FilledChecklist, BTreeMap<String, Figures>)> {
    let Common { stated, entries, now, loaded } = common;
    let root = &project.root;
    let mut own = Project::open(root)?;
    gather::check_roles(release, &stated.checklist)?;
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
    let along = Along { revision: Some(&identity.measured), all_parents: false };
    let study = study::study_loaded(&own, loaded.as_of(&own, own.store()?)?, along)?;
    let gathered = Gathered {
        previous: stated.releases.before(release).cloned(),
        checklist: stated.checklist.clone(),
        ledger: stated.ledger.clone(),
        release: release.clone(),
        identity,
        as_of: present(release, stated, point, study.present(), &own)?,
        history: point.clone(),
        branch: branch::name(&entries.reference).map(str::to_owned),
        reviewed: gather::head(&own)?,
        artifacts: artifacts::named(&own, root, &stated.checklist, &[])?,
        project: own,
    };
    let look = Look::of(&gathered, Some(study))?;
    fill::fill_by(&gathered, &look)
}

/// The present of a page: the newest run of the history that is looked at, or what is known to come after that. Of a release that
/// names its history that is its commit, the days on which its own waivers began, and those on which it was signed: what became of
/// entries later changes nothing about it. Of any other it is the commit that is checked out.
fn present(
    release: &Release,
    stated: &Stated,
    point: &HistoryPoint,
    newest: DateTime<Utc>,
    project: &Project,
) -> anyhow::Result<DateTime<Utc>> {
    let now = ledger::time(project, newest)?;
    if release.history.is_none() {
        return Ok(now);
    }
    let attested = history::find_commit(project.store()?, &point.commit)?.map(|commit| commit.commit_time);
    let own = stated.ledger.waivers.iter().filter(|one| one.release == release.name).map(|one| one.terms.date);
    let signed = release.signed.iter().filter_map(|(.., day)| day.parse().ok());
    let days = own.chain(signed).map(|day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc());
    Ok(days.chain(attested).filter(|time| *time <= now).fold(newest, DateTime::max))
}
