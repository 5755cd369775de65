//! The site on disk, and checking one against a rebuild.

use std::path::{Component, Path, PathBuf};

use chrono::NaiveDate;

use crate::atomic_folder::{AtomicFolder, SITE};
use crate::config::SitePages;
use crate::error::WithContext as _;
use crate::project::Project;
use crate::study::Study;
use crate::{Advice, export, ledger, policy, refuse, release, text, trend};
use sprag_analysis::calibrate::reruns;
use sprag_analysis::ledger::answer_events;
use sprag_analysis::method::{constants, sensitivities};
use sprag_analysis::movers::week_movers;
use sprag_history::{self as history, Leaf};
use sprag_measure::protocol;
use sprag_model::ledger::day;
use sprag_model::method::{Constants, Figure, MeasuredTable, Method};
use sprag_model::{Page, Quarantined, Trend};
use sprag_report::{self as report, ReportError};

/// With so many series each has a page where `[site] pages` is `auto`. A page is some 5 KB packed, whatever the number of commits,
/// so that of a thousand series those that did not change are 4 MB.
const ALL_PAGES: usize = 500;

/// Whole runs in memory at once.
const BATCH: usize = 256;

/// Renders into `out` or the configured folder; returns the folder.
pub fn publish(project: &Project, study: &mut Study, out: Option<&Path>) -> crate::Result<PathBuf> {
    let trend = trend_of(project, study)?;
    publish_trend(project, study, trend, out)
}

/// With a trend that is known already.
pub fn publish_trend(
    project: &Project,
    study: &mut Study,
    mut trend: Trend,
    out: Option<&Path>,
) -> crate::Result<PathBuf> {
    let folder = site_folder(project, out)?;
    let site = AtomicFolder::begin(project, SITE, &folder)?;
    let today = apply_ledger(project, study, &mut trend)?;
    each_page(project, study, &trend, today, &mut |page| site.write(&page.path, &page.bytes))?;
    site.put()?;
    Ok(folder)
}

