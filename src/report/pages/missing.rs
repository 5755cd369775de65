//! What a server shows for a page that is not there.
//!
//! It appears under any path, so a relative link would lead elsewhere each time: without the site's URL it has none.

use askama::Template;

use super::html::page;
use crate::link;
use crate::{ReportError, Settings};
use sprag_model::page::Page;

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
