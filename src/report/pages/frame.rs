//! What surrounds every page: head, navigation and footer; and a report as a page.

use std::fmt;

use crate::catalog::Catalog;
use crate::sheet::{Block, Cell, Sheet};
use crate::text::{self, short_commit};
use crate::{ReportError, Settings, date, link, number};
use askama::Template;
use askama::filters::{Escaper, Html};
use sprag_model::head::RunHead;
use sprag_model::page::Page;

/// A part of the site, as the navigation names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Digest,
    /// The list of events and their pages.
    Events,
    /// The list of series and their pages.
    Series,
    /// Two commits against each other.
    Compare,
    Matrix,
    Gpu,
    /// What is judged, and what not.
    Coverage,
    Machines,
    /// The list of runs and their pages, and those of commits.
    Runs,
    /// The list of releases and their pages.
    Releases,
    /// The rules and the ledger; the footer leads there.
    About,
}

/// What surrounds a page.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) title: String,
    /// A sentence for search and previews; empty where the title says as much.
    pub(super) description: String,
    /// The way from this page to the root of the site: nothing or `../`.
    pub(super) root: &'static str,
    /// What the project calls itself.
    pub(super) project: String,
    pub(super) parts: Vec<NavigationItem>,
    /// Whether the page leads to the feeds of events.
    pub(super) feeds: bool,
    /// The day of the newest run, of the history or of the page's subject; empty where neither matters.
    pub(super) as_of: String,
    pub(super) commit: String,
    /// When the newest run took place, for the script; empty where there is none.
    pub(super) newest: String,
    /// How often a run is due, in days.
    pub(super) every_days: u32,
    /// Where the data came from.
    pub(super) source: String,
    /// The page with the rules; empty where there is nothing to judge.
    pub(super) method: &'static str,
    /// The page of the ledger; empty where there is none.
    pub(super) ledger: &'static str,
    /// The version that made the page.
    pub(super) version: &'static str,
}

/// A link of the navigation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NavigationItem {
    /// The path in the site.
    pub(super) to: String,
    pub(super) name: &'static str,
    /// `page` on the page itself, `true` within its part, else empty.
    pub(super) current: &'static str,
}

