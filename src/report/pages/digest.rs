//! The digest: the verdict of the newest runs, with the evidence below it.

use std::collections::BTreeSet;

use askama::Template;
use chrono::NaiveDate;

use super::event_rows::EventGroup;
use super::frame::{Frame, Part, page};
use super::suite_section::SuiteSection;
use super::{event_list, trust};
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::phrase::{Fact, Phrase};
use crate::text::{short_benchmark, short_commit};
use crate::trend::summary as trend_summary;
use crate::{ReportError, date, link, number, summary, week};
use sprag_model::analysis::SuiteAnalysis;
use sprag_model::page::Page;
use sprag_model::rollup::WeekRow;

/// The newest weeks that the roll-up shows, a line a suite and machine.
const WEEK_ROWS: usize = 12;

/// The damaged records that are named.
const QUARANTINED_ROWS: usize = 50;

#[derive(Template)]
#[template(path = "digest.html")]
struct DigestPage {
    frame: Frame,
    crumb: String,
    headline: Phrase,
    lede: Phrase,
    facts: Vec<Fact>,
    trust: Phrase,
    banners: Vec<Banner>,
    group: EventGroup,
    suites: Vec<SuiteSection>,
    weeks: Vec<WeekLine>,
    weeks_rest: String,
    environment: Vec<EnvironmentLine>,
    baselines: Vec<BaselineLine>,
    quarantined: Vec<(String, String)>,
    quarantined_rest: String,
    warnings: Vec<String>,
}

struct Banner {
    class: &'static str,
    sentence: Phrase,
}

struct WeekLine {
    again: bool,
    day: String,
    page: String,
    suite: String,
    machine: String,
    runs: String,
    series: String,
    compared: String,
    change: String,
    worst: String,
    worst_name: String,
    worst_page: String,
    best: String,
}

struct EnvironmentLine {
    place: String,
    /// Why there is no fact, where there is none.
    nothing: &'static str,
    fact: String,
    was: String,
    is: String,
}

struct BaselineLine {
    place: String,
    path: String,
    commit: String,
    day: String,
    none: Mark,
    reason: Phrase,
}

pub(crate) fn digest(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let analysis = catalog.analysis;
    let summary = summary::summarise(analysis, catalog.trend);
    let day = analysis.as_of.map_or(String::new(), date::day);
    let frame = Frame::new(catalog, link::DIGEST, Part::Digest, format!("Digest, {day}"), summary.headline.words());
    let quarantined = &analysis.history.quarantined;
    let template = DigestPage {
        frame,
        crumb: format!("Weekly digest, newest run {day}"),
        headline: summary.headline,
        lede: summary.lede,
        facts: summary.facts,
        trust: trust::sentence(catalog),
        banners: banners(catalog),
        group: group(catalog),
        suites: SuiteSection::all(catalog),
        weeks: weeks(catalog),
        weeks_rest: rest(analysis.weeks.len(), WEEK_ROWS, "older rows are left out"),
        environment: analysis.suites.iter().flat_map(environment).collect(),
        baselines: analysis.suites.iter().map(baseline).collect(),
        quarantined: quarantined
            .iter()
            .take(QUARANTINED_ROWS)
            .map(|record| (record.path.clone(), record.reason.clone()))
            .collect(),
        quarantined_rest: rest(quarantined.len(), QUARANTINED_ROWS, "more are not named here"),
        warnings: analysis.history.warnings.iter().take(QUARANTINED_ROWS).cloned().collect(),
    };
    page(link::DIGEST.to_owned(), &template)
}

fn rest(all: usize, shown: usize, words: &str) -> String {
    if all > shown { format!("{} {words}.", number::count(all - shown)) } else { String::new() }
}

