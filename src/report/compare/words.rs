//! A compared series in words and figures.

use std::collections::BTreeSet;

use serde::Serialize;

use super::data::{Data, PointData, SeriesData};
use super::rule::{Outcome, Through, Verdict};
use crate::mark::{self, Mark, Tone};
use crate::number;
use sprag_model::{Better, Scale};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Worse,
    Better,
    Doubt,
    #[default]
    Same,
    Environment,
    /// Measured at one of the commits only.
    Missing,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ComparedRow {
    pub(crate) id: String,
    #[serde(skip)]
    pub(crate) page: String,
    pub(crate) suite: String,
    pub(crate) machine: String,
    pub(crate) name: String,
    pub(crate) metric: String,
    pub(crate) kind: Kind,
    /// The colour, the glyph and the word of it.
    pub(crate) mark: [String; 3],
    pub(crate) reason: String,
    /// The level at A with its unit.
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) change: String,
    pub(crate) interval: String,
    pub(crate) shows: String,
    /// How many times as large the change is, or empty.
    pub(crate) times: String,
    pub(crate) measured_before: [String; 2],
    pub(crate) measured_after: [String; 2],
    /// The levels at A and B, in base units.
    #[serde(skip)]
    pub(crate) levels: [Option<f64>; 2],
    #[serde(skip)]
    pub(crate) relative: Option<f64>,
    #[serde(skip)]
    pub(crate) measured: Option<f64>,
    /// The change on the scale of the table, in tenths of a unit: the minimum detectable effect, the lower end, the change and the
    /// upper end, and whether the change is below the scale (-1) or above it (1).
    pub(crate) places: Option<[i32; 5]>,
}

pub(super) fn kind(series: &SeriesData, outcome: &Outcome<'_>) -> Kind {
    match outcome.verdict {
        Verdict::Changed(_) if (outcome.after > outcome.before) == (series.metric.better == Better::Lower) => {
            Kind::Worse
        }
        Verdict::Changed(_) => Kind::Better,
        Verdict::Same { .. } => Kind::Same,
        Verdict::Short | Verdict::Drift | Verdict::DriftBetween | Verdict::Open(_) => Kind::Doubt,
        Verdict::NotComparable => Kind::Environment,
        Verdict::MissingAtA | Verdict::MissingAtB | Verdict::MissingBetween => Kind::Missing,
    }
}

pub(super) fn shown_change(outcome: &Outcome<'_>) -> (Option<f64>, Option<(f64, f64)>) {
    match outcome.verdict {
        Verdict::Changed(_) | Verdict::Open(_) | Verdict::Same { came_back: true } => {
            (outcome.relative, outcome.interval)
        }
        _ => (None, None),
    }
}

/// `span` is how far the scale of the table reaches.
pub(super) fn row(data: &Data, series: &SeriesData, outcome: &Outcome<'_>, span: Option<f64>) -> ComparedRow {
    let kind = kind(series, outcome);
    let mark = mark_of(series, kind);
    let measured = |point: Option<&PointData>| point.map(|point| point.value);
    let typical = outcome.before.or(outcome.after).or(measured(outcome.a)).or(measured(outcome.b)).unwrap_or_default();
    let scale = series.metric.unit.scale(typical);
    let none = || number::NONE.to_owned();
    let level = |level: Option<f64>| level.map_or_else(none, |level| number::quantity(scale, level));
    let (relative, interval) = shown_change(outcome);
    ComparedRow {
        id: series.id.clone(),
        page: series.page.clone(),
        suite: series.suite.clone(),
        machine: series.machine_name.clone(),
        name: series.benchmark.clone(),
        metric: series.metric.name.clone(),
        kind,
        mark: [mark.class().to_owned(), mark.glyph.to_owned(), mark.word],
        reason: reason(data, outcome),
        before: level(outcome.before),
        after: level(outcome.after),
        change: relative.map_or_else(none, number::percent),
        interval: interval.filter(|(low, high)| low < high).map_or(String::new(), number::percent_interval),
        shows: series.shows.map_or_else(none, number::percent_size),
        times: times(series, relative),
        measured_before: measured_words(scale, outcome.a),
        measured_after: measured_words(scale, outcome.b),
        levels: [outcome.before, outcome.after],
        relative,
        measured: measured(outcome.b),
        places: relative.zip(span).map(|(change, span)| places(series, change, interval, span)),
    }
}

