//! All events: what stands, what may be chance, what was taken back, what the environment did, drifts, and newest points that
//! lie apart.

use askama::Template;

use super::cell::Change;
use super::event_rows::EventGroup;
use super::frame::{Frame, Part, page};
use crate::catalog::Catalog;
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use crate::trend::{summary, tables, words};
use crate::{ReportError, link};
use sprag_model::event::{Event, EventKind, EventState};
use sprag_model::page::Page;
use sprag_model::trend::{ApartSeries, NewestApart};

/// The events that a group lists.
const MOST_EVENTS: usize = 100;

/// The commits with points that lie apart that are told of.
const MOST_APART: usize = 40;

/// The series of each that are listed.
const MOST_SERIES: usize = 40;

#[derive(Template)]
#[template(path = "event_list.html")]
struct EventListPage {
    frame: Frame,
    headline: Phrase,
    lede: Phrase,
    stale: Vec<Phrase>,
    groups: Vec<EventGroup>,
    apart: Vec<Apart>,
    apart_rest: String,
}

struct Apart {
    head: Phrase,
    rows: Vec<ApartRow>,
    rest: String,
    command: String,
}

struct ApartRow {
    benchmark: String,
    page: String,
    metric: String,
    values: String,
    change: Change,
    way: &'static str,
    runs: String,
}

pub(crate) fn event_list(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let trend = catalog.trend;
    let headline = summary::headline(trend);
    let more = trend.newest.len().saturating_sub(MOST_APART);
    let template = EventListPage {
        frame: Frame::new(catalog, link::EVENT_LIST, Part::Events, "Events".to_owned(), headline.words()),
        headline,
        lede: lede(catalog),
        stale: summary::stale(trend),
        groups: groups(catalog),
        apart: trend.newest.iter().take(MOST_APART).map(|one| apart(one, catalog)).collect(),
        apart_rest: if more > 0 { format!("{} more are not listed here.", count(more)) } else { String::new() },
    };
    page(link::EVENT_LIST.to_owned(), &template)
}

/// What an event is, and how often one is none.
fn lede(catalog: &Catalog<'_>) -> Phrase {
    let budget = &catalog.trend.budget;
    let mut lede = "An event is one cause with all the series that it moved for good.".to_owned();
    if budget.points > 0 {
        lede += &format!(
            " Among {} looked at, {} false {} allowed; of the events called sure, {} at most may be chance.",
            counted(budget.points, "point", "points"),
            number::fixed(budget.expected, 1),
            if budget.expected == 1.0 { "alarm is" } else { "alarms are" },
            number::percent_size(budget.false_discovery)
        );
    }
    Phrase::plain(lede).then(feeds())
}

/// Where those who want to hear of new events find them.
pub(super) fn feeds() -> Phrase {
    Phrase::plain("Feeds: ").link(link::ATOM_FEED, "Atom").text(", ").link(link::JSON_FEED, "JSON").text(".")
}

fn groups(catalog: &Catalog<'_>) -> Vec<EventGroup> {
    let group = |words: (&'static str, &'static str, &'static str, &'static str), is: &dyn Fn(&Event) -> bool| {
        let (id, heading, note, nothing) = words;
        let events = catalog.trend.events.iter().filter(|one| is(one));
        EventGroup::of((id, heading, Phrase::plain(note), nothing), events, MOST_EVENTS, catalog)
    };
    vec![
        group(
            (
                "stands",
                "What stands",
                "Changes of level that still hold, the worst first.",
                "No change of level stands.",
            ),
            &|one| summary::is_listed(one) && one.kind == EventKind::Change,
        ),
        group(
            (
                "chance",
                "May be chance",
                "More of what is as clear as these is chance than is allowed; more runs tell.",
                "No event may be chance.",
            ),
            &|one| !one.sure,
        ),
        group(("gone", "Taken back", "A later event brought the levels back.", "No event was taken back."), &|one| {
            one.sure && one.state != EventState::Standing
        }),
        group(
            (
                "machines",
                "Environment",
                "The machine, or what is installed on it, changed: no commit is to blame.",
                "No event is put down to the environment.",
            ),
            &|one| summary::is_listed(one) && one.kind == EventKind::Environment,
        ),
        group(
            (
                "drifts",
                "Drifts",
                "Levels that moved evenly over many commits: none of these is to blame alone.",
                "No series drifted.",
            ),
            &|one| summary::is_listed(one) && one.kind == EventKind::Drift,
        ),
    ]
}

fn apart(of: &NewestApart, catalog: &Catalog<'_>) -> Apart {
    let more = of.series.len().saturating_sub(MOST_SERIES);
    Apart {
        head: tables::head(of),
        rows: of.series.iter().take(MOST_SERIES).map(|one| apart_row(one, catalog)).collect(),
        rest: if more > 0 { format!("{} more are not listed here.", count(more)) } else { String::new() },
        command: words::shell_line(&of.command).unwrap_or_default(),
    }
}

fn apart_row(of: &ApartSeries, catalog: &Catalog<'_>) -> ApartRow {
    ApartRow {
        benchmark: words::name(&of.benchmark),
        page: catalog.series_page(&of.series).unwrap_or_default(),
        metric: words::name(&of.metric.name),
        values: words::values(of.metric.unit, of.level.value, of.value),
        change: Change { class: "doubt", figure: tables::change(of) },
        way: words::way(&of.metric, of.worse),
        runs: count(of.runs),
    }
}
