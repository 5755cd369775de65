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
use super::rule::{LOOK_BACK, Levels, Outcome, judge_levels};
use super::segments::{Segment, Spot};
use super::words;
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
    for (name, value) in verdict_fields(data, one) {
        fields[name] = value;
    }
    if !one.dtype.is_empty() {
        fields["dtype"] = json!(one.dtype);
    }
    fields
}

// Where a point lies among the steps of its series decides which levels it may lie in. All points between two steps are alike,
// so a series has few places, and each pair of places has one verdict. Where both lie in a drift, how many commits they are
// apart counts, too.

/// The fields of a series in the data of the script: `places` are the first points of all places but the first, `outcomes` what can
/// be said, and `table` has for each pair of places the number of its outcome, or pairs of a distance and the number from there on.
fn verdict_fields(data: &Data, series: &SeriesData) -> [(&'static str, Value); 3] {
    let mut places: Vec<&Spot> = series.changes.iter().flat_map(|step| [&step.at, &step.first, &step.last]).collect();
    places.sort_by_key(|spot| spot_order(spot));
    places.dedup();
    let levels: Vec<Levels> = (0..=places.len())
        .map(|place| {
            Levels::new(series, |spot| places[..place].iter().any(|reached| spot_order(reached) == spot_order(spot)))
        })
        .collect();
    let distances = distances(series, data.commits.len());
    let mut outcomes: Vec<Value> = Vec::new();
    let mut number = |outcome: &Outcome<'_>| {
        let value = outcome_value(data, series, outcome);
        outcomes.iter().position(|one| *one == value).unwrap_or_else(|| {
            outcomes.push(value);
            outcomes.len() - 1
        })
    };
    let mut cell = |a: &Levels, b: &Levels| {
        let mut numbers: Vec<(usize, usize)> = Vec::new();
        for apart in &distances {
            let number = number(&judge_levels(series, a, b, *apart));
            if numbers.last().is_none_or(|(_, last)| *last != number) {
                numbers.push((*apart, number));
            }
        }
        if let [(_, number)] = numbers[..] { json!(number) } else { json!(numbers) }
    };
    let table: Vec<Vec<Value>> = levels.iter().map(|a| levels.iter().map(|b| cell(a, b)).collect()).collect();
    let places: Vec<Value> = places.into_iter().map(spot_value).collect();
    [("places", json!(places)), ("outcomes", json!(outcomes)), ("table", json!(table))]
}

/// By what points of a series are ordered: its commit, and how many of the environments of that come before.
fn spot_order(spot: &Spot) -> (usize, usize) {
    (spot.number, spot.before.len())
}

/// The number of the commit, and the environments of it that come before.
fn spot_value(spot: &Spot) -> Value {
    std::iter::once(json!(spot.number)).chain(spot.before.iter().map(|key| json!(key))).collect()
}

/// The distances from which on a drift moves as much as counts, and zero; those of more commits than there are never occur.
fn distances(series: &SeriesData, commits: usize) -> Vec<usize> {
    let of_drift = |segment: &Segment| match segment {
        Segment::Drift(Some(pace)) => (1..commits).find(|apart| pace * *apart as f64 >= series.least),
        _ => None,
    };
    let mut distances: Vec<usize> = series.levels.iter().filter_map(of_drift).chain([0]).collect();
    distances.sort_unstable();
    distances.dedup();
    distances
}

/// Kind, mark, reason, the levels at both points, the change and the ends of its interval where these are shown.
fn outcome_value(data: &Data, series: &SeriesData, outcome: &Outcome<'_>) -> Value {
    let (kind, up) = words::kind(series, outcome);
    let mark = words::mark_of(series, kind, up);
    let is_shown = words::is_changed(outcome);
    let interval = outcome.interval.filter(|_| is_shown);
    json!([
        kind,
        [mark.class(), mark.glyph, &mark.word],
        words::why(data, outcome),
        outcome.before,
        outcome.after,
        outcome.relative.filter(|_| is_shown),
        interval.map(|(low, _)| low),
        interval.map(|(_, high)| high),
    ])
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
