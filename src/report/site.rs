//! The pages of the site. Those of runs are rendered separately, because memory may have no room for all runs at once.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::catalog::{Catalog, SiteInput};
use super::compare::data::Data;
use super::compare::script;
use super::{ReportError, Settings, link, pages, text};
use sprag_model::{Page, RecordedRun, SeriesAnalysis};

const ASSETS: [(&str, &str); 3] = [
    (link::STYLE, include_str!("../../site/style.css")),
    (link::SCRIPT, include_str!("../../site/app.js")),
    (link::CHART_SCRIPT, concat!(include_str!("../../site/spread.js"), include_str!("../../site/chart.js"))),
];

const BATCH: usize = 64;

pub struct Site<'a> {
    catalog: Catalog<'a>,
}

impl<'a> Site<'a> {
    pub fn new(input: &SiteInput<'a>) -> Site<'a> {
        Site { catalog: Catalog::new(input) }
    }

    pub fn shown_runs(&self) -> &BTreeSet<&'a str> {
        &self.catalog.selection.runs
    }

    /// Renders all pages and assets, without the pages of runs, and hands them to `take`, some at a time.
    ///
    /// # Errors
    /// When a name cannot be a file name, two pages would share a file, or the URL of the settings is none; and the first error of
    /// `take`.
    pub fn render<E: From<ReportError>>(
        &self,
        settings: &Settings,
        take: &mut dyn FnMut(Page) -> Result<(), E>,
    ) -> Result<(), E> {
        let catalog = &self.catalog;
        let analysis = catalog.analysis;
        let root = link::root(catalog.input.url)?;
        link::check_commit_url(catalog.input.commit_url)?;
        let mut site = Pages { paths: Vec::new(), seen: BTreeSet::new(), take };
        for head in catalog.runs.iter().filter(|head| self.shown_runs().contains(head.id.as_str())) {
            site.reserve(link::run(&head.id))?;
        }
        site.add(ASSETS.map(asset))?;
        site.add([pages::missing(catalog, root.clone())?, pages::digest(catalog)?])?;
        if !analysis.suites.is_empty() {
            site.add(pages::event_list(catalog)?)?;
            site.add([pages::search(catalog)])?;
            site.add([pages::atom(catalog, root.as_deref())?, pages::json(catalog, root.as_deref())])?;
        }
        site.add([pages::badge(catalog)])?;
        site.add_all(&catalog.trend.events, |event| Ok(vec![pages::event(catalog, event)?]))?;
        if !analysis.series.is_empty() {
            site.add(pages::series_list(catalog, settings)?)?;
        }
        let with_page: Vec<&SeriesAnalysis> =
            analysis.series.iter().filter(|one| catalog.has_page(&one.series.id)).collect();
        site.add_all(&with_page, |series| pages::series(catalog, series))?;
        if catalog.has_viewer() && !analysis.series.is_empty() {
            site.add([pages::viewer(catalog)?])?;
            site.add([asset((link::VIEWER_SCRIPT, include_str!("../../site/view.js")))])?;
            site.add_all(&pages::rest_files(catalog), |file| Ok(vec![pages::rest(catalog, file)]))?;
        }
        let data = Data::new(catalog);
        for suite in &catalog.matrix_suites {
            site.add([pages::matrix(catalog, &data, suite)?])?;
        }
        let compared = catalog.is_compared().then_some(&data);
        if let Some(data) = compared {
            let are_few = data.series_counts().0 <= script::AT_ONCE;
            site.add(
                script::pages(data, &pages::averaged_pairs(catalog, data))
                    .into_iter()
                    .flat_map(|page| with_script(page, are_few)),
            )?;
            site.add(pages::compare(catalog, data)?)?;
        }
        site.add(pages::commits(catalog, compared)?)?;
        if !catalog.runs.is_empty() {
            site.add(pages::releases(catalog, compared)?)?;
        }
        drop(data);
        site.add(pages::weeks(catalog)?)?;
        site.add(pages::gpu(catalog)?)?;
        if !catalog.runs.is_empty() {
            site.add(pages::run_list(catalog)?)?;
            site.add([pages::coverage(catalog)?, pages::ledger(catalog)?])?;
            site.add([pages::method(catalog, settings)?, pages::machine_list(catalog)?])?;
            for machine in catalog.machines.values() {
                site.add([pages::machine(catalog, machine)?])?;
            }
        }
        if let Some(root) = root.filter(|_| !analysis.suites.is_empty()) {
            site.paths.sort();
            let sitemap = pages::sitemap(&root, site.paths.iter().map(String::as_str));
            site.add([sitemap, pages::card(catalog)])?;
        }
        Ok(())
    }

    /// # Errors When the id of a run cannot be a file name.
    pub fn render_runs(&self, runs: &[RecordedRun]) -> Result<Vec<Page>, ReportError> {
        let pages = runs.par_iter().map(|run| pages::run(&self.catalog, run));
        Ok(pages.collect::<Result<Vec<Vec<Page>>, ReportError>>()?.into_iter().flatten().collect())
    }
}

fn asset((path, text): (&str, &str)) -> Page {
    let text = if path.ends_with(".js") { text::bare(text) } else { text.replace("icon.svg", &link::icon()) };
    Page { path: path.to_owned(), bytes: text.into_bytes() }
}

/// Each file that a page asks for is a wait: the script that compares has what all pages share, and few series as well.
fn with_script(page: Page, are_few: bool) -> Vec<Page> {
    let scripts = concat!(include_str!("../../site/app.js"), include_str!("../../site/compare.js"));
    let script = || asset((link::COMPARE_SCRIPT, scripts));
    match page.path == link::SERIES_DATA {
        false => vec![page],
        true if are_few => vec![Page { bytes: [script().bytes, page.bytes].concat(), ..script() }],
        true => vec![script(), page],
    }
}

struct Pages<'t, E> {
    paths: Vec<String>,
    seen: BTreeSet<String>,
    take: &'t mut dyn FnMut(Page) -> Result<(), E>,
}

impl<E: From<ReportError>> Pages<'_, E> {
    fn reserve(&mut self, path: String) -> Result<(), ReportError> {
        if !self.seen.insert(path.to_ascii_lowercase()) {
            return Err(ReportError::Duplicate(path));
        }
        self.paths.push(path);
        Ok(())
    }

    fn add(&mut self, pages: impl IntoIterator<Item = Page>) -> Result<(), E> {
        for page in pages {
            self.reserve(page.path.clone())?;
            (self.take)(page)?;
        }
        Ok(())
    }

    fn add_all<T: Sync>(
        &mut self,
        things: &[T],
        pages: impl Fn(&T) -> Result<Vec<Page>, ReportError> + Sync + Send,
    ) -> Result<(), E> {
        for batch in things.chunks(BATCH) {
            let pages = batch.par_iter().map(&pages).collect::<Result<Vec<Vec<Page>>, ReportError>>()?;
            self.add(pages.into_iter().flatten())?;
        }
        Ok(())
    }
}
