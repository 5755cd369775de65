//! A run: whether it worked, what it measured, and under which circumstances.

use askama::Template;

use super::frame::{Frame, Part, page};
use super::run_surroundings::{self, Surroundings};
use super::run_tables::{self, MetricGroup, Metrics, ParityRow};
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::phrase::Phrase;
use crate::text::{short_commit, short_digest, shortened};
use crate::{ReportError, date, link, number};
use sprag_base::json;
use sprag_model::head::RunHead;
use sprag_model::page::Page;
use sprag_model::run::{RecordedRun, Run, RunStatus};

/// The longest subject of a commit among the facts, in characters.
const SUBJECT: usize = 140;

/// The longest branch among the facts, in characters.
const BRANCH: usize = 80;

/// The longest tuned configuration that is shown, in characters.
const TUNED: usize = 2000;

/// The tuned configurations that are shown.
const TUNED_ROWS: usize = 100;

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    frame: Frame,
    short: String,
    headline: Phrase,
    reason: String,
    facts: Vec<(&'static str, Phrase, String)>,
    quality: Vec<String>,
    metrics: Vec<MetricGroup>,
    columns: Vec<&'static str>,
    metrics_note: String,
    parity: Vec<ParityRow>,
    parity_note: String,
    /// Whether a check has attributes that say how it ran.
    shows_how: bool,
    failures: Vec<(String, String)>,
    tuned: Vec<String>,
    record: String,
    surroundings: Surroundings,
}

pub(crate) fn run(catalog: &Catalog<'_>, recorded: &RecordedRun) -> Result<Page, ReportError> {
    link::file_word("run", &recorded.id)?;
    let path = link::run(&recorded.id);
    let run = &recorded.run;
    let is_newest = catalog.analysis.suites.iter().any(|suite| suite.run == recorded.id);
    let Metrics { groups: metrics, columns, note: metrics_note } = run_tables::metrics(catalog, run, is_newest);
    let (parity, parity_note) = run_tables::parity(run);
    // What a sentence says of all checks stands beside the state of the numbers.
    let all_checked = if parity.is_empty() { parity_note.as_str() } else { "" };
    let title = format!("{} on {}, {}", run.suite, run.machine.name, date::day(run.timestamp));
    let headline = headline(run);
    let surroundings = run_surroundings::surroundings(catalog, recorded);
    let template = RunPage {
        frame: Frame::new(catalog, &path, Part::Runs, title, String::new()).of_one(catalog, None),
        short: short_digest(&recorded.id).to_owned(),
        headline,
        reason: run.reason.clone().unwrap_or_default(),
        facts: facts(catalog, run, all_checked, &surroundings.words),
        quality: run.quality.reasons.clone(),
        metrics,
        columns,
        metrics_note,
        shows_how: parity.iter().any(|row| row.attributes != number::NONE),
        parity,
        parity_note,
        failures: run_tables::failures(run),
        tuned: run.autotune.iter().take(TUNED_ROWS).map(|value| shortened(&json::to_canonical(value), TUNED)).collect(),
        record: recorded.path.clone(),
        surroundings,
    };
    page(path, &template)
}

fn headline(run: &Run) -> Phrase {
    let failed = run.measurements.iter().filter(|measurement| measurement.failed().is_some()).count();
    let skipped = run.measurements.iter().filter(|measurement| measurement.skipped().is_some()).count();
    let measured = run.measurements.len() - failed - skipped;
    let place = format!("{} on {} ", run.suite, run.machine.name);
    match run.status {
        RunStatus::Ok if failed == 0 => {
            let rest = format!("{place}measured {}", number::counted(measured, "benchmark", "benchmarks"));
            Phrase::plain(rest)
        }
        RunStatus::Ok => {
            let all = number::counted(measured + failed, "benchmark", "benchmarks");
            let mark = Mark::new(Tone::Worse, "✕", format!("{failed} failed"));
            Phrase::plain(format!("{place}measured {measured} of {all}, ")).mark(mark)
        }
        RunStatus::Skipped => Phrase::plain(place).mark(Mark::new(Tone::Doubt, "○", "was skipped")),
        RunStatus::Failed => Phrase::plain(place).mark(Mark::new(Tone::Worse, "✕", "failed")),
    }
}

/// The four facts: status, commit, machine, quality; each with a note, that of the machine with what is said of its environment and
/// the last with what is said of all checks.
fn facts(
    catalog: &Catalog<'_>,
    run: &Run,
    all_checked: &str,
    environment: &str,
) -> Vec<(&'static str, Phrase, String)> {
    let (commit, commit_note) = match &run.commit {
        None => (Phrase::plain(number::NONE), "Outside a repository, or before its first commit.".to_owned()),
        Some(commit) => {
            let branch = match &commit.branch {
                Some(branch) => format!(" on {}", shortened(branch, BRANCH)),
                // Another tool need not tell where it was.
                None if run.is_imported() => String::new(),
                None => " on a detached head".to_owned(),
            };
            let subject = match shortened(&commit.subject, SUBJECT) {
                none if none.is_empty() => "No subject is known".to_owned(),
                subject => format!("“{subject}”"),
            };
            let mut note = format!("{subject}{branch}, committed {}.", date::moment(commit.commit_time));
            if commit.dirty {
                note += " Tracked files differed from the commit.";
            }
            let answer = Phrase::default().name(catalog.commit_page(&commit.sha), short_commit(&commit.sha));
            let doubt = Mark::new(Tone::Doubt, "◆", "changed");
            (if commit.dirty { answer.text(" ").mark(doubt) } else { answer }, note)
        }
    };
    let (numbers, numbers_note) = match run.status {
        RunStatus::Ok => {
            let note = match run.quality.reasons.len() {
                0 if run.quality.clean && !all_checked.is_empty() => String::new(),
                0 if run.quality.clean => "Nothing speaks against the numbers.".to_owned(),
                some => number::counted(some, "reason below.", "reasons below."),
            };
            (Phrase::default().mark(Mark::of_quality(&run.quality)), [&note, all_checked].join(" ").trim().to_owned())
        }
        RunStatus::Skipped | RunStatus::Failed => (Phrase::plain(number::NONE), "Nothing was measured.".to_owned()),
    };
    let machine = match catalog.machine_page(&run.machine.id) {
        Some(page) => Phrase::default().link(page, run.machine.name.clone()),
        None => Phrase::plain(run.machine.name.clone()),
    };
    vec![
        (
            "Status",
            Phrase::default().mark(Mark::of_status(run.status)),
            format!("Began {} UTC.", date::moment(run.timestamp)),
        ),
        ("Commit", commit, commit_note),
        ("Machine", machine, format!("{}. {environment}", run.machine.class)),
        ("Numbers", numbers, numbers_note),
    ]
}

/// The runs that the list shows: those of the newest commits of ten suites.
const ROWS: usize = 300;

/// The longest subject of a commit in a table, in characters.
const LISTED_SUBJECT: usize = 80;

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
        subject: run.commit.as_ref().map_or(String::new(), |commit| shortened(&commit.subject, LISTED_SUBJECT)),
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
