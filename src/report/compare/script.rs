//! The data as scripts: each calls one function of the site's script, so that a page that was opened from a folder has them
//! without fetching anything, and without a script in the page.
//!
//! Values come in chunks of [`CHUNK`] measured commits, counted from the oldest: a new commit changes the last chunk alone.
//! What may change of old commits (tags, the fit) stands in the other two files.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;
use serde_json::{Value, json};

use super::columns::Place;
use super::commits::ComparedCommit;
use super::data::{Data, SeriesData};
use super::rounding::scaled;
use super::rule::LOOK_BACK;
use super::verdicts;
use crate::compare::columns::PointData;
use crate::{link, mark, text};
use sprag_model::metric::Better;
use sprag_model::page::Page;

/// How many commits a chunk holds.
pub(super) const CHUNK: usize = LOOK_BACK;

/// How many digits at the end of the id of a series tell it from others.
const KEY: usize = 8;

pub(crate) fn pages(data: &Data) -> Vec<Page> {
    let mut pages = vec![
        page(link::COMMITS_DATA.to_owned(), "commits", &commits(data)),
        page(link::SERIES_DATA.to_owned(), "series", &series(data)),
    ];
    let chunks = 0..data.commits.len().div_ceil(CHUNK);
    let keys = keys(&data.series);
    let chunk = |number| page(link::values(number), "chunk", &chunk(data, &keys, number));
    pages.par_extend(chunks.into_par_iter().map(chunk));
    pages
}

/// The digits at the end of its id.
fn short(one: &SeriesData) -> &str {
    one.id.get(one.id.len().saturating_sub(KEY)..).unwrap_or(&one.id)
}

/// What a series is called in the chunks, by its id: the digits at its end, or where two have the same ones the whole id.
fn keys(series: &[SeriesData]) -> HashMap<&str, &str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    series.iter().for_each(|one| *counts.entry(short(one)).or_default() += 1);
    series.iter().map(|one| (&*one.id, if counts[short(one)] == 1 { short(one) } else { &*one.id })).collect()
}

/// A script that calls a function with a value.
fn page(path: String, function: &str, value: &Value) -> Page {
    Page { path, bytes: format!("sprag.{function}({});\n", text::script(&value.to_string())).into_bytes() }
}

fn commits(data: &Data) -> Value {
    let one = |commit: &ComparedCommit| {
        let ComparedCommit { sha, day, subject, tags, place, stands } = commit;
        match stands {
            None => json!([sha, day, subject, tags, place]),
            Some(stands) => json!([sha, day, subject, tags, place, stands]),
        }
    };
    let [commits, tagged]: [Vec<Value>; 2] = [&data.commits, &data.tagged].map(|of| of.iter().map(one).collect());
    json!({ "chunk": CHUNK, "commits": commits, "tagged": tagged, "environments": data.environments })
}

fn series(data: &Data) -> Value {
    Value::Array(data.series.par_iter().map(|one| one_series(data, one)).collect())
}

fn one_series(data: &Data, one: &SeriesData) -> Value {
    let mut fields = json!({
        "id": one.id,
        "suite": one.suite,
        "benchmark": one.benchmark,
        "machine": one.machine,
        "machineName": one.machine_name,
        "metric": one.metric.name,
        "unit": one.metric.unit.symbol(),
        "lower": one.metric.better == Better::Lower,
        "worse": mark::worse_word(&one.metric),
        "judged": one.judged,
        "auxiliary": one.auxiliary,
        "deviation": one.deviation,
        "shows": one.shows,
    });
    for (name, value) in verdicts::fields(data, one) {
        fields[name] = value;
    }
    if !one.dtype.is_empty() {
        fields["dtype"] = json!(one.dtype);
    }
    fields
}

/// A series with its points in a chunk.
type InChunk<'a> = (&'a SeriesData, Vec<&'a PointData>);