fn banners(catalog: &Catalog<'_>) -> Vec<Banner> {
    let analysis = catalog.analysis;
    let mut banners = Vec::new();
    let quarantined = analysis.history.quarantined.len();
    if quarantined > 0 {
        let sentence = Phrase::default()
            .strong(format!("{} quarantined", number::counted(quarantined, "record is", "records are")))
            .text(" and left out; ")
            .link(format!("{}#records", link::DIGEST), "which, and why")
            .text(".");
        banners.push(Banner { class: "worse", sentence });
    }
    let late = summary::late_suites(analysis);
    if !late.is_empty() {
        let names: Vec<String> = late
            .iter()
            .take(5)
            .map(|suite| format!("{} on {} since {}", suite.suite, suite.machine_name, date::day(suite.last)))
            .collect();
        let sentence = Phrase::default()
            .strong(format!("{} late:", number::counted(late.len(), "suite is", "suites are")))
            .text(format!(
                " {}. A run is due every {}.",
                names.join("; "),
                number::counted(analysis.every_days as usize, "day", "days")
            ));
        banners.push(Banner { class: "doubt", sentence });
    }
    if catalog.line.shallow {
        let sentence = Phrase::default()
            .strong("The repository is shallow.")
            .text(" Older commits are unknown here, so older points stand by their time.");
        banners.push(Banner { class: "", sentence });
    }
    banners
}

fn weeks(catalog: &Catalog<'_>) -> Vec<WeekLine> {
    let reports: BTreeSet<NaiveDate> = week::weeks(catalog).iter().map(|week| week.monday).collect();
    let rows = &catalog.analysis.weeks[..catalog.analysis.weeks.len().min(WEEK_ROWS)];
    let before = std::iter::once(None).chain(rows.iter().map(|row| Some(row.week)));
    rows.iter().zip(before).map(|(row, before)| week_line(row, before == Some(row.week), &reports, catalog)).collect()
}

fn week_line(row: &WeekRow, again: bool, reports: &BTreeSet<NaiveDate>, catalog: &Catalog<'_>) -> WeekLine {
    let change = |change: Option<f64>| change.map_or(number::NONE.to_owned(), number::percent);
    let worst = row.worst_series.as_deref().and_then(|id| catalog.series(id));
    WeekLine {
        again,
        day: date::calendar_day(row.week),
        page: if !again && reports.contains(&row.week) { link::week(row.week) } else { String::new() },
        suite: row.suite.clone(),
        machine: row.machine_name.clone(),
        runs: number::count(row.runs),
        series: number::count(row.series),
        compared: number::count(row.compared),
        change: change(row.change),
        worst: change(row.worst),
        worst_name: worst.map_or(String::new(), |worst| short_benchmark(&worst.series.benchmark).to_owned()),
        worst_page: worst.map_or(String::new(), |worst| link::series(&worst.series.id)),
        best: change(row.best),
    }
}

fn place(suite: &SuiteAnalysis) -> String {
    format!("{}, {}", suite.suite, suite.machine_name)
}

fn environment(suite: &SuiteAnalysis) -> Vec<EnvironmentLine> {
    let none = |nothing| EnvironmentLine {
        place: place(suite),
        nothing,
        fact: String::new(),
        was: String::new(),
        is: String::new(),
    };
    match suite.environment_changes.as_deref() {
        None => vec![none("no run came before")],
        Some([]) => vec![none("no difference that counts")],
        Some(changes) => changes
            .iter()
            .map(|change| EnvironmentLine {
                fact: change.fact.replace('_', " "),
                was: change.was.clone(),
                is: change.is.clone(),
                ..none("")
            })
            .collect(),
    }
}

fn baseline(suite: &SuiteAnalysis) -> BaselineLine {
    let none = Mark::new(Tone::Plain, "○", "none");
    match &suite.baseline {
        Ok(facts) => BaselineLine {
            place: place(suite),
            path: facts.path.clone(),
            commit: facts.commit.as_deref().map_or("no commit", short_commit).to_owned(),
            day: date::day(facts.time),
            none,
            reason: Phrase::default(),
        },
        Err(reason) => BaselineLine {
            place: place(suite),
            path: String::new(),
            commit: String::new(),
            day: String::new(),
            none,
            reason: Phrase::quoted(&reason.to_string()),
        },
    }
}

/// The events that the digest lists.
const MOST: usize = 8;

/// The events that stand, the worst first.
pub(super) fn group(catalog: &Catalog<'_>) -> EventGroup {
    let note = trend_summary::headline(catalog.trend)
        .text(" ")
        .link(link::EVENT_LIST, "All events")
        .text(", with those that may be chance or were taken back.")
        .then(event_list::feeds());
    let listed = catalog.trend.events.iter().filter(|one| trend_summary::is_listed(one));
    EventGroup::of(("events", "Events", note, "No event stands."), listed, MOST, catalog)
}
