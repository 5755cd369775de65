//! A report of facts, sentences and tables as a page.

use askama::Template;

use super::frame::{Frame, Part, page};
use crate::ReportError;
use crate::catalog::Catalog;
use crate::sheet::{Block, Cell, Sheet};
use sprag_model::page::Page;

#[derive(Template)]
#[template(path = "sheet.html")]
struct SheetPage {
    frame: Frame,
    sheet: Sheet,
}

/// The page of a report at `path`, in that part of the site.
pub(super) fn sheet(catalog: &Catalog<'_>, at: (String, Part, String), sheet: Sheet) -> Result<Page, ReportError> {
    framed(catalog, at, sheet, |frame| frame)
}

/// The same of a report on one thing, which says nothing of the rest of the history.
pub(super) fn of_one(catalog: &Catalog<'_>, at: (String, Part, String), sheet: Sheet) -> Result<Page, ReportError> {
    framed(catalog, at, sheet, |frame| frame.of_one(catalog, None))
}

fn framed(
    catalog: &Catalog<'_>,
    (path, part, title): (String, Part, String),
    sheet: Sheet,
    around: impl FnOnce(Frame) -> Frame,
) -> Result<Page, ReportError> {
    let frame = around(Frame::new(catalog, &path, part, title, sheet.headline.words()));
    page(path, &SheetPage { frame, sheet })
}
