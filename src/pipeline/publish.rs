//! The site on disk: built aside, then swapped in, so that a reader or a failure meets the old site or the new one.

use std::path::{Path, PathBuf};

use crate::error::Context as _;
use chrono::NaiveDate;

use crate::atomic_folder::{AtomicFolder, FolderKind};
use crate::project::Project;
use crate::study::Study;
use crate::{Advice, Error, acceptance, export, ledger, method, policy, release, trend};
use sprag_analysis::calibrate::reruns;
use sprag_analysis::ledger::tell_events;
use sprag_analysis::movers::week_movers;
use sprag_history::{self as history, Entry};
use sprag_model::ledger::day;
use sprag_model::page::Page;
use sprag_model::run::Quarantined;
use sprag_model::trend::Trend;
use sprag_report as report;

const SITE: FolderKind = FolderKind { name: "site", marker: ".sprag-site" };

/// How many runs are in memory as a whole at one time.
const BATCH: usize = 256;

/// Renders the site of a study into `out`, or the configured folder, and tells where it lies.
pub fn publish(project: &Project, study: &mut Study, out: Option<&Path>) -> crate::Result<PathBuf> {
    let trend = trend_of(project, study)?;
    put(project, study, trend, out)
}

/// Likewise, with its trend as of `present`, which is known already.
pub fn publish_trend(project: &Project, study: &mut Study, trend: Trend, out: Option<&Path>) -> crate::Result<PathBuf> {
    put(project, study, trend, out)
}

fn put(project: &Project, study: &mut Study, mut trend: Trend, out: Option<&Path>) -> crate::Result<PathBuf> {
    let folder = site_folder(project, out)?;
    let site = AtomicFolder::begin(project, SITE, &folder)?;
    let today = tell_ledger(project, study, &mut trend)?;
    each_page(project, study, &trend, today, &mut |page| site.write(&page.path, &page.bytes))?;
    site.put()?;
    Ok(folder)
}

/// Holds the site that lies in `out`, or the configured folder, against what a study gives: what differs, a line a file.
pub fn differences(project: &Project, study: &mut Study, out: Option<&Path>) -> crate::Result<Vec<String>> {
    let folder = site_folder(project, out)?;
    let site = SITE.open(&folder)?;
    let (mut others, mut differences) = (site.files()?, Vec::new());
    let mut trend = trend_of(project, study)?;
    let today = tell_ledger(project, study, &mut trend)?;
    each_page(project, study, &trend, today, &mut |page| {
        match others.remove(&page.path) {
            false => differences.push(format!("missing: {}", page.path)),
            true if site.read(&page.path)? != page.bytes => differences.push(format!("differs: {}", page.path)),
            true => {}
        }
        Ok(())
    })?;
    differences.extend(others.into_iter().map(|path| format!("not of this site: {path}")));
    differences.sort();
    Ok(differences)
}

fn trend_of(project: &Project, study: &Study) -> crate::Result<Trend> {
    Ok(trend::analyse(project, study, &trend::TrendOptions::events(study.present()), &|_| true)?.trend)
}

/// Writes to regressions and events what the ledger says to them on the day of the site, which it gives.
fn tell_ledger(project: &Project, study: &mut Study, trend: &mut Trend) -> crate::Result<NaiveDate> {
    let time = ledger::time(project, study.present())?;
    tell_events(&mut trend.events, &study.ledger, day(time));
    acceptance::tell_newest(study, trend, time);
    Ok(day(time))
}

/// Renders every file of the site, one after the other.
fn each_page(
    project: &Project,
    study: &Study,
    trend: &Trend,
    today: NaiveDate,
    take: &mut dyn FnMut(Page) -> crate::Result<()>,
) -> crate::Result<()> {
    let site = &project.config.site;
    let downloads = if site.downloads { export::list_downloads() } else { Vec::new() };
    let settings = report::Settings { url: site.url.clone(), method: method::method(), downloads };
    let Study { analysis, line, heads, newest, ledger, .. } = study;
    let releases = release::reports(project)?;
    let reruns = reruns(&analysis.series, heads, &policy::from_rules(&project.config.rules));
    let input = report::Input {
        analysis,
        trend,
        line,
        heads,
        movers: &week_movers(&analysis.series, report::WEEKS),
        newest,
        ledger,
        today,
        releases: &releases,
        reruns: &reruns,
    };
    let whole = report::Site::new(&input);
    whole.render(&settings, take).map_err(|error| {
        if matches!(error, Error::Report(_)) { error.context("cannot render the site") } else { error }
    })?;
    let shown =
        study.heads.iter().zip(&study.entries).filter(|(head, _)| whole.shown_runs().contains(head.id.as_str()));
    let records: Vec<Entry> = shown.map(|(_, entry)| entry.clone()).collect();
    for entries in records.chunks(BATCH) {
        let runs = history::read(project.store()?, entries).context("cannot read the history")?;
        let runs = runs.into_iter().collect::<Result<Vec<_>, Quarantined>>();
        let runs = runs.map_err(damaged_since)?;
        let pages = whole.render_runs(&runs).context("cannot render the site")?;
        pages.into_iter().try_for_each(&mut *take)?;
    }
    if site.downloads {
        export::each_download(project, &study.entries, take)?;
    }
    Ok(())
}

/// A record that cannot be read any more, though it could be when the cache took it in.
fn damaged_since(bad: Quarantined) -> Advice {
    Advice {
        message: format!("cannot render the site: `{}` {}", bad.path, bad.reason),
        hint: "it could be read before, so restore it; with SPRAG_CACHE=off the site does without it".to_owned(),
    }
}

/// Fails early where the site could not be written in the end.
pub fn check(project: &Project, out: Option<&Path>) -> crate::Result<()> {
    let folder = site_folder(project, out)?;
    SITE.check_replaceable(&folder)
}

fn site_folder(project: &Project, out: Option<&Path>) -> crate::Result<PathBuf> {
    if project.is_bare && out.is_none() {
        return Err(Advice {
            message: "a bare repository has no working tree to put the site in".to_owned(),
            hint: "name a folder with `--out`".to_owned(),
        }
        .into());
    }
    Ok(project.root.join(out.unwrap_or(&project.config.site.out)))
}
