//! What is examined for changes, and what not and why: by suite and machine, and each series that is not.

use std::collections::BTreeMap;

use super::frame::prelude::*;
use crate::fit::why_not_judged;
use crate::order::natural;
use crate::trend::reason;
use sprag_model::trend::Due;
use sprag_model::{SeriesTrend, Trend};

/// The series that are named with their reasons.
const ROWS: usize = 1000;

pub(crate) fn coverage(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let trend = catalog.trend;
    let (judged, total) = (trend.coverage.judged, trend.coverage.total);
    let headline = match total - judged {
        0 if total == 0 => "No series yet, so nothing is examined".to_owned(),
        0 => format!("All of {} examined", counted(total, "series is", "series are")),
        rest => {
            let reasons = if rest == 1 { "with its reason" } else { "each with its reason" };
            format!("{} of {} series examined; {} not, {reasons}", count(judged), count(total), count(rest))
        }
    };
    let sheet = Sheet {
        headline: headline.into(),
        lede: lede(trend, judged),
        sections: places(catalog).into_iter().chain([unjudged(catalog)]).collect(),
        ..Sheet::default()
    };
    history_page(catalog, (link::COVERAGE, "Coverage"), "Coverage", sheet)
}

fn lede(trend: &Trend, judged: usize) -> Phrase {
    let lede = match trend.schedule.iter().filter(|due| due.stale).count() {
        0 => {
            let day = trend.as_of.map_or(String::new(), date::day);
            Phrase::plain(format!("No suite is overdue, seen from the newest run on {day}."))
        }
        some => Phrase::default()
            .strong(format!("{} stale", counted(some, "suite is", "suites are")))
            .text(": its present state is unknown."),
    };
    lede.text(format!(
        " A trend without an event shows no change only where it is examined: in {}.",
        counted(judged, "series", "series")
    ))
}

fn is_judged(one: &SeriesTrend) -> bool {
    one.not_judged.is_empty()
}

fn places(catalog: &Catalog<'_>) -> Option<Section> {
    let mut series: BTreeMap<(&str, &str), Vec<&SeriesTrend>> = BTreeMap::new();
    for one in &catalog.trend.series {
        series.entry((&one.suite, &one.machine.id)).or_default().push(one);
    }
    let of_place =
        |due: &'_ Due| series.get(&(due.suite.as_str(), due.machine.id.as_str())).cloned().unwrap_or_default();
    let rows = catalog.trend.schedule.iter().map(|due| (due, of_place(due)));
    let judged = |all: &[&SeriesTrend]| all.iter().filter(|one| is_judged(one)).count();
    let note = "Detectable: the minimum detectable effect, the median over the series. It is the smallest change that shows in four \
                cases of five once eight points are measured after it. A series can have several reasons.";
    Rows::new("Examined series by suite and machine", rows)
        .column("Suite", "", |(due, _)| due.suite.clone())
        .column("Machine", "place", |(due, _)| {
            Phrase::default().to(catalog.machine_page(&due.machine.id), due.machine.name.clone())
        })
        .column("Examined", "n", |(_, all)| count(judged(all)))
        .column("Of", "n named", |(_, all)| count(all.len()))
        .column("Share", "n opt2", |(_, all)| {
            or_none((!all.is_empty()).then(|| judged(all) as f64 / all.len() as f64), percent_size)
        })
        .column("Detectable", "n opt2", |(_, all)| {
            cell::median_detectable(all.iter().filter(|one| is_judged(one)).filter_map(|one| one.detectable))
        })
        .column("Not examined, and why", "full any", |(_, all)| reasons(all))
        .column("Newest run, UTC", "nb opt", |(due, _)| date::moment(due.newest))
        .column("Schedule at the newest run", "", |(due, _)| match due.stale {
            true => {
                let days = counted(due.days.max(0) as usize, "day", "days");
                Mark::new(Tone::Doubt, "?", format!("{days} old"))
            }
            false => Mark::new(Tone::Plain, "✓", "in time"),
        })
        .section("places", "By suite and machine", note, "")
        .unless_empty()
}

fn reasons(all: &[&SeriesTrend]) -> String {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for one in all.iter().flat_map(|one| &one.not_judged) {
        *reasons.entry(one.word()).or_default() += 1;
    }
    let words =
        |(word, series): (&&str, &usize)| format!("{}: {}", counted(*series, "series", "series"), reason(word).0);
    match (all.is_empty(), reasons.is_empty()) {
        (true, _) => "it has no series".to_owned(),
        (_, true) => "all examined".to_owned(),
        _ => reasons.iter().map(words).collect::<Vec<String>>().join("; "),
    }
}

fn unjudged(catalog: &Catalog<'_>) -> Section {
    let mut groups: BTreeMap<(&str, &str, &str), Vec<&SeriesTrend>> = BTreeMap::new();
    let all: Vec<&SeriesTrend> = catalog.trend.series.iter().filter(|one| !is_judged(one)).collect();
    for one in all.iter().take(ROWS) {
        groups.entry((&one.suite, &one.machine.name, &one.machine.id)).or_default().push(one);
    }
    let group = |((suite, machine, _), mut series): ((&str, &str, &str), Vec<_>)| {
        series.sort_by(|a: &&SeriesTrend, b| natural(&a.benchmark, &b.benchmark).then_with(|| a.series.cmp(&b.series)));
        (format!("{suite} on {machine}"), series)
    };
    let what = |one: &&SeriesTrend| {
        let all = one.not_judged.iter().map(|one| reason(one.word()).1);
        all.reduce(|words, next| words.text("; ").join(next)).unwrap_or_default()
    };
    Rows::grouped("Series that are not examined, with the reason", groups.into_iter().map(group))
        .column("Benchmark", "full", |one| {
            Phrase::page_name(catalog.series_page(&one.series), crate::text::decoded(&one.benchmark))
        })
        .column("Metric", "any", |one| one.metric.name.clone())
        .column("Why not", "full any", |one| {
            one.not_judged.iter().map(why_not_judged).collect::<Vec<String>>().join("; ")
        })
        .column("What to do", "opt", what)
        .section("unjudged", "Not examined", "", "Every series is examined.")
        .paragraph(number::beyond(
            all.len(),
            ROWS,
            "more are not listed here; the page of each series has its reasons.",
        ))
        .paragraph(left_out(catalog.trend))
}

fn left_out(trend: &Trend) -> String {
    let part = |of: fn(&SeriesTrend) -> usize, what: &str| {
        let runs: Vec<usize> = trend.series.iter().map(of).filter(|runs| *runs > 0).collect();
        let most = counted(*runs.iter().max()?, "run", "runs");
        Some(format!("up to {most} {what} in each of {}", counted(runs.len(), "series", "series")))
    };
    let dirty = part(|one| one.dirty, "with uncommitted changes");
    let elsewhere = part(|one| one.elsewhere, "of commits that are not on the branch");
    let parts: Vec<String> = dirty.into_iter().chain(elsewhere).collect();
    if parts.is_empty() { String::new() } else { format!("Left out: {}.", parts.join("; ")) }
}
