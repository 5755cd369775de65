//! The list of runs, newest first.

use askama::Template;

use super::frame::{Frame, Part};
use super::html::page;
use crate::catalog::Catalog;
use crate::mark::Mark;
use crate::phrase::Phrase;
use crate::text::{short_commit, short_digest, shortened};
use crate::{ReportError, date, link, number};
use sprag_model::head::RunHead;
use sprag_model::page::Page;
use sprag_model::run::RunStatus;

/// The runs that the list shows: those of the newest commits of ten suites.
const ROWS: usize = 300;

/// The longest subject of a commit in a table, in characters.
const SUBJECT: usize = 80;

#[derive(Template)]
#[template(path = "run_list.html")]
struct RunListPage {
    frame: Frame,
    headline: String,
    lede: Phrase,
    rows: Vec<Row>,
}

struct Row {
    page: String,
    time: String,
    suite: String,
    machine: String,
    commit: String,
    subject: String,
    status: Mark,
    benchmarks: String,
    quality: Mark,
    id: String,
}

pub(crate) fn run_list(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let runs = &catalog.runs;
    let not_ok = runs.iter().filter(|run| run.status != RunStatus::Ok).count();
    let headline = number::counted(runs.len(), "run", "runs");
    let mut lede = Phrase::plain(format!("Newest first. {} skipped or failed.", number::count(not_ok)));
    if runs.len() > ROWS {
        let words =
            format!(" Only the newest {} are listed; the pages of the series lead to others.", number::count(ROWS));
        lede = lede.text(words);
    }
    if !catalog.commits().is_empty() {
        lede = lede.text(" ").link(link::COMMIT_LIST, "By commit").text(".");
    }
    if catalog.shown_runs().len() < runs.len() {
        lede = lede.text(
            " Runs of older commits lead to the comparison of their commit with the one before it, which needs script.",
        );
    }
    let frame = Frame::new(catalog, link::RUN_LIST, Part::Runs, "Runs".to_owned(), headline.clone());
    let rows = runs.iter().take(ROWS).map(|run| row(catalog, run)).collect();
    page(link::RUN_LIST.to_owned(), &RunListPage { frame, headline, lede, rows })
}

fn row(catalog: &Catalog<'_>, run: &RunHead) -> Row {
    let failed = run.failed;
    let measured = number::count(run.benchmarks - failed);
    Row {
        page: catalog.run_place(&run.id).unwrap_or_default(),
        time: date::moment(run.timestamp),
        suite: run.suite.clone(),
        machine: run.machine.name.clone(),
        commit: run.commit.as_ref().map_or(number::NONE, |commit| short_commit(&commit.sha)).to_owned(),
        subject: run.commit.as_ref().map_or(String::new(), |commit| shortened(&commit.subject, SUBJECT)),
        status: Mark::of_status(run.status),
        benchmarks: match (run.status, failed) {
            (RunStatus::Ok, 0) => measured,
            (RunStatus::Ok, _) => format!("{measured}, {} failed", number::count(failed)),
            _ => number::NONE.to_owned(),
        },
        quality: Mark::of_run_quality(run),
        id: short_digest(&run.id).to_owned(),
    }
}
