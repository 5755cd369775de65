//! The commits in and around the range of an event, in their order.

use super::cell::{self, Change, MetricRows};
use super::event_rows::{class, figure, interval, tone, value};
use crate::catalog::Catalog;
use crate::chart::bar;
use crate::mark::{Mark, Tone};
use crate::number::{self, NONE, count, counted};
use crate::phrase::Phrase;
use crate::text::short_benchmark;
use crate::trend::{event as trend_event, words};
use crate::{date, link};
use sprag_model::event::{Direction, Event, EventKind, Member, NamedCommit, Suspect};

/// The suspects that are listed: the likeliest.
const MOST: usize = 60;

/// The longest subject, in characters.
const SUBJECT: usize = 160;

/// The commits of a range.
pub(super) struct Suspects {
    pub(super) heading: &'static str,
    pub(super) note: String,
    /// The commits, oldest first.
    pub(super) rows: Vec<SuspectRow>,
    pub(super) has_figures: bool,
    /// How many are left out.
    pub(super) rest: Phrase,
}

/// A commit of the range.
pub(super) struct SuspectRow {
    /// What it is in the range.
    pub(super) role: Mark,
    /// Its first digits, or a tag.
    pub(super) commit: String,
    pub(super) page: String,
    /// The first line of its message.
    pub(super) subject: String,
    /// The day it was committed; empty where the line does not hold it.
    pub(super) day: String,
    /// Whether a member was measured at it.
    pub(super) measured: Mark,
    pub(super) bar: String,
    /// The probability; an en dash beside the range.
    pub(super) probability: String,
    pub(super) likeliest: bool,
    /// Whether the row deserves a tint.
    pub(super) bad: bool,
}

/// The commits of the range of an event: the likeliest ones, or where none of them is to blame its ends.
pub(super) fn suspects(catalog: &Catalog<'_>, of: &Event) -> Suspects {
    let has_figures = of.kind == EventKind::Change;
    let (between, rest) = if has_figures { likeliest(catalog, of) } else { ends(catalog, of) };
    let mut rows = Vec::new();
    if let Some(good) = &of.last_good {
        rows.push(row(catalog, good, Mark::new(Tone::Plain, "=", "last good"), true));
    }
    rows.extend(between);
    let is_suspect = of.suspects.iter().any(|one| one.commit.sha == of.first_bad.sha);
    if !is_suspect {
        rows.push(row(catalog, &of.first_bad, Mark::new(Tone::Plain, "=", "surely has it"), true));
    }
    let note = match of.kind {
        EventKind::Change if of.next.is_none() && of.suspects.len() > 1 => {
            "The probability that a commit is the cause, from all series together. No commit is left to measure that would narrow it down."
        }
        EventKind::Change => "The probability that a commit is the cause, from all series together.",
        EventKind::Drift => "The level moved evenly over these commits: none of them is to blame alone.",
        EventKind::Environment => "The environment changed between these commits: none of them is to blame.",
    };
    let heading = if has_figures { "Which commit" } else { "Between which commits" };
    Suspects { heading, note: note.to_owned(), has_figures, rows, rest }
}

/// The likeliest suspects in their order, and what is left out.
fn likeliest(catalog: &Catalog<'_>, of: &Event) -> (Vec<SuspectRow>, Phrase) {
    let mut by_probability: Vec<(usize, &Suspect)> = of.suspects.iter().enumerate().collect();
    by_probability.sort_by(|a, b| b.1.probability.total_cmp(&a.1.probability).then(a.0.cmp(&b.0)));
    let left_out: f64 = by_probability.iter().skip(MOST).map(|(_, one)| one.probability).sum();
    let more = by_probability.len().saturating_sub(MOST);
    // Where two are as likely as each other, neither stands out.
    let likeliest = match by_probability.as_slice() {
        [(_, first), (_, second), ..] if first.probability > second.probability => Some(&first.commit.sha),
        _ => None,
    };
    by_probability.truncate(MOST);
    by_probability.sort_by_key(|(place, _)| *place);
    let rows = by_probability.iter().map(|(_, one)| {
        let is_likeliest = likeliest == Some(&one.commit.sha);
        let probability = words::probability(one.probability);
        let is_bad = is_likeliest && tone(of) == Tone::Worse;
        SuspectRow {
            bar: bar::draw(one.probability, is_bad, &probability),
            probability,
            likeliest: is_likeliest,
            bad: is_bad,
            ..row(catalog, &one.commit, Mark::new(Tone::Doubt, "?", "suspect"), one.measured)
        }
    });
    let rest = match more {
        0 => Phrase::default(),
        more => Phrase::plain(format!(
            "{} more are not listed here, {} together.",
            count(more),
            words::probability(left_out)
        )),
    };
    (rows.collect(), rest)
}

