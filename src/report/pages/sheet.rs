//! A report of facts, sentences and tables as a page.

use askama::Template;

use super::frame::{Frame, Part};
use super::page;
use crate::model::page::Page;
use crate::report::ReportError;
use crate::report::catalog::Catalog;
use crate::report::sheet::{Cell, Sheet};

#[derive(Template)]
#[template(path = "sheet.html")]
struct SheetPage {
    frame: Frame,
    sheet: Sheet,
}

/// The page of a report at `path`, in that part of the site.
pub(super) fn sheet(
    catalog: &Catalog<'_>,
    (path, part, title): (String, Part, String),
    sheet: Sheet,
) -> Result<Page, ReportError> {
    let frame = Frame::new(catalog, &path, part, title, sheet.headline.words());
    page(path, &SheetPage { frame, sheet })
}
