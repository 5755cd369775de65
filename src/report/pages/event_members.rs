//! The series that an event moved, as a table.

use super::cell::{self, Change, MetricRows};
use super::event_rows::{class, figure, interval, tone, value};
use crate::catalog::{Catalog, short_benchmark};
use crate::mark::{Mark, Tone};
use crate::number::{self, count};
use crate::trend::words;
use sprag_model::event::{Direction, Event, Member};

/// The members that are listed.
const MOST: usize = 300;

/// Members that share a metric and a prefix.
pub(super) struct MemberGroup {
    /// The metric and its unit.
    pub(super) heading: String,
    /// How many rows it has.
    pub(super) count: String,
    /// The rows, those that moved most first.
    pub(super) rows: Vec<MemberRow>,
}

/// A member in cells.
pub(super) struct MemberRow {
    pub(super) benchmark: String,
    /// The page of its series, or nothing.
    pub(super) page: String,
    pub(super) machine: String,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) change: Change,
    pub(super) interval: String,
    /// The smallest change that would have been seen.
    pub(super) could_see: String,
    /// How many points were measured since.
    pub(super) points: String,
    /// Whether it still holds.
    pub(super) state: Mark,
}

/// The members in the order in which they are told: the worst first, or of what got better the best.
pub(super) fn in_order(of: &Event) -> Vec<&Member> {
    match of.direction {
        Direction::Better => of.members.iter().rev().collect(),
        Direction::Worse | Direction::Mixed => of.members.iter().collect(),
    }
}

/// The members by metric and prefix, and how many are left out.
pub(super) fn groups(catalog: &Catalog<'_>, of: &Event) -> (Vec<MemberGroup>, String) {
    let members: Vec<&Member> = in_order(of).into_iter().take(MOST).collect();
    let more = of.members.len().saturating_sub(MOST);
    let rest = if more > 0 { format!("{} more are not listed here.", count(more)) } else { String::new() };
    let groups = cell::by_metric(members, |member| (member.metric.clone(), Some(member.before.value)));
    let group = |MetricRows { metric, scale, rows }: MetricRows<&Member>| MemberGroup {
        heading: cell::metric_words(&metric, scale),
        count: count(rows.len()),
        rows: rows
            .into_iter()
            .map(|member| MemberRow {
                before: value(scale, &member.before),
                after: value(scale, &member.after),
                ..row(catalog, of, member)
            })
            .collect(),
    };
    (groups.into_iter().map(group).collect(), rest)
}

fn row(catalog: &Catalog<'_>, of: &Event, member: &Member) -> MemberRow {
    let known = catalog.series_trend(&member.series);
    let tone = match (tone(of), member.worse) {
        (Tone::Worse, Some(worse)) if worse < 0.0 => Tone::Better,
        (tone, _) => tone,
    };
    MemberRow {
        benchmark: words::name(short_benchmark(&member.benchmark)),
        page: catalog.series_page(&member.series).unwrap_or_default(),
        machine: words::name(&member.machine.name),
        before: String::new(),
        after: String::new(),
        change: Change { class: class(tone), figure: figure(member.relative.as_ref()) },
        interval: interval(member.relative.as_ref()),
        could_see: known.and_then(|one| one.detectable).map_or(number::NONE.to_owned(), number::could_see),
        points: number::rough_count(member.points_since),
        state: match (member.standing, member.held) {
            (false, _) => Mark::new(Tone::Plain, "=", "gone"),
            (true, true) => Mark::new(Tone::Doubt, "?", "held"),
            (true, false) => Mark::new(Tone::Plain, "●", "stands"),
        },
    }
}
