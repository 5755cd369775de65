//! What stands around every page: head, navigation and footer.

use std::fmt;

use askama::Template;
use askama::filters::{Escaper, Html};
use chrono::{DateTime, Utc};

use crate::catalog::Catalog;
use crate::text::{self, short_commit};
use crate::{ReportError, date, link, number};
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
    /// How everything is judged, and what is accepted; the footer leads there.
    About,
}

/// What stands around a page.
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
    /// The day of the newest run, of the history or of what the page tells of; empty where neither counts.
    pub(super) as_of: String,
    pub(super) commit: String,
    /// When the newest run took place, for the script; empty where there is none.
    pub(super) newest: String,
    /// How often a run is due, in days.
    pub(super) every_days: u32,
    /// Where the data came from.
    pub(super) source: String,
    /// The page that says how everything is judged; empty where there is nothing to judge.
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
            newest: analysis.as_of.map_or(String::new(), moment),
            every_days: analysis.every_days,
            source: source(catalog),
            method: if catalog.runs.is_empty() { "" } else { link::METHOD },
            ledger: if catalog.runs.is_empty() { "" } else { link::LEDGER },
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// The same around a page of one thing that was last measured by `newest`: the page says nothing of the rest of the
    /// history, so a run that measures something else leaves the page as it is.
    pub(super) fn of_one(self, catalog: &Catalog<'_>, newest: Option<&RunHead>) -> Frame {
        let commit = newest.and_then(|run| run.commit.as_ref());
        Frame {
            as_of: newest.map_or(String::new(), |run| date::day(run.timestamp)),
            commit: commit.map_or(String::new(), |commit| short_commit(&commit.sha).to_owned()),
            newest: newest.map_or(String::new(), |run| moment(run.timestamp)),
            source: branch(catalog),
            ..self
        }
    }
}

fn moment(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
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
pub(crate) fn page(path: String, template: &impl Template) -> Result<Page, ReportError> {
    match template.render() {
        Ok(html) => Ok(Page { path, bytes: html.into_bytes() }),
        Err(error) => Err(ReportError::Template { path, reason: error.to_string() }),
    }
}
