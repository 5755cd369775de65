//! The data as scripts: each calls one function of the site's script, so that a page that was opened from a folder has them without
//! fetching anything. Values come in chunks of [`CHUNK`] measured commits, counted from the oldest.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use super::commits::ComparedCommit;
use super::data::{Data, PointData, SeriesData};
use super::rounding::{in_units, packed};
use super::rule::{Levels, MOST_BACK, Outcome, Verdict, judge_levels};
use super::segments::Segment;
use super::{export, table, words};
use crate::{link, mark, text};
use sprag_model::{Metric, Page};

pub(super) const CHUNK: usize = MOST_BACK;

/// The most series whose data the page that compares loads at once; of more they come once a reader asks.
pub(crate) const AT_ONCE: usize = 150;

/// `pairs` are those of which the script gives a mean.
pub(crate) fn pages(data: &Data, pairs: &BTreeSet<(usize, usize)>) -> Vec<Page> {
    let scripted: Vec<&SeriesData> = data.scripted().collect();
    let all_series = scripted.par_iter().map(|one| series(data, one)).collect();
    let mut pages = vec![
        page(link::COMMITS_DATA.to_owned(), "commits", &commits(data, pairs)),
        page(link::SERIES_DATA.to_owned(), "series", &Value::Array(all_series)),
    ];
    let chunks = 0..data.commits.len().div_ceil(CHUNK);
    let chunk = |number| page(link::values(number), "chunk", &chunk(data, number));
    pages.par_extend(chunks.into_par_iter().map(chunk));
    pages
}

pub(crate) fn page(path: String, function: &str, value: &Value) -> Page {
    Page { path, bytes: format!("sprag.{function}({});\n", text::script(&value.to_string())).into_bytes() }
}

fn commits(data: &Data, pairs: &BTreeSet<(usize, usize)>) -> Value {
    let one = |commit: &ComparedCommit| {
        let ComparedCommit { sha, day, subject, tags, place, measured_before } = commit;
        match measured_before {
            None => json!([sha, day, subject, tags, place]),
            Some(before) => json!([sha, day, subject, tags, place, before]),
        }
    };
    let [commits, tagged]: [Vec<Value>; 2] = [&data.commits, &data.tagged].map(|of| of.iter().map(one).collect());
    let facts: BTreeSet<&str> = data.environments.values().flat_map(BTreeMap::keys).copied().collect();
    let facts: Vec<(&str, String)> = facts.into_iter().map(|name| (name, words::fact_name(name))).collect();
    let averages = pairs.par_iter().map(|(a, b)| (format!("{a} {b}"), json!(table::averages(data, (*a, *b)))));
    json!({
        "chunk": CHUNK,
        "averages": averages.collect::<Vec<(String, Value)>>().into_iter().collect::<Map<String, Value>>(),
        "commits": commits,
        "tagged": tagged,
        "environments": data.environments,
        "facts": facts,
        "words": said(data),
    })
}

/// The words of what the script counts and lays out, and the outcomes of series that no levels decide.
fn said(data: &Data) -> Value {
    let verdicts = [Verdict::MissingAtA, Verdict::MissingAtB, Verdict::MissingBetween, Verdict::NotComparable];
    let bare = |series: &SeriesData| verdicts.map(|verdict| outcome_value(data, series, &Outcome::bare(verdict)));
    json!({
        "unjudged": data.scripted().next().map(bare),
        "mixed": mark::words([Metric::peak_memory()].iter()),
        "groups": table::GROUPS,
        "auxiliary": table::AUXILIARY,
        "nothing": table::NOTHING_MEASURED,
        "noVerdict": table::NO_VERDICT,
        "noChange": table::NO_CHANGE,
        "unchanged": table::UNCHANGED,
        "detectable": table::DETECTABLE,
        "different": table::DIFFERENT,
        "noFact": words::NO_FACT,
        "unmeasured": export::UNMEASURED,
        "limits": export::AVERAGES_NOTE,
    })
}

fn series(data: &Data, one: &SeriesData) -> Value {
    let mut fields = json!({
        "id": one.id,
        "suite": one.suite,
        "benchmark": one.benchmark,
        "machine": one.machine,
        "machineName": one.machine_name,
        "metric": one.metric.name,
        "unit": one.metric.unit.symbol(),
        "words": mark::words([&one.metric].into_iter()),
        "auxiliary": one.auxiliary,
        "shows": one.shows,
    });
    for (name, value) in verdict_fields(data, one) {
        fields[name] = value;
    }
    if link::in_data(&one.page) != one.page {
        fields["viewed"] = json!(true);
    }
    if !one.dtype.is_empty() {
        fields["dtype"] = json!(one.dtype);
    }
    fields
}

