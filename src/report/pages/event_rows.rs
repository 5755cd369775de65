//! Events as rows of a table, in the list of events and in the digest.

use super::cell::Change;
use crate::catalog::Catalog;
use crate::chart::spark::{self, DOTS, Spark};
use crate::date;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::{Part, Phrase};
use crate::text::short_benchmark;
use crate::trend::{event, summary, words};
use sprag_model::change_point::Level;
use sprag_model::event::{Direction, Event, EventKind};
use sprag_model::unit::Scale;

/// Events that belong together.
pub(super) struct EventGroup {
    /// The id of its heading in the page.
    pub(super) id: &'static str,
    pub(super) heading: &'static str,
    pub(super) note: Phrase,
    /// The events, the worst first.
    pub(super) rows: Vec<EventRow>,
    /// What stands in their place where there are none.
    pub(super) nothing: &'static str,
    /// How many are left out.
    pub(super) rest: String,
}

pub(super) struct EventRow {
    /// Its id, with its colour.
    pub(super) mark: Mark,
    pub(super) page: String,
    /// The benchmark of the member it is named after.
    pub(super) benchmark: String,
    /// The page of that series, or nothing.
    pub(super) series_page: String,
    /// The metric, and how many series more there are.
    pub(super) more: String,
    /// The trend of that series.
    pub(super) spark: String,
    pub(super) change: Change,
    /// The interval of the change, in percent.
    pub(super) interval: String,
    pub(super) machines: String,
    /// Between which commits it lies.
    pub(super) range: Phrase,
    /// The day of the first run after it.
    pub(super) since: String,
    /// How many of those like it are chance.
    pub(super) confidence: String,
    /// Whether it still holds.
    pub(super) state: Phrase,
    /// Whether the row deserves a tint.
    pub(super) bad: bool,
}

impl EventGroup {
    /// The first rows of some events.
    pub(super) fn of<'a>(
        (id, heading, note, nothing): (&'static str, &'static str, Phrase, &'static str),
        events: impl Iterator<Item = &'a Event>,
        most: usize,
        catalog: &Catalog<'_>,
    ) -> EventGroup {
        let events: Vec<&Event> = events.collect();
        let more = events.len().saturating_sub(most);
        let rest = if more > 0 { format!("{} more are not listed here.", count(more)) } else { String::new() };
        let rows = events.into_iter().take(most).map(|one| row(one, catalog)).collect();
        EventGroup { id, heading, note, rows, nothing, rest }
    }
}

/// The colour of what an event did; plain where it may be chance or was taken back.
pub(super) fn tone(event: &Event) -> Tone {
    match event {
        one if !summary::is_listed(one) => Tone::Plain,
        one if one.kind == EventKind::Environment => Tone::Environment,
        one if one.direction == Direction::Better => Tone::Better,
        _ => Tone::Worse,
    }
}

/// The class of a coloured change; none where nothing stands behind it.
pub(super) fn class(tone: Tone) -> &'static str {
    if tone == Tone::Plain { "" } else { tone.class() }
}

/// A change of level in figures.
pub(super) fn figure(relative: Option<&Level>) -> String {
    relative.map_or_else(|| number::NONE.to_owned(), |relative| number::percent(relative.value))
}

/// Its interval in percent; nothing where that is a point or not known.
pub(super) fn interval(relative: Option<&Level>) -> String {
    let present = relative.filter(|one| one.lower.is_finite() && one.upper.is_finite() && one.lower != one.upper);
    present.map_or_else(String::new, |one| number::percent_interval((one.lower, one.upper)))
}

/// A sentence in which the ids of other events lead to their pages.
pub(super) fn linked(sentence: Phrase, catalog: &Catalog<'_>) -> Phrase {
    let linked = |part: Part| match part {
        Part::Id(id) => match catalog.event_page(&id) {
            Some(to) => Part::Link { to, words: id },
            None => Part::Id(id),
        },
        other => other,
    };
    Phrase { parts: sentence.parts.into_iter().map(linked).collect() }
}

/// A value in a scale, without its unit.
pub(super) fn value(scale: Scale, level: &Level) -> String {
    number::value(scale, level.value)
}

fn row(of: &Event, catalog: &Catalog<'_>) -> EventRow {
    let lead = event::lead(of);
    let relative = lead.and_then(|one| one.relative.as_ref());
    let tone = tone(of);
    let range = match (&of.last_good, event::goes_on(of)) {
        (Some(good), _) => Phrase::default().id(words::name(good.short())).text(" .."),
        (None, true) => Phrase::default(),
        (None, false) => Phrase::plain("up to"),
    };
    let more = match of.members.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {}", counted(more, "more series", "more series")),
    };
    let suspects = match (of.kind, of.suspects.len()) {
        (EventKind::Environment, _) | (_, 0) => String::new(),
        (_, _) => format!(", {}", event::commits(of)),
    };
    let machines: Vec<String> = of.machines.iter().map(|one| words::name(&one.name)).collect();
    EventRow {
        mark: event::mark(of),
        page: catalog.event_page(&of.id).unwrap_or_default(),
        benchmark: lead.map_or(String::new(), |one| words::name(short_benchmark(&one.benchmark))),
        series_page: lead.and_then(|one| catalog.series_page(&one.series)).unwrap_or_default(),
        more: lead.map_or(String::new(), |one| format!("{}, {}{more}", one.suite, words::name(&one.metric.name))),
        spark: spark(of, tone, catalog),
        change: Change { class: class(tone), figure: figure(relative) },
        interval: interval(relative),
        machines: words::joined(&machines),
        range: range.then(event::end(of)).text(suspects),
        since: date::day(of.since),
        confidence: words::false_alarms(of.false_discovery),
        state: linked(event::state(of), catalog),
        bad: of.is_open_regression(),
    }
}

/// The newest points of the member it is named after, against the level before.
fn spark(of: &Event, tone: Tone, catalog: &Catalog<'_>) -> String {
    let Some(lead) = event::lead(of) else { return String::new() };
    let Some(fit) = catalog.fit(&lead.series) else { return String::new() };
    let points = &fit.series.pooled;
    spark::draw(&Spark {
        values: points.iter().map(|point| point.value).collect(),
        levels: fit.pieces().into_iter().map(|piece| (piece.points, piece.from, piece.to)).collect(),
        baseline: Some(lead.before.value),
        tone,
        dots: DOTS,
        label: format!("Trend of the newest {}", counted(points.len().min(60), "commit", "commits")),
    })
}
