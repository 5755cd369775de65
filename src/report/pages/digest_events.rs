//! The events of the history that the digest lists below its answers.

use super::event_list;
use super::event_rows::EventGroup;
use crate::catalog::Catalog;
use crate::link;
use crate::trend::summary;

/// The events that the digest lists.
const MOST: usize = 8;

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
