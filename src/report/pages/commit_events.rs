//! The events that a commit may be the cause of.

use super::commit::ROWS;
use crate::catalog::Catalog;
use crate::phrase::Phrase;
use crate::sheet::{Row, Section};
use crate::trend::{event as told, words};
use sprag_model::event::{Event, EventKind, Suspect};

/// The suspects of an event on whose pages it stands. A drift, of which no commit is alone to blame, stands at its ends, and while it
/// goes on where it begins: on every page of its ramp it would change all of them for as long.
pub(super) fn told_at(event: &Event) -> impl Iterator<Item = &Suspect> {
    let is_drift = event.kind == EventKind::Drift;
    let last = if told::goes_on(event) { 0 } else { event.suspects.len().saturating_sub(1) };
    let places = event.suspects.iter().enumerate();
    places.filter(move |(place, _)| !is_drift || [0, last].contains(place)).map(|(_, suspect)| suspect)
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
    let drifts = " Of its ramp a drift stands at the first and the last commit, and while it goes on at the first.";
    let note = "The probability that this commit is the cause, from all series together.";
    let note = Phrase::plain(note.to_owned() + if is_drift { drifts } else { "" });
    let columns = [("Event", "nb"), ("What it did", "full any"), ("Probability", "n"), ("State", "push")];
    let texts = ("events", "Events that it may be the cause of", note, "");
    (!suspected.is_empty()).then(|| Section::of_table(texts, ("Events", &columns), rows).cut(ROWS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::example;

    #[test]
    fn a_drift_stands_at_its_ends_alone() {
        let suspect =
            |place: usize| Suspect { commit: example::commit(place), probability: place as f64, measured: true };
        let places = |kind: EventKind, commits: usize| -> Vec<usize> {
            let event = Event { suspects: (0..commits).map(suspect).collect(), ..example::event(kind, 3) };
            told_at(&event).map(|suspect| suspect.probability as usize).collect()
        };
        let all = |commits: usize| (0..commits).collect::<Vec<usize>>();
        assert_eq!(places(EventKind::Drift, 1), [0]);
        assert_eq!(places(EventKind::Drift, 31), [0, 30]);
        let mut goes_on = Event { suspects: (0..31).map(suspect).collect(), ..example::event(EventKind::Drift, 3) };
        goes_on.members[0].points_since = 0;
        assert_eq!(told_at(&goes_on).map(|suspect| suspect.probability as usize).collect::<Vec<_>>(), [0]);
        assert_eq!(places(EventKind::Change, 31), all(31));
        assert!(places(EventKind::Drift, 0).is_empty());
    }
}
