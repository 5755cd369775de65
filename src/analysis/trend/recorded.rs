//! The events of the records: what was reported of which series, and where.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::axis::Axis;
use super::series_changes::ReportedRange;
use sprag_model::{EventKind, EventRecord, EventStep};

/// What is known of an event: its newest record.
pub(super) struct RecordedEvent<'a> {
    pub(super) record: &'a EventRecord,
    pub(super) is_retracted: bool,
    pub(super) members: BTreeSet<&'a str>,
}

/// The events of records, by id: the newest record of each. A repository writes records of an event at growing times.
pub(super) fn recorded_events<'r>(records: &'r [EventRecord]) -> Vec<RecordedEvent<'r>> {
    let mut newest: BTreeMap<&str, &EventRecord> = BTreeMap::new();
    for record in records {
        let recorded = newest.entry(&record.event).or_insert(record);
        if record.time >= recorded.time {
            *recorded = record;
        }
    }
    let of = |record: &'r EventRecord| RecordedEvent {
        is_retracted: record.step == EventStep::Retracted,
        members: record.members.iter().map(|member| member.series.as_str()).collect(),
        record,
    };
    newest.into_values().map(of).collect()
}

/// What was reported of a series and is not retracted.
pub(super) fn reported_ranges(recorded: &[RecordedEvent<'_>], series: &str, axis: &Axis) -> Vec<ReportedRange> {
    let open = recorded.iter().filter(|one| !one.is_retracted);
    let of_series = open.filter(|one| one.members.contains(series)).map(|one| one.record);
    let range = |record: &EventRecord| {
        let (first, last) = places(record, axis)?;
        Some(ReportedRange { is_drift: record.kind == EventKind::Drift, first, last })
    };
    of_series.filter_map(range).collect()
}

/// The places of the first and the last suspect of a record; absent where the axis no longer has them.
pub(super) fn places(record: &EventRecord, axis: &Axis) -> Option<(usize, usize)> {
    Some((axis.place(&record.first_suspect)?, axis.place(&record.last_suspect)?))
}

pub(super) fn overlaps(record: &EventRecord, axis: &Axis, (lo, hi): (usize, usize)) -> bool {
    places(record, axis).is_some_and(|(first, last)| first <= hi && lo <= last)
}

/// The recorded drift that most of these series have part in, and that overlaps a range; of several the first.
pub(super) fn drift_of<'r>(
    recorded: &'r [RecordedEvent<'_>],
    series: impl Iterator<Item = &'r str> + Clone,
    axis: &Axis,
    range: (usize, usize),
) -> Option<usize> {
    let drifts = recorded.iter().enumerate().filter(|(_, one)| one.record.kind == EventKind::Drift);
    let shared = drifts.map(|(place, one)| (series.clone().filter(|id| one.members.contains(id)).count(), place, one));
    let fitting = shared.filter(|(shared, _, one)| *shared > 0 && overlaps(one.record, axis, range));
    fitting.max_by_key(|(shared, place, _)| (*shared, Reverse(*place))).map(|(_, place, _)| place)
}
