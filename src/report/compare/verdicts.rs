//! The verdicts of a series for any two of its points, as the script of the site looks them up.
//!
//! Where a point lies among the steps of its series decides which levels it may lie in. All points between two steps are alike, so
//! a series has few places, and each pair of places has one verdict. Where both lie in a drift, how many commits they are apart
//! counts, too.

use serde_json::{Value, json};

use super::data::{Data, SeriesData};
use super::rule::{Levels, Outcome, judge_levels};
use super::segments::{Segment, Spot};
use super::words;

/// The fields of a series in the data of the script: `places` are the first points of all places but the first, `outcomes` what can
/// be said, and `table` has for each pair of places the number of its outcome, or pairs of a distance and the number from there on.
pub(super) fn fields(data: &Data, series: &SeriesData) -> [(&'static str, Value); 3] {
    let mut places: Vec<&Spot> = series.changes.iter().flat_map(|step| [&step.at, &step.first, &step.last]).collect();
    places.sort_by_key(|spot| order(spot));
    places.dedup();
    let levels: Vec<Levels> = (0..=places.len())
        .map(|place| Levels::new(series, |spot| places[..place].iter().any(|reached| order(reached) == order(spot))))
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
    let places: Vec<Value> = places.into_iter().map(spot).collect();
    [("places", json!(places)), ("outcomes", json!(outcomes)), ("table", json!(table))]
}

/// By what points of a series are ordered: its commit, and how many of the environments of that come before.
fn order(spot: &Spot) -> (usize, usize) {
    (spot.number, spot.before.len())
}

/// The number of the commit, and the environments of it that come before.
fn spot(spot: &Spot) -> Value {
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
