//! The list of series, by suite, metric and machine.

use std::collections::BTreeMap;

use askama::Template;

use super::cell::{self, Change, Judgement, MetricRows};
use super::frame::{Frame, Part, page};
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::order::natural;
use crate::phrase::Phrase;
use crate::text::short_benchmark;
use crate::{ReportError, Settings, date, link, number};
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::metric::Metric;
use sprag_model::page::Page;
use sprag_model::unit::Scale;

/// The series that the list shows, so that it stays below a megabyte.
const ROWS: usize = 1000;

#[derive(Template)]
#[template(path = "series_list.html")]
struct SeriesListPage {
    frame: Frame,
    headline: String,
    lede: String,
    /// The files of all values, where the project publishes them.
    downloads: Phrase,
    suites: Vec<SuiteList>,
}

struct SuiteList {
    id: String,
    name: String,
    matrix: String,
    groups: Vec<Group>,
}

struct Group {
    heading: String,
    count: String,
    rows: Vec<Row>,
}

struct Row {
    benchmark: String,
    page: String,
    machine: String,
    value: String,
    spark: String,
    points: String,
    day: String,
    change: Change,
    mark: Mark,
}

pub(crate) fn series_list(catalog: &Catalog<'_>, settings: &Settings) -> Result<Page, ReportError> {
    let all = &catalog.analysis.series;
    let mut by_suite: BTreeMap<&str, Vec<&SeriesAnalysis>> = BTreeMap::new();
    for series in all {
        by_suite.entry(&series.series.suite).or_default().push(series);
    }
    let mut left = ROWS;
    let suites = by_suite
        .into_iter()
        .enumerate()
        .map(|(position, (name, mut series))| {
            series.sort_by(|a, b| order(a, b));
            series.truncate(left);
            left -= series.len();
            let (beside, kernels) = series.into_iter().partition(|series| series.series.is_auxiliary());
            SuiteList {
                id: format!("suite-{}", position + 1),
                name: name.to_owned(),
                matrix: if catalog.matrix_suites.contains(name) { link::matrix(name) } else { String::new() },
                groups: groups(catalog, kernels, cell::metric_words)
                    .chain(groups(catalog, beside, cell::auxiliary_words))
                    .collect(),
            }
        })
        .collect();
    let judged = all.iter().filter(|series| series.judged).count();
    let headline = number::counted(all.len(), "series", "series");
    let rest = match all.iter().all(|series| series.series.role.is_tracked()) {
        true => "one metric a benchmark; the others are shown for the reader.",
        false => {
            "one metric of each benchmark that is tracked. Its other metrics, and all of controls, calibration kernels and \
             kernels on several threads, are shown for the reader."
        }
    };
    let mut lede = format!("{} judged, {rest}", number::counted(judged, "is", "are"));
    if all.len() > ROWS {
        lede += &format!(" Only the first {} are listed; the pages of the runs lead to the rest.", number::count(ROWS));
    }
    let frame = Frame::new(catalog, link::SERIES_LIST, Part::Series, "Series".to_owned(), headline.clone());
    page(
        link::SERIES_LIST.to_owned(),
        &SeriesListPage { frame, headline, lede, downloads: downloads(settings), suites },
    )
}

fn downloads(settings: &Settings) -> Phrase {
    let [first, rest @ ..] = settings.downloads.as_slice() else { return Phrase::default() };
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let begun = Phrase::plain("All values, for other programs: ").link(first.0.clone(), name(&first.0));
    rest.iter().fold(begun, |words, (path, _)| words.text(", ").link(path.clone(), name(path))).text(".")
}

/// The series by metric and prefix; `words` gives the heading of a group.
fn groups(
    catalog: &Catalog<'_>,
    series: Vec<&SeriesAnalysis>,
    words: fn(&Metric, Scale) -> String,
) -> impl Iterator<Item = Group> {
    let groups = cell::by_metric(series, |series| (series.series.metric.clone(), Some(series.latest.current)));
    groups.into_iter().map(move |MetricRows { metric, scale, rows }| Group {
        heading: words(&metric, scale),
        count: number::count(rows.len()),
        rows: rows.into_iter().map(|series| row(catalog, series, scale)).collect(),
    })
}

fn order(a: &SeriesAnalysis, b: &SeriesAnalysis) -> std::cmp::Ordering {
    (a.series.is_auxiliary().cmp(&b.series.is_auxiliary()))
        .then_with(|| b.judged.cmp(&a.judged))
        .then_with(|| a.series.metric.name.cmp(&b.series.metric.name))
        .then_with(|| natural(&a.series.benchmark, &b.series.benchmark))
        .then_with(|| a.series.machine_name.cmp(&b.series.machine_name))
        .then_with(|| a.series.id.cmp(&b.series.id))
}

fn row(catalog: &Catalog<'_>, series: &SeriesAnalysis, scale: Scale) -> Row {
    let judgement = series.comparison.as_ref().map(Judgement::new);
    let plain = |word: &str| Mark::new(Tone::Plain, "–", word);
    let (change, mark) = match judgement {
        Some(judgement) => (judgement.change, judgement.mark),
        None if series.at_tip => (Change::plain(series.latest.change_baseline), plain("not judged")),
        None => (Change::plain(None), plain("not in the newest run")),
    };
    Row {
        benchmark: short_benchmark(&series.series.benchmark).to_owned(),
        page: link::series(&series.series.id),
        machine: series.series.machine_name.clone(),
        value: number::value(scale, series.latest.current),
        spark: catalog.fit(&series.series.id).map_or(String::new(), |fit| cell::fit_sparkline(series, Some(&fit))),
        points: number::count(series.latest.points),
        day: series.series.newest().map_or(String::new(), |point| date::day(point.time)),
        change,
        mark,
    }
}