impl Frame {
    /// The frame of the page at `path`, in that part of the site.
    pub(super) fn new(catalog: &Catalog<'_>, path: &str, part: Part, title: String, description: String) -> Frame {
        let analysis = catalog.analysis;
        let newest = catalog.runs.first().and_then(|run| run.commit.as_ref());
        Frame {
            title: format!("{title} – {}", analysis.project),
            description,
            root: if path.contains('/') { "../" } else { "" },
            project: analysis.project.clone(),
            parts: parts(catalog, path, part),
            feeds: !analysis.suites.is_empty() && [link::DIGEST, link::EVENT_LIST].contains(&path),
            as_of: analysis.as_of.map_or(String::new(), date::day),
            commit: newest.map_or(String::new(), |commit| short_commit(&commit.sha).to_owned()),
            newest: analysis.as_of.map_or(String::new(), date::rfc3339),
            every_days: analysis.every_days,
            source: source(catalog),
            method: if catalog.runs.is_empty() { "" } else { link::METHOD },
            ledger: if catalog.runs.is_empty() { "" } else { link::LEDGER },
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// The frame of a page on one subject, which `newest` measured last: a run of something else must not change such a page.
    pub(super) fn for_subject(self, catalog: &Catalog<'_>, newest: Option<&RunHead>) -> Frame {
        let commit = newest.and_then(|run| run.commit.as_ref());
        Frame {
            as_of: newest.map_or(String::new(), |run| date::day(run.timestamp)),
            commit: commit.map_or(String::new(), |commit| short_commit(&commit.sha).to_owned()),
            newest: newest.map_or(String::new(), |run| date::rfc3339(run.timestamp)),
            source: branch(catalog),
            ..self
        }
    }
}

fn parts(catalog: &Catalog<'_>, path: &str, part: Part) -> Vec<NavigationItem> {
    let mut parts = vec![(Part::Digest, "Digest", link::DIGEST.to_owned())];
    if !catalog.analysis.suites.is_empty() {
        parts.push((Part::Events, "Events", link::EVENT_LIST.to_owned()));
    }
    if !catalog.analysis.series.is_empty() {
        parts.push((Part::Series, "Series", link::SERIES_LIST.to_owned()));
    }
    if catalog.is_compared() {
        parts.push((Part::Compare, "Compare", link::COMPARE.to_owned()));
    }
    if let Some(suite) = catalog.matrix_suites.first() {
        parts.push((Part::Matrix, "Matrix", link::matrix(suite)));
    }
    if !catalog.gpu_runs().is_empty() {
        parts.push((Part::Gpu, "GPU", link::GPU.to_owned()));
    }
    if !catalog.releases.newest.is_empty() {
        parts.push((Part::Releases, "Releases", link::RELEASE_LIST.to_owned()));
    }
    if !catalog.runs.is_empty() {
        parts.push((Part::Coverage, "Coverage", link::COVERAGE.to_owned()));
        parts.push((Part::Machines, "Machines", link::MACHINE_LIST.to_owned()));
        parts.push((Part::Runs, "Runs", link::RUN_LIST.to_owned()));
    }
    let current = |to: &str, of: Part| match (of == part, to == path) {
        (true, true) => "page",
        (true, false) => "true",
        _ => "",
    };
    parts.into_iter().map(|(of, name, to)| NavigationItem { current: current(&to, of), to, name }).collect()
}

fn branch(catalog: &Catalog<'_>) -> String {
    match &catalog.analysis.history.reference {
        Some(reference) => format!("History {}", reference.strip_prefix("refs/heads/").unwrap_or(reference)),
        None => "History".to_owned(),
    }
}

fn source(catalog: &Catalog<'_>) -> String {
    let history = &catalog.analysis.history;
    let mut words = branch(catalog);
    if let Some(tip) = &history.tip {
        words += &format!(" at {}", short_commit(tip));
    }
    words += &format!(", {}", number::counted(history.runs, "run", "runs"));
    if let (Some(first), Some(last)) = (history.first, catalog.analysis.as_of) {
        words += &format!(", {} to {}", date::day(first), date::day(last));
    }
    words
}

/// The escaper of all templates: makes visible what acts unseen, then escapes HTML.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageText;

impl Escaper for PageText {
    fn write_escaped_str<W: fmt::Write>(&self, destination: W, string: &str) -> fmt::Result {
        Html.write_escaped_str(destination, &text::visible(string))
    }
}

/// The page of a template at a path of the site.
pub(super) fn page(path: String, template: &impl Template) -> Result<Page, ReportError> {
    match template.render() {
        Ok(html) => Ok(Page { path, bytes: html.into_bytes() }),
        Err(error) => Err(ReportError::Template { path, reason: error.to_string() }),
    }
}

#[derive(Template)]
#[template(path = "sheet.html")]
struct SheetPage {
    frame: Frame,
    sheet: Sheet,
}

/// The path of a page, its part of the site, and its title.
pub(super) type Place = (String, Part, String);

/// The page of a report on the whole history.
pub(super) fn history_page(
    catalog: &Catalog<'_>,
    (path, part, title): Place,
    sheet: Sheet,
) -> Result<Page, ReportError> {
    let frame = Frame::new(catalog, &path, part, title, sheet.headline.words());
    page(path, &SheetPage { frame, sheet })
}

/// The page of a report on one subject, which `newest` measured last.
pub(super) fn subject_page(
    catalog: &Catalog<'_>,
    (path, part, title): Place,
    newest: Option<&RunHead>,
    sheet: Sheet,
) -> Result<Page, ReportError> {
    let frame = Frame::new(catalog, &path, part, title, sheet.headline.words()).for_subject(catalog, newest);
    page(path, &SheetPage { frame, sheet })
}

#[derive(Template)]
#[template(path = "404.html")]
struct MissingPage<'a> {
    project: &'a str,
    root: String,
}

/// The page that a server shows for missing ones.
pub(crate) fn missing(project: &str, settings: &Settings) -> Result<Page, ReportError> {
    let root = link::root(settings)?.unwrap_or_default();
    page(link::MISSING.to_owned(), &MissingPage { project, root })
}
