//! A compared series in words and figures.

use serde::Serialize;

use super::data::{Data, SeriesData};
use super::drawn::Drawn;
use super::rule::{Outcome, Through, Verdict};
use crate::compare::columns::PointData;
use crate::mark::{self, Mark, Tone};
use crate::number;
use sprag_model::metric::Better;
use sprag_model::unit::Scale;

/// The groups of rows, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Changed in the bad direction.
    Worse,
    /// Changed in the good one.
    Better,
    Doubt,
    Same,
    Environment,
    /// Measured at one of the commits only.
    Missing,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ComparedRow {
    pub(crate) id: String,
    pub(crate) suite: String,
    /// What people call the machine.
    pub(crate) machine: String,
    /// The benchmark without its suite.
    pub(crate) name: String,
    pub(crate) metric: String,
    pub(crate) unit: &'static str,
    pub(crate) kind: Kind,
    /// The colour, the glyph and the word of it.
    pub(crate) mark: [String; 3],
    pub(crate) reason: String,
    /// The level at A with its unit.
    pub(crate) before: String,
    /// That at B.
    pub(crate) after: String,
    pub(crate) change: String,
    pub(crate) interval: String,
    /// The smallest change that shows.
    pub(crate) shows: String,
    /// How many times as large the change is; empty where there is none of either.
    pub(crate) times: String,
    /// What was measured at A, and its spread.
    pub(crate) measured_before: [String; 2],
    /// And at B.
    pub(crate) measured_after: [String; 2],
    /// For machines, in base units and shares: the levels at A and B, the change, the ends of its interval, what was measured
    /// at A and at B, the smallest change that shows. Empty where there is none.
    pub(crate) figures: [String; 8],
    /// The levels at A and B, in base units.
    #[serde(skip)]
    pub(crate) levels: [Option<f64>; 2],
    /// The change that is shown.
    #[serde(skip)]
    pub(crate) relative: Option<f64>,
    /// What was measured at B.
    #[serde(skip)]
    pub(crate) measured: Option<f64>,
    #[serde(skip)]
    pub(crate) drawn: Option<Drawn>,
    /// The same as places on the scale of the table.
    pub(crate) places: Option<[i32; 5]>,
}

/// What is said of an outcome, and whether the number went up.
pub(super) fn kind(series: &SeriesData, outcome: &Outcome<'_>) -> (Kind, bool) {
    let up = outcome.after > outcome.before;
    let kind = match outcome.verdict {
        Verdict::Changed(_) if up == (series.metric.better == Better::Lower) => Kind::Worse,
        Verdict::Changed(_) => Kind::Better,
        Verdict::Same { .. } => Kind::Same,
        Verdict::Short | Verdict::Drift | Verdict::DriftBetween | Verdict::Open(_) => Kind::Doubt,
        Verdict::NotComparable => Kind::Environment,
        Verdict::MissingAtA | Verdict::MissingAtB | Verdict::MissingBetween => Kind::Missing,
    };
    (kind, up)
}

pub(super) fn row(data: &Data, series: &SeriesData, outcome: &Outcome<'_>) -> ComparedRow {
    let (kind, up) = kind(series, outcome);
    let mark = mark_of(series, kind, up);
    let measured = |point: Option<&PointData>| point.map(|point| point.value);
    let typical = outcome.before.or(outcome.after).or(measured(outcome.a)).or(measured(outcome.b)).unwrap_or_default();
    let scale = series.metric.unit.scale(typical);
    let level = |level: Option<f64>| level.map_or(number::NONE.to_owned(), |level| number::quantity(scale, level));
    let changed = is_changed(outcome);
    let interval = outcome.interval.filter(|(low, high)| low < high);
    let shows = series.shows.filter(|shows| *shows > 0.0);
    let times = outcome.relative.filter(|_| changed).zip(shows).map(|(change, shows)| change.abs() / shows);
    ComparedRow {
        id: series.id.clone(),
        suite: series.suite.clone(),
        machine: series.machine_name.clone(),
        name: series.benchmark.clone(),
        metric: series.metric.name.clone(),
        unit: series.metric.unit.symbol(),
        kind,
        mark: [mark.class().to_owned(), mark.glyph.to_owned(), mark.word],
        reason: reason(data, outcome),
        before: level(outcome.before),
        after: level(outcome.after),
        change: outcome.relative.filter(|_| changed).map_or(number::NONE.to_owned(), number::percent),
        interval: interval.filter(|_| changed).map_or(String::new(), number::percent_interval),
        shows: series.shows.map_or(number::NONE.to_owned(), number::percent_size),
        times: times.map_or(String::new(), number::times),
        measured_before: measured_words(scale, outcome.a),
        measured_after: measured_words(scale, outcome.b),
        figures: [
            outcome.before,
            outcome.after,
            outcome.relative.filter(|_| changed),
            interval.filter(|_| changed).map(|(low, _)| low),
            interval.filter(|_| changed).map(|(_, high)| high),
            measured(outcome.a),
            measured(outcome.b),
            series.shows,
        ]
        .map(|figure| figure.map_or(String::new(), |figure| format!("{figure:.4e}"))),
        levels: [outcome.before, outcome.after],
        relative: outcome.relative.filter(|_| changed),
        measured: measured(outcome.b),
        drawn: drawn(series, outcome),
        places: None,
    }
}

