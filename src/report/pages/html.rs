//! From a template to a page.

use std::fmt;

use askama::Template;
use askama::filters::{Escaper, Html};

use crate::{ReportError, text};
use sprag_model::page::Page;

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