/// The place of a point among the steps of its series decides its possible levels, so a series has few places, and each pair of
/// places has one verdict; in a drift the distance of the commits counts, too. `places` are the first points of all places but the
/// first, `outcomes` the possible ones, and `table` has for each pair of places the number of its outcome, or pairs of a distance
/// and the number from there on.
fn verdict_fields(data: &Data, series: &SeriesData) -> [(&'static str, Value); 3] {
    let steps = series.changes.iter().flat_map(|step| [step.at, step.first, step.last]);
    let places: BTreeSet<usize> = steps.collect();
    let reached = std::iter::once(0).chain(places.iter().map(|place| place + 1));
    let levels: Vec<Levels> = reached.map(|points| Levels::new(series, points)).collect();
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
    let places: Vec<Value> = places.into_iter().map(|place| point_value(&series.points, place)).collect();
    [("places", json!(places)), ("outcomes", json!(outcomes)), ("table", json!(table))]
}

/// The number of the commit of a point, and the environments of that commit before it.
fn point_value(points: &[PointData], place: usize) -> Value {
    let number = points[place].number;
    let first = points.partition_point(|point| point.number < number);
    std::iter::once(json!(number)).chain(points[first..place].iter().map(|point| json!(*point.environment))).collect()
}

/// Zero, and the distances from which on a drift moves as much as counts.
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

/// Kind, mark, reason, levels, change, the ends of its interval, and how many times what is detectable the change is.
fn outcome_value(data: &Data, series: &SeriesData, outcome: &Outcome<'_>) -> Value {
    let kind = words::kind(series, outcome);
    let mark = words::mark_of(series, kind);
    let (relative, interval) = words::shown_change(outcome);
    json!([
        kind,
        [mark.class(), mark.glyph, &mark.word],
        words::why(data, outcome),
        outcome.before,
        outcome.after,
        relative,
        interval.map(|(low, _)| low),
        interval.map(|(_, high)| high),
        words::times(series, relative),
    ])
}

type InChunk<'a> = Vec<(&'a SeriesData, &'a [PointData])>;

fn chunk(data: &Data, number: usize) -> Value {
    let begin = number * CHUNK;
    let mut places: BTreeMap<(&str, &str), InChunk<'_>> = BTreeMap::new();
    for one in data.scripted() {
        let from = one.points.partition_point(|point| point.number < begin);
        let to = one.points.partition_point(|point| point.number < begin + CHUNK);
        if from < to {
            places.entry((&one.suite, &one.machine)).or_default().push((one, &one.points[from..to]));
        }
    }
    let mut environments: Vec<&str> = Vec::new();
    let groups: Vec<Value> = places
        .into_iter()
        .map(|((suite, machine), series)| {
            let mut group = group(series, begin, &mut environments);
            (group["suite"], group["machine"]) = (json!(suite), json!(machine));
            group
        })
        .collect();
    json!({ "number": number, "environments": environments, "groups": groups })
}

/// A column for each commit and environment, and a number of each series in it.
fn group<'a>(mut series: InChunk<'a>, begin: usize, environments: &mut Vec<&'a str>) -> Value {
    let mut first: BTreeMap<(usize, &str), DateTime<Utc>> = BTreeMap::new();
    for point in series.iter().flat_map(|(_, points)| *points) {
        let time = first.entry((point.number, &point.environment)).or_insert(point.time);
        *time = point.time.min(*time);
    }
    let mut columns: Vec<(usize, &str)> = first.keys().copied().collect();
    columns.sort_by_key(|column| (column.0, first[column]));
    let mut place = |key: &'a str| {
        environments.iter().position(|one| *one == key).unwrap_or_else(|| {
            environments.push(key);
            environments.len() - 1
        })
    };
    let environment: Vec<usize> = columns.iter().map(|(_, key)| place(key)).collect();
    let at: Vec<usize> = columns.iter().map(|(number, _)| number - begin).collect();
    series.sort_by_key(|(one, _)| &one.id);
    let values: Map<String, Value> =
        series.into_iter().map(|(one, points)| (one.id.clone(), values(one, points, &columns))).collect();
    json!({ "at": at, "environment": environment, "series": values })
}

/// The values of a series: a power of ten, medians in units of it, the units of a step, and the spread in steps, packed.
fn values(one: &SeriesData, points: &[PointData], columns: &[(usize, &str)]) -> Value {
    let SeriesData { power, step, .. } = *one;
    let (mut medians, mut down, mut up) = (Vec::new(), Vec::new(), Vec::new());
    for (number, environment) in columns {
        let from = points.partition_point(|point| point.number < *number);
        let of_commit = points[from..].iter().take_while(|point| point.number == *number);
        // Of several runs of the newest commit the last one counts.
        let here = of_commit.filter(|point| *point.environment == **environment).last();
        let reach = |end: fn(&PointData, (f64, f64)) -> f64| {
            here.and_then(|point| Some(in_units(end(point, point.spread?), power) / step))
        };
        medians.push(here.map(|point| in_units(point.value, power)));
        down.push(reach(|point, (low, _)| point.value - low));
        up.push(reach(|point, (_, high)| high - point.value));
    }
    let [medians, lower, upper] = [&medians, &down, &up].map(|all| packed(all.iter().copied()));
    if down.iter().any(Option::is_some) { json!([power, medians, step, lower, upper]) } else { json!([power, medians]) }
}
