//! The events that a commit may be the cause of.

use super::commit::ROWS;
use crate::model::event::{Event, EventKind, Suspect};
use crate::report::catalog::Catalog;
use crate::report::phrase::Phrase;
use crate::report::sheet::{Row, Section};
use crate::report::trend::{event as told, words};

/// Of how many commits a drift is at most, to stand on the page of each of them.
const LONG_RAMP: usize = 30;

/// The suspects of an event on whose pages it stands: a long drift would stand on every page of its ramp, and change all of them
/// for as long as it goes on.
pub(super) fn told_at(event: &Event) -> impl Iterator<Item = &Suspect> {
    let is_long = event.kind == EventKind::Drift && event.suspects.len() > LONG_RAMP;
    let last = event.suspects.len().saturating_sub(1);
    let places = event.suspects.iter().enumerate();
    places.filter(move |(place, _)| !is_long || [0, last].contains(place)).map(|(_, suspect)| suspect)
}

/// The events of a commit, each with the probability that it is the cause, where there are any.
pub(super) fn section(catalog: &Catalog<'_>, suspected: &[(&Event, f64)]) -> Option<Section> {
    let row = |(event, probability): &(&Event, f64)| {
        let share = match event.kind {
            EventKind::Change => words::probability(*probability),
            EventKind::Drift => "in the ramp".to_owned(),
            EventKind::Environment => "not to blame".to_owned(),
        };
        let page = catalog.event_page(&event.id);
        Row::of([
            Phrase::default().name(page, words::name(&event.id)),
            told::deed(event),
            Phrase::plain(share),
            told::state(event),
        ])
    };
    let rows = suspected.iter().map(row).collect();
    let is_drift = suspected.iter().any(|(event, _)| event.kind == EventKind::Drift);
    let drifts = format!(" A drift over more than {LONG_RAMP} commits stands at the first and the last of them.");
    let note = "The probability that this commit is the cause, from all series together.";
    let note = Phrase::plain(note.to_owned() + if is_drift { &drifts } else { "" });
    let columns = [("Event", "nb"), ("What it did", "full any"), ("Probability", "n"), ("State", "push")];
    let texts = ("events", "Events that it may be the cause of", note, "");
    (!suspected.is_empty()).then(|| Section::of_table(texts, ("Events", &columns), rows).cut(ROWS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fit::example;

    #[test]
    fn a_long_drift_stands_at_its_ends_alone() {
        let places = |kind: EventKind, commits: usize| -> Vec<usize> {
            let suspect =
                |place: usize| Suspect { commit: example::commit(place), probability: place as f64, measured: true };
            let event = Event { suspects: (0..commits).map(suspect).collect(), ..example::event(kind, 3) };
            told_at(&event).map(|suspect| suspect.probability as usize).collect()
        };
        let all = |commits: usize| (0..commits).collect::<Vec<usize>>();
        assert_eq!(places(EventKind::Drift, LONG_RAMP), all(LONG_RAMP));
        assert_eq!(places(EventKind::Drift, LONG_RAMP + 1), [0, LONG_RAMP]);
        assert_eq!(places(EventKind::Change, LONG_RAMP + 1), all(LONG_RAMP + 1));
        assert!(places(EventKind::Drift, 0).is_empty());
    }
}
