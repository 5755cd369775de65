//! The reports of weeks: a page and a Markdown text each, and the list of them.

use super::cell;
use super::frame::{Part, history_page, subject_page};
use crate::catalog::Catalog;
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use crate::sheet::{Rows, Sheet};
use crate::week::{self, Week};
use crate::{ReportError, date, link};
use sprag_model::page::Page;

/// The reports of all weeks that have one, and the list of them.
pub(crate) fn weeks(catalog: &Catalog<'_>) -> Result<Vec<Page>, ReportError> {
    let weeks = week::weeks(catalog);
    if weeks.is_empty() {
        return Ok(Vec::new());
    }
    let mut pages = vec![list(catalog, &weeks)?];
    for week in &weeks {
        let report = week::sheet(catalog, week);
        pages.push(Page { path: link::week_text(week.monday), bytes: report.markdown().into_bytes() });
        let title = format!("Week of {}", date::calendar_day(week.monday));
        pages.push(subject_page(catalog, (link::week(week.monday), Part::Digest, title), None, report)?);
    }
    Ok(pages)
}

fn list(catalog: &Catalog<'_>, weeks: &[Week<'_>]) -> Result<Page, ReportError> {
    let worst = |of: &Week<'_>| of.movers.first().and_then(|row| row.worse);
    let note = "The worst series is the one whose weekly median worsened most; positive is worse. This figure is not a verdict.";
    let section = Rows::new("Weeks, newest first", weeks)
        .column("Week of", "nb", |of| Phrase::default().link(link::week(of.monday), date::calendar_day(of.monday)))
        .column("What happened", "full", |of| week::headline(of))
        .column("Commits", "", |of| week::range(catalog, of))
        .column("Runs", "n", |of| counted(of.runs.len(), "run", "runs"))
        .column("Worst series", "n named", |of| cell::or_none(worst(of), number::percent))
        .column("As text", "opt2", |of| Phrase::default().link(link::week_text(of.monday), "Markdown"))
        .section("weeks", "Newest first", note, "");
    let sheet = Sheet {
        crumb: Phrase::default().link(link::DIGEST, "Digest").text(" / Weeks"),
        headline: format!("{} with a report", counted(weeks.len(), "week", "weeks")).into(),
        lede: format!(
            "The newest {} weeks with a run. A week begins on Monday, UTC. Records hold when a run began, not how long it took.",
            count(week::WEEKS)
        )
        .into(),
        sections: vec![section],
        ..Sheet::default()
    };
    history_page(catalog, (link::WEEK_LIST.to_owned(), Part::Digest, "Weeks".to_owned()), sheet)
}