/// The first and the last commit of a range of which none is to blame, and how many lie between.
fn ends(catalog: &Catalog<'_>, of: &Event) -> (Vec<SuspectRow>, Phrase) {
    let role = |drift: &'static str| match of.kind {
        EventKind::Drift => Mark::new(Tone::Doubt, "↗", drift),
        EventKind::Change | EventKind::Environment => Mark::new(Tone::Environment, "◇", "in the range"),
    };
    let row = |one: &Suspect, drift| row(catalog, &one.commit, role(drift), one.measured);
    let (rows, between) = match of.suspects.as_slice() {
        [] => (Vec::new(), [].as_slice()),
        [one] => (vec![row(one, "in the ramp")], [].as_slice()),
        [first, between @ .., last] => {
            let end = if trend_event::goes_on(of) { "newest of the ramp" } else { "ramp ends" };
            (vec![row(first, "ramp begins"), row(last, end)], between)
        }
    };
    let measured = between.iter().filter(|one| one.measured).count();
    let mut rest = Phrase::default();
    if !between.is_empty() {
        let lie = counted(between.len(), "more lies between", "more lie between");
        rest = rest.text(format!("{lie}, {} measured.", count(measured)));
    }
    let both = of.last_good.as_ref().map(|good| [&good.sha, &of.first_bad.sha]);
    match both.filter(|both| both.iter().all(|sha| catalog.compared_number(sha).is_some())) {
        Some([good, bad]) => {
            (rows, rest.then(Phrase::default().link(link::compared(good, bad), "Compare both sides").text(".")))
        }
        None => (rows, rest),
    }
}

fn row(catalog: &Catalog<'_>, commit: &NamedCommit, role: Mark, is_measured: bool) -> SuspectRow {
    let on_line = catalog.position(&commit.sha).and_then(|place| catalog.line.commits.get(place));
    SuspectRow {
        role,
        commit: words::name(commit.short()),
        page: catalog.commit_place(&commit.sha).unwrap_or_default(),
        subject: crate::text::shortened(&commit.subject, SUBJECT),
        day: on_line.map_or(String::new(), |commit| date::day(commit.commit_time)),
        measured: if is_measured {
            Mark::new(Tone::Plain, "●", "measured")
        } else {
            Mark::new(Tone::Plain, "○", "not measured")
        },
        bar: String::new(),
        probability: NONE.to_owned(),
        likeliest: false,
        bad: false,
    }
}

/// The members that are listed.
const MOST_MEMBERS: usize = 300;

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
    let members: Vec<&Member> = in_order(of).into_iter().take(MOST_MEMBERS).collect();
    let more = of.members.len().saturating_sub(MOST_MEMBERS);
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
                ..member_row(catalog, of, member)
            })
            .collect(),
    };
    (groups.into_iter().map(group).collect(), rest)
}

fn member_row(catalog: &Catalog<'_>, of: &Event, member: &Member) -> MemberRow {
    let present = catalog.series_trend(&member.series);
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
        could_see: present.and_then(|one| one.detectable).map_or(number::NONE.to_owned(), number::could_see),
        points: number::rough_count(member.points_since),
        state: match (member.standing, member.held) {
            (false, _) => Mark::new(Tone::Plain, "=", "gone"),
            (true, true) => Mark::new(Tone::Doubt, "?", "held"),
            (true, false) => Mark::new(Tone::Plain, "●", "stands"),
        },
    }
}
