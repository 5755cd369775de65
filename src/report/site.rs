//! The pages of the site.
//!
//! Those of single runs hold all that a run measured, and a large history has room in memory for some runs at a time:
//! they are rendered apart, as many at once as one likes.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use rayon::prelude::*;

use crate::model::analysis::Analysis;
use crate::model::commit::CommitLine;
use crate::model::head::RunHead;
use crate::model::ledger::Ledger;
use crate::model::movers::WeekMovers;
use crate::model::page::Page;
use crate::model::release::Released;
use crate::model::run::RecordedRun;
use crate::model::trend::Trend;

use super::catalog::Catalog;
use super::compare::data::Data;
use super::compare::script;
use super::feed;
use super::link;
use super::pages;
use super::{ReportError, Settings};

const STYLE: &str = include_str!("../../site/style.css");
const SCRIPT: &str = include_str!("../../site/app.js");
const CHART_SCRIPT: &str = include_str!("../../site/chart.js");
const ICON: &str = include_str!("../../site/icon.svg");

/// What the site is made of.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The findings.
    pub analysis: &'a Analysis,
    /// What changed over the history, as of the newest run.
    pub trend: &'a Trend,
    /// The commits.
    pub line: &'a CommitLine,
    /// The heads of the runs.
    pub heads: &'a [RunHead],
    /// What moved in the newest [`super::WEEKS`] weeks, newest first.
    pub movers: &'a [WeekMovers],
    /// The newest run of each suite on each machine as a whole.
    pub newest: &'a [RecordedRun],
    /// What is accepted and waived.
    pub ledger: &'a Ledger,
    /// The day on which that is read.
    pub today: NaiveDate,
    /// What the releases came to.
    pub releases: &'a Released,
}

/// The site of a history but for the pages of its runs, which [`super::shown_runs`] lists: every other page and asset, by path.
///
/// # Errors
/// When a name cannot become a file name, two pages would share a file, or the URL of the settings is none.
pub fn render(input: &Input<'_>, settings: &Settings) -> Result<Vec<Page>, ReportError> {
    let Input { analysis, heads, .. } = *input;
    let catalog = Catalog::new(input);
    let root = link::root(settings)?;
    let mut site = vec![
        Page { path: link::STYLE.to_owned(), bytes: STYLE.as_bytes().to_vec() },
        Page { path: link::ICON.to_owned(), bytes: ICON.as_bytes().to_vec() },
        Page { path: link::SCRIPT.to_owned(), bytes: SCRIPT.as_bytes().to_vec() },
        Page { path: link::CHART_SCRIPT.to_owned(), bytes: CHART_SCRIPT.as_bytes().to_vec() },
        pages::missing(&analysis.project, settings)?,
    ];
    site.push(if analysis.suites.is_empty() { pages::empty(&catalog)? } else { pages::digest(&catalog)? });
    if !analysis.suites.is_empty() {
        site.push(pages::event_list(&catalog)?);
        site.extend([
            feed::atom(&catalog, root.as_deref()),
            feed::json(&catalog, root.as_deref()),
            feed::badge(&catalog),
        ]);
    }
    site.extend(all(&catalog.trend.events, |event| pages::event(&catalog, event))?);
    let data = Data::of(&catalog);
    for suite in &catalog.matrix_suites {
        site.push(pages::matrix(&catalog, &data, suite)?);
    }
    if !analysis.series.is_empty() {
        site.push(pages::series_list(&catalog)?);
    }
    site.extend(all(&analysis.series, |series| pages::series(&catalog, series))?);
    let compared = catalog.is_compared().then_some(&data);
    if let Some(data) = compared {
        site.extend(script::pages(data));
        site.extend(pages::compare(&catalog, data)?);
    }
    site.extend(pages::commits(&catalog, compared)?);
    site.extend(pages::weeks(&catalog)?);
    site.extend(pages::gpu(&catalog)?);
    site.extend(pages::releases(&catalog)?);
    if !heads.is_empty() {
        site.push(pages::run_list(&catalog)?);
        site.push(pages::coverage(&catalog)?);
        site.push(pages::ledger(&catalog)?);
        site.push(pages::method(&catalog, settings)?);
        site.push(pages::machine_list(&catalog)?);
        for machine in catalog.machines.values() {
            site.push(pages::machine(&catalog, machine)?);
        }
    }
    site.sort_by(|a, b| a.path.cmp(&b.path));
    let shown = catalog.runs.iter().filter(|head| catalog.shown_runs().contains(head.id.as_str()));
    let runs = shown.map(|head| link::run(&head.id));
    let paths: Vec<String> = site.iter().map(|page| page.path.clone()).chain(runs).collect();
    if let Some(root) = root.filter(|_| !analysis.suites.is_empty()) {
        site.push(feed::sitemap(&root, paths.iter().map(String::as_str)));
    }
    let mut seen = BTreeSet::new();
    for path in paths {
        if !seen.insert(path.to_ascii_lowercase()) {
            return Err(ReportError::Duplicate(path));
        }
    }
    Ok(site)
}

/// The pages of some runs of the history.
///
/// # Errors
/// When the id of a run cannot become a file name.
pub fn render_runs(input: &Input<'_>, runs: &[RecordedRun]) -> Result<Vec<Page>, ReportError> {
    let catalog = Catalog::new(input);
    all(runs, |run| pages::run(&catalog, run))
}

/// The pages of many things, made on all cores, in the order of the things.
fn all<T: Sync>(
    things: &[T],
    page: impl Fn(&T) -> Result<Page, ReportError> + Sync + Send,
) -> Result<Vec<Page>, ReportError> {
    things.par_iter().map(page).collect()
}
