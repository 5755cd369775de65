//! What the history shows, as the digest tells it beside the newest runs.

use chrono::Duration;

use super::event_rows::EventGroup;
use crate::model::event::Event;
use crate::report::catalog::Catalog;
use crate::report::date;
use crate::report::link;
use crate::report::mark::{Mark, Tone};
use crate::report::number::{count, counted};
use crate::report::phrase::{Part, Phrase};
use crate::report::summary::Fact;
use crate::report::trend::summary;

/// The events that the digest lists.
const MOST: usize = 12;

/// An event of so many days is new.
const RECENT: i64 = 28;

/// The new events that a fact names.
const NAMED: usize = 3;

/// The verdict of the newest runs, with the regressions of the history that stand.
pub(super) fn headline(newest: Phrase, catalog: &Catalog<'_>) -> Phrase {
    let standing = catalog.trend.events.iter().filter(|one| one.is_standing_regression()).count();
    if standing == 0 {
        return newest;
    }
    let words = counted(standing, "regression stands", "regressions stand");
    let is_bad = newest.parts.iter().any(|part| matches!(part, Part::Mark(mark) if mark.tone == Tone::Worse));
    if is_bad {
        return newest.text(format!("; {words}"));
    }
    Phrase::default().mark(Mark::new(Tone::Worse, "▲", words)).text(";").then(newest)
}

/// Adds to the answers of the digest what the history says to the same questions.
pub(super) fn complete(facts: Vec<Fact>, catalog: &Catalog<'_>) -> Vec<Fact> {
    let coverage = &catalog.trend.coverage;
    let judged = Phrase::plain(format!(
        "Over the history {} of {} judged.",
        count(coverage.judged),
        counted(coverage.total, "series is", "series are")
    ));
    facts
        .into_iter()
        .map(|fact| match fact.question {
            "Is it complete?" if coverage.total > 0 => Fact { note: fact.note.then(judged.clone()), ..fact },
            "Did anything change?" => Fact { note: fact.note.then(recent(catalog)), ..fact },
            _ => fact,
        })
        .collect()
}

/// The new events that stand.
fn recent(catalog: &Catalog<'_>) -> Phrase {
    let Some(as_of) = catalog.analysis.as_of else { return Phrase::default() };
    let from = as_of - Duration::days(RECENT);
    let new = catalog.trend.events.iter().filter(|one| summary::is_listed(one) && one.since >= from);
    let new: Vec<&Event> = new.collect();
    if new.is_empty() {
        return Phrase::plain(format!("No event since {} stands.", date::day(from)));
    }
    let stand = counted(new.len(), "event stands", "events stand");
    let mut words = Phrase::plain(format!("Of those since {} {stand}: ", date::day(from)));
    for (place, one) in new.iter().take(NAMED).enumerate() {
        words = words.text(if place == 0 { "" } else { ", " }).link(link::event(&one.id), one.id.as_str());
    }
    let more = new.len().saturating_sub(NAMED);
    words.text(if more > 0 { format!(" and {} more.", count(more)) } else { ".".to_owned() })
}

/// The events that stand, the worst first.
pub(super) fn group(catalog: &Catalog<'_>) -> EventGroup {
    let note = summary::headline(catalog.trend)
        .text(" ")
        .link(link::EVENT_LIST, "All events")
        .text(", with those that may be chance or were taken back.");
    let listed = catalog.trend.events.iter().filter(|one| summary::is_listed(one));
    EventGroup::of(("events", "Events", note, "No event stands."), listed, MOST, catalog)
}
