//! All pages of the site.

use std::collections::BTreeSet;

use crate::model::analysis::Analysis;
use crate::model::commit::CommitLine;
use crate::model::page::Page;
use crate::model::run::RecordedRun;

use super::catalog::Catalog;
use super::link;
use super::pages;
use super::{ReportError, Settings};

const STYLE: &str = include_str!("../../site/style.css");
const ICON: &str = include_str!("../../site/icon.svg");

/// The site of a history: every page and asset, by path.
///
/// # Errors
/// When a name cannot become a file name, two pages would share a file, or the URL of the settings is none.
pub fn render(
    analysis: &Analysis,
    line: &CommitLine,
    runs: &[RecordedRun],
    settings: &Settings,
) -> Result<Vec<Page>, ReportError> {
    let catalog = Catalog::new(analysis, line, runs);
    let mut site = vec![
        Page { path: link::STYLE.to_owned(), bytes: STYLE.as_bytes().to_vec() },
        Page { path: link::ICON.to_owned(), bytes: ICON.as_bytes().to_vec() },
        pages::missing(&analysis.project, settings)?,
    ];
    site.push(if analysis.suites.is_empty() { pages::empty(&catalog)? } else { pages::digest(&catalog)? });
    for suite in &catalog.matrix_suites {
        site.push(pages::matrix(&catalog, suite)?);
    }
    if !analysis.series.is_empty() {
        site.push(pages::series_list(&catalog)?);
    }
    for series in &analysis.series {
        site.push(pages::series(&catalog, series)?);
    }
    if !runs.is_empty() {
        site.push(pages::run_list(&catalog)?);
    }
    for run in &catalog.runs {
        site.push(pages::run(&catalog, run)?);
    }
    site.sort_by(|a, b| a.path.cmp(&b.path));
    let mut seen = BTreeSet::new();
    match site.iter().find(|page| !seen.insert(page.path.to_ascii_lowercase())) {
        Some(twice) => Err(ReportError::Duplicate(twice.path.clone())),
        None => Ok(site),
    }
}
