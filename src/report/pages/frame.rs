//! What surrounds every page: head, navigation and footer; and a report as a page.

use std::fmt;

use crate::catalog::Catalog;
use crate::sheet::{Block, Cell, Sheet};
use crate::text::{self, short_commit};
use crate::{ReportError, date, link, number};
use askama::Template;
use askama::filters::{Escaper, Html};
use sprag_model::{Page, RunHead};

/// The vocabulary of nearly every page.
pub(super) mod prelude {
    pub(in crate::pages) use super::{history_page, subject_page};
    pub(in crate::pages) use crate::catalog::Catalog;
    pub(in crate::pages) use crate::mark::{Mark, Tone};
    pub(in crate::pages) use crate::number::{self, count, counted, or_none, percent_size};
    pub(in crate::pages) use crate::pages::cell;
    pub(in crate::pages) use crate::phrase::{Fact, Phrase};
    pub(in crate::pages) use crate::sheet::{Cell, Rows, Section, Sheet};
    pub(in crate::pages) use crate::text::{short_benchmark, shortened};
    pub(in crate::pages) use crate::{ReportError, date, link};
    pub(in crate::pages) use sprag_model::page::Page;
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) title: String,
    pub(super) description: String,
    /// The path from this page to the root of the site: nothing or `../`.
    pub(super) root: &'static str,
    pub(super) project: String,
    /// The address of the site, with a slash at its end.
    pub(super) url: Option<String>,
    pub(super) parts: Vec<NavigationItem>,
    pub(super) more: Vec<NavigationItem>,
    pub(super) feeds: bool,
    /// The day of the newest run: of the history, or of the page's subject.
    pub(super) as_of: String,
    pub(super) commit: String,
    pub(super) newest: String,
    pub(super) every_days: u32,
    pub(super) source: String,
    pub(super) version: &'static str,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct NavigationItem {
    pub(super) to: String,
    pub(super) name: &'static str,
    /// `page` on the page itself, `true` within its part, else empty.
    pub(super) current: &'static str,
}

impl Frame {
    pub(super) fn new(catalog: &Catalog<'_>, path: &str, part: &str, title: &str, description: String) -> Frame {
        let analysis = catalog.analysis;
        let newest = catalog.runs.first().and_then(|run| run.commit.as_ref());
        Frame {
            title: format!("{title} – {}", analysis.project),
            description,
            root: if path.contains('/') { "../" } else { "" },
            project: analysis.project.clone(),
            url: catalog
                .input
                .url
                .filter(|_| !analysis.suites.is_empty())
                .map(|url| format!("{}/", url.trim_end_matches('/'))),
            parts: parts(catalog, path, part),
            more: more(catalog, path, part),
            feeds: !analysis.suites.is_empty() && [link::DIGEST, link::EVENT_LIST].contains(&path),
            as_of: analysis.as_of.map_or(String::new(), date::day),
            commit: newest.map_or(String::new(), |commit| short_commit(&commit.sha).to_owned()),
            newest: analysis.as_of.map_or(String::new(), date::rfc3339),
            every_days: analysis.every_days,
            source: source(catalog),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// The frame of a page on one subject, which `newest` measured last: runs of something else do not change it.
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

fn parts(catalog: &Catalog<'_>, path: &str, part: &str) -> Vec<NavigationItem> {
    let analysis = catalog.analysis;
    let matrix = catalog.matrix_suites.first().map_or(String::new(), |suite| link::matrix(suite));
    let all = [
        (true, "Digest", link::DIGEST),
        (!analysis.suites.is_empty(), "Events", link::EVENT_LIST),
        (!analysis.series.is_empty(), "Series", link::SERIES_LIST),
        (catalog.is_compared(), "Compare", link::COMPARE),
        (!matrix.is_empty(), "Matrix", &matrix),
        (!catalog.input.releases.newest.is_empty(), "Releases", link::RELEASE_LIST),
        (!catalog.runs.is_empty(), "Coverage", link::COVERAGE),
    ];
    navigation(&all, path, part)
}

/// What the foot of every page leads to.
fn more(catalog: &Catalog<'_>, path: &str, part: &str) -> Vec<NavigationItem> {
    let has_runs = !catalog.runs.is_empty();
    let all = [
        (has_runs, "Runs", link::RUN_LIST),
        (has_runs, "Machines", link::MACHINE_LIST),
        (!catalog.gpu_runs().is_empty(), "GPU", link::GPU),
        (has_runs, "How changes are judged", link::METHOD),
        (has_runs, "Ledger", link::LEDGER),
    ];
    navigation(&all, path, part)
}

fn navigation(all: &[(bool, &'static str, &str)], path: &str, part: &str) -> Vec<NavigationItem> {
    let item = |(_, name, to): &(bool, &'static str, &str)| {
        let current = match (*name == part, *to == path) {
            (true, true) => "page",
            (true, false) => "true",
            _ => "",
        };
        NavigationItem { to: (*to).to_owned(), name, current }
    };
    all.iter().filter(|(is_there, ..)| *is_there).map(item).collect()
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

/// The escaper of all templates: makes invisible characters visible, then escapes HTML or XML.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageText;

impl Escaper for PageText {
    fn write_escaped_str<W: fmt::Write>(&self, destination: W, string: &str) -> fmt::Result {
        Html.write_escaped_str(destination, &text::visible(string))
    }
}

pub(super) fn page(path: String, template: &impl Template) -> Result<Page, ReportError> {
    match template.render() {
        Ok(text) => Ok(Page { path, bytes: text.into_bytes() }),
        Err(error) => Err(ReportError::Template { path, reason: error.to_string() }),
    }
}

#[derive(Template)]
#[template(path = "sheet.html")]
struct SheetPage {
    frame: Frame,
    sheet: Sheet,
}

pub(super) fn history_page(
    catalog: &Catalog<'_>,
    (path, part): (&str, &str),
    title: &str,
    sheet: Sheet,
) -> Result<Page, ReportError> {
    let sheet = Sheet { headline: sheet.headline.without_stop(), ..sheet };
    let frame = Frame::new(catalog, path, part, title, sheet.headline.words());
    page(path.to_owned(), &SheetPage { frame, sheet })
}

/// `newest` is the run that measured the subject last.
pub(super) fn subject_page(
    catalog: &Catalog<'_>,
    (path, part): (&str, &str),
    title: &str,
    newest: Option<&RunHead>,
    sheet: Sheet,
) -> Result<Page, ReportError> {
    let frame = Frame::new(catalog, path, part, title, sheet.headline.words()).for_subject(catalog, newest);
    page(path.to_owned(), &SheetPage { frame, sheet })
}

#[derive(Template)]
#[template(path = "404.html")]
struct MissingPage<'a> {
    project: &'a str,
    root: String,
    /// Whether its script leads to the viewer of series without a page.
    viewer: bool,
    script: String,
}

pub(crate) fn missing(catalog: &Catalog<'_>, root: Option<String>) -> Result<Page, ReportError> {
    let missing = MissingPage {
        project: &catalog.analysis.project,
        root: root.unwrap_or_default(),
        viewer: catalog.has_viewer(),
        script: text::bare(include_str!("../../../site/gone.js")),
    };
    page(link::MISSING.to_owned(), &missing)
}