/// The values of the commits of a chunk: by suite and machine the columns, and for each series one number a column.
fn chunk(data: &Data, keys: &HashMap<&str, &str>, number: usize) -> Value {
    let begin = number * CHUNK;
    let commits = &data.commits[begin..data.commits.len().min(begin + CHUNK)];
    let mut places: BTreeMap<Place<'_>, Vec<InChunk<'_>>> = BTreeMap::new();
    for one in &data.series {
        // Columns stand in the order of their commits.
        let from = one.points.partition_point(|point| point.number < begin);
        let to = one.points.partition_point(|point| point.number < begin + commits.len());
        let points: Vec<&PointData> = one.points[from..to].iter().collect();
        if !points.is_empty() {
            places.entry((&one.suite, &one.machine)).or_default().push((one, points));
        }
    }
    let mut environments: Vec<&str> = Vec::new();
    let groups: Vec<Value> = places
        .into_iter()
        .map(|((suite, machine), all)| group(suite, machine, all, begin, &mut environments, keys))
        .collect();
    let shas: Vec<&str> = commits.iter().map(|commit| commit.sha.get(..12).unwrap_or(&commit.sha)).collect();
    json!({ "number": number, "commits": shas, "environments": environments, "groups": groups })
}

fn group<'a>(
    suite: &str,
    machine: &str,
    all: Vec<InChunk<'a>>,
    begin: usize,
    environments: &mut Vec<&'a str>,
    keys: &HashMap<&str, &str>,
) -> Value {
    // The points of a series stand in the order of their columns.
    let first = all.iter().map(|(_, points)| points[0].column).min().unwrap_or(0);
    let end = all.iter().map(|(_, points)| points[points.len() - 1].column + 1).max().unwrap_or(0);
    let mut columns: Vec<Option<(usize, &'a str)>> = vec![None; end - first];
    for point in all.iter().flat_map(|(_, points)| points) {
        columns[point.column - first] = Some((point.number - begin, &*point.environment));
    }
    let known_columns = || (first..end).zip(&columns).filter_map(|(number, column)| Some((number, (*column)?)));
    let mut present = |key: &'a str| match environments.iter().position(|one| *one == key) {
        Some(place) => place,
        None => {
            environments.push(key);
            environments.len() - 1
        }
    };
    let at: Vec<usize> = known_columns().map(|(_, (number, _))| number).collect();
    let environment: Vec<usize> = known_columns().map(|(_, (_, key))| present(key)).collect();
    let mut series = serde_json::Map::new();
    let mut in_order = all;
    in_order.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    for (one, points) in in_order {
        series.insert(keys[&*one.id].to_owned(), values(&points, known_columns().map(|(column, _)| column)));
    }
    json!({ "suite": suite, "machine": machine, "at": at, "environment": environment, "series": series })
}

/// The values of a series in those columns: a power of ten and the medians times that; where there is a spread, how far it reaches
/// down and up.
fn values(points: &[&PointData], columns: impl Iterator<Item = usize>) -> Value {
    let numbers = points.iter().flat_map(|point| {
        let (low, high) = point.spread.unwrap_or((point.value, point.value));
        [point.value, low, high]
    });
    let (power, overall) = scaled(&numbers.collect::<Vec<f64>>());
    let mut rest = points.iter().zip(overall.chunks_exact(3)).peekable();
    let (mut medians, mut down, mut up) = (Vec::new(), Vec::new(), Vec::new());
    for column in columns {
        // Of several runs of the newest commit the last one counts.
        let here = std::iter::from_fn(|| rest.next_if(|(point, _)| point.column == column)).last();
        medians.push(here.map(|(_, overall)| overall[0]));
        let spread = here.filter(|(point, _)| point.spread.is_some());
        down.push(spread.map(|(_, overall)| overall[0] - overall[1]));
        up.push(spread.map(|(_, overall)| overall[2] - overall[0]));
    }
    match down.iter().any(Option::is_some) {
        true => json!([power, medians, down, up]),
        false => json!([power, medians]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::sample_data;

    #[test]
    fn series_with_the_same_digits_keep_their_ids() {
        let sample = sample_data::rich();
        let heads = sample.heads();
        let mut series = Data::new(&Catalog::new(&sample.input(&heads))).series;
        let ids = ["a-01234567", "b-01234567", "c-89abcdef", "x"];
        series.truncate(ids.len());
        series.iter_mut().zip(ids).for_each(|(one, id)| one.id = id.to_owned());
        let keys = keys(&series);
        assert_eq!(ids.map(|id| keys[id]), ["a-01234567", "b-01234567", "89abcdef", "x"]);
    }
}