pub(super) fn drawn(series: &SeriesData, outcome: &Outcome<'_>) -> Option<Drawn> {
    is_changed(outcome).then(|| Drawn::from_outcome(series, outcome))?
}

/// Whether there is a change to show, told or not.
pub(super) fn is_changed(outcome: &Outcome<'_>) -> bool {
    matches!(outcome.verdict, Verdict::Changed(_) | Verdict::Open(_) | Verdict::Same { came_back: true })
}

pub(super) fn mark_of(series: &SeriesData, kind: Kind, up: bool) -> Mark {
    let arrow = if up { "▲" } else { "▼" };
    match kind {
        Kind::Worse => Mark::new(Tone::Worse, arrow, mark::worse_word(&series.metric)),
        Kind::Better => Mark::new(Tone::Better, arrow, mark::better_word(&series.metric)),
        Kind::Doubt => Mark::new(Tone::Doubt, "?", "inconclusive"),
        Kind::Same => Mark::new(Tone::Plain, "=", "no change"),
        Kind::Environment => Mark::new(Tone::Environment, "≠", "not comparable"),
        Kind::Missing => Mark::new(Tone::Plain, "–", "missing"),
    }
}

fn reason(data: &Data, outcome: &Outcome<'_>) -> String {
    let commit = |number: usize| data.commit(number).name();
    let as_of =
        |side: usize| outcome.as_of[side].map(|number| format!("{} as of {}", ["A", "B"][side], commit(number)));
    let why = Some(why(data, outcome)).filter(|words| !words.is_empty());
    why.into_iter().chain([0, 1].into_iter().filter_map(as_of)).collect::<Vec<String>>().join("; ")
}

pub(super) fn why(data: &Data, outcome: &Outcome<'_>) -> String {
    let commit = |number: usize| data.commit(number).name();
    match &outcome.verdict {
        Verdict::Changed(Through::One(number)) => format!("changed at {}", commit(*number)),
        Verdict::Changed(Through::Drift(begin, end)) => {
            format!("a drift from {}, over at {}", commit(*begin), commit(*end))
        }
        Verdict::Changed(Through::Drifts) => "several changes between, a drift among them".to_owned(),
        Verdict::Changed(Through::Several(steps)) => format!("{} changes between", number::count(*steps)),
        Verdict::Same { came_back: false } => String::new(),
        Verdict::Same { came_back: true } => "changed between and came back".to_owned(),
        Verdict::Short => "too few points for a level".to_owned(),
        Verdict::Drift => "its level drifts".to_owned(),
        Verdict::DriftBetween => "a drift between may have come to nothing".to_owned(),
        Verdict::Open(number) => format!("may lie on either side of the change at {}", commit(*number)),
        Verdict::NotComparable => differences(data, outcome),
        Verdict::MissingAtA => "not measured at A".to_owned(),
        Verdict::MissingAtB => "not measured at B".to_owned(),
        Verdict::MissingBetween => "not measured between the two".to_owned(),
    }
}

/// The facts that differ between the environments of the two values.
pub(super) fn differences(data: &Data, outcome: &Outcome<'_>) -> String {
    let facts = |point: Option<&PointData>| point.and_then(|point| data.environments.get(&*point.environment));
    let (Some(was), Some(is)) = (facts(outcome.a), facts(outcome.b)) else { return UNKNOWN.to_owned() };
    let mut names: Vec<&str> = was.keys().chain(is.keys()).copied().collect();
    names.sort_unstable();
    names.dedup();
    let differ: Vec<String> = names
        .into_iter()
        .filter(|name| was.get(name) != is.get(name))
        .map(|name| {
            let text = |facts: Option<&String>| facts.map_or("none", String::as_str).to_owned();
            format!("{} {} → {}", name.replace('_', " "), text(was.get(name)), text(is.get(name)))
        })
        .collect();
    if differ.is_empty() { UNKNOWN.to_owned() } else { differ.join("; ") }
}

const UNKNOWN: &str = "the environment differs";

/// A measured value and its spread.
fn measured_words(scale: Scale, point: Option<&PointData>) -> [String; 2] {
    let Some(point) = point else { return [number::NONE.to_owned(), String::new()] };
    let words = |(low, high)| format!("{} to {}", number::value(scale, low), number::value(scale, high));
    [number::quantity(scale, point.value), point.spread.map_or(String::new(), words)]
}
