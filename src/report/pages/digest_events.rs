//! What the history shows, as the digest tells it beside the newest runs.

use chrono::Duration;

use super::event_list;
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
const MOST: usize = 8;

/// An event of so many days is new.
const RECENT: i64 = 28;

/// The new events that a fact names.
const NAMED: usize = 3;

/// The verdict of the newest runs, with the regressions of the history that stand and that nobody accepts.
pub(super) fn headline(newest: Phrase, catalog: &Catalog<'_>) -> Phrase {
    let standing = catalog.trend.events.iter().filter(|one| one.is_open_regression()).count();
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
        return Phrase::plain(format!("No event of the four weeks since {} stands.", date::day(from)));
    }
    let stand = counted(new.len(), "event stands", "events stand");
    let mut words = Phrase::plain(format!("Of the four weeks since {} {stand}: ", date::day(from)));
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
        .text(", with those that may be chance or were taken back.")
        .then(event_list::feeds());
    let listed = catalog.trend.events.iter().filter(|one| summary::is_listed(one));
    EventGroup::of(("events", "Events", note, "No event stands."), listed, MOST, catalog)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::EventState;
    use crate::report::sample_data::{self, Sample};

    /// What the digest says of a changed sample: its headline after one of the newest runs, and what is new.
    fn told(newest: Phrase, change: impl FnOnce(&mut Sample)) -> (String, String) {
        let mut sample = sample_data::rich();
        change(&mut sample);
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        (headline(newest, &catalog).words(), recent(&catalog).words().replace('\u{202f}', " "))
    }

    #[test]
    fn a_regression_of_the_history_is_in_the_headline_whatever_the_newest_runs_say() {
        let calm = || Phrase::default().mark(Mark::new(Tone::Better, "=", "No change")).text(" in all 24 metrics");
        let bad = || Phrase::default().mark(Mark::new(Tone::Worse, "▲", "Regressed:")).text(" 1 metric");
        let since = "Of the four weeks since 2 Nov 2026 1 event stands: e-7c1f03.";
        assert_eq!(
            told(calm(), |_| ()),
            ("2 regressions stand; No change in all 24 metrics".to_owned(), since.to_owned())
        );
        assert_eq!(told(bad(), |_| ()), ("Regressed: 1 metric; 2 regressions stand".to_owned(), since.to_owned()));
        let all_gone = |sample: &mut Sample| {
            for event in &mut sample.trend.events {
                event.state = EventState::TakenBack { by: "e-000000".to_owned() };
            }
        };
        let none = "No event of the four weeks since 2 Nov 2026 stands.";
        assert_eq!(told(calm(), all_gone), ("No change in all 24 metrics".to_owned(), none.to_owned()));
        let many = |sample: &mut Sample| {
            let one = sample.trend.events[0].clone();
            sample.trend.events.extend(std::iter::repeat_n(one, 4));
        };
        assert!(told(calm(), many).1.ends_with("e-7c1f03, e-7c1f03, e-7c1f03 and 2 more."));
    }
}
