//! Change points of a table of time series, as JSON.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;

use crate::text;
use sprag_analysis::changes::context::Context;
use sprag_analysis::changes::detect::{FEWEST_POINTS, changes_in_context};
use sprag_analysis::changes::exact;
use sprag_analysis::changes::sensitivity::Sensitivity;
use sprag_formats::series_table::{SeriesTable, TableSeries};
use sprag_model::{Changes, Modes};

#[derive(Serialize)]
struct SeriesChanges {
    changes: Vec<u64>,
    drifts: Vec<[u64; 2]>,
    ranges: Vec<[u64; 2]>,
    /// The levels before and after each change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<[f64; 2]>,
    /// Where the series alternates between two levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modes: Vec<Modes>,
}

/// What is found in each series, or where `each_prefix` is set in each of its prefixes. Warns of what was left out.
pub fn changes_json(
    table: &SeriesTable,
    each_prefix: bool,
    sensitivity: &Sensitivity,
    context: &Context<'_>,
) -> serde_json::Result<Vec<u8>> {
    warn_of(table);
    let changes_in = |series: &TableSeries, count: usize| changes(series, count, sensitivity, context);
    if each_prefix {
        serde_json::to_vec(&each(table, |series| growing(series, |count| changes_in(series, count))))
    } else {
        serde_json::to_vec(&each(table, |series| series_changes(series, &changes_in(series, series.values.len()))))
    }
}

fn warn_of(table: &SeriesTable) {
    let warn = |count: usize, noun: &str, words: &str| {
        if count > 0 {
            let counted = if noun == "series" { format!("{count} series") } else { text::count(count, noun) };
            text::warn(&format!("{counted} {words}"));
        }
    };
    warn(table.without_value, "row", "without a finite value left out");
    warn(table.pooled, "row", "with the index of another row: the median of an index is used");
    warn(table.unordered, "series", "with rows out of order: they are sorted by index");
    let short = table.series.iter().filter(|series| series.values.len() < FEWEST_POINTS).count();
    warn(short, "series", &format!("of fewer than {FEWEST_POINTS} points, too few to find changes in"));
}

fn each<T: Send>(table: &SeriesTable, of: impl Fn(&TableSeries) -> T + Sync) -> BTreeMap<&str, T> {
    table.series.par_iter().map(|series| (series.name.as_str(), of(series))).collect()
}

fn changes(series: &TableSeries, count: usize, sensitivity: &Sensitivity, context: &Context<'_>) -> Changes {
    let values = &series.values[..count];
    let is_exact = series.exact.contains(&count) && exact::is_steady(values);
    if is_exact { exact::joined_changes(values, sensitivity) } else { changes_in_context(values, sensitivity, context) }
}

fn series_changes(series: &TableSeries, changes: &Changes) -> SeriesChanges {
    let index = |place: usize| series.indices[place];
    // The end of a ramp is the first point after it, which may not exist.
    let end = |place: usize| series.indices.get(place).copied().unwrap_or_else(|| index(place - 1) + 1);
    // The change may lie anywhere between two points.
    let first = |place: usize| place.checked_sub(1).map_or(index(place), |before| index(before) + 1);
    let modes = |one: &Modes| Modes {
        begin: index(one.begin) as usize,
        end: end(one.end) as usize,
        newest: index(one.newest) as usize,
        ..*one
    };
    SeriesChanges {
        changes: changes.points.iter().map(|point| index(point.index)).collect(),
        drifts: changes.drifts.iter().map(|drift| [index(drift.begin), end(drift.end)]).collect(),
        ranges: changes.points.iter().map(|point| [first(point.first), index(point.last)]).collect(),
        steps: changes.points.iter().map(|point| [point.before.value, point.after.value]).collect(),
        modes: changes.modes.iter().map(modes).collect(),
    }
}

/// The changes of each prefix that is long enough, by its length.
fn growing(series: &TableSeries, changes: impl Fn(usize) -> Changes + Sync) -> BTreeMap<usize, Vec<u64>> {
    let changes_of =
        |count: usize| (count, changes(count).points.iter().map(|point| series.indices[point.index]).collect());
    // A series that is always too short is reported all the same.
    let first = FEWEST_POINTS.min(series.values.len());
    (first..=series.values.len()).into_par_iter().map(changes_of).collect()
}
