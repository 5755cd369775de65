//! What is judged, and what not and why: by suite and machine, and each series that is not.

use std::collections::BTreeMap;

use askama::Template;

use super::cell;
use super::frame::{Frame, Part, page};
use crate::catalog::Catalog;
use crate::fit::why_not_judged;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::order::natural;
use crate::phrase::Phrase;
use crate::trend::reason;
use crate::{ReportError, date, link};
use sprag_model::page::Page;
use sprag_model::trend::{SeriesTrend, Trend};

/// The series that are named with their reasons, so that the page stays below a megabyte.
const ROWS: usize = 1000;

#[derive(Template)]
#[template(path = "coverage.html")]
struct CoveragePage {
    frame: Frame,
    headline: String,
    lede: Phrase,
    places: Vec<Place>,
    groups: Vec<Group>,
    rest: String,
    left_out: String,
}

/// A suite on a machine.
struct Place {
    suite: String,
    machine: String,
    machine_page: String,
    judged: String,
    of: String,
    share: String,
    reasons: String,
    could_see: String,
    newest: String,
    due: Mark,
}

/// The series of a suite on a machine that are not judged.
struct Group {
    heading: String,
    count: String,
    rows: Vec<Row>,
}

/// A series that is not judged.
struct Row {
    benchmark: String,
    page: String,
    metric: String,
    why: Vec<String>,
    what: Vec<Phrase>,
}

/// The page that says what is judged.
pub(crate) fn coverage(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let trend = catalog.trend;
    let (judged, total) = (trend.coverage.judged, trend.coverage.total);
    let headline = match total - judged {
        0 if total == 0 => "No series yet, so nothing is judged".to_owned(),
        0 => format!("All of {} judged", counted(total, "series is", "series are")),
        rest => {
            let reasons = if rest == 1 { "with its reason" } else { "each with its reason" };
            format!("{} of {} series judged; {} not, {reasons}", count(judged), count(total), count(rest))
        }
    };
    let unjudged: Vec<&SeriesTrend> = trend.series.iter().filter(|one| !one.not_judged.is_empty()).collect();
    let template = CoveragePage {
        frame: Frame::new(catalog, link::COVERAGE, Part::Coverage, "Coverage".to_owned(), headline.clone()),
        headline,
        lede: lede(trend, judged),
        places: places(catalog),
        rest: match unjudged.len().saturating_sub(ROWS) {
            0 => String::new(),
            more => {
                format!("{} are not named here; the pages of the series tell of them.", counted(more, "more", "more"))
            }
        },
        groups: groups(&unjudged[..unjudged.len().min(ROWS)], catalog),
        left_out: left_out(trend),
    };
    page(link::COVERAGE.to_owned(), &template)
}

fn lede(trend: &Trend, judged: usize) -> Phrase {
    let stale = trend.schedule.iter().filter(|due| due.stale).count();
    let lede = match stale {
        0 => Phrase::plain("No suite is older than the schedule allows."),
        some => Phrase::default()
            .strong(format!("{} stale", counted(some, "suite is", "suites are")))
            .text(": what they would show now is not known."),
    };
    lede.text(format!(" “Nothing changed” on any page speaks of the {} alone.", counted(judged, "series", "series")))
}

fn places(catalog: &Catalog<'_>) -> Vec<Place> {
    let mut series: BTreeMap<(&str, &str), Vec<&SeriesTrend>> = BTreeMap::new();
    for one in &catalog.trend.series {
        series.entry((&one.suite, &one.machine.id)).or_default().push(one);
    }
    let place = |due: &sprag_model::trend::Due| {
        let none = Vec::new();
        let all = series.get(&(due.suite.as_str(), due.machine.id.as_str())).unwrap_or(&none);
        let judged = all.iter().filter(|one| one.not_judged.is_empty()).count();
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for one in all.iter().flat_map(|one| &one.not_judged) {
            *reasons.entry(one.word()).or_default() += 1;
        }
        let words: Vec<String> = reasons
            .iter()
            .map(|(word, series)| format!("{}: {}", counted(*series, "series", "series"), reason(word).0))
            .collect();
        Place {
            suite: due.suite.clone(),
            machine: due.machine.name.clone(),
            machine_page: catalog.machine_page(&due.machine.id).unwrap_or_default(),
            judged: count(judged),
            of: count(all.len()),
            share: match all.len() {
                0 => number::NONE.to_owned(),
                all => number::percent_size(judged as f64 / all as f64),
            },
            reasons: match (words.is_empty(), all.is_empty()) {
                (_, true) => "it has no series".to_owned(),
                (true, _) => "all judged".to_owned(),
                _ => words.join("; "),
            },
            could_see: cell::could_see(all.iter().filter_map(|one| one.detectable)),
            newest: date::moment(due.newest),
            due: match due.stale {
                true => Mark::new(Tone::Doubt, "?", format!("{} old", counted(days(due.days), "day", "days"))),
                false => Mark::new(Tone::Plain, "✓", "in time"),
            },
        }
    };
    catalog.trend.schedule.iter().map(place).collect()
}

fn days(days: i64) -> usize {
    days.max(0) as usize
}

fn row(one: &SeriesTrend, catalog: &Catalog<'_>) -> Row {
    Row {
        benchmark: one.benchmark.clone(),
        page: catalog.series_page(&one.series).unwrap_or_default(),
        metric: one.metric.name.clone(),
        why: one.not_judged.iter().map(why_not_judged).collect(),
        what: one.not_judged.iter().map(|one| reason(one.word()).1).collect(),
    }
}

fn groups(series: &[&SeriesTrend], catalog: &Catalog<'_>) -> Vec<Group> {
    let mut places: BTreeMap<(&str, &str, &str), Vec<&SeriesTrend>> = BTreeMap::new();
    for one in series {
        places.entry((&one.suite, &one.machine.name, &one.machine.id)).or_default().push(one);
    }
    let group = |((suite, machine, _), mut series): ((&str, &str, &str), Vec<&SeriesTrend>)| {
        series.sort_by(|a, b| natural(&a.benchmark, &b.benchmark).then_with(|| a.series.cmp(&b.series)));
        Group {
            heading: format!("{suite} on {machine}"),
            count: count(series.len()),
            rows: series.into_iter().map(|one| row(one, catalog)).collect(),
        }
    };
    places.into_iter().map(group).collect()
}

/// What was left out of series, in a sentence; empty where nothing was.
fn left_out(trend: &Trend) -> String {
    let sum = |of: fn(&SeriesTrend) -> usize| {
        let all: Vec<usize> = trend.series.iter().map(of).filter(|runs| *runs > 0).collect();
        (all.len(), all.iter().copied().max().unwrap_or(0))
    };
    let part = |(series, most): (usize, usize), what: &str| {
        (series > 0).then(|| {
            format!("of {} up to {} {what}", counted(series, "series", "series"), counted(most, "run", "runs"))
        })
    };
    let parts: Vec<String> = [
        part(sum(|one| one.dirty), "of trees that differ from their commit"),
        part(sum(|one| one.elsewhere), "of commits that are not on the line"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { String::new() } else { format!("Left out: {}.", parts.join("; ")) }
}