/// What differs between the site on disk and a rebuild, a line a file.
pub fn differences(project: &Project, study: &mut Study, out: Option<&Path>) -> crate::Result<Vec<String>> {
    let folder = site_folder(project, out)?;
    let site = SITE.open(&folder)?;
    let (mut others, mut differences) = (site.files()?, Vec::new());
    let mut trend = trend_of(project, study)?;
    let today = apply_ledger(project, study, &mut trend)?;
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

/// Adds the ledger's answers as of the day of the site, which it returns.
fn apply_ledger(project: &Project, study: &mut Study, trend: &mut Trend) -> crate::Result<NaiveDate> {
    let time = ledger::time(project, study.present())?;
    answer_events(&mut trend.events, &study.ledger, day(time));
    trend::answer_newest(study, trend, time);
    Ok(day(time))
}

fn each_page(
    project: &Project,
    study: &Study,
    trend: &Trend,
    today: NaiveDate,
    take: &mut dyn FnMut(Page) -> crate::Result<()>,
) -> crate::Result<()> {
    let site = &project.config.site;
    let downloads = if site.downloads { export::list_downloads() } else { Vec::new() };
    let settings = report::Settings { method: method(), downloads };
    let Study { analysis, line, heads, newest, ledger, .. } = study;
    let is_selected = match site.pages {
        SitePages::All => false,
        SitePages::Changed => true,
        SitePages::Auto => analysis.series.len() > ALL_PAGES,
    };
    let asked = is_selected.then_some(&*site.series);
    for asked in asked.into_iter().flatten().filter(|asked| !analysis.series.iter().any(|one| one.is_named(asked))) {
        text::warn(&format!("no series contains `{}`, which `[site] series` asks for", text::printable(asked)));
    }
    let releases = release::reports(project)?;
    let reruns = reruns(&analysis.series, heads, &policy::from_rules(&project.config.rules));
    let input = report::SiteInput {
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
        url: site.url.as_deref(),
        commit_url: site.commit_url.as_deref(),
        asked,
    };
    let pages_of_site = report::Site::new(&input);
    pages_of_site.render(&settings, take).map_err(|error| {
        if error.cause::<ReportError>().is_some() { error.context("cannot render the site") } else { error }
    })?;
    let shown = study
        .heads
        .iter()
        .zip(&study.entries)
        .filter(|(head, _)| pages_of_site.shown_runs().contains(head.id.as_str()));
    let records: Vec<Leaf> = shown.map(|(_, entry)| entry.clone()).collect();
    for entries in records.chunks(BATCH) {
        let runs = history::read(project.store()?, entries).context("cannot read the history")?;
        let runs = runs.into_iter().collect::<Result<Vec<_>, Quarantined>>();
        let runs = runs.map_err(damaged_since)?;
        let pages = pages_of_site.render_runs(&runs).context("cannot render the site")?;
        pages.into_iter().try_for_each(&mut *take)?;
    }
    if site.downloads {
        export::each_download(project, &study.entries, take)?;
    }
    Ok(())
}

fn damaged_since(bad: Quarantined) -> Advice {
    let message = format!("cannot render the site: `{}` {}", bad.path, bad.reason);
    Advice::new(message, "it could be read before, so restore it; with SPRAG_CACHE=off the site does without it")
}

/// Fails early if the site could not be written.
pub fn check(project: &Project, out: Option<&Path>) -> crate::Result<()> {
    let folder = site_folder(project, out)?;
    SITE.check_replaceable(&folder)
}

fn site_folder(project: &Project, out: Option<&Path>) -> crate::Result<PathBuf> {
    if project.is_bare && out.is_none() {
        return refuse("a bare repository has no working tree to put the site in", "name a folder with `--out`");
    }
    match out {
        Some(out) => Ok(project.root.join(out)),
        None => configured_folder(&project.root, &project.config.site.out),
    }
}

/// What a checkout configures stays inside it: the folder is replaced as a whole.
fn configured_folder(root: &Path, out: &Path) -> crate::Result<PathBuf> {
    let mut place = root.to_owned();
    for part in out.components() {
        let shown = text::path(out);
        match part {
            Component::Normal(name) => place.push(name),
            Component::CurDir => continue,
            _ => {
                let message = format!("`[site] out` is `{shown}`, which leads out of the project");
                return refuse(message, "name a folder of the project, or give this one by `--out`");
            }
        }
        if place.is_symlink() {
            let message =
                format!("`{}` is a symbolic link, through which `[site] out` may lead out", text::path(&place));
            return refuse(message, "remove the link, or give its target by `--out`");
        }
    }
    Ok(place)
}

/// The document with the measured tables; the site shows the same.
const CHANGE_POINTS: &str = include_str!("../../docs/CHANGE-POINTS.md");

/// The first columns of each table, and a word, a heading and a caption.
const TABLES: [(&str, [&str; 3]); 3] = [
    (
        "family | changes",
        ["found", "How often changes are found", "Series of known changes, 300 a family, at the sensitivity balanced"],
    ),
    (
        "sensitivity | F1@2",
        ["found-by", "How often changes are found, by sensitivity", "The same series at each sensitivity"],
    ),
    (
        "sensitivity | points",
        [
            "nothing",
            "How often a change is reported where there is none",
            "Series without a change, of eight kinds of noise: each change reported of them is false",
        ],
    ),
];

pub fn method() -> Method {
    let run = Constants {
        of: "What makes a run rough",
        list: vec![
            ("share of preempted samples, more than", Figure::Share(protocol::MOST_PREEMPTED)),
            ("movement of a calibration kernel within the run, more than", Figure::Share(protocol::MOST_MOVEMENT)),
            ("difference of the A/A control beyond its interval, more than", Figure::Share(protocol::CONTROL_SLACK)),
        ],
    };
    let constants = std::iter::once(run).chain(constants()).collect();
    let measured = TABLES.into_iter().map(|(first, words)| table(CHANGE_POINTS, first, words)).collect();
    Method { sensitivities: sensitivities(), constants, measured }
}

fn table(text: &str, first: &str, [name, heading, caption]: [&'static str; 3]) -> MeasuredTable {
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("| {first} |")));
    let heads = lines.next().map_or_else(Vec::new, cells);
    let rows = lines.skip(1).take_while(|line| line.starts_with('|')).map(cells).collect();
    MeasuredTable { name, heading, caption, heads, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_from_the_document() {
        let method = method();
        let sizes: Vec<_> = method.measured.iter().map(|table| (table.heads.len(), table.rows.len())).collect();
        assert_eq!(sizes, [(12, 15), (6, 3), (7, 15)]);
        let headings: Vec<&str> = method.measured.iter().map(|table| table.heading).collect();
        let expected = [
            "How often changes are found",
            "How often changes are found, by sensitivity",
            "How often a change is reported where there is none",
        ];
        assert_eq!((&headings[..], &*method.measured[0].rows[14][0]), (&expected[..], "all"));
        let names: Vec<&str> = method.sensitivities.iter().map(|one| one.name).collect();
        for (place, table) in method.measured.iter().enumerate() {
            for row in &table.rows {
                assert!(row.len() == table.heads.len() && row.iter().all(|cell| !cell.is_empty()), "{row:?}");
                assert!(place == 0 || names.contains(&row[0].as_str()), "{row:?}");
            }
        }
    }

    #[test]
    fn the_default_sensitivity_is_within_its_budget() {
        let method = method();
        let default = method.sensitivities.iter().find(|one| one.name == "balanced").unwrap();
        let nothing = &method.measured[2];
        let rate = nothing.heads.iter().position(|head| head == "in 1,000 points").unwrap();
        let counted = nothing.rows.iter().filter(|row| row[0] == default.name);
        let rates: Vec<f64> = counted.map(|row| row[rate].parse().unwrap()).collect();
        assert_eq!(rates.len(), 5);
        assert!(rates.iter().all(|rate| (0.001..=default.budget).contains(rate)), "{rates:?}");
    }
}
