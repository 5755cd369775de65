//! The pages of the site.
//!
//! Those of single runs hold all that a run measured, and a large history has room in memory for some runs at a time:
//! they are rendered apart, as many at once as one likes.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::catalog::Catalog;
use super::compare::data::Data;
use super::compare::script;
use super::input::Input;
use super::{ReportError, Settings, feed, link, pages};
use sprag_model::page::Page;
use sprag_model::run::RecordedRun;

const STYLE: &str = include_str!("../../site/style.css");
const SCRIPT: &str = include_str!("../../site/app.js");
const CHART_SCRIPT: &str = include_str!("../../site/chart.js");
const SPREAD_SCRIPT: &str = include_str!("../../site/spread.js");
const COMPARE_SCRIPT: &str = include_str!("../../site/compare.js");
const ICON: &str = include_str!("../../site/icon.svg");

/// A site that can be rendered, with the look-ups that its pages need.
pub struct Site<'a> {
    catalog: Catalog<'a>,
}

impl<'a> Site<'a> {
    pub fn new(input: &Input<'a>) -> Site<'a> {
        Site { catalog: Catalog::new(input) }
    }

    /// The ids of the runs that have a page: [`Site::render_runs`] wants no other.
    pub fn shown_runs(&self) -> &BTreeSet<&'a str> {
        self.catalog.shown_runs()
    }

    /// Renders every page and asset but the pages of the runs that [`Site::shown_runs`] lists, and
    /// hands them to `take`, those of events and series some at a time, so that not all are in memory at once.
    ///
    /// # Errors
    /// When a name cannot become a file name, two pages would share a file, or the URL of the settings is none; and the first
    /// that `take` gives, after which nothing more is rendered.
    pub fn render<E: From<ReportError>>(
        &self,
        settings: &Settings,
        take: &mut dyn FnMut(Page) -> Result<(), E>,
    ) -> Result<(), E> {
        let catalog = &self.catalog;
        let analysis = catalog.analysis;
        let root = link::root(settings)?;
        let shown = catalog.runs.iter().filter(|head| catalog.shown_runs().contains(head.id.as_str()));
        let mut site = Gathering { paths: Vec::new(), seen: BTreeSet::new(), take };
        shown.map(|head| link::run(&head.id)).try_for_each(|path| site.know(path))?;
        for (path, text) in [
            (link::STYLE, STYLE),
            (link::ICON, ICON),
            (link::SCRIPT, SCRIPT),
            (link::CHART_SCRIPT, CHART_SCRIPT),
            (link::SPREAD_SCRIPT, SPREAD_SCRIPT),
            (link::COMPARE_SCRIPT, COMPARE_SCRIPT),
        ] {
            site.add([Page { path: path.to_owned(), bytes: text.as_bytes().to_vec() }])?;
        }
        site.add([pages::missing(&analysis.project, settings)?])?;
        site.add([pages::digest(catalog)?])?;
        if !analysis.suites.is_empty() {
            site.add([pages::event_list(catalog)?])?;
            site.add([feed::atom(catalog, root.as_deref()), feed::json(catalog, root.as_deref())])?;
        }
        site.add([feed::badge(catalog)])?;
        site.add_all(&catalog.trend.events, |event| pages::event(catalog, event))?;
        if !analysis.series.is_empty() {
            site.add([pages::series_list(catalog, settings)?])?;
        }
        site.add_all(&analysis.series, |series| pages::series(catalog, series))?;
        {
            let data = Data::new(catalog);
            for suite in &catalog.matrix_suites {
                site.add([pages::matrix(catalog, &data, suite)?])?;
            }
            let compared = catalog.is_compared().then_some(&data);
            if let Some(data) = compared {
                site.add(script::pages(data))?;
                site.add(pages::compare(catalog, data)?)?;
            }
            site.add(pages::commits(catalog, compared)?)?;
            if !catalog.runs.is_empty() {
                site.add(pages::releases(catalog, compared)?)?;
            }
        }
        site.add(pages::weeks(catalog)?)?;
        site.add(pages::gpu(catalog)?)?;
        if !catalog.runs.is_empty() {
            site.add([pages::run_list(catalog)?, pages::coverage(catalog)?, pages::ledger(catalog)?])?;
            site.add([pages::method(catalog, settings)?, pages::machine_list(catalog)?])?;
            for machine in catalog.machines.values() {
                site.add([pages::machine(catalog, machine)?])?;
            }
        }
        if let Some(root) = root.filter(|_| !analysis.suites.is_empty()) {
            site.paths.sort();
            let sitemap = feed::sitemap(&root, site.paths.iter().map(String::as_str));
            site.add([sitemap])?;
        }
        Ok(())
    }

    /// The pages of some runs of the history.
    ///
    /// # Errors
    /// When the id of a run cannot become a file name.
    pub fn render_runs(&self, runs: &[RecordedRun]) -> Result<Vec<Page>, ReportError> {
        all(runs, |run| pages::run(&self.catalog, run))
    }
}

/// So many pages of events and series are in memory at a time.
const BATCH: usize = 64;

/// The pages of a site, one after the other.
struct Gathering<'t, E> {
    paths: Vec<String>,
    /// The paths in lower case.
    seen: BTreeSet<String>,
    take: &'t mut dyn FnMut(Page) -> Result<(), E>,
}

impl<E: From<ReportError>> Gathering<'_, E> {
    fn know(&mut self, path: String) -> Result<(), ReportError> {
        if !self.seen.insert(path.to_ascii_lowercase()) {
            return Err(ReportError::Duplicate(path));
        }
        self.paths.push(path);
        Ok(())
    }

    fn add(&mut self, pages: impl IntoIterator<Item = Page>) -> Result<(), E> {
        for page in pages {
            self.know(page.path.clone())?;
            (self.take)(page)?;
        }
        Ok(())
    }

    /// Adds the pages of many things, made on all cores.
    fn add_all<T: Sync>(
        &mut self,
        things: &[T],
        page: impl Fn(&T) -> Result<Page, ReportError> + Sync + Send,
    ) -> Result<(), E> {
        things.chunks(BATCH).try_for_each(|things| self.add(all(things, &page)?))
    }
}

/// What many things come to, made on all cores, in the order of the things.
fn all<T: Sync, P: Send>(
    things: &[T],
    page: impl Fn(&T) -> Result<P, ReportError> + Sync + Send,
) -> Result<Vec<P>, ReportError> {
    things.par_iter().map(page).collect()
}
