//! The series without a page of their own: their data, and the page on which the script draws one of them.

use askama::Template;
use serde_json::{Map, Value, json};

use super::frame::prelude::*;
use super::frame::{Frame, page};
use super::series::Head;
use super::series_chart;
use crate::chart::{script, trend_chart};
use crate::compare::rounding::packed_spreads;
use crate::compare::script as data;
use crate::text::visible;
use sprag_model::SeriesAnalysis;

/// The series of a file, with or without a page, if they are not many more than a power of two.
const A_FILE: usize = 100;

/// The dots of a chart: of more runs several share one, so that a hundred thousand long series take some 80 MB.
const DOTS: usize = 100;

#[derive(Template)]
#[template(path = "view.html")]
struct ViewerPage {
    frame: Frame,
    sheet: Sheet,
    files: usize,
    dots: usize,
}

/// A series stays in its file as others come, unless the number of files doubles.
fn n_files(series: usize) -> usize {
    series.div_ceil(A_FILE).max(1).next_power_of_two()
}

/// The number of the file of a series, as `site/view.js` has it.
fn file_of(id: &str, files: usize) -> usize {
    id.bytes().fold(7, |sum, byte| (sum * 31 + usize::from(byte)) % 65_521) % files
}

pub(crate) fn viewer(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let list = Phrase::linked(link::SERIES_LIST, "list of series");
    let lede = Phrase::plain("This page shows a series of the ")
        .join(list)
        .text(" that has no page of its own, because it did not change.");
    let template = ViewerPage {
        frame: Frame::new(catalog, link::VIEWER, "Series", "A series that did not change", String::new()),
        sheet: Sheet {
            crumb: Phrase::linked(link::SERIES_LIST, "Series"),
            headline: "A series that did not change".into(),
            lede,
            ..Sheet::default()
        },
        files: n_files(catalog.analysis.series.len()),
        dots: DOTS,
    };
    page(link::VIEWER.to_owned(), &template)
}

/// The series by the file that has them.
pub(crate) fn files<'a>(catalog: &Catalog<'a>) -> Vec<(usize, Vec<&'a SeriesAnalysis>)> {
    let all = &catalog.analysis.series;
    let mut files: Vec<(usize, Vec<&SeriesAnalysis>)> =
        (0..n_files(all.len())).map(|number| (number, Vec::new())).collect();
    let count = files.len();
    all.iter().for_each(|one| files[file_of(&one.series.id, count)].1.push(one));
    files
}

/// Of the series with a page their ids, of the others what the page shows. Words and flags are numbered, as most are of several.
pub(crate) fn rest(catalog: &Catalog<'_>, (number, series): &(usize, Vec<&SeriesAnalysis>)) -> Page {
    let (own, others): (Vec<&SeriesAnalysis>, Vec<&SeriesAnalysis>) =
        series.iter().copied().partition(|one| catalog.has_page(&one.series.id));
    let (mut words, mut flags) = (Vec::new(), Vec::new());
    let of_series: Map<String, Value> =
        others.into_iter().map(|one| (one.series.id.clone(), shown(catalog, one, &mut words, &mut flags))).collect();
    let own: Vec<&str> = own.into_iter().map(|one| one.series.id.as_str()).collect();
    data::page(link::rest(*number), "rest", &json!({ "own": own, "words": words, "flags": flags, "series": of_series }))
}

fn numbered(all: &mut Vec<Value>, one: Value) -> usize {
    all.iter().position(|other| *other == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

/// The numbers of its headline, suite, machine and sentences; and its chart.
fn shown(catalog: &Catalog<'_>, of: &SeriesAnalysis, words: &mut Vec<Value>, flags: &mut Vec<Value>) -> Value {
    let series = &of.series;
    let head = Head::new(catalog, of);
    let mut trend = series_chart::trend(catalog, of, head.fit.as_ref(), &head.sentence, head.scale, false);
    let several = trend.dots.len().div_ceil(DOTS).max(1);
    trend.dots = trend_chart::pooled(&trend, several);
    let mut chart = script::value(&trend, series_chart::names_commits(catalog, &trend));
    let spreads: Vec<_> = trend.dots.iter().map(|dot| (dot.value, dot.interval)).collect();
    chart["medians"] = packed_spreads(&spreads);
    let of_flags = ["releases", "environments", "dates"].map(|name| chart[name].take());
    chart["flags"] = json!(numbered(flags, json!(of_flags)));
    chart["several"] = json!(several);
    if let Some(fields) = chart.as_object_mut() {
        // What is not there, the script assumes to be empty.
        fields.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
    }
    let texts = [head.headline.words(), series.suite.clone(), series.machine_name.clone()];
    let texts = texts.into_iter().chain(head.sentences.iter().map(Phrase::words));
    let texts = texts.filter(|text| !text.is_empty()).map(|text| numbered(words, json!(visible(&text))));
    json!([texts.collect::<Vec<usize>>(), chart])
}
