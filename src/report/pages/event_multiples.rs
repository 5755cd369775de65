//! The members of an event as small pictures beside one another: the change against the level before, on one scale.

use super::event_members::in_order;
use super::event_rows::{figure, tone};
use crate::model::event::{Event, EventKind, Member};
use crate::model::trend::{PooledPoint, SeriesTrend};
use crate::report::catalog::{Catalog, short_benchmark};
use crate::report::chart::mini::{self, Mini};
use crate::report::mark::Tone;
use crate::report::number::counted;
use crate::report::trend::words;

/// The members that are drawn.
const MOST: usize = 12;

/// The points around the event that a picture shows.
const POINTS: usize = 50;

/// Of them, those before it where it is not the newest that happened.
const BEFORE: usize = 25;

/// A member with its picture.
pub(super) struct Multiple {
    /// The benchmark.
    pub(super) benchmark: String,
    /// The page of its series, or nothing.
    pub(super) page: String,
    /// Where it was measured.
    pub(super) machine: String,
    /// The picture.
    pub(super) chart: String,
}

/// The pictures of the first members, and what they show.
pub(super) fn multiples(catalog: &Catalog<'_>, of: &Event) -> (Vec<Multiple>, String) {
    let drawn: Vec<(&Member, &SeriesTrend)> = in_order(of)
        .into_iter()
        .filter(|member| member.relative.is_some())
        .filter_map(|member| Some((member, catalog.series_trend(&member.series)?)))
        .filter(|(_, series)| !series.pooled.is_empty())
        .take(MOST)
        .collect();
    let Some((_, first)) = drawn.first() else { return (Vec::new(), String::new()) };
    let places = window(catalog, of, first);
    let minis: Vec<Mini> = drawn.iter().map(|(member, series)| mini(catalog, of, member, series, places)).collect();
    let scale = mini::scale(&minis, places);
    let multiples = drawn.iter().zip(&minis).map(|((member, _), mini)| Multiple {
        benchmark: words::name(short_benchmark(&member.benchmark)),
        page: catalog.series_page(&member.series).unwrap_or_default(),
        machine: words::name(&member.machine.name),
        chart: mini::draw(mini, &scale),
    });
    let shown = match of.members.len() {
        all if all == drawn.len() => String::new(),
        all => format!(" The first {} of {} are drawn.", drawn.len(), counted(all, "series", "series")),
    };
    let band = if of.kind == EventKind::Drift { "the ramp" } else { "the commits between good and bad" };
    let note = format!(
        "Change against the level before, one scale for all. Dots are medians of a commit, lines are levels; the tinted band is \
         {band}.{shown}"
    );
    (multiples.collect(), note)
}

/// The place of a point: that of its commit on the line, else on the axis of its machine.
fn place(catalog: &Catalog<'_>, point: &PooledPoint) -> f64 {
    // Most axes are the line.
    let is_there = catalog.line.commits.get(point.place).is_some_and(|commit| *commit.sha == *point.commit);
    let place = if is_there { point.place } else { catalog.position(&point.commit).unwrap_or(point.place) };
    place as f64
}

/// The places of the last commit before the event and of the first that surely has it.
fn bounds(catalog: &Catalog<'_>, of: &Event) -> (f64, f64) {
    let at = |sha: &str| catalog.position(sha).map(|place| place as f64);
    let bad = at(&of.first_bad.sha).unwrap_or(0.0);
    let before = of.last_good.as_ref().and_then(|good| at(&good.sha));
    let first = of.suspects.first().and_then(|one| at(&one.commit.sha));
    (before.or(first).unwrap_or(bad).min(bad), bad)
}

/// The places that all pictures show: so many points of the first series around the event.
fn window(catalog: &Catalog<'_>, of: &Event, series: &SeriesTrend) -> (f64, f64) {
    let (good, _) = bounds(catalog, of);
    let places: Vec<f64> = series.pooled.iter().map(|point| place(catalog, point)).collect();
    let event = places.partition_point(|place| *place <= good);
    let last = (event.saturating_sub(BEFORE) + POINTS).min(places.len());
    let first = last.saturating_sub(POINTS);
    (places[first], places[last - 1].max(places[first] + 1.0))
}

fn mini(catalog: &Catalog<'_>, of: &Event, member: &Member, series: &SeriesTrend, places: (f64, f64)) -> Mini {
    let before = member.before.value;
    let points: Vec<(f64, f64)> =
        series.pooled.iter().map(|point| (place(catalog, point), point.value / before)).collect();
    let tone = match (tone(of), member.worse) {
        (Tone::Worse, Some(worse)) if worse < 0.0 => Tone::Better,
        (tone, _) => tone,
    };
    let name = format!("{} on {}", member.benchmark, member.machine.name);
    let moves = if of.kind == EventKind::Drift { "drifts by" } else { "changes by" };
    Mini {
        levels: levels(&points, series, before),
        suspects: bounds(catalog, of),
        at: catalog.position(&member.at.sha).map_or(-1.0, |place| place as f64),
        tone,
        label: format!("{name} {moves} {} at {}", figure(member.relative.as_ref()), words::name(member.at.short())),
        dots: points.into_iter().filter(|(at, _)| (places.0..=places.1).contains(at)).collect(),
    }
}

/// The levels of a series as shares of one of them, each from its first point to that of the next; a drift is a slope.
fn levels(points: &[(f64, f64)], series: &SeriesTrend, before: f64) -> Vec<[(f64, f64); 2]> {
    let changes = &series.changes;
    let at = |index: usize| points[index.min(points.len() - 1)].0;
    let begins = std::iter::once(0).chain(changes.points.iter().map(|change| change.index));
    let ends = changes.points.iter().map(|change| change.index).chain([points.len()]);
    let mut levels = Vec::new();
    for ((begin, end), level) in begins.zip(ends).zip(&changes.levels) {
        let mut from = (begin, level.value / before);
        for drift in changes.drifts.iter().filter(|drift| drift.begin < end && begin < drift.end) {
            let (first, last) = (drift.begin.max(begin), drift.end.min(end));
            levels.push([(at(from.0), drift.before / before), (at(first), drift.before / before)]);
            levels.push([(at(first), drift.before / before), (at(last), drift.after / before)]);
            from = (last, drift.after / before);
        }
        levels.push([(at(from.0), from.1), (at(end), from.1)]);
    }
    levels
}