/// How many times as large as what is detectable a change is, or empty.
pub(super) fn times(series: &SeriesData, relative: Option<f64>) -> String {
    let shows = series.shows.filter(|shows| *shows > 0.0);
    relative.zip(shows).map_or(String::new(), |(change, shows)| number::times(change.abs() / shows))
}

/// The place of no change on a scale, and how far the scale reaches from there, in tenths of a unit.
const ZERO: f64 = 550.0;
const HALF: f64 = 500.0;

fn places(series: &SeriesData, change: f64, interval: Option<(f64, f64)>, span: f64) -> [i32; 5] {
    let (low, high) = interval.unwrap_or((change, change));
    // Rounds half up, as the script does.
    let place = |value: f64| ((ZERO + HALF * (value / span).clamp(-1.0, 1.0)) + 0.5).floor() as i32;
    let beyond = i32::from(change > span) - i32::from(change < -span);
    [place(series.shows.unwrap_or_default().abs()), place(low), place(change), place(high), beyond]
}

pub(super) fn mark_of(series: &SeriesData, kind: Kind) -> Mark {
    match kind {
        Kind::Worse => Mark::new(Tone::Worse, "▲", mark::worse_word(&series.metric)),
        Kind::Better => Mark::new(Tone::Better, "▼", mark::better_word(&series.metric)),
        Kind::Doubt => Mark::new(Tone::Doubt, "?", "inconclusive"),
        Kind::Same => Mark::new(Tone::Plain, "=", "no change"),
        Kind::Environment => Mark::new(Tone::Environment, "≠", "not comparable"),
        Kind::Missing => Mark::new(Tone::Plain, "–", "missing"),
    }
}

fn reason(data: &Data, outcome: &Outcome<'_>) -> String {
    let as_of = ["A", "B"].into_iter().zip(outcome.as_of);
    let as_of = as_of.filter_map(|(side, number)| Some(format!("{side} as of {}", data.commit(number?).name())));
    let why = Some(why(data, outcome)).filter(|words| !words.is_empty());
    why.into_iter().chain(as_of).collect::<Vec<String>>().join("; ")
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
        Verdict::DriftBetween => "a drift between may have been undone".to_owned(),
        Verdict::Open(number) => format!("may lie on either side of the change at {}", commit(*number)),
        Verdict::NotComparable => differences(data, outcome),
        Verdict::MissingAtA => "not measured at A".to_owned(),
        Verdict::MissingAtB => "not measured at B".to_owned(),
        Verdict::MissingBetween => "not measured between the two".to_owned(),
    }
}

/// What is said of two environments whose facts are not known to differ, and of a fact that one of them lacks.
const DIFFERS: &str = "the environment differs";
pub(super) const NO_FACT: &str = "none";

pub(super) fn fact_name(name: &str) -> String {
    name.replace('_', " ")
}

pub(super) fn differences(data: &Data, outcome: &Outcome<'_>) -> String {
    let facts = |point: Option<&PointData>| data.environments.get(&*point?.environment);
    let mut differ = Vec::new();
    if let (Some(was), Some(is)) = (facts(outcome.a), facts(outcome.b)) {
        let names: BTreeSet<&str> = was.keys().chain(is.keys()).copied().collect();
        let text = |fact: Option<&String>| fact.map_or(NO_FACT, String::as_str).to_owned();
        for name in names.into_iter().filter(|name| was.get(name) != is.get(name)) {
            differ.push(format!("{} {} → {}", fact_name(name), text(was.get(name)), text(is.get(name))));
        }
    }
    if differ.is_empty() { DIFFERS.to_owned() } else { differ.join("; ") }
}

fn measured_words(scale: Scale, point: Option<&PointData>) -> [String; 2] {
    let Some(point) = point else { return [number::NONE.to_owned(), String::new()] };
    let spread = point.spread.map_or(String::new(), |spread| number::interval(scale, spread));
    [number::quantity(scale, point.value), spread]
}
