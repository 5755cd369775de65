//! The digest of a history without runs: what to do.

use askama::Template;

use super::frame::{Frame, Part, page};
use crate::catalog::Catalog;
use crate::{ReportError, Settings, link};
use sprag_model::page::Page;

#[derive(Template)]
#[template(path = "empty.html")]
struct EmptyPage {
    frame: Frame,
    quarantined: Vec<(String, String)>,
    warnings: Vec<String>,
}

/// The digest page of an empty history.
pub(crate) fn empty(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let history = &catalog.analysis.history;
    let description = "No runs yet: how to measure the first one.".to_owned();
    let template = EmptyPage {
        frame: Frame::new(catalog, link::DIGEST, Part::Digest, "No runs yet".to_owned(), description),
        quarantined: history
            .quarantined
            .iter()
            .take(50)
            .map(|record| (record.path.clone(), record.reason.clone()))
            .collect(),
        warnings: history.warnings.iter().take(50).cloned().collect(),
    };
    page(link::DIGEST.to_owned(), &template)
}

#[derive(Template)]
#[template(path = "404.html")]
struct MissingPage<'a> {
    project: &'a str,
    root: String,
}

/// The page for what is not there.
pub(crate) fn missing(project: &str, settings: &Settings) -> Result<Page, ReportError> {
    let root = link::root(settings)?.unwrap_or_default();
    page(link::MISSING.to_owned(), &MissingPage { project, root })
}
