//! The same id for an event as data grows.
//!
//! What was reported of events lies in append-only records. An event of the present data is the one of a record if it has a series
//! in common with it and their suspects overlap; it may then only have suspects that the record has, too: later data narrow it.
//! A drift is never treated as a change. One that nothing in the present data is like stays as long as it scores
//! [`RETAINED`](crate::changes::context::RETAINED) or more in one of its series (`series_changes.rs`), and is retracted then; so is an
//! event of which more is likely to be chance than [`RETAINED`](super::discovery::RETAINED), as it is no longer significant. Without
//! records ids come from the present data: the machines, the kind, and the first commit that certainly has it. Of a drift, and of levels that
//! alternate, it is the commit where it begins and the machine that has it first: others may follow, and its last commit changes.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};

use super::discovery::RETAINED;
use super::draft::{Draft, spans};
use super::recorded::{RecordedEvent, overlaps, places};
use super::series_changes::SeriesChanges;
use crate::changes::detect::FEWEST_POINTS;
use sprag_base::digest;
use sprag_model::{Event, EventKind, EventMember, EventRecord, EventStep, Suspect};

/// How many digits of a digest an id has, unless two would be the same.
const DIGITS: usize = 6;

/// The id of each draft, and the place of the known event that it is, most common series first; drafts are narrowed to those.
pub(super) fn matched(
    drafts: &mut [Draft],
    recorded: &[RecordedEvent<'_>],
    all: &[SeriesChanges<'_>],
) -> Vec<(String, Option<usize>)> {
    let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
    for (number, draft) in drafts.iter().enumerate() {
        let series: BTreeSet<&str> = draft.series().iter().map(|analysed| all[*analysed].series.id.as_str()).collect();
        let axis = &all[draft.series()[0]].axis;
        let (lo, hi) = draft.range();
        for (place, one) in recorded.iter().enumerate() {
            let shared = one.record.members.iter().filter(|member| series.contains(member.series.as_str())).count();
            // A change may turn out to be the machine's; a drift is not a change.
            let is_alike =
                !draft.kind.alternates() && (draft.kind == EventKind::Drift) == (one.record.kind == EventKind::Drift);
            if shared > 0 && is_alike && overlaps(one.record, axis, (lo, hi)) {
                pairs.push((shared, number, place));
            }
        }
    }
    pairs.sort_by(|a, b| (b.0, a.1, a.2).cmp(&(a.0, b.1, b.2)));
    let mut of_draft: BTreeMap<usize, usize> = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for (_, draft, place) in pairs {
        if !of_draft.contains_key(&draft) && taken.insert(place) {
            of_draft.insert(draft, place);
        }
    }
    let mut used: BTreeSet<String> = recorded.iter().map(|one| one.record.event.clone()).collect();
    let ids = drafts.iter_mut().enumerate().map(|(number, draft)| {
        let Some(place) = of_draft.get(&number).copied() else {
            return (new_id(draft, all, &mut used), None);
        };
        let record = recorded[place].record;
        let axis = &all[draft.series()[0]].axis;
        // A drift is as wide as its ramp, and its size is that of the ramp.
        let may_narrow = draft.kind == record.kind && draft.kind != EventKind::Drift;
        if let Some((first, last)) = places(record, axis).filter(|_| may_narrow) {
            draft.narrow(first, last);
        }
        (record.event.clone(), Some(place))
    });
    ids.collect()
}

fn new_id(draft: &Draft, all: &[SeriesChanges<'_>], used: &mut BTreeSet<String>) -> String {
    let analysed = &all[draft.series()[0]];
    let (lo, hi) = draft.range();
    let end = if draft.kind.is_of_one_commit() { hi } else { lo };
    let points = || draft.series().into_iter().flat_map(|number| all[number].points.iter());
    let bad = points().map(|point| point.place).filter(|place| *place >= end).min().unwrap_or(end);
    let first = analysed.series;
    let mut origin: Vec<&str> = match draft.kind {
        EventKind::Change | EventKind::Environment => draft.machines.iter().map(String::as_str).collect(),
        EventKind::Drift => vec![&first.machine],
        EventKind::Bimodal | EventKind::Unstable => {
            vec![&first.machine, &first.suite, &first.benchmark, &first.metric.name]
        }
    };
    origin.push(&analysed.axis.commits[bad].sha);
    let what = format!("{:?}\u{0}{}", draft.kind, origin.join("\u{0}"));
    let mut attempt = 0;
    loop {
        let digest = digest::sha256_hex(format!("{what}\u{0}{attempt}").as_bytes());
        let id = format!("e-{}", &digest[..DIGITS]);
        if used.insert(id.clone()) {
            return id;
        }
        attempt += 1;
    }
}

/// What became of events since the records were written: those that are sure and new, that have far fewer suspects or more
/// series than was known, that are no longer sure, and that the data no longer show. `time` is that of the newest run.
pub(super) fn steps(
    events: &[Event],
    matched: &[(String, Option<usize>)],
    recorded: &[RecordedEvent<'_>],
    all: &[SeriesChanges<'_>],
    time: DateTime<Utc>,
) -> Vec<EventRecord> {
    let mut steps = Vec::new();
    // What is reported later of an event is newer, also where no run took place in between.
    let after = |record: &EventRecord| time.max(record.time + TimeDelta::seconds(1));
    for (event, (_, place)) in events.iter().zip(matched) {
        let step = match place.map(|place| &recorded[place]) {
            // Versions that are out do not know the kinds.
            None if event.kind.alternates() => continue,
            None if event.sure => record(event, EventStep::Opened, time),
            Some(one) if one.is_retracted && event.sure => record(event, EventStep::Opened, after(one.record)),
            Some(one) if event.sure && is_news(event, one, all) => {
                record(event, EventStep::Narrowed, after(one.record))
            }
            Some(one) if !one.is_retracted && !event.sure && is_shown(one, all) => {
                let chance = event.false_discovery.clamp(0.0, 1.0);
                EventRecord { chance, ..retracted(one.record, after(one.record), no_longer_sure()) }
            }
            _ => continue,
        };
        steps.push(step);
    }
    let seen: BTreeSet<usize> = matched.iter().filter_map(|(_, place)| *place).collect();
    for (place, one) in recorded.iter().enumerate() {
        if one.is_retracted || seen.contains(&place) {
            continue;
        }
        if !is_shown(one, all) {
            continue;
        }
        let is_part = |event: &&Event| {
            let suspects = event.suspects.iter().map(|one| &one.commit.sha);
            event.members.iter().any(|member| one.members.contains(member.series.as_str()))
                && suspects.into_iter().any(|sha| *sha == one.record.first_suspect || *sha == one.record.last_suspect)
        };
        let reason = match events.iter().find(is_part) {
            Some(other) => format!("it is part of {}", other.id),
            None => "the data no longer show it".to_owned(),
        };
        steps.push(retracted(one.record, after(one.record), reason));
    }
    steps
}

fn retracted(record: &EventRecord, time: DateTime<Utc>, reason: String) -> EventRecord {
    EventRecord { step: EventStep::Retracted, time, reason: Some(reason), ..record.clone() }
}

/// Why an event is retracted that the data still show.
fn no_longer_sure() -> String {
    format!("it may be chance: of events as clear as it is now, more than {:.0} % are", 100.0 * RETAINED)
}

/// Whether a series of a record would show what was reported if it were still there.
fn is_shown(recorded: &RecordedEvent<'_>, all: &[SeriesChanges<'_>]) -> bool {
    let is_member = |analysed: &&SeriesChanges<'_>| recorded.members.contains(analysed.series.id.as_str());
    all.iter().filter(is_member).any(|analysed| could_show(analysed, recorded.record))
}

/// Whether a series would show what was reported if it were still there: its commits are on the line, and there are points on both
/// sides. A clone that is cut short or a branch that is not the one of the history says nothing about it.
fn could_show(analysed: &SeriesChanges<'_>, record: &EventRecord) -> bool {
    let spanned = |(first, last)| spans(analysed, first, last);
    analysed.count >= FEWEST_POINTS && places(record, &analysed.axis).is_some_and(spanned)
}

/// Whether an event has at most the half of the suspects of its record, other machines or another kind, or series that the
/// record lacks. With each run the levels on both sides are known a little better, and a suspect comes or goes: were every one
/// that goes written down, the range would shrink by chance until it lost the cause.
fn is_news(event: &Event, recorded: &RecordedEvent<'_>, all: &[SeriesChanges<'_>]) -> bool {
    let (record, is_recorded) = (recorded.record, |series: &str| recorded.members.contains(series));
    let of_record = |analysed: &&SeriesChanges<'_>| is_recorded(&analysed.series.id);
    let range = all.iter().find(of_record).and_then(|analysed| places(record, &analysed.axis));
    let suspects = range.map_or(0, |(first, last)| last + 1 - first.min(last));
    2 * event.suspects.len() <= suspects
        || event.kind != record.kind
        || event.machines.iter().any(|machine| !record.machines.contains(&machine.id))
        || event.members.iter().any(|member| !is_recorded(&member.series))
}

fn record(event: &Event, step: EventStep, time: DateTime<Utc>) -> EventRecord {
    let sha = |place: Option<&Suspect>| place.map(|one| one.commit.sha.clone()).unwrap_or_default();
    let mut members: Vec<EventMember> = event
        .members
        .iter()
        .map(|one| EventMember { series: one.series.clone(), before: one.before.value, after: one.after.value })
        .collect();
    members.sort_by(|a, b| a.series.cmp(&b.series));
    let mut machines: Vec<String> = event.machines.iter().map(|one| one.id.clone()).collect();
    machines.sort();
    EventRecord {
        event: event.id.clone(),
        step,
        time,
        kind: event.kind,
        direction: event.direction,
        machines,
        last_good: event.last_good.as_ref().map(|one| one.sha.clone()),
        first_suspect: sha(event.suspects.first()),
        last_suspect: sha(event.suspects.last()),
        most_likely: sha(event.most_likely()),
        members,
        chance: event.false_discovery.clamp(0.0, 1.0),
        reason: None,
        bisection: None,
    }
}
