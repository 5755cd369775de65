//! The reports of weeks: a page and a Markdown text each, and the list of them.

use super::frame::Part;
use super::sheet;
use crate::ReportError;
use crate::catalog::Catalog;
use crate::date;
use crate::link;
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use crate::sheet::{Row, Section, Sheet};
use crate::week::{self, Week};
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
        pages.push(sheet::of_one(catalog, (link::week(week.monday), Part::Digest, title), report)?);
    }
    Ok(pages)
}

fn list(catalog: &Catalog<'_>, weeks: &[Week<'_>]) -> Result<Page, ReportError> {
    let row = |of: &Week<'_>| {
        let worst = of.movers.first().and_then(|row| row.worse);
        Row::new([
            Phrase::default().link(link::week(of.monday), date::calendar_day(of.monday)),
            week::headline(of),
            week::range(catalog, of),
            Phrase::plain(counted(of.runs.len(), "run", "runs")),
            Phrase::plain(worst.map_or_else(|| number::NONE.to_owned(), number::percent)),
            Phrase::default().link(link::week_text(of.monday), "Markdown"),
        ])
    };
    let columns = [
        ("Week of", "nb"),
        ("What happened", "full"),
        ("Commits", ""),
        ("Runs", "n"),
        ("Worst series", "n worst"),
        ("As text", "opt2"),
    ];
    let note = "The worst series is that of which the weekly median got worse by most; positive is worse, and no verdict stands behind it.";
    let texts = ("weeks", "Newest first", Phrase::plain(note), "");
    let section = Section::of_table(texts, ("Weeks, newest first", &columns), weeks.iter().map(row).collect());
    let headline = format!("{} with a report", counted(weeks.len(), "week", "weeks"));
    let lede = format!(
        "The newest {} weeks in which something ran. A week begins on Monday, UTC. Records hold when a run began, \
         not how long it took.",
        count(week::WEEKS)
    );
    let content = Sheet {
        crumb: Phrase::default().link(link::DIGEST, "Digest").text(" / Weeks"),
        headline: Phrase::plain(headline),
        lede: Phrase::plain(lede),
        sections: vec![section],
        ..Sheet::default()
    };
    sheet::sheet(catalog, (link::WEEK_LIST.to_owned(), Part::Digest, "Weeks".to_owned()), content)
}
