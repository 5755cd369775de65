//! The list of commits that have a page, newest first.

use super::commit::{self, Commits, Named};
use super::frame::Part;
use super::sheet;
use crate::ReportError;
use crate::catalog::Catalog;
use crate::compare::data::Data;
use crate::link;
use crate::number::{count, counted};
use crate::phrase::Phrase;
use crate::sheet::{Row, Section, Sheet};
use crate::shown::{EVENTS, NEWEST, RELEASES};
use sprag_model::page::Page;

/// The commits that the list shows.
const ROWS: usize = 1000;

/// The pages of the commits that have one, and the list of them.
pub(crate) fn commits(catalog: &Catalog<'_>, data: Option<&Data>) -> Result<Vec<Page>, ReportError> {
    let commits = Commits::new(catalog, data);
    let mut pages = commit::pages(&commits)?;
    if !pages.is_empty() {
        pages.push(list(&commits)?);
    }
    Ok(pages)
}

fn list(commits: &Commits<'_, '_>) -> Result<Page, ReportError> {
    let all = commits.all();
    let headline = format!("{} with a page", counted(all.len(), "commit", "commits"));
    let lede = format!(
        "Of those that were measured: at least the newest {}, the newest {} releases, and the ranges of the newest {} events. ",
        count(NEWEST),
        count(RELEASES),
        count(EVENTS)
    );
    let lede = match commits.catalog.is_compared() {
        true => Phrase::plain(lede + "Any two that were measured ").link(link::COMPARE, "can be compared").text("."),
        false => Phrase::plain(lede),
    };
    let columns = [("Commit", "nb"), ("Subject", "full any"), ("Committed", "nb"), ("Runs", "n push")];
    let texts = ("commits", "Newest first", Phrase::default(), "");
    let rows = all.iter().map(row).collect();
    let section = Section::of_table(texts, ("Commits, newest first", &columns), rows).cut(ROWS);
    let content = Sheet { headline: Phrase::plain(headline), lede, sections: vec![section], ..Sheet::default() };
    sheet::sheet(commits.catalog, (link::COMMIT_LIST.to_owned(), Part::Runs, "Commits".to_owned()), content)
}

fn row(of: &Named<'_>) -> Row {
    let (name, tags) = (Phrase::default().link(of.page(), of.short()), of.tags());
    Row::of([
        if tags.is_empty() { name } else { name.text(" ").strong(tags) },
        Phrase::plain(of.subject()),
        Phrase::plain(of.day()),
        Phrase::plain(counted(of.runs.len(), "run", "runs")),
    ])
}
